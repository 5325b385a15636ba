/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/arms.h"

#include "base/hash.h"
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

struct check {
    struct sbt_reader *reader;
    const struct tsm_replay_options *options;
    struct tsm_json *json;
    struct sbt_key reference;
    bool has_reference;
};

static int run_arm(struct check *check, const struct arm *arm, struct tsm_replay_result *result)
{
    struct tsm_replay_options options = *check->options;
    struct tsm_replay *replay = NULL;

    /* Runs are compared with each other: what differs from the recording is no news here. */
    options.on_difference = NULL;
    options.keep_going = true;
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
        return TSM_SAME;
    }
    return tsm_key_equal(&check->reference, &result->digest) ? TSM_SAME : TSM_DIFFERENT;
}

static void tell(const struct check *check, const struct arm *arm, unsigned number,
                 const struct tsm_replay_result *result, enum tsm_verdict verdict)
{
    static const enum tsm_paint paints[] = {TSM_PAINT_GOOD, TSM_PAINT_BAD, TSM_PAINT_WARN};
    char digest[33];

    tsm_key_text(digest, &result->digest);
    if (!check->json) {
        printf("%-7s %2u  %s  %s%s%s  %s\n", arm->name, number, digest, tsm_paint(paints[verdict]),
               tsm_verdict_name(verdict), tsm_paint(TSM_PAINT_NONE),
               verdict == TSM_DIFFERENT ? arm->cause : arm->what);
        fflush(stdout);
        return;
    }
    tsm_json_open(check->json, '{');
    tsm_json_put_string(check->json, "arm", arm->name);
    tsm_json_put_u64(check->json, "run", number);
    tsm_json_put_string(check->json, "digest", digest);
    tsm_json_put_u64(check->json, "checksums", result->checksum_count);
    tsm_json_put_string(check->json, "verdict", tsm_verdict_name(verdict));
    tsm_json_put_string(check->json, "cause", verdict == TSM_DIFFERENT ? arm->cause : "");
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
            tell(check, &arms[i], number, &result, verdict);
            *out = worse(*out, verdict);
        }
    }
    return 0;
}

int tsm_arms_run(struct sbt_reader *reader, const struct tsm_replay_options *options,
                 unsigned repeat_count, struct tsm_json *json)
{
    struct check check = {.reader = reader, .options = options, .json = json};
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
        else
            tsm_json_put_string(json, "verdict", tsm_verdict_name(verdict));
    }
    return error ? tsm_complain_error() : (int)verdict;
}
