/* SPDX-License-Identifier: Apache-2.0
 *
 * Making a replay, running it, and the verdict.
 */
#include "replay/player.h"

#include "replay/closing.h"
#include "replay/save.h"
#include "replay/schedule_run.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/text.h"

#define TIMEOUT_NS 60000000000u

static bool has_filter(const struct sbt_filter *f)
{
    return f->streams || f->seq_first || f->seq_end || f->time_first_ns || f->time_end_ns;
}

/* ---- one run ------------------------------------------------------------------------------ */

static int begin_run(struct tsm_replay *p)
{
    int error = tsm_order_init(&p->order, p->plan.stream_count);

    for (uint32_t i = 0; i < p->order.track_count; i++)
        p->order.tracks[i].is_made = p->plan.is_made[i];
    p->crew = calloc(1, sizeof(*p->crew));
    p->pulled = calloc(p->plan.pull_count + 1, sizeof(*p->pulled));
    if (error || !p->crew || !p->pulled)
        return error ? error : tsm_fail(TSM_E_MEMORY, "no memory to replay");
    p->crew->backend = p->backend;
    p->crew->state = p->state;
    p->crew->reader = p->reader;
    p->crew->permute = p->crew->random = p->options.permute;
    p->crew->delay = p->options.delay;
    p->crew->timeout_ns = p->options.timeout_ns ? p->options.timeout_ns : TIMEOUT_NS;
    p->stall.reader = p->reader;
    p->stall.backend = p->backend;
    p->stall.state = p->state;
    p->stall.timeout_ns = p->crew->timeout_ns;
    p->crew->stall = &p->stall;
    p->crew->at = &p->at;
    p->crew->failures = &p->failures;
    tsm_recorded_failures_begin(&p->failures, p->backend, p->state);
    p->verify.state = p->state;
    p->next_pull = 0;
    while (p->goes_back && p->next_pull < p->plan.pull_count &&
           p->plan.pulls[p->next_pull].seq < p->part_first)
        p->next_pull++;
    p->start_ns = tsm_monotonic_ns();
    p->first_submit_ns = 0;
    tsm_crew_init(p->crew);
    /* With a single stream, a separate host worker would only ping-pong. */
    p->is_alone = p->backend->host_runs_behind && p->plan.sending_count <= 1 &&
                  !p->options.permute && !p->scheduled;
    if (p->scheduled)
        tsm_schedule_run_begin(p->scheduled);
    return tsm_worker_create(&p->host, p->crew, SBT_STREAM_NONE);
}

/* Ends the run. Returns false if a worker hangs in the driver, which therefore cannot be closed. */
static bool end_run(struct tsm_replay *p, bool failed)
{
    bool ended = !p->crew || tsm_crew_finish(p->crew, failed);

    if (ended)
        free(p->crew);
    else
        p->left_crew = p->crew;
    p->crew = NULL;
    if (p->first_submit_ns && p->last_complete_ns > p->first_submit_ns) {
        p->result.elapsed_ns += p->last_complete_ns - p->first_submit_ns;
        if (p->loop_ns && (!p->options.timed_runs || tsm_timing_is_timed(p)))
            p->loop_ns[p->loop_count++] = p->last_complete_ns - p->first_submit_ns;
    }
    for (uint32_t i = 0; i < p->order.track_count; i++)
        p->result.stream_count += p->order.tracks[i].worker != NULL;
    tsm_order_finish(&p->order);
    sbt_cursor_destroy(p->late_cursor);
    p->late_cursor = NULL;
    free(p->pulled);
    p->pulled = NULL;
    tsm_map_finish(&p->pulled_index);
    return ended;
}

static int open_backend(struct tsm_replay *p)
{
    int error = p->backend->open(&p->state, p->reader, &p->options);

    if (error)
        return error;
    tsm_plan_finish(&p->plan);
    return tsm_plan_make(&p->plan, p->reader, p->backend, p->state, p->from,
                         p->options.filter.seq_end);
}

static void close_backend(struct tsm_replay *p)
{
    if (p->state)
        p->backend->close(p->state);
    p->state = NULL;
}

