/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/kernel/bpf/text.h"

#include "base/clock.h"
#include "tools/kernel/bpf/config.h"
#include "tools/kernel/bpf/load.h"
#include "tools/kernel/bpf/pins.h"
#include "tools/kernel/bpf/probes.h"
#include "tracesmith/error.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const type_names[GRTRACE_TYPE_END] = {GRTRACE_TYPE_NAMES};
static const char *const drop_names[GRTRACE_DROP_COUNT] = {GRTRACE_DROP_NAMES};

struct counts {
    int cpu_count;
    struct grtrace_bpf_cpu *cpus; /* zero where there is no session */
    struct grtrace_bpf_state state;
};

static bool counts_load(struct counts *c)
{
    const struct grtrace_bpf_state *state = tsm_bpf_state();
    int zero = 0, fd = tsm_bpf_pin_open("cpus", false);

    memset(c, 0, sizeof(*c));
    c->cpu_count = libbpf_num_possible_cpus();
    c->cpus = c->cpu_count > 0 ? calloc((size_t)c->cpu_count, sizeof(*c->cpus)) : NULL;
    if (state)
        c->state = *state;
    if (fd >= 0 && c->cpus && bpf_map_lookup_elem(fd, &zero, c->cpus))
        memset(c->cpus, 0, (size_t)c->cpu_count * sizeof(*c->cpus));
    if (fd >= 0)
        close(fd);
    return c->cpus;
}

static uint64_t sum(const struct counts *c, size_t offset)
{
    uint64_t total = 0;

    for (int i = 0; i < c->cpu_count; i++)
        total += *(const uint64_t *)((const char *)&c->cpus[i] + offset);
    return total;
}

static uint64_t count_of(const struct counts *c, size_t type)
{
    return sum(c, offsetof(struct grtrace_bpf_cpu, by_type) + type * sizeof(uint64_t));
}

static uint64_t dropped_of(const struct counts *c, size_t drop)
{
    return sum(c, offsetof(struct grtrace_bpf_cpu, dropped) + drop * sizeof(uint64_t));
}

static uint64_t written(const struct counts *c)
{
    uint64_t total = 0;

    for (size_t i = 1; i < GRTRACE_TYPE_END; i++)
        total += count_of(c, i);
    return total;
}

/* ---- stats ---- */

static int compare_rings(const void *a, const void *b)
{
    const struct grtrace_bpf_ring *x = a, *y = b;

    if (x->id != y->id)
        return x->id < y->id ? -1 : 1;
    return x->unloads > y->unloads ? -1 : x->unloads < y->unloads;
}

/* A ring whose driver went and came again has several objects: the last one counts. */
static void show_rings(FILE *out, uint64_t unloads)
{
    struct grtrace_bpf_ring rings[256];
    struct grtrace_bpf_ring_key key, next, *at = NULL;
    size_t count = 0;
    int fd = tsm_bpf_pin_open("rings", false);

    while (fd >= 0 && count < 256 && bpf_map_get_next_key(fd, at, &next) == 0) {
        key = next;
        at = &key;
        count += bpf_map_lookup_elem(fd, &key, &rings[count]) == 0;
    }
    if (fd >= 0)
        close(fd);
    qsort(rings, count, sizeof(rings[0]), compare_rings);
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || rings[i].id != rings[i - 1].id)
            fprintf(out, "ring %u device %u engine %u %.32s%s\n", rings[i].id, rings[i].device,
                    rings[i].engine, rings[i].name, rings[i].unloads == unloads ? "" : " gone");
    }
}

/* Prints each probe whose event this kernel has, attached or not, fitting or not. */
static void show_probes(FILE *out)
{
    for (size_t i = 0; i < tsm_bpf_probe_count; i++) {
        const struct tsm_bpf_probe *probe = &tsm_bpf_probes[i];
        const char *attached = tsm_bpf_pin_exists(probe->program, true) ? "attached" : "detached";

        if (probe->state == TSM_PROBE_ABSENT)
            continue;
        if (!probe->prototype) {
            fprintf(out, "kprobe %s %s", probe->point, attached);
            fprintf(out, probe->found[0] ? " (%s)\n" : "\n", probe->found);
            continue;
        }
        fprintf(out, "probe %s %s %s %s", probe->point, probe->owner,
                tsm_bpf_probe_word(probe->state), attached);
        fprintf(out, probe->found[0] ? " (%s)\n" : "\n", probe->found);
    }
}

/* Surveys once; refusals found by this process are kept. */
static int survey_once(void)
{
    for (size_t i = 0; i < tsm_bpf_probe_count; i++) {
        if (tsm_bpf_probes[i].state != TSM_PROBE_ABSENT)
            return 0;
    }
    return tsm_bpf_probes_survey();
}

static int show_stats(FILE *out, const struct counts *c)
{
    uint64_t missed = c->state.running ? tsm_bpf_missed() : c->state.missed, lost = missed;
    int error = survey_once();

    for (size_t i = GRTRACE_LOST_FIRST; i < GRTRACE_DROP_COUNT; i++)
        lost += dropped_of(c, i);
    fprintf(out, "version %s\nrunning %d\n", GRTRACE_BPF_VERSION, c->state.running != 0);
    fprintf(out, "start_ns %" PRIu64 "\nnow_ns %" PRIu64 "\n", (uint64_t)c->state.start_ns,
            tsm_monotonic_ns());
    fprintf(out, "written %" PRIu64 "\ngseq %" PRIu64 "\nlost %" PRIu64 "\n", written(c),
            (uint64_t)c->state.gseq, lost);
    for (size_t i = 0; i < GRTRACE_DROP_COUNT; i++)
        fprintf(out, "%s %" PRIu64 "\n", drop_names[i], dropped_of(c, i));
    fprintf(out, "missed %" PRIu64 "\nverified_insns %u\n", missed, tsm_bpf_verified());
    show_rings(out, c->state.unloads);
    show_probes(out);
    return error;
}

