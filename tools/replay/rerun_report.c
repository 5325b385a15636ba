/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/replay/rerun_report.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/text.h"
#include "tools/selection.h"
#include "tools/terminal.h"
#include "tools/text/difference.h"

bool tsm_rerun_is_possible(struct sbt_reader *reader, const struct tsm_replay_options *options)
{
    const char *apis[TSM_REPLAY_API_MAX];

    return !options->dry_run && !options->loop && !options->timed_runs && !options->schedule &&
           !options->inspect && !options->permute && !options->delay &&
           options->pace != TSM_PACE_STEPPED &&
           tsm_replay_apis(reader, apis, TSM_REPLAY_API_MAX) == 1 && tsm_reruns_are_for(apis[0]);
}

/* ---- the memory of a part ----------------------------------------------------------------- */

static void judge_part(struct tsm_replay_result *result, const struct tsm_part_memory *part,
                       bool has_streams)
{
    if (!part->differing_count) {
        result->verdict = TSM_SAME;
        result->why[0] = '\0';
        return;
    }
    result->verdict = has_streams ? TSM_CANNOT_TELL : TSM_DIFFERENT;
    tsm_format(result->why, sizeof(result->why),
               "%" PRIu64 " of %" PRIu64 " allocations that the part wrote hold something else at "
               "its end than after a full replay of this trace, the first one at 0x%" PRIx64 "%s",
               part->differing_count, part->compared_count, part->address,
               has_streams ? ": commands of other streams may have written there" : "");
}

void tsm_rerun_compare_part(struct tsm_rerun_report *r, struct tsm_replay_result *result,
                            const struct tsm_replay_options *options)
{
    if (!r->reruns.pid || result->verdict != TSM_NOTHING_TO_COMPARE ||
        !tsm_selection_is_part(&options->filter))
        return;
    if (tsm_reruns_part_memory(&r->reruns, &r->part) < 0) {
        tsm_note("the memory of this part was not compared with a full replay: %s",
                 tsm_error_message());
        return;
    }
    r->has_part = r->part.compared_count > 0;
    if (r->has_part)
        judge_part(result, &r->part, options->filter.streams != NULL);
}

void tsm_rerun_print_part(const struct tsm_rerun_report *r)
{
    printf(", %ssame as a full replay of this trace: memory of %" PRIu64
           " allocation%s at the end of the part%s\n",
           tsm_paint(TSM_PAINT_GOOD), r->part.compared_count,
           r->part.compared_count == 1 ? "" : "s", tsm_paint(TSM_PAINT_NONE));
    tsm_note("the recording holds nothing to compare in this part");
}

void tsm_rerun_json_part(const struct tsm_rerun_report *r, struct tsm_json *json)
{
    if (!r->has_part)
        return;
    tsm_json_name(json, "part_memory");
    tsm_json_open(json, '{');
    tsm_json_put_string(json, "compared_with", "full_replay");
    tsm_json_put_u64(json, "compared_count", r->part.compared_count);
    tsm_json_put_u64(json, "differing_count", r->part.differing_count);
    tsm_json_put_u64(json, "shared_count", r->part.shared_count);
    tsm_json_close(json, '}');
}

/* ---- why it differs ----------------------------------------------------------------------- */

static void put_explanation(struct tsm_json *json, const struct tsm_explanation *e)
{
    tsm_json_name(json, "explanation");
    tsm_json_open(json, '{');
    tsm_json_put_string(json, "cause", tsm_explained_name(e->cause));
    tsm_json_put_string(json, "why", e->text);
    if (e->has_pair || e->cause == TSM_EXPLAINED_KERNEL)
        tsm_json_put_u64(json, "seq", e->seq);
    if (e->has_pair)
        tsm_json_put_u64(json, "other_seq", e->other_seq);
    if (e->has_pair && e->byte_count) {
        tsm_json_put_u64(json, "address", e->address);
        tsm_json_put_u64(json, "byte_count", e->byte_count);
    }
    tsm_json_close(json, '}');
}

void tsm_rerun_explain(struct tsm_rerun_report *r, const struct tsm_replay_result *result,
                       struct tsm_json *json)
{
    struct tsm_explanation explanation;

    if (!r->reruns.pid || !r->has_difference || result->verdict != TSM_DIFFERENT)
        return;
    if (tsm_reruns_explain(&r->reruns, &explanation, &r->difference) < 0) {
        tsm_note("why it differs is not known: %s", tsm_error_message());
        return;
    }
    if (json)
        put_explanation(json, &explanation);
    else
        tsm_note("%s", tsm_clean(explanation.text));
}
