/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/lane/merge.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

void tsm_merge_finish(struct tsm_merge *m)
{
    free(m->lanes);
    free(m->heap);
    tsm_map_finish(&m->there);
    memset(m, 0, sizeof(*m));
}

int tsm_merge_add_lane(struct tsm_merge *m, const uint8_t *ring, uint64_t size)
{
    size_t heap_capacity = m->lane_capacity, need = (size_t)m->lane_count + 1;

    return TSM_ARRAY_RESERVE(m->heap, heap_capacity, need) &&
                   TSM_ARRAY_PUSH(m->lanes, m->lane_count, m->lane_capacity,
                                  (struct tsm_merge_lane){.ring = ring, .size = size})
               ? 0
               : tsm_fail(TSM_E_MEMORY, "no memory for %zu lanes", need);
}

/* ---- entries, checked -------------------------------------------------------------------------
 */

/* The entry at `at`, NULL when it makes no sense. */
static const struct tsm_entry *entry_at(const struct tsm_merge_lane *lane, uint64_t at,
                                        uint64_t until)
{
    uint64_t offset = at & (lane->size - 1);
    const struct tsm_entry *e = (const struct tsm_entry *)(const void *)(lane->ring + offset);

    if (until - at < sizeof(*e) || lane->size - offset < sizeof(*e) || (at & 7))
        return NULL;
    if (e->size < sizeof(*e) || (e->size & 7) || e->size > until - at ||
        e->size > lane->size - offset)
        return NULL;
    return e;
}

static const struct tsm_record_entry *as_record(const struct tsm_entry *e)
{
    const struct tsm_record_entry *r = (const struct tsm_record_entry *)(const void *)e;

    if (e->size < sizeof(*r) || r->slot_count > SBT_FIELD_COUNT_MAX ||
        sizeof(*r) + 8u * r->slot_count + (uint64_t)r->data_size > e->size)
        return NULL;
    return r;
}

static const struct tsm_piece_entry *as_piece(const struct tsm_entry *e)
{
    const struct tsm_piece_entry *p = (const struct tsm_piece_entry *)(const void *)e;

    if (e->size < sizeof(*p) || p->data_size == 0 || p->data_size > SBT_PIECE_SIZE ||
        sizeof(*p) + (uint64_t)p->data_size > e->size)
        return NULL;
    return p;
}

static uint64_t key_of(const struct tsm_record_entry *r)
{
    return r->entry.flags & TSM_ENTRY_AT_BEGIN ? r->begin : r->end;
}

/* ---- definitions and pieces ---------------------------------------------------------------------
 */

static int define_string(struct sbt_writer *w, const struct tsm_entry *e)
{
    const struct tsm_string_entry *s = (const struct tsm_string_entry *)(const void *)e;

    if (e->size < sizeof(*s) || sizeof(*s) + (uint64_t)s->text_size > e->size)
        return TSM_E_FORMAT;
    return sbt_writer_string(w, s->id, (const char *)(s + 1), s->text_size);
}

static int define_stack(struct sbt_writer *w, const struct tsm_entry *e)
{
    const struct tsm_stack_entry *s = (const struct tsm_stack_entry *)(const void *)e;

    if (e->size < sizeof(*s) || s->frame_count > SBT_STACK_DEPTH_MAX ||
        sizeof(*s) + 8u * (uint64_t)s->frame_count > e->size)
        return TSM_E_FORMAT;
    return sbt_writer_stack(w, s->id, (const uint64_t *)(const void *)(s + 1), s->frame_count);
}

static int define_mapping(struct sbt_writer *w, const struct tsm_entry *e)
{
    const struct tsm_mapping_entry *m = (const struct tsm_mapping_entry *)(const void *)e;
    const char *path = (const char *)(m + 1);
    struct sbt_mapping mapping;

    if (e->size < sizeof(*m) || m->path_size == 0 || m->build_id_size > 64 ||
        sizeof(*m) + (uint64_t)m->path_size + m->build_id_size > e->size || path[m->path_size - 1])
        return TSM_E_FORMAT;
    mapping = (struct sbt_mapping){m->start,
                                   m->end,
                                   m->file_offset,
                                   path,
                                   m->build_id_size ? (const uint8_t *)path + m->path_size : NULL,
                                   m->build_id_size};
    return sbt_writer_mapping(w, &mapping);
}

