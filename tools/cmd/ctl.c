/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/command.h"

#include "base/clock.h"
#include "base/text.h"
#include "capture/lane/lane.h"
#include "tools/descendants.h"
#include "tools/terminal.h"
#include "tools/text/json_out.h"
#include "tracesmith/error.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define WAIT_S 10

struct ctl_values {
    bool json;
    uint64_t wait_s;
};

static const struct tsm_option options[] = {
    {.name = "wait",
     .letter = 'w',
     .type = TSM_OPTION_SECONDS,
     .offset = TSM_FIELD(ctl_values, wait_s),
     .argument = "SECONDS",
     .help = "How long to wait until the program has done it. Default: 10."},
    {.name = "json",
     .type = TSM_OPTION_FLAG,
     .offset = TSM_FIELD(ctl_values, json),
     .help = "One JSON object, schema \"tsctl/1\"."},
    {0},
};

/* ---- a recorded program ---------------------------------------------------------------------- */

/* The header of its lanes file: everything that is said goes through it. */
struct session {
    char trace[PATH_MAX];
    char lanes[PATH_MAX]; /* as seen from here */
    int fd;
    unsigned pid; /* of the program */
};

/* Reads it again. It is not mapped: who shortens the file then ends the program and not us. */
static struct tsm_lanes_header header_of(const struct session *s)
{
    struct tsm_lanes_header h = {.version = 0};

    if (pread(s->fd, &h, sizeof(h), 0) != (ssize_t)sizeof(h))
        h.version = 0;
    return h;
}

/* 1: it is one; 0: it is not. */
static int try_file(struct session *s, unsigned pid, const char *path)
{
    struct tsm_lanes_header h;

    tsm_format(s->lanes, sizeof(s->lanes), "/proc/%u/root%s", pid, path);
    s->fd = open(s->lanes, O_RDWR | O_CLOEXEC | O_NOCTTY | O_NOFOLLOW | O_NONBLOCK);
    if (s->fd < 0 && errno == EACCES)
        return tsm_fail(TSM_E_IO, "%s: %s", path, strerror(errno));
    if (s->fd < 0)
        return 0;
    h = header_of(s);
    if (memcmp(h.magic, TSM_LANES_MAGIC, sizeof(h.magic)) != 0 || h.version != TSM_LANES_VERSION) {
        close(s->fd);
        return 0;
    }
    tsm_format(s->trace, sizeof(s->trace), "%.*s", (int)(strlen(path) - strlen(".lanes")), path);
    return 1;
}

/* Returns the path in a line of /proc/PID/maps; NULL when it is not the path of a lanes file. */
static const char *lanes_path(char *line)
{
    char *path = strchr(line, '/');
    size_t size = path ? strcspn(path, "\n") : 0;

    if (size < strlen(".lanes") || size >= PATH_MAX)
        return NULL;
    path[size] = '\0';
    return strcmp(path + size - strlen(".lanes"), ".lanes") == 0 ? path : NULL;
}

/* 1: it is recorded; 0: it is not, or not yet. */
static int open_session(struct session *s, unsigned pid)
{
    char maps[32], line[PATH_MAX + 128];
    int found = 0;
    FILE *file;

    tsm_format(maps, sizeof(maps), "/proc/%u/maps", pid);
    file = fopen(maps, "re");
    if (!file)
        return tsm_fail(TSM_E_NOT_FOUND, "process %u: %s", pid,
                        errno == ENOENT ? "there is none" : strerror(errno));
    while (!found && fgets(line, sizeof(line), file)) {
        const char *path = lanes_path(line);
        found = path ? try_file(s, pid, path) : 0;
    }
    fclose(file);
    s->pid = pid;
    return found;
}

/* Finds the one process that is recorded among those that `pid` has started, as tsrecord does. */
static int open_descendant(struct session *s, unsigned pid)
{
    static unsigned pids[4096];
    size_t count = tsm_descendants(pids, sizeof(pids) / sizeof(pids[0]), pid);
    struct session other = {0};
    int found = 0;

    for (size_t i = 1; i < count; i++) {
        if (open_session(found ? &other : s, pids[i]) != 1)
            continue;
        if (found++ == 0)
            continue;
        close(s->fd);
        close(other.fd);
        return tsm_fail(TSM_E_ARGUMENT,
                        "process %u has started several that are recorded, as %u and %u; name one "
                        "of them",
                        pid, s->pid, other.pid);
    }
    return found;
}

/* A program that was started just now is not recorded before its first GPU call. */
static int find_session(struct session *s, unsigned pid, uint64_t wait_s)
{
    uint64_t until = tsm_monotonic_ns() + wait_s * 1000000000u;
    const struct timespec nap = {0, 5000000};
    int found;

    while ((found = open_session(s, pid)) == 0 && (found = open_descendant(s, pid)) == 0 &&
           tsm_monotonic_ns() < until)
        nanosleep(&nap, NULL);
    if (found == 0)
        return tsm_fail(TSM_E_NOT_FOUND,
                        "process %u is not being recorded: neither it nor what it started was "
                        "started by tsrecord, or has made a GPU call yet, or its recording is over",
                        pid);
    return found < 0 ? found : 0;
}

static const char *shown_name(const struct session *s)
{
    static const char *const names[] = {"starting", "waiting", "recording", "over"};
    uint32_t shown = header_of(s).shown;

    return shown < 4 ? names[shown] : "unknown";
}

/* ---- what can be asked for ------------------------------------------------------------------- */

