/* SPDX-License-Identifier: Apache-2.0
 *
 * Missing parts of a trace. Gaps show in the numbers of chunks and records, damage in checksums.
 */
#include "format/read/state.h"

#include "base/hash.h"
#include "tracesmith/error.h"

#include <stdlib.h>
#include <string.h>

#define TWINS_MAX                                                                                  \
    65536u /* pieces that are stored twice, as after 2^23 others, and are compared                 \
            */

void sbt_reader_fault(struct sbt_reader *r, const char *what)
{
    r->fault_count++;
    sbt_reader_say_locked(r, "%s cannot be read: %s", what, tsm_error_message());
}

/* Notes that the records [first, end) are missing, as far as they lie before `bound`. */
static void note_missing(struct sbt_missing *out, uint64_t first, uint64_t end, uint64_t bound)
{
    end = end < bound ? end : bound;
    if (first >= end)
        return;
    out->record_count += end - first;
    if (first < out->first_seq)
        out->first_seq = first;
}

void sbt_reader_missing(struct sbt_reader *r, uint64_t seq_end, struct sbt_missing *out)
{
    uint64_t bound = seq_end ? seq_end : UINT64_MAX, due = 0;

    pthread_mutex_lock(&r->lock);
    *out =
        (struct sbt_missing){.chunk_count = r->gap_count + r->fault_count, .first_seq = UINT64_MAX};
    for (size_t i = 0; i < r->entry_count; i++) {
        const struct sbt_entry *e = &r->entries[i];
        if (e->damaged && e->head.type != SBT_CHUNK_EVENTS)
            out->chunk_count += !sbt_chunk_is_index(e->head.type);
    }
    for (size_t i = 0; i < r->events_count; i++) {
        const struct sbt_entry *e = &r->entries[r->events[i]];
        note_missing(out, due, e->head.first_seq, bound);
        due = e->head.last_seq + 1;
        if (e->damaged)
            note_missing(out, e->head.first_seq, due, bound);
    }
    note_missing(out, due, r->said_count, bound);
    /* After the last record that the trailer counts comes nothing that a record needs. */
    if (r->totals_known && due >= r->said_count)
        out->chunk_count -= r->tail_gap_count;
    pthread_mutex_unlock(&r->lock);
    due = due > r->said_count ? due : r->said_count;
    /* The end of a later version is not known to be good. */
    out->end = r->end != SBT_END_FINISHED && r->end != SBT_END_RECOVERED && bound > due;
    if (out->end && due < out->first_seq)
        out->first_seq = due;
}

static void say_twin(struct sbt_reader *r, const struct sbt_key *key)
{
    char text[33];

    tsm_key_text(text, key);
    pthread_mutex_lock(&r->lock);
    r->fault_count++;
    sbt_reader_say_locked(r, "piece %s is there twice, with different bytes", text);
    pthread_mutex_unlock(&r->lock);
}

/* Compares a chunk's bytes with the index and with their checksum. */
static int examine(struct sbt_reader *r, size_t place)
{
    struct sbt_entry *e = &r->entries[place];
    uint8_t header[SBT_CHUNK_HEADER_SIZE];
    uint8_t *stored = malloc(e->head.stored_size ? e->head.stored_size : 1);
    const char *wrong = NULL;
    int error;

    if (!stored)
        return tsm_fail(TSM_E_MEMORY, "%s: out of memory for a chunk", r->name);
    error = sbt_reader_read(r, e->info.offset, header, sizeof(header));
    if (!error)
        error = sbt_reader_read(r, e->info.offset + sizeof(header), stored, e->head.stored_size);
    if (!error && !sbt_chunk_is(&e->head, header))
        wrong = "its header is not what the index says";
    else if (!error && tsm_hash64(stored, e->head.stored_size) != e->head.payload_hash)
        wrong = "its payload does not match its checksum";
    free(stored);
    if (wrong)
        sbt_reader_blame(r, place, wrong, false);
    else if (!error)
        __atomic_store_n(&e->is_sound, true, __ATOMIC_RELAXED);
    return error;
}

int sbt_reader_examine_chunk(struct sbt_reader *r, size_t place)
{
    return __atomic_load_n(&r->entries[place].is_sound, __ATOMIC_RELAXED) ? 0 : examine(r, place);
}

/* Compares the bytes of two pieces with one key: all who compare keys take them for one. */
static int compare_twins(struct sbt_reader *r)
{
    uint8_t first[SBT_PIECE_SIZE], second[SBT_PIECE_SIZE];
    int error = sbt_reader_find_ready(r);

    for (size_t i = 0; i < r->twin_count && i < TWINS_MAX && !error; i++) {
        const struct sbt_piece_place *twin = &r->pieces[r->twins[i]];
        int size = sbt_reader_piece(r, &twin->key, first);
        int got = size < 0 ? size : sbt_reader_piece_at(r, twin, second);
        if (got == TSM_E_IO || got == TSM_E_MEMORY)
            error = got;
        else if (got >= 0 && (got != size || memcmp(first, second, (size_t)size) != 0))
            say_twin(r, &twin->key);
    }
    return error;
}

int sbt_reader_examine_tables(struct sbt_reader *r)
{
    int error = 0;

    for (size_t i = 0; i < r->entry_count && !error; i++)
        if (r->entries[i].head.type != SBT_CHUNK_BLOBS)
            error = sbt_reader_examine_chunk(r, i);
    return error;
}

/* Compares the trailer's counts with the records of losses. */
static void compare_counts(struct sbt_reader *r)
{
    const struct sbt_totals *said = &r->totals;
    struct sbt_totals found = {0};

    if (!r->has_trailer || r->is_counted || sbt_reader_damage_count(r))
        return;
    r->is_counted = true;
    sbt_reader_count_notable(r, &found);
    if (said->tainted_count != found.tainted_count)
        sbt_reader_say(r, "the trailer counts %llu tainting records, there are %llu",
                       (unsigned long long)said->tainted_count,
                       (unsigned long long)found.tainted_count);
    if (said->lost_count < found.lost_count || said->filtered_count < found.filtered_count)
        sbt_reader_say(r, "the trailer counts fewer lost records than its records say");
}

int sbt_reader_examine(struct sbt_reader *r)
{
    int error = 0;

    for (size_t i = 0; i < r->entry_count && !error; i++)
        error = sbt_reader_examine_chunk(r, i);
    if (!error)
        error = compare_twins(r);
    if (!error)
        compare_counts(r);
    return error;
}
