/* SPDX-License-Identifier: Apache-2.0
 *
 * Finding the chunks of a trace: from trailer and index, or by walking from header to header.
 */
#include "format/read/state.h"

#include "base/array.h"
#include "base/bytes.h"
#include "base/hash.h"
#include "format/chunk/walk.h"
#include "format/chunk/index.h"
#include "format/limits.h"
#include "format/events/rows.h"
#include "format/chunk/source.h"

#include <stdlib.h>
#include <string.h>

static unsigned long long ull(uint64_t v)
{
    return v;
}

/* ---- the list of chunks ---- */

static void entry_fill(struct sbt_entry *e, const struct sbt_chunk *head, uint64_t offset)
{
    *e = (struct sbt_entry){
        .head = *head,
        .info =
            {
                .offset = offset,
                .type = head->type,
                .codec = head->codec,
                .raw_size = head->raw_size,
                .stored_size = head->stored_size,
                .first_seq = head->first_seq,
                .last_seq = head->last_seq,
                .first_time_ns = head->first_time,
                .last_time_ns = head->last_time,
                .stream_set = head->stream_set,
                .record_count = head->type == SBT_CHUNK_EVENTS ? head->count : 0,
            },
    };
}

/* EVENTS chunks hold ascending numbers; what is missing between them is said, what goes back is not
 * used. */
static int add_events(struct sbt_reader *r, const struct sbt_chunk *head, uint64_t offset)
{
    uint64_t due = 0;

    if (r->events_count)
        due = r->entries[r->events[r->events_count - 1]].head.last_seq + 1;
    r->has_holes |= head->first_seq != due;
    if (head->first_seq < due) {
        sbt_reader_say(r, "offset %llu: EVENTS chunk %u goes back to record %llu; skipped",
                       ull(offset), head->number, ull(head->first_seq));
        return 0;
    }
    if (head->first_seq > due)
        sbt_reader_say(r, "offset %llu: records %llu to %llu are missing", ull(offset), ull(due),
                       ull(head->first_seq - 1));
    if (!TSM_ARRAY_PUSH(r->events, r->events_count, r->events_capacity, (uint32_t)r->entry_count))
        return tsm_fail(TSM_E_MEMORY, "%s: out of memory for the index", r->name);
    r->totals.record_count += head->count;
    if (head->stream_end > r->totals.stream_count)
        r->totals.stream_count = head->stream_end;
    return 0;
}

static int check_type(struct sbt_reader *r, const struct sbt_chunk *head, uint64_t offset)
{
    if (head->type > 0 && head->type < SBT_CHUNK_TYPE_END)
        return 0;
    if (head->flags & SBT_CHUNK_CRITICAL)
        return tsm_fail(TSM_E_VERSION,
                        "%s: offset %llu: chunk type %u is needed and unknown to this build; use a "
                        "newer TraceSmith",
                        r->name, ull(offset), head->type);
    r->unknown_count++;
    return 0;
}

static void say_broken_rule(struct sbt_reader *r, const struct sbt_chunk *head, uint64_t offset)
{
    char text[96];

    if (sbt_chunk_breaks_rule(head, r->minor,
                              (r->session.required_features & SBT_FEATURE_COMPACT) != 0, text,
                              sizeof(text)))
        sbt_reader_say(r, "offset %llu: chunk %u: %s", ull(offset), head->number, text);
}

static void note_gap(struct sbt_reader *r, const struct sbt_chunk *head, uint32_t due)
{
    uint32_t first = sbt_chunk_first_number(head);
    uint64_t gap = first > due ? first - due : 0;

    if (head->type == SBT_CHUNK_VOID && (head->flags & SBT_CHUNK_NOTABLE))
        gap += head->count;
    r->gap_count += gap;
    r->tail_gap_count = sbt_chunk_is_index(head->type) ? r->tail_gap_count + gap : 0;
}

