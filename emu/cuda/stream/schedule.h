/* SPDX-License-Identifier: Apache-2.0
 *
 * The scheduler's own: what its files (command.c, schedule.c, serial.c,
 * list.c) share. Everything here is under its lock, unless said otherwise.
 */
#ifndef EMU_SCHEDULE_H
#define EMU_SCHEDULE_H

#include "emu/cuda/stream/stream.h"

#define EMU_POLL_NS 200000 /* how often a wait for a value in memory is looked at */

/* A host thread that waits; serial mode runs commands for these only. On the waiter's stack. */
struct emu_waiter {
    struct emu_command *command;
    struct emu_waiter *next;
    pthread_cond_t wake;
};

extern struct emu_scheduler {
    pthread_mutex_t lock;
    pthread_cond_t something_done;
    CUstream streams;
    uint64_t submitted;
    unsigned pauses;
    unsigned writers; /* host threads between emu_writing_begin() and _end() */
    struct emu_waiter *waiters;
    unsigned running_count;       /* commands that run, but for functions of the program */
    struct emu_command *awaiting; /* virtual time: commands that have is_ready() and are not done */
    bool is_idle;                 /* serial mode: the program said nothing for a while */
    pthread_cond_t serial_wake;
} emu_scheduler;

/* ---- commands (command.c) ---- */

void emu_command_finish(struct emu_command *command); /* without the lock */
void emu_forget_after(struct emu_command *command);
void emu_unref_locked(struct emu_command *command);
/* emu_command_after(). */
bool emu_after_locked(struct emu_command *command, struct emu_command *earlier);
/* The same for all that was sent to the stream so far. */
bool emu_after_stream_locked(struct emu_command *command, CUstream stream);

/* ---- running (schedule.c) ---- */

bool emu_is_first_ready(CUstream stream);
bool emu_is_ready(CUstream stream, struct emu_command *command);
/* Virtual time: values that commands wait for and that are there by now came at `ns`, but for those
 * that were there before, by the end of command number `by`; 0: the host knows no command. While
 * one runs, the host says nothing: it may see what that has written so far. */
void emu_note_values(uint64_t ns, uint64_t by);
/* Releases the lock while the stream's first command runs. */
void emu_run_first(CUstream stream);
/* Releases the lock for that long at most. */
void emu_wait_for(pthread_cond_t *cond, uint64_t ns);
/* A detached thread that gets no signals of the program's. */
bool emu_start_thread(void *(*function)(void *), void *user);

/* ---- serial mode (serial.c) ---- */

/* Starts the thread. Returns false if there is none. */
bool emu_serial_start(void);

/* ---- streams (list.c) ---- */

void emu_stream_free(CUstream stream);
/* A stream that the legacy default stream waits for, and that waits for it. */
bool emu_stream_is_blocking(CUstream stream);

#endif
