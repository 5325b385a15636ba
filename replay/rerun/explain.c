/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/rerun/explain.h"

#include <string.h>

#include "analysis/dependencies/contributors.h"
#include "analysis/diff/difference.h"
#include "base/text.h"
#include "replay/rerun/forked_run.h"
#include "replay/rerun/suspect.h"

#define LIMIT_S 60u /* of one run */

typedef unsigned long long ull; /* for formats */

const char *tsm_explained_name(enum tsm_explained cause)
{
    static const char *const names[] = {"unknown", "unordered", "kernel", "chance"};

    return names[cause];
}

/* ---- runs --------------------------------------------------------------------------------- */

static int run_again(struct tsm_forked_result *out, struct sbt_reader *reader,
                     const struct tsm_replay_options *options, bool is_serial)
{
    struct tsm_replay_options varied = *options;
    const struct tsm_forked_run run = {
        .options = &varied, .is_serial = is_serial, .limit_s = LIMIT_S};

    if (!is_serial)
        varied.pace = TSM_PACE_STEPPED;
    return tsm_forked_run(out, reader, &run);
}

/* Tests whether two runs differ from the recording in the same bytes, and have the same in their
 * place, as far as that is shown. */
static bool is_same_difference(const struct tsm_difference *a, const struct tsm_difference *b)
{
    return a->seq == b->seq && a->buffer == b->buffer && a->offset == b->offset &&
           a->byte_count == b->byte_count && a->shown == b->shown &&
           memcmp(a->actual, b->actual, a->shown) == 0;
}

/* ---- names -------------------------------------------------------------------------------- */

/* Tests whether an edge is of memory that lies in what differs, or is of a contributor. */
static bool concerns(const struct tsm_contributors *c, const struct tsm_dependency *e,
                     const struct tsm_difference *d)
{
    for (size_t i = 0; i < c->count; i++)
        if (c->list[i].node->seq == e->from || c->list[i].node->seq == e->to)
            return true;
    return !c->count && e->size && e->start < d->buffer + d->buffer_size &&
           d->buffer < e->start + e->size;
}

/* Finds the surest conflict that nothing orders; of several the last one before the difference was
 * seen. NULL: there is none. */
static const struct tsm_dependency *find_pair(const struct tsm_dependency_graph *g,
                                              const struct tsm_contributors *c,
                                              const struct tsm_difference *d)
{
    const struct tsm_dependency *best = NULL;

    for (size_t i = 0; i < g->edge_count; i++) {
        const struct tsm_dependency *e = &g->edges[i];

        if (tsm_dependency_is_memory(e) && e->is_unordered &&
            (!best || e->access <= best->access) && concerns(c, e, d))
            best = e;
    }
    return best;
}

static void name_pair(struct tsm_explanation *out, struct sbt_reader *reader,
                      const struct tsm_dependency *pair, const char *begin, const char *end)
{
    char one[160], other[160];

    out->has_pair = true;
    out->seq = pair->to;
    out->other_seq = pair->from;
    out->address = pair->size ? pair->start : 0;
    out->byte_count = pair->size;
    tsm_difference_command_text(one, sizeof(one), reader, pair->to);
    tsm_difference_command_text(other, sizeof(other), reader, pair->from);
    tsm_format(out->text, sizeof(out->text),
               "%s: %s, and %s %s memory at 0x%llx without an order between them%s", begin, one,
               other, tsm_access_is_exact((enum tsm_access_kind)pair->access) ? "use" : "may use",
               (ull)out->address, end);
}

static void name_unordered(struct tsm_explanation *out, struct sbt_reader *reader,
                           const struct tsm_dependency *pair)
{
    if (pair)
        name_pair(out, reader, pair, "unordered work", "");
    else
        tsm_format(out->text, sizeof(out->text),
                   "unordered work: the results are as recorded where commands are sent in another "
                   "way; the trace shows no two that conflict without an order, so threads of the "
                   "program may have told each other");
}

