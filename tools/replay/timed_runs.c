/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/replay/timed_runs.h"

#include "base/text.h"
#include "tools/replay/time_report.h"
#include "tools/replay/timed_trace.h"
#include "tools/terminal.h"
#include "tracesmith/error.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define RUN_MAX 1000u

static bool parse_number(const char **text, unsigned least, unsigned *out)
{
    char *end;
    const unsigned long value = strtoul(*text, &end, 10);

    if (**text < '0' || **text > '9' || value < least || value > RUN_MAX)
        return false;
    *out = (unsigned)value;
    *text = end;
    return true;
}

bool tsm_timed_parse_count(void *field, const char *text)
{
    struct tsm_timed_count *count = field;

    count->warmup_count = 1;
    if (!parse_number(&text, 1, &count->run_count))
        return false;
    if (*text != ':')
        return !*text;
    text++;
    return parse_number(&text, 0, &count->warmup_count) && !*text;
}

bool tsm_timed_commands(const struct tsm_timed_values *values, const struct sbt_reader *reader)
{
    const char *setting = sbt_reader_metadata_find(reader, "setting.TS_GPU_TIME");

    return values->count.run_count &&
           (values->commands || (setting && strcmp(setting, "commands") == 0));
}

/* ---- before -------------------------------------------------------------------------------- */

/* Says of which APIs there will be no times; fails where there will be none at all. */
static int check_apis(const struct sbt_reader *reader, const char *const *apis, int count)
{
    int timed_count = 0;

    for (int i = 0; i < count; i++)
        timed_count += tsm_replay_can_time(apis[i]);
    if (!timed_count)
        return tsm_fail(TSM_E_UNSUPPORTED, "%s: --time: there are no times of the device for %s",
                        sbt_reader_name(reader), count > 0 ? apis[0] : "what it holds");
    for (int i = 0; i < count; i++)
        if (!tsm_replay_can_time(apis[i]))
            tsm_note("no times of %s: they are not known there", apis[i]);
    return 0;
}

int tsm_timed_begin(struct tsm_timed_runs *t)
{
    const char *apis[TSM_REPLAY_API_MAX];
    const int count = tsm_replay_apis(t->reader, apis, TSM_REPLAY_API_MAX);
    int error;

    if (count < 0)
        return count;
    error = check_apis(t->reader, apis, count);
    if (!error && t->values->output)
        error = tsm_output_begin(&t->output, t->values->output, sbt_reader_name(t->reader),
                                 t->values->force);
    return error;
}

/* ---- after --------------------------------------------------------------------------------- */

static int write_trace(struct tsm_timed_runs *t, const struct tsm_replay_result *result)
{
    const struct tsm_timed_facts facts = {
        .run_count = result->timed_run_count,
        .device = result->device,
        .driver = t->library ? t->library : "",
        .clocks = result->clocks,
        .is_lossy = t->is_lossy,
    };

    return tsm_timed_trace_write(&t->output, t->reader, &t->times, &facts);
}

static int report(struct tsm_timed_runs *t, const struct tsm_replay_result *result,
                  const struct sbt_filter *filter, struct tsm_json *json)
{
    struct tsm_time_report report;
    int error = tsm_time_report_make(&report, t->reader, filter, &t->times);

    if (!error)
        error = tsm_time_report_print(&report, result->clocks, json);
    tsm_time_report_finish(&report);
    return error;
}

static void json_counts(const struct tsm_timed_runs *t, const struct tsm_replay_result *result,
                        struct tsm_json *json)
{
    tsm_json_name(json, "times");
    tsm_json_open(json, '{');
    tsm_json_put_u64(json, "run_count", result->timed_run_count);
    tsm_json_put_u64(json, "warmup_count", t->values->count.warmup_count);
}

/* Says why there are no times. */
static int tell_none(const struct tsm_timed_runs *t, const struct tsm_replay_result *result)
{
    const char *why = "the device gave no times of these commands";

    if (!result->command_count)
        why = "there are no commands to time";
    else if (result->verdict == TSM_DIFFERENT)
        why = "the replay ended with the first difference; --keep-going times what it can";
    if (t->values->output)
        return tsm_fail(TSM_E_NOT_FOUND, "%s: was not written: %s", t->values->output, why);
    tsm_note("no times: %s", why);
    return 0;
}

int tsm_timed_end(struct tsm_timed_runs *t, const struct tsm_replay_result *result,
                  const struct sbt_filter *filter, struct tsm_json *json)
{
    int error = tsm_run_times_end(&t->times);

    if (error)
        return error;
    if (json)
        json_counts(t, result, json);
    if (t->times.count)
        error = report(t, result, filter, json);
    if (json)
        tsm_json_close(json, '}');
    if (!t->times.count && !error)
        return tell_none(t, result);
    return error || !t->values->output ? error : write_trace(t, result);
}
