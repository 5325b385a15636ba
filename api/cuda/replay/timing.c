/* SPDX-License-Identifier: Apache-2.0
 *
 * Times of commands on the device: an event right in front of the driver's call that sends a
 * command, and one right behind it, in its stream. A graph that is launched is one command.
 *
 * Nothing is timed while any stream is captured: an event would become part of the graph. Events
 * are used again when their times were read, so that there are no more than commands under way.
 *
 * In the virtual time of the software GPU there are no events, which would take time themselves: it
 * says exactly when it carried out what a call sent (api/cuda/abi_times.h).
 */
#include "api/cuda/replay/state.h"

#include "base/clock.h"

#include <stdlib.h>

#define RESOLUTION_NS 500u /* of events, as the driver's documentation has it */
#define LOOK_COUNT    64u  /* commands under way before one looks for those that are complete */

struct cuda_timed {
    struct cuda_timed *next; /* under way: the next younger one */
    struct cuda_stream_state *stream;
    struct tsm_emu_ticket *ticket; /* in place of the events */
    CUevent first, last;
    CUcontext context; /* of the events */
    CUstream raw;
    uint64_t seq, position;
    bool is_begun, is_ended; /* the events were recorded */
    bool is_blocking;        /* the call returns when the command is complete */
};

/* The moment in which a context's times begin. */
struct cuda_time_origin {
    struct cuda_time_origin *next;
    CUcontext context;
    CUevent event;
    uint64_t host_ns; /* since the run began */
};

/* The command that this thread is submitting. */
static _Thread_local struct cuda_timed *current;

/* ---- the clock ----------------------------------------------------------------------------- */

static struct cuda_time_origin *find_origin(const struct cuda_replay *replay, CUcontext context)
{
    struct cuda_time_origin *origin = replay->timing.origins;

    while (origin && origin->context != context)
        origin = origin->next;
    return origin;
}

/* The context is current. In a stream of its own, on which nothing waits. */
static CUresult record_origin(const struct cuda_replay *replay, struct cuda_time_origin *origin)
{
    const struct cuda_real *driver = &replay->library.calls;
    CUstream own = NULL;
    CUresult result = driver->cuEventCreate(&origin->event, CU_EVENT_DEFAULT);

    if (result == CUDA_SUCCESS)
        result = driver->cuStreamCreate(&own, CU_STREAM_NON_BLOCKING);
    if (result == CUDA_SUCCESS)
        result = driver->cuEventRecord(origin->event, own);
    if (result == CUDA_SUCCESS)
        result = driver->cuEventSynchronize(origin->event);
    origin->host_ns = tsm_monotonic_ns() - replay->timing.start_ns;
    if (own)
        driver->cuStreamDestroy_v2(own);
    return result;
}

/* The streams' lock is held. */
static bool make_origin(struct cuda_replay *replay, CUcontext context)
{
    struct cuda_time_origin *origin = find_origin(replay, context);

    if (origin)
        return origin->event != NULL;
    origin = calloc(1, sizeof(*origin));
    if (!origin)
        return false;
    origin->context = context;
    if (record_origin(replay, origin) != CUDA_SUCCESS)
        origin->event = NULL;
    origin->next = replay->timing.origins;
    replay->timing.origins = origin;
    return origin->event != NULL;
}

static bool has_origin(struct cuda_replay *replay, CUcontext context)
{
    bool has;

    pthread_mutex_lock(&replay->streams_lock);
    has = make_origin(replay, context);
    pthread_mutex_unlock(&replay->streams_lock);
    return has;
}

/* Distance of a float of milliseconds, and how wide its last bit is. */
static uint64_t nanoseconds(float ms, uint64_t *error_ns)
{
    const double ns = ms > 0 ? (double)ms * 1e6 : 0;

    *error_ns = RESOLUTION_NS + (uint64_t)(ns / (1 << 24));
    return (uint64_t)ns;
}

/* Reads the times of a command that is complete: the one place where a driver is asked for them. */
static CUresult read_times(const struct cuda_replay *replay, const struct cuda_timed *timed,
                           struct tsm_replay_time *out)
{
    const struct cuda_real *driver = &replay->library.calls;
    const struct cuda_time_origin *origin = find_origin(replay, timed->context);
    uint64_t unused;
    float start = 0, length = 0;
    CUresult result;

    if (!origin)
        return CUDA_ERROR_NOT_FOUND;
    result = driver->cuEventElapsedTime(&start, origin->event, timed->first);
    if (result == CUDA_SUCCESS)
        result = driver->cuEventElapsedTime(&length, timed->first, timed->last);
    out->start_ns = origin->host_ns + nanoseconds(start, &out->error_ns);
    out->duration_ns = nanoseconds(length, &unused);
    return result;
}

/* ---- tickets ------------------------------------------------------------------------------- */

/* Reads the times of a command that has none yet. Returns false while it has not run. */
static bool read_ticket(struct cuda_replay *replay, struct cuda_timed *timed,
                        struct tsm_replay_time *out)
{
    uint64_t start_ns = 0, end_ns = 0;
    const enum tsm_emu_times_state state =
        replay->clock.times->read(timed->ticket, &start_ns, &end_ns);

