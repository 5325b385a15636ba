/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/model/labels.h"

#include "base/array.h"
#include "tracesmith/error.h"

#include <stdlib.h>
#include <string.h>

enum { SLOT_NAME, SLOT_PHASE, SLOT_ID, SLOT_COUNT };
enum { PHASE_BEGIN = 1, PHASE_END = 2 };

struct tsm_thread_labels {
    uint32_t depth; /* may be more than there is room for */
    struct {
        uint64_t id;
        const char *name;
    } open[TSM_LABEL_DEPTH_MAX];
};

static struct tsm_thread_labels *find(const struct tsm_labels *l, uint32_t thread)
{
    const uint64_t *place = tsm_map_find(&l->places, thread);

    return place ? &l->threads[*place] : NULL;
}

static struct tsm_thread_labels *find_or_add(struct tsm_labels *l, uint32_t thread)
{
    struct tsm_thread_labels *found = find(l, thread);

    if (found)
        return found;
    if (!TSM_ARRAY_PUSH(l->threads, l->count, l->capacity, (struct tsm_thread_labels){0}))
        return NULL;
    if (!tsm_map_set(&l->places, thread, l->count - 1)) {
        l->count--;
        return NULL;
    }
    return &l->threads[l->count - 1];
}

static void begin(struct tsm_thread_labels *t, uint64_t id, const char *name)
{
    if (t->depth < TSM_LABEL_DEPTH_MAX) {
        t->open[t->depth].id = id;
        t->open[t->depth].name = name;
    }
    t->depth++;
}

/* Ends the innermost range with that id, which may not be the thread's innermost one. False: the
 * thread has none. */
static bool end(struct tsm_thread_labels *t, uint64_t id)
{
    if (t->depth > TSM_LABEL_DEPTH_MAX) {
        t->depth--;
        return true;
    }
    for (uint32_t i = t->depth; i > 0; i--)
        if (t->open[i - 1].id == id) {
            t->depth--;
            memmove(&t->open[i - 1], &t->open[i], (t->depth - (i - 1)) * sizeof(t->open[0]));
            return true;
        }
    return false;
}

/* Ranges that any thread may end, up to so many at a time. */
#define RANGE_MAX 8192u

static bool is_range(uint64_t id)
{
    return id >> 32 && id >> SBT_MARK_NEST_SHIFT == 0;
}

static void end_range(struct tsm_labels *l, uint64_t id)
{
    const uint64_t *thread = tsm_map_find(&l->ranges, id);
    struct tsm_thread_labels *t = thread ? find(l, (uint32_t)*thread) : NULL;

    if (t && t->depth <= TSM_LABEL_DEPTH_MAX)
        end(t, id);
}

int tsm_labels_note(struct tsm_labels *l, struct sbt_reader *reader,
                    const struct sbt_record *record)
{
    struct tsm_thread_labels *t;
    uint64_t id;

    if (record->slot_count < SLOT_COUNT ||
        (record->slots[SLOT_PHASE] != PHASE_BEGIN && record->slots[SLOT_PHASE] != PHASE_END))
        return 0;
    t = find_or_add(l, record->thread);
    if (!t)
        return tsm_fail(TSM_E_MEMORY, "out of memory for labels");
    id = record->slots[SLOT_ID];
    if (record->slots[SLOT_PHASE] == PHASE_BEGIN)
        begin(t, id, sbt_reader_string(reader, (uint32_t)record->slots[SLOT_NAME]));
    else if (!end(t, id))
        end_range(l, id);
    if (!is_range(id))
        return 0;
    if (record->slots[SLOT_PHASE] == PHASE_END)
        tsm_map_remove(&l->ranges, id);
    else if (l->ranges.count < RANGE_MAX && !tsm_map_set(&l->ranges, id, record->thread))
        return tsm_fail(TSM_E_MEMORY, "out of memory for labels");
    return 0;
}

const char *tsm_labels_of(const struct tsm_labels *l, uint32_t thread)
{
    const struct tsm_thread_labels *t = l->count ? find(l, thread) : NULL;

    if (!t || !t->depth)
        return NULL;
    return t->open[(t->depth < TSM_LABEL_DEPTH_MAX ? t->depth : TSM_LABEL_DEPTH_MAX) - 1].name;
}

void tsm_labels_finish(struct tsm_labels *l)
{
    free(l->threads);
    tsm_map_finish(&l->places);
    tsm_map_finish(&l->ranges);
    *l = (struct tsm_labels){0};
}
