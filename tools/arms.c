/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/arms.h"

#include "base/hash.h"
#include "base/text.h"
#include "tools/difference_text.h"
#include "tools/terminal.h"

static void arm_serial(struct tsm_replay_options *o)
{
    o->pace = TSM_PACE_STEPPED;
}

static void arm_poison(struct tsm_replay_options *o)
{
    o->fresh_memory = 0xa5;
}

/* The first row is the run that the others are compared with. */
static const struct arm {
    const char *name;
    const char *what;
    const char *cause; /* when this arm differs */
    void (*change)(struct tsm_replay_options *options);
} arms[] = {
    {"repeat", "nothing changed",
     "the GPU's work itself: order of atomics, a race, uninitialised data", NULL},
    {"serial", "one command at a time", "the order of commands on different streams matters",
     arm_serial},
    {"poison", "other bytes in fresh memory", "memory is read before it is written", arm_poison},
};
#define ARM_COUNT (sizeof(arms) / sizeof(arms[0]))

/* Where a run first differed from the recording. Its strings are copies. */
struct sighting {
    bool seen;
    struct tsm_difference difference;
    char call[128], function[256];
};

struct check {
    struct sbt_reader *reader;
    struct tsm_symbols *symbols;
    const struct tsm_replay_options *options;
    struct tsm_json *json;
    struct sbt_key reference;
    bool has_reference;
    struct sighting of_reference, of_run;
    const struct arm *differing; /* the first arm that differed; NULL none */
    const struct arm *shown;     /* the last arm whose difference was shown */
};

static void on_difference(void *user, const struct tsm_difference *difference)
{
    struct check *check = user;
    struct sighting *s = &check->of_run;

    if (s->seen)
        return;
    s->seen = true;
    s->difference = *difference;
    tsm_format(s->call, sizeof(s->call), "%s", difference->call ? difference->call : "");
    tsm_format(s->function, sizeof(s->function), "%s",
               difference->function ? difference->function : "");
    s->difference.call = s->call;
    s->difference.function = s->function;
}

static void on_progress(void *user, uint64_t done, uint64_t total)
{
    tsm_progress("replaying", done, total);
}

static int run_arm(struct check *check, const struct arm *arm, struct tsm_replay_result *result)
{
    struct tsm_replay_options options = *check->options;
    struct tsm_replay *replay = NULL;

    /* Runs are compared with each other; where one differs from the recording says which command
     * it is about. */
    options.on_difference = on_difference;
    options.progress = on_progress;
    options.user = check;
    options.keep_going = true;
    check->of_run.seen = false;
    if (options.grain == TSM_GRAIN_READBACK)
        options.grain = TSM_GRAIN_SYNC;
    if (arm->change)
        arm->change(&options);
    int error = tsm_replay_create(&replay, check->reader, &options);
    if (error == 0)
        error = tsm_replay_run(replay, result);
    tsm_replay_destroy(replay);
    tsm_progress_end();
    return error;
}

static enum tsm_verdict judge(struct check *check, const struct tsm_replay_result *result)
{
    if (result->checksum_count == 0)
        return TSM_CANNOT_TELL;
    if (!check->has_reference) {
        check->reference = result->digest;
        check->has_reference = true;
        check->of_reference = check->of_run;
        check->of_reference.difference.call = check->of_reference.call;
        check->of_reference.difference.function = check->of_reference.function;
        return TSM_SAME;
    }
    return tsm_key_equal(&check->reference, &result->digest) ? TSM_SAME : TSM_DIFFERENT;
}

/* Two runs that differ cannot both be equal to the recording. */
static const struct tsm_difference *find_difference(struct check *check, const struct arm *arm,
                                                    enum tsm_verdict verdict)
{
    if (verdict != TSM_DIFFERENT || check->shown == arm)
        return NULL;
    check->shown = arm;
    if (check->of_run.seen)
        return &check->of_run.difference;
    return check->of_reference.seen ? &check->of_reference.difference : NULL;
}

/* An arm names a cause only if it differs from runs that do not differ from each other. */
static const char *find_cause(const struct check *check, const struct arm *arm,
                              enum tsm_verdict verdict)
{
    if (verdict != TSM_DIFFERENT)
        return "";
    if (arm != &arms[0] && check->differing == &arms[0])
        return "says nothing more: the repeats differ already";
    return arm->cause;
}