/* Adds what the backend has counted in this run to the result. */
static void add_counts(struct tsm_replay *p)
{
    const struct tsm_backend_compare *compare = p->backend->compare;
    const struct tsm_backend_report *report = p->backend->report;

    if (compare && compare->uncompared)
        p->verify.uncompared_counts[TSM_UNCOMPARED_TAKEN] += compare->uncompared(p->state);
    if (report)
        p->result.translated_count += report->translated(p->state);
    if (report && report->translated_words)
        p->result.translated_word_count += report->translated_words(p->state);
    if (report && report->untranslated)
        p->result.untranslated_count +=
            report->untranslated(p->state, p->untranslated, sizeof(p->untranslated));
    if (report && report->replaced)
        p->result.replaced_count = report->replaced(p->state);
    if (report && report->validation)
        p->result.validation_count += report->validation(p->state);
    if (p->backend->inspect)
        p->result.inspect_file_count = p->backend->inspect->file_count(p->state);
}

static int run_once(struct tsm_replay *p)
{
    uint64_t patience_ns;
    int error;

    p->result.stream_count = 0;
    error = begin_run(p);
    if (!error)
        error = tsm_timing_begin(p);
    if (!error)
        error = tsm_walk(p);
    if (!error)
        error = tsm_timing_end(p);
    if (!error && tsm_timing_is_compared(p))
        add_counts(p);
    patience_ns = p->crew ? tsm_crew_patience_ns(p->crew) : 0;
    if (!end_run(p, error != 0)) {
        p->is_left_open = true;
        p->left_state = p->state;
        p->state = NULL;
    } else if (error && p->state && patience_ns) {
        tsm_close_failed(p, patience_ns);
    }
    return error;
}

/* ---- loops -------------------------------------------------------------------------------- */

/* Tests whether the part can be run again with the same objects. */
static int find_repeats(struct tsm_replay *p, bool *repeats)
{
    const struct sbt_filter filter = {.seq_first = p->part_first,
                                      .seq_end = p->options.filter.seq_end};
    struct sbt_cursor *cursor = NULL;
    const struct sbt_record *record;
    int error = 0;

    *repeats = p->backend->loop && p->part_first > 0;
    if (!*repeats)
        return 0;
    error = sbt_cursor_create(&cursor, p->reader, &filter, 1);
    while (*repeats && error >= 0 && (error = sbt_cursor_next(cursor, &record)) == 1)
        if (SBT_TYPE_API(record->type) != SBT_API_CORE && !(record->flags & SBT_RECORD_FAILED))
            *repeats = p->backend->loop->can_repeat(p->state, record);
    sbt_cursor_destroy(cursor);
    return error < 0 ? error : 0;
}

static int compare_times(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return x < y ? -1 : x > y;
}

static void tell_times(struct tsm_replay *p)
{
    struct tsm_replay_result *r = &p->result;

    if (!p->loop_count)
        return;
    qsort(p->loop_ns, p->loop_count, sizeof(*p->loop_ns), compare_times);
    r->loop_count = p->loop_count;
    r->loop_min_ns = p->loop_ns[0];
    r->loop_median_ns = p->loop_ns[p->loop_count / 2];
    r->loop_max_ns = p->loop_ns[p->loop_count - 1];
}

/* Back to where the part began: by what was kept there, or else with a fresh GPU, because commands
 * make and free memory at fixed places. */
static int go_back(struct tsm_replay *p)
{
    int error;

    if (p->goes_back)
        return p->backend->loop->restore(p->state);
    close_backend(p);
    error = open_backend(p);
    return !error && p->backend->prepare ? p->backend->prepare(p->state) : error;
}

static int run_loops(struct tsm_replay *p)
{
    const unsigned loops = tsm_timing_run_count(p);
    struct tsm_replay_result compared = {0};
    bool repeats = false;
    int error = 0;

    if (loops > 1) {
        p->loop_ns = calloc(loops, sizeof(*p->loop_ns));
        error = p->loop_ns ? find_repeats(p, &repeats)
                           : tsm_fail(TSM_E_MEMORY, "no memory for %u loops", loops);
    }
    p->must_hold = repeats;
    for (unsigned i = 0; i < loops && !error && !p->stop; i++) {
        repeats &= !p->cannot_hold;
        p->goes_back = i > 0 && repeats;
        p->run = i;
        if (i > 0)
            error = go_back(p);
        if (!error)
            error = run_once(p);
        if (i == 0)
            compared = p->result;
    }
    if (p->options.timed_runs) /* counts are of the run that was compared */
        tsm_timing_settle(p, &compared);
    p->result.loop_kept = repeats;
    return error;
}

