/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/lane/drain.h"

#include "base/array.h"
#include "base/text.h"
#include "capture/process/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/utsname.h>
#include <unistd.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

#define SLEEP_MIN_NS 5000000 /* two clocks are not read at once */

static int say(struct tsm_session *s, const char *what, const char *why)
{
    tsm_format(s->drain_message, sizeof(s->drain_message), "%s: %s: %s", s->lanes_path, what, why);
    return TSM_E_IO;
}

/* Extend the lanes file by `size` bytes and map them; headers of `stride` bytes apart are given
 * memory, so that a full disk is an error here and not a signal later. */
static uint8_t *extend(struct tsm_drain *d, uint64_t size, uint64_t stride)
{
    uint64_t at = d->lanes_file_size;
    uint8_t *memory;

    if (ftruncate(d->lanes_fd, (off_t)(at + size)) != 0) {
        say(d->session, "cannot grow", tsm_errno_text(errno));
        return NULL;
    }
    memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, d->lanes_fd, (off_t)at);
    if (memory == MAP_FAILED) {
        say(d->session, "cannot map", tsm_errno_text(errno));
        return NULL;
    }
    madvise(memory, size, MADV_DONTFORK); /* a child must not write its parent's lanes */
    for (uint64_t i = 0; i < size; i += stride) {
        if (madvise(memory + i, TSM_LANE_HEADER_SIZE, MADV_POPULATE_WRITE) != 0 &&
            errno != EINVAL) {
            say(d->session, "cannot write", tsm_errno_text(errno == EFAULT ? ENOSPC : errno));
            munmap(memory, size);
            return NULL;
        }
    }
    d->lanes_file_size += size;
    return memory;
}

static int reserve_arrays(struct tsm_drain *d, uint32_t count)
{
    return TSM_ARRAY_RESERVE(d->lanes, d->lane_capacity, count)
               ? 0
               : tsm_fail(TSM_E_MEMORY, "no memory for %u lanes", count);
}

static int add_lane(struct tsm_drain *d, uint8_t *memory, uint64_t size)
{
    struct tsm_session *s = d->session;
    uint32_t index = s->lane_count;
    int error = reserve_arrays(d, index + 1);

    if (!error)
        error = tsm_merge_add_lane(&d->merge, memory + TSM_LANE_HEADER_SIZE, size);
    if (error)
        return error;
    tsm_lane_init(&s->lanes[index], s, index, memory, size);
    d->lanes[index] = (struct tsm_drain_lane){.header = s->lanes[index].header};
    __atomic_store_n(&s->lane_count, index + 1, __ATOMIC_RELEASE);
    __atomic_store_n(&s->lanes_header->lane_count, index + 1, __ATOMIC_RELEASE);
    return 0;
}

static void put_on_free_list(struct tsm_session *s, uint32_t from, uint32_t to)
{
    tsm_lock_take(&s->lanes_lock);
    for (uint32_t i = from; i < to; i++) {
        s->lanes[i].next_free = s->free_lanes;
        __atomic_store_n(&s->free_lanes, &s->lanes[i], __ATOMIC_RELAXED);
    }
    tsm_lock_give(&s->lanes_lock);
}

int tsm_drain_add_lanes(struct tsm_drain *d, uint32_t count)
{
    struct tsm_session *s = d->session;
    uint64_t stride = TSM_LANE_HEADER_SIZE + (uint64_t)s->settings.lane_size;
    uint32_t first = s->lane_count;
    uint8_t *memory;
    int error = 0;

    if (count > TSM_LANE_COUNT_MAX - first)
        count = TSM_LANE_COUNT_MAX - first;
    if (count == 0)
        return 0;
    memory = extend(d, count * stride, stride);
    if (!memory)
        return TSM_E_IO;
    for (uint32_t i = 0; i < count && !error; i++)
        error = add_lane(d, memory + i * stride, s->settings.lane_size);
    put_on_free_list(s, first, s->lane_count);
    return error;
}

/* ---- the clock --------------------------------------------------------------------------------
 */

static int number_metadata(struct sbt_writer *w, const char *name, uint64_t value)
{
    char text[24];

    tsm_format(text, sizeof(text), "%llu", (unsigned long long)value);
    return sbt_writer_metadata(w, name, text);
}

