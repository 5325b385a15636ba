/* SPDX-License-Identifier: Apache-2.0 */
#include "export/events.h"

#include "base/array.h"
#include "base/text.h"
#include "export/short_name.h"
#include "tracesmith/error.h"

#include <stdlib.h>
#include <string.h>

uint32_t tsm_event_process(const struct tsm_event_source *source)
{
    const char *text = sbt_reader_metadata_find(source->reader, "process.pid");

    return text ? (uint32_t)strtoul(text, NULL, 10) : 0;
}

const char *tsm_event_program(const struct tsm_event_source *source)
{
    const char *text = sbt_reader_metadata_find(source->reader, "process.executable");

    if (!text)
        text = sbt_reader_metadata_find(source->reader, "process.name");
    return tsm_event_clean(source, text);
}

const char *tsm_event_clean(const struct tsm_event_source *source, const char *text)
{
    return source->names->clean(source->names->user, text ? text : "");
}

uint32_t tsm_event_device_count(const struct tsm_event_source *source)
{
    const char *text = sbt_reader_metadata_find(source->reader, "cuda.device_count");
    const unsigned long count = text ? strtoul(text, NULL, 10) : 0;

    return count < TSM_DEVICE_NUMBER_OBJECTS ? (uint32_t)count : TSM_DEVICE_NUMBER_OBJECTS;
}

const char *tsm_event_device_fact(const struct tsm_event_source *source, uint64_t device,
                                  const char *fact)
{
    char name[64];
    const char *value;

    tsm_format(name, sizeof(name), "cuda.device.%llu.%s", (unsigned long long)device, fact);
    value = sbt_reader_metadata_find(source->reader, name);
    return value ? tsm_event_clean(source, value) : NULL;
}

/* ---- numbers -------------------------------------------------------------------------------- */

uint32_t tsm_number_of(struct tsm_numbering *n, uint64_t key, bool *added)
{
    bool is_new = false;
    uint64_t *place = tsm_map_insert(&n->numbers, key, &is_new);

    if (added)
        *added = is_new;
    if (!place)
        return n->first;
    if (is_new)
        *place = n->first + n->numbers.count - 1;
    return (uint32_t)*place;
}

uint32_t tsm_device_number(struct tsm_device_numbers *n, const struct tsm_device *device)
{
    uint32_t i = 0;

    if (!device->api)
        return 0;
    if (!device->type)
        return (uint32_t)device->number;
    while (i < n->count && !tsm_device_is_same(&n->list[i], device))
        i++;
    if (i == n->count && n->count < sizeof(n->list) / sizeof(*n->list))
        n->list[n->count++] = *device;
    return TSM_DEVICE_NUMBER_OBJECTS + i;
}

/* ---- ranges --------------------------------------------------------------------------------- */

#define OPEN_MAX 8192u /* ranges that never end do not take memory without bound */

static bool is_end_of(const struct tsm_mark_node *mark, const struct tsm_mark_node *begin)
{
    return begin->id == mark->id && (mark->id || begin->thread == mark->thread);
}

static struct tsm_range_event event_of(struct tsm_ranges *r, const struct tsm_mark_node *begin,
                                       uint64_t end_ns, uint32_t end_thread)
{
    r->last = *begin;
    return (struct tsm_range_event){.name = begin->name ? begin->name : "",
                                    .seq = begin->seq,
                                    .id = begin->id,
                                    .start_ns = begin->time_ns,
                                    .end_ns = end_ns < begin->time_ns ? begin->time_ns : end_ns,
                                    .thread = begin->thread,
                                    .end_thread = end_thread,
                                    .begin = &r->last};
}

int tsm_ranges_note(struct tsm_ranges *r, struct tsm_range_event *out,
                    const struct tsm_mark_node *mark)
{
    size_t i = r->count;

    if (mark->phase == TSM_MARK_POINT) {
        *out = event_of(r, mark, mark->time_ns, mark->thread);
        out->is_point = true;
        return 1;
    }
    if (mark->phase == TSM_MARK_BEGIN) {
        if (r->count < OPEN_MAX && !TSM_ARRAY_PUSH(r->open, r->count, r->capacity, *mark))
            return tsm_fail(TSM_E_MEMORY, "out of memory for ranges");
        return 0;
    }
    while (i > 0 && !is_end_of(mark, &r->open[i - 1]))
        i--;
    if (!i)
        return 0;
    *out = event_of(r, &r->open[i - 1], mark->time_ns, mark->thread);
    TSM_ARRAY_REMOVE(r->open, r->count, i - 1);
    return 1;
}

bool tsm_ranges_take_open(struct tsm_ranges *r, struct tsm_range_event *out, uint64_t end_ns)
{
    if (!r->count)
        return false;
    r->count--;
    *out = event_of(r, &r->open[r->count], end_ns, r->open[r->count].thread);
    out->is_open = true;
    return true;
}

void tsm_ranges_finish(struct tsm_ranges *r)
{
    free(r->open);
    *r = (struct tsm_ranges){0};
}

/* ---- kernels -------------------------------------------------------------------------------- */

bool tsm_kernel_names_make(struct tsm_kernel_names *out, const struct tsm_event_source *source,
                           const char *name)
{
    char *plain = name ? source->demangle(name) : NULL;
    char own[1024];

    if (!name)
        name = "unknown kernel";
    tsm_short_name(own, sizeof(own), plain ? plain : name);
    out->mangled = strdup(tsm_event_clean(source, name));
    out->plain = strdup(tsm_event_clean(source, plain ? plain : name));
    out->own = strdup(tsm_event_clean(source, own));
    free(plain);
    return out->mangled && out->plain && out->own;
}

void tsm_kernel_names_finish(struct tsm_kernel_names *names)
{
    free(names->mangled);
    free(names->plain);
    free(names->own);
    *names = (struct tsm_kernel_names){0};
}
