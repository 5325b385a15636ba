/* SPDX-License-Identifier: Apache-2.0
 *
 * Scratch memory, against a model that follows each byte by itself: random commands that read,
 * write, read what they wrote, reach some bytes perhaps, or are not known; frees; memory of the
 * host.
 */
#include "analysis/dependencies/scratch_memory.h"

#include <string.h>

#include "base/random.h"
#include "tests/unit/check.h"

enum { BASE = 4096, DEVICE = 192, HOST = 64, SIZE = DEVICE + HOST, COMMANDS = 12, RANGES = 3 };

static uint64_t state = 1;

static unsigned below(unsigned limit)
{
    return (unsigned)(tsm_random(&state) % limit);
}

static struct tsm_accessing commands[COMMANDS];
static struct tsm_access ranges[COMMANDS * RANGES];
static struct tsm_freed_range freed[1];
static struct tsm_placed placed[2];

static void make_range(struct tsm_access *a)
{
    const unsigned start = below(SIZE), way = below(8);

    *a = (struct tsm_access){.start = BASE + start,
                             .size = 1 + below(SIZE - start < 24 ? SIZE - start : 24),
                             .kind = below(4) ? TSM_ACCESS_OBSERVED : TSM_ACCESS_REACHABLE,
                             .reads = way<3, .writes = way> 1};
    a->is_own = a->reads && a->writes && below(2);
}

/* Commands have the records 10, 20, ...; memory is freed between two of them. */
static struct tsm_scratch_memory make(void)
{
    struct tsm_scratch_memory s = {.has_results = true, .placed = placed, .placed_count = 2};
    size_t count = 0;

    for (unsigned i = 0; i < COMMANDS; i++) {
        commands[i] = (struct tsm_accessing){.seq = 10 * (i + 1),
                                             .first = count,
                                             .count = below(RANGES + 1),
                                             .is_unknown = !below(40)};
        for (size_t k = 0; k < commands[i].count; k++)
            make_range(&ranges[count++]);
    }
    const unsigned at = below(DEVICE - 32);
    freed[0] = (struct tsm_freed_range){10 * (1 + below(COMMANDS)) + 5, BASE + at, BASE + at + 32};
    placed[0] = (struct tsm_placed){0, BASE, BASE + DEVICE, true};
    placed[1] = (struct tsm_placed){0, BASE + DEVICE, BASE + SIZE, false};
    s.commands = (struct tsm_command_accesses){.list = commands,
                                               .count = COMMANDS,
                                               .ranges = ranges,
                                               .range_count = count,
                                               .freed = freed,
                                               .freed_count = below(2)};
    s.commands.accesses.observed.count = 1;
    return s;
}

/* ---- the model ---- */

static bool meets(const bool *bytes, const struct tsm_access *a)
{
    for (uint64_t i = 0; i < a->size; i++)
        if (bytes[a->start - BASE + i])
            return true;
    return false;
}

static void set(bool *bytes, uint64_t start, uint64_t size, bool value)
{
    memset(bytes + (start - BASE), value, size);
}

static bool is_any(const bool *bytes)
{
    for (unsigned i = 0; i < SIZE; i++)
        if (bytes[i])
            return true;
    return false;
}

/* Returns false where the bytes come to a result. */
static bool follow(bool *bytes, const struct tsm_accessing *c)
{
    bool reads = false, writes = false;

    for (size_t i = 0; i < c->count; i++)
        reads |= ranges[c->first + i].reads && !ranges[c->first + i].is_own &&
                 meets(bytes, &ranges[c->first + i]);
    for (size_t i = 0; i < c->count; i++) {
        const struct tsm_access *a = &ranges[c->first + i];

        if (!a->writes)
            continue;
        if (reads && a->start + a->size > BASE + DEVICE)
            return false;
        if (reads || a->kind == TSM_ACCESS_OBSERVED)
            set(bytes, a->start, a->size, reads);
        writes = true;
    }
    return !reads || writes;
}

static bool expected(const struct tsm_scratch_memory *s, uint64_t seq,
                     const struct tsm_scratch_memory_range *asked, size_t count)
{
    bool bytes[SIZE] = {0};

    for (size_t i = 0; i < count; i++) {
        if (asked[i].end > BASE + DEVICE)
            return false;
        set(bytes, asked[i].start, asked[i].end - asked[i].start, true);
    }
    for (unsigned i = 0; i < COMMANDS && is_any(bytes); i++) {
        if (commands[i].seq <= seq)
            continue;
        if (s->commands.freed_count && freed[0].seq > seq && freed[0].seq + 5 == commands[i].seq)
            set(bytes, freed[0].start, freed[0].end - freed[0].start, false);
        if (!is_any(bytes))
            break;
        if (commands[i].is_unknown || !follow(bytes, &commands[i]))
            return false;
    }
    return true;
}

static void is_as_the_model_says(void)
{
    unsigned counts[2] = {0};

    for (unsigned round = 0; round < 20000; round++) {
        struct tsm_scratch_memory s = make();
        struct tsm_scratch_memory_range asked[2];
        const unsigned first = below(SIZE - 40), seq = 10 * below(COMMANDS);

        asked[0] = (struct tsm_scratch_memory_range){BASE + first, BASE + first + 1 + below(8)};
        asked[1] = (struct tsm_scratch_memory_range){asked[0].end + 1 + below(8), 0};
        asked[1].end = asked[1].start + 1 + below(8);
        const bool is_scratch = expected(&s, seq, asked, 2);
        CHECK_EQ_INT(tsm_scratch_memory_has(&s, seq, asked, 2), is_scratch);
        counts[is_scratch]++;
    }
    CHECK(counts[0] > 1000 && counts[1] > 1000);
}

static void nothing_is_known_without_accesses_or_results(void)
{
    struct tsm_scratch_memory s = make();
    const struct tsm_scratch_memory_range asked = {BASE, BASE + 1};

    s.commands.count = 0;
    CHECK(tsm_scratch_memory_has(&s, 5, &asked, 1));
    s.has_results = false;
    CHECK(!tsm_scratch_memory_has(&s, 5, &asked, 1));
    s.has_results = true;
    s.commands.accesses.observed.count = 0;
    CHECK(!tsm_scratch_memory_has(&s, 5, &asked, 1));
}

int main(void)
{
    is_as_the_model_says();
    nothing_is_known_without_accesses_or_results();
    return check_result();
}
