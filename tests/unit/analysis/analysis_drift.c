/* SPDX-License-Identifier: Apache-2.0
 *
 * Tests the offset and speed of clocks against clocks of a known one, and against a slow search.
 */
#include "analysis/time/drift.h"
#include "base/random.h"
#include "tests/unit/check.h"

static uint64_t state = 41;

static int64_t below(uint64_t limit)
{
    return (int64_t)(tsm_random(&state) % limit);
}

/* A clock that is `offset` behind at its time 0, and falls back by so many parts per billion. */
struct clock {
    int64_t offset, ppb, noise;
};

/* Adds what a host sees of a command that runs at a time of the clock: it was sent up to `noise`
 * before, and known to be complete up to `noise` behind it. */
static void observe(struct tsm_drift *d, const struct clock *c, int64_t time, uint64_t seq)
{
    const uint64_t truth =
        (uint64_t)c->offset + (uint64_t)(int64_t)((__int128)time * c->ppb / 1000000000);
    const uint64_t before = (uint64_t)below((uint64_t)c->noise + 1) + 1;
    const uint64_t behind = (uint64_t)below((uint64_t)c->noise + 1) + 1;
    const struct tsm_drift_bound low = {
        .time_ns = time, .offset_ns = (int64_t)(truth - before), .seq = seq};
    const struct tsm_drift_bound high = {
        .time_ns = time, .offset_ns = (int64_t)(truth + behind), .seq = seq};

    CHECK(tsm_drift_at_least(d, &low) && tsm_drift_at_most(d, &high));
}

static bool holds(struct tsm_drift_number least, struct tsm_drift_number most, int64_t value)
{
    return (!least.is_known || least.value <= value) && (!most.is_known || value <= most.value);
}

/* The truth lies within, and the width is what the noise allows. */
static void test_known(void)
{
    static const int64_t speeds[] = {0, 1000, -20000, 50000, -3000000};
    static const int64_t offsets[] = {0, -1234567890123, (int64_t)1 << 60, INT64_MIN + 5};

    for (unsigned i = 0; i < sizeof(speeds) / sizeof(*speeds); i++)
        for (unsigned k = 0; k < sizeof(offsets) / sizeof(*offsets); k++) {
            const struct clock c = {offsets[k], speeds[i], 20000};
            struct tsm_drift d = {.has_origin = false};
            struct tsm_drift_fit fit;

            for (uint64_t n = 0; n < 5000; n++)
                observe(&d, &c, (int64_t)n * 2000000 + below(1000), n); /* 10 s */
            fit = tsm_drift_fit(&d);
            CHECK(fit.fits && fit.least.is_known && fit.most.is_known);
            CHECK(holds(fit.least, fit.most, c.ppb));
            CHECK(fit.most.value - fit.least.value <= 8000); /* 2 * 20 us twice, in 10 s */
            CHECK(fit.offset_least.is_known && fit.offset_most.is_known);
            if (k + 1 < sizeof(offsets) / sizeof(*offsets))
                CHECK(holds(fit.offset_least, fit.offset_most, c.offset));
            CHECK(fit.offset_most.value - fit.offset_least.value <= 80002);
            CHECK(d.least.count < 2048 && d.most.count < 2048);
            tsm_drift_finish(&d);
        }
}

