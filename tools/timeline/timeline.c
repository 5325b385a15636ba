/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/timeline/timeline.h"

#include "analysis/cpu/ftrace_dat.h"
#include "analysis/cpu/ftrace_text.h"
#include "analysis/cpu/perf_data.h"
#include "base/bytes.h"
#include "base/clock.h"
#include "base/text.h"
#include "format/kernel_events.h"
#include "tools/edit/trace_extend.h"
#include "tools/kernel/cgroup.h"
#include "tools/kernel/report.h"
#include "tools/trace_open.h"
#include "tracesmith/error.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define CHUNK_SIZE (1u << 20)

/* ---- files of CPU events ---- */

static int parse(struct tsm_cpu_events *events, const uint8_t *data, size_t size)
{
    if (tsm_ftrace_dat_is(data, size))
        return tsm_ftrace_dat(events, data, size);
    if (tsm_perf_data_is(data, size))
        return tsm_perf_data(events, data, size);
    return tsm_ftrace_text(events, data, size);
}

/* Puts the file in front of the last error message. Returns `error`. */
static int name_file(int error, const char *path)
{
    char message[512];

    tsm_format(message, sizeof(message), "%s", tsm_error_message());
    return tsm_fail(error, "%s: %s", path, message);
}

static int read_file(struct tsm_cpu_events *events, const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC), error = 0;
    struct stat status;
    void *data;

    if (fd < 0 || fstat(fd, &status) != 0)
        error = tsm_fail(TSM_E_IO, "%s: %s", path, strerror(errno));
    else if (!S_ISREG(status.st_mode))
        error = tsm_fail(TSM_E_ARGUMENT, "%s: not a regular file", path);
    else if (status.st_size == 0)
        error = tsm_fail(TSM_E_FORMAT, "%s: the file is empty", path);
    if (!error) {
        data = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (data == MAP_FAILED) {
            error = tsm_fail(TSM_E_IO, "%s: %s", path, strerror(errno));
        } else {
            error = parse(events, data, (size_t)status.st_size);
            if (error)
                error = name_file(error, path);
            munmap(data, (size_t)status.st_size);
        }
    }
    if (fd >= 0)
        close(fd);
    return error;
}

/* ---- clocks ---- */

/* CLOCK_REALTIME is set now and then, and a trace is moved to other machines: both clocks must
 * agree about when this one booted. */
#define BOOT_TOLERANCE_NS 10000000000ll

static bool is_this_boot(const struct sbt_session *session)
{
    int64_t now = (int64_t)(tsm_clock_ns(CLOCK_REALTIME) - tsm_monotonic_ns());
    int64_t then = (int64_t)(session->start_realtime_ns - session->start_monotonic_ns);

    return llabs(now - then) < BOOT_TOLERANCE_NS;
}

static int align(struct tsm_timeline *m, enum tsm_clock_way way, int64_t offset_ns)
{
    int64_t boot_ns = (int64_t)(tsm_clock_ns(CLOCK_BOOTTIME) - tsm_monotonic_ns());
    int error;

    if (way == TSM_CLOCK_AUTO && !m->events.marks.size &&
        strncmp(m->events.clock, "boot", strlen("boot")) == 0 &&
        !is_this_boot(sbt_reader_session(m->reader)))
        return tsm_fail(TSM_E_UNSUPPORTED,
                        "%s: its clock is 'boot', and the trace is not of this machine since it "
                        "booted: say with --offset what is to be added to get CLOCK_MONOTONIC",
                        m->cpu_path);
    error = tsm_cpu_events_align(&m->events, way, offset_ns, boot_ns);
    return error ? name_file(error, m->cpu_path) : 0;
}

/* ---- loading ---- */

static int read_events(struct tsm_timeline *m, enum tsm_clock_way way, int64_t offset_ns)
{
    int error;

    if (!m->cpu_path)
        return tsm_cpu_events_take(&m->events, &m->jobs);
    error = read_file(&m->events, m->cpu_path);
    return error ? error : align(m, way, offset_ns);
}

/* Only our own collector knows them. */
static int check_cgroup(const struct tsm_timeline *m)
{
    if (m->filter.cgroup_id && !m->time.cgroups.count)
        return tsm_fail(TSM_E_UNSUPPORTED,
                        "%s: its events do not tell cgroups; those of 'tsrecord --cpu' do",
                        m->cpu_path ? m->cpu_path : m->trace_path);
    return 0;
}

static void find_devices(struct tsm_timeline *m)
{
    const struct tsm_ring_record *records = (const void *)m->jobs.records.data;

    for (size_t i = 0; i < m->jobs.records.size / sizeof(*records); i++) {
        const struct tsm_ring_record *r = &records[i];

        if (r->type == GRTRACE_METADATA && r->body_size >= 9 && !m->devices[r->device] &&
            tsm_get_u32(r->body) == GRTRACE_METADATA_DEVICE)
            m->devices[r->device] = r;
    }
}

