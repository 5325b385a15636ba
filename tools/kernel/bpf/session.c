/* SPDX-License-Identifier: Apache-2.0
 *
 * Sessions of the eBPF backend: loading, attaching, collecting.
 */
#include "kernel/include/grtrace_bpf.h"

#include "base/clock.h"
#include "format/kernel_events.h"
#include "tools/kernel/backend.h"
#include "tools/kernel/bpf/config.h"
#include "tools/kernel/bpf/load.h"
#include "tools/kernel/bpf/metadata.h"
#include "tools/kernel/bpf/pins.h"
#include "tools/kernel/bpf/probes.h"
#include "tools/kernel/bpf/text.h"
#include "tools/kernel/collect.h"
#include "tracesmith/error.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TURNS_A_LOOK 20 /* of a collector, between two looks for drivers that came */

/* ---- control ---- */

static void tell_probe(const char *point)
{
    tsm_bpf_metadata_text(GRTRACE_METADATA_PROBE, point);
}

static bool running(void)
{
    const struct grtrace_bpf_state *state = tsm_bpf_state();

    return state && state->running != GRTRACE_BPF_STOPPED;
}

/* The module's buffers of all CPUs that are there together (a machine may name many more that could
 * come); a power of two, as the kernel wants it. */
static uint32_t ring_size(const struct grtrace_config *config)
{
    uint64_t size =
        config->subbuf_size * config->subbuf_count * (uint64_t)sysconf(_SC_NPROCESSORS_ONLN);
    uint64_t rounded = 4096;

    while (rounded < size && rounded < 1u << 30)
        rounded *= 2;
    return (uint32_t)rounded;
}

static int begin(const struct grtrace_config *config, struct grtrace_bpf *programs)
{
    struct grtrace_bpf_state *state;
    int error = tsm_bpf_pin_maps(programs);

    if (error)
        return error;
    state = tsm_bpf_state();
    if (!state)
        return tsm_fail(TSM_E_IO, "eBPF: the session's state cannot be mapped");
    state->start_ns = tsm_monotonic_ns();
    state->leaves_out = (uint64_t)grtrace_config_leaves_out(config);
    state->running = GRTRACE_BPF_RUNNING;
    return tsm_bpf_metadata_begin(config, state->start_ns);
}

/* Fails unless at least one probe is attached. */
static int check_attached(void)
{
    const char *why = "this kernel has none of those that are looked for";

    for (size_t i = 0; i < tsm_bpf_probe_count; i++) {
        if (tsm_bpf_pin_exists(tsm_bpf_probes[i].program, true))
            return 0;
        if (tsm_bpf_probes[i].state == TSM_PROBE_REFUSED)
            why = tsm_bpf_probes[i].found;
    }
    return tsm_fail(TSM_E_UNSUPPORTED, "eBPF: no tracepoint could be attached: %s", why);
}

static int stop(void);

/* A recorder that was killed has left its session open. */
static bool is_abandoned(void)
{
    const struct grtrace_bpf_state *state = tsm_bpf_state();

    return state->owner && kill((pid_t)state->owner, 0) < 0 && errno == ESRCH;
}

static int start(void)
{
    struct grtrace_config config;
    struct grtrace_bpf *programs, *teller = NULL;
    int error, fd = tsm_bpf_config_open(&config);

    if (fd < 0)
        return fd;
    close(fd);
    if (running() && is_abandoned())
        stop();
    if (running())
        return tsm_fail(TSM_E_STATE, "a session of eBPF runs already; 'grtrace stop --backend=bpf' "
                                     "ends it");
    tsm_bpf_pins_clear();
    error = tsm_bpf_probes_survey();
    if (error)
        return error;
    programs = tsm_bpf_load(config.level, NULL, true, ring_size(&config));
    if (!programs)
        teller = tsm_bpf_load(0, NULL, true, ring_size(&config));
    if (!programs && !teller)
        return tsm_fail(TSM_E_UNSUPPORTED, "the kernel refuses eBPF programs: %s",
                        tsm_bpf_refusal());
    error = begin(&config, programs ? programs : teller);
    if (!error)
        tsm_bpf_attach(programs, config.level, tell_probe);
    if (!error && config.level)
        error = check_attached();
    if (error)
        tsm_bpf_pins_clear();
    tsm_bpf_unload(programs);
    tsm_bpf_unload(teller);
    return error;
}

static int stop(void)
{
    struct grtrace_bpf_state *state = tsm_bpf_state();

    if (!running())
        return 0;
    state->running = GRTRACE_BPF_ENDING;
    state->missed = tsm_bpf_missed();
    for (size_t i = 0; i < tsm_bpf_probe_count; i++)
        tsm_bpf_pin_remove(tsm_bpf_probes[i].program, true);
    tsm_bpf_metadata_text(GRTRACE_METADATA_STOP, "");
    state->running = GRTRACE_BPF_STOPPED;
    return 0;
}

