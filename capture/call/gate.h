/* SPDX-License-Identifier: Apache-2.0
 *
 * Gates: commands by which a stream waits for the program: a function of the program that has not
 * returned, or a value that the program has not stored. What is behind a gate has not begun; so the
 * program may read in peace what a command before it gave back, although a later one writes there,
 * too, and is already sent.
 *
 * A value may have been there and gone again, and another thread may open a gate at any moment. So
 * what is recorded because of a gate says that a later command may have changed it
 * (SBT_RECORD_HELD): a difference there is "cannot tell". Of values only those count that grow.
 *
 * Part of struct tsm_readbacks: its lock is held for all of this.
 */
#ifndef CAPTURE_CALL_GATE_H
#define CAPTURE_CALL_GATE_H

#include "capture/capture.h"

#define TSM_GATE_COUNT_MAX 256u /* of more the oldest are forgotten */

struct tsm_gate {
    const struct tsm_stream *stream;
    uint64_t position;
    uint16_t incarnation; /* of the stream */
    bool is_value;        /* else a function */
    struct tsm_value value;
};

struct tsm_gates {
    uint32_t count;
    struct tsm_gate all[TSM_GATE_COUNT_MAX];
};

/* Tests whether a gate that is not before `after_position` of stream `after` keeps the command at
 * `position` of `stream` from beginning. */
bool tsm_gates_hold(const struct tsm_gates *g, const struct tsm_stream *stream, uint64_t position,
                    const struct tsm_stream *after, uint64_t after_position);

/* Adds the command of `call`: it waits for `value` (NULL: for its function). */
void tsm_gates_add(struct tsm_gates *g, const struct tsm_call *call, const struct tsm_value *value);

#endif