static void publish_line(struct tsm_drain *d, struct tsm_clock_line line)
{
    struct tsm_lanes_header *h = d->session->lanes_header;
    uint32_t next = h->clock_epoch + 1;

    d->merge.clock = line;
    h->clock[next & 1] = line;
    __atomic_store_n(&h->clock_epoch, next, __ATOMIC_RELEASE);
}

static uint64_t boot_less_monotonic_ns(void)
{
    return tsm_clock_ns(CLOCK_BOOTTIME) - tsm_monotonic_ns();
}

/* Tests whether the machine slept since the last time, in which CLOCK_MONOTONIC stood still. The
 * trace says for how long. */
static bool has_slept(struct tsm_drain *d)
{
    const int64_t slept_ns = (int64_t)(boot_less_monotonic_ns() - d->awake_ns);

    if (slept_ns < (int64_t)d->slept_ns + SLEEP_MIN_NS)
        return false;
    d->slept_ns = (uint64_t)slept_ns;
    if (d->merge.writer)
        number_metadata(d->merge.writer, "clock.slept_ns", d->slept_ns);
    return true;
}

void tsm_drain_calibrate(struct tsm_drain *d)
{
    const bool slept = has_slept(d);
    struct tsm_clock_pair now = tsm_clock_pair_read();
    uint64_t shown = tsm_clock_line_ns(&d->merge.clock, now.ticks);
    int64_t behind = (int64_t)(now.monotonic_ns - shown);
    struct tsm_clock_line line = tsm_clock_line_through(d->last_pair, now);

    /* Its speed is not what the counter did meanwhile: it stood still, or began again. */
    if (slept || (int64_t)(now.ticks - d->last_pair.ticks) <= 0)
        line.ns_per_tick = d->merge.clock.ns_per_tick;
    /* The new line starts where the old one is, so that time never steps back, and makes up the
     * difference within a second; only after a long sleep of the machine it jumps, forward. */
    line.from = (struct tsm_clock_pair){now.ticks, behind > 1000000 ? now.monotonic_ns : shown};
    if (behind <= 1000000)
        line.ns_per_tick *= 1 + (double)(behind < -100000000 ? -100000000 : behind) / 1e9;
    publish_line(d, line);
    d->clock_due_ns = now.monotonic_ns - d->session->start.monotonic_ns < 1000000000u
                          ? now.monotonic_ns + (now.monotonic_ns - d->session->start.monotonic_ns)
                          : now.monotonic_ns + 1000000000u;
    d->last_pair = now;
}

static void first_line(struct tsm_drain *d)
{
    struct tsm_clock_pair now = tsm_clock_pair_read();

    publish_line(d, tsm_clock_line_through(d->session->start, now));
    d->last_pair = d->session->start;
    d->awake_ns = boot_less_monotonic_ns();
    d->clock_due_ns = d->session->start.monotonic_ns + 2000000;
}

/* ---- the trace's beginning ----------------------------------------------------------------------
 */

/* Arguments, separated by spaces. */
static int command_metadata(struct sbt_writer *w)
{
    char text[8192];
    int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);

    if (fd >= 0)
        close(fd);
    while (got > 0 && text[got - 1] == '\0')
        got--;
    if (got <= 0)
        return 0;
    for (ssize_t i = 0; i < got; i++) {
        if (text[i] == '\0')
            text[i] = ' ';
    }
    text[got] = '\0';
    return sbt_writer_metadata(w, "process.command", text);
}

static int process_metadata(struct sbt_writer *w, const struct tsm_session *s)
{
    char path[TSM_PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);
    int error = number_metadata(w, "process.pid", (uint64_t)s->pid);

    if (!error)
        error = number_metadata(w, "process.parent", (uint64_t)getppid());
    if (!error && length > 0) {
        path[length] = '\0';
        error = sbt_writer_metadata(w, "process.executable", path);
    }
    return error ? error : command_metadata(w);
}

static int host_metadata(struct sbt_writer *w)
{
    struct utsname u;
    int error;

    if (uname(&u) != 0)
        return 0;
    error = sbt_writer_metadata(w, "host.name", u.nodename);
    if (!error)
        error = sbt_writer_metadata(w, "host.kernel", u.release);
    return error ? error : sbt_writer_metadata(w, "host.machine", u.machine);
}

