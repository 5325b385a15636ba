/* SPDX-License-Identifier: Apache-2.0
 *
 * The main thread walks the trace in its total order and deals out work. Commands go to their
 * stream's worker, all else is carried out in between, when everything before it has been
 * submitted. What the program waited for, we wait for: a later record may depend on it in ways that
 * no record shows.
 */
#include "replay/walk.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "api/traits.h"
#include "base/clock.h"
#include "format/filter.h"
#include "replay/schedule_run.h"

#define PROGRESS_RECORDS 4096 /* between two calls of options.progress */

/* ---- waiting ------------------------------------------------------------------------------ */

static int await_last(struct tsm_replay *p, struct tsm_worker *w)
{
    struct tsm_place place = tsm_worker_last(w);

    return tsm_crew_await(p->crew, &place);
}

/* Finishes the host worker's jobs before any record but a command, which waits by itself. */
static int settle_host(struct tsm_replay *p)
{
    if (!p->is_host_behind)
        return 0;
    p->is_host_behind = false;
    return await_last(p, p->host);
}

/* Waits until all jobs dealt out so far are sent to the device. */
static int await_submitted(struct tsm_replay *p)
{
    int error = settle_host(p);

    for (uint32_t i = 0; i < p->order.track_count && !error; i++)
        if (p->order.tracks[i].worker)
            error = await_last(p, p->order.tracks[i].worker);
    return error;
}

/* Waits until all jobs dealt out so far to the stream and to the host's worker are done: waits of
 * the host and commands that are calls have returned then. */
int tsm_walk_await_sent(struct tsm_replay *p, uint32_t stream)
{
    struct tsm_track *track = &p->order.tracks[stream];
    int error = settle_host(p);

    return error || !track->worker ? error : await_last(p, track->worker);
}

int tsm_walk_find_stuck(struct tsm_replay *p, bool *is_stuck)
{
    const struct tsm_backend_waits *waits = p->backend->waits;
    int error = 0;

    *is_stuck = false;
    for (uint32_t i = 0; i < p->order.track_count; i++)
        *is_stuck |= p->order.tracks[i].may_stay;
    if (*is_stuck || !waits || !waits->is_stuck)
        return 0;
    error = await_submitted(p);
    *is_stuck = !error && waits->is_stuck(p->state);
    return error;
}

/* A stream was waited for. Where commands have failed, that says nothing of those on it. */
static void note_complete(struct tsm_replay *p, struct tsm_track *track)
{
    if (!atomic_load(&p->failures.any))
        track->complete_position = track->position;
    track->may_stay = false;
}

int tsm_walk_wait_for_stream(struct tsm_replay *p, uint32_t stream)
{
    struct tsm_track *track = &p->order.tracks[stream];
    struct tsm_job job = {.kind = TSM_JOB_WAIT, .stream = stream};
    int error = settle_host(p);

    if (error || !track->worker || track->complete_position == track->position)
        return error;
    error = tsm_worker_add(track->worker, &job, NULL);
    if (!error)
        error = await_last(p, track->worker);
    if (!error)
        note_complete(p, track);
    p->last_complete_ns = tsm_monotonic_ns();
    return error;
}

/* Stream by stream first: when one hangs, its own worker is the one that does not come back.
 * `api`: only its streams, 0: all. */
static int wait_for_streams(struct tsm_replay *p, uint32_t api)
{
    int error = 0;

    for (uint32_t i = 0; i < p->order.track_count && !error; i++) {
        struct tsm_track *track = &p->order.tracks[i];
        struct tsm_job job = {.kind = TSM_JOB_WAIT, .stream = i};
        if (track->worker && track->complete_position != track->position &&
            (!api || track->api == api))
            error = tsm_worker_add(track->worker, &job, NULL);
    }
    for (uint32_t i = 0; i < p->order.track_count && !error; i++) {
        struct tsm_track *track = &p->order.tracks[i];
        if (!track->worker || (api && track->api != api) ||
            (!p->is_alone && (error = await_last(p, track->worker))))
            continue;
        note_complete(p, track);
    }
    return error;
}