int tsm_replay_run(struct tsm_replay *p, struct tsm_replay_result *result)
{
    int error = 0;

    if (p->ran)
        return tsm_fail(TSM_E_STATE, "a replay runs once");
    p->ran = true;
    if (!p->options.dry_run)
        error = run_loops(p);
    if (error)
        return error;
    error = tsm_verdict(p);
    if (error)
        return error;
    tell_times(p);
    p->result.digest = tsm_hasher_key(p->verify.digest);
    *result = p->result;
    return 0;
}

int tsm_replay_save(struct tsm_replay *p, const struct tsm_saver *saver)
{
    if (!p->state || !p->backend->checkpoint)
        return tsm_fail(TSM_E_UNSUPPORTED,
                        "%s: what a replay of its API has computed cannot be saved",
                        sbt_reader_name(p->reader));
    if (p->has_unblocked_waiters || p->stall.released_count)
        return tsm_fail(
            TSM_E_UNSUPPORTED,
            "%s: work is under way there that waits for the host; a submit earlier or later "
            "it may not",
            sbt_reader_name(p->reader));
    return p->backend->checkpoint->save(p->state, saver);
}

/* ---- making ------------------------------------------------------------------------------- */

void tsm_replay_observe(struct tsm_replay *p, const struct tsm_observer *observer)
{
    p->verify.observer = *observer;
}

int tsm_replay_observe_memory(struct tsm_replay *p, const struct tsm_observer *observer)
{
    const struct sbt_record none = {.stream = SBT_STREAM_NONE};

    p->verify.observer = *observer;
    if (!p->state || !p->backend->regions)
        return tsm_fail(TSM_E_UNSUPPORTED, "%s: memory of its API cannot be listed",
                        sbt_reader_name(p->reader));
    return tsm_verify_regions(&p->verify, &none);
}

uint64_t tsm_replay_early(const struct tsm_replay *p)
{
    return p->stall.count + p->stall.released_count;
}

static bool has_api(struct sbt_reader *reader, uint32_t api)
{
    for (size_t i = 0; i < sbt_reader_schema_count(reader); i++)
        if (SBT_TYPE_API(sbt_reader_schema_at(reader, i)->type) == api)
            return true;
    return false;
}

/* Commands of which APIs are there: a bit each. */
static int find_commands(struct sbt_reader *reader, uint32_t *apis)
{
    struct sbt_cursor *cursor = NULL;
    const struct sbt_record *record;
    int error = sbt_cursor_create(&cursor, reader, NULL, 1);

    while (error >= 0 && (error = sbt_cursor_next(cursor, &record)) == 1)
        if (record->stream != SBT_STREAM_NONE && SBT_TYPE_API(record->type) < 32)
            *apis |= 1u << SBT_TYPE_API(record->type);
    sbt_cursor_destroy(cursor);
    return error;
}

int tsm_replay_apis(struct sbt_reader *reader, const char **names, size_t max)
{
    const struct tsm_backend *shared[TSM_TOGETHER_MAX];
    const size_t shared_count = tsm_together_find(reader, shared);
    uint32_t commands = 0;
    size_t count = 0, kept = 0;
    int error;

    if (shared_count > 1 && max > 0) {
        names[0] = TSM_TOGETHER_NAME;
        return 1;
    }

    for (size_t i = 0; tsm_backends[i] && count < max; i++)
        if (has_api(reader, (uint32_t)tsm_backends[i]->description->api))
            names[count++] = tsm_backends[i]->description->name;
    if (count < 2)
        return (int)count;
    error = find_commands(reader, &commands);
    count = 0;
    for (size_t i = 0; tsm_backends[i] && count < max; i++) {
        const struct tsm_api_description *d = tsm_backends[i]->description;
        if (has_api(reader, (uint32_t)d->api) && ++count && (commands >> d->api & 1))
            names[kept++] = d->name;
    }
    return error < 0 ? error : kept ? (int)kept : 1;
}

