/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/kernel/session.h"

#include "base/text.h"
#include "tools/edit/trace_extend.h"
#include "tools/kernel/files.h"
#include "tracesmith/reader.h"
#include "tracesmith/writer.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define TURN_MS 50 /* a full buffer wakes nobody reliably: look often enough instead */

static int make_trace(struct tsm_kernel_session *s)
{
    int error = tsm_trace_begin(&s->writer, s->path);

    if (!error)
        error = sbt_writer_metadata(s->writer, "kernel.backend", s->backend->name);
    return error ? error : sbt_writer_flush(s->writer);
}

static void *collect(void *user)
{
    struct tsm_kernel_session *s = user;
    const struct timespec pause = {.tv_nsec = TURN_MS * 1000000};

    while (!s->error && !__atomic_load_n(&s->stop, __ATOMIC_ACQUIRE)) {
        s->error = tsm_collect_turn(&s->collect, s->writer);
        if (!s->error && s->backend->attend)
            s->error = s->backend->attend();
        nanosleep(&pause, NULL);
    }
    if (s->error)
        tsm_format(s->message, sizeof(s->message), "%s", tsm_error_message());
    return NULL;
}

/* Signals are for the thread that waits for them. */
static int start_thread(struct tsm_kernel_session *s)
{
    sigset_t all, old;
    int failed;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    failed = pthread_create(&s->thread, NULL, collect, s);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    s->has_thread = !failed;
    return failed ? tsm_fail(TSM_E_MEMORY, "thread: %s", strerror(failed)) : 0;
}

static void drop(struct tsm_kernel_session *s)
{
    if (s->holder > 0)
        close(s->holder);
    s->holder = 0;
    tsm_collect_finish(&s->collect);
    sbt_writer_destroy(s->writer);
    s->writer = NULL;
    s->begun = false;
}

int tsm_kernel_session_begin(struct tsm_kernel_session *s, const struct tsm_kernel_backend *backend,
                             const char *path)
{
    int error;

    memset(s, 0, sizeof(*s));
    s->backend = backend;
    tsm_format(s->path, sizeof(s->path), "%s", path);
    error = make_trace(s);
    if (error)
        return error;
    s->holder = backend->start();
    error = s->holder < 0 ? s->holder : 0;
    if (!error) {
        error = backend->collect_begin(&s->collect);
        if (!error)
            error = start_thread(s);
        if (error)
            backend->write("control", "stop");
    }
    if (error) {
        drop(s);
        unlink(s->path);
    }
    s->begun = !error;
    return error;
}

static int note_file(struct tsm_kernel_session *s, const char *name, const char *file)
{
    struct tsm_buffer text = {0};
    int error = s->backend->read(&text, file);

    if (!error)
        error = sbt_writer_metadata(s->writer, name, (const char *)text.data);
    tsm_buffer_finish(&text);
    return error;
}

static int note_collected(struct tsm_kernel_session *s)
{
    char text[24];

    tsm_format(text, sizeof(text), "%llu", (unsigned long long)s->collect.record_count);
    return sbt_writer_metadata(s->writer, "kernel.collected", text);
}

static int note_counters(struct tsm_kernel_session *s)
{
    int error = note_file(s, "kernel.stats", "stats");

    return error ? error : note_file(s, "kernel.latency_hist", "latency_hist");
}

/* Keeps what was read whatever else fails: the first error is reported. */
static void also(struct tsm_kernel_session *s, int error)
{
    if (!error || s->error)
        return;
    s->error = error;
    tsm_format(s->message, sizeof(s->message), "%s", tsm_error_message());
}

int tsm_kernel_session_end(struct tsm_kernel_session *s)
{
    const struct sbt_totals none = {0};

    if (!s->begun)
        return 0;
    int stopped = s->backend->write("control", "stop");
    char why[sizeof(s->message)];
    tsm_format(why, sizeof(why), "%s", stopped ? tsm_error_message() : "");
    __atomic_store_n(&s->stop, true, __ATOMIC_RELEASE);
    if (s->has_thread)
        pthread_join(s->thread, NULL);
    if (stopped)
        also(s, tsm_fail(stopped, "%s", why));
    also(s, tsm_collect_end(&s->collect, s->writer));
    also(s, note_collected(s));
    also(s, note_counters(s));
    also(s, sbt_writer_finish(s->writer, &none, SBT_END_FINISHED));
    drop(s);
    return s->error ? tsm_fail(s->error, "%s", s->message) : 0;
}

/* ---- into another trace ---- */

static int append_from(struct sbt_writer *writer, void *user)
{
    struct sbt_reader *part = user;
    const char *name, *value;
    uint8_t *records;
    size_t size;
    int error = 0;

    for (size_t i = 0; i < sbt_reader_metadata_count(part) && !error; i++) {
        sbt_reader_metadata(part, i, &name, &value);
        if (strncmp(name, "kernel.", strlen("kernel.")) == 0 ||
            strncmp(name, "cpu.", strlen("cpu.")) == 0)
            error = sbt_writer_metadata(writer, name, value);
    }
    for (size_t i = 0; !error; i++) {
        error = sbt_reader_kernel_events(part, i, &records, &size);
        if (error)
            break;
        error = sbt_writer_kernel_events(writer, records, size);
        free(records);
    }
    return error == TSM_E_NOT_FOUND ? 0 : error;
}

int tsm_kernel_append(const char *path, const char *part_path)
{
    struct sbt_reader *part = NULL;
    int error = sbt_reader_open(&part, part_path);

    if (!error)
        error = tsm_trace_extend(path, append_from, part);
    sbt_reader_destroy(part);
    return error;
}