static int define_metadata(struct sbt_writer *w, const struct tsm_entry *e)
{
    const struct tsm_metadata_entry *m = (const struct tsm_metadata_entry *)(const void *)e;
    const char *name = (const char *)(m + 1);

    if (e->size < sizeof(*m) || m->name_size == 0 || m->value_size == 0 ||
        sizeof(*m) + (uint64_t)m->name_size + m->value_size > e->size || name[m->name_size - 1] ||
        name[m->name_size + m->value_size - 1])
        return TSM_E_FORMAT;
    return sbt_writer_metadata(w, name, name + m->name_size);
}

static int define(struct sbt_writer *w, const struct tsm_entry *e)
{
    switch (e->kind) {
    case TSM_ENTRY_STRING:
        return define_string(w, e);
    case TSM_ENTRY_STACK:
        return define_stack(w, e);
    case TSM_ENTRY_MAPPING:
        return define_mapping(w, e);
    case TSM_ENTRY_METADATA:
        return define_metadata(w, e);
    default:
        return 0; /* PAD, or something newer */
    }
}

int tsm_merge_definitions(struct tsm_merge *m, uint64_t until)
{
    struct tsm_merge_lane *lane = &m->lanes[0];

    while (!lane->torn && lane->read < until) {
        const struct tsm_entry *e = entry_at(lane, lane->read, until);
        int error = e ? define(m->writer, e) : TSM_E_FORMAT;

        if (error == TSM_E_FORMAT) {
            lane->torn = true;
            break;
        }
        /* Over a limit of the format: left out, the rest goes on. */
        if (error && error != TSM_E_ARGUMENT && error != TSM_E_LIMIT)
            return error;
        lane->read += e->size;
    }
    return 0;
}

/* A piece that makes no sense is an error of the lane's, TSM_E_FORMAT. */
static int hand_over(struct tsm_merge *m, struct tsm_merge_lane *lane, const struct tsm_entry *e)
{
    const struct tsm_piece_entry *p = as_piece(e);
    struct sbt_key key;

    if (!p)
        return TSM_E_FORMAT;
    memcpy(key.bytes, p->key, sizeof(key.bytes));
    lane->pieces++;
    return sbt_writer_piece(m->writer, &key, p + 1, p->data_size);
}

/* A torn lane only stops here: the records before the torn place are still to come. */
int tsm_merge_pieces(struct tsm_merge *m, struct tsm_merge_lane *lane, uint64_t until)
{
    if (lane->scanned < lane->read)
        lane->scanned = lane->read;
    while (!lane->torn && lane->scanned < until) {
        const struct tsm_entry *e = entry_at(lane, lane->scanned, until);
        int error = 0;

        if (e && e->kind == TSM_ENTRY_PIECE)
            error = hand_over(m, lane, e);
        if (!e || error == TSM_E_FORMAT)
            break;
        if (error)
            return error;
        lane->scanned += e->size;
    }
    return 0;
}

/* ---- records ----------------------------------------------------------------------------------
 */

uint64_t tsm_merge_ns(const struct tsm_merge *m, uint64_t ticks)
{
    uint64_t ns = tsm_clock_line_ns(&m->clock, ticks);

    return ns > m->start_ns ? ns - m->start_ns : 0;
}