static int choose_backend(struct tsm_replay *p)
{
    const struct tsm_backend *shared[TSM_TOGETHER_MAX];
    const char *name = p->options.backend;

    if ((!name || !strcmp(name, TSM_TOGETHER_NAME)) && tsm_together_find(p->reader, shared) > 1) {
        tsm_together_init(&p->together, p->reader);
        p->backend = &p->together.backend;
        return 0;
    }
    for (size_t i = 0; tsm_backends[i]; i++) {
        const struct tsm_api_description *d = tsm_backends[i]->description;
        if (name ? !strcmp(name, d->name) : has_api(p->reader, (uint32_t)d->api)) {
            p->backend = tsm_backends[i];
            tsm_description_fill(d);
            return 0;
        }
    }
    if (name)
        return tsm_fail(TSM_E_NOT_FOUND, "there is no backend \"%s\"", name);
    return tsm_fail(TSM_E_UNSUPPORTED, "%s: holds no commands of an API that can be replayed",
                    sbt_reader_name(p->reader));
}

static int check_whole(const struct tsm_replay *p)
{
    if (sbt_reader_session(p->reader)->optional_features & SBT_OPTIONAL_NO_CONTENTS)
        return tsm_fail(TSM_E_UNSUPPORTED,
                        "%s: has no contents, which were taken out ('tracesmith redact') or never "
                        "recorded (TS_CONTENTS=0); replay the trace that has them",
                        sbt_reader_name(p->reader));
    if (p->options.lossy)
        return 0;
    if (p->plan.lost_count)
        return tsm_fail(TSM_E_LOSSY,
                        "%s: %llu records were lost; record again with TS_FULL=block, or replay "
                        "what is there with --lossy",
                        sbt_reader_name(p->reader), (unsigned long long)p->plan.lost_count);
    if (p->plan.filtered_count)
        return tsm_fail(TSM_E_LOSSY,
                        "%s: %llu records were left out on request when it was recorded; replay "
                        "what is there with --lossy",
                        sbt_reader_name(p->reader), (unsigned long long)p->plan.filtered_count);
    return 0;
}

static int copy_options(struct tsm_replay *p, const struct tsm_replay_options *options)
{
    struct sbt_filter *f = &p->options.filter;
    uint32_t *streams;

    if (options)
        p->options = *options;
    if (!f->streams)
        return 0;
    streams = malloc((f->stream_count + 1) * sizeof(*streams));
    if (!streams) {
        f->streams = NULL;
        return tsm_fail(TSM_E_MEMORY, "no memory for %zu streams", f->stream_count);
    }
    if (f->stream_count)
        memcpy(streams, f->streams, f->stream_count * sizeof(*streams));
    f->streams = streams;
    return 0;
}

/* The last checkpoint before the range; in a trace whose commands begin with one, that at least. */
static int choose_checkpoint(struct tsm_replay *p)
{
    const struct sbt_filter *f = &p->options.filter;
    const struct sbt_checkpoint *start = NULL;

    for (size_t i = 0; i < sbt_reader_checkpoint_count(p->reader); i++) {
        const struct sbt_checkpoint *c = sbt_reader_checkpoint(p->reader, i);
        bool before = c->seq < f->seq_first || (f->time_first_ns && c->time_ns < f->time_first_ns);
        if (c->flags & SBT_CHECKPOINT_START)
            start = c;
        if (c == start || (before && !p->options.no_checkpoint))
            p->from = c;
    }
    if (start && p->options.no_checkpoint)
        return tsm_fail(TSM_E_ARGUMENT,
                        "%s: commands before record %llu were not recorded: it can only be "
                        "replayed from the checkpoint there",
                        sbt_reader_name(p->reader), (unsigned long long)start->seq);
    if (start && f->seq_end && f->seq_end <= start->seq)
        return tsm_fail(TSM_E_ARGUMENT,
                        "%s: the range lies before record %llu, where recording began",
                        sbt_reader_name(p->reader), (unsigned long long)start->seq);
    return 0;
}

static int check_checkpoint(const struct tsm_replay *p)
{
    if (!p->from || p->plan.item_count == p->from->item_count)
        return 0;
    return tsm_fail(TSM_E_FORMAT,
                    "%s: checkpoint %u has %llu records of memory, not %llu; try "
                    "--from-checkpoint=none",
                    sbt_reader_name(p->reader), p->from->number,
                    (unsigned long long)p->plan.item_count,
                    (unsigned long long)p->from->item_count);
}

/* Needs all streams up to the last needed record when waits name objects of their own: what they
 * wait for may have been sent to any stream, and every earlier wait must find it. */
