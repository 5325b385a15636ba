/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/kernel/cpu_collect.h"

#include "kernel/bpf/cpu_events.skel.h"

#include "analysis/cpu/events.h"
#include "base/bytes.h"
#include "base/clock.h"
#include "base/text.h"
#include "format/kernel_events.h"
#include "tools/edit/trace_extend.h"
#include "tracesmith/error.h"
#include "tracesmith/writer.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define BUFFER_SIZE (8ul << 20)
#define TURN_MS     20
#define CHUNK_SIZE  (1u << 20)

struct tsm_cpu_collect {
    char path[4096];
    struct cpu_events_bpf *programs;
    struct ring_buffer *ring;
    struct sbt_writer *writer;
    struct tsm_cpu_encoder encoder;
    struct tsm_buffer records;
    unsigned long buffer_size;
    uint64_t event_count, thread_ns;
    int stats_fd; /* while it is open the kernel measures programs; -1: it does not */
    pthread_t thread;
    bool has_thread;
    bool stop; /* atomic */
    int error; /* of the thread, which message tells */
    char message[512];
};

/* The last line that libbpf complained with. */
static char complaint[256];

static int hear(enum libbpf_print_level level, const char *format, va_list args)
{
    if (level == LIBBPF_WARN) {
        tsm_vformat(complaint, sizeof(complaint), format, args);
        complaint[strcspn(complaint, "\n")] = 0;
    }
    return 0;
}

/* ---- what comes ---- */

static int write_chunk(struct tsm_cpu_collect *c)
{
    int error = c->records.failed ? tsm_fail(TSM_E_MEMORY, "out of memory for CPU events") : 0;

    if (!error && c->records.size)
        error = sbt_writer_kernel_events(c->writer, c->records.data, c->records.size);
    tsm_buffer_clear(&c->records);
    return error;
}

static int take(void *user, void *data, size_t size)
{
    struct tsm_cpu_collect *c = user;
    uint8_t copy[SBT_KERNEL_RECORD_SIZE + GRTRACE_CPU_NAME_SIZE];

    if (size != sizeof(copy))
        return 0;
    memcpy(copy, data, size);
    tsm_cpu_encode_lost(&c->encoder, tsm_get_u16(copy + 4), tsm_get_u32(copy + 32));
    tsm_cpu_encode_record(&c->encoder, copy, size);
    c->event_count++;
    if (c->records.size >= CHUNK_SIZE)
        c->error = write_chunk(c);
    return c->error;
}

static void *collect(void *user)
{
    struct tsm_cpu_collect *c = user;
    const struct timespec pause = {.tv_nsec = TURN_MS * 1000000};

    while (!c->error && !__atomic_load_n(&c->stop, __ATOMIC_ACQUIRE)) {
        ring_buffer__consume(c->ring);
        nanosleep(&pause, NULL);
    }
    if (c->error)
        tsm_format(c->message, sizeof(c->message), "%s", tsm_error_message());
    c->thread_ns = tsm_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    return NULL;
}

/* ---- begin ---- */

static int load(struct tsm_cpu_collect *c, const struct tsm_cpu_wanted *wanted)
{
    int failed;

    libbpf_set_print(hear);
    complaint[0] = 0;
    c->buffer_size = wanted->buffer_size ? wanted->buffer_size : BUFFER_SIZE;
    c->programs = cpu_events_bpf__open();
    if (!c->programs)
        return tsm_fail(TSM_E_UNSUPPORTED, "eBPF: %s", strerror(errno));
    c->programs->rodata->filter = wanted->filter;
    bpf_map__set_max_entries(c->programs->maps.records, (uint32_t)c->buffer_size);
    c->stats_fd = bpf_enable_stats(BPF_STATS_RUN_TIME);
    failed = cpu_events_bpf__load(c->programs);
    if (failed)
        return tsm_fail(TSM_E_UNSUPPORTED,
                        "the kernel does not take eBPF programs: %s%s%s; that needs root, and a "
                        "kernel with CONFIG_DEBUG_INFO_BTF",
                        strerror(-failed), complaint[0] ? ": " : "", complaint);
    c->ring = ring_buffer__new(bpf_map__fd(c->programs->maps.records), take, c, NULL);
    return c->ring ? 0 : tsm_fail(TSM_E_IO, "eBPF: %s", strerror(errno));
}

/* Signals are for the thread that waits for the program. */
static int start_thread(struct tsm_cpu_collect *c)
{
    sigset_t all, old;
    int failed;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    failed = pthread_create(&c->thread, NULL, collect, c);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    c->has_thread = !failed;
    return failed ? tsm_fail(TSM_E_MEMORY, "thread: %s", strerror(failed)) : 0;
}

static void destroy(struct tsm_cpu_collect *c)
{
    if (c->stats_fd > 0)
        close(c->stats_fd);
    ring_buffer__free(c->ring);
    cpu_events_bpf__destroy(c->programs);
    sbt_writer_destroy(c->writer);
    tsm_buffer_finish(&c->records);
    free(c);
}

