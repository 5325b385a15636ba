/* SPDX-License-Identifier: Apache-2.0
 *
 * Tests Mann-Whitney's test against all orders there are, and decisions about sets of durations.
 */
#include "analysis/time/compare.h"
#include "base/random.h"
#include "tests/unit/check.h"

#include <math.h>
#include <stdlib.h>

static uint64_t state = 5;

static uint64_t below(uint64_t limit)
{
    return tsm_random(&state) % limit;
}

/* ---- the test ----------------------------------------------------------------------------- */

/* U of the values of all[] whose bit is set, by counting pairs. */
static unsigned slow_u(unsigned set, unsigned count)
{
    unsigned u = 0;

    for (unsigned i = 0; i < count; i++)
        for (unsigned k = 0; k < i; k++)
            u += (set >> i & 1) && !(set >> k & 1);
    return u;
}

static double slow_test(unsigned set, unsigned m, unsigned n)
{
    const unsigned u = slow_u(set, m + n), low = u < m * n - u ? u : m * n - u;
    double all = 0, extreme = 0;

    for (unsigned other = 0; other < 1u << (m + n); other++) {
        if ((unsigned)__builtin_popcount(other) != m)
            continue;
        all++;
        extreme += slow_u(other, m + n) <= low || slow_u(other, m + n) >= m * n - low;
    }
    return extreme / all < 1 ? extreme / all : 1;
}

static void test_exact(void)
{
    for (unsigned round = 0; round < 300; round++) {
        const unsigned m = 1 + (unsigned)below(5), n = 1 + (unsigned)below(5);
        struct tsm_samples a = {0}, b = {0};
        unsigned set = 0, chosen = 0;

        while (chosen < m) {
            const unsigned bit = 1u << below(m + n);
            chosen += !(set & bit);
            set |= bit;
        }
        for (unsigned i = m + n; i-- > 0;) /* values in no order */
            CHECK(tsm_samples_add(set >> i & 1 ? &a : &b, 100 + i * 7));
        if (!CHECK(fabs(tsm_rank_test(&a, &b) - slow_test(set, m, n)) < 1e-9))
            printf("m %u n %u set %x: %g, not %g\n", m, n, set, tsm_rank_test(&a, &b),
                   slow_test(set, m, n));
        tsm_samples_finish(&a);
        tsm_samples_finish(&b);
    }
}

/* Returns twice the U of the values of list[] whose bit is set; equal ones count half. */
static unsigned slow_twice_u(const uint64_t *list, unsigned set, unsigned count)
{
    unsigned u = 0;

    for (unsigned i = 0; i < count; i++)
        for (unsigned k = 0; k < count; k++)
            if (set >> i & 1 && !(set >> k & 1))
                u += list[i] > list[k] ? 2 : list[i] == list[k];
    return u;
}

/* Counts choices of `m` of the values that come to no more, and to no less. */
static double slow_tied_test(const uint64_t *list, unsigned set, unsigned m, unsigned n)
{
    const unsigned u = slow_twice_u(list, set, m + n);
    double all = 0, low = 0, high = 0, chance;

    for (unsigned other = 0; other < 1u << (m + n); other++) {
        if ((unsigned)__builtin_popcount(other) != m)
            continue;
        all++;
        low += slow_twice_u(list, other, m + n) <= u;
        high += slow_twice_u(list, other, m + n) >= u;
    }
    chance = 2 * (low < high ? low : high) / all;
    return chance < 1 ? chance : 1;
}

static void test_ties(void)
{
    for (unsigned round = 0; round < 300; round++) {
        const unsigned m = 1 + (unsigned)below(5), n = 1 + (unsigned)below(5);
        struct tsm_samples a = {0}, b = {0};
        const unsigned set = (1u << m) - 1;
        uint64_t list[10];

        for (unsigned i = 0; i < m + n; i++) {
            list[i] = 100 + below(3);
            CHECK(tsm_samples_add(i < m ? &a : &b, list[i]));
        }
        CHECK(fabs(tsm_rank_test(&a, &b) - slow_tied_test(list, set, m, n)) < 1e-9);
        tsm_samples_finish(&a);
        tsm_samples_finish(&b);
    }
}

static double chance_of(unsigned count_a, unsigned count_b)
{
    struct tsm_samples a = {0}, b = {0};
    double chance;

    for (unsigned i = 0; i < count_a; i++)
        CHECK(tsm_samples_add(&a, 100));
    for (unsigned i = 0; i < count_b; i++)
        CHECK(tsm_samples_add(&b, 200));
    chance = tsm_rank_test(&a, &b);
    tsm_samples_finish(&a);
    tsm_samples_finish(&b);
    return chance;
}

/* A few values that are all alike prove no more than a few do. */
static void test_few_against_many(void)
{
    CHECK(chance_of(4, 5) > 0.015);     /* 2 of 126 orders */
    CHECK(chance_of(1, 30) > 2.0 / 31); /* 2 of 31 */
    CHECK(chance_of(2, 26) > 2.0 / 378);
    CHECK(chance_of(25, 25) < 1e-13);
    CHECK(chance_of(3, 5000) < 0.01 && chance_of(40, 5000) < 1e-20);
}

