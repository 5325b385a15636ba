/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/rerun/reruns.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/text.h"
#include "replay/backend.h"
#include "replay/rerun/message.h"

enum kind {
    EXPLAIN,
    PART_MEMORY,
};

struct request {
    enum kind kind;
    struct tsm_difference plain; /* no address in it is used */
};

struct answer {
    int error;
    char message[512];
    struct tsm_explanation explanation;
    struct tsm_part_memory part;
};

/* ---- the process -------------------------------------------------------------------------- */

static void answer(struct answer *out, const struct request *request, struct sbt_reader *reader,
                   const struct tsm_replay_options *options)
{
    *out = (struct answer){0};
    out->error = request->kind == EXPLAIN
                     ? tsm_explain(&out->explanation, reader, options, &request->plain)
                     : tsm_part_memory_compare(&out->part, reader, options);
    if (out->error)
        tsm_format(out->message, sizeof(out->message), "%s", tsm_error_message());
}

/* Kernels may print, and the device's driver: once is enough. */
static void be_silent(void)
{
    int nothing = open("/dev/null", O_WRONLY | O_CLOEXEC);

    if (nothing < 0)
        return;
    dup2(nothing, STDOUT_FILENO);
    dup2(nothing, STDERR_FILENO);
    close(nothing);
}

static void serve(int socket, struct sbt_reader *reader, const struct tsm_replay_options *options)
{
    struct request request;
    struct answer *out = malloc(sizeof(*out));

    be_silent();
    while (out && tsm_message_receive(socket, &request, sizeof(request))) {
        request.plain.call = request.plain.function = "";
        answer(out, &request, reader, options);
        if (!tsm_message_send(socket, out, sizeof(*out)))
            break;
    }
    _exit(0);
}

bool tsm_reruns_are_for(const char *api)
{
    for (size_t i = 0; tsm_backends[i]; i++)
        if (strcmp(tsm_backends[i]->description->name, api) == 0)
            return tsm_backends[i]->schedule != NULL;
    return false;
}

/* ---- the caller --------------------------------------------------------------------------- */

static int no_process(void)
{
    return tsm_fail(TSM_E_IO, "cannot start a process for further replays: %s", strerror(errno));
}

int tsm_reruns_begin(struct tsm_reruns *r, struct sbt_reader *reader,
                     const struct tsm_replay_options *options)
{
    int ends[2];

    *r = (struct tsm_reruns){0};
    if (!tsm_message_pair(ends))
        return no_process();
    r->socket = ends[0];
    r->pid = fork();
    if (r->pid == 0) {
        close(ends[0]);
        serve(ends[1], reader, options);
    }
    close(ends[1]);
    if (r->pid > 0)
        return 0;
    tsm_reruns_end(r);
    return no_process();
}

static int ask(struct tsm_reruns *r, const struct request *request, struct answer *out)
{
    if (r->pid <= 0 || !tsm_message_send(r->socket, request, sizeof(*request)) ||
        !tsm_message_receive(r->socket, out, sizeof(*out)))
        return tsm_fail(TSM_E_STATE, "the process for further replays has ended");
    return out->error ? tsm_fail(out->error, "%s", out->message) : 0;
}

int tsm_reruns_explain(struct tsm_reruns *r, struct tsm_explanation *out,
                       const struct tsm_difference *plain)
{
    const struct request request = {.kind = EXPLAIN, .plain = *plain};
    struct answer got;
    int error = ask(r, &request, &got);

    if (!error)
        *out = got.explanation;
    return error;
}

int tsm_reruns_part_memory(struct tsm_reruns *r, struct tsm_part_memory *out)
{
    const struct request request = {.kind = PART_MEMORY};
    struct answer got;
    int error = ask(r, &request, &got);

    if (!error)
        *out = got.part;
    return error;
}

void tsm_reruns_end(struct tsm_reruns *r)
{
    if (!r->pid)
        return;
    close(r->socket);
    while (r->pid > 0 && waitpid(r->pid, NULL, 0) < 0 && errno == EINTR) {
    }
    *r = (struct tsm_reruns){0};
}
