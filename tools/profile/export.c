/* SPDX-License-Identifier: Apache-2.0
 *
 * Samples for the viewers of others. A stack is the host's frames, the kernel with its grid, then
 * the device's functions with their PTX lines, outermost first.
 */
#include "tools/profile/profile.h"

#include "base/array.h"
#include "base/text.h"
#include "tools/terminal.h"
#include "tools/timeline/chrome_out.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define NAME_MAX_SIZE 600
#define STACK_MAX     160

/* ---- a sample's frames ----------------------------------------------------------------------- */

struct frame {
    char name[NAME_MAX_SIZE];
    uint64_t module; /* index + 1; 0: no line of PTX */
    uint64_t line;
};

struct frames {
    size_t count;
    struct frame at[STACK_MAX];
};

static struct frame *push(struct frames *f)
{
    struct frame *frame = &f->at[f->count < STACK_MAX - 1 ? f->count++ : f->count];

    frame->module = frame->line = 0;
    return frame;
}

static void push_launch(struct frames *f, const struct tsm_gpu_profile *p, uint64_t launch)
{
    const struct tsm_gpu_launch *l = &p->launches[launch];
    const struct tsm_gpu_host *host = tsm_gpu_profile_host(p, l->host);

    for (uint64_t k = host ? host->frame_count : 0; k-- > 0;)
        tsm_format(push(f)->name, NAME_MAX_SIZE, "%s", host->frames[k]);
    tsm_format(push(f)->name, NAME_MAX_SIZE, "%s<<<(%s),(%s)>>>", l->kernel, l->grid, l->block);
}

static void push_device(struct frames *f, const struct tsm_gpu_profile *p, uint64_t level)
{
    const struct tsm_gpu_level *levels[TSM_GPU_DEPTH_MAX];
    size_t depth = tsm_gpu_profile_stack(p, level, levels);

    for (size_t k = 0; k < depth; k++) {
        struct frame *frame = push(f);
        tsm_format(frame->name, NAME_MAX_SIZE, "%s:%" PRIu64, levels[k]->function, levels[k]->line);
        frame->module = levels[k]->module + 1;
        frame->line = levels[k]->line;
    }
}

/* ---- speedscope: https://www.speedscope.app/file-format-schema.json -------------------------- */

/* Frames by number, in the order in which they were first met. */
struct names {
    struct frame *items;
    size_t count;
    size_t capacity;
};

static bool is_equal(const struct frame *a, const struct frame *b)
{
    return a->module == b->module && a->line == b->line && strcmp(a->name, b->name) == 0;
}

/* The last number when memory is short: one wrong name is better than no export. */
static size_t number_of(struct names *n, const struct frame *frame)
{
    for (size_t k = 0; k < n->count; k++)
        if (is_equal(&n->items[k], frame))
            return k;
    (void)TSM_ARRAY_PUSH(n->items, n->count, n->capacity, *frame);
    return n->count ? n->count - 1 : 0;
}

/* The numbers of a launch's and of a level's frames, looked up once each. */
struct numbers {
    size_t count;
    size_t *at;
};

static bool number_frames(struct numbers *out, struct names *names, const struct frames *f)
{
    if (out->at)
        return true;
    out->at = calloc(f->count + 1, sizeof(*out->at));
    if (!out->at)
        return false;
    for (size_t k = 0; k < f->count; k++)
        out->at[out->count++] = number_of(names, &f->at[k]);
    return true;
}

struct speedscope {
    const struct tsm_gpu_profile *profile;
    struct names names;
    struct numbers *launches;
    struct numbers *levels;
    struct frames frames; /* scratch */
};

static bool number_all(struct speedscope *s)
{
    const struct tsm_gpu_profile *p = s->profile;

    s->launches = calloc(p->launch_count + 1, sizeof(*s->launches));
    s->levels = calloc(p->level_count + 1, sizeof(*s->levels));
    if (!s->launches || !s->levels)
        return false;
    for (size_t k = 0; k < p->launch_count; k++) {
        s->frames.count = 0;
        push_launch(&s->frames, p, k);
        if (!number_frames(&s->launches[k], &s->names, &s->frames))
            return false;
    }
    for (size_t k = 0; k < p->level_count; k++) {
        s->frames.count = 0;
        push_device(&s->frames, p, k + 1);
        if (!number_frames(&s->levels[k], &s->names, &s->frames))
            return false;
    }
    return true;
}

static void put_frames(struct tsm_json *j, const struct names *names)
{
    char file[64];

    tsm_json_name(j, "shared");
    tsm_json_open(j, '{');
    tsm_json_name(j, "frames");
    tsm_json_open(j, '[');
    for (size_t k = 0; k < names->count; k++) {
        const struct frame *f = &names->items[k];
        tsm_json_open(j, '{');
        tsm_json_put_string(j, "name", f->name);
        if (f->module) {
            tsm_format(file, sizeof(file), "module-%" PRIu64 ".ptx", f->module);
            tsm_json_put_string(j, "file", file);
            tsm_json_put_u64(j, "line", f->line);
        }
        tsm_json_close(j, '}');
    }
    tsm_json_close(j, ']');
    tsm_json_close(j, '}');
}

