/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/replay/arms.h"

#include "tools/terminal.h"
#include "tools/text/difference.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/text.h"

struct telling {
    struct sbt_reader *reader;
    struct tsm_symbols *symbols;
    struct tsm_json *json;
    const char *api;         /* NULL: there is only one */
    uint64_t replaced_count; /* kernels */
};

/* Commands may have failed otherwise, and no bytes differ. */
static bool has_difference(const struct tsm_arm_result *arm)
{
    return arm->verdict == TSM_DIFFERENT && arm->difference.call;
}

static void tell_text(const struct telling *t, const struct tsm_arm_result *arm)
{
    static const enum tsm_paint paints[] = {TSM_PAINT_GOOD, TSM_PAINT_BAD, TSM_PAINT_WARN,
                                            TSM_PAINT_WARN};

    printf("%s%s%-10s %2u run%s  %s%s%s%s%s\n", t->api ? t->api : "", t->api ? ": " : "",
           tsm_arm_name(arm->arm), arm->run_count, arm->run_count == 1 ? " " : "s",
           tsm_paint(paints[arm->verdict]), tsm_verdict_name(arm->verdict),
           tsm_paint(TSM_PAINT_NONE), arm->verdict == TSM_SAME ? "" : ": ",
           arm->verdict == TSM_SAME ? "" : tsm_clean(arm->why));
    if (has_difference(arm))
        tsm_difference_print(&arm->difference, t->reader, t->symbols);
    fflush(stdout);
}

static void tell_json(const struct telling *t, const struct tsm_arm_result *arm)
{
    tsm_json_open(t->json, '{');
    if (t->api)
        tsm_json_put_string(t->json, "api", t->api);
    tsm_json_put_string(t->json, "arm", tsm_arm_name(arm->arm));
    tsm_json_put_u64(t->json, "run_count", arm->run_count);
    tsm_json_put_string(t->json, "verdict", tsm_verdict_name(arm->verdict));
    tsm_json_put_string(t->json, "why", arm->why);
    tsm_json_put_u64(t->json, "scratch_byte_count", arm->scratch_byte_count);
    if (has_difference(arm)) {
        tsm_json_put_bool(t->json, "exact", arm->is_exact);
        tsm_json_name(t->json, "difference");
        tsm_difference_json(t->json, &arm->difference, t->reader, t->symbols);
    }
    tsm_json_close(t->json, '}');
}

static void tell_arm(void *user, const struct tsm_arm_result *arm)
{
    const struct telling *t = user;

    if (t->json)
        tell_json(t, arm);
    else
        tell_text(t, arm);
}

/* Returns the grade of repeated runs. Devices were not compared with one another. */
static const char *grade_of(const struct tsm_check_result *result)
{
    if (result->verdict == TSM_CANNOT_TELL || result->verdict == TSM_NOTHING_TO_COMPARE)
        return "unknown";
    return result->verdict == TSM_SAME ? "run_to_run" : "not_guaranteed";
}

static void conclude(const struct telling *t, const struct tsm_check_result *result)
{
    if (t->json) {
        tsm_json_put_string(t->json, "verdict", tsm_verdict_name(result->verdict));
        tsm_json_put_string(t->json, "grade", grade_of(result));
        tsm_json_put_string(t->json, "why", result->why);
        tsm_json_put_u64(t->json, "replaced_count", t->replaced_count);
        tsm_json_put_u64(t->json, "scratch_byte_count", result->scratch_byte_count);
        return;
    }
    if (t->replaced_count)
        tsm_note("%" PRIu64 " kernel%s replaced", t->replaced_count,
                 t->replaced_count == 1 ? " was" : "s were");
    if (result->scratch_byte_count)
        tsm_note("%llu bytes of scratch memory differ between runs: no result depends on them",
                 (unsigned long long)result->scratch_byte_count);
    printf("%s: %s\n", grade_of(result),
           result->verdict != TSM_SAME ? tsm_clean(result->why)
           : result->arms[0].verdict == TSM_SAME
               ? "every run gave the same bytes"
               : "every run gave the same bytes; none were recorded to compare them with");
}

/* Runs all APIs; the worse result counts. */
static int run_apis(struct telling *t, struct tsm_check_result *all,
                    const struct tsm_replay_options *options, unsigned repeat_count)
{
    const char *apis[TSM_REPLAY_API_MAX];
    int count = tsm_replay_apis(t->reader, apis, TSM_REPLAY_API_MAX), error = count < 0 ? count : 0;

    if (!count) /* that is an error, which the first run tells */
        apis[count++] = NULL;
    for (int i = 0; i < count && !error; i++) {
        struct tsm_replay_options own = *options;
        struct tsm_check_result one = {0};
        own.backend = apis[i];
        if (count > 1)
            t->api = apis[i];
        if (count > 1 && !tsm_replay_can_replace_kernels(apis[i]))
            own.kernel_count = 0;
        error = tsm_check_run(&one, t->reader, &own, repeat_count, tell_arm, t);
        t->replaced_count += one.first.replaced_count;
        if (i > 0 && tsm_verdict_rank(one.verdict) <= tsm_verdict_rank(all->verdict))
            continue;
        *all = one;
        if (t->api && one.verdict != TSM_SAME)
            tsm_format(all->why, sizeof(all->why), "%s: %s", t->api, one.why);
    }
    return error;
}

int tsm_arms_run(struct sbt_reader *reader, struct tsm_symbols *symbols,
                 const struct tsm_replay_options *options, unsigned repeat_count,
                 struct tsm_json *json)
{
    struct telling t = {.reader = reader, .symbols = symbols, .json = json};
    struct tsm_check_result result = {0};

    if (json) {
        tsm_json_name(json, "arms");
        tsm_json_open(json, '[');
    }
    int error = run_apis(&t, &result, options, repeat_count);
    if (json) {
        tsm_json_close(json, ']');
        if (error)
            tsm_json_put_string(json, "error", tsm_error_message());
    }
    if (error)
        return tsm_complain_error();
    conclude(&t, &result);
    return (int)result.verdict;
}