/* Move `read` over pieces to the next record before the limit: lane->next, NULL for none. */
static int find_next(struct tsm_merge *m, struct tsm_merge_lane *lane)
{
    lane->next = NULL;
    while (!lane->torn && lane->read < lane->limit) {
        const struct tsm_entry *e = entry_at(lane, lane->read, lane->limit);
        int error = 0;

        if (e && e->kind == TSM_ENTRY_RECORD) {
            lane->next = as_record(e);
            lane->torn = !lane->next;
            if (lane->next)
                lane->key = key_of(lane->next);
            return 0;
        }
        if (e && e->kind == TSM_ENTRY_PIECE && lane->read >= lane->scanned)
            error = hand_over(m, lane, e);
        if (!e || error == TSM_E_FORMAT)
            lane->torn = true;
        else if (error)
            return error;
        else
            lane->read += e->size;
    }
    return 0;
}

uint64_t tsm_merge_key_at(const struct tsm_merge_lane *lane, uint64_t at)
{
    uint64_t position = lane->read;

    while (position < lane->limit) {
        const struct tsm_entry *e = entry_at(lane, position, lane->limit);
        const struct tsm_record_entry *r = e && e->kind == TSM_ENTRY_RECORD ? as_record(e) : NULL;

        if (!e)
            break;
        if (r && position >= at)
            return key_of(r);
        position += e->size;
    }
    return UINT64_MAX;
}

static bool before(const struct tsm_merge *m, uint32_t a, uint32_t b)
{
    return m->lanes[a].key != m->lanes[b].key ? m->lanes[a].key < m->lanes[b].key : a < b;
}

static void sift_down(struct tsm_merge *m, uint32_t at)
{
    uint32_t moving = m->heap[at];

    for (;;) {
        uint32_t child = 2 * at + 1;
        if (child >= m->heap_count)
            break;
        if (child + 1 < m->heap_count && before(m, m->heap[child + 1], m->heap[child]))
            child++;
        if (!before(m, m->heap[child], moving))
            break;
        m->heap[at] = m->heap[child];
        at = child;
    }
    m->heap[at] = moving;
}

static int build_heap(struct tsm_merge *m)
{
    m->heap_count = 0;
    for (uint32_t i = 1; i < m->lane_count; i++) {
        int error = find_next(m, &m->lanes[i]);
        if (error)
            return error;
        if (m->lanes[i].next)
            m->heap[m->heap_count++] = i;
    }
    for (uint32_t i = m->heap_count / 2; i-- > 0;)
        sift_down(m, i);
    return 0;
}

/* Its place in the trace's order must not be lost, whatever is wrong with it. */
static int write_refused(struct tsm_merge *m, const struct sbt_record *refused)
{
    static const char what[] = "a malformed record";
    uint64_t slots[2] = {TSM_OWN_STRING_REFUSED, refused->type};
    struct sbt_record record = *refused;
    int error = sbt_writer_string(m->writer, TSM_OWN_STRING_REFUSED, what, sizeof(what) - 1);

    record.type = SBT_TYPE(SBT_API_CORE, SBT_CORE_UNMODELLED);
    record.flags = SBT_RECORD_TAINTS;
    record.slots = slots;
    record.slot_count = 2;
    record.data_size = 0;
    return error ? error : sbt_writer_record(m->writer, &record);
}

/* The writer takes records of their schema's shape only. One that ended early (an unfinished call,
 * a wrapper's mistake) is filled up with zeros and empty blobs. */
static int write_fitted(struct tsm_merge *m, const struct sbt_record *misfit)
{
    uint64_t slots[SBT_FIELD_COUNT_MAX] = {0};
    uint8_t empty_blob[8] = {0};
    struct sbt_record record = *misfit;
    uint64_t blobs;
    int count = sbt_writer_shape(m->writer, misfit->type, &blobs);

    if (count < 0)
        return write_refused(m, misfit);
    for (int i = 0; i < count; i++) {
        if (blobs >> i & 1)
            slots[i] = sizeof(empty_blob);
    }
    record.slots = slots;
    record.slot_count = (uint32_t)count;
    record.data = empty_blob;
    record.data_size = sizeof(empty_blob);
    if (!(record.flags & SBT_RECORD_UNFINISHED))
        record.flags |= SBT_RECORD_TRUNCATED;
    return sbt_writer_record(m->writer, &record);
}