/* Append a chunk that lies after the ones that are there, and say what is missing before it. */
static int add_entry(struct sbt_reader *r, const struct sbt_chunk *head, uint64_t offset)
{
    const struct sbt_entry *last = r->entry_count ? &r->entries[r->entry_count - 1] : NULL;
    uint64_t due = last ? sbt_entry_end(last) : r->header_length;
    uint32_t number = last ? last->head.number + 1 : 0;
    int error = check_type(r, head, offset);

    if (error)
        return error;
    r->has_holes |= offset > due || sbt_chunk_first_number(head) > number;
    if (head->type == SBT_CHUNK_VOID && (head->flags & SBT_CHUNK_NOTABLE))
        sbt_reader_say(r, "offset %llu: %u chunks were lost here, as a repair has noted",
                       ull(offset), head->count);
    if (offset > due)
        sbt_reader_say(r, "offset %llu: %llu bytes belong to no chunk", ull(due),
                       ull(offset - due));
    note_gap(r, head, number);
    if (sbt_chunk_first_number(head) > number)
        sbt_reader_say(r, "offset %llu: %u chunks are missing", ull(due),
                       sbt_chunk_first_number(head) - number);
    if (!TSM_ARRAY_RESERVE(r->entries, r->entry_capacity, r->entry_count + 1))
        return tsm_fail(TSM_E_MEMORY, "%s: out of memory for the index", r->name);
    if (head->type == SBT_CHUNK_EVENTS)
        error = add_events(r, head, offset);
    if (error)
        return error;
    say_broken_rule(r, head, offset);
    entry_fill(&r->entries[r->entry_count++], head, offset);
    return 0;
}

static void entries_clear(struct sbt_reader *r)
{
    r->entry_count = 0;
    r->events_count = 0;
    r->unknown_count = 0;
    r->gap_count = r->tail_gap_count = 0;
    r->has_holes = false;
    r->totals = (struct sbt_totals){0};
}

/* ---- index ---- */

/* Whether the chunk may stand here: after the last one, whole, of this session. */
static bool may_follow(const struct sbt_reader *r, const struct sbt_chunk *head, uint64_t offset,
                       uint64_t end)
{
    const struct sbt_entry *last = r->entry_count ? &r->entries[r->entry_count - 1] : NULL;

    return sbt_chunk_may_follow(head, r->session_word, last ? last->head.number + 1 : 0,
                                last ? sbt_entry_end(last) : r->header_length, offset, end);
}

static bool is_read(struct sbt_reader *r, uint64_t offset, void *out, size_t size)
{
    int error = sbt_reader_read(r, offset, out, size);

    if (error && error != TSM_E_FORMAT)
        r->load_error = error;
    return !error;
}

/* Read and unpack a chunk that is not in the list (yet). NULL: it cannot be used. */
static uint8_t *load_at(struct sbt_reader *r, uint64_t offset, uint16_t type,
                        struct sbt_chunk *head)
{
    uint8_t header[SBT_CHUNK_HEADER_SIZE];
    uint8_t *stored = NULL, *raw = NULL;

    if (offset > r->size || r->size - offset < sizeof(header) ||
        !is_read(r, offset, header, sizeof(header)) || !sbt_chunk_get(head, header) ||
        head->type != type || head->session != r->session_word ||
        head->stored_size > r->size - offset - sizeof(header))
        return NULL;
    stored = malloc(head->stored_size ? head->stored_size : 1);
    raw = malloc(head->raw_size ? head->raw_size : 1);
    if (!stored || !raw || !is_read(r, offset + sizeof(header), stored, head->stored_size) ||
        sbt_chunk_unpack(&r->packer, head, stored, raw) != NULL) {
        free(raw);
        raw = NULL;
    }
    free(stored);
    return raw;
}

static bool read_trailer(struct sbt_reader *r, struct sbt_trailer *t, struct sbt_chunk *head)
{
    uint8_t tail[SBT_TRAILER_TAIL_SIZE];
    uint8_t *payload;
    uint64_t size;

    if (r->size < r->header_length + (uint64_t)SBT_TRAILER_CHUNK_SIZE ||
        !is_read(r, r->size - sizeof(tail), tail, sizeof(tail)) ||
        memcmp(tail + 4, sbt_end_magic, sizeof(sbt_end_magic)) != 0)
        return false;
    size = tsm_get_u32(tail);
    if (size < SBT_TRAILER_CHUNK_SIZE || size > r->size)
        return false;
    payload = load_at(r, r->size - size, SBT_CHUNK_TRAILER, head);
    if (!payload)
        return false;
    /* A later minor version may have put more between what we know and the tail. */
    if (head->raw_size >= SBT_TRAILER_SIZE)
        sbt_trailer_get(t, payload);
    free(payload);
    return head->raw_size >= SBT_TRAILER_SIZE &&
           SBT_CHUNK_HEADER_SIZE + head->stored_size == size && t->session_size == r->size;
}

