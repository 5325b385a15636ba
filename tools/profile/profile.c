/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/profile/profile.h"

#include "tracesmith/error.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define FIELD_MAX 80

struct parser {
    struct tsm_gpu_profile *profile;
    char *at, *end;
    uint64_t line;
    char *fields[FIELD_MAX];
    size_t count;
};

/* ---- arrays ---------------------------------------------------------------------------------- */

/* Room for one more of `size` bytes, zeroed; capacity is the next power of two. */
static void *add(void **items, size_t *count, size_t size)
{
    if ((*count & (*count - 1)) == 0) { /* 0 or a power of two: it is full */
        size_t capacity = *count ? *count * 2 : 1;
        void *grown = reallocarray(*items, capacity, size);
        if (!grown)
            return NULL;
        *items = grown;
    }
    void *item = (char *)*items + (*count)++ * size;
    memset(item, 0, size);
    return item;
}

#define ADD(profile, items, count)                                                                 \
    add((void **)&(profile)->items, &(profile)->count, sizeof(*(profile)->items))

/* ---- fields ---------------------------------------------------------------------------------- */

static bool next_line(struct parser *p)
{
    if (p->at >= p->end)
        return false;
    char *newline = memchr(p->at, '\n', (size_t)(p->end - p->at));
    if (!newline)
        return false; /* cut short: the line is not believed */
    *newline = 0;
    p->line++;
    p->count = 0;
    for (char *field = p->at; field && p->count < FIELD_MAX;) {
        char *tab = strchr(field, '\t');
        p->fields[p->count++] = field;
        if (tab)
            *tab = 0;
        field = tab ? tab + 1 : NULL;
    }
    p->at = newline + 1;
    return true;
}

/* Field k as a number; anything else is 0, which names nothing. */
static uint64_t number(const struct parser *p, size_t k)
{
    return k < p->count ? strtoull(p->fields[k], NULL, 10) : 0;
}

/* Field k as the index of a module. */
static bool module_index(const struct parser *p, size_t k, uint64_t *index)
{
    *index = number(p, k) - 1;
    return *index < p->profile->module_count;
}

/* ---- records --------------------------------------------------------------------------------- */

static int split_lines(struct tsm_gpu_module *m, char *text, size_t size)
{
    char *end = text + size;

    for (char *at = text; at < end; m->line_count++) {
        char *newline = memchr(at, '\n', (size_t)(end - at));
        at = newline ? newline + 1 : end;
    }
    m->lines = calloc(m->line_count + 1, sizeof(*m->lines));
    if (!m->lines)
        return TSM_E_MEMORY;
    for (uint64_t k = 0; k < m->line_count; k++) {
        char *newline = memchr(text, '\n', (size_t)(end - text));
        m->lines[k] = text;
        *(newline ? newline : end) = 0;
        text = newline ? newline + 1 : end;
    }
    return 0;
}

static int read_module(struct parser *p)
{
    uint64_t size = number(p, 2);
    struct tsm_gpu_module *m;

    if (p->count != 3 || size >= (uint64_t)(p->end - p->at) || p->at[size] != '\n' ||
        number(p, 1) != p->profile->module_count + 1)
        return TSM_E_FORMAT;
    m = ADD(p->profile, modules, module_count);
    if (!m)
        return TSM_E_MEMORY;
    m->id = number(p, 1);
    char *text = p->at;
    p->at += size + 1;
    int error = split_lines(m, text, size);
    p->line += m->line_count;
    return error;
}

static int read_stack(struct parser *p)
{
    struct tsm_gpu_level level = {.parent = number(p, 2)};
    struct tsm_gpu_level *slot;

    if (p->count != 6 || number(p, 1) != p->profile->level_count + 1 ||
        !module_index(p, 3, &level.module) || level.parent > p->profile->level_count)
        return TSM_E_FORMAT;
    level.line = number(p, 4);
    level.function = p->fields[5];
    slot = ADD(p->profile, levels, level_count);
    if (!slot)
        return TSM_E_MEMORY;
    *slot = level;
    return 0;
}

static int read_launch(struct parser *p)
{
    struct tsm_gpu_launch *l;

    if (p->count != 9 || number(p, 1) != p->profile->launch_count + 1)
        return TSM_E_FORMAT;
    l = ADD(p->profile, launches, launch_count);
    if (!l)
        return TSM_E_MEMORY;
    *l = (struct tsm_gpu_launch){.kernel = p->fields[3],
                                 .grid = p->fields[4],
                                 .block = p->fields[5],
                                 .stream = number(p, 6),
                                 .host = number(p, 7),
                                 .start_ns = number(p, 8),
                                 .end_ns = number(p, 8)};
    return 0;
}

static int read_done(struct parser *p)
{
    uint64_t launch = number(p, 1);

    if (p->count != 3 || !launch || launch > p->profile->launch_count)
        return TSM_E_FORMAT;
    p->profile->launches[launch - 1].end_ns = number(p, 2);
    return 0;
}

static int read_sample(struct parser *p)
{
    struct tsm_gpu_sample s = {.launch = number(p, 1) - 1,
                               .level = number(p, 2),
                               .block = number(p, 3),
                               .warp = number(p, 4),
                               .lanes = number(p, 5),
                               .ns = number(p, 6)};
    struct tsm_gpu_sample *slot;

    if (p->count != 7 || s.launch >= p->profile->launch_count || !s.level ||
        s.level > p->profile->level_count)
        return TSM_E_FORMAT;
    slot = ADD(p->profile, samples, sample_count);
    if (!slot)
        return TSM_E_MEMORY;
    *slot = s;
    if (p->profile->launches[s.launch].end_ns < s.ns)
        p->profile->launches[s.launch].end_ns = s.ns;
    return 0;
}

