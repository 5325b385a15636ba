/* SPDX-License-Identifier: Apache-2.0
 *
 * --check: the same trace in several arms. An arm is a variation of the options; its runs are
 * compared with the first runs of all, of which there are two: one hashes all memory at each
 * synchronisation, for which it waits for the whole GPU; one looks only at what was recorded, and
 * waits no more than the program did. When one differs, both are run again with the GPU waited for
 * after each command: if they differ still, the command is named exactly; if not, the difference
 * comes from the order of commands, and those that may be meant are searched in the trace.
 */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "analysis/diff/difference.h"
#include "replay/rerun/forked_run.h"
#include "replay/rerun/suspect.h"

#define POISON 0xa5

struct check {
    struct sbt_reader *reader;
    const struct tsm_replay_options *options;
    struct tsm_run_log log;   /* of the first run that hashes all memory */
    struct tsm_run_log plain; /* of the first run that adds no waits */
    struct tsm_run_log exact; /* of the first run of the search for a name */
    char failure[256];        /* how commands failed in the first runs, if not as recorded */
    uint64_t early_count;     /* of the first runs: writes of the program carried out early */
    struct tsm_check_result *out;
};

struct variation {
    enum tsm_arm arm;
    const char *cause;
    unsigned run_count; /* 0: as many as asked for */
    bool software_only;
    void (*change)(struct tsm_replay_options *options, struct tsm_forked_run *run, unsigned number);
};

static void change_nothing(struct tsm_replay_options *options, struct tsm_forked_run *run,
                           unsigned number)
{
}

/* First the opposite of what everybody expects, then chance. */
static void change_schedule(struct tsm_replay_options *options, struct tsm_forked_run *run,
                            unsigned number)
{
    static const char *const schedules[] = {"reverse",  "random:1", "random:2", "random:3",
                                            "random:4", "random:5", "random:6", "random:7"};

    run->schedule = schedules[number % 8];
    run->is_serial = number % 2 == 0;
}

static void change_pace(struct tsm_replay_options *options, struct tsm_forked_run *run,
                        unsigned number)
{
    options->pace = TSM_PACE_STEPPED;
}

static void change_fresh(struct tsm_replay_options *options, struct tsm_forked_run *run,
                         unsigned number)
{
    run->fresh_then = options->fresh_memory;
    options->fresh_memory ^= POISON;
}

static void change_order(struct tsm_replay_options *options, struct tsm_forked_run *run,
                         unsigned number)
{
    options->permute = number + 1;
}

static void change_delay(struct tsm_replay_options *options, struct tsm_forked_run *run,
                         unsigned number)
{
    options->delay = number + 1;
}

static const struct variation variations[] = {
    {TSM_ARM_REPEAT, "the GPU's work differs from run to run: order of atomics, a race", 0, false,
     change_nothing},
    {TSM_ARM_SCHEDULE, "the result depends on the order in which the GPU does its work", 0, true,
     change_schedule},
    {TSM_ARM_PERMUTE, "the result depends on an order of commands that no dependency keeps", 0,
     false, change_order},
    {TSM_ARM_DELAY, "the result depends on when the host sends its commands", 0, false,
     change_delay},
    {TSM_ARM_SERIAL, "the result depends on how commands of different streams overlap", 1, false,
     change_pace},
    {TSM_ARM_POISON, "memory is read before it is written", 1, false, change_fresh},
};
#define VARIATION_COUNT (sizeof(variations) / sizeof(variations[0]))

const char *tsm_arm_name(enum tsm_arm arm)
{
    static const char *const names[] = {"recording", "repeat",  "schedule", "serial",
                                        "poison",    "permute", "delay"};

    return (unsigned)arm < TSM_ARM_COUNT ? names[arm] : NULL;
}

/* ---- one comparison ----------------------------------------------------------------------- */

static int run_first(struct check *c, struct tsm_run_log *log, enum tsm_grain grain,
                     struct tsm_forked_result *out)
{
    struct tsm_replay_options options = *c->options;
    struct tsm_forked_run run = {.options = &options, .log = log, .writes = true};

    options.grain = grain;
    return tsm_forked_run(out, c->reader, &run);
}

static int run_varied(struct check *c, const struct variation *v, unsigned number,
                      const struct tsm_run_log *log, enum tsm_grain grain,
                      struct tsm_forked_result *out)
{
    struct tsm_replay_options options = *c->options;
    struct tsm_forked_run run = {
        .options = &options, .log = log, .fresh_then = c->options->fresh_memory};

    options.grain = grain;
    v->change(&options, &run, number);
    return tsm_forked_run(out, c->reader, &run);
}

/* ---- names -------------------------------------------------------------------------------- */

