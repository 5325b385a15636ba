/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/cpu/ftrace_page.h"

#include "base/bytes.h"

#define HEADER_SIZE 16u /* time, then how many bytes are written, with flags */

#define COMMIT_SIZE   0x07ffffffu
#define COMMIT_MISSED 0x80000000u /* events were lost before this page ... */
#define COMMIT_STORED 0x40000000u /* ... and how many stands after its last event */

/* The low five bits of an event's first word: length in words, or one of these. */
enum { TYPE_LONG = 0, TYPE_WORDS_MAX = 28, TYPE_PADDING = 29, TYPE_EXTEND = 30, TYPE_STAMP = 31 };

#define DELTA_BITS 27

/* Times of STAMP leave out the highest bits, which do not change within a page. */
#define STAMP_BITS 59
#define STAMP_MASK ((1ull << STAMP_BITS) - 1)

static int add_lost(struct tsm_cpu_events *events, uint16_t cpu, uint64_t ts_ns,
                    const uint8_t *page, size_t size, uint64_t commit)
{
    size_t written = commit & COMMIT_SIZE;
    struct tsm_cpu_event e = {.ts_ns = ts_ns, .type = TSM_CPU_LOST, .cpu = cpu, .number = 1};

    if (!(commit & COMMIT_MISSED))
        return 0;
    if (commit & COMMIT_STORED && size - HEADER_SIZE - written >= 8)
        e.number = tsm_get_u64(page + HEADER_SIZE + written);
    return tsm_cpu_events_add(events, &e);
}

/* One event: time steps on; its data, if it has any. False: the page ends, or makes no sense. */
static bool next_event(struct tsm_view *v, uint64_t *ts_ns, const uint8_t **data, size_t *size)
{
    uint32_t word = tsm_view_u32(v), type = word & 31;
    uint64_t delta = word >> 5;

    *data = NULL;
    *size = type * 4;
    if (type == TYPE_PADDING) {
        if (!delta) /* up to the end */
            return false;
        *size = tsm_view_u32(v);
        if (*size < 4)
            v->failed = true;
        tsm_view_take(v, *size - 4);
    } else if (type == TYPE_EXTEND) {
        delta |= (uint64_t)tsm_view_u32(v) << DELTA_BITS;
    } else if (type == TYPE_STAMP) {
        delta |= (uint64_t)tsm_view_u32(v) << DELTA_BITS;
        *ts_ns = (*ts_ns & ~STAMP_MASK) | (delta & STAMP_MASK);
        delta = 0;
    } else {
        if (type == TYPE_LONG) {
            *size = tsm_view_u32(v);
            if (*size < 4)
                v->failed = true;
            *size -= 4;
        }
        *data = tsm_view_take(v, *size);
        if (type == TYPE_LONG) /* padded to words */
            tsm_view_take(v, -*size & 3);
    }
    *ts_ns += delta;
    return !v->failed;
}

int tsm_ftrace_page(struct tsm_cpu_events *events, const struct tsm_ftrace_formats *formats,
                    uint16_t cpu, const uint8_t *page, size_t size)
{
    uint64_t ts_ns, commit;
    struct tsm_view view;
    const uint8_t *data;
    size_t data_size;
    int error;

    if (size < HEADER_SIZE || (tsm_get_u64(page + 8) & COMMIT_SIZE) > size - HEADER_SIZE) {
        events->unread_count++;
        return 0;
    }
    ts_ns = tsm_get_u64(page);
    commit = tsm_get_u64(page + 8);
    view = tsm_view_init(page + HEADER_SIZE, commit & COMMIT_SIZE);
    error = add_lost(events, cpu, ts_ns, page, size, commit);
    while (!error && tsm_view_left(&view) && next_event(&view, &ts_ns, &data, &data_size)) {
        if (data)
            error = tsm_ftrace_event(events, formats, cpu, 0, ts_ns, data, data_size);
    }
    events->unread_count += view.failed;
    return error;
}
