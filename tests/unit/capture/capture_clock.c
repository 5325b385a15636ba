/* SPDX-License-Identifier: Apache-2.0
 *
 * Tests the clock of a recording after the machine slept: the time stamp counter began again, or it
 * went on while CLOCK_MONOTONIC stood still. Its speed stays, and time never steps back.
 */
#include "capture/lane/drain.h"
#include "tests/unit/check.h"

#include <math.h>
#include <string.h>

#define SPEED  0.5 /* nanoseconds a tick, more or less what any machine has */
#define SECOND 1000000000

static struct tsm_session session;
static struct tsm_lanes_header header;

/* Begins `ago` ns ago, `ticks` before now. */
static void begin(struct tsm_drain *d, int64_t ago, int64_t ticks)
{
    const struct tsm_clock_pair now = tsm_clock_pair_read();

    memset(d, 0, sizeof(*d));
    session.lanes_header = &header;
    d->session = &session;
    d->last_pair =
        (struct tsm_clock_pair){now.ticks - (uint64_t)ticks, now.monotonic_ns - (uint64_t)ago};
    d->merge.clock = (struct tsm_clock_line){d->last_pair, SPEED};
    d->awake_ns = tsm_clock_ns(CLOCK_BOOTTIME) - tsm_monotonic_ns();
}

static bool has_speed(const struct tsm_drain *d)
{
    return fabs(d->merge.clock.ns_per_tick / SPEED - 1) <
           0.11; /* it may make up for a difference */
}

static void test_steady(void)
{
    struct tsm_drain d;

    begin(&d, SECOND, (int64_t)(SECOND / SPEED));
    tsm_drain_calibrate(&d);
    CHECK(has_speed(&d) && !d.slept_ns);
}

/* The counter is lower than before. */
static void test_began_again(void)
{
    struct tsm_drain d;

    begin(&d, SECOND, -(int64_t)(3600.0 * SECOND / SPEED));
    tsm_drain_calibrate(&d);
    CHECK(has_speed(&d));
    CHECK(d.merge.clock.from.monotonic_ns == d.last_pair.monotonic_ns);
    CHECK(header.clock[header.clock_epoch & 1].ns_per_tick == d.merge.clock.ns_per_tick);
}

/* The counter went on for a minute more than CLOCK_MONOTONIC. */
static void test_went_on(void)
{
    struct tsm_drain d;
    uint64_t shown;

    begin(&d, SECOND, (int64_t)(61.0 * SECOND / SPEED));
    d.awake_ns -= 60ull * SECOND;
    shown = tsm_clock_line_ns(&d.merge.clock, tsm_ticks());
    tsm_drain_calibrate(&d);
    CHECK(has_speed(&d));
    CHECK(d.merge.clock.from.monotonic_ns >= shown);
    CHECK(d.slept_ns >= 59ull * SECOND && d.slept_ns <= 61ull * SECOND);
}

int main(void)
{
    test_steady();
    test_began_again();
    test_went_on();
    return check_result();
}
