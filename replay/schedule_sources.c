/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory of the program that commands read when they run. In a replay each has the bytes that it
 * read when it was recorded; so that the program would have written others there too early does not
 * show.
 */
#include "replay/schedule_run.h"

#include "base/array.h"
#include "base/hash.h"
#include "replay/player.h"

/* Finds the bytes of the program that a record carries, and where it had them. */
static bool find_bytes(const struct sbt_record *record, const struct sbt_schema *schema,
                       struct tsm_schedule_source *out)
{
    const int payload = sbt_schema_role(schema, SBT_ROLE_PAYLOAD);
    struct sbt_blob blob;

    out->address = sbt_record_role(schema, record, SBT_ROLE_HOST_SRC, 0);
    if (payload < 0 || !out->address || !sbt_record_blob(record, (uint32_t)payload, &blob) ||
        !blob.size)
        return false;
    out->size = blob.size;
    out->hash = blob.bytes ? tsm_hash64(blob.bytes, blob.size)
                           : tsm_hash64(blob.keys, 16 * (size_t)blob.piece_count);
    return true;
}

static bool overlap(const struct tsm_schedule_source *a, const struct tsm_schedule_source *b)
{
    return a->address - b->address < b->size || b->address - a->address < a->size;
}

static bool are_equal(const struct tsm_schedule_source *a, const struct tsm_schedule_source *b)
{
    return a->address == b->address && a->size == b->size && a->hash == b->hash;
}

bool tsm_schedule_run_is_complete(const struct tsm_replay *p, const struct tsm_schedule_item *item,
                                  uint32_t stream)
{
    const struct tsm_schedule_turn *turn = tsm_schedule_order_turn_of(&p->scheduled->order, item);

    if (item->has_on)
        return turn->is_over;
    return turn->ordinal && p->order.tracks[stream].complete_position >= turn->ordinal;
}

static void drop_complete(struct tsm_replay *p)
{
    struct tsm_schedule_run *s = p->scheduled;
    size_t kept = 0;

    for (size_t i = 0; i < s->source_count; i++)
        if (!tsm_schedule_run_is_complete(p, s->sources[i].item, s->sources[i].stream))
            s->sources[kept++] = s->sources[i];
    s->source_count = kept;
}

int tsm_schedule_sources_meet(struct tsm_replay *p, const struct sbt_record *record,
                              const struct sbt_schema *schema, const struct tsm_schedule_item *item)
{
    struct tsm_schedule_run *s = p->scheduled;
    struct tsm_schedule_source source = {.item = item, .stream = record->stream};
    uint64_t unused;

    if (!find_bytes(record, schema, &source) || !p->backend->shared ||
        !p->backend->shared(p->state, source.address, source.size, &unused))
        return 0;
    if (s->source_count >= TSM_SCHEDULE_SOURCE_MAX)
        drop_complete(p);
    s->has_more_sources |= s->source_count >= TSM_SCHEDULE_SOURCE_MAX;
    if (s->has_more_sources)
        return 0;
    return TSM_ARRAY_PUSH(s->sources, s->source_count, s->source_capacity, source)
               ? 0
               : tsm_fail(TSM_E_MEMORY, "no memory for what commands read");
}

/* The record that was met last is `now`: waits before it are done, dropped or left for later. */
static bool is_passed(struct tsm_replay *p, const struct tsm_schedule_source *earlier,
                      const struct tsm_schedule_source *now)
{
    const struct tsm_schedule_run *s = p->scheduled;
    const bool is_sent = tsm_schedule_order_turn_of(&s->order, earlier->item)->ordinal != 0;

    return (!is_sent || s->unseen_seq > earlier->item->seq) && overlap(earlier, now) &&
           !are_equal(earlier, now) &&
           !tsm_schedule_run_is_complete(p, earlier->item, earlier->stream);
}

void tsm_schedule_sources_pass(struct tsm_replay *p, const struct sbt_record *record,
                               const struct sbt_schema *schema)
{
    struct tsm_schedule_run *s = p->scheduled;
    struct tsm_schedule_source now = {0};
    bool is_ahead = s->has_more_sources;
    uint64_t of = 0;

    if ((!s->unseen_seq && !tsm_schedule_order_left(&s->order, TSM_HOST_NOT_USED)) ||
        !find_bytes(record, schema, &now))
        return;
    for (size_t i = 0; i < s->source_count && !is_ahead; i++) {
        if (s->sources[i].item->seq >= record->seq)
            break;
        is_ahead = is_passed(p, &s->sources[i], &now);
        of = s->sources[i].item->seq;
    }
    if (!is_ahead || s->ahead_count++)
        return;
    s->ahead_seq = record->seq;
    s->ahead_of = of;
    s->ahead_of_source = true;
}