static int start_owned(void)
{
    struct grtrace_bpf_state *state;
    int error = start();

    state = error ? NULL : tsm_bpf_state();
    if (state)
        state->owner = (uint64_t)getpid();
    return error;
}

static int reset_counters(void)
{
    int zero = 0, cpus = libbpf_num_possible_cpus(), fd = tsm_bpf_pin_open("cpus", false);
    struct grtrace_bpf_cpu *all = calloc((size_t)cpus, sizeof(*all));
    int error = 0;

    if (fd >= 0 && all && bpf_map_lookup_elem(fd, &zero, all) == 0) {
        for (int i = 0; i < cpus; i++) {
            uint64_t cseq = all[i].cseq; /* the session's, not a statistic */

            memset(&all[i], 0, sizeof(all[i]));
            all[i].cseq = cseq;
        }
        if (bpf_map_update_elem(fd, &zero, all, BPF_ANY))
            error = tsm_fail(TSM_E_IO, "eBPF: counters: %s", strerror(errno));
    }
    free(all);
    if (fd >= 0)
        close(fd);
    return error;
}

static int write_config(const char *text)
{
    struct grtrace_config config;
    int zero = 0, error, fd = tsm_bpf_config_open(&config);
    struct grtrace_bpf_state *state = tsm_bpf_state();
    bool reset;

    if (fd < 0)
        return fd;
    error = tsm_bpf_config_parse(&config, text, running(), &reset);
    if (!error && bpf_map_update_elem(fd, &zero, &config, BPF_ANY))
        error = tsm_fail(TSM_E_IO, "eBPF: settings: %s", strerror(errno));
    close(fd);
    if (!error && state)
        state->leaves_out = (uint64_t)grtrace_config_leaves_out(&config);
    return error || !reset ? error : reset_counters();
}

static int write_file(const char *file, const char *text)
{
    if (strcmp(file, "config") == 0)
        return write_config(text);
    if (strcmp(file, "control") == 0 && strcmp(text, "start") == 0)
        return start();
    if (strcmp(file, "control") == 0 && strcmp(text, "stop") == 0)
        return stop();
    if (strcmp(file, "emit") == 0)
        return tsm_bpf_metadata_emit(text);
    return tsm_fail(TSM_E_ARGUMENT, "eBPF refuses '%s' for %s", text, file);
}

static int check(void)
{
    tsm_bpf_listen();
    return tsm_bpf_check();
}

/* ---- collecting ---- */

static int on_record(void *user, void *data, size_t size)
{
    size_t known = sbt_kernel_record_size(data, size);

    return known ? tsm_collect_add(user, data, known) : 0;
}

static int fill(struct tsm_collect *collect)
{
    int got = ring_buffer__consume(collect->user);

    return got >= 0 ? 0 : tsm_fail(TSM_E_IO, "eBPF: the records: %s", strerror(-got));
}

static void close_ring(struct tsm_collect *collect)
{
    ring_buffer__free(collect->user);
}

static int collect_begin(struct tsm_collect *collect)
{
    int fd = tsm_bpf_pin_open("records", false);

    memset(collect, 0, sizeof(*collect));
    collect->user = fd < 0 ? NULL : ring_buffer__new(fd, on_record, collect, NULL);
    if (fd >= 0)
        close(fd);
    if (!collect->user)
        return tsm_fail(TSM_E_NOT_FOUND, "eBPF has no records: %s", strerror(errno));
    collect->fill = fill;
    collect->close = close_ring;
    return 0;
}

static unsigned loaded_modules(void)
{
    unsigned bits = 0;

    for (unsigned i = 0; tsm_bpf_modules[i]; i++)
        bits |= (unsigned)tsm_bpf_module_loaded(tsm_bpf_modules[i]) << i;
    return bits;
}

/* Drivers may come while a session runs. Those with tracepoints cannot go: an attachment holds
 * them. */
static int attend(void)
{
    static unsigned turns, seen;
    struct grtrace_bpf *programs;
    struct grtrace_config config;
    unsigned now;
    int fd;

    if (turns++ % TURNS_A_LOOK)
        return 0;
    now = loaded_modules();
    if (turns > 1 && now != seen && running() && (fd = tsm_bpf_config_open(&config)) >= 0) {
        close(fd);
        if (tsm_bpf_probes_survey() == 0) {
            programs = tsm_bpf_load(config.level, NULL, false, 0);
            tsm_bpf_attach(programs, config.level, tell_probe);
            tsm_bpf_unload(programs);
        }
    }
    seen = now;
    return 0;
}

const struct tsm_kernel_backend tsm_kernel_bpf = {
    .name = "bpf",
    .check = check,
    .write = write_file,
    .read = tsm_bpf_read,
    .start = start_owned,
    .collect_begin = collect_begin,
    .attend = attend,
};
