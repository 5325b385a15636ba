/* SPDX-License-Identifier: Apache-2.0
 *
 * Tests samples and intervals of time against slow sums, and commands that wait for their times.
 */
#include "analysis/model/memory.h"
#include "analysis/model/pass.h"
#include "analysis/model/pending.h"
#include "analysis/time/groups.h"
#include "analysis/time/intervals.h"
#include "analysis/time/steadiness.h"
#include "base/random.h"
#include "tests/unit/check.h"

#define AXIS   200
#define ROUNDS 300

static uint64_t state = 17;

static uint64_t below(uint64_t limit)
{
    return tsm_random(&state) % limit;
}

/* ---- samples ------------------------------------------------------------------------------- */

/* The nearest rank by counting: the smallest value with enough that are not above it. */
static uint64_t slow_percentile(const uint64_t *list, size_t count, unsigned percent)
{
    uint64_t best = UINT64_MAX;

    for (size_t i = 0; i < count; i++) {
        size_t low = 0;

        for (size_t k = 0; k < count; k++)
            low += list[k] <= list[i];
        if (low * 100 >= count * percent && list[i] < best)
            best = list[i];
    }
    return best;
}

static void test_samples(void)
{
    static const unsigned percents[] = {1, 10, 25, 75, 90, 99, 100};

    for (unsigned round = 0; round < ROUNDS; round++) {
        const size_t count = 1 + below(60);
        struct tsm_samples s = {0};
        uint64_t list[60], total = 0;

        for (size_t i = 0; i < count; i++) {
            total += list[i] = below(50);
            CHECK(tsm_samples_add(&s, list[i]));
        }
        CHECK_EQ_INT((long long)s.total, (long long)total);
        CHECK_EQ_INT((long long)tsm_samples_mean(&s), (long long)(total / count));
        for (unsigned i = 0; i < sizeof(percents) / sizeof(*percents); i++)
            CHECK_EQ_INT((long long)tsm_samples_percentile(&s, percents[i]),
                         (long long)slow_percentile(list, count, percents[i]));
        CHECK_EQ_INT((long long)s.min, (long long)tsm_samples_percentile(&s, 1 + 99 / 100));
        CHECK_EQ_INT((long long)s.max, (long long)tsm_samples_percentile(&s, 100));
        tsm_samples_finish(&s);
    }
}

static void test_few_samples(void)
{
    struct tsm_samples s = {0};

    CHECK_EQ_INT((long long)tsm_samples_percentile(&s, 50), 0);
    CHECK_EQ_INT((long long)tsm_samples_mean(&s), 0);
    CHECK(tsm_samples_add(&s, 3) && tsm_samples_add(&s, 6));
    CHECK_EQ_INT((long long)tsm_samples_percentile(&s, 50), 4);
    CHECK(tsm_samples_deviation(&s) > 2.12 && tsm_samples_deviation(&s) < 2.13);
    CHECK(tsm_samples_add(&s, UINT64_MAX));
    CHECK(s.total == UINT64_MAX);
    tsm_samples_finish(&s);
}

/* ---- intervals ----------------------------------------------------------------------------- */

static void test_intervals(void)
{
    for (unsigned round = 0; round < ROUNDS; round++) {
        struct tsm_intervals set = {0};
        bool covered[AXIS] = {false};
        uint64_t length = 0;

        for (uint64_t i = below(40); i > 0; i--) {
            const int start = (int)below(AXIS), end = start + (int)below((uint64_t)(AXIS - start));

            CHECK(tsm_intervals_add(&set, start - 100, end - 100));
            for (int at = start; at < end; at++)
                covered[at] = true;
            if (below(10) == 0)
                tsm_intervals_merge(&set);
        }
        for (int at = 0; at < AXIS; at++)
            length += covered[at];
        CHECK_EQ_INT((long long)tsm_intervals_length(&set), (long long)length);
        for (size_t i = 1; i < set.count; i++)
            CHECK(set.list[i].start > set.list[i - 1].end);
        tsm_intervals_finish(&set);
    }
}

/* ---- commands that wait for their times ---------------------------------------------------- */

struct seen {
    uint64_t count, timed_count, sum;
    int result;
    uint32_t run;
};

static int see(void *user, const struct tsm_command_node *command)
{
    struct seen *seen = user;

    seen->count++;
    seen->timed_count += command->gpu.kind == TSM_TIME_MEASURED;
    seen->sum += command->position;
    seen->run = command->run;
    return seen->result;
}

static struct tsm_command_node command_at(uint32_t stream, uint64_t position, enum tsm_work work)
{
    return (struct tsm_command_node){.stream = stream, .position = position, .work = work};
}

static int time_of(struct tsm_pending *p, uint32_t stream, uint64_t position, uint32_t part,
                   uint32_t run)
{
    const struct tsm_command_time time = {
        .stream = stream,
        .position = position,
        .part = part,
        .run = run,
        .span = {.kind = TSM_TIME_MEASURED, .start_ns = 5, .end_ns = 9}};

    return tsm_pending_time(p, &time);
}