/* Entries of an INDEX payload; `each` adds one. */
typedef int index_each(struct sbt_reader *r, const struct sbt_chunk *head, uint64_t offset);

static int walk_index(struct sbt_reader *r, const uint8_t *payload, const struct sbt_chunk *index,
                      enum sbt_index_kind kind, index_each *each)
{
    struct tsm_view v = tsm_view_init(payload, index->raw_size);
    uint32_t got_kind = tsm_view_u32(&v);
    uint32_t count = tsm_view_u32(&v);
    int error = 0;

    if (v.failed || got_kind != (uint32_t)kind || count != index->count ||
        tsm_view_left(&v) != (uint64_t)count * SBT_INDEX_ENTRY_SIZE)
        return TSM_E_FORMAT;
    while (count-- && !error) {
        uint64_t offset = tsm_view_u64(&v);
        struct sbt_chunk head;
        const uint8_t *summary = tsm_view_take(&v, SBT_CHUNK_SUMMARY_SIZE);
        if (!sbt_chunk_get_summary(&head, summary) || !may_follow(r, &head, offset, r->size))
            return TSM_E_FORMAT;
        error = each(r, &head, offset);
    }
    return error;
}

/* The chunks that a leaf names, then the leaf itself. */
static int add_leaf(struct sbt_reader *r, const struct sbt_chunk *head, uint64_t offset)
{
    struct sbt_chunk found;
    uint8_t *payload = load_at(r, offset, SBT_CHUNK_INDEX, &found);
    int error;

    if (!payload)
        return TSM_E_FORMAT;
    error = walk_index(r, payload, &found, SBT_INDEX_LEAF, add_entry);
    free(payload);
    if (!error && !may_follow(r, head, offset, r->size))
        error = TSM_E_FORMAT;
    return error ? error : add_entry(r, head, offset);
}

static int read_index(struct sbt_reader *r, const struct sbt_trailer *t,
                      const struct sbt_chunk *trailer)
{
    uint64_t trailer_at = r->size - SBT_CHUNK_HEADER_SIZE - trailer->stored_size;
    struct sbt_chunk root;
    uint8_t *payload = load_at(r, t->root_offset, SBT_CHUNK_INDEX, &root);
    int error;

    if (!payload)
        return TSM_E_FORMAT;
    error = walk_index(r, payload, &root, SBT_INDEX_ROOT, add_leaf);
    free(payload);
    if (!error && !may_follow(r, &root, t->root_offset, trailer_at))
        error = TSM_E_FORMAT;
    if (!error)
        error = add_entry(r, &root, t->root_offset);
    if (!error && !may_follow(r, trailer, trailer_at, r->size))
        error = TSM_E_FORMAT;
    return error ? error : add_entry(r, trailer, trailer_at);
}

void sbt_reader_recount(struct sbt_reader *r)
{
    r->totals.record_count = 0;
    r->totals.stream_count = 0;
    for (size_t i = 0; i < r->events_count; i++) {
        const struct sbt_chunk *head = &r->entries[r->events[i]].head;
        r->totals.record_count += head->count;
        if (head->stream_end > r->totals.stream_count)
            r->totals.stream_count = head->stream_end;
    }
}

/* Compares the trailer's totals with the records. `whole`: the index was read, so both must agree;
 * otherwise records may be missing, and each hole was reported. */
static void adopt_totals(struct sbt_reader *r, const struct sbt_trailer *t, bool whole)
{
    const struct sbt_totals *found = &r->totals, *said = &t->totals;

    sbt_reader_recount(r);
    if (said->record_count < found->record_count ||
        (whole && said->record_count > found->record_count))
        sbt_reader_say(r, "the trailer counts %llu records, the chunks hold %llu",
                       ull(said->record_count), ull(found->record_count));
    if (said->stream_count < found->stream_count ||
        (whole && said->stream_count > found->stream_count))
        sbt_reader_say(r, "the trailer counts %u streams, the chunks hold %u", said->stream_count,
                       found->stream_count);
    r->said_count = said->record_count;
    r->totals = t->totals;
    r->totals_known = true;
    r->end = t->end;
}

/* Compares the trailer's count of chunks with the chunks that were found by it: the root comes
 * right before the trailer. */