/* Memory that differed at a synchronisation, and not when each command was waited for. */
static int name_suspect(struct check *c, struct tsm_arm_result *arm)
{
    char one[160], other[160];
    struct tsm_suspect suspect;
    int error = tsm_suspect_find(&suspect, c->reader, &arm->difference);

    if (error || !suspect.found) {
        tsm_difference_name(&arm->difference, c->reader);
        return error;
    }
    tsm_difference_command_text(one, sizeof(one), c->reader, suspect.seq);
    arm->difference.seq = suspect.seq;
    tsm_difference_name(&arm->difference, c->reader);
    if (suspect.has_other) {
        tsm_difference_command_text(other, sizeof(other), c->reader, suspect.other_seq);
        tsm_format(arm->why, sizeof(arm->why),
                   "%s, and %s use memory at 0x%llx without an order between them", one, other,
                   (unsigned long long)suspect.shared);
    }
    return 0;
}

/* Names the arm's result: a difference from the recording counts only if the arm adds no waits. */
static void name_result(struct check *c, struct tsm_arm_result *arm)
{
    size_t used = strlen(arm->why);

    tsm_difference_locate(&arm->difference, c->reader, arm->difference.seq);
    tsm_format(arm->why + used, sizeof(arm->why) - used,
               "; it does not where the GPU is waited for at each synchronisation");
}

static int name_difference(struct check *c, const struct variation *v, unsigned number,
                           const struct tsm_forked_result *run, bool is_plain,
                           struct tsm_arm_result *arm)
{
    struct tsm_forked_result first, varied = {0};
    int error;

    arm->difference = run->difference;
    error = tsm_run_log_clear(&c->exact);
    if (!error)
        error = run_first(c, &c->exact, TSM_GRAIN_COMMAND, &first);
    if (!error)
        error = run_varied(c, v, number, &c->exact, TSM_GRAIN_COMMAND, &varied);
    if (error)
        return error;
    if (!varied.differs && is_plain)
        name_result(c, arm);
    if (!varied.differs)
        return is_plain ? 0 : name_suspect(c, arm);
    arm->is_exact = true;
    arm->difference = varied.difference;
    if (varied.is_readback)
        tsm_difference_locate(&arm->difference, c->reader, arm->difference.seq);
    else
        tsm_difference_name(&arm->difference, c->reader);
    return 0;
}

/* Memory that differed may be scratch memory, of which only observed accesses tell. */
static void hint_at_accesses(const struct check *c, const struct tsm_forked_result *run,
                             struct tsm_arm_result *arm)
{
    const char *setting = sbt_reader_metadata_find(c->reader, "setting.TS_ACCESSES");
    size_t used = strlen(arm->why);

    if (!run->is_readback && (!setting || strcmp(setting, "1") != 0))
        tsm_format(arm->why + used, sizeof(arm->why) - used,
                   "; whether a result depends on this memory is known where it was recorded with "
                   "TS_ACCESSES=1");
}

/* ---- arms --------------------------------------------------------------------------------- */

/* Returns how commands failed in a run; "" where they did as recorded. */
static const char *failure_of(const struct tsm_replay_result *r)
{
    return r->fails_otherwise ? r->why : "";
}

static int run_and_judge(struct check *c, const struct variation *v, unsigned number, bool is_plain,
                         struct tsm_arm_result *arm)
{
    struct tsm_forked_result run;
    int error = is_plain ? run_varied(c, v, number, &c->plain, TSM_GRAIN_READBACK, &run)
                         : run_varied(c, v, number, &c->log, TSM_GRAIN_SYNC, &run);

    if (error)
        return error;
    arm->run_count++;
    if (arm->scratch_byte_count < run.scratch_byte_count)
        arm->scratch_byte_count = run.scratch_byte_count;
    if (run.differs && c->early_count + run.early_count) {
        arm->verdict = TSM_CANNOT_TELL;
        tsm_format(arm->why, sizeof(arm->why),
                   "%s; or on when a command saw what the program wrote while it ran, which is not "
                   "known",
                   v->cause);
        return 0;
    }
    if (run.differs) {
        arm->verdict = TSM_DIFFERENT;
        tsm_format(arm->why, sizeof(arm->why), "%s", v->cause);
        error = name_difference(c, v, number, &run, is_plain, arm);
        hint_at_accesses(c, &run, arm);
        return error;
    }
    if (strcmp(failure_of(&run.result), c->failure) != 0) {
        arm->verdict = TSM_DIFFERENT;
        tsm_format(arm->why, sizeof(arm->why), "%s: %s", v->cause,
                   run.result.fails_otherwise ? run.result.why : "commands fail as recorded");
        return 0;
    }
    if (run.unknown_count) {
        arm->verdict = TSM_CANNOT_TELL;
        tsm_format(arm->why, sizeof(arm->why),
                   "%llu pieces of memory were not compared: of the first run no more than %llu "
                   "GiB are kept",
                   (unsigned long long)run.unknown_count, TSM_RUN_LOG_BYTES_MAX >> 30);
    }
    return 0;
}

static int run_arm(struct check *c, const struct variation *v, unsigned repeat_count,
                   struct tsm_arm_result *arm)
{
    unsigned count = v->run_count ? v->run_count : repeat_count;
    int error = 0;

