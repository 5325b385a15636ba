/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/edit/trace_extend.h"

#include "base/file.h"
#include "base/clock.h"
#include "tools/trace_open.h"
#include "tracesmith/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/random.h>
#include <sys/sendfile.h>
#include <time.h>
#include <unistd.h>

int tsm_trace_begin(struct sbt_writer **out, const char *path)
{
    struct sbt_session session = {
        .start_monotonic_ns = tsm_monotonic_ns(),
        .start_realtime_ns = tsm_clock_ns(CLOCK_REALTIME),
        .clock = "monotonic",
    };

    if (getrandom(session.id, sizeof(session.id), 0) != (ssize_t)sizeof(session.id))
        return tsm_fail(TSM_E_IO, "getrandom: %s", strerror(errno));
    session.id[6] = (uint8_t)((session.id[6] & 0x0f) | 0x40);
    session.id[8] = (uint8_t)((session.id[8] & 0x3f) | 0x80);
    return sbt_writer_create(out, path, &session, NULL);
}

/* Reads how the trace ended, and what it lost. */
static int old_end(const char *path, struct sbt_totals *totals, enum sbt_end *end)
{
    struct sbt_reader *reader = NULL;
    int error = sbt_reader_open(&reader, path);

    if (!error) {
        *totals = *sbt_reader_totals(reader);
        *end = sbt_reader_end(reader);
    }
    sbt_reader_destroy(reader);
    return error;
}

int tsm_trace_extend(const char *path, int (*add)(struct sbt_writer *writer, void *user),
                     void *user)
{
    const struct sbt_writer_options options = {.append = true, .durable = true};
    struct sbt_writer *writer = NULL;
    struct sbt_totals totals;
    enum sbt_end end;
    int error = tsm_trace_recover(path);

    if (!error)
        error = old_end(path, &totals, &end);
    if (!error)
        error = sbt_writer_create(&writer, path, NULL, &options);
    if (!error)
        error = add(writer, user);
    if (!error)
        error = sbt_writer_finish(writer, &totals, end == SBT_END_NONE ? SBT_END_CUT : end);
    sbt_writer_destroy(writer);
    return error;
}

int tsm_trace_duplicate(const char *to, const char *from)
{
    int in = open(from, O_RDONLY | O_CLOEXEC), out, error = 0;
    ssize_t got = 1;

    if (in < 0)
        return tsm_fail(TSM_E_IO, "%s: %s", from, strerror(errno));
    out = tsm_file_create(to);
    if (out < 0) {
        error = tsm_fail(TSM_E_IO, "%s: %s", to, strerror(errno));
        close(in);
        return error;
    }
    while (got > 0)
        got = sendfile(out, in, NULL, 1 << 30);
    if (got < 0)
        error = tsm_fail(TSM_E_IO, "%s: %s", to, strerror(errno));
    close(in);
    if (close(out) != 0 && !error)
        error = tsm_fail(TSM_E_IO, "%s: %s", to, strerror(errno));
    if (error)
        unlink(to);
    return error;
}
