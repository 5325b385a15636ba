/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/address_space.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/array.h"
#include "tracesmith/error.h"

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

static int no_memory(void)
{
    return tsm_fail(TSM_E_MEMORY, "no memory for address ranges");
}

static void *pointer(uint64_t address)
{
    return (void *)(uintptr_t)address; /* NOLINT: an address of the recording */
}

int tsm_address_space_add(struct tsm_address_space *s, uint64_t start, uint64_t end)
{
    struct tsm_address_range *list = s->list;
    size_t at, last;

    TSM_BISECT(at, s->count, list[at].end >= start);
    for (last = at; last < s->count && list[last].start <= end; last++)
        end = list[last].end > end ? list[last].end : end;
    if (at == last)
        return TSM_ARRAY_INSERT(s->list, s->count, s->capacity, at,
                                (struct tsm_address_range){.start = start, .end = end})
                   ? 0
                   : no_memory();
    list[at].start = start < list[at].start ? start : list[at].start;
    list[at].end = end;
    memmove(&list[at + 1], &list[last], (s->count - last) * sizeof(*list));
    s->count -= last - at - 1;
    return 0;
}

int tsm_address_space_remove(struct tsm_address_space *s, uint64_t start, uint64_t end)
{
    size_t at;

    TSM_BISECT(at, s->count, s->list[at].end > start);
    while (at < s->count && s->list[at].start < end) {
        struct tsm_address_range *r = &s->list[at], old = *r;
        if (old.start < start && old.end > end) {
            r->end = start;
            old.start = end;
            return TSM_ARRAY_INSERT(s->list, s->count, s->capacity, at + 1, old) ? 0 : no_memory();
        }
        if (old.start < start) {
            r->end = start;
            at++;
        } else if (old.end > end) {
            r->start = end;
        } else {
            TSM_ARRAY_REMOVE(s->list, s->count, at);
        }
    }
    return 0;
}

struct tsm_address_range *tsm_address_space_find(const struct tsm_address_space *s, uint64_t start,
                                                 uint64_t size)
{
    size_t at;

    TSM_BISECT(at, s->count, s->list[at].end > start);
    return at < s->count && start >= s->list[at].start && size <= s->list[at].end - start
               ? &s->list[at]
               : NULL;
}

static bool map_free(const struct tsm_address_range *r, int protection)
{
    void *wanted = pointer(r->start);
    void *got = mmap(wanted, r->end - r->start, protection,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);

    /* Kernels before 4.17 take FIXED_NOREPLACE for a hint. */
    if (got != MAP_FAILED && got != wanted)
        munmap(got, r->end - r->start);
    return got == wanted;
}

void tsm_address_space_keep(struct tsm_address_space *s, int protection)
{
    for (size_t i = 0; i < s->count; i++)
        s->list[i].is_kept = s->list[i].is_kept || map_free(&s->list[i], protection);
}

void tsm_address_space_reserve(struct tsm_address_space *s, const struct tsm_address_driver *driver)
{
    for (size_t i = 0; i < s->count; i++) {
        struct tsm_address_range *r = &s->list[i];
        uint64_t size = r->end - r->start, got;
        bool was_kept = r->is_kept;

        if (was_kept)
            munmap(pointer(r->start), size);
        got = driver->reserve(driver->user, r->start, size);
        r->is_reserved = got == r->start;
        if (got && !r->is_reserved)
            driver->release(driver->user, got, size);
        r->is_kept = was_kept && !r->is_reserved && map_free(r, PROT_NONE);
    }
}

void tsm_address_space_release(struct tsm_address_space *s, const struct tsm_address_driver *driver)
{
    for (size_t i = 0; i < s->count; i++) {
        struct tsm_address_range *r = &s->list[i];
        if (r->is_reserved)
            driver->release(driver->user, r->start, r->end - r->start);
        if (r->is_kept)
            munmap(pointer(r->start), r->end - r->start);
        r->is_reserved = r->is_kept = false;
    }
}

void tsm_address_space_finish(struct tsm_address_space *s)
{
    free(s->list);
    *s = (struct tsm_address_space){0};
}
