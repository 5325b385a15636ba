/* SPDX-License-Identifier: Apache-2.0 */
#include "export/sites.h"

#include "base/array.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/text.h"
#include "tracesmith/error.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define NO_STACK "(no stack)"

struct build {
    struct tsm_sites *out;
    const struct tsm_frame_names *names;
    struct tsm_map by_address; /* -> place of the frame + 1 */
    struct tsm_map by_name;    /* hash of a command's name -> the same */
};

static int no_memory(void)
{
    return tsm_fail(TSM_E_MEMORY, "out of memory for launch sites");
}

/* ---- frames ------------------------------------------------------------------------------- */

/* Takes `name` and `file`, which come from malloc. Returns the frame's place + 1; 0: no memory. */
static size_t add_frame(struct tsm_sites *s, uint64_t address, char *name, char *file,
                        uint32_t line)
{
    if (name && s->frame_count < UINT32_MAX &&
        TSM_ARRAY_PUSH(s->frames, s->frame_count, s->frame_capacity,
                       (struct tsm_site_frame){address, name, file, line}))
        return s->frame_count;
    free(name);
    free(file);
    return 0;
}

static size_t new_host_frame(struct build *b, uint64_t address)
{
    struct tsm_frame_text text = {0};
    char number[32];

    b->names->find(b->names->user, address, &text);
    tsm_format(number, sizeof(number), "0x%" PRIx64, address);
    return add_frame(b->out, address, strdup(text.function ? text.function : number),
                     text.file ? strdup(text.file) : NULL, text.line);
}

static size_t host_frame(struct build *b, uint64_t address)
{
    bool added;
    uint64_t *place = tsm_map_insert(&b->by_address, address, &added);

    if (place && added)
        *place = new_host_frame(b, address);
    return place ? *place : 0;
}

/* Names that hash alike would be one frame: the hash has 64 bits, and only a picture suffers. */
static size_t named_frame(struct build *b, const char *name)
{
    bool added;
    uint64_t *place = tsm_map_insert(&b->by_name, tsm_hash64(name, strlen(name)), &added);

    if (place && added)
        *place = add_frame(b->out, 0, strdup(name), NULL, 0);
    return place ? *place : 0;
}

static bool push(struct tsm_sites *s, size_t place)
{
    return place && TSM_ARRAY_PUSH(s->path, s->path_count, s->path_capacity, (uint32_t)(place - 1));
}

/* ---- samples ------------------------------------------------------------------------------ */

static int add_sample(struct build *b, const struct tsm_time_group *group,
                      struct sbt_reader *reader)
{
    struct tsm_sites *s = b->out;
    struct tsm_site_sample sample = {.first = s->path_count, .count = group->count};
    const uint64_t *frames = NULL;
    const int depth = group->key.stack ? sbt_reader_stack(reader, group->key.stack, &frames) : 0;
    bool ok = push(s, named_frame(b, b->names->clean(b->names->user, group->key.name)));

    for (int i = 0; i < depth && ok; i++)
        ok = push(s, host_frame(b, frames[i]));
    if (depth <= 0 && ok)
        ok = push(s, named_frame(b, NO_STACK));
    sample.frame_count = (uint32_t)(s->path_count - sample.first);
    sample.ns = group->ns.total;
    s->total_ns += sample.ns;
    return ok && TSM_ARRAY_PUSH(s->samples, s->sample_count, s->sample_capacity, sample)
               ? 0
               : no_memory();
}

int tsm_sites_build(struct tsm_sites *out, const struct tsm_summary *summary,
                    struct sbt_reader *reader, const struct tsm_frame_names *names)
{
    struct build b = {.out = out, .names = names};
    int error = 0;

    *out = (struct tsm_sites){0};
    for (size_t i = 0; i < summary->commands.count && !error; i++)
        error = add_sample(&b, &summary->commands.list[i], reader);
    tsm_map_finish(&b.by_address);
    tsm_map_finish(&b.by_name);
    if (error)
        tsm_sites_finish(out);
    return error;
}

void tsm_sites_finish(struct tsm_sites *s)
{
    for (size_t i = 0; i < s->frame_count; i++) {
        free(s->frames[i].name);
        free(s->frames[i].file);
    }
    free(s->frames);
    free(s->path);
    free(s->samples);
    *s = (struct tsm_sites){0};
}

/* ---- sums --------------------------------------------------------------------------------- */

struct summing {
    struct tsm_site_sum *list;
    size_t count, capacity;
    uint64_t *seen; /* by sum: number of the last sample that counted, from 1 */
    size_t seen_capacity;
    struct tsm_map places; /* hash of a name -> place + 1 */
};

static struct tsm_site_sum *sum_of(struct summing *s, const char *name)
{
    bool added;
    uint64_t *place = tsm_map_insert(&s->places, tsm_hash64(name, strlen(name)), &added);

    if (!place)
        return NULL;
    if (added) {
        if (!TSM_ARRAY_PUSH(s->list, s->count, s->capacity, (struct tsm_site_sum){.name = name}) ||
            !TSM_ARRAY_EXTEND(s->seen, s->seen_capacity, s->count))
            return NULL;
        *place = s->count;
    }
    return &s->list[*place - 1];
}

/* The innermost frame is the command; the one around it sent it. */
static bool sum_sample(struct summing *s, const struct tsm_sites *sites, size_t index)
{
    const struct tsm_site_sample *sample = &sites->samples[index];

    for (uint32_t i = 1; i < sample->frame_count; i++) {
        struct tsm_site_sum *sum = sum_of(s, sites->frames[sites->path[sample->first + i]].name);

        if (!sum)
            return false;
        if (i == 1)
            sum->exclusive_ns += sample->ns;
        if (s->seen[sum - s->list] == index + 1)
            continue;
        s->seen[sum - s->list] = index + 1;
        sum->inclusive_ns += sample->ns;
        sum->count += sample->count;
    }
    return true;
}

static int by_inclusive(const void *a, const void *b)
{
    const struct tsm_site_sum *x = a, *y = b;

    if (x->inclusive_ns != y->inclusive_ns)
        return x->inclusive_ns > y->inclusive_ns ? -1 : 1;
    if (x->exclusive_ns != y->exclusive_ns)
        return x->exclusive_ns > y->exclusive_ns ? -1 : 1;
    return strcmp(x->name, y->name);
}

int tsm_sites_sum(struct tsm_site_sum **out, size_t *count, const struct tsm_sites *sites)
{
    struct summing s = {0};
    bool ok = true;

    for (size_t i = 0; i < sites->sample_count && ok; i++)
        ok = sum_sample(&s, sites, i);
    tsm_map_finish(&s.places);
    free(s.seen);
    if (!ok) {
        free(s.list);
        return no_memory();
    }
    if (s.count)
        qsort(s.list, s.count, sizeof(*s.list), by_inclusive);
    *out = s.list;
    *count = s.count;
    return 0;
}