/* Alone, this thread goes on: later records have later places. */
static int wait_in_order(struct tsm_replay *p, bool is_whole)
{
    struct tsm_job job = {.kind = TSM_JOB_WAIT, .stream = SBT_STREAM_NONE};
    int error = wait_for_streams(p, 0);

    p->is_host_behind = true;
    return error || !is_whole ? error : tsm_worker_add(p->host, &job, NULL);
}

int tsm_walk_wait_for_device(struct tsm_replay *p)
{
    int error = p->is_alone ? 0 : settle_host(p);

    if (!error)
        error = wait_in_order(p, true);
    if (!error)
        error = settle_host(p);
    p->last_complete_ns = tsm_monotonic_ns();
    return error;
}

int tsm_walk_wait_for_api(struct tsm_replay *p, uint32_t api)
{
    struct tsm_job job = {.kind = TSM_JOB_WAIT, .stream = SBT_STREAM_NONE, .api = api};
    int error;

    if (!p->backend->wait_for_api || !api)
        return tsm_walk_wait_for_device(p);
    error = settle_host(p);
    if (!error)
        error = wait_for_streams(p, api);
    if (!error)
        error = tsm_worker_add(p->host, &job, NULL);
    if (!error)
        error = await_last(p, p->host);
    p->last_complete_ns = tsm_monotonic_ns();
    return error;
}

bool tsm_walk_is_past(const struct tsm_replay *p, const struct sbt_record *record)
{
    return p->has_need && record->seq >= p->need.until_seq_other;
}

void tsm_walk_settle(struct tsm_replay *p, int equal)
{
    if (!equal && !p->options.keep_going)
        p->stop = true;
}

/* ---- records on no stream ----------------------------------------------------------------- */

/* Carries out a record on the host's worker: the main thread goes on if the call never returns. */
int tsm_walk_host(struct tsm_replay *p, const struct sbt_record *record,
                  const struct sbt_schema *schema, enum tsm_job_kind kind)
{
    struct tsm_job job = {.kind = kind, .record = record, .schema = schema};
    int error = p->is_alone ? 0 : tsm_order_before_host(&p->order);

    if (!p->is_alone) {
        job.after = p->order.after;
        job.after_count = p->order.after_count;
    }
    if (!error)
        error = tsm_worker_add(p->host, &job, NULL);
    if (error)
        return error;
    p->is_host_behind = true;
    return p->backend->host_runs_behind ? 0 : settle_host(p);
}

static int sync_event(struct tsm_replay *p, const struct sbt_record *record,
                      const struct sbt_schema *schema, const struct tsm_signal *signal)
{
    struct tsm_track *track = &p->order.tracks[signal->stream];
    struct tsm_job job = {TSM_JOB_SYNC, record, schema, &signal->place, 1, SBT_STREAM_NONE, 0};
    int error;

    if (!p->backend->sync || signal->is_skipped)
        return tsm_walk_wait_for_stream(p, signal->stream);
    error = settle_host(p);
    if (!error)
        error = tsm_worker_add(p->host, &job, NULL);
    if (!error)
        error = await_last(p, p->host);
    if (!error && track->complete_position < signal->position && !atomic_load(&p->failures.any))
        track->complete_position = signal->position;
    p->last_complete_ns = tsm_monotonic_ns();
    return error;
}

/* The object may also be a context, and stand for the whole device. */
static bool is_event_sync(const struct sbt_schema *schema)
{
    int object = sbt_schema_role(schema, SBT_ROLE_OBJECT);

    return object >= 0 && (tsm_object_traits(schema->fields[object].detail) & TSM_OBJECT_EVENT);
}

static bool owns_sync(const struct tsm_replay *p, const struct sbt_record *record)
{
    return record->stream == SBT_STREAM_NONE && p->backend->sync && p->backend->sync->owns &&
           p->backend->sync->owns(p->state, record);
}

