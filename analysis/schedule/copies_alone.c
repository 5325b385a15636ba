/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/schedule/copies_alone.h"

#include "analysis/model/work.h"
#include "tracesmith/error.h"

#include <stdlib.h>

enum change_kind { COPIES, KERNELS, WAITING, KIND_COUNT };

/* One copy or kernel more, or less, from a moment on. */
struct change {
    uint64_t ns;
    enum change_kind kind;
    int by; /* 1 or -1 */
    uint32_t part;
};

struct listing {
    struct change *list;
    size_t count;
};

static void add(struct listing *l, enum change_kind kind, uint32_t part, uint64_t begin_ns,
                uint64_t end_ns)
{
    if (begin_ns >= end_ns)
        return;
    l->list[l->count++] = (struct change){begin_ns, kind, 1, part};
    l->list[l->count++] = (struct change){end_ns, kind, -1, part};
}

static bool is_copy(const struct tsm_workload *w, uint32_t part)
{
    const enum tsm_device_work_kind kind = tsm_workload_kind(w, part);
    const struct tsm_workload_command *c = &w->commands[w->parts[part].command];

    return kind == TSM_DEVICE_TO_DEVICE || kind == TSM_DEVICE_TO_HOST ||
           (kind == TSM_DEVICE_ON_DEVICE && tsm_work_of_type(c->schema).work == TSM_WORK_COPY);
}

static void add_part(struct listing *l, const struct tsm_workload *w,
                     const struct tsm_prediction *s, uint32_t part)
{
    const struct tsm_scheduled_part *p = &s->parts[part];

    if (is_copy(w, part)) {
        add(l, COPIES, part, p->start_ns, p->end_ns);
    } else if (tsm_workload_kind(w, part) == TSM_DEVICE_KERNEL) {
        add(l, WAITING, part, p->sent_ns + w->machine.launch_latency_ns, p->start_ns);
        add(l, KERNELS, part, p->start_ns, p->end_ns);
    }
}

static int by_time(const void *a, const void *b)
{
    const struct change *x = a, *y = b;

    if (x->ns != y->ns)
        return x->ns < y->ns ? -1 : 1;
    return x->part < y->part ? -1 : x->part > y->part;
}

/* Goes through time. `alone_ns`: since when it is so. */
static void sum_up(struct tsm_copies_alone *out, const struct listing *l)
{
    int counts[KIND_COUNT] = {0};
    bool is_alone = false;
    uint64_t alone_ns = 0;
    uint32_t copy = TSM_WORKLOAD_NONE, first = TSM_WORKLOAD_NONE;

    for (size_t i = 0; i < l->count;) {
        const uint64_t now_ns = l->list[i].ns;

        for (; i < l->count && l->list[i].ns == now_ns; i++) {
            counts[l->list[i].kind] += l->list[i].by;
            if (l->list[i].kind == COPIES && l->list[i].by > 0)
                copy = l->list[i].part;
        }
        if (is_alone == (counts[COPIES] && !counts[KERNELS] && counts[WAITING]))
            continue;
        is_alone = !is_alone;
        if (is_alone) {
            alone_ns = now_ns;
            first = copy;
            continue;
        }
        out->total_ns += now_ns - alone_ns;
        if (now_ns - alone_ns > out->longest_ns) {
            out->longest_ns = now_ns - alone_ns;
            out->longest = first;
        }
    }
}

int tsm_copies_alone_find(struct tsm_copies_alone *out, const struct tsm_workload *w,
                          const struct tsm_prediction *s, uint32_t device)
{
    struct listing l = {.list = malloc((4 * w->part_count + 1) * sizeof(*l.list))};

    *out = (struct tsm_copies_alone){.longest = TSM_WORKLOAD_NONE};
    if (!l.list)
        return tsm_fail(TSM_E_MEMORY, "no memory for copies");
    for (size_t i = 0; i < w->part_count; i++)
        if (s->parts[i].is_done &&
            w->streams[w->commands[w->parts[i].command].stream].device == device)
            add_part(&l, w, s, (uint32_t)i);
    qsort(l.list, l.count, sizeof(*l.list), by_time);
    sum_up(out, &l);
    free(l.list);
    return 0;
}