static bool leaves_out(const struct cpu_events_filter *f)
{
    return f->cgroup || f->pid || f->tid || f->device;
}

int tsm_cpu_collect_begin(struct tsm_cpu_collect **out, const struct tsm_cpu_wanted *wanted,
                          const char *path)
{
    struct tsm_cpu_collect *c = calloc(1, sizeof(*c));
    int error = c ? load(c, wanted) : tsm_fail(TSM_E_MEMORY, "out of memory");

    if (!c)
        return error;
    tsm_format(c->path, sizeof(c->path), "%s", path);
    c->encoder.out = &c->records;
    tsm_cpu_encode_begin(&c->encoder, tsm_monotonic_ns(),
                         GRTRACE_FEATURE_BPF |
                             (leaves_out(&wanted->filter) ? GRTRACE_FEATURE_FILTERED : 0),
                         "tsrecord --cpu");
    if (!error)
        error = tsm_trace_begin(&c->writer, path);
    if (!error)
        error = sbt_writer_metadata(c->writer, "cpu.source", "eBPF");
    if (!error) {
        int failed = cpu_events_bpf__attach(c->programs);
        if (failed)
            error =
                tsm_fail(TSM_E_UNSUPPORTED, "eBPF: attaching: %s %s", strerror(-failed), complaint);
    }
    if (!error)
        error = start_thread(c);
    if (error) {
        if (c->writer)
            unlink(path);
        destroy(c);
        return error;
    }
    *out = c;
    return 0;
}

/* ---- end ---- */

static void sum_counts(const struct tsm_cpu_collect *c, struct cpu_events_count *sum)
{
    int cpus = libbpf_num_possible_cpus(), zero = 0;
    struct cpu_events_count *all = cpus > 0 ? calloc((size_t)cpus, sizeof(*all)) : NULL;

    *sum = (struct cpu_events_count){0};
    if (all && bpf_map_lookup_elem(bpf_map__fd(c->programs->maps.counts), &zero, all) == 0) {
        for (int i = 0; i < cpus; i++) {
            sum->lost += all[i].lost;
            sum->filtered += all[i].filtered;
        }
    }
    free(all);
}

/* Lost after a CPU's last event. */
static void note_pending(struct tsm_cpu_collect *c)
{
    int cpus = libbpf_num_possible_cpus(), zero = 0;
    struct cpu_events_count *all = cpus > 0 ? calloc((size_t)cpus, sizeof(*all)) : NULL;

    if (all && bpf_map_lookup_elem(bpf_map__fd(c->programs->maps.counts), &zero, all) == 0) {
        for (int i = 0; i < cpus; i++)
            tsm_cpu_encode_lost(&c->encoder, (uint16_t)i, all[i].pending);
    }
    free(all);
}

/* Returns the time that the programs in the kernel took, on all CPUs. */
static uint64_t kernel_ns(const struct tsm_cpu_collect *c)
{
    struct bpf_program *program;
    uint64_t sum = 0;

    bpf_object__for_each_program(program, c->programs->obj)
    {
        struct bpf_prog_info info = {0};
        uint32_t size = sizeof(info);

        if (bpf_obj_get_info_by_fd(bpf_program__fd(program), &info, &size) == 0)
            sum += info.run_time_ns;
    }
    return sum;
}

static int note_cost(struct tsm_cpu_collect *c)
{
    struct cpu_events_count sum;
    struct rusage use;
    char text[256];

    sum_counts(c, &sum);
    getrusage(RUSAGE_SELF, &use);
    tsm_format(text, sizeof(text),
               "%" PRIu64 " events, %" PRIu64 " lost, %" PRIu64 " left out in the kernel; "
               "%.1f ms of CPU in the kernel, %.1f ms to collect them, %lu KiB of buffer, %ld KiB "
               "of memory",
               c->event_count, (uint64_t)sum.lost, (uint64_t)sum.filtered,
               (double)kernel_ns(c) / 1e6, (double)c->thread_ns / 1e6, c->buffer_size >> 10,
               use.ru_maxrss);
    return sbt_writer_metadata(c->writer, "cpu.collector", text);
}

int tsm_cpu_collect_end(struct tsm_cpu_collect *c)
{
    const struct sbt_totals none = {0};
    int error = 0;

    if (!c)
        return 0;
    cpu_events_bpf__detach(c->programs);
    __atomic_store_n(&c->stop, true, __ATOMIC_RELEASE);
    pthread_join(c->thread, NULL);
    if (c->error) {
        error = tsm_fail(c->error, "%s", c->message);
    } else {
        ring_buffer__consume(c->ring);
        error = c->error;
    }
    note_pending(c);
    tsm_cpu_encode_end(&c->encoder, tsm_monotonic_ns());
    if (!error)
        error = write_chunk(c);
    if (!error)
        error = note_cost(c);
    if (!error)
        error = sbt_writer_finish(c->writer, &none, SBT_END_FINISHED);
    destroy(c);
    return error;
}