static int do_sync(struct tsm_replay *p, const struct sbt_record *record,
                   const struct sbt_schema *schema)
{
    struct tsm_signal signal;
    int error;

    if (owns_sync(p, record))
        error = tsm_walk_host(p, record, schema, TSM_JOB_SYNC);
    else if (p->is_alone)
        error = wait_in_order(p, record->stream == SBT_STREAM_NONE);
    else if (record->stream != SBT_STREAM_NONE)
        error =
            record->stream < p->order.track_count ? tsm_walk_wait_for_stream(p, record->stream) : 0;
    else if (is_event_sync(schema) && tsm_order_signal(&p->order, record, schema, &signal))
        error = sync_event(p, record, schema, &signal);
    else if (is_event_sync(schema))
        error = 0; /* an event that was never signalled, or not in this replay */
    else
        error = tsm_walk_wait_for_api(p, SBT_TYPE_API(record->type));
    if (!error && p->options.grain >= TSM_GRAIN_SYNC)
        error = tsm_walk_regions(p, record);
    return error;
}

/* ---- commands ----------------------------------------------------------------------------- */

static bool is_needed(const struct tsm_replay *p, const struct sbt_record *record)
{
    uint64_t until = UINT64_MAX;

    if (record->seq < p->plan.from_seq)
        return false;
    if (!p->has_need)
        return true;
    if (record->stream == SBT_STREAM_NONE || (record->flags & SBT_RECORD_CAPTURED))
        until = p->need.until_seq_other;
    else if (record->stream < p->need.stream_count)
        until = p->need.until_seq[record->stream];
    return record->seq < until;
}

/* A command that was queued, and where. */
struct queued {
    struct tsm_order *order;
    const struct sbt_record *record;
    struct tsm_place place;
};

static int come_after(void *user, const struct tsm_event_use *use)
{
    return tsm_order_after_event(user, use);
}

static int note_use(void *user, const struct tsm_event_use *use)
{
    const struct queued *q = user;

    return tsm_order_note_event(q->order, use, q->record, q->place);
}

static int each_event(struct tsm_replay *p, const struct sbt_record *record, tsm_event_user report,
                      void *user)
{
    const struct tsm_backend_waits *waits = p->backend->waits;

    return waits && waits->each_event ? waits->each_event(p->state, record, report, user) : 0;
}

static int before_command(struct tsm_replay *p, const struct sbt_record *record,
                          const struct sbt_schema *schema)
{
    int error = tsm_order_before(&p->order, record, schema);

    if (!error)
        error = each_event(p, record, come_after, &p->order);
    if (!error && p->is_host_behind && !p->is_alone)
        error = tsm_order_add(&p->order, tsm_worker_last(p->host));
    return error;
}

/* Returns a command's place on its stream: as recorded, or in the order of a schedule. */
static uint64_t position_of(const struct tsm_replay *p, const struct sbt_record *record)
{
    return p->scheduled ? p->scheduled->ordinal : record->position;
}

static int after_command(struct tsm_replay *p, const struct sbt_record *record,
                         const struct sbt_schema *schema, struct tsm_place place)
{
    struct sbt_record placed = *record;
    struct queued queued = {&p->order, &placed, place};

    placed.position = position_of(p, record);
    int error = tsm_order_submitted(&p->order, &placed, schema, place);

    return error ? error : each_event(p, &placed, note_use, &queued);
}

static int enqueue(struct tsm_replay *p, const struct sbt_record *record,
                   const struct sbt_schema *schema, struct tsm_place *place)
{
    const struct tsm_backend_waits *waits = p->backend->waits;
    struct tsm_track *track = &p->order.tracks[record->stream];
    int error = 0;

    if (!track->worker && p->is_alone)
        track->worker = p->host;
    else if (!track->worker)
        error = tsm_worker_create(&track->worker, p->crew, record->stream);
    if (!error)
        error = before_command(p, record, schema);
    if (error)
        return error;
    bool is_hollow = tsm_reachability_is_apart(&p->connected, record->seq);
    struct tsm_job job = {is_hollow ? TSM_JOB_SUBMIT_SYNC_ONLY : TSM_JOB_SUBMIT,
                          record,
                          schema,
                          p->order.after,
                          p->order.after_count,
                          SBT_STREAM_NONE,
                          0};
    p->result.hollow_count += is_hollow;
    if (!p->first_submit_ns && record->seq >= p->part_first)
        p->first_submit_ns = tsm_monotonic_ns();
    error = tsm_worker_add(track->worker, &job, place);
    if (waits && waits->may_stay && waits->may_stay(p->state, record))
        track->may_stay = true;
    if (!error)
        error = after_command(p, record, schema, *place);
    p->result.command_count++;
    tsm_recorded_failures_sent(&p->failures, record->seq);
    return error;
}

