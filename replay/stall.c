/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/stall.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/text.h"

/* Parts of the timeout: the first time, and when it has helped before. */
#define FIRST_PART  20u
#define LATER_PART  200u
#define MARKED_LAST 2u /* no wait for a group that is marked is longer than half of it */
#define OTHERS_PART 4u /* groups that are not marked have the last quarter */
#define LONGER      4u /* than it took when it was recorded */

#define LONG_RUN 8u /* words */

#define STEPS_MAX 65536u /* by which a word is counted up, at most */

/* ---- what comes next ------------------------------------------------------------------------ */

static bool is_write(const struct sbt_record *record)
{
    return record->type == SBT_TYPE(SBT_API_CORE, SBT_CORE_HOST_WRITE) &&
           sbt_record_role(sbt_core_schema(SBT_CORE_HOST_WRITE), record, SBT_ROLE_OF_STREAM,
                           SBT_STREAM_NONE) == SBT_STREAM_NONE;
}

/* Tests whether the record frees memory that a write after it may name. */
static bool frees(const struct tsm_stall *s, const struct sbt_record *record)
{
    const struct sbt_schema *schema = sbt_reader_schema(s->reader, record->type);
    uint64_t address = sbt_record_role(schema, record, SBT_ROLE_ADDRESS, 0), actual;

    return schema && schema->kind == SBT_KIND_DESTROY && address &&
           s->backend->shared(s->state, address, 1, &actual);
}

/* Adds the record to the group, or begins one. False: the group ends before it. */
static bool add(struct tsm_stall *s, const struct sbt_record *record)
{
    bool is_held = (record->flags & SBT_RECORD_HELD) != 0;

    if (!is_write(record))
        return !s->end_seq || SBT_TYPE_API(record->type) == SBT_API_CORE;
    if (s->end_seq && is_held != s->is_held)
        return false;
    if (!s->end_seq)
        s->begin_seq = record->seq;
    s->is_held = is_held;
    s->end_seq = record->seq + 1;
    return true;
}

/* Finds the next group: writes with no call between them. */
static void find_group(struct tsm_stall *s)
{
    struct sbt_cursor *cursor = NULL;
    const struct sbt_record *record;
    int more = sbt_cursor_create(&cursor, s->reader, NULL, 0);

    s->end_seq = 0;
    s->seen = (struct sbt_key){{0}};
    if (!more)
        more = sbt_cursor_seek(cursor, s->next_seq);
    while (more >= 0 && (more = sbt_cursor_next(cursor, &record)) == 1) {
        if (!add(s, record) || frees(s, record))
            break;
        s->next_seq = record->seq + 1;
    }
    sbt_cursor_destroy(cursor);
    s->is_spent = !s->end_seq;
}

/* ---- one write ------------------------------------------------------------------------------ */

/* The first aligned words of a region may not be whole: bytes outside of the write stay. */
static void put_word(uint8_t *to, const uint8_t *bytes, uint64_t size, uint64_t word)
{
    const uint64_t skew = (uintptr_t)to % 8, at = word * 8 - (word ? skew : 0);
    const uint64_t part = word ? 8 : 8 - skew, left = size - at < part ? size - at : part;
    uint64_t value;

    if (left < 8) {
        memcpy(to + at, bytes + at, left);
        return;
    }
    memcpy(&value, bytes + at, 8);
    __atomic_store_n((uint64_t *)(void *)(to + at), value, __ATOMIC_RELEASE);
}

static bool differs(const uint8_t *to, const uint8_t *bytes, uint64_t size, uint64_t word)
{
    const uint64_t skew = (uintptr_t)to % 8, at = word * 8 - (word ? skew : 0);
    const uint64_t part = word ? 8 : 8 - skew;

    return memcmp(to + at, bytes + at, size - at < part ? size - at : part) != 0;
}

/* Words that differ, the last ones first: those in long runs, which are data, or the others, which
 * may be what says that data is there. A word is written at once. */
static void put_runs(uint8_t *to, const uint8_t *bytes, uint64_t size, bool is_long)
{
    uint64_t words = ((uintptr_t)to % 8 + size + 7) / 8, end = words;

    while (end) {
        uint64_t first = end;
        while (first && differs(to, bytes, size, first - 1))
            first--;
        if ((end - first >= LONG_RUN) == is_long)
            for (uint64_t i = end; i > first; i--)
                put_word(to, bytes, size, i - 1);
        end = first ? first - 1 : 0;
    }
}

/* The length of the run of words that differ of which this one is part, at most LONG_RUN. */
static uint64_t run_at(const uint8_t *to, const uint8_t *bytes, uint64_t size, uint64_t word)
{
    const uint64_t words = ((uintptr_t)to % 8 + size + 7) / 8;
    uint64_t first = word, end = word + 1;

    while (first && word - first < LONG_RUN && differs(to, bytes, size, first - 1))
        first--;
    while (end < words && end - first < LONG_RUN && differs(to, bytes, size, end))
        end++;
    return end - first;
}