static void test_pending(void)
{
    struct seen seen = {0};
    struct tsm_pending p = {.report = see, .user = &seen};
    const uint64_t count = 2 * TSM_PENDING_MAX + 77;

    for (uint64_t i = 1; i <= count; i++) {
        const struct tsm_command_node command = command_at(i % 3, i, TSM_WORK_KERNEL);

        CHECK_EQ_INT(tsm_pending_add(&p, &command), 0);
        if (i % 2 == 0) { /* an old one may have been given up */
            const int result = time_of(&p, (i / 2) % 3, i / 2, 0, 0);
            CHECK(result == 0 || (result == 1 && i / 2 >= TSM_PENDING_MAX));
        }
    }
    CHECK(seen.timed_count >= TSM_PENDING_MAX - 1);
    CHECK_EQ_INT(tsm_pending_end(&p), 0);
    CHECK_EQ_INT((long long)seen.count, (long long)count); /* each once */
    CHECK_EQ_INT((long long)seen.sum, (long long)(count * (count + 1) / 2));
    CHECK_EQ_INT((long long)p.untimed_count, 0);
    CHECK_EQ_INT(time_of(&p, 0, 3, 0, 0), 1);
    tsm_pending_finish(&p);
}

static void test_parts(void)
{
    const struct tsm_command_node submit = command_at(1, 7, TSM_WORK_SUBMIT),
                                  kernel = command_at(1, 8, TSM_WORK_KERNEL);
    struct seen seen = {0};
    struct tsm_pending p = {.report = see, .user = &seen};

    CHECK_EQ_INT(tsm_pending_add(&p, &submit), 0);
    CHECK_EQ_INT(tsm_pending_add(&p, &kernel), 0);
    CHECK_EQ_INT(time_of(&p, 1, 7, 1, 0), 0);
    CHECK_EQ_INT(time_of(&p, 1, 7, 0, 0), 0);
    CHECK_EQ_INT(time_of(&p, 1, 8, 0, 0), 0);
    CHECK_EQ_INT(time_of(&p, 1, 8, 0, 0), 1); /* a kernel has one time */
    CHECK_EQ_INT(time_of(&p, 2, 8, 0, 0), 1);
    CHECK_EQ_INT((long long)p.untimed_count, 0);
    seen.result = -3;
    CHECK_EQ_INT(time_of(&p, 1, 7, 2, 0), -3);
    CHECK_EQ_INT(tsm_pending_end(&p), 0); /* all were reported */
    CHECK_EQ_INT((long long)seen.count, 4);
    tsm_pending_finish(&p);
}

/* A command has a time in each run; a submit's parts have one, too. */
static void test_runs(void)
{
    const struct tsm_command_node submit = command_at(1, 7, TSM_WORK_SUBMIT),
                                  kernel = command_at(1, 8, TSM_WORK_KERNEL),
                                  after = command_at(1, 9, TSM_WORK_KERNEL);
    struct seen seen = {0};
    struct tsm_pending p = {.report = see, .user = &seen};

    CHECK_EQ_INT(tsm_pending_add(&p, &kernel), 0);
    for (uint32_t run = 0; run < 20; run++) {
        CHECK_EQ_INT(time_of(&p, 1, 8, 0, run), 0);
        CHECK_EQ_INT((long long)seen.run, run);
        CHECK_EQ_INT(time_of(&p, 1, 8, 0, run), 1); /* one in each */
    }
    CHECK_EQ_INT(time_of(&p, 1, 8, 0, 3), 1);
    CHECK_EQ_INT(tsm_pending_add(&p, &submit), 0);
    CHECK_EQ_INT(tsm_pending_add(&p, &after), 0);
    for (uint32_t run = 0; run < 3; run++)
        for (uint32_t part = 0; part < 2; part++)
            CHECK_EQ_INT(time_of(&p, 1, 7, part, run), 0);
    CHECK_EQ_INT(time_of(&p, 1, 8, 0, 20), 1); /* too late */
    CHECK_EQ_INT(tsm_pending_end(&p), 0);
    CHECK_EQ_INT((long long)seen.timed_count, 20 + 6);
    CHECK_EQ_INT((long long)seen.count, 20 + 6 + 1);
    tsm_pending_finish(&p);
}

/* ---- steadiness ---------------------------------------------------------------------------- */