static bool has_started(const struct session *s, uint32_t count)
{
    return header_of(s).shown >= TSM_SHOWN_RECORDING;
}

/* The trace is whole when the program has done away with the lanes. */
static bool has_stopped(const struct session *s, uint32_t count)
{
    return access(s->lanes, F_OK) != 0;
}

static bool has_checkpoint(const struct session *s, uint32_t count)
{
    return header_of(s).checkpoint_count != count || has_stopped(s, count);
}

static bool has_answered(const struct session *s, uint32_t count)
{
    return true;
}

static const struct action {
    const char *name;
    uint32_t order;
    bool (*done)(const struct session *s, uint32_t count);
    const char *later; /* why it may not have happened yet */
} actions[] = {
    {"start", TSM_ORDER_START, has_started,
     "recording begins with the program's next GPU call, when no other is under way"},
    {"stop", TSM_ORDER_STOP, has_stopped, "the trace is still being written"},
    {"checkpoint", TSM_ORDER_CHECKPOINT, has_checkpoint,
     "it is taken with one of the program's next commands, if it was started with --checkpoint, "
     "--start or --start-call"},
    {"status", TSM_ORDER_NONE, has_answered, ""},
};

static bool wait_for(const struct action *action, const struct session *s, uint32_t count,
                     uint64_t wait_s)
{
    uint64_t until = tsm_monotonic_ns() + wait_s * 1000000000u;
    const struct timespec nap = {0, 5000000};

    while (!action->done(s, count)) {
        if (tsm_monotonic_ns() >= until)
            return false;
        nanosleep(&nap, NULL);
    }
    return true;
}

static void tell(const struct ctl_values *v, const struct session *s, const struct action *action,
                 bool done)
{
    struct tsm_json j = {.out = stdout};

    if (!v->json) {
        printf("%u: %s, %u checkpoint%s, %s\n", s->pid, tsm_clean(shown_name(s)),
               header_of(s).checkpoint_count, header_of(s).checkpoint_count == 1 ? "" : "s",
               tsm_clean(s->trace));
        if (!done)
            tsm_note("not yet: %s", action->later);
        return;
    }
    tsm_json_begin(&j, "tsctl/1");
    tsm_json_put_u64(&j, "pid", s->pid);
    tsm_json_put_string(&j, "trace", s->trace);
    tsm_json_put_string(&j, "state", shown_name(s));
    tsm_json_put_u64(&j, "checkpoints", header_of(s).checkpoint_count);
    tsm_json_put_bool(&j, "done", done);
    tsm_json_end(&j);
}

static int carry_out(const struct ctl_values *v, const struct action *action, unsigned pid)
{
    uint64_t wait_s = v->wait_s ? v->wait_s : WAIT_S;
    struct session s = {0};
    uint32_t count;
    bool done;

    if (find_session(&s, pid, action->order == TSM_ORDER_NONE ? 0 : wait_s) < 0)
        return tsm_complain_error();
    count = header_of(&s).checkpoint_count;
    if (action->order && pwrite(s.fd, &action->order, sizeof(action->order),
                                offsetof(struct tsm_lanes_header, order)) < 0)
        return tsm_complain("%s: %s", s.lanes, strerror(errno));
    done = wait_for(action, &s, count, wait_s);
    tell(v, &s, action, done);
    close(s.fd);
    return done ? TSM_EXIT_OK : TSM_EXIT_NO;
}

static int run(const struct tsm_command *command, void *values, const struct tsm_words *words)
{
    char *end;
    unsigned long pid = strtoul(words->words[1], &end, 10);

    if (*end || end == words->words[1] || pid == 0 || pid > INT_MAX)
        return tsm_complain("'%s' is no process id", words->words[1]);
    for (size_t i = 0; i < sizeof(actions) / sizeof(actions[0]); i++)
        if (strcmp(words->words[0], actions[i].name) == 0)
            return carry_out(values, &actions[i], (unsigned)pid);
    return tsm_complain("'%s' is none of start, stop, checkpoint, status", words->words[0]);
}

const struct tsm_command tsm_command_ctl = {
    .name = "ctl",
    .alias = "tsctl",
    .summary = "start and stop the recording of a program that runs",
    .synopsis = "[OPTION]... start|stop|checkpoint|status PID",
    .description =
        "Tells a program that runs under tsrecord what to do. PID is the program's, or that of "
        "tsrecord "
        "or of another process that has started it. The program "
        "must be started so that recording "
        "can begin later: with 'tsrecord --start=paused'. Until then its commands are not "
        "recorded, but what makes and frees objects is; when recording starts, the contents of the "
        "GPU's memory are saved, so that the trace can be replayed from there.\n\n"
        "start begins recording with the program's next GPU call. stop ends it for good; the trace "
        "is complete when tsctl returns. checkpoint saves the GPU's memory once, so that "
        "'tsreplay --range' can begin there. status only tells.\n\n"
        "Nothing runs in the program to receive this: the order is written into the buffer file "
        "beside the trace, so you must be allowed to write that file.",
    .examples = "tsrecord --start=paused -o t.sbt ./server &\n"
                "tsctl start $!\n"
                "tsctl stop $!\n",
    .exit_status = "0|done\n"
                   "1|not done yet; it will be when the program gets there\n"
                   "2|no such process, or it is not being recorded",
    .options = options,
    .values_size = sizeof(struct ctl_values),
    .operand = "start|stop|checkpoint|status",
    .word_min = 2,
    .word_max = 2,
    .run = run,
};