/* Finds the next word after `step_after` that could be counted up. */
static void find_step(struct tsm_stall *s, uint8_t *to, const uint8_t *bytes, uint64_t size)
{
    const uint64_t skew = -(uintptr_t)to & 3;

    for (uint64_t at = skew; at + 4 <= size && !s->step; at += 4) {
        uint32_t *word = (uint32_t *)(void *)(to + at), want, now;

        memcpy(&want, bytes + at, 4);
        memcpy(&now, to + at, 4);
        if ((uintptr_t)word <= s->step_after || want - now < 2 || want - now > STEPS_MAX ||
            run_at(to, bytes, size, ((uintptr_t)to % 8 + at) / 8) >= LONG_RUN)
            continue;
        s->step = word;
        s->step_want = want;
    }
}

struct group_pass {
    struct tsm_hasher *hasher; /* NULL: write */
    bool finds_step;           /* ... or find a word to count up */
    bool differs;              /* somewhere it holds other bytes now */
    bool is_long;
};

/* Without the word that counts: it is noted before it is stored, so that no answer is missed. */
static void hash_there(const struct tsm_stall *s, struct tsm_hasher *hasher, const uint8_t *there,
                       uint64_t size)
{
    const uint64_t at = (uintptr_t)s->step - (uintptr_t)there;

    if (!s->step || at >= size || size - at < 4) {
        tsm_hasher_add(hasher, there, size);
        return;
    }
    tsm_hasher_add(hasher, there, at);
    tsm_hasher_add(hasher, there + at + 4, size - at - 4);
}

static int visit_write(struct tsm_stall *s, const struct sbt_record *record,
                       struct group_pass *pass)
{
    const struct sbt_schema *schema = sbt_core_schema(SBT_CORE_HOST_WRITE);
    uint64_t address = sbt_record_role(schema, record, SBT_ROLE_HOST_SRC, 0), actual;
    struct sbt_blob blob;
    uint8_t *bytes;

    if (!is_write(record) ||
        !sbt_record_blob(record, (uint32_t)sbt_schema_role(schema, SBT_ROLE_PAYLOAD), &blob) ||
        !blob.size || !s->backend->shared(s->state, address, blob.size, &actual))
        return 0;
    uint8_t *there = (void *)(uintptr_t)actual; /* NOLINT: the backend says so */
    bytes = malloc(blob.size);
    if (!bytes || sbt_reader_blob(s->reader, &blob, 0, bytes, blob.size) < 0) {
        free(bytes);
        return 0;
    }
    if (pass->hasher) {
        hash_there(s, pass->hasher, there, blob.size);
        pass->differs |= memcmp(there, bytes, blob.size) != 0;
    } else if (pass->finds_step) {
        find_step(s, there, bytes, blob.size);
    } else {
        put_runs(there, bytes, blob.size, pass->is_long);
    }
    free(bytes);
    return 1;
}

static uint64_t visit_group(struct tsm_stall *s, struct group_pass *pass)
{
    const struct sbt_filter filter = {.seq_first = s->begin_seq, .seq_end = s->end_seq};
    struct sbt_cursor *cursor = NULL;
    const struct sbt_record *record;
    uint64_t count = 0;

    if (!sbt_cursor_create(&cursor, s->reader, &filter, 1))
        while (sbt_cursor_next(cursor, &record) == 1)
            count += (uint64_t)visit_write(s, record, pass);
    sbt_cursor_destroy(cursor);
    return count;
}

/* ---- standing still ------------------------------------------------------------------------- */

static uint64_t patience(const struct tsm_stall *s, const struct sbt_record *record)
{
    uint64_t part = s->timeout_ns / (s->count ? LATER_PART : FIRST_PART);
    uint64_t most = s->timeout_ns / MARKED_LAST;
    uint64_t longer = record->duration_ns < most ? record->duration_ns * LONGER : most;

    return part + longer < most ? part + longer : most;
}

static void begin(struct tsm_stall *s, const struct sbt_record *record, uint64_t progress,
                  uint64_t pause)
{
    s->others_help |= s->has_written && !s->is_held;
    s->at_seq = record->seq;
    s->progress = progress;
    s->next_seq = record->seq + 1;
    s->end_seq = 0;
    s->look_ns = pause / 2;
    s->step = NULL;
    s->step_after = 0;
    s->has_written = s->is_spent = s->has_released = false;
}

/* ---- a word that counts ------------------------------------------------------------------- */

static void note_seen(struct tsm_stall *s)
{
    struct tsm_hasher_storage storage;
    struct group_pass pass = {.hasher = tsm_hasher_init(&storage)};

    visit_group(s, &pass);
    s->seen = tsm_hasher_key(pass.hasher);
}

static void step(struct tsm_stall *s)
{
    note_seen(s);
    s->step_value = *s->step + 1;
    __atomic_store_n(s->step, s->step_value, __ATOMIC_RELEASE);
}

/* Takes the next word that could be counted up, and begins. False: there is none. */
static bool begin_step(struct tsm_stall *s)
{
    struct group_pass data = {.is_long = true}, pass = {.finds_step = true};

    visit_group(s, &pass);
    if (!s->step)
        return false;
    if (!s->count)
        s->first_at = s->at_seq;
    s->count += visit_group(s, &data);
    s->has_written = true;
    s->is_answered = false;
    step(s);
    return true;
}

