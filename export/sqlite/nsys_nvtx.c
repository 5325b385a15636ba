/* SPDX-License-Identifier: Apache-2.0 */
#include "export/sqlite/nsys_nvtx.h"

#include "export/sqlite/nsys_forms.h"

#include <string.h>

static int64_t thread_id(const struct tsm_nsys_nvtx *l, uint32_t thread)
{
    return l->process | (int64_t)(thread & 0xffffffu);
}

static void put_number_or_null(struct tsm_rows *r, bool is_there, uint64_t value)
{
    if (is_there)
        tsm_row_i64(r, (int64_t)value);
    else
        tsm_row_null(r);
}

/* ---- domains and categories ----------------------------------------------------------------- */

/* Writes the row of a name. */
static void put_name(struct tsm_nsys_nvtx *l, const struct tsm_mark_node *mark, int type,
                     const char *name, uint32_t domain)
{
    struct tsm_rows *r = l->rows;

    tsm_row_begin(l->d, r);
    tsm_row_i64(r, (int64_t)mark->time_ns);
    tsm_row_null(r);
    tsm_row_i64(r, type);
    tsm_row_null(r);
    put_number_or_null(r, type == NSYS_TYPE_CATEGORY, mark->category);
    tsm_row_null(r);
    tsm_row_text(r, tsm_event_clean(l->source, name));
    tsm_row_i64(r, thread_id(l, mark->thread));
    tsm_row_null(r);
    tsm_row_skip(r, 1);
    tsm_row_i64(r, domain);
    for (int i = 0; i < 6; i++)
        tsm_row_null(r);
    tsm_row_skip(r, 3);
    tsm_row_end(l->d, r);
}

/* Returns the domain's number; its row is written when it comes first. */
static uint32_t note_domain(struct tsm_nsys_nvtx *l, const struct tsm_mark_node *mark)
{
    bool added = false;
    uint32_t number;

    if (!mark->domain)
        return 0;
    number = tsm_number_of(&l->domains, (uint64_t)(uintptr_t)mark->domain, &added);
    if (added)
        put_name(l, mark, NSYS_TYPE_DOMAIN, mark->domain, number);
    return number;
}

/* A category's row is written when its name comes first, or is another one. */
static void note_category(struct tsm_nsys_nvtx *l, const struct tsm_mark_node *mark,
                          uint32_t domain)
{
    const uint64_t name = (uint64_t)(uintptr_t)mark->category_name;
    bool added = false;
    uint64_t *known;

    if (!mark->category_name)
        return;
    known = tsm_map_insert(&l->categories, (uint64_t)domain << 32 | mark->category, &added);
    if (!known || (!added && *known == name))
        return;
    *known = name;
    put_name(l, mark, NSYS_TYPE_CATEGORY, mark->category_name, domain);
}

/* ---- labels --------------------------------------------------------------------------------- */

static double double_of(const struct tsm_mark_node *mark)
{
    const uint32_t half = (uint32_t)mark->payload;
    double value;
    float single;

    if (mark->payload_type == SBT_PAYLOAD_FLOAT) {
        memcpy(&single, &half, sizeof(single));
        return (double)single;
    }
    memcpy(&value, &mark->payload, sizeof(value));
    return value;
}

/* Columns uint64Value to floatValue. */
static void put_payload(struct tsm_rows *r, const struct tsm_mark_node *mark)
{
    for (uint32_t type = SBT_PAYLOAD_UINT64; type < SBT_PAYLOAD_COUNT; type++) {
        if (type != mark->payload_type)
            tsm_row_null(r);
        else if (type == SBT_PAYLOAD_DOUBLE || type == SBT_PAYLOAD_FLOAT)
            tsm_row_f64(r, double_of(mark));
        else if (type == SBT_PAYLOAD_INT32)
            tsm_row_i64(r, (int32_t)mark->payload);
        else
            tsm_row_i64(r, (int64_t)mark->payload);
    }
}

static int type_of(const struct tsm_range_event *range)
{
    if (range->is_point)
        return NSYS_TYPE_MARK;
    return tsm_mark_is_nested(range->begin) ? NSYS_TYPE_PUSH_POP : NSYS_TYPE_START_END;
}

static void put_range(struct tsm_nsys_nvtx *l, const struct tsm_range_event *range)
{
    const bool is_free = type_of(range) == NSYS_TYPE_START_END;
    const struct tsm_mark_node *begin = range->begin;
    const uint32_t domain = note_domain(l, begin);
    struct tsm_rows *r = l->rows;

    ++*l->count;
    tsm_row_begin(l->d, r);
    tsm_row_i64(r, (int64_t)range->start_ns);
    put_number_or_null(r, !range->is_point && !range->is_open, range->end_ns);
    tsm_row_i64(r, type_of(range));
    put_number_or_null(r, is_free, range->id);
    put_number_or_null(r, begin->category, begin->category);
    put_number_or_null(r, begin->color, begin->color);
    tsm_row_text(r, tsm_event_clean(l->source, range->name));
    tsm_row_i64(r, thread_id(l, range->thread));
    put_number_or_null(r, is_free, (uint64_t)thread_id(l, range->end_thread));
    tsm_row_skip(r, 1);
    tsm_row_i64(r, domain);
    put_payload(r, begin);
    tsm_row_skip(r, 3);
    tsm_row_end(l->d, r);
}

int tsm_nsys_nvtx_note(struct tsm_nsys_nvtx *l, const struct tsm_mark_node *mark)
{
    struct tsm_range_event range;
    const int result = tsm_ranges_note(&l->ranges, &range, mark);

    if (mark->phase != TSM_MARK_END)
        note_category(l, mark, note_domain(l, mark));
    if (result == 1)
        put_range(l, &range);
    return result < 0 ? result : 0;
}

void tsm_nsys_nvtx_end(struct tsm_nsys_nvtx *l, uint64_t end_ns)
{
    struct tsm_range_event range;

    while (tsm_ranges_take_open(&l->ranges, &range, end_ns))
        put_range(l, &range);
}

void tsm_nsys_nvtx_finish(struct tsm_nsys_nvtx *l)
{
    tsm_map_finish(&l->domains.numbers);
    tsm_map_finish(&l->categories);
    tsm_ranges_finish(&l->ranges);
}