    if (state == TSM_EMU_TIMES_NOT_YET)
        return false;
    timed->ticket = NULL;
    if (state != TSM_EMU_TIMES_KNOWN)
        return true;
    out->flags = SBT_GPU_TIME_VIRTUAL;
    out->start_ns = start_ns - replay->clock.begin_ns;
    out->duration_ns = end_ns - start_ns;
    tsm_time_list_add(&replay->timing.done, out);
    return true;
}

static void drop_ticket(const struct cuda_replay *replay, struct cuda_timed *timed)
{
    if (timed->ticket)
        replay->clock.times->drop(timed->ticket);
    timed->ticket = NULL;
}

/* ---- commands ------------------------------------------------------------------------------ */

static void give(struct cuda_timed *timed)
{
    timed->next = timed->stream->timed_free;
    timed->stream->timed_free = timed;
}

/* Takes the oldest one, if it is complete. */
static bool take_first(struct cuda_replay *replay, struct cuda_stream_state *stream)
{
    struct cuda_timed *timed = stream->timed;
    struct tsm_replay_time time = {.seq = timed->seq,
                                   .position = timed->position,
                                   .stream = stream->number,
                                   .flags = timed->is_blocking ? SBT_GPU_TIME_AT_MOST : 0};

    if (timed->ticket ? !read_ticket(replay, timed, &time)
                      : replay->library.calls.cuEventQuery(timed->last) != CUDA_SUCCESS)
        return false;
    if (timed->last && read_times(replay, timed, &time) == CUDA_SUCCESS)
        tsm_time_list_add(&replay->timing.done, &time);
    stream->timed = timed->next;
    if (!stream->timed)
        stream->timed_last = NULL;
    stream->timed_count--;
    give(timed);
    return true;
}

/* Takes those that are complete, oldest first. The context is current. */
static void take_complete(struct cuda_replay *replay, struct cuda_stream_state *stream)
{
    while (stream->timed && take_first(replay, stream)) {
    }
}

static void destroy_events(const struct cuda_replay *replay, struct cuda_timed *timed)
{
    if (timed->first)
        replay->library.calls.cuEventDestroy_v2(timed->first);
    if (timed->last)
        replay->library.calls.cuEventDestroy_v2(timed->last);
    free(timed);
}

static struct cuda_timed *make(const struct cuda_replay *replay, struct cuda_stream_state *stream)
{
    const struct cuda_real *driver = &replay->library.calls;
    struct cuda_timed *timed = calloc(1, sizeof(*timed));

    if (!timed)
        return NULL;
    timed->stream = stream;
    timed->context = stream->context;
    if (replay->clock.times)
        return timed;
    if (driver->cuEventCreate(&timed->first, CU_EVENT_DEFAULT) == CUDA_SUCCESS &&
        driver->cuEventCreate(&timed->last, CU_EVENT_DEFAULT) == CUDA_SUCCESS)
        return timed;
    destroy_events(replay, timed);
    return NULL;
}

static struct cuda_timed *take(struct cuda_replay *replay, struct cuda_stream_state *stream)
{
    struct cuda_timed *timed;

    if (!stream->timed_free && stream->timed_count >= LOOK_COUNT)
        take_complete(replay, stream);
    timed = stream->timed_free;
    if (!timed)
        return make(replay, stream);
    stream->timed_free = timed->next;
    return timed;
}

bool cuda_timing_wants(const struct cuda_replay *replay, const struct sbt_record *record,
                       const struct sbt_schema *schema)
{
    return replay->timing.is_on && record->seq >= replay->timing.seq_first &&
           schema->kind == SBT_KIND_COMMAND && !replay->capture_count &&
           !(record->flags & (SBT_RECORD_CAPTURED | SBT_RECORD_FAILED));
}

struct cuda_timed *cuda_timing_begin(struct cuda_replay *replay, const struct sbt_record *record,
                                     const struct sbt_schema *schema, CUstream raw)
{
    struct cuda_stream_state *stream = cuda_stream_find(replay, record->stream);
    struct cuda_timed *timed;

    if (!stream || !stream->is_made ||
        replay->library.calls.cuCtxSetCurrent(stream->context) != CUDA_SUCCESS ||
        (!replay->clock.times && !has_origin(replay, stream->context)))
        return NULL;
    timed = take(replay, stream);
    if (!timed)
        return NULL;
    timed->raw = raw;
    timed->seq = record->seq;
    timed->position = record->position;
    timed->is_blocking = (schema->flags & SBT_SCHEMA_BLOCKS) != 0;
    timed->is_begun = timed->is_ended = false;
    current = timed;
    return timed;
}

void cuda_args_place(struct cuda_args *args)
{
    const struct cuda_replay *replay = args->replay;

    if (args->error)
        return;
    cuda_clock_send(args->replay);
    if (!replay->placed.is_begun || replay->placed.has_waited)
        return;
    args->error = cuda_place_send(args->replay);
    cuda_clock_send(args->replay);
}