/* The word that counts was stepped before. Returns whether a command answered. A word that gets no
 * answer gets back what it held, and one that the command writes is none: another one is tried. */
static bool go_on_stepping(struct tsm_stall *s, uint64_t still_ns, bool has_changed)
{
    const bool is_ours = *s->step == s->step_value, is_answer = has_changed && is_ours;

    if (!has_changed && (s->is_answered || still_ns < s->look_ns))
        return false;
    if (!has_changed)
        __atomic_store_n(s->step, s->step_value - 1, __ATOMIC_RELEASE);
    s->is_answered |= is_answer;
    if (is_answer && s->step_value != s->step_want) {
        step(s);
        return true;
    }
    s->step_after = (uintptr_t)s->step;
    s->step = NULL;
    s->seen = (struct sbt_key){{0}};
    s->look_ns = is_answer ? s->timeout_ns / LATER_PART : still_ns;
    return is_answer;
}

void tsm_stall_describe(const struct tsm_stall *s, uint64_t seq, char *out, size_t size)
{
    const struct sbt_filter filter = {.seq_first = seq, .seq_end = seq + 1};
    struct sbt_cursor *cursor = NULL;
    const struct sbt_record *record;
    uint64_t word, actual;

    *out = 0;
    if (s->backend->shared && !sbt_cursor_create(&cursor, s->reader, &filter, 1) &&
        sbt_cursor_next(cursor, &record) == 1)
        for (size_t at = 0; at + 8 <= record->data_size && !*out; at++) {
            memcpy(&word, record->data + at, 8);
            if (s->backend->shared(s->state, word, 1, &actual))
                tsm_format(out, size,
                           "; it was given 0x%llx, where the program writes, too: of values that "
                           "it stored there one after another, without a call between them, only "
                           "the last is recorded",
                           (unsigned long long)word);
        }
    sbt_cursor_destroy(cursor);
}

/* ---- all of it ---------------------------------------------------------------------------- */

static void write_group(struct tsm_stall *s)
{
    struct group_pass all = {.is_long = true}, rest = {.is_long = false};

    if (!s->count)
        s->first_at = s->at_seq;
    visit_group(s, &all);
    s->count += visit_group(s, &rest);
    s->has_written = true;
}

/* Once in each stall. */
static void release(struct tsm_stall *s, uint64_t still_ns)
{
    const uint64_t pause = s->released_count ? s->timeout_ns / FIRST_PART
                                             : s->timeout_ns - s->timeout_ns / OTHERS_PART;
    const struct tsm_backend_waits *waits = s->backend->waits;
    unsigned count;

    if (s->has_released || !waits || !waits->release || still_ns < pause)
        return;
    s->has_released = true;
    count = waits->release(s->state);
    if (count && !s->released_count)
        s->released_at = s->at_seq;
    s->released_count += count;
}

/* Returns whether a command answered. */
static bool write_early(struct tsm_stall *s, uint64_t still_ns, uint64_t pause)
{
    const uint64_t others =
        s->others_help ? s->timeout_ns / FIRST_PART : s->timeout_ns - s->timeout_ns / OTHERS_PART;
    struct tsm_hasher_storage storage;
    struct group_pass pass = {.hasher = tsm_hasher_init(&storage)};

    if (s->is_spent || (still_ns < s->look_ns && !s->step))
        return false;
    if (!s->end_seq)
        find_group(s);
    if (!s->end_seq)
        return false;
    if (!s->is_held && !s->step && still_ns < others) {
        s->look_ns = others;
        return false;
    }
    visit_group(s, &pass);
    struct sbt_key now = tsm_hasher_key(pass.hasher);
    if (s->step)
        return go_on_stepping(s, still_ns,
                              *s->step != s->step_value || !tsm_key_equal(&now, &s->seen));
    if (pass.differs && !tsm_key_equal(&now, &s->seen)) {
        s->seen = now;
        s->look_ns = still_ns + (s->is_held ? pause : s->timeout_ns / LATER_PART);
        return false;
    }
    if (pass.differs && begin_step(s)) {
        s->look_ns = still_ns + s->timeout_ns / FIRST_PART;
        return false;
    }
    if (pass.differs)
        write_group(s);
    s->end_seq = 0;
    s->step_after = 0;
    s->look_ns = pass.differs ? still_ns + s->timeout_ns / LATER_PART : still_ns;
    return false;
}

bool tsm_stall_look(struct tsm_stall *s, const struct sbt_record *record, uint64_t progress,
                    uint64_t still_ns)
{
    const uint64_t pause = patience(s, record);
    bool is_answer = false;

    if (s->progress != progress || s->at_seq != record->seq)
        begin(s, record, progress, pause);
    if (s->backend->shared)
        is_answer = write_early(s, still_ns, pause);
    if (!is_answer)
        release(s, still_ns);
    return is_answer;
}
