/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/forked_run.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/text.h"

/* Message of the child process. No address in it is used. */
struct report {
    int error;
    char message[512];
    struct tsm_forked_result out;
};

struct child {
    struct tsm_run_writer writer;
    struct tsm_run_reader reader;
    struct report report;
};

static void keep_first(void *user, const struct tsm_difference *difference)
{
    struct child *child = user;

    if (child->report.out.differs)
        return;
    child->report.out.differs = true;
    child->report.out.difference = *difference;
}

static int replay(struct child *child, struct sbt_reader *reader,
                  const struct tsm_replay_options *options, const struct tsm_observer *observer)
{
    struct tsm_replay *r = NULL;
    int error = tsm_replay_create(&r, reader, options);

    if (error)
        return error;
    tsm_replay_observe(r, observer);
    error = tsm_replay_run(r, &child->report.out.result);
    child->report.out.early_count = tsm_replay_early(r);
    /* The process ends now: nothing is gained by taking the replay apart, and a lot of time lost.
     */
    return error;
}

static int run_and_write(struct child *child, struct sbt_reader *reader,
                         const struct tsm_forked_run *run, struct tsm_replay_options *options)
{
    struct tsm_observer observer;
    int error = tsm_run_writer_init(&child->writer, run->log), error2;

    if (error)
        return error;
    options->on_difference = keep_first;
    options->user = child;
    options->progress = NULL;
    options->keep_going = true;
    observer = tsm_run_writer_observer(&child->writer);
    error = replay(child, reader, options, &observer);
    child->report.out.observation_count = child->writer.count;
    error2 = tsm_run_writer_finish(&child->writer);
    return error ? error : error2;
}

static int run_and_compare(struct child *child, struct sbt_reader *reader,
                           const struct tsm_forked_run *run, struct tsm_replay_options *options)
{
    struct tsm_observer observer;
    int error = tsm_run_reader_init(&child->reader, run->log);

    if (error)
        return error;
    child->reader.fresh_then = run->fresh_then;
    child->reader.fresh_now = options->fresh_memory;
    options->on_difference = NULL;
    options->progress = NULL;
    options->keep_going = true;
    observer = tsm_run_reader_observer(&child->reader);
    error = replay(child, reader, options, &observer);
    if (!error)
        tsm_run_reader_end(&child->reader);
    child->report.out.unknown_count = child->reader.unknown_count;
    child->report.out.differs = child->reader.differs;
    child->report.out.is_readback = child->reader.now.kind == TSM_OBSERVED_READBACK;
    child->report.out.difference = child->reader.difference;
    tsm_run_reader_finish(&child->reader);
    return error == TSM_E_DIFFERENT ? 0 : error;
}

static void set_schedule(const struct tsm_forked_run *run)
{
    if (run->schedule)
        setenv("TS_EMU_SCHEDULE", run->schedule, 1);
    if (run->is_serial)
        setenv("TS_EMU_STREAMS", "serial", 1);
}

static void write_report(int fd, const struct report *report)
{
    const char *at = (const char *)report;
    size_t left = sizeof(*report);

    while (left) {
        ssize_t written = write(fd, at, left);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return;
        at += written;
        left -= (size_t)written;
    }
}

static void be_child(int fd, struct sbt_reader *reader, const struct tsm_forked_run *run)
{
    struct tsm_replay_options options = *run->options;
    struct child *child = calloc(1, sizeof(*child));
    int error;

    if (!child)
        _exit(1);
    set_schedule(run);
    error = run->writes ? run_and_write(child, reader, run, &options)
                        : run_and_compare(child, reader, run, &options);
    child->report.error = error;
    if (error)
        tsm_format(child->report.message, sizeof(child->report.message), "%s", tsm_error_message());
    write_report(fd, &child->report);
    _exit(0);
}

static bool read_report(int fd, struct report *out)
{
    char *at = (char *)out;
    size_t left = sizeof(*out);

    while (left) {
        ssize_t got = read(fd, at, left);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        at += got;
        left -= (size_t)got;
    }
    return true;
}

static int judge(struct tsm_forked_result *out, const struct report *report, bool has_report,
                 int status)
{
    if (!has_report && WIFSIGNALED(status))
        return tsm_fail(TSM_E_DEVICE, "the replay's process died of signal %d", WTERMSIG(status));
    if (!has_report)
        return tsm_fail(TSM_E_DEVICE, "the replay's process ended without an answer");
    if (report->error)
        return tsm_fail(report->error, "%s", report->message);
    *out = report->out;
    out->difference.call = out->difference.function = "";
    return 0;
}

int tsm_forked_run(struct tsm_forked_result *out, struct sbt_reader *reader,
                   const struct tsm_forked_run *run)
{
    struct report *report = calloc(1, sizeof(*report));
    int ends[2], status = 0, error;

    if (!report || pipe(ends)) {
        free(report);
        return tsm_fail(TSM_E_IO, "cannot start a replay: %s", strerror(errno));
    }
    pid_t pid = fork();
    if (pid == 0) {
        close(ends[0]);
        be_child(ends[1], reader, run);
    }
    close(ends[1]);
    if (pid < 0) {
        error = tsm_fail(TSM_E_IO, "cannot start a replay: %s", strerror(errno));
    } else {
        bool has_report = read_report(ends[0], report);
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
        }
        error = judge(out, report, has_report, status);
    }
    close(ends[0]);
    free(report);
    return error;
}