static void put_samples(struct tsm_json *j, const struct speedscope *s)
{
    const struct tsm_gpu_profile *p = s->profile;

    tsm_json_name(j, "samples");
    tsm_json_open(j, '[');
    for (size_t k = 0; k < p->sample_count; k++) {
        const struct numbers *launch = &s->launches[p->samples[k].launch];
        const struct numbers *level = &s->levels[p->samples[k].level - 1];
        tsm_json_open(j, '[');
        for (size_t n = 0; n < launch->count; n++)
            tsm_json_u64(j, launch->at[n]);
        for (size_t n = 0; n < level->count; n++)
            tsm_json_u64(j, level->at[n]);
        tsm_json_close(j, ']');
    }
    tsm_json_close(j, ']');
    tsm_json_name(j, "weights");
    tsm_json_open(j, '[');
    for (size_t k = 0; k < p->sample_count; k++)
        tsm_json_u64(j, p->every);
    tsm_json_close(j, ']');
}

void tsm_gpu_profile_speedscope(const struct tsm_gpu_profile *p, const char *name, FILE *out)
{
    struct speedscope s = {.profile = p};
    struct tsm_json j = {.out = out};

    if (number_all(&s)) {
        tsm_json_open(&j, '{');
        tsm_json_put_string(&j, "$schema", "https://www.speedscope.app/file-format-schema.json");
        tsm_json_put_string(&j, "name", name);
        tsm_json_put_string(&j, "exporter", "tracesmith profile");
        put_frames(&j, &s.names);
        tsm_json_name(&j, "profiles");
        tsm_json_open(&j, '[');
        tsm_json_open(&j, '{');
        tsm_json_put_string(&j, "type", "sampled");
        tsm_json_put_string(&j, "name", "warp instructions");
        tsm_json_put_string(&j, "unit", "none");
        tsm_json_put_u64(&j, "startValue", 0);
        tsm_json_put_u64(&j, "endValue", p->sample_count * p->every);
        put_samples(&j, &s);
        tsm_json_close(&j, '}');
        tsm_json_close(&j, ']');
        tsm_json_end(&j);
    }
    for (size_t k = 0; s.launches && k < p->launch_count; k++)
        free(s.launches[k].at);
    for (size_t k = 0; s.levels && k < p->level_count; k++)
        free(s.levels[k].at);
    free(s.launches);
    free(s.levels);
    free(s.names.items);
}

/* ---- Chrome's trace events, which Perfetto loads --------------------------------------------- */

static void put_slice(struct tsm_json *j, const char *name, uint64_t thread, uint64_t from,
                      uint64_t to)
{
    tsm_chrome_slice(j, name, 1, thread, from, to);
}

static void put_thread_name(struct tsm_json *j, uint64_t thread, const char *format,
                            uint64_t stream)
{
    char text[64];

    tsm_format(text, sizeof(text), format, (unsigned long long)stream);
    tsm_chrome_name(j, "thread_name", 1, thread, text);
}

static void put_launch(struct tsm_json *j, const struct tsm_gpu_profile *p, size_t index)
{
    const struct tsm_gpu_launch *l = &p->launches[index];
    const struct tsm_gpu_host *host = tsm_gpu_profile_host(p, l->host);

    put_slice(j, l->kernel, l->stream * 2, l->start_ns, l->end_ns);
    tsm_json_name(j, "args");
    tsm_json_open(j, '{');
    tsm_json_put_string(j, "grid", l->grid);
    tsm_json_put_string(j, "block", l->block);
    tsm_json_name(j, "host_stack");
    tsm_json_open(j, '[');
    for (uint64_t k = 0; host && k < host->frame_count; k++)
        tsm_json_string(j, host->frames[k]);
    tsm_json_close(j, ']');
    tsm_json_close(j, '}');
    tsm_json_close(j, '}');
}

/* Open slices on a stream's track of samples: levels of equal samples in a row are one slice. */
struct open {
    uint64_t launch; /* index + 1; 0: nothing is open */
    uint64_t last_ns;
    size_t depth;
    uint64_t module[TSM_GPU_DEPTH_MAX];
    uint64_t line[TSM_GPU_DEPTH_MAX];
    const char *function[TSM_GPU_DEPTH_MAX];
    uint64_t since[TSM_GPU_DEPTH_MAX];
};

static void close_levels(struct tsm_json *j, const struct tsm_gpu_profile *p, struct open *o,
                         size_t depth)
{
    char name[NAME_MAX_SIZE];

    while (o->depth > depth) {
        size_t k = --o->depth;
        tsm_format(name, sizeof(name), "%s:%" PRIu64, o->function[k], o->line[k]);
        put_slice(j, name, p->launches[o->launch - 1].stream * 2 + 1, o->since[k], o->last_ns);
        tsm_json_close(j, '}');
    }
}