/* The program came back from a blocking call when the GPU was done with it. */
static int await_blocking(struct tsm_replay *p, const struct sbt_record *record,
                          const struct sbt_schema *schema, const struct tsm_place *place)
{
    struct tsm_track *track = &p->order.tracks[record->stream];
    int error = tsm_crew_await(p->crew, place);

    /* One that only sends may return when the bytes have left the program. */
    if (!error && sbt_schema_role(schema, SBT_ROLE_HOST_DST) >= 0 &&
        !atomic_load(&p->failures.any) && track->complete_position < position_of(p, record))
        track->complete_position = position_of(p, record);
    return error;
}

int tsm_walk_command(struct tsm_replay *p, const struct sbt_record *record,
                     const struct sbt_schema *schema)
{
    bool each = p->options.grain == TSM_GRAIN_COMMAND || p->options.pace == TSM_PACE_STEPPED;
    struct tsm_place place;
    bool is_stuck;
    int error = enqueue(p, record, schema, &place);

    if (!error && (schema->flags & SBT_SCHEMA_BLOCKS))
        error = await_blocking(p, record, schema, &place);
    if (error || !each)
        return error;
    error = tsm_walk_find_stuck(p, &is_stuck);
    if (error || is_stuck)
        return error;
    error = tsm_walk_wait_for_stream(p, record->stream);
    if (!error && p->options.grain == TSM_GRAIN_COMMAND)
        error = tsm_walk_regions(p, record);
    return error;
}

/* ---- commands whose record comes late ----------------------------------------------------- */

static int pull_one(struct tsm_replay *p, const struct tsm_pull *pull, struct tsm_place *place)
{
    const struct sbt_record *record;
    int error = p->late_cursor ? 0 : sbt_cursor_create(&p->late_cursor, p->reader, NULL, 0);

    if (!error)
        error = sbt_cursor_seek(p->late_cursor, pull->seq);
    if (error < 0)
        return error;
    error = sbt_cursor_next(p->late_cursor, &record);
    if (error != 1 || record->seq != pull->seq)
        return error < 0 ? error : 0; /* damaged since: it will be missed, and said */
    if (!is_needed(p, record))
        return 0;
    bool added;
    uint64_t *index = tsm_map_insert(&p->pulled_index, pull->seq, &added);
    if (!index)
        return tsm_fail(TSM_E_MEMORY, "no memory for the order of commands");
    *index = p->next_pull + 1;
    return enqueue(p, record, tsm_plan_schema(p->reader, record), place);
}

static int pull_before(struct tsm_replay *p, const struct sbt_record *record)
{
    int error = 0;

    while (!error && p->next_pull < p->plan.pull_count &&
           p->plan.pulls[p->next_pull].before_seq <= record->seq) {
        error = pull_one(p, &p->plan.pulls[p->next_pull], &p->pulled[p->next_pull]);
        p->next_pull++;
    }
    return error;
}

/* Returns the place of a record that was submitted before its turn, of which only the end is left
 * to wait for; NULL if it was not. */
static const struct tsm_place *find_pulled(const struct tsm_replay *p,
                                           const struct sbt_record *record)
{
    const uint64_t *index = tsm_map_find(&p->pulled_index, record->seq);

    return index ? &p->pulled[*index - 1] : NULL;
}

