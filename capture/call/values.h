/* SPDX-License-Identifier: Apache-2.0
 *
 * Lists of values in host memory that the device waits for, or has written: value_table.c. What
 * follows from them for readbacks, streams and host memory: value.c.
 */
#ifndef CAPTURE_CALL_VALUES_H
#define CAPTURE_CALL_VALUES_H

#include "capture/session.h"

#include "capture/call/streams.h"
#include "capture/memory/gaps.h"

#define VALUE_COUNT 256u

struct tsm_awaited_value {
    struct tsm_value value;
    const struct tsm_stream *stream;
    uint64_t position;
    struct tsm_running after; /* the command of the stream that had taken such a value back */
};

struct tsm_written_value {
    struct tsm_value value;
    struct tsm_stream *stream;
    uint64_t position;
    bool is_telling; /* other than what was there before: when it is there, the program can know */
};

struct tsm_values {
    struct tsm_lock lock;
    uint32_t awaited_count;                        /* looked at without the lock */
    uint32_t written_count;                        /* the same */
    struct tsm_awaited_value awaited[VALUE_COUNT]; /* oldest first */
    struct tsm_written_value
        written[VALUE_COUNT]; /* by commands, the last of each address, oldest first */
};

/* Tests a list's count, without the lock. */
static inline bool tsm_values_none(const uint32_t *count)
{
    return __atomic_load_n(count, __ATOMIC_ACQUIRE) == 0;
}

/* Adds a value that a command of the call writes. The lock is held. A wait of the same stream that
 * stands before the write cannot be ended by it. */
void tsm_values_note_written(struct tsm_values *v, const struct tsm_call *call,
                             const struct tsm_value *value);
/* Adds a value that a command of the call waits for. The lock is held. A value that the device
 * itself has written before, on the same stream and other than it waits for, is there until the
 * program answers. */
void tsm_values_note_awaited(struct tsm_values *v, const struct tsm_call *call,
                             const struct tsm_value *value);

/* Finds a written value that is there now and was not known to be. */
bool tsm_values_take_reached(struct tsm_values *v, struct tsm_written_value *out);
/* Takes a wait that is over out of the list, with the value that is to be recorded. The commands of
 * `stream` (SBT_STREAM_NONE: of all) up to `position` are complete. */
bool tsm_values_take_passed(struct tsm_values *v, uint32_t stream, uint64_t position,
                            struct tsm_awaited_value *out);

#endif