static void judge_trailer(struct sbt_reader *r, const struct sbt_trailer *t)
{
    const struct sbt_entry *last = &r->entries[r->entry_count - 1], *root = last - 1;

    if (t->chunk_count != last->head.number + 1)
        sbt_reader_say(r, "the trailer counts %u chunks, there are %u", t->chunk_count,
                       last->head.number + 1);
    if (t->root_offset != root->info.offset ||
        t->root_size != SBT_CHUNK_HEADER_SIZE + root->head.stored_size)
        sbt_reader_say(r, "the trailer does not point at the index root");
    if (t->end == SBT_END_NONE || (t->end > SBT_END_CUT && r->minor == 0))
        sbt_reader_say(r, "the trailer gives %u as the reason for its end", t->end);
}

/* ---- scanning ---- */

/* A chunk that was cut and then filled up, as after a power loss, shows only in its payload. */
static bool last_is_whole(struct sbt_reader *r)
{
    const struct sbt_entry *last = &r->entries[r->entry_count - 1];
    struct sbt_chunk head;
    uint8_t *payload = load_at(r, last->info.offset, last->head.type, &head);

    free(payload);
    return payload != NULL;
}

static void drop_last(struct sbt_reader *r)
{
    r->entry_count--;
    if (r->events_count && r->events[r->events_count - 1] == r->entry_count)
        r->events_count--;
    sbt_reader_recount(r);
}

static int say_tail(struct sbt_reader *r)
{
    uint64_t session;
    int error = sbt_source_find_session(&r->source, r->whole_end, r->size, &session);

    if (error)
        return error;
    if (session > r->whole_end)
        sbt_reader_say(r, "offset %llu: %s%llu bytes are no whole chunk; lost", ull(r->whole_end),
                       session == r->size ? "the last " : "", ull(session - r->whole_end));
    if (session == r->size)
        return 0;
    r->more_sessions = true;
    sbt_reader_say(r,
                   "offset %llu: another session starts here; only the first one is read; "
                   "split the file there to read the others",
                   ull(session));
    return 0;
}

static void count_notable(struct sbt_reader *r, const struct sbt_rows *rows,
                          struct sbt_totals *totals)
{
    for (size_t i = 0; i < rows->count; i++) {
        const struct sbt_record *record = &rows->records[i];
        const struct sbt_schema *schema = sbt_reader_schema(r, record->type);
        if (record->slot_count && record->type == SBT_TYPE(SBT_API_CORE, SBT_CORE_LOST))
            totals->lost_count += record->slots[0];
        if (record->slot_count && record->type == SBT_TYPE(SBT_API_CORE, SBT_CORE_FILTERED))
            totals->filtered_count += record->slots[0];
        totals->tainted_count += sbt_record_taints(schema ? schema->flags : 0, record->flags);
    }
}

void sbt_reader_count_notable(struct sbt_reader *r, struct sbt_totals *totals)
{
    for (size_t i = 0; i < r->events_count; i++) {
        const struct sbt_entry *e = &r->entries[r->events[i]];
        struct sbt_rows rows;
        uint8_t *payload;
        const char *wrong;
        if (!(e->head.flags & SBT_CHUNK_NOTABLE))
            continue;
        int error = sbt_reader_load(r, &r->packer, r->events[i], &payload, false);
        if (error) {
            if (error != TSM_E_CHECKSUM) /* which was said */
                sbt_reader_fault(r, "tainting records");
            continue;
        }
        wrong = sbt_rows_decode(&rows, &e->head, payload);
        if (wrong) {
            if (wrong == sbt_no_memory)
                sbt_reader_fault(r, "tainting records");
            else
                sbt_reader_blame(r, r->events[i], wrong, false);
            continue;
        }
        count_notable(r, &rows, totals);
        sbt_rows_finish(&rows);
    }
}

/* A trailer that is not at the file's end: something was appended, another session perhaps. */
static void adopt_last_trailer(struct sbt_reader *r)
{
    const struct sbt_entry *last = &r->entries[r->entry_count - 1];
    struct sbt_chunk head;
    struct sbt_trailer t;
    uint8_t *payload;

    if (last->head.type != SBT_CHUNK_TRAILER || last->head.raw_size < SBT_TRAILER_SIZE)
        return;
    payload = load_at(r, last->info.offset, SBT_CHUNK_TRAILER, &head);
    if (!payload)
        return;
    sbt_trailer_get(&t, payload);
    free(payload);
    adopt_totals(r, &t, false);
}

