/* SPDX-License-Identifier: Apache-2.0 */
#include "emu/cuda/check/profile.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/file.h"
#include "base/clock.h"
#include "base/map.h"
#include "emu/cuda/core/emu.h"
#include "emu/cuda/check/host_stack.h"
#include "emu/cuda/stream/stream.h"

/* A module that was seen: its text is in the file. Counts by line. */
struct module {
    const struct ptx_module *ptx; /* NULL: it is gone */
    uint32_t id;
    uint32_t line_count;
    struct ptx_count *counts;
    const char **functions; /* of each line; owned copies, shared by lines in a row */
    struct module *next;
};

/* A level of a device stack, under the node of the level that called it. */
struct node {
    uint32_t parent;
    uint32_t module;
    uint32_t line;
    uint32_t next; /* an older one of the same key; 0: none */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static FILE *file;
static bool is_broken;
static pid_t owner;
static uint64_t start_ns;
static struct module *modules;
static uint32_t module_count;
static uint64_t launch_count;
static uint64_t sample_left;
static struct node *nodes; /* node n is nodes[n - 1] */
static uint32_t node_count;
static size_t node_capacity;
static struct tsm_map node_numbers; /* the newest of each key */
static uint32_t *stacks;            /* host stacks that launches named */
static size_t stack_count;

/* ---- the end ---- */

static void write_counts(const struct module *m)
{
    for (uint32_t line = 0; line < m->line_count; line++) {
        const struct ptx_count *c = &m->counts[line];
        if (c->warps)
            fprintf(file, "count\t%u\t%u\t%s\t%llu\t%llu\t%llu\t%llu\t%llu\n", m->id, line,
                    m->functions[line], (unsigned long long)c->warps,
                    (unsigned long long)c->threads, (unsigned long long)c->lanes,
                    (unsigned long long)c->waits, (unsigned long long)c->wait_steps);
    }
}

static void write_stack(uint32_t stack)
{
    char text[512];

    fprintf(file, "host\t%u", stack);
    for (unsigned k = 0; k < emu_stack_depth(stack); k++) {
        emu_stack_frame(stack, k, text, sizeof(text));
        for (char *c = text; *c; c++)
            *c = *c == '\t' || *c == '\n' ? ' ' : *c;
        fprintf(file, "\t%s", text);
    }
    fputc('\n', file);
}

static void finish(void)
{
    pthread_mutex_lock(&lock);
    if (file && owner == getpid()) {
        for (const struct module *m = modules; m; m = m->next)
            write_counts(m);
        for (size_t k = 0; k < stack_count; k++)
            write_stack(stacks[k]);
        fprintf(file, "end\n");
        if (fclose(file) != 0)
            emu_warn("TS_EMU_PROFILE=%s: %s", emu_settings.profile, strerror(errno));
        file = NULL;
        is_broken = true; /* too late for more */
    }
    pthread_mutex_unlock(&lock);
}

/* ---- the beginning ---- */

static bool open_file(void)
{
    const char *why;
    int fd;

    if (file || is_broken)
        return file && owner == getpid();
    fd = tsm_file_output(emu_settings.profile, &why);
    file = fd < 0 ? NULL : fdopen(fd, "w");
    is_broken = !file;
    if (!file) {
        emu_warn("TS_EMU_PROFILE=%s: %s", emu_settings.profile, why ? why : "out of memory");
        return false;
    }
    owner = getpid();
    start_ns = tsm_monotonic_ns();
    sample_left = emu_settings.profile_every;
    fprintf(file, "tsprofile\t1\t%llu\n", (unsigned long long)emu_settings.profile_every);
    atexit(finish);
    return true;
}

static uint32_t count_lines(const char *text, size_t size)
{
    uint32_t n = 2;

    for (size_t k = 0; k < size; k++)
        n += text[k] == '\n';
    return n;
}

static struct module *module_of(const struct ptx_module *ptx)
{
    struct module *m = modules;
    size_t size;