/* Two sets of one distribution: a p below 5 % comes about 5 times of 100. */
static void test_false_alarms(void)
{
    unsigned alarms = 0;

    for (unsigned round = 0; round < 1000; round++) {
        struct tsm_samples a = {0}, b = {0};

        for (unsigned i = 0; i < 60; i++) {
            CHECK(tsm_samples_add(&a, below(40)));
            CHECK(tsm_samples_add(&b, below(40)));
        }
        alarms += tsm_rank_test(&a, &b) < 0.05;
        tsm_samples_finish(&a);
        tsm_samples_finish(&b);
    }
    CHECK(alarms > 20 && alarms < 90);
}

/* ---- decisions ---------------------------------------------------------------------------- */

static void add_group(struct tsm_time_groups *g, const char *name, unsigned count, uint64_t from,
                      uint64_t spread)
{
    const struct tsm_time_key key = {.name = name};
    struct tsm_time_group *group = tsm_time_groups_find(g, &key);

    CHECK(group);
    for (unsigned i = 0; i < count; i++) {
        group->count++;
        CHECK(tsm_samples_add(&group->ns, from + below(spread)));
    }
}

static enum tsm_change change_of(const struct tsm_time_changes *changes, const char *name)
{
    for (size_t i = 0; i < changes->count; i++) {
        const struct tsm_time_change *c = &changes->list[i];
        if (strcmp((c->a ? c->a : c->b)->key.name, name) == 0)
            return c->change;
    }
    return TSM_CHANGE_COUNT;
}

static void test_decisions(void)
{
    const struct tsm_compare_options options = {.threshold = 0.05, .chance = 0.01};
    struct tsm_time_groups a = {0}, b = {0};
    struct tsm_time_changes changes;

    add_group(&a, "slower", 50, 1000, 100);
    add_group(&b, "slower", 50, 1200, 100);
    add_group(&a, "faster", 50, 1000, 100);
    add_group(&b, "faster", 40, 500, 100);
    add_group(&a, "little", 5000, 1000, 10); /* certain, but below the threshold */
    add_group(&b, "little", 5000, 1020, 10);
    add_group(&a, "few", 3, 1000, 10);
    add_group(&b, "few", 3, 5000, 10);
    add_group(&a, "noise", 30, 0, 100000);
    add_group(&b, "noise", 30, 0, 130000);
    add_group(&a, "gone", 3, 1, 1);
    add_group(&b, "new", 3, 1, 1);
    add_group(&a, "untimed", 0, 1, 1);
    add_group(&b, "untimed", 9, 1, 1);
    add_group(&a, "derived", 50, 1000, 100);
    add_group(&b, "derived", 50, 5000, 100);
    tsm_time_groups_find(&b, &(struct tsm_time_key){.name = "derived"})->derived_count = 50;
    add_group(&a, "both derived", 50, 1000, 100);
    add_group(&b, "both derived", 50, 5000, 100);
    tsm_time_groups_find(&a, &(struct tsm_time_key){.name = "both derived"})->derived_count = 50;
    tsm_time_groups_find(&b, &(struct tsm_time_key){.name = "both derived"})->derived_count = 50;
    tsm_time_groups_sort(&a);
    tsm_time_groups_sort(&b);
    CHECK_EQ_INT(tsm_time_compare(&changes, &a, &b, &options), 0);
    CHECK_EQ_INT((long long)changes.count, 10);
    CHECK_EQ_INT(change_of(&changes, "slower"), TSM_CHANGE_SLOWER);
    CHECK_EQ_INT(change_of(&changes, "faster"), TSM_CHANGE_FASTER);
    CHECK_EQ_INT(change_of(&changes, "little"), TSM_CHANGE_NONE);
    CHECK_EQ_INT(change_of(&changes, "few"), TSM_CHANGE_UNSURE);
    CHECK(change_of(&changes, "noise") != TSM_CHANGE_SLOWER);
    CHECK_EQ_INT(change_of(&changes, "gone"), TSM_CHANGE_ONLY_A);
    CHECK_EQ_INT(change_of(&changes, "new"), TSM_CHANGE_ONLY_B);
    CHECK_EQ_INT(change_of(&changes, "untimed"), TSM_CHANGE_UNKNOWN);
    CHECK_EQ_INT(change_of(&changes, "derived"), TSM_CHANGE_UNKNOWN);
    CHECK_EQ_INT(change_of(&changes, "both derived"), TSM_CHANGE_SLOWER);
    tsm_time_changes_finish(&changes);
    tsm_time_groups_finish(&a);
    tsm_time_groups_finish(&b);
}

int main(void)
{
    test_exact();
    test_ties();
    test_few_against_many();
    test_false_alarms();
    test_decisions();
    return check_result();
}
