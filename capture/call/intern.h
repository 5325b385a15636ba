/* SPDX-License-Identifier: Apache-2.0
 *
 * Texts that are stored once, and definitions: entries of lane 0.
 */
#ifndef CAPTURE_CALL_INTERN_H
#define CAPTURE_CALL_INTERN_H

#include "capture/session.h"

#define TSM_INTERN_COUNT_MAX (1u << 20)

uint32_t tsm_intern_count(const struct tsm_session *session); /* ids are 1..count */

const char *tsm_intern_text(const struct tsm_session *session, uint32_t id);

uint32_t tsm_intern_in(struct tsm_session *session, const char *text, size_t size);

/* Take the lock, get room for an entry; publish, give the lock. NULL: the lock is not held. */
void *tsm_define_begin(struct tsm_session *session, uint64_t size, uint16_t kind);
void tsm_define_end(struct tsm_session *session, const void *entry);

#endif