/* ---- other files ---- */

static int show_types(FILE *out, const struct counts *c)
{
    for (size_t i = 1; i < GRTRACE_TYPE_END; i++)
        fprintf(out, "%s %" PRIu64 "\n", type_names[i], count_of(c, i));
    return 0;
}

static void show_hist(FILE *out, const struct counts *c, const char *name, size_t offset)
{
    fprintf(out, "%s sum %" PRIu64 "\n", name, sum(c, offset + offsetof(struct grtrace_hist, sum)));
    for (size_t i = 0; i < GRTRACE_HIST_BUCKETS; i++) {
        uint64_t count = sum(c, offset + i * sizeof(uint64_t));

        if (count)
            fprintf(out, "%s %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", name,
                    i ? UINT64_C(1) << (i - 1) : 0,
                    i == GRTRACE_HIST_BUCKETS - 1 ? UINT64_MAX : UINT64_C(1) << i, count);
    }
}

static int show_latency(FILE *out, const struct counts *c)
{
    show_hist(out, c, "queue_ns", offsetof(struct grtrace_bpf_cpu, queue_ns));
    show_hist(out, c, "exec_ns", offsetof(struct grtrace_bpf_cpu, exec_ns));
    show_hist(out, c, "write_ns", offsetof(struct grtrace_bpf_cpu, write_ns));
    return 0;
}

#define SUM(c, member) sum(c, offsetof(struct grtrace_bpf_cpu, member))

static int show_results(FILE *out, const struct counts *c)
{
    fprintf(out, "ok %" PRIu64 "\nfailed %" PRIu64 "\nuntracked %" PRIu64 "\n", SUM(c, jobs_ok),
            SUM(c, jobs_failed), SUM(c, jobs_untracked));
    for (size_t i = 0; i <= GRTRACE_ERRNO_MAX; i++) {
        uint64_t count =
            sum(c, offsetof(struct grtrace_bpf_cpu, jobs_by_errno) + i * sizeof(uint64_t));

        if (count)
            fprintf(out, "errno %zu %" PRIu64 "\n", i, count);
    }
    return 0;
}

static int show_sizes(FILE *out, const struct counts *c)
{
    uint64_t with_body = SUM(c, long_count);

    fprintf(out, "%u %" PRIu64 "\nlarger %" PRIu64 " bytes %" PRIu64 "\n", GRTRACE_RECORD_SIZE,
            written(c) - with_body, with_body, SUM(c, long_bytes));
    return 0;
}

static int show_cpus(FILE *out, const struct counts *c)
{
    for (int i = 0; i < c->cpu_count; i++) {
        const struct counts one = {.cpu_count = 1, .cpus = &c->cpus[i]};

        fprintf(out, "cpu %d written %" PRIu64, i, written(&one));
        for (size_t k = 0; k < GRTRACE_DROP_COUNT; k++)
            fprintf(out, " %s %" PRIu64, drop_names[k], dropped_of(&one, k));
        fprintf(out, "\n");
    }
    return 0;
}

/* Rates since the session began. */
static int show_seconds(FILE *out, const struct counts *c)
{
    uint64_t ms = (tsm_monotonic_ns() - (uint64_t)c->state.start_ns) / 1000000, dropped = 0;

    for (size_t i = 0; i < GRTRACE_DROP_COUNT; i++)
        dropped += dropped_of(c, i);
    ms = ms ? ms : 1;
    fprintf(out, "ms %" PRIu64 "\nwritten_per_sec %" PRIu64 "\ndropped_per_sec %" PRIu64 "\n", ms,
            written(c) * 1000 / ms, dropped * 1000 / ms);
    return 0;
}

static int show_cseqs(FILE *out, const struct counts *c)
{
    for (int i = 0; i < c->cpu_count; i++)
        fprintf(out, "cpu %d cseq %u\n", i, (uint32_t)c->cpus[i].cseq);
    return 0;
}

static int show_config(FILE *out, const struct counts *c)
{
    struct grtrace_config config;
    int fd = tsm_bpf_config_open(&config);

    if (fd < 0)
        return fd;
    close(fd);
    tsm_bpf_config_show(out, &config);
    return 0;
}

int tsm_bpf_read(struct tsm_buffer *out, const char *file)
{
    static const struct {
        const char *name;
        int (*show)(FILE *out, const struct counts *counts);
    } files[] = {
        {"stats", show_stats},          {"events_by_type", show_types},
        {"latency_hist", show_latency}, {"result_hist", show_results},
        {"size_hist", show_sizes},      {"sec_stats", show_seconds},
        {"pc_stats", show_cpus},        {"pc_cseq", show_cseqs},
        {"config", show_config},
    };
    struct counts counts;
    char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);
    int error = tsm_fail(TSM_E_NOT_FOUND, "eBPF has no file %s", file);

    if (!stream || !counts_load(&counts))
        error = tsm_fail(TSM_E_MEMORY, "out of memory");
    for (size_t i = 0; stream && i < sizeof(files) / sizeof(files[0]); i++) {
        if (strcmp(files[i].name, file) == 0)
            error = files[i].show(stream, &counts);
    }
    if (stream)
        fclose(stream);
    if (!error) {
        tsm_buffer_add(out, text, size + 1);
        out->size -= !out->failed;
    }
    free(text);
    free(counts.cpus);
    return out->failed ? tsm_fail(TSM_E_MEMORY, "out of memory") : error;
}