static int read_count(struct parser *p)
{
    struct tsm_gpu_count c = {.line = number(p, 2)};
    struct tsm_gpu_count *slot;

    if (p->count != 9 || !module_index(p, 1, &c.module) || !c.line ||
        c.line > p->profile->modules[c.module].line_count)
        return TSM_E_FORMAT;
    c.function = p->fields[3];
    c.warps = number(p, 4);
    c.threads = number(p, 5);
    c.lanes = number(p, 6);
    c.waits = number(p, 7);
    c.wait_steps = number(p, 8);
    slot = ADD(p->profile, counts, count_count);
    if (!slot)
        return TSM_E_MEMORY;
    *slot = c;
    return 0;
}

static int read_host(struct parser *p)
{
    struct tsm_gpu_host *h;

    if (p->count < 2)
        return TSM_E_FORMAT;
    h = ADD(p->profile, hosts, host_count);
    if (!h)
        return TSM_E_MEMORY;
    h->id = number(p, 1);
    h->frame_count = p->count - 2;
    h->frames = calloc(h->frame_count + 1, sizeof(*h->frames));
    if (!h->frames)
        return TSM_E_MEMORY;
    for (size_t k = 0; k < h->frame_count; k++)
        h->frames[k] = p->fields[k + 2];
    return 0;
}

static int read_end(struct parser *p)
{
    p->profile->is_whole = true;
    return 0;
}

static int read_record(struct parser *p)
{
    static const struct {
        const char *name;
        int (*read)(struct parser *p);
    } records[] = {{"sample", read_sample}, {"stack", read_stack}, {"launch", read_launch},
                   {"done", read_done},     {"count", read_count}, {"module", read_module},
                   {"host", read_host},     {"end", read_end}};

    for (size_t k = 0; k < sizeof(records) / sizeof(*records); k++)
        if (strcmp(p->fields[0], records[k].name) == 0)
            return records[k].read(p);
    return 0; /* of a newer program: new kinds of lines may come at any time */
}

/* ---- the file -------------------------------------------------------------------------------- */

static int read_text(struct tsm_gpu_profile *profile, const char *path, size_t *size)
{
    FILE *file = fopen(path, "re");
    struct stat stat;

    if (!file || fstat(fileno(file), &stat) != 0) {
        int error = errno;
        if (file)
            fclose(file);
        return tsm_fail(TSM_E_IO, "%s: %s", path, strerror(error));
    }
    profile->text = malloc((size_t)stat.st_size + 1);
    *size = profile->text ? fread(profile->text, 1, (size_t)stat.st_size, file) : 0;
    fclose(file);
    if (!profile->text)
        return tsm_fail(TSM_E_MEMORY, "%s: out of memory", path);
    profile->text[*size] = 0;
    return 0;
}

int tsm_gpu_profile_read(struct tsm_gpu_profile *profile, const char *path)
{
    struct parser p = {.profile = profile};
    size_t size = 0;
    int error;

    memset(profile, 0, sizeof(*profile));
    error = read_text(profile, path, &size);
    if (error)
        return error;
    p.at = profile->text;
    p.end = profile->text + size;
    if (!next_line(&p) || strcmp(p.fields[0], "tsprofile") != 0 || number(&p, 1) != 1)
        return tsm_fail(TSM_E_FORMAT, "%s: not a profile of the software GPU", path);
    profile->every = number(&p, 2);
    while (next_line(&p)) {
        error = read_record(&p);
        if (error)
            return tsm_fail(error, "%s: line %llu: %s", path, (unsigned long long)p.line,
                            error == TSM_E_MEMORY ? "out of memory" : "wrong fields");
    }
    return 0;
}

void tsm_gpu_profile_finish(struct tsm_gpu_profile *profile)
{
    for (size_t k = 0; k < profile->module_count; k++)
        free(profile->modules[k].lines);
    for (size_t k = 0; k < profile->host_count; k++)
        free(profile->hosts[k].frames);
    free(profile->modules);
    free(profile->counts);
    free(profile->levels);
    free(profile->launches);
    free(profile->samples);
    free(profile->hosts);
    free(profile->text);
    memset(profile, 0, sizeof(*profile));
}

const struct tsm_gpu_host *tsm_gpu_profile_host(const struct tsm_gpu_profile *profile, uint64_t id)
{
    for (size_t k = 0; id && k < profile->host_count; k++)
        if (profile->hosts[k].id == id)
            return &profile->hosts[k];
    return NULL;
}

size_t tsm_gpu_profile_stack(const struct tsm_gpu_profile *profile, uint64_t level,
                             const struct tsm_gpu_level *out[TSM_GPU_DEPTH_MAX])
{
    size_t depth = 0;

    for (uint64_t at = level; at && depth < TSM_GPU_DEPTH_MAX; at = profile->levels[at - 1].parent)
        out[depth++] = &profile->levels[at - 1];
    for (size_t k = 0; k < depth / 2; k++) {
        const struct tsm_gpu_level *other = out[k];
        out[k] = out[depth - 1 - k];
        out[depth - 1 - k] = other;
    }
    return depth;
}