    while (m && m->ptx != ptx)
        m = m->next;
    if (m)
        return m;
    m = calloc(1, sizeof(*m));
    if (!m)
        return NULL;
    const char *text = ptx_module_text(ptx, &size);
    m->line_count = count_lines(text, size);
    m->counts = calloc(m->line_count, sizeof(*m->counts));
    m->functions = calloc(m->line_count, sizeof(*m->functions));
    if (!m->counts || !m->functions) {
        free(m->counts);
        free(m->functions);
        free(m);
        return NULL;
    }
    m->ptx = ptx;
    m->id = ++module_count;
    m->next = modules;
    modules = m;
    fprintf(file, "module\t%u\t%zu\n", m->id, size);
    fwrite(text, 1, size, file);
    fputc('\n', file);
    return m;
}

void emu_profile_forget(const struct ptx_module *ptx)
{
    pthread_mutex_lock(&lock);
    for (struct module *m = modules; m; m = m->next)
        if (m->ptx == ptx)
            m->ptx = NULL;
    pthread_mutex_unlock(&lock);
}

/* ---- launches ---- */

static uint32_t node_of(uint32_t parent, uint32_t module, const struct ptx_level *level)
{
    bool added;
    uint64_t key = tsm_map_hash((uint64_t)parent << 32 | module) ^ level->line;
    uint64_t *number = tsm_map_insert(&node_numbers, key, &added);

    for (uint32_t k = number ? (uint32_t)*number : 0; k; k = nodes[k - 1].next)
        if (nodes[k - 1].parent == parent && nodes[k - 1].module == module &&
            nodes[k - 1].line == level->line)
            return k;
    if (!number || !TSM_ARRAY_PUSH(nodes, node_count, node_capacity,
                                   (struct node){parent, module, level->line, (uint32_t)*number}))
        return 0;
    fprintf(file, "stack\t%u\t%u\t%u\t%u\t%s\n", node_count, parent, module, level->line,
            level->function);
    return (uint32_t)(*number = node_count);
}

static void sample(void *user, const struct ptx_sample *s)
{
    const struct emu_watch *w = user;
    uint32_t node = 0;

    pthread_mutex_lock(&lock);
    const struct module *m = file ? module_of(w->module) : NULL;
    for (uint32_t k = s->depth; m && k-- > 0;)
        node = node_of(node, m->id, &s->stack[k]);
    if (m)
        fprintf(file, "sample\t%llu\t%u\t%llu\t%u\t%u\t%llu\n",
                (unsigned long long)w->profile_launch, node, (unsigned long long)s->block, s->warp,
                s->lanes, (unsigned long long)(tsm_monotonic_ns() - start_ns));
    pthread_mutex_unlock(&lock);
}

static void count(void *user, const struct ptx_function *function, uint32_t line,
                  const struct ptx_count *c)
{
    const struct emu_watch *w = user;

    pthread_mutex_lock(&lock);
    struct module *m = file ? module_of(w->module) : NULL;
    if (m && line < m->line_count) {
        struct ptx_count *sum = &m->counts[line];
        if (!m->functions[line])
            m->functions[line] = strdup(function->name);
        sum->warps += m->functions[line] ? c->warps : 0;
        sum->threads += c->threads;
        sum->lanes += c->lanes;
        sum->waits += c->waits;
        sum->wait_steps += c->wait_steps;
    }
    pthread_mutex_unlock(&lock);
}

static void note_stack(uint32_t stack)
{
    for (size_t k = 0; k < stack_count; k++)
        if (stacks[k] == stack)
            return;
    if (TSM_ARRAY_RESIZE(stacks, stack_count + 1))
        stacks[stack_count++] = stack;
}

void emu_profile_begin(struct emu_watch *w, const struct ptx_launch *l, CUstream stream)
{
    pthread_mutex_lock(&lock);
    const struct module *m = open_file() ? module_of(l->module) : NULL;
    if (m) {
        w->profile_launch = ++launch_count;
        w->profile_left = sample_left;
        w->ptx.is_profiled = true;
        w->ptx.sample_every = emu_settings.profile_every;
        w->ptx.sample_left = &w->profile_left;
        w->ptx.sample = sample;
        w->ptx.count = count;
        if (w->stack)
            note_stack(w->stack);
        fprintf(file, "launch\t%llu\t%u\t%s\t%u,%u,%u\t%u,%u,%u\t%llu\t%u\t%llu\n",
                (unsigned long long)w->profile_launch, m->id, w->kernel, l->grid[0], l->grid[1],
                l->grid[2], l->block[0], l->block[1], l->block[2], stream->id, w->stack,
                (unsigned long long)(tsm_monotonic_ns() - start_ns));
    }
    pthread_mutex_unlock(&lock);
}

void emu_profile_end(struct emu_watch *w)
{
    pthread_mutex_lock(&lock);
    sample_left = w->profile_left;
    if (file) {
        fprintf(file, "done\t%llu\t%llu\n", (unsigned long long)w->profile_launch,
                (unsigned long long)(tsm_monotonic_ns() - start_ns));
        fflush(file);
    }
    pthread_mutex_unlock(&lock);
}