/* Settings that were given: the rest is known from the version. */
static int settings_metadata(struct sbt_writer *w)
{
    size_t count;
    const struct tsm_setting *table = tsm_settings_table(&count);
    int error = 0;

    for (size_t i = 0; i < count && !error; i++) {
        const char *text = getenv(table[i].name);
        char name[64];
        tsm_format(name, sizeof(name), "setting.%s", table[i].name);
        if (text)
            error = sbt_writer_metadata(w, name, text);
    }
    return error;
}

/* Records of our own. */
static int write_schemas(struct sbt_writer *w)
{
    int error = 0;

    for (uint32_t i = 0; sbt_core_enum(i) && !error; i++)
        error = sbt_writer_enum(w, sbt_core_enum(i));
    for (uint32_t i = 0; i < SBT_CORE_END && !error; i++) {
        const struct sbt_schema *schema = sbt_core_schema(i);
        if (schema)
            error = sbt_writer_schema(w, schema);
    }
    return error;
}

static uint64_t optional_features(const struct tsm_settings *settings)
{
    return (settings->contents ? 0 : SBT_OPTIONAL_NO_CONTENTS) |
           (settings->readback == TSM_READBACK_HASH ? SBT_OPTIONAL_NO_READBACKS : 0);
}

/* Session of the trace, and of the files beside it. */
static struct sbt_session session_of(const struct tsm_session *s)
{
    struct sbt_session session = {
        .start_monotonic_ns = s->start.monotonic_ns,
        .start_realtime_ns = s->start_realtime_ns,
        .clock = "monotonic",
        .optional_features = optional_features(&s->settings),
    };

    memcpy(session.id, s->id, sizeof(session.id));
    return session;
}

static void types_path(const struct tsm_session *s, char path[TSM_PATH_MAX])
{
    tsm_format(path, TSM_PATH_MAX, "%s" TSM_DECLARE_SUFFIX, s->path); /* fits: lanes_path did */
}

/* All of it, for who comes after a crash. */
static int keep_types(struct tsm_drain *d, const struct tsm_api_description *api)
{
    struct sbt_writer_options options = {.threads = 1};
    struct sbt_session session = session_of(d->session);
    const struct sbt_totals none = {0};
    struct sbt_writer *w = NULL;
    char path[TSM_PATH_MAX];
    int error;

    types_path(d->session, path);
    error = sbt_writer_create(&w, path, &session, &options);
    if (error)
        return error; /* what lies there is not ours */
    error = sbt_writer_metadata(w, "capture.types", api->name);
    if (!error)
        error = tsm_declare_all(w, api);
    if (!error)
        error = sbt_writer_finish(w, &none, SBT_END_FINISHED);
    sbt_writer_destroy(w);
    if (error)
        unlink(path);
    return error;
}

static int declare_type(void *user, uint32_t type)
{
    struct tsm_drain *d = user;
    struct tsm_declare *declare = d->declare[SBT_TYPE_API(type)];

    return declare ? tsm_declare_type(declare, d->merge.writer, type) : 0;
}

static int declare(struct tsm_drain *d, const struct tsm_api_description *api)
{
    if (api->api >= TSM_TYPE_API_COUNT || d->declare[api->api])
        return 0;
    if (tsm_declare_is_lazy(api) && keep_types(d, api) == 0)
        d->declare[api->api] = tsm_declare_create(api);
    if (d->declare[api->api]) {
        d->merge.declare = declare_type;
        d->merge.declare_user = d;
        return 0;
    }
    return tsm_declare_all(d->merge.writer, api);
}

int tsm_drain_declare(struct tsm_drain *d, uint32_t api)
{
    int error = 0;

    for (const struct tsm_source *const *source = tsm_sources; *source && !error; source++) {
        if ((*source)->description->api == api)
            error = declare(d, (*source)->description);
    }
    return error ? error : sbt_writer_flush(d->merge.writer);
}