static void need_alike(struct tsm_replay *p)
{
    for (uint32_t i = 0; i < p->need.stream_count; i++)
        p->need.until_seq[i] = p->need.until_seq_other;
    p->need.unheard_seq = UINT64_MAX;
}

static int find_need(struct tsm_replay *p)
{
    int error;

    if (!has_filter(&p->options.filter))
        return 0;
    error = tsm_dependency_slice_find(&p->need, p->reader, &p->options.filter);
    p->has_need = !error;
    if (p->has_need && p->backend->sync && p->backend->sync->owns)
        need_alike(p);
    if (!error && p->backend->submit_sync_only && p->options.filter.streams)
        error = tsm_reachability_find(&p->connected, p->reader, &p->options.filter);
    return error;
}

static int init_verify(struct tsm_replay *p)
{
    p->verify.reader = p->reader;
    p->verify.backend = p->backend;
    p->verify.on_difference = p->options.on_difference;
    p->verify.user = p->options.user;
    return tsm_verify_init(&p->verify);
}

static void describe(struct tsm_replay *p)
{
    struct tsm_replay_result *r = &p->result;

    r->unmodelled_count = p->plan.unmodelled_count;
    r->tainted_count = p->plan.tainting.count;
    r->interrupted_count = p->plan.interrupted_count;
    r->checkpoint = p->from ? p->from->number : 0;
    r->checkpoint_seq = p->from ? p->from->seq : 0;
    if (p->plan.last_command_ns > p->plan.first_command_ns)
        r->recorded_ns = p->plan.last_command_ns - p->plan.first_command_ns;
    if (p->options.dry_run)
        return;
    r->is_software = p->backend->is_software && p->backend->is_software(p->state);
    if (p->backend->describe)
        p->backend->describe(p->state, r->device, sizeof(r->device));
}

static int make(struct tsm_replay *p)
{
    int error = choose_backend(p);

    p->part_first = p->options.filter.seq_first;
    if (!error && (p->options.inspect || p->options.shader_count) && !p->backend->inspect)
        error = tsm_fail(TSM_E_UNSUPPORTED,
                         "%s: only what was recorded of Vulkan can be looked into, or given other "
                         "shaders",
                         sbt_reader_name(p->reader));
    if (!error && p->options.kernel_count && !(p->backend->report && p->backend->report->replaced))
        error = tsm_fail(TSM_E_UNSUPPORTED, "%s: only kernels of CUDA and HSA can be replaced",
                         sbt_reader_name(p->reader));
    if (!error)
        error = init_verify(p);
    if (!error)
        error = choose_checkpoint(p);
    if (p->from && p->part_first <= p->from->seq)
        p->part_first = p->from->seq + 1;
    if (!error)
        error = open_backend(p);
    if (!error)
        error = check_whole(p);
    if (!error)
        error = check_checkpoint(p);
    if (!error && p->options.schedule)
        error = tsm_schedule_check(p);
    if (!error && p->plan.has_failure && p->backend->failures)
        error = tsm_recorded_failures_init(&p->failures, p->reader);
    if (!error)
        error = find_need(p);
    if (!error && !p->options.dry_run && p->backend->prepare)
        error = p->backend->prepare(p->state);
    if (!error)
        describe(p);
    return error;
}

int tsm_replay_create(struct tsm_replay **out, struct sbt_reader *reader,
                      const struct tsm_replay_options *options)
{
    struct tsm_replay *p = calloc(1, sizeof(*p));
    int error;

    if (!p)
        return tsm_fail(TSM_E_MEMORY, "no memory to replay");
    tsm_left_collect();
    p->reader = reader;
    error = copy_options(p, options);
    if (!error)
        error = make(p);
    if (error) {
        tsm_replay_destroy(p);
        return error;
    }
    *out = p;
    return 0;
}

void tsm_replay_destroy(struct tsm_replay *p)
{
    if (p && p->is_left_open)
        tsm_left_keep(p);
    if (!p || p->is_left_open)
        return;
    close_backend(p);
    tsm_plan_finish(&p->plan);
    if (p->has_need)
        tsm_dependency_slice_finish(&p->need);
    tsm_reachability_finish(&p->connected);
    tsm_verify_finish(&p->verify);
    tsm_recorded_failures_finish(&p->failures);
    tsm_schedule_run_finish(p->scheduled);
    free(p->loop_ns);
    free((void *)p->options.filter.streams);
    free(p);
}
