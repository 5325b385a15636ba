/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/time/drift.h"

#include "base/array.h"

#include <stdlib.h>

#define FAR      ((int64_t)1 << 61) /* products of differences fit into 127 bits below it */
#define HULL_MIN 1024u              /* bounds that are kept before they are compressed */
#define BILLION  1000000000

typedef __int128 wide;

/* ---- bounds that matter --------------------------------------------------------------------- */

static int by_time(const void *a, const void *b)
{
    const struct tsm_drift_bound *x = a, *y = b;

    if (x->time_ns != y->time_ns)
        return x->time_ns < y->time_ns ? -1 : 1;
    return x->offset_ns < y->offset_ns ? -1 : x->offset_ns > y->offset_ns;
}

/* Tests whether `b` lies on or below the line from `a` to `c`, so that both imply it. */
static bool is_implied(const struct tsm_drift_bound *a, const struct tsm_drift_bound *b,
                       const struct tsm_drift_bound *c)
{
    const wide up = (wide)(b->offset_ns - a->offset_ns) * (c->time_ns - a->time_ns);
    const wide line = (wide)(c->offset_ns - a->offset_ns) * (b->time_ns - a->time_ns);

    return up <= line;
}

#define CORNER_COUNT_MAX 1024u

/* Leaves out every other corner: what remains allows more, and nothing that was allowed is lost. */
static size_t thin_out(struct tsm_drift_bound *list, size_t count)
{
    size_t kept = 0;

    for (size_t i = 0; i < count; i++)
        if (i % 2 == 0 || i + 1 == count)
            list[kept++] = list[i];
    return kept;
}

/* Keeps the upper hull: each offset that grows evenly and is at least those on it is at least all.
 */
static void compress(struct tsm_drift_hull *h)
{
    size_t count = 0;

    if (h->count == h->compressed_count)
        return;
    qsort(h->list, h->count, sizeof(*h->list), by_time);
    for (size_t i = 0; i < h->count; i++) {
        if (count && h->list[count - 1].time_ns == h->list[i].time_ns)
            count--;
        while (count > 1 && is_implied(&h->list[count - 2], &h->list[count - 1], &h->list[i]))
            count--;
        h->list[count++] = h->list[i];
    }
    while (count > CORNER_COUNT_MAX)
        count = thin_out(h->list, count);
    h->count = h->compressed_count = count;
}

static bool add(struct tsm_drift *d, struct tsm_drift_hull *h, const struct tsm_drift_bound *bound,
                bool is_negated)
{
    struct tsm_drift_bound near = *bound;

    if (!d->has_origin) {
        d->origin = *bound;
        d->has_origin = true;
    }
    near.time_ns = (int64_t)((uint64_t)bound->time_ns - (uint64_t)d->origin.time_ns);
    near.offset_ns = (int64_t)((uint64_t)bound->offset_ns - (uint64_t)d->origin.offset_ns);
    if (near.time_ns <= -FAR || near.time_ns >= FAR || near.offset_ns <= -FAR ||
        near.offset_ns >= FAR) {
        d->far_count++;
        return true;
    }
    if (is_negated)
        near.offset_ns = -near.offset_ns;
    if (h->count >= HULL_MIN && h->count >= 2 * h->compressed_count)
        compress(h);
    return TSM_ARRAY_PUSH(h->list, h->count, h->capacity, near);
}

bool tsm_drift_at_least(struct tsm_drift *d, const struct tsm_drift_bound *bound)
{
    return add(d, &d->least, bound, false);
}

bool tsm_drift_at_most(struct tsm_drift *d, const struct tsm_drift_bound *bound)
{
    return add(d, &d->most, bound, true);
}

/* ---- fractions ------------------------------------------------------------------------------ */

struct fraction {
    wide over, under; /* under > 0 */
};

static struct fraction fraction_of(wide over, wide under)
{
    return under < 0 ? (struct fraction){-over, -under} : (struct fraction){over, under};
}

/* Compares what is left beside whole numbers, whose products fit: denominators are differences of
 * times. */
static bool is_less(struct fraction a, struct fraction b)
{
    const wide whole_a = a.over / a.under, whole_b = b.over / b.under;

    return whole_a != whole_b ? whole_a < whole_b
                              : a.over % a.under * b.under < b.over % b.under * a.under;
}

static int64_t clamp(wide value)
{
    return value > INT64_MAX ? INT64_MAX : value < INT64_MIN ? INT64_MIN : (int64_t)value;
}

static int64_t rounded(struct fraction f, bool is_up)
{
    const wide whole = f.over / f.under, rest = f.over % f.under;

    return clamp(whole + (is_up && rest > 0) - (!is_up && rest < 0));
}

static struct fraction times_billion(struct fraction f)
{
    return (struct fraction){f.over * BILLION, f.under};
}

/* ---- the fit -------------------------------------------------------------------------------- */

/* The tightest limits of a number, and the bounds that set them. */
struct limits {
    struct fraction least, most;
    bool has_least, has_most;
    const struct tsm_drift_bound *of_least[2], *of_most[2];
};