    *arm = (struct tsm_arm_result){.arm = v->arm};
    for (unsigned i = 0; i < 2 * count && arm->verdict != TSM_DIFFERENT && !error; i++)
        error = run_and_judge(c, v, i / 2, i % 2, arm);
    return error;
}

static void judge_first(struct check *c, const struct tsm_forked_result *first,
                        struct tsm_arm_result *arm)
{
    if (arm->run_count++ && first->result.verdict != TSM_DIFFERENT)
        return;
    arm->verdict = first->result.verdict;
    tsm_format(arm->why, sizeof(arm->why), "%s", first->result.why);
    if (first->differs) {
        arm->is_exact = true;
        arm->difference = first->difference;
        tsm_difference_name(&arm->difference, c->reader);
    }
}

/* Finds the worst arm. An arm that names a cause says more than a difference from the recording. */
static const struct tsm_arm_result *find_worst(const struct tsm_check_result *out)
{
    static const enum tsm_verdict bad[] = {TSM_DIFFERENT, TSM_CANNOT_TELL};

    for (unsigned i = 0; i < 2; i++) {
        for (unsigned k = 1; k < out->arm_count; k++)
            if (out->arms[k].verdict == bad[i])
                return &out->arms[k];
        if (out->arms[0].verdict == bad[i])
            return &out->arms[0];
    }
    return &out->arms[0];
}

/* A recording that holds nothing to compare with is no reason not to compare runs. */
static void judge(struct tsm_check_result *out, uint64_t observation_count)
{
    const struct tsm_arm_result *worst = find_worst(out);
    char what[192] = "";

    out->verdict = worst->verdict;
    if (worst->verdict == TSM_NOTHING_TO_COMPARE && observation_count)
        out->verdict = TSM_SAME;
    if (out->verdict == TSM_SAME)
        return;
    if (worst->verdict == TSM_DIFFERENT && worst->difference.call)
        tsm_format(what, sizeof(what),
                   "record %llu, %s%s%s: ", (unsigned long long)worst->difference.seq,
                   worst->difference.call, *worst->difference.function ? " of " : "",
                   worst->difference.function);
    tsm_format(out->why, sizeof(out->why), "%s%s", what, worst->why);
}

/* The runs that all others are compared with, against the recording. */
static int run_firsts(struct check *c, struct tsm_forked_result *first)
{
    struct tsm_check_result *out = c->out;
    struct tsm_arm_result *arm = &out->arms[out->arm_count++];
    struct tsm_forked_result plain;
    int error = run_first(c, &c->plain, TSM_GRAIN_READBACK, &plain);

    *arm = (struct tsm_arm_result){.arm = TSM_ARM_RECORDING};
    if (!error)
        error = run_first(c, &c->log, TSM_GRAIN_SYNC, first);
    if (error)
        return error;
    out->first = plain.result;
    c->early_count = plain.early_count + first->early_count;
    tsm_format(c->failure, sizeof(c->failure), "%s", failure_of(&plain.result));
    judge_first(c, &plain, arm);
    judge_first(c, first, arm);
    return 0;
}

static int check(struct check *c, unsigned repeat_count,
                 void (*on_arm)(void *user, const struct tsm_arm_result *arm), void *user)
{
    struct tsm_check_result *out = c->out;
    struct tsm_forked_result first;
    int error = run_firsts(c, &first);

    if (error)
        return error;
    if (on_arm)
        on_arm(user, &out->arms[0]);
    for (unsigned i = 0; i < VARIATION_COUNT && !error; i++) {
        const struct variation *v = &variations[i];
        struct tsm_arm_result *arm = &out->arms[out->arm_count];
        if (v->software_only && !first.result.is_software)
            continue;
        error = run_arm(c, v, repeat_count ? repeat_count : 1, arm);
        if (error)
            break;
        out->arm_count++;
        if (out->scratch_byte_count < arm->scratch_byte_count)
            out->scratch_byte_count = arm->scratch_byte_count;
        if (on_arm)
            on_arm(user, arm);
    }
    if (!error)
        judge(out, first.observation_count);
    return error;
}

int tsm_check_run(struct tsm_check_result *out, struct sbt_reader *reader,
                  const struct tsm_replay_options *options, unsigned repeat_count,
                  void (*on_arm)(void *user, const struct tsm_arm_result *arm), void *user)
{
    struct tsm_replay_options own = options ? *options : (struct tsm_replay_options){0};
    struct tsm_check_result result = {0};
    struct check c = {.reader = reader,
                      .options = &own,
                      .log = {-1, -1},
                      .plain = {-1, -1},
                      .exact = {-1, -1},
                      .out = &result};
    int error = tsm_run_log_init(&c.log);

    own.no_spot_checks = true; /* a wait for them hides what overlaps */
    if (!error)
        error = tsm_run_log_init(&c.plain);
    if (!error)
        error = tsm_run_log_init(&c.exact);
    if (!error)
        error = check(&c, repeat_count, on_arm, user);
    tsm_run_log_finish(&c.log);
    tsm_run_log_finish(&c.plain);
    tsm_run_log_finish(&c.exact);
    if (error)
        return error;
    *out = result;
    return 0;
}