int sbt_reader_scan(struct sbt_reader *r)
{
    struct sbt_chunk_walk walk =
        sbt_chunk_walk_init(&r->source, r->size, r->header_length, r->session_word);
    int error;

    entries_clear(r);
    r->has_trailer = false;
    r->end = SBT_END_NONE;
    while ((error = sbt_chunk_walk_next(&walk)) == 1) {
        error = add_entry(r, &walk.head, walk.offset);
        if (error)
            break;
    }
    if (error)
        return error;
    while (r->entry_count > 1 && !last_is_whole(r))
        drop_last(r);
    r->whole_end =
        r->entry_count ? sbt_entry_end(&r->entries[r->entry_count - 1]) : r->header_length;
    if (r->whole_end < r->size)
        error = say_tail(r);
    if (!error && r->entry_count)
        adopt_last_trailer(r);
    return error;
}

/* Scans, and tells whether `named` are exactly the chunks that are there. */
static int scan_and_compare(struct sbt_reader *r, const struct sbt_entry *named, size_t count,
                            bool *same)
{
    int error = sbt_reader_scan(r);

    *same = !error && r->entry_count == count;
    for (size_t i = 0; *same && i < count; i++) {
        uint8_t header[SBT_CHUNK_HEADER_SIZE];
        sbt_chunk_put(header, &named[i].head);
        *same = named[i].info.offset == r->entries[i].info.offset &&
                sbt_chunk_is(&r->entries[i].head, header);
    }
    return error;
}

/* An index that leaves something out is right only where nothing intact is: after a repair, which
 * leaves a hole as it is. Otherwise TSM_E_FORMAT. */
static int confirm_holes(struct sbt_reader *r)
{
    struct sbt_entry *named = r->entries;
    size_t count = r->entry_count;
    bool same;
    int error;

    r->entries = NULL;
    r->entry_count = r->entry_capacity = 0;
    error = scan_and_compare(r, named, count, &same);
    free(named);
    return error || same ? error : TSM_E_FORMAT;
}

#define COMPARED_MAX 1024u /* chunks: opening a large trace takes no longer than its index does */

/* Tests whether an intact header in the file is another one than in the index. One that is damaged
 * is found when the chunk is read. */
static int compare_headers(struct sbt_reader *r, bool *differs)
{
    uint8_t header[SBT_CHUNK_HEADER_SIZE];
    struct sbt_chunk head;
    int error = 0;

    *differs = false;
    for (size_t i = 0; i < r->entry_count && r->entry_count <= COMPARED_MAX && !*differs; i++) {
        const struct sbt_entry *e = &r->entries[i];
        error = sbt_reader_read(r, e->info.offset, header, sizeof(header));
        if (error)
            return error;
        *differs = !sbt_chunk_is(&e->head, header) && sbt_chunk_get(&head, header);
    }
    return 0;
}

static int read_and_compare_index(struct sbt_reader *r, const struct sbt_trailer *t,
                                  const struct sbt_chunk *head)
{
    bool differs = false;
    int error = read_index(r, t, head);

    if (!error)
        error = compare_headers(r, &differs);
    /* A chunk of a type that is needed and unknown may be there, or the index may lie about it. */
    return differs || error == TSM_E_VERSION ? TSM_E_FORMAT : error;
}

int sbt_reader_index(struct sbt_reader *r)
{
    size_t damage_before = r->damage_count;
    struct sbt_chunk head;
    struct sbt_trailer t;
    int error;

    if (!read_trailer(r, &t, &head)) {
        if (r->load_error)
            return r->load_error;
        sbt_reader_say(r, "no trailer at the end; the index was rebuilt by scanning");
        return sbt_reader_scan(r);
    }
    error = read_and_compare_index(r, &t, &head);
    if (!error && (r->has_holes || t.totals.record_count != r->totals.record_count)) {
        sbt_reader_forget_damage(r, damage_before);
        error = confirm_holes(r);
    }
    if (!error) {
        r->has_trailer = true;
        r->whole_end = r->size;
        adopt_totals(r, &t, true);
        judge_trailer(r, &t);
        return 0;
    }
    if (error != TSM_E_FORMAT || r->load_error)
        return r->load_error ? r->load_error : error;
    sbt_reader_forget_damage(r, damage_before);
    sbt_reader_say(r, "the index is damaged; it was rebuilt by scanning");
    error = sbt_reader_scan(r);
    if (!error)
        adopt_totals(r, &t, false);
    return error;
}