static int finish_pulled(struct tsm_replay *p, const struct sbt_record *record,
                         const struct sbt_schema *schema, const struct tsm_place *place)
{
    return schema->flags & SBT_SCHEMA_BLOCKS ? await_blocking(p, record, schema, place) : 0;
}

/* ---- the walk ----------------------------------------------------------------------------- */

static void pace(struct tsm_replay *p, const struct sbt_record *record)
{
    uint64_t at = p->start_ns + (record->time_ns - p->plan.first_command_ns);
    struct timespec t = {(time_t)(at / 1000000000u), (long)(at % 1000000000u)};

    if (p->options.pace != TSM_PACE_RECORDED || record->time_ns < p->plan.first_command_ns)
        return;
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR) {
    }
}

/* Tests whether the backend follows records before the checkpoint. */
static bool fast_forwards(const struct tsm_replay *p)
{
    return p->backend->checkpoint && p->backend->checkpoint->fast_forward;
}

/* Loads the memory and all other state of the checkpoint that the replay starts from. */
static int do_loaded(struct tsm_replay *p, const struct sbt_record *record,
                     const struct sbt_schema *schema)
{
    if (!p->from || !record->slot_count || record->slots[0] != p->from->number)
        return 0;
    return tsm_walk_host(p, record, schema, TSM_JOB_HOST);
}

static int do_core(struct tsm_replay *p, const struct sbt_record *record,
                   const struct sbt_schema *schema)
{
    int error;

    switch (SBT_TYPE_CALL(record->type)) {
    case SBT_CORE_READBACK:
    case SBT_CORE_CHECKSUM:
        return p->scheduled ? tsm_schedule_run_result(p, record, schema)
                            : tsm_walk_result(p, record, schema);
    case SBT_CORE_HOST_WRITE:
    case SBT_CORE_HOST_RUNS:
        if (sbt_record_role(schema, record, SBT_ROLE_OF_STREAM, SBT_STREAM_NONE) != SBT_STREAM_NONE)
            return 0; /* by a command, which carries it out when it runs */
        error = p->scheduled ? tsm_schedule_run_host_write(p, record, schema) : 0;
        if (error)
            return error;
        return is_needed(p, record) ? tsm_walk_host(p, record, schema, TSM_JOB_HOST) : 0;
    case SBT_CORE_COMPLETE:
        if (!p->backend->sync || !p->backend->sync->reached || record->seq < p->plan.from_seq ||
            !is_needed(p, record))
            return 0;
        return p->scheduled ? tsm_schedule_run_wait(p, record, schema)
                            : tsm_walk_host(p, record, schema, TSM_JOB_REACHED);
    case SBT_CORE_CHECKPOINT_BEGIN: /* the GPU was waited for: what follows relies on it */
        if (record->seq >= p->plan.from_seq)
            return tsm_walk_wait_for_device(p);
        return fast_forwards(p) ? do_loaded(p, record, schema) : 0;
    case SBT_CORE_MEMORY:
        return do_loaded(p, record, schema);
    case SBT_CORE_STATE:
    case SBT_CORE_CHECKPOINT_END:
        return fast_forwards(p) ? do_loaded(p, record, schema) : 0;
    default:
        return 0;
    }
}