static void put_sample(struct tsm_json *j, const struct tsm_gpu_profile *p, struct open *o,
                       const struct tsm_gpu_sample *s)
{
    const struct tsm_gpu_level *levels[TSM_GPU_DEPTH_MAX];
    size_t depth = tsm_gpu_profile_stack(p, s->level, levels);
    size_t same = 0;

    if (o->launch != s->launch + 1) {
        close_levels(j, p, o, 0);
        o->launch = s->launch + 1;
        o->last_ns = p->launches[s->launch].start_ns;
    }
    while (same < depth && same < o->depth && o->line[same] == levels[same]->line &&
           o->module[same] == levels[same]->module)
        same++;
    close_levels(j, p, o, same);
    for (; o->depth < depth; o->depth++) {
        o->module[o->depth] = levels[o->depth]->module;
        o->line[o->depth] = levels[o->depth]->line;
        o->function[o->depth] = levels[o->depth]->function;
        o->since[o->depth] = o->last_ns;
    }
    o->last_ns = s->ns > o->last_ns ? s->ns : o->last_ns;
}

static void put_lanes(struct tsm_json *j, const struct tsm_gpu_sample *s)
{
    tsm_chrome_open(j, "C", "active lanes", 1, 0);
    tsm_chrome_time(j, "ts", s->ns);
    tsm_json_name(j, "args");
    tsm_json_open(j, '{');
    tsm_json_put_u64(j, "lanes", s->lanes);
    tsm_json_close(j, '}');
    tsm_json_close(j, '}');
}

static bool is_first_of_stream(const struct tsm_gpu_profile *p, size_t launch)
{
    for (size_t k = 0; k < launch; k++)
        if (p->launches[k].stream == p->launches[launch].stream)
            return false;
    return true;
}

/* Writes the launches of one stream: one open stack is enough, since streams are written one by
 * one. */
static void put_stream(struct tsm_json *j, const struct tsm_gpu_profile *p, uint64_t stream)
{
    struct open o = {0};

    put_thread_name(j, stream * 2, "stream %llu", stream);
    put_thread_name(j, stream * 2 + 1, "stream %llu: samples", stream);
    for (size_t k = 0; k < p->launch_count; k++)
        if (p->launches[k].stream == stream)
            put_launch(j, p, k);
    for (size_t k = 0; k < p->sample_count; k++) {
        if (p->launches[p->samples[k].launch].stream != stream)
            continue;
        put_sample(j, p, &o, &p->samples[k]);
        put_lanes(j, &p->samples[k]);
    }
    close_levels(j, p, &o, 0);
}

void tsm_gpu_profile_perfetto(const struct tsm_gpu_profile *p, FILE *out)
{
    struct tsm_json j = {.out = out};

    tsm_chrome_begin(&j);
    for (size_t k = 0; k < p->launch_count; k++)
        if (is_first_of_stream(p, k))
            put_stream(&j, p, p->launches[k].stream);
    tsm_chrome_end(&j);
}

/* ---- folded: flamegraph.pl and its kin ------------------------------------------------------- */

static void put_folded(FILE *out, const struct tsm_gpu_profile *p, uint64_t launch, uint64_t level,
                       uint64_t count)
{
    struct frames f = {0};

    push_launch(&f, p, launch);
    push_device(&f, p, level);
    for (size_t k = 0; k < f.count; k++) {
        for (char *c = f.at[k].name; *c; c++) /* the separator, and what is no text */
            *c = *c == ';' || (unsigned char)*c < ' ' ? ':' : *c;
        fprintf(out, "%s%s", k ? ";" : "", tsm_clean(f.at[k].name));
    }
    fprintf(out, " %" PRIu64 "\n", count);
}

static int compare_samples(const void *a, const void *b)
{
    const struct tsm_gpu_sample *x = a, *y = b;

    if (x->launch != y->launch)
        return x->launch < y->launch ? -1 : 1;
    return x->level < y->level ? -1 : x->level > y->level;
}

/* Equal stacks of different launches may appear more than once: the readers add them up. */
void tsm_gpu_profile_folded(const struct tsm_gpu_profile *p, FILE *out)
{
    struct tsm_gpu_sample *sorted = calloc(p->sample_count + 1, sizeof(*sorted));
    size_t run;

    if (!sorted)
        return;
    if (p->sample_count)
        memcpy(sorted, p->samples, p->sample_count * sizeof(*sorted));
    qsort(sorted, p->sample_count, sizeof(*sorted), compare_samples);
    for (size_t k = 0; k < p->sample_count; k += run) {
        for (run = 1; k + run < p->sample_count && !compare_samples(&sorted[k], &sorted[k + run]);)
            run++;
        put_folded(out, p, sorted[k].launch, sorted[k].level, run * p->every);
    }
    free(sorted);
}