/* Bounds of few small numbers, against all speeds and offsets in steps. */
static void test_slow(void)
{
    for (unsigned round = 0; round < 400; round++) {
        struct tsm_drift_bound low[4], high[4];
        struct tsm_drift d = {.has_origin = false};
        struct tsm_drift_fit fit;
        int64_t first = INT64_MAX;
        bool any = false;

        for (unsigned i = 0; i < 4; i++) {
            low[i] = (struct tsm_drift_bound){.time_ns = below(1000), .offset_ns = below(30) - 20};
            high[i] = (struct tsm_drift_bound){.time_ns = below(1000), .offset_ns = below(30) + 0};
            CHECK(tsm_drift_at_least(&d, &low[i]) && tsm_drift_at_most(&d, &high[i]));
            first = low[i].time_ns < first ? low[i].time_ns : first;
            first = high[i].time_ns < first ? high[i].time_ns : first;
        }
        fit = tsm_drift_fit(&d);
        for (int64_t speed = -100; speed <= 100; speed++) /* thousandths */
            for (int64_t at = -200; at <= 200; at++) {
                bool ok = true;

                for (unsigned i = 0; i < 4; i++)
                    ok = ok &&
                         at * 1000 + speed * (low[i].time_ns - first) >= low[i].offset_ns * 1000 &&
                         at * 1000 + speed * (high[i].time_ns - first) <= high[i].offset_ns * 1000;
                any |= ok;
                if (ok)
                    CHECK(fit.fits && fit.first_ns == first &&
                          holds(fit.least, fit.most, speed * 1000000) &&
                          holds(fit.offset_least, fit.offset_most, at));
            }
        if (!fit.fits)
            CHECK(!any && (fit.of_least[1] || fit.of_most[1]));
        tsm_drift_finish(&d);
    }
}

/* A counter of so many bits that begins again: no clock fits, and what contradicts is on both
 * sides. */
static void test_wrapped(unsigned bits)
{
    const struct clock c = {777, 15000, 5000};
    const int64_t wrap = (int64_t)1 << bits;
    struct tsm_drift d = {.has_origin = false};
    struct tsm_drift_fit fit;

    for (uint64_t n = 0; n < 1000; n++) {
        const int64_t time = wrap - 500000000 + (int64_t)n * 1000000;
        const struct clock seen = {c.offset + (time < wrap ? 0 : wrap), c.ppb, c.noise};

        observe(&d, &seen, time % wrap, n);
    }
    fit = tsm_drift_fit(&d);
    CHECK(!fit.fits && fit.of_least[0] && fit.of_least[1]);
    CHECK((fit.of_least[0]->seq < 500) != (fit.of_least[1]->seq < 500) ||
          (fit.of_most[0]->seq < 500) != (fit.of_most[1]->seq < 500));
    tsm_drift_finish(&d);
}

/* The host's clock stands still while the device's goes on. */
static void test_suspended(void)
{
    struct tsm_drift d = {.has_origin = false};
    struct clock c = {0, 0, 5000};

    for (uint64_t n = 0; n < 1000; n++) {
        c.offset = n < 500 ? 0 : -60000000000;
        observe(&d, &c, (int64_t)n * 1000000 - c.offset, n);
    }
    CHECK(!tsm_drift_fit(&d).fits);
    tsm_drift_finish(&d);
}

static void test_few(void)
{
    struct tsm_drift d = {.has_origin = false};
    struct tsm_drift_bound bound = {.time_ns = 5, .offset_ns = 7};
    struct tsm_drift_fit fit = tsm_drift_fit(&d);

    CHECK(fit.fits && !fit.least.is_known && !fit.offset_most.is_known);
    CHECK(tsm_drift_at_least(&d, &bound));
    CHECK(tsm_drift_fit(&d).fits);
    bound.offset_ns = 6; /* at most 6, and at least 7 */
    CHECK(tsm_drift_at_most(&d, &bound));
    fit = tsm_drift_fit(&d);
    CHECK(!fit.fits && fit.of_least[0] && fit.of_least[1]);
    tsm_drift_finish(&d);
    /* Times that no arithmetic of ours compares are left out, and counted. */
    CHECK(tsm_drift_at_least(&d, &(struct tsm_drift_bound){.time_ns = INT64_MIN}));
    CHECK(tsm_drift_at_most(&d, &(struct tsm_drift_bound){.time_ns = 5, .offset_ns = INT64_MAX}));
    CHECK_EQ_INT((long long)d.far_count, 1);
    CHECK(tsm_drift_fit(&d).fits);
    tsm_drift_finish(&d);
}

int main(void)
{
    test_known();
    test_slow();
    test_wrapped(36);
    test_wrapped(40);
    test_suspended();
    test_few();
    return check_result();
}
