/* SPDX-License-Identifier: Apache-2.0
 *
 * Looks up which threads, streams and strands are compared, when it is known who stands for whom.
 */
#include "analysis/diff/counterparts.h"

#include <string.h>

#include "analysis/diff/usage.h"

#define LONE_THREADS ((uint64_t)1 << 32) /* numbers of those that make no calls */

void tsm_counterparts_finish(struct tsm_counterparts *c)
{
    tsm_map_finish(&c->threads[0]);
    tsm_map_finish(&c->threads[1]);
    tsm_map_finish(&c->streams);
    tsm_map_finish(&c->own_streams);
    tsm_map_finish(&c->guessed_threads);
    tsm_map_finish(&c->guessed_streams);
    tsm_map_finish(&c->shared_streams);
    tsm_map_finish(&c->senders[0]);
    tsm_map_finish(&c->senders[1]);
    memset(c, 0, sizeof(*c));
}

uint64_t tsm_counterparts_thread(struct tsm_counterparts *c, int trace, uint64_t id)
{
    bool added;
    uint64_t *place = tsm_map_insert(&c->threads[trace], id, &added);

    if (place && added)
        *place = ++c->numbers[trace] + (c->is_known ? LONE_THREADS : 0);
    return place ? *place - 1 : UINT64_MAX;
}

uint64_t tsm_counterparts_stream(const struct tsm_counterparts *c, int trace, uint64_t number)
{
    if (!trace)
        return number;
    return tsm_map_get(&c->streams, number,
                       tsm_map_find(&c->own_streams, number) ? TSM_LONE_STREAM | number : number);
}

uint64_t tsm_counterparts_strand(struct tsm_counterparts *c, int trace,
                                 const struct sbt_record *command, const struct sbt_schema *schema)
{
    const uint64_t stream = tsm_counterparts_stream(c, trace, command->stream);
    uint64_t thread;

    if (!tsm_map_find(&c->shared_streams, stream))
        return stream;
    thread = tsm_counterparts_thread(c, trace, tsm_usage_sender(command, schema));
    if (thread == UINT64_MAX ||
        !tsm_map_set(&c->senders[trace], tsm_usage_mix(stream, command->position), thread + 1))
        return UINT64_MAX;
    return (thread + 1) << TSM_STRAND_STREAM_BITS | stream;
}

uint64_t tsm_counterparts_strand_at(const struct tsm_counterparts *c, int trace, uint64_t stream,
                                    uint64_t position)
{
    stream = tsm_counterparts_stream(c, trace, stream);
    return tsm_map_get(&c->senders[trace], tsm_usage_mix(stream, position), 0)
               << TSM_STRAND_STREAM_BITS |
           stream;
}

bool tsm_counterparts_is_guess(const struct tsm_counterparts *c, uint64_t strand)
{
    const uint64_t thread = strand >> TSM_STRAND_STREAM_BITS;

    return tsm_map_find(&c->guessed_streams, tsm_strand_stream(strand)) ||
           (thread && tsm_map_find(&c->guessed_threads, thread - 1));
}