/* Names the last kernel that may have written the bytes that differ, or the command that gave them
 * where there is none. */
static int name_kernel(struct tsm_explanation *out, struct sbt_reader *reader,
                       const struct tsm_contributors *c, const struct tsm_difference *d)
{
    struct tsm_suspect suspect = {0};
    char text[160];
    int error =
        c->count ? 0 : tsm_suspect_find(&suspect, reader, d); /* of memory, by its address */

    out->seq = suspect.found ? suspect.seq : d->seq;
    for (size_t i = 0; i < c->count; i++)
        if (c->list[i].node->kernel && (out->seq == d->seq || c->list[i].node->seq > out->seq))
            out->seq = c->list[i].node->seq;
    tsm_difference_command_text(text, sizeof(text), reader, out->seq);
    tsm_format(out->text, sizeof(out->text),
               "%s, not an order: %s is the last command that %s the bytes, which differ in the "
               "same way where each command is waited for, and where one runs at a time",
               out->seq == d->seq ? "the command itself" : "the kernel itself", text,
               out->seq == d->seq ? "gave" : "may have computed");
    return error;
}

static int name(struct tsm_explanation *out, struct sbt_reader *reader,
                const struct tsm_difference *d)
{
    struct tsm_dependency_graph graph = {0};
    struct tsm_contributors c = {0};
    int error;

    if (sbt_reader_totals(reader)->record_count > TSM_SEARCHED_RECORDS_MAX) {
        tsm_format(out->text, sizeof(out->text),
                   "%s; the trace is too long to search it for the commands",
                   out->cause == TSM_EXPLAINED_KERNEL ? "the kernel itself, not an order"
                                                      : "unordered work");
        return 0;
    }
    error = tsm_dependency_graph_make(&graph, reader, true);
    const struct tsm_dependency_node *node =
        error ? NULL : tsm_dependency_graph_find(&graph, d->seq);

    if (node && node->is_command)
        error = tsm_contributors_find(&c, &graph, node);
    const struct tsm_dependency *pair = error ? NULL : find_pair(&graph, &c, d);

    if (!error && out->cause == TSM_EXPLAINED_UNORDERED) {
        name_unordered(out, reader, pair);
    } else if (!error && pair) { /* the recorded order may be none of those that were tried */
        out->cause = TSM_EXPLAINED_NOTHING;
        name_pair(out, reader, pair, "unordered work, or the kernel itself",
                  "; the bytes differ in the same way in each order that was tried");
    } else if (!error) {
        error = name_kernel(out, reader, &c, d);
    }
    tsm_contributors_finish(&c);
    tsm_dependency_graph_finish(&graph);
    return error;
}

int tsm_explain(struct tsm_explanation *out, struct sbt_reader *reader,
                const struct tsm_replay_options *options, const struct tsm_difference *plain)
{
    struct tsm_forked_result stepped = {0}, serial = {0};
    int error = run_again(&stepped, reader, options, false);

    *out = (struct tsm_explanation){0};
    if (!error)
        error = run_again(&serial, reader, options, true);
    if (error) { /* a run that takes too long, say: nothing is known then */
        tsm_format(out->text, sizeof(out->text), "not known: %s", tsm_error_message());
        return 0;
    }
    if (!stepped.differs || !serial.differs) {
        out->cause = TSM_EXPLAINED_UNORDERED;
        return name(out, reader, plain);
    }
    if (is_same_difference(&stepped.difference, plain) &&
        is_same_difference(&serial.difference, plain)) {
        out->cause = TSM_EXPLAINED_KERNEL;
        return name(out, reader, plain);
    }
    out->cause = TSM_EXPLAINED_CHANCE;
    tsm_format(out->text, sizeof(out->text),
               "not reproducible: other bytes differ where each command is waited for, or where "
               "one runs at a time");
    return 0;
}
