/* SPDX-License-Identifier: Apache-2.0
 *
 * Values in host memory that commands wait for or write (capture/call/value.c, value_table.c).
 */
#ifndef CAPTURE_CALL_VALUE_H
#define CAPTURE_CALL_VALUE_H

#include "capture/session.h"

/* Says of values that commands wrote, and that are there now, that the program can know it. */
void tsm_values_reached(struct tsm_lane *lane);

/* tsm_values_publish_completed() by the stream's number; SBT_STREAM_NONE: all streams. */
void tsm_values_publish_completed_number(uint32_t stream, uint64_t position);

/* capture/call/value.c: the host memory [from, from + size) is recorded as holding `bytes`. */
void tsm_values_seen(struct tsm_session *session, uint64_t from, const uint8_t *bytes,
                     uint64_t size);

/* Tests whether memory holds a value for which a wait ends. */
bool tsm_value_is_there(const struct tsm_value *value);

/* Tests whether a value is awaited, or was written, by a command of the stream. */
bool tsm_values_await(struct tsm_session *session, const struct tsm_stream *stream);

#endif
