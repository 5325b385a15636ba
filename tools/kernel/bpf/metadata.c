/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel/include/grtrace_bpf.h"

#include "tools/kernel/bpf/metadata.h"

#include "base/clock.h"
#include "base/text.h"
#include "tools/kernel/bpf/config.h"
#include "tools/kernel/bpf/pins.h"
#include "tracesmith/error.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

static int tell(const struct grtrace_bpf_told *what)
{
    struct grtrace_bpf_told told = *what;
    LIBBPF_OPTS(bpf_test_run_opts, options, .ctx_in = &told, .ctx_size_in = sizeof(told));
    int fd = tsm_bpf_pin_open(TSM_BPF_METADATA_PIN, false);
    int error = fd < 0 ? -errno : bpf_prog_test_run_opts(fd, &options);

    if (fd >= 0)
        close(fd);
    if (error)
        return tsm_fail(TSM_E_IO, "eBPF: a record cannot be written: %s", strerror(-error));
    return 0;
}

/* ---- what a session begins and ends with ---- */

int tsm_bpf_metadata_text(enum grtrace_metadata_kind kind, const char *text)
{
    struct grtrace_bpf_told told = {.type = GRTRACE_METADATA, .body_size = sizeof(told.body)};
    struct grtrace_metadata *body = (struct grtrace_metadata *)told.body;

    _Static_assert(sizeof(*body) == sizeof(told.body), "bodies have one size");
    body->kind = kind;
    tsm_format(body->text, sizeof(body->text), "%s", text);
    return tell(&told);
}

static int tell_setting(const char *text)
{
    return tsm_bpf_metadata_text(GRTRACE_METADATA_CONFIG, text);
}

static int tell_stream_info(const struct grtrace_config *config, uint64_t start_ns)
{
    struct grtrace_bpf_told told = {.type = GRTRACE_STREAM_INFO, .body_size = sizeof(told.body)};
    struct grtrace_stream_info *info = (struct grtrace_stream_info *)told.body;

    _Static_assert(sizeof(*info) == sizeof(told.body), "bodies have one size");
    info->magic = GRTRACE_MAGIC;
    info->major = GRTRACE_VERSION_MAJOR;
    info->minor = GRTRACE_VERSION_MINOR;
    if (getrandom(info->session, sizeof(info->session), 0) != (ssize_t)sizeof(info->session))
        return tsm_fail(TSM_E_IO, "getrandom: %s", strerror(errno));
    info->features =
        GRTRACE_FEATURE_BPF | (grtrace_config_leaves_out(config) ? GRTRACE_FEATURE_FILTERED : 0);
    info->start_monotonic_ns = start_ns;
    info->start_realtime_ns = tsm_clock_ns(CLOCK_REALTIME);
    info->clock = GRTRACE_CLOCK_MONOTONIC;
    info->cpu_count = (uint32_t)libbpf_num_possible_cpus();
    return tell(&told);
}

int tsm_bpf_metadata_begin(const struct grtrace_config *config, uint64_t start_ns)
{
    struct utsname name;
    int error = tell_stream_info(config, start_ns);

    uname(&name);
    if (!error)
        error = tsm_bpf_metadata_text(GRTRACE_METADATA_KERNEL, name.release);
    if (!error)
        error = tsm_bpf_metadata_text(GRTRACE_METADATA_MODULE, GRTRACE_BPF_VERSION);
    return error ? error : tsm_bpf_config_changes(config, tell_setting);
}

/* ---- what is injected ---- */

static bool take(struct grtrace_bpf_told *told, const char *word, const char *value)
{
    const struct {
        const char *name;
        __u64 *to, min, max;
    } keys[] = {
        {"type", &told->type, GRTRACE_COMMIT, GRTRACE_TYPE_END - 1},
        {"ring", &told->ring, 0, 65535},
        {"engine", &told->engine, 0, 255},
        {"pid", &told->pid, 0, UINT32_MAX},
        {"ctx", &told->ctx, 0, UINT64_MAX},
        {"seqno", &told->seqno, 0, UINT64_MAX},
        {"value", &told->value, 0, UINT64_MAX},
        {"count", &told->count, 0, 1000000},
    };
    char *end;

    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        if (strcmp(keys[i].name, word) != 0)
            continue;
        errno = 0;
        *keys[i].to = strtoull(value, &end, 0);
        return *value >= '0' && *value <= '9' && !*end && !errno && *keys[i].to >= keys[i].min &&
               *keys[i].to <= keys[i].max;
    }
    return false;
}

int tsm_bpf_metadata_emit(const char *text)
{
    struct grtrace_bpf_told told = {.flags = GRTRACE_FLAG_INJECTED, .count = 1};
    char *copy = strdup(text), *rest = copy, *word, *value;
    int error = copy ? 0 : tsm_fail(TSM_E_MEMORY, "out of memory");

    while (!error && (word = strsep(&rest, " \t\n")) != NULL) {
        if (!*word)
            continue;
        value = word + strcspn(word, "=");
        if (*value)
            *value++ = 0;
        if (!take(&told, word, value))
            error = tsm_fail(TSM_E_ARGUMENT, "eBPF refuses to emit '%s=%s'", word, value);
    }
    free(copy);
    if (!error && !told.type)
        error = tsm_fail(TSM_E_ARGUMENT, "eBPF refuses to emit without a type");
    return error ? error : tell(&told);
}