static void limit(struct limits *l, struct fraction f, bool is_most,
                  const struct tsm_drift_bound *low, const struct tsm_drift_bound *high)
{
    if (is_most && (!l->has_most || is_less(f, l->most))) {
        l->most = f;
        l->has_most = true;
        l->of_most[0] = low;
        l->of_most[1] = high;
    } else if (!is_most && (!l->has_least || is_less(l->least, f))) {
        l->least = f;
        l->has_least = true;
        l->of_least[0] = low;
        l->of_least[1] = high;
    }
}

/* A bound from below and one from above limit the speed from one side: the offset must not have
 * grown, or fallen, by more in between. Of the same time, the one must not be above the other. */
static bool limit_speed(struct limits *l, const struct tsm_drift_bound *low,
                        const struct tsm_drift_bound *high)
{
    const wide time = (wide)high->time_ns - low->time_ns;
    const wide offset = -(wide)high->offset_ns - low->offset_ns;

    if (time)
        limit(l, fraction_of(offset, time), time > 0, low, high);
    else if (offset < 0) {
        l->of_least[0] = l->of_most[0] = low;
        l->of_least[1] = l->of_most[1] = high;
    }
    return time || offset >= 0;
}

/* The same for the offset at `first_ns`, which no bound is before, once the speed is put in: the
 * line through both. */
static void limit_offset(struct limits *l, const struct tsm_drift_bound *low,
                         const struct tsm_drift_bound *high, int64_t first_ns)
{
    const wide low_time = (wide)low->time_ns - first_ns, high_time = (wide)high->time_ns - first_ns;
    const wide time = low_time - high_time;
    const wide over = -(wide)high->offset_ns * low_time - (wide)low->offset_ns * high_time;

    if (low_time == 0)
        limit(l, (struct fraction){low->offset_ns, 1}, false, low, high);
    if (high_time == 0)
        limit(l, (struct fraction){-(wide)high->offset_ns, 1}, true, low, high);
    if (time && low_time && high_time)
        limit(l, fraction_of(over, time), time > 0, low, high);
}

/* Tests whether a clock can run at a speed within the limits. */
static bool is_possible(const struct limits *l)
{
    const struct fraction slow = {-TSM_DRIFT_MAX_PPB, BILLION}, fast = {TSM_DRIFT_MAX_PPB, BILLION};

    if (l->has_least && l->has_most && is_less(l->most, l->least))
        return false;
    return !(l->has_least && is_less(fast, l->least)) && !(l->has_most && is_less(l->most, slow));
}

/* Limits that each clock keeps are none. */
static struct tsm_drift_number speed_number(bool is_known, struct fraction f, bool is_up, bool fits)
{
    const int64_t ppb = is_known ? rounded(times_billion(f), is_up) : 0;

    if (!is_known || (fits && (ppb > TSM_DRIFT_MAX_PPB || ppb < -TSM_DRIFT_MAX_PPB)))
        return (struct tsm_drift_number){.is_known = false};
    return (struct tsm_drift_number){true, ppb};
}

static int64_t first_time(const struct tsm_drift *d)
{
    const int64_t low = d->least.list[0].time_ns, high = d->most.list[0].time_ns;

    return low < high ? low : high;
}

static void put_offset(struct tsm_drift_fit *fit, const struct tsm_drift *d,
                       const struct limits *offset, int64_t first_ns)
{
    const wide origin = d->origin.offset_ns;

    fit->first_ns = (int64_t)((uint64_t)d->origin.time_ns + (uint64_t)first_ns);
    if (offset->has_least)
        fit->offset_least =
            (struct tsm_drift_number){true, clamp(origin + rounded(offset->least, false))};
    if (offset->has_most)
        fit->offset_most =
            (struct tsm_drift_number){true, clamp(origin + rounded(offset->most, true))};
}

struct tsm_drift_fit tsm_drift_fit(struct tsm_drift *d)
{
    struct tsm_drift_fit fit = {.fits = true};
    struct limits speed = {.has_least = false}, offset = {.has_least = false};
    int64_t first_ns;

    compress(&d->least);
    compress(&d->most);
    if (!d->least.count || !d->most.count)
        return fit;
    first_ns = first_time(d);
    for (size_t i = 0; i < d->least.count && fit.fits; i++)
        for (size_t k = 0; k < d->most.count && fit.fits; k++) {
            fit.fits = limit_speed(&speed, &d->least.list[i], &d->most.list[k]);
            limit_offset(&offset, &d->least.list[i], &d->most.list[k], first_ns);
        }
    fit.fits = fit.fits && is_possible(&speed);
    for (unsigned i = 0; i < 2; i++) {
        fit.of_least[i] = speed.of_least[i];
        fit.of_most[i] = speed.of_most[i];
    }
    fit.least = speed_number(speed.has_least, speed.least, false, fit.fits);
    fit.most = speed_number(speed.has_most, speed.most, true, fit.fits);
    if (fit.fits)
        put_offset(&fit, d, &offset, first_ns);
    return fit;
}

void tsm_drift_finish(struct tsm_drift *d)
{
    free(d->least.list);
    free(d->most.list);
    *d = (struct tsm_drift){.has_origin = false};
}
