/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/rerun/forked_run.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/text.h"
#include "replay/rerun/message.h"

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
                  const struct tsm_replay_options *options, const struct tsm_observer *observer,
                  bool only_memory)
{
    struct tsm_replay *r = NULL;
    int error = tsm_replay_create(&r, reader, options);

    if (error)
        return error;
    if (!only_memory)
        tsm_replay_observe(r, observer);
    error = tsm_replay_run(r, &child->report.out.result);
    child->report.out.early_count = tsm_replay_early(r);
    if (only_memory && !error)
        error = tsm_replay_observe_memory(r, observer);
    /* The process ends now: nothing is gained by taking the replay apart, and a lot of time lost.
     */
    return error;
}

/* Compares with the recording alone. */
static int run_bare(struct child *child, struct sbt_reader *reader,
                    struct tsm_replay_options *options)
{
    const struct tsm_observer none = {0};

    return replay(child, reader, options, &none, false);
}

static int run_and_write(struct child *child, struct sbt_reader *reader,
                         const struct tsm_forked_run *run, struct tsm_replay_options *options)
{
    struct tsm_observer observer;
    int error = tsm_run_writer_init(&child->writer, run->log), error2;

    if (error)
        return error;
    if (run->only_memory)
        child->writer.stored_max = 0;
    observer = tsm_run_writer_observer(&child->writer);
    error = replay(child, reader, options, &observer, run->only_memory);
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
    child->reader.trace = reader;
    child->reader.fresh_then = run->fresh_then;
    child->reader.fresh_now = options->fresh_memory;
    options->on_difference = NULL;
    observer = tsm_run_reader_observer(&child->reader);
    error = replay(child, reader, options, &observer, false);
    if (!error)
        tsm_run_reader_end(&child->reader);
    child->report.out.scratch_byte_count = child->reader.scratch_byte_count;
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

static void be_child(int fd, struct sbt_reader *reader, const struct tsm_forked_run *run)
{
    struct tsm_replay_options options = *run->options;
    struct child *child = calloc(1, sizeof(*child));
    int error;

    if (!child)
        _exit(1);
    set_schedule(run);
    alarm(run->limit_s);
    options.on_difference = keep_first;
    options.user = child;
    options.progress = NULL;
    options.keep_going = true;
    error = !run->log     ? run_bare(child, reader, &options)
            : run->writes ? run_and_write(child, reader, run, &options)
                          : run_and_compare(child, reader, run, &options);
    child->report.error = error;
    if (error)
        tsm_format(child->report.message, sizeof(child->report.message), "%s", tsm_error_message());
    tsm_message_send(fd, &child->report, sizeof(child->report));
    _exit(0);
}

static int judge(struct tsm_forked_result *out, const struct report *report, bool has_report,
                 int status, unsigned limit_s)
{
    if (!has_report && WIFSIGNALED(status) && limit_s && WTERMSIG(status) == SIGALRM)
        return tsm_fail(TSM_E_LIMIT, "a further replay takes more than %u s", limit_s);
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

    if (!report || !tsm_message_pair(ends)) {
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
        bool has_report = tsm_message_receive(ends[0], report, sizeof(*report));
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
        }
        error = judge(out, report, has_report, status, run->limit_s);
    }
    close(ends[0]);
    free(report);
    return error;
}