int tsm_timeline_load(struct tsm_timeline *m, enum tsm_clock_way way, int64_t offset_ns)
{
    int error = m->filter.cgroup ? tsm_cgroup_find(&m->filter.cgroup_id, m->filter.cgroup) : 0;

    if (error)
        return error;
    error = tsm_trace_try(&m->reader, m->trace_path);
    if (error < 0)
        return error;
    tsm_trace_show_progress(m->reader, "reading");
    error = tsm_report_load(&m->jobs, m->reader);
    find_devices(m);
    if (!error)
        error = read_events(m, way, offset_ns);
    if (!error)
        error = tsm_cpu_time_build(&m->time, &m->events);
    if (!error)
        error = check_cgroup(m);
    if (!error)
        error = tsm_requests_build(&m->requests, m->reader, &m->jobs, &m->time);
    tsm_trace_show_progress(m->reader, NULL);
    return error;
}

void tsm_timeline_finish(struct tsm_timeline *m)
{
    tsm_requests_finish(&m->requests);
    tsm_cpu_time_finish(&m->time);
    tsm_cpu_events_finish(&m->events);
    tsm_ring_jobs_finish(&m->jobs);
    sbt_reader_destroy(m->reader);
}

/* ---- filters ---- */

void tsm_timeline_device(char *out, size_t size, const struct tsm_timeline *m, uint8_t device)
{
    const struct tsm_ring_record *r = m->devices[device];

    out[0] = 0;
    if (r)
        tsm_format(out, size, "%.*s", (int)(r->body_size - 8), (const char *)r->body + 8);
}

static bool is_device(const struct tsm_timeline *m, const struct tsm_ring_job *job)
{
    char name[GRTRACE_TEXT_SIZE], *end;
    unsigned long number = strtoul(m->filter.device, &end, 10);

    if (!job)
        return false;
    if (end != m->filter.device && !*end)
        return job->device == number;
    tsm_timeline_device(name, sizeof(name), m, job->device);
    return strstr(name, m->filter.device) != NULL;
}

static bool in_time(const struct tsm_timeline *m, uint64_t ns)
{
    const struct tsm_timeline_filter *f = &m->filter;
    uint64_t start_ns = m->requests.start_ns;

    return (!f->since_ns || ns >= start_ns + f->since_ns) &&
           (!f->until_ns || ns < start_ns + f->until_ns);
}

bool tsm_timeline_wants(const struct tsm_timeline *m, const struct tsm_request *r)
{
    const struct tsm_timeline_filter *f = &m->filter;

    return in_time(m, r->begin_ns) && (!f->pid || r->pid == f->pid) &&
           (!f->tid || r->tid == f->tid) && (!f->cgroup_id || r->cgroup == f->cgroup_id) &&
           (!f->device || is_device(m, r->job));
}

static bool is_thread(const struct tsm_timeline *m, uint32_t tid, uint32_t pid)
{
    const struct tsm_timeline_filter *f = &m->filter;
    const uint64_t *cgroup = tsm_map_find(&m->time.cgroups, tid);

    if (!pid)
        pid = tsm_cpu_time_process(&m->time, tid);
    return (!f->pid || (pid ? pid : tid) == f->pid) && (!f->tid || tid == f->tid) &&
           (!f->cgroup_id || (cgroup && *cgroup == f->cgroup_id));
}

bool tsm_timeline_wants_event(const struct tsm_timeline *m, const struct tsm_cpu_event *e)
{
    if (!in_time(m, e->ts_ns))
        return false;
    if (e->type == GRTRACE_CPU_SWITCH || e->type == GRTRACE_CPU_WAKEUP)
        return is_thread(m, e->tid, e->pid) || is_thread(m, e->other_tid, e->other_pid);
    if (e->type == GRTRACE_CPU_BLOCK_ISSUE)
        return is_thread(m, e->tid, e->pid);
    return true; /* of a CPU, not of a thread */
}

/* ---- the merged trace ---- */

static int add_chunks(struct sbt_writer *writer, void *user)
{
    const struct tsm_buffer *records = user;
    size_t begin = 0, end = 0;
    int error = 0;

    while (begin < records->size && !error) {
        while (end < records->size && end - begin < CHUNK_SIZE)
            end += sbt_kernel_record_size(records->data + end, records->size - end);
        error = sbt_writer_kernel_events(writer, records->data + begin, end - begin);
        begin = end;
    }
    return error;
}

static int pick_events(struct tsm_cpu_events *out, const struct tsm_timeline *m)
{
    int error = 0;

    for (size_t i = 0; i < tsm_cpu_events_count(&m->events) && !error; i++) {
        const struct tsm_cpu_event *e = tsm_cpu_events_at(&m->events, i);

        if (tsm_timeline_wants_event(m, e))
            error = tsm_cpu_events_add(out, e);
        else
            out->filtered = true;
    }
    return error;
}

int tsm_timeline_write(const struct tsm_timeline *m, const char *path)
{
    struct tsm_cpu_events picked = {.filtered = m->events.filtered};
    struct tsm_buffer records = {0};
    int error = pick_events(&picked, m);

    if (!error)
        error = tsm_cpu_events_encode(&records, &picked, m->cpu_path);
    if (!error)
        error = tsm_trace_duplicate(path, m->trace_path);
    if (!error) {
        error = tsm_trace_extend(path, add_chunks, &records);
        if (error)
            unlink(path);
    }
    tsm_buffer_finish(&records);
    tsm_cpu_events_finish(&picked);
    return error;
}
