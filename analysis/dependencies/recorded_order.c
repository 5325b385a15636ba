/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/dependencies/recorded_order.h"

#define BIT(stage) ((uint16_t)(1u << (stage)))

/* Returns the stages that wait behind `o` for work on a stage before it. */
static uint16_t behind(const struct tsm_recorded_order *o, unsigned stage, uint16_t held)
{
    uint16_t out = held | o->held.list[stage];

    TSM_EACH_STAGE(by, held)
    out |= o->held.list[by];
    return out;
}

/* Returns the stages of earlier work that work on a stage waits for at the end of `o`. */
static uint16_t waited_at_end(const struct tsm_recorded_order *o, unsigned stage)
{
    uint16_t out = 0;

    for (unsigned by = 0; by < TSM_STAGE_COUNT; by++)
        if (o->held.list[by] & BIT(stage))
            out |= BIT(by);
    return out;
}

void tsm_recorded_order_work(struct tsm_recorded_order *o, uint16_t stages)
{
    TSM_EACH_STAGE(stage, stages)
    {
        o->waits_last[stage] = waited_at_end(o, stage);
        o->last.list[stage] = 0;
        if (o->work & BIT(stage))
            continue;
        o->waits_first[stage] = o->waits_last[stage];
        o->first.list[stage] = 0;
    }
    o->work |= stages;
}

/* Adds to a set of stages that wait for work on a stage those behind barriers for any of these. */
static void hold(uint16_t *held, unsigned stage, const struct tsm_barrier *list, size_t count)
{
    const uint16_t before = *held | BIT(stage);

    for (size_t i = 0; i < count; i++)
        if (list[i].before & before)
            *held |= list[i].behind;
}

void tsm_recorded_order_barriers(struct tsm_recorded_order *o, const struct tsm_barrier *list,
                                 size_t count)
{
    if (o->is_inside || !count)
        return;
    o->has_barriers = true;
    for (unsigned stage = 0; stage < TSM_STAGE_COUNT; stage++)
        hold(&o->held.list[stage], stage, list, count);
    TSM_EACH_STAGE(stage, o->work)
    {
        hold(&o->first.list[stage], stage, list, count);
        hold(&o->last.list[stage], stage, list, count);
    }
}

void tsm_recorded_order_unknown(struct tsm_recorded_order *o)
{
    tsm_recorded_order_work(o, TSM_STAGES_ALL);
    o->is_unknown = true;
}

struct tsm_recorded_waiting tsm_recorded_order_waiting(const struct tsm_recorded_order *o,
                                                       uint16_t work, const struct tsm_held *first,
                                                       const struct tsm_held *last)
{
    struct tsm_recorded_waiting w = {o->work, o->work, 0, 0};

    TSM_EACH_STAGE(by, o->work)
    {
        const uint16_t later = BIT(by);

        TSM_EACH_STAGE(stage, work)
        {
            const uint16_t some = first->list[stage], all = last->list[stage];

            if (!(all & later || o->waits_first[by] & (all | BIT(stage))))
                w.whole &= (uint16_t)~later;
            if (!(all & later || o->waits_last[by] & (all | BIT(stage))))
                w.part &= (uint16_t)~later;
            if (some & later || o->waits_first[by] & (some | BIT(stage)))
                w.begun |= later;
            if (some & later || o->waits_last[by] & (some | BIT(stage)))
                w.some |= later;
        }
    }
    return w;
}

void tsm_recorded_order_pass(const struct tsm_recorded_order *o, uint16_t work,
                             struct tsm_held *held)
{
    TSM_EACH_STAGE(stage, work)
    held->list[stage] = behind(o, stage, held->list[stage]);
}

/* Notes for work in `with`, which comes behind `o`, what it waits for of what is before `o`. */
static void append_waits(struct tsm_recorded_order *o, const struct tsm_recorded_order *with)
{
    uint16_t first[TSM_STAGE_COUNT] = {0}, last[TSM_STAGE_COUNT] = {0};

    for (unsigned before = 0; before < TSM_STAGE_COUNT; before++) {
        const struct tsm_recorded_waiting w =
            tsm_recorded_order_waiting(with, BIT(before), &o->held, &o->held);

        TSM_EACH_STAGE(by, w.whole)
        first[by] |= BIT(before);
        TSM_EACH_STAGE(by, w.part)
        last[by] |= BIT(before);
    }
    TSM_EACH_STAGE(stage, with->work)
    {
        if (!(o->work & BIT(stage)))
            o->waits_first[stage] = first[stage];
        o->waits_last[stage] = last[stage];
    }
}

void tsm_recorded_order_append(struct tsm_recorded_order *o, const struct tsm_recorded_order *with)
{
    if (!o->work && !o->has_barriers) {
        const bool is_inside = o->is_inside;

        *o = *with;
        o->is_inside = is_inside;
        return;
    }
    if (!with->has_barriers) {
        tsm_recorded_order_work(o, with->work);
        o->is_unknown |= with->is_unknown;
        return;
    }
    append_waits(o, with);
    tsm_recorded_order_pass(with, o->work, &o->first);
    tsm_recorded_order_pass(with, o->work, &o->last);
    TSM_EACH_STAGE(stage, with->work)
    {
        if (!(o->work & BIT(stage)))
            o->first.list[stage] = with->first.list[stage];
        o->last.list[stage] = with->last.list[stage];
    }
    tsm_recorded_order_pass(with, TSM_STAGES_ALL, &o->held);
    o->work |= with->work;
    o->is_unknown |= with->is_unknown;
    o->has_barriers = true;
}