void cuda_args_send(struct cuda_args *args)
{
    const struct cuda_replay *replay = args->replay;

    cuda_args_place(args);
    if (!current || args->error)
        return;
    current->is_ended = false;
    if (replay->clock.times) {
        drop_ticket(replay, current);
        current->ticket = replay->clock.times->begin();
        current->is_begun = current->ticket != NULL;
        return;
    }
    current->is_begun = args->driver->cuEventRecord(current->first, current->raw) == CUDA_SUCCESS;
}

void cuda_args_sent(const struct cuda_args *args)
{
    const struct tsm_emu_times *times = args->replay->clock.times;

    if (!current || !current->is_begun || current->is_ended)
        return;
    if (times)
        times->end(current->ticket);
    current->is_ended =
        times || args->driver->cuEventRecord(current->last, current->raw) == CUDA_SUCCESS;
}

void cuda_timing_end(struct cuda_replay *replay, struct cuda_timed *timed, bool is_sent)
{
    struct cuda_stream_state *stream = timed->stream;

    current = NULL;
    if (!is_sent || !timed->is_ended) {
        if (timed->is_begun && !timed->is_ended && timed->ticket)
            replay->clock.times->end(timed->ticket);
        drop_ticket(replay, timed);
        give(timed);
        return;
    }
    timed->next = NULL;
    if (stream->timed_last)
        stream->timed_last->next = timed;
    else
        stream->timed = timed;
    stream->timed_last = timed;
    stream->timed_count++;
}

/* ---- runs ---------------------------------------------------------------------------------- */

static void drop_free(const struct cuda_replay *replay, struct cuda_stream_state *stream)
{
    while (stream->timed_free) {
        struct cuda_timed *timed = stream->timed_free;

        stream->timed_free = timed->next;
        destroy_events(replay, timed);
    }
}

/* Takes what is complete of a stream, and drops the rest. */
static void leave_stream(struct cuda_replay *replay, struct cuda_stream_state *stream)
{
    take_complete(replay, stream);
    while (stream->timed) {
        struct cuda_timed *timed = stream->timed;

        stream->timed = timed->next;
        drop_ticket(replay, timed);
        give(timed);
    }
    stream->timed_last = NULL;
    stream->timed_count = 0;
    drop_free(replay, stream);
}

void cuda_timing_await(struct cuda_replay *replay, const struct cuda_stream_state *stream)
{
    if (!stream->timed_last)
        return;
    if (replay->clock.times)
        replay->library.calls.cuStreamSynchronize(stream->raw);
    else
        replay->library.calls.cuEventSynchronize(stream->timed_last->last);
}

void cuda_timing_leave(struct cuda_replay *replay, CUcontext context)
{
    struct cuda_time_origin **at = &replay->timing.origins;
    CUcontext before = NULL;

    if (!find_origin(replay, context))
        return;
    replay->library.calls.cuCtxGetCurrent(&before);
    if (replay->library.calls.cuCtxSetCurrent(context) == CUDA_SUCCESS)
        for (size_t i = 0; i < replay->stream_capacity; i++)
            if (replay->streams[i] && replay->streams[i]->context == context)
                leave_stream(replay, replay->streams[i]);
    replay->library.calls.cuCtxSetCurrent(before);
    while ((*at)->context != context)
        at = &(*at)->next;
    struct cuda_time_origin *gone = *at;
    *at = gone->next;
    free(gone); /* its event goes with the context */
}

int cuda_timing_start(struct cuda_replay *replay, uint64_t seq_first)
{
    replay->timing.is_on = true;
    replay->timing.seq_first = seq_first;
    replay->timing.start_ns = tsm_monotonic_ns();
    return 0;
}

int cuda_timing_report(struct cuda_replay *replay, tsm_time_user report, void *user)
{
    while (replay->timing.origins)
        cuda_timing_leave(replay, replay->timing.origins->context);
    for (size_t i = 0; replay->clock.times && i < replay->stream_capacity; i++)
        if (replay->streams[i])
            leave_stream(replay, replay->streams[i]);
    replay->timing.is_on = false;
    return tsm_time_list_report(&replay->timing.done, report, user);
}

/* The contexts are gone, and their events with them. */
void cuda_timing_finish(struct cuda_replay *replay)
{
    for (size_t i = 0; i < replay->stream_capacity; i++) {
        struct cuda_stream_state *stream = replay->streams[i];

        while (stream && (stream->timed || stream->timed_free)) {
            struct cuda_timed **list = stream->timed ? &stream->timed : &stream->timed_free;
            struct cuda_timed *timed = *list;

            *list = timed->next;
            drop_ticket(replay, timed);
            free(timed);
        }
    }
    while (replay->timing.origins) {
        struct cuda_time_origin *origin = replay->timing.origins;

        replay->timing.origins = origin->next;
        free(origin);
    }
    tsm_time_list_finish(&replay->timing.done);
}