static int do_call(struct tsm_replay *p, const struct sbt_record *record,
                   const struct sbt_schema *schema)
{
    const struct tsm_place *pulled;
    int error;

    if (record->flags & SBT_RECORD_CAPTURED)
        return tsm_walk_host(p, record, schema, TSM_JOB_HOST);
    switch (schema->kind) {
    case SBT_KIND_META:
        return 0;
    case SBT_KIND_QUERY:
        if (owns_sync(p, record))
            return do_sync(p, record, schema);
        if (p->scheduled)
            tsm_schedule_run_asked(p, record);
        /* Most change nothing; one that tells an address may have to be asked again. */
        if (sbt_schema_role(schema, SBT_ROLE_ADDRESS) < 0)
            return 0;
        return tsm_walk_host(p, record, schema, TSM_JOB_HOST);
    case SBT_KIND_SYNC:
        return p->scheduled ? tsm_schedule_run_wait(p, record, schema) : do_sync(p, record, schema);
    case SBT_KIND_COMMAND:
    case SBT_KIND_SIGNAL:
    case SBT_KIND_WAIT:
        if (record->stream == SBT_STREAM_NONE)
            return tsm_walk_host(p, record, schema, TSM_JOB_HOST);
        if (p->scheduled)
            return tsm_schedule_run_command(p, record, schema);
        pulled = find_pulled(p, record);
        return pulled ? finish_pulled(p, record, schema, pulled)
                      : tsm_walk_command(p, record, schema);
    default:
        error = p->scheduled ? tsm_schedule_run_destroy(p, record, schema) : 0;
        return error ? error : tsm_walk_host(p, record, schema, TSM_JOB_HOST);
    }
}

/* Carries out a record before the checkpoint, if it creates, frees or sets something that still
 * exists at the checkpoint. */
static int do_early(struct tsm_replay *p, const struct sbt_record *record,
                    const struct sbt_schema *schema)
{
    if (record->flags & SBT_RECORD_CAPTURED)
        return do_call(p, record, schema);
    switch (schema->kind) {
    case SBT_KIND_META:
    case SBT_KIND_SYNC:
        return 0;
    case SBT_KIND_COMMAND:
    case SBT_KIND_SIGNAL:
    case SBT_KIND_WAIT:
        if (tsm_call_traits(schema).traits & TSM_TRAIT_GLOBAL && !fast_forwards(p))
            return tsm_walk_host(p, record, schema, TSM_JOB_HOST);
        p->result.jumped_count++;
        return fast_forwards(p) ? tsm_walk_host(p, record, schema, TSM_JOB_FAST_FORWARD) : 0;
    case SBT_KIND_QUERY:
        return sbt_schema_role(schema, SBT_ROLE_ADDRESS) < 0 ? 0 : do_call(p, record, schema);
    default:
        if (tsm_map_find(&p->plan.dead, record->seq + 1))
            return 0;
        return fast_forwards(p) ? tsm_walk_host(p, record, schema, TSM_JOB_FAST_FORWARD)
                                : do_call(p, record, schema);
    }
}

/* A command that is left out: where the host learns that it is done, what was replayed of its
 * stream before it must be done. */
static int skip_command(struct tsm_replay *p, const struct sbt_record *record,
                        const struct sbt_schema *schema)
{
    if (record->stream >= p->order.track_count || (record->flags & SBT_RECORD_CAPTURED))
        return 0;
    if (schema->flags & SBT_SCHEMA_BLOCKS)
        return tsm_walk_wait_for_stream(p, record->stream);
    return schema->kind == SBT_KIND_SIGNAL ? tsm_order_skipped(&p->order, record, schema) : 0;
}

static int do_record(struct tsm_replay *p, const struct sbt_record *record)
{
    const struct sbt_schema *schema = tsm_plan_schema(p->reader, record);
    int error = p->scheduled ? tsm_schedule_run_before(p, record->seq) : pull_before(p, record);

    if (error || p->stop)
        return error;
    enum tsm_treatment treatment = tsm_plan_treatment(p->backend->description, record, schema);
    if (treatment == TSM_TREAT_SKIP && p->failures.count)
        error = tsm_failures_await(p, record->seq, tsm_walk_wait_for_stream);
    if (treatment != TSM_TREAT_REPLAY) {
        p->result.skipped_count +=
            treatment != TSM_TREAT_OTHER && !tsm_recorded_failures_of(&p->failures, record->seq);
        return error;
    }
    if (SBT_TYPE_API(record->type) == SBT_API_CORE)
        return do_core(p, record, schema);
    if (schema->kind == SBT_KIND_SYNC && tsm_walk_is_past(p, record))
        return 0;
    if (record->seq < p->plan.from_seq)
        return do_early(p, record, schema);
    /* Waits, too, after a stream's last command: what the host writes next relies on them. */
    if (schema->kind != SBT_KIND_SYNC && !is_needed(p, record)) {
        p->result.skipped_count++;
        return tsm_walk_is_past(p, record) ? 0 : skip_command(p, record, schema);
    }
    pace(p, record);
    return do_call(p, record, schema);
}