static void test_steadiness(void)
{
    struct tsm_steadiness s;
    uint64_t totals[30];

    for (unsigned i = 0; i < 30; i++)
        totals[i] = 100000 + below(1000);
    CHECK(tsm_steadiness_find(&s, totals, 30));
    CHECK(s.is_known && s.is_drift_known && !s.is_unsteady && s.deviation < 0.01);
    for (unsigned i = 0; i < 30; i++) /* slower by 3 % in all: it does not vary much, but drifts */
        totals[i] = 100000 + 100 * i + below(20);
    CHECK(tsm_steadiness_find(&s, totals, 30));
    CHECK(s.drifts && !s.varies && s.is_unsteady && s.drift > 0.019 && s.drift < 0.021);
    for (unsigned i = 0; i < 30; i++)
        totals[i] = 100000 + (i % 2) * 20000;
    CHECK(tsm_steadiness_find(&s, totals, 30));
    CHECK(!s.drifts && s.varies && s.is_unsteady);
    CHECK(tsm_steadiness_find(&s, totals, 14)); /* thirds of 4 */
    CHECK(s.is_known && !s.is_drift_known && !s.drifts);
    CHECK(tsm_steadiness_find(&s, totals, 1) && !s.is_known && !s.is_unsteady);
    CHECK(tsm_steadiness_find(&s, NULL, 0) && !s.is_known);
    totals[0] = totals[1] = 0;
    CHECK(tsm_steadiness_find(&s, totals, 2) && !s.is_known);
}

/* ---- groups and memory --------------------------------------------------------------------- */

static void test_groups(void)
{
    struct tsm_time_groups groups = {0};
    char name[] = "kernel";

    for (unsigned i = 0; i < 5000; i++) {
        const struct tsm_time_key key = {.name = i % 2 ? "kernel" : name, .stream = i % 50};
        struct tsm_time_group *group = tsm_time_groups_find(&groups, &key);

        CHECK(group);
        group->count++;
        CHECK(tsm_samples_add(&group->ns, i % 50));
    }
    CHECK_EQ_INT((long long)groups.count, 50);
    tsm_time_groups_sort(&groups);
    for (size_t i = 0; i < groups.count; i++) {
        CHECK_EQ_INT((long long)groups.list[i].count, 100);
        CHECK_EQ_INT((long long)groups.list[i].key.stream, (long long)(49 - i));
    }
    tsm_time_groups_finish(&groups);
}

static int note(struct tsm_memory *m, bool is_free, uint64_t address, uint64_t size,
                struct tsm_memory_node *out)
{
    static const struct sbt_field fields[] = {{"address", SBT_FIELD_DEVPTR, SBT_ROLE_ADDRESS, ""},
                                              {"size", SBT_FIELD_SIZE, SBT_ROLE_SIZE, ""}};
    const struct sbt_schema schema = {
        .kind = is_free ? SBT_KIND_DESTROY : SBT_KIND_CREATE, .field_count = 2, .fields = fields};
    const uint64_t slots[] = {address, size};
    const struct sbt_record record = {.slots = slots, .slot_count = 2};

    return tsm_memory_note(m, &record, &schema, out);
}

static void test_memory(void)
{
    struct tsm_memory_node change;
    struct tsm_memory m = {0};

    CHECK_EQ_INT(note(&m, false, 1000, 100, &change), 1);
    CHECK_EQ_INT(note(&m, false, 3000, 100, &change), 1);
    CHECK_EQ_INT(note(&m, false, 2000, 100, &change), 1);
    CHECK_EQ_INT(tsm_memory_place(&m, 2099, TSM_PLACE_UNKNOWN), TSM_PLACE_DEVICE);
    CHECK_EQ_INT(tsm_memory_place(&m, 2100, TSM_PLACE_UNKNOWN), TSM_PLACE_UNKNOWN);
    CHECK_EQ_INT(note(&m, true, 2050, 0, &change), 0); /* not where it begins */
    CHECK_EQ_INT(note(&m, true, 2000, 0, &change), 1);
    CHECK_EQ_INT((long long)change.size, 100);
    CHECK_EQ_INT(tsm_memory_place(&m, 2000, TSM_PLACE_ARRAY), TSM_PLACE_ARRAY);
    CHECK_EQ_INT(note(&m, false, 900, 5000, &change), 1); /* what lies there was freed unseen */
    CHECK_EQ_INT((long long)m.count, 1);
    CHECK_EQ_INT(note(&m, false, UINT64_MAX - 5, 100, &change), 0); /* past the end of memory */
    tsm_memory_finish(&m);
}

/* A duration that a counter's beginning again makes huge is none, and a start is counted modulo
 * 2^64. */
static void test_spans(void)
{
    const uint64_t wrap = (uint64_t)1 << 36;
    struct tsm_span span = tsm_span_of_time(wrap - 10, 20 - wrap, 0, 0);

    CHECK(span.kind == TSM_TIME_UNKNOWN);
    span = tsm_span_of_time(wrap - 10, 20, 0, 0);
    CHECK(span.kind == TSM_TIME_MEASURED && tsm_span_ns(&span) == 20);
    span = tsm_span_of_time(0 - (uint64_t)10, 20, SBT_GPU_TIME_CALIBRATED, 5);
    CHECK(span.start_ns == -10 && span.end_ns == 10 && span.axis == TSM_AXIS_HOST);
    CHECK(tsm_span_of_time(1, UINT64_MAX, 0, 0).kind == TSM_TIME_UNKNOWN);
}

int main(void)
{
    test_spans();
    test_samples();
    test_few_samples();
    test_intervals();
    test_pending();
    test_parts();
    test_runs();
    test_steadiness();
    test_groups();
    test_memory();
    return check_result();
}
