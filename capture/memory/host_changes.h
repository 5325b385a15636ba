/* SPDX-License-Identifier: Apache-2.0
 *
 * Host memory that the device reads or writes: what calls and readbacks say to it, and ask of it.
 */
#ifndef CAPTURE_MEMORY_HOST_CHANGES_H
#define CAPTURE_MEMORY_HOST_CHANGES_H

#include "capture/memory/gaps.h"
#include "capture/session.h"

/* Writes a COMPLETE record, and before it what the program must have written, so that it could be:
 * no lock is held. */
void tsm_hostmem_complete(struct tsm_lane *lane, uint32_t stream, uint64_t position);

/* A function of the program is about to run: it may tell other threads that commands up to `done`
 * are complete, which may then overwrite what those have read. */
void tsm_function_reached(uint32_t stream, uint64_t done);

/* Each range of tracked host memory; false when `visit` gave false. */
bool tsm_hostmem_each(struct tsm_session *session,
                      bool (*visit)(void *user, uint64_t start, uint64_t size), void *user);

/* Is all of [start, start + size) host memory that the device can read? */
bool tsm_hostmem_holds(struct tsm_session *session, uint64_t start, uint64_t size);

/* A command that may have written into [start, end) is complete: what has changed there may be
 * older than that, and its HOST_WRITE records say so (SBT_RECORD_HELD). settled() writes them. What
 * has changed from `from` on (0: nothing) the command may have changed (SBT_RECORD_DEVICE). */
void tsm_hostmem_held(struct tsm_session *session, uint64_t start, uint64_t end, uint64_t from,
                      bool is_contested);

void tsm_hostmem_write_held(void);

/* The device has written [from, to), nothing else is going to, and the bytes are about to be
 * recorded as what it gave back: they are no change of the program's. */
void tsm_hostmem_known(struct tsm_lane *lane, uint64_t from, uint64_t to);

/* The device has written there: whatever is there when it is looked at the next time counts as a
 * change, also what was recorded last. */
void tsm_hostmem_unknown(struct tsm_session *session, uint64_t start, uint64_t end);

/* Marks what is recorded of those ranges the next time as held: a copy wrote between bytes of the
 * program. */
void tsm_hostmem_mixed(struct tsm_session *session, uint64_t start, uint64_t end);

/* capture/memory/host_memory.c: the program wrote that value; when the command `after` had run, or
 * (SBT_STREAM_NONE) at any time before now. */
void tsm_hostmem_value(const struct tsm_value *value, struct tsm_running after);

#endif