int tsm_walk_wait(struct tsm_replay *p, const struct sbt_record *record,
                  const struct sbt_schema *schema)
{
    return SBT_TYPE_API(record->type) == SBT_API_CORE
               ? tsm_walk_host(p, record, schema, TSM_JOB_REACHED)
               : do_sync(p, record, schema);
}

/* Does what options.inspect asks for. */
static int inspect(struct tsm_replay *p, const struct sbt_record *record)
{
    int error = 0;

    if (!p->options.inspect || record->seq < p->plan.from_seq || !is_needed(p, record) ||
        !p->backend->inspect->wants(p->state, record))
        return 0;
    error = tsm_walk_wait_for_device(p);
    if (!error)
        error = p->backend->inspect->write(p->state, record);
    p->stop |= error == 1;
    return error < 0 ? error : 0;
}

/* Unblocks waiting commands. Call when everything has been submitted. */
static int let_go(struct tsm_replay *p)
{
    int error = await_submitted(p);

    if (!error)
        error = p->backend->waits->unblock(p->state);
    p->has_unblocked_waiters |= error > 0;
    return error < 0 ? error : 0;
}

static int end(struct tsm_replay *p)
{
    int error = p->backend->waits ? let_go(p) : 0;

    if (!error)
        error = tsm_walk_wait_for_device(p);
    return !error && p->backend->inspect ? p->backend->inspect->finish(p->state) : error;
}

/* Takes the snapshot at the begin of the part that is repeated. */
static int hold(struct tsm_replay *p)
{
    bool is_stuck;
    int error = tsm_walk_find_stuck(p, &is_stuck);

    p->must_hold = false;
    if (!error && !is_stuck)
        error = tsm_walk_wait_for_device(p);
    for (uint32_t i = 0; i < p->order.track_count; i++)
        if (p->plan.early_positions[i] < p->order.tracks[i].position)
            p->plan.early_positions[i] = p->order.tracks[i].position;
    if (!error && !is_stuck)
        error = p->backend->loop->snapshot(p->state);
    /* Earlier work waits for the part: each repetition runs from the beginning. */
    p->cannot_hold = is_stuck || error == TSM_E_UNSUPPORTED;
    return p->cannot_hold ? 0 : error;
}

int tsm_walk(struct tsm_replay *p)
{
    struct sbt_filter filter = {.seq_end = p->options.filter.seq_end,
                                .seq_first = p->goes_back ? p->part_first : 0};
    struct sbt_cursor *cursor = NULL;
    const struct sbt_record *record;
    uint64_t done = 0;
    int error = sbt_cursor_create(&cursor, p->reader, &filter, 1), more = 1;

    while (!error && !p->stop && (more = sbt_cursor_next(cursor, &record)) == 1) {
        if (p->must_hold && record->seq >= p->part_first)
            error = hold(p);
        p->at = *record;
        if (!error)
            error = do_record(p, record);
        if (!error)
            error = inspect(p, record);
        if (!error && p->crew->error)
            error = tsm_crew_error(p->crew);
        if (!error && p->failures.count)
            tsm_failures_judge(p);
        if (p->options.progress && ++done % PROGRESS_RECORDS == 0)
            p->options.progress(p->options.user, done, p->plan.record_count);
    }
    sbt_cursor_destroy(cursor);
    if (!error && more < 0)
        error = more;
    if (!error && p->scheduled)
        error = tsm_schedule_run_before(p, UINT64_MAX);
    if (!error)
        error = end(p);
    if (!error && p->failures.count)
        tsm_failures_end(p);
    if (!error && p->scheduled)
        error = tsm_schedule_run_end(p);
    if (!error && p->options.progress)
        p->options.progress(p->options.user, p->plan.record_count, p->plan.record_count);
    return error;
}