static void tell_text(struct check *check, const struct arm *arm, unsigned number,
                      const char *digest, enum tsm_verdict verdict)
{
    static const enum tsm_paint paints[] = {TSM_PAINT_GOOD, TSM_PAINT_BAD, TSM_PAINT_WARN};
    const struct tsm_difference *difference = find_difference(check, arm, verdict);

    printf("%-7s %2u  %s  %s%s%s  %s\n", arm->name, number, digest, tsm_paint(paints[verdict]),
           tsm_verdict_name(verdict), tsm_paint(TSM_PAINT_NONE),
           verdict == TSM_DIFFERENT ? find_cause(check, arm, verdict) : arm->what);
    if (difference)
        tsm_difference_print(difference, check->reader, check->symbols);
    fflush(stdout);
}

static void tell(struct check *check, const struct arm *arm, unsigned number,
                 const struct tsm_replay_result *result, enum tsm_verdict verdict)
{
    char digest[33];

    tsm_key_text(digest, &result->digest);
    if (!check->json) {
        tell_text(check, arm, number, digest, verdict);
        return;
    }
    const struct tsm_difference *difference = find_difference(check, arm, verdict);
    tsm_json_open(check->json, '{');
    tsm_json_put_string(check->json, "arm", arm->name);
    tsm_json_put_u64(check->json, "run", number);
    tsm_json_put_string(check->json, "digest", digest);
    tsm_json_put_u64(check->json, "checksum_count", result->checksum_count);
    tsm_json_put_string(check->json, "verdict", tsm_verdict_name(verdict));
    tsm_json_put_string(check->json, "cause", find_cause(check, arm, verdict));
    if (difference) {
        tsm_json_name(check->json, "difference");
        tsm_difference_json(check->json, difference, check->reader, check->symbols);
    }
    tsm_json_close(check->json, '}');
}

/* Verdicts are ordered by what is told at the end: a difference outweighs a doubt. */
static enum tsm_verdict worse(enum tsm_verdict a, enum tsm_verdict b)
{
    if (a == TSM_DIFFERENT || b == TSM_DIFFERENT)
        return TSM_DIFFERENT;
    return a == TSM_CANNOT_TELL ? a : b;
}

static int run_arms(struct check *check, unsigned repeat_count, enum tsm_verdict *out)
{
    *out = TSM_SAME;
    for (size_t i = 0; i < ARM_COUNT; i++) {
        unsigned count = i == 0 ? repeat_count : 1;
        for (unsigned number = 1; number <= count; number++) {
            struct tsm_replay_result result = {0};
            int error = run_arm(check, &arms[i], &result);
            if (error)
                return error;
            enum tsm_verdict verdict = judge(check, &result);
            if (verdict == TSM_DIFFERENT && !check->differing)
                check->differing = &arms[i];
            tell(check, &arms[i], number, &result, verdict);
            *out = worse(*out, verdict);
        }
    }
    return 0;
}

/* The grade that repeated runs on one device can give, and the cause that the arms name. */
static void conclude(const struct check *check, enum tsm_verdict verdict)
{
    bool repeats_differ = check->differing == &arms[0];
    const char *grade = repeats_differ ? "not_guaranteed" : "run_to_run";
    const char *cause = check->differing ? check->differing->cause : "";

    if (verdict == TSM_CANNOT_TELL)
        grade = "unknown";
    if (check->json) {
        tsm_json_put_string(check->json, "verdict", tsm_verdict_name(verdict));
        tsm_json_put_string(check->json, "grade", grade);
        tsm_json_put_string(check->json, "cause", cause);
        return;
    }
    if (verdict == TSM_CANNOT_TELL)
        printf("cannot tell: nothing was compared\n");
    else
        printf("%s: %s%s%s\n", grade,
               repeats_differ ? "runs differ" : "repeated runs give the same bytes",
               check->differing ? "; cause: " : "", cause);
}

int tsm_arms_run(struct sbt_reader *reader, struct tsm_symbols *symbols,
                 const struct tsm_replay_options *options, unsigned repeat_count,
                 struct tsm_json *json)
{
    struct check check = {.reader = reader, .symbols = symbols, .options = options, .json = json};
    enum tsm_verdict verdict;

    if (json) {
        tsm_json_name(json, "arms");
        tsm_json_open(json, '[');
    }
    int error = run_arms(&check, repeat_count, &verdict);
    if (json) {
        tsm_json_close(json, ']');
        if (error)
            tsm_json_put_string(json, "error", tsm_error_message());
    }
    if (!error)
        conclude(&check, verdict);
    return error ? tsm_complain_error() : (int)verdict;
}
