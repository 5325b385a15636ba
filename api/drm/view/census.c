/* SPDX-License-Identifier: Apache-2.0 */
#include "api/drm/view/census.h"

#include "base/text.h"
#include "tools/edit/trace_extend.h"
#include "api/drm/view/text.h"
#include "tools/terminal.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define DRM_TYPE 'd' /* of the request's second byte; nobody else uses it */

#define COUNTED   "drm.ioctls_counted"
#define RECORDED  "drm.ioctls_recorded"
#define UNCOUNTED "drm.ioctls_uncounted"

static const char *const places[] = {"/sys/kernel/tracing", "/sys/kernel/debug/tracing"};

/* The tracepoint's number. */
static bool find_tracepoint(uint64_t *id, struct tsm_ioctl_census *census)
{
    char path[128];
    unsigned long long number;

    for (int i = 0; i < 2; i++) {
        FILE *file;
        bool found;
        tsm_format(path, sizeof(path), "%s/events/syscalls/sys_enter_ioctl/id", places[i]);
        file = fopen(path, "r");
        if (!file)
            continue;
        found = fscanf(file, "%llu", &number) == 1;
        fclose(file);
        *id = number;
        if (found)
            return true;
    }
    tsm_format(census->why, sizeof(census->why), "%s/events/syscalls/sys_enter_ioctl: %s",
               places[0], strerror(errno));
    return false;
}

/* Filters compare no part of a number, but they test bits. */
static void make_filter(char *out, size_t size)
{
    size_t at = 0;

    for (unsigned bit = 0; bit < 8; bit++)
        at += tsm_format(out + at, size - at, "%s%s(cmd & 0x%x)", bit ? " && " : "",
                         DRM_TYPE >> bit & 1 ? "" : "!", 0x100u << bit);
}

void tsm_ioctl_census_begin(struct tsm_ioctl_census *census)
{
    struct perf_event_attr attr = {
        .type = PERF_TYPE_TRACEPOINT,
        .size = sizeof(attr),
        .disabled = 1,
        .inherit = 1,
        .enable_on_exec = 1,
    };
    char filter[256];
    uint64_t id;

    *census = (struct tsm_ioctl_census){.fd = -1};
    if (!find_tracepoint(&id, census))
        return;
    attr.config = id;
    make_filter(filter, sizeof(filter));
    census->fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
    if (census->fd < 0 || ioctl(census->fd, PERF_EVENT_IOC_SET_FILTER, filter) != 0) {
        tsm_format(census->why, sizeof(census->why), "perf_event_open: %s", strerror(errno));
        if (census->fd >= 0)
            close(census->fd);
        census->fd = -1;
    }
}

bool tsm_ioctl_census_end(struct tsm_ioctl_census *census, uint64_t *count)
{
    bool known =
        census->fd >= 0 && read(census->fd, count, sizeof(*count)) == (ssize_t)sizeof(*count);

    if (census->fd >= 0)
        close(census->fd);
    if (census->fd >= 0 && !known)
        tsm_format(census->why, sizeof(census->why), "its count cannot be read");
    census->fd = -1;
    return known;
}

/* ---- in a trace ------------------------------------------------------------------------------ */

static uint64_t metadata_number(const struct sbt_reader *reader, const char *name)
{
    const char *text = sbt_reader_metadata_find(reader, name);

    return text ? strtoull(text, NULL, 10) : 0;
}

/* Counts the ioctl records of a trace, those that the recorder issued itself, and those that it saw
 * but was not to record. */
static void count_recorded(const char *path, void *user)
{
    uint64_t *sum = user;
    struct tsm_ioctls all = {0};
    const struct sbt_record *record;
    const struct sbt_filter everything = {0};
    struct sbt_reader *reader = NULL;
    struct sbt_cursor *cursor = NULL;

    if (sbt_reader_open(&reader, path) >= 0 &&
        sbt_cursor_create(&cursor, reader, &everything, 1) >= 0)
        while (sbt_cursor_next(cursor, &record) > 0)
            if (SBT_TYPE_API(record->type) == SBT_API_DRM)
                tsm_ioctls_count(&all, reader, record);
    if (reader)
        *sum += all.drm_count + metadata_number(reader, "drm.asked") +
                metadata_number(reader, "drm.seen_only");
    tsm_ioctls_finish(&all);
    sbt_cursor_destroy(cursor);
    sbt_reader_destroy(reader);
}

struct result {
    const char *why; /* nobody counted; NULL: somebody did */
    uint64_t counted, recorded;
};

static int put_count(struct sbt_writer *writer, const char *key, uint64_t value)
{
    char text[24];

    tsm_format(text, sizeof(text), "%" PRIu64, value);
    return sbt_writer_metadata(writer, key, text);
}

static int put_result(struct sbt_writer *writer, void *user)
{
    const struct result *c = user;
    int error;

    if (c->why)
        return sbt_writer_metadata(writer, UNCOUNTED, c->why);
    error = put_count(writer, COUNTED, c->counted);
    return error ? error : put_count(writer, RECORDED, c->recorded);
}

int tsm_ioctl_census_write(struct tsm_ioctl_census *census, const struct tsm_recording *recording,
                           const char *path)
{
    struct result c = {0};

    if (!tsm_ioctl_census_end(census, &c.counted))
        c.why = census->why;
    else
        tsm_recording_each(recording, count_recorded, &c.recorded);
    return tsm_trace_extend(path, put_result, &c);
}

void tsm_ioctl_census_note(struct sbt_reader *reader)
{
    const char *uncounted = sbt_reader_metadata_find(reader, UNCOUNTED);
    uint64_t count = metadata_number(reader, COUNTED), known = metadata_number(reader, RECORDED);

    if (count > known)
        tsm_note("%" PRIu64 " of %" PRIu64 " ioctls on DRM files went past libc (inline system "
                 "calls, programs that LD_PRELOAD does not reach): not recorded",
                 count - known, count);
    else if (uncounted)
        tsm_note("whether ioctls went past libc is not known: %s", uncounted);
}
