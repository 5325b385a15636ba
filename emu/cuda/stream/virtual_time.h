/* SPDX-License-Identifier: Apache-2.0
 *
 * When commands start and end: the host's clock, or virtual time (TS_EMU_TIME=virtual,
 * docs/emu.md).
 *
 * In virtual time each host thread has a clock of its own, which stands still while the program
 * computes and goes on with its calls. A command arrives at the device a little later than its
 * call; it is ready when it has arrived, the one before it in its stream has ended and what it
 * waits for has ended. The device model (base/machine.h) says when it starts and ends. Commands are
 * carried out one at a time in the order of their ready times, and only as far as the program waits
 * or asks: what it sends later arrives later.
 */
#ifndef EMU_VIRTUAL_TIME_H
#define EMU_VIRTUAL_TIME_H

#include "emu/cuda/stream/stream.h"

/* ---- the calling thread's clock; nothing happens where time is not virtual ---- */

/* Returns the clock, or CLOCK_MONOTONIC. */
uint64_t emu_clock(void);

/* Adds the cost of a call that sends, waits or asks; once for each call of the driver. */
void emu_clock_charge(void);

/* Returns when the thread has seen something that happened at `ns`: its clock is not before that.
 */
void emu_clock_advance(uint64_t ns);

/* Sets the thread's clock, also back. */
void emu_clock_set(uint64_t ns);

/* Returns from when on the device sees what the program has written by now: of its next call, where
 * this one is not the program's. */
uint64_t emu_clock_seen(void);

/* The thread's clock stands still from here on, and what it sends takes no time; false: it goes on
 * again. */
void emu_clock_aside(bool begins);

/* ---- commands, under the scheduler's lock ---- */

/* Notes when the command arrives in the stream, from the calling thread's clock. False: out of
 * memory. */
bool emu_time_sent(struct emu_command *command, CUstream stream);

/* Returns what the device has to do for it; the instructions of a kernel when it has run. */
struct tsm_device_work emu_time_work(const struct emu_command *command);

/* Returns when the command is ready: the first one of its stream, all that it waits for is done. */
uint64_t emu_time_ready(const struct emu_command *command);

/* Notes the start. runs: it will run; else it takes no time. */
void emu_time_begin(struct emu_command *command, bool runs);

/* Notes the end. Of a kernel only now the length is known. */
void emu_time_end(struct emu_command *command, bool runs);

/* The same for a command inside of the one that `stream` runs: it is ready when the one before it
 * has ended. Without the lock. */
void emu_time_begin_inner(struct emu_command *command);
void emu_time_end_inner(struct emu_command *command);

#endif