static bool is_there(struct tsm_merge *m, uint32_t thread)
{
    uint64_t *count = m->there.count ? tsm_map_find(&m->there, thread) : NULL;

    if (!count || !*count)
        return false;
    (*count)--;
    return true;
}

static int declare(struct tsm_merge *m, uint32_t type)
{
    uint32_t api = SBT_TYPE_API(type), call = SBT_TYPE_CALL(type);
    uint64_t bit = (uint64_t)1 << call % 64;

    if (!m->declare || api >= TSM_TYPE_API_COUNT || call >= TSM_TYPE_CALL_COUNT ||
        (m->declared[api][call / 64] & bit))
        return 0;
    m->declared[api][call / 64] |= bit;
    return m->declare(m->declare_user, type);
}

int tsm_merge_write(struct tsm_merge *m, struct sbt_record *record, uint64_t begin, uint64_t end)
{
    uint64_t end_ns = tsm_merge_ns(m, end);
    int error;

    if (is_there(m, record->thread))
        return 0;
    record->seq = m->record_count;
    record->time_ns = tsm_merge_ns(m, begin);
    record->duration_ns = end_ns > record->time_ns ? end_ns - record->time_ns : 0;
    error = declare(m, record->type);
    if (error)
        return error;
    error = sbt_writer_record(m->writer, record);
    if (error == TSM_E_ARGUMENT || error == TSM_E_LIMIT)
        error = write_fitted(m, record);
    if (!error)
        m->record_count++;
    return error;
}

static int write_entry(struct tsm_merge *m, const struct tsm_record_entry *r)
{
    const uint64_t *slots = (const uint64_t *)(const void *)(r + 1);
    struct sbt_record record = {
        .type = r->type,
        .thread = r->thread,
        .stream = r->stream,
        .stack = r->stack,
        .position = r->position,
        .result = r->result,
        .flags = r->flags,
        .slot_count = r->slot_count,
        .slots = slots,
        .data = (const uint8_t *)(slots + r->slot_count),
        .data_size = r->data_size,
    };

    if ((r->entry.flags & TSM_ENTRY_COMMAND) && key_of(r) < m->cut) {
        tsm_missing_add(&m->kept_out, r->stream, key_of(r));
        return 0;
    }
    return tsm_merge_write(m, &record, r->begin, r->end);
}

/* Keys below this come before every record of the other lanes. */
static uint64_t end_of_run(const struct tsm_merge *m, uint64_t watermark)
{
    uint32_t second = 1;
    uint64_t end;

    if (m->heap_count < 2)
        return watermark;
    if (m->heap_count > 2 && before(m, m->heap[2], m->heap[1]))
        second = 2;
    end = m->lanes[m->heap[second]].key;
    if (end < UINT64_MAX && m->heap[0] < m->heap[second])
        end++; /* equal keys: the lower lane first */
    return end < watermark ? end : watermark;
}

/* A thread's records mostly come in runs: the heap is asked once for each, not for each record. */
static int write_run(struct tsm_merge *m, struct tsm_merge_lane *lane, uint64_t end)
{
    do {
        int error = write_entry(m, lane->next);

        if (error)
            return error;
        lane->read += lane->next->entry.size;
        error = find_next(m, lane);
        if (error)
            return error;
    } while (lane->next && lane->key < end);
    return 0;
}

int tsm_merge_records(struct tsm_merge *m, uint64_t watermark)
{
    int error = build_heap(m);

    while (!error && m->heap_count > 0 && m->lanes[m->heap[0]].key < watermark) {
        struct tsm_merge_lane *lane = &m->lanes[m->heap[0]];

        error = write_run(m, lane, end_of_run(m, watermark));
        if (!lane->next)
            m->heap[0] = m->heap[--m->heap_count];
        if (m->heap_count > 0)
            sift_down(m, 0);
    }
    return error;
}