void tsm_drain_undeclare(struct tsm_drain *d)
{
    char path[TSM_PATH_MAX];
    bool any = false;

    for (uint32_t i = 0; i < TSM_TYPE_API_COUNT; i++) {
        any |= d->declare[i] != NULL;
        tsm_declare_destroy(d->declare[i]);
        d->declare[i] = NULL;
    }
    types_path(d->session, path);
    if (any && d->folder_fd >= 0)
        unlinkat(d->folder_fd, strrchr(path, '/') + 1, 0);
    else if (any)
        unlink(path);
}

static int begin_trace(struct tsm_drain *d, int trace_fd)
{
    struct tsm_session *s = d->session;
    struct sbt_writer_options options = {.threads = s->settings.threads,
                                         .durable = true,
                                         .takes_contents = true,
                                         .chunk_size = 1536u << 10,
                                         .level = s->settings.level};
    struct sbt_session session = session_of(s);
    int error;

    error = sbt_writer_create_fd(&d->merge.writer, trace_fd, &session, &options);
    if (!error)
        error = host_metadata(d->merge.writer);
    if (!error)
        error = process_metadata(d->merge.writer, s);
    if (!error)
        error = settings_metadata(d->merge.writer);
    if (!error && !s->settings.contents)
        error = sbt_writer_metadata(d->merge.writer, SBT_METADATA_REDACTED, "contents");
    if (!error)
        error = write_schemas(d->merge.writer);
    if (!error)
        error = sbt_writer_flush(d->merge.writer);
    if (error)
        tsm_format(s->drain_message, sizeof(s->drain_message), "%s: %s", s->path,
                   tsm_error_message());
    return error;
}

static int make_lanes_file(struct tsm_drain *d)
{
    struct tsm_session *s = d->session;
    struct tsm_lanes_header *h;
    uint8_t *memory;
    uint64_t first_size = TSM_LANE_HEADER_SIZE + (uint64_t)TSM_FIRST_LANE_SIZE;
    int error;

    memory = extend(d, TSM_LANES_HEADER_SIZE, TSM_LANES_HEADER_SIZE);
    if (!memory)
        return TSM_E_IO;
    h = (struct tsm_lanes_header *)(void *)memory;
    s->lanes_header = h;
    h->version = TSM_LANES_VERSION;
    h->pid = (uint32_t)s->pid;
    h->first_lane_size = TSM_FIRST_LANE_SIZE;
    h->lane_size = s->settings.lane_size;
    memcpy(h->session_id, s->id, sizeof(h->session_id));
    h->start_monotonic_ns = s->start.monotonic_ns;
    memory = extend(d, first_size, first_size);
    error = memory ? add_lane(d, memory, TSM_FIRST_LANE_SIZE) : TSM_E_IO;
    first_line(d);
    return error ? error : tsm_drain_add_lanes(d, 2);
}

/* In a table shared with the program (close_range is not to be had): where it is least likely to
 * meet its numbers. */
static int out_of_the_way(int fd)
{
    int high = fcntl(fd, F_DUPFD_CLOEXEC, 1000);

    if (high < 0)
        return fd;
    close(fd);
    return high;
}

static int open_folder(const char *path)
{
    char folder[TSM_PATH_MAX];

    tsm_format(folder, sizeof(folder), "%.*s", (int)(strrchr(path, '/') + 1 - path), path);
    return open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

int tsm_drain_setup(struct tsm_drain *d)
{
    struct tsm_session *s = d->session;
    int trace_fd, error = tsm_output_open(s, &trace_fd, &d->lanes_fd);

    if (error)
        return error;
    if (!d->own_descriptors) {
        trace_fd = out_of_the_way(trace_fd);
        d->lanes_fd = out_of_the_way(d->lanes_fd);
    } else {
        d->folder_fd = open_folder(s->lanes_path);
    }
    d->merge.start_ns = s->start.monotonic_ns;
    error = make_lanes_file(d);
    if (error)
        close(trace_fd);
    else
        error = begin_trace(d, trace_fd);
    if (!error) {
        /* Last: a lanes file without it holds nothing; nor does one whose trace has no name. */
        memcpy(s->lanes_header->magic, TSM_LANES_MAGIC, sizeof(s->lanes_header->magic));
        error = tsm_output_show(s);
    }
    if (error)
        tsm_output_remove(s);
    return error;
}
