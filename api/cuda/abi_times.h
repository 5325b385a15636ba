/* SPDX-License-Identifier: Apache-2.0
 *
 * A private interface of the software GPU's libcuda.so.1: when the device carried out what a call
 * sent, exactly, and which memory that accessed, without a command that would change it. NVIDIA's
 * driver has nothing like it. Whoever wants it looks for TSM_EMU_TIMES_SYMBOL in the library, a
 * function of type tsm_emu_times_function, and goes on without it where there is none.
 *
 * Times are nanoseconds: of CLOCK_MONOTONIC, or in virtual time (TS_EMU_TIME=virtual, docs/emu.md),
 * where 0 is the first cuInit().
 */
#ifndef API_CUDA_ABI_TIMES_H
#define API_CUDA_ABI_TIMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TSM_EMU_TIMES_SYMBOL  "tsm_emu_times"
#define TSM_EMU_TIMES_VERSION 5u

struct tsm_emu_ticket; /* what one call sent to the device */

enum tsm_emu_times_state {
    TSM_EMU_TIMES_NOT_YET, /* something of it has not run */
    TSM_EMU_TIMES_KNOWN,
    /* The call sent nothing: it failed, or became part of a graph. Or what it sent has failed, or
     * did not run because a command before it has. */
    TSM_EMU_TIMES_NONE,
};

/* Work that one command of a ticket meant for the device, in virtual time. */
struct tsm_emu_work {
    unsigned kind;   /* enum tsm_device_work_kind (base/machine.h) */
    uint64_t bytes;  /* of a copy or a fill */
    uint64_t blocks; /* of a kernel, ... */
    uint64_t instructions;
    uint64_t sent_ns; /* the clock of the thread that sent it */
    uint64_t queue;   /* id of its stream: of two that are ready at once the lower one goes first */
    int priority;     /* ... but for that of its stream: the lower the number, the earlier */
    bool is_node;     /* it waits for its parents alone, not for the one before it in its stream */
    bool is_last;     /* of the ticket's commands */
    const unsigned *parents; /* numbers of earlier commands of the ticket, ascending */
    unsigned parent_count;

    /* From version 4 on. */

    uint64_t id;   /* of the command: in the process, from 1 on */
    bool is_inner; /* it ran inside of the command with its number, a conditional node, right after
                      what ran there before */
    /* The value in memory that it waits for, or writes. */
    unsigned access; /* enum sbt_value_access */
    unsigned size;
    uint64_t address, value;
    uint64_t brought_by; /* id of the command whose end brought what it waits for; 0: none did */
    uint64_t host_ns;    /* ... the program, or another process did, and its next call was then; 0:
                            before the wait was sent */
    const uint64_t *awaited; /* ids of commands that it waits for: records of events, the launch of
                                the same graph before */
    unsigned awaited_count;
};

/* Gets the commands of a ticket in the order in which they were sent, numbered from 0. */
typedef void (*tsm_emu_work_visitor)(void *user, unsigned number, const struct tsm_emu_work *work);

/* Gets the commands of a ticket that record events as nodes of a graph. */
typedef void (*tsm_emu_event_visitor)(void *user, unsigned number, void *event);

#define TSM_EMU_ACCESSES_MAX 1024u

/* A command of a ticket has ended. `node`: the CUgraphNodeType that such a command is, -1: none.
 * Called on a thread of the device that holds its lock: calls nothing of the driver. */
typedef void (*tsm_emu_watcher)(void *user, int node, uint64_t start_ns, uint64_t end_ns);

/* Any thread may call these, with no restriction on what it holds; none of them waits for the
 * device or counts as a call of the driver. */
struct tsm_emu_times {
    uint32_t version; /* TSM_EMU_TIMES_VERSION; later ones only add members */
    bool is_virtual;

    /* Returns the time now: in virtual time the clock of the calling thread. */
    uint64_t (*now)(void);

    /* Between these two, all that the calling thread sends belongs to the ticket. Returns NULL if
     * out of memory. A thread has one at a time: begin it right before the call and end it right
     * after. */
    struct tsm_emu_ticket *(*begin)(void);
    void (*end)(struct tsm_emu_ticket *ticket);

    /* Says when the first of the ticket's commands started and the last one ended; marks, such as a
     * recorded event, count only where there is nothing else. The ticket goes with any answer but
     * NOT_YET. */
    enum tsm_emu_times_state (*read)(struct tsm_emu_ticket *ticket, uint64_t *start_ns,
                                     uint64_t *end_ns);

    /* Gives an ended ticket up that nobody will read. NULL: nothing. */
    void (*drop)(struct tsm_emu_ticket *ticket);

    /* Between aside(true) and aside(false) the calling thread's calls take no virtual time, nor
     * does what they send: they are a recorder's, not the program's. They may be nested. A wait
     * does not move the thread's clock, and a question is answered as of that clock. */
    void (*aside)(bool begins);

    /* Has the end of each command told that the ticket gets from now on. Call it between begin and
     * end. */
    void (*watch)(struct tsm_emu_ticket *ticket, tsm_emu_watcher watcher, void *user);

    /* From version 2 on. */

    /* The machine description of virtual time, "key=value,...", all keys; else NULL. */
    const char *machine;

    /* Tests whether read() would answer something else than NOT_YET. */
    bool (*is_over)(struct tsm_emu_ticket *ticket);

    /* Says what work the ticket's commands were. Call it before read(), in virtual time only.
     * Returns false where something of it has not run, or is not known. */
    bool (*works)(struct tsm_emu_ticket *ticket, tsm_emu_work_visitor visit, void *user);

    /* In virtual time: sets the calling thread's clock, also back. */
    void (*set_now)(uint64_t ns);

    /* From version 3 on. */

    /* Has the accesses of the ticket's commands observed, which makes kernels slower. Call it right
     * after begin(). */
    void (*observe)(struct tsm_emu_ticket *ticket);

    /* Gives the ranges of memory that the commands of an observed ticket have accessed, as they are
     * in an ACCESSES record (docs/FORMAT.md 10): of each one its address, size and flags
     * (SBT_ACCESS_*), TSM_EMU_ACCESSES_MAX at most. The ticket is over; the list is its own.
     * Returns false where not all are known. */
    bool (*accesses)(struct tsm_emu_ticket *ticket, const uint64_t (**list)[3], size_t *count);

    /* From version 4 on. */

    /* Says which events (CUevent) the nodes of a launched graph record. Call it after end(), and
     * before read() or drop(). */
    void (*events)(struct tsm_emu_ticket *ticket, tsm_emu_event_visitor visit, void *user);

    /* From version 5 on. */

    /* Tests whether everything that was sent to any stream is done. */
    bool (*is_idle)(void);

    /* Returns where the host can read `size` bytes of device memory at an address, that the program
     * can only change by commands: of cuMemAlloc, or of a pool of this process's own. NULL for
     * other memory, and where fresh memory is not zero (TS_EMU_POISON). Valid until the memory is
     * freed. */
    const void *(*device_bytes)(uint64_t address, uint64_t size);
};

/* Returns NULL before cuInit(). Valid as long as the library is loaded. */
typedef const struct tsm_emu_times *(*tsm_emu_times_function)(void);

#endif
