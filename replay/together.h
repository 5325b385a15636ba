/* SPDX-License-Identifier: Apache-2.0
 *
 * Several APIs as one backend, for traces in which one API uses what another one has given away
 * (docs/decisions/021-two-apis.md): one walk sends the records of all, in one order. Each record
 * goes to the backend of its API, what belongs to none to all of them.
 */
#ifndef REPLAY_TOGETHER_H
#define REPLAY_TOGETHER_H

#include "replay/backend.h"

#define TSM_TOGETHER_NAME "together"
#define TSM_TOGETHER_MAX  8u

struct tsm_together {
    struct tsm_backend backend;
    struct tsm_api_description description;
    const struct tsm_api_description *parts[TSM_TOGETHER_MAX + 1]; /* NULL-terminated */
};

/* Finds the APIs that share objects in the trace. Returns their number, 0: none do. */
size_t tsm_together_find(const struct sbt_reader *reader, const struct tsm_backend **out);

/* Makes the backend of these APIs; it holds nothing that would have to be given back. */
void tsm_together_init(struct tsm_together *out, const struct sbt_reader *reader);

#endif
