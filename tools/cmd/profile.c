/* SPDX-License-Identifier: Apache-2.0 */
#include "base/output_file.h"
#include "tools/command.h"

#include "tools/profile/profile.h"
#include "tools/text/json_out.h"
#include "tools/named_output.h"
#include "tools/text/line.h"
#include "tools/terminal.h"
#include "tracesmith/error.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

struct profile_values {
    uint64_t top;
    bool force, lines, json;
    const char *speedscope, *perfetto, *folded;
};

static const struct tsm_option options[] = {
    {.name = "top",
     .letter = 'n',
     .type = TSM_OPTION_NUMBER,
     .argument = "N",
     .offset = TSM_FIELD(profile_values, top),
     .help = "Show N functions and N lines, those that executed most. Without it, 20."},
    {.name = "lines",
     .letter = 'l',
     .type = TSM_OPTION_FLAG,
     .offset = TSM_FIELD(profile_values, lines),
     .help = "Print the PTX of every module that ran, each line with what it executed."},
    {.name = "speedscope",
     .type = TSM_OPTION_TEXT,
     .argument = "FILE",
     .offset = TSM_FIELD(profile_values, speedscope),
     .help = "Write the samples for speedscope.app to FILE. - means standard output."},
    {.name = "perfetto",
     .type = TSM_OPTION_TEXT,
     .argument = "FILE",
     .offset = TSM_FIELD(profile_values, perfetto),
     .help = "Write launches and samples as trace events, which ui.perfetto.dev and "
             "chrome://tracing load, to FILE. - means standard output."},
    {.name = "folded",
     .type = TSM_OPTION_TEXT,
     .argument = "FILE",
     .offset = TSM_FIELD(profile_values, folded),
     .help = "Write stacks with their weights, one a line, as flamegraph.pl reads them, to FILE. "
             "- means standard output."},
    TSM_OUTPUT_FORCE(profile_values, force),
    {.name = "json",
     .type = TSM_OPTION_FLAG,
     .offset = TSM_FIELD(profile_values, json),
     .help = "One JSON object, schema \"tsprofile/1\"."},
    {0},
};

/* ---- sums ------------------------------------------------------------------------------------ */

struct tables {
    struct tsm_gpu_count *functions; /* sums; line 0 */
    struct tsm_gpu_count *lines;
    struct tsm_gpu_count all;
    size_t function_count, line_count;
};

static void add_count(struct tsm_gpu_count *sum, const struct tsm_gpu_count *c)
{
    sum->warps += c->warps;
    sum->threads += c->threads;
    sum->lanes += c->lanes;
    sum->waits += c->waits;
    sum->wait_steps += c->wait_steps;
}

static int by_warps(const void *a, const void *b)
{
    const struct tsm_gpu_count *x = a, *y = b;

    if (x->warps != y->warps)
        return x->warps > y->warps ? -1 : 1;
    if (x->module != y->module)
        return x->module < y->module ? -1 : 1;
    return x->line < y->line ? -1 : x->line > y->line;
}

static bool is_function(const struct tsm_gpu_count *f, const struct tsm_gpu_count *c)
{
    return f->module == c->module && strcmp(f->function, c->function) == 0;
}

static bool make_tables(struct tables *t, const struct tsm_gpu_profile *p)
{
    t->functions = calloc(p->count_count + 1, sizeof(*t->functions));
    t->lines = calloc(p->count_count + 1, sizeof(*t->lines));
    if (!t->functions || !t->lines)
        return false;
    for (size_t k = 0; k < p->count_count; k++) {
        const struct tsm_gpu_count *c = &p->counts[k];
        size_t at = 0;
        while (at < t->function_count && !is_function(&t->functions[at], c))
            at++;
        if (at == t->function_count)
            t->functions[t->function_count++] =
                (struct tsm_gpu_count){.module = c->module, .function = c->function};
        add_count(&t->functions[at], c);
        add_count(&t->all, c);
        t->lines[t->line_count++] = *c;
    }
    qsort(t->functions, t->function_count, sizeof(*t->functions), by_warps);
    qsort(t->lines, t->line_count, sizeof(*t->lines), by_warps);
    return true;
}

/* ---- for people ------------------------------------------------------------------------------ */

/* Returns the average share of a warp's 32 lanes that were active, in percent. */
static uint64_t percent(uint64_t part, uint64_t whole)
{
    return whole ? (part * 100 + whole / 2) / whole : 0;
}

#define COLUMNS "         warps       threads  active   waits   waiting"

static void put_columns(struct tsm_text_line *line, const struct tsm_gpu_count *c)
{
    tsm_text_line_right(line, c->warps, 14);
    tsm_text_line_right(line, c->threads, 14);
    tsm_text_line_right(line, percent(c->threads, c->warps * 32), 7);
    tsm_text_line_text(line, "%");
    tsm_text_line_right(line, c->waits, 8);
    tsm_text_line_right(line, c->wait_steps, 10);
    tsm_text_line_text(line, "  ");
}

static const char *text_of(const struct tsm_gpu_profile *p, const struct tsm_gpu_count *c)
{
    return p->modules[c->module].lines[c->line - 1];
}

static const char *skip_space(const char *text)
{
    return text + strspn(text, " \t");
}

static void title(const char *text)
{
    printf("\n%s%s%s\n", tsm_paint(TSM_PAINT_BOLD), text, tsm_paint(TSM_PAINT_NONE));
}

static void print_top(const struct tsm_gpu_profile *p, const struct tables *t, uint64_t top)
{
    struct tsm_text_line line = {.width = tsm_terminal_width()};

    printf("%zu launches, %" PRIu64 " warp instructions, %" PRIu64
           " thread instructions; %zu samples, one in %" PRIu64 "\n",
           p->launch_count, t->all.warps, t->all.threads, p->sample_count, p->every);
    title(COLUMNS "  function");
    for (size_t k = 0; k < t->function_count && k < top; k++) {
        put_columns(&line, &t->functions[k]);
        tsm_text_line_clean(&line, t->functions[k].function);
        tsm_text_line_write(&line, stdout);
    }
    title(COLUMNS "  module:line");
    for (size_t k = 0; k < t->line_count && k < top; k++) {
        put_columns(&line, &t->lines[k]);
        tsm_text_line_u64(&line, t->lines[k].module + 1);
        tsm_text_line_text(&line, ":");
        tsm_text_line_u64(&line, t->lines[k].line);
        tsm_text_line_pad(&line, 66);
        tsm_text_line_clean(&line, skip_space(text_of(p, &t->lines[k])));
        tsm_text_line_write(&line, stdout);
    }
    tsm_text_line_finish(&line);
}

static void print_module(const struct tsm_gpu_profile *p, uint64_t module)
{
    const struct tsm_gpu_module *m = &p->modules[module];
    const struct tsm_gpu_count **of_line =
        calloc(m->line_count + 1, sizeof(struct tsm_gpu_count *));
    struct tsm_text_line line = {.width = tsm_terminal_width()};

    for (size_t k = 0; of_line && k < p->count_count; k++)
        if (p->counts[k].module == module)
            of_line[p->counts[k].line] = &p->counts[k];
    printf("\n%smodule %" PRIu64 "%s\n", tsm_paint(TSM_PAINT_BOLD), module + 1,
           tsm_paint(TSM_PAINT_NONE));
    printf("%s  line\n", COLUMNS);
    for (uint64_t k = 1; of_line && k <= m->line_count; k++) {
        if (of_line[k])
            put_columns(&line, of_line[k]);
        else
            tsm_text_line_pad(&line, 56);
        tsm_text_line_right(&line, k, 5);
        tsm_text_line_text(&line, "  ");
        tsm_text_line_clean(&line, m->lines[k - 1]);
        tsm_text_line_write(&line, stdout);
    }
    tsm_text_line_finish(&line);
    free(of_line);
}

/* ---- for programs ---------------------------------------------------------------------------- */

static void put_json_count(struct tsm_json *j, const struct tsm_gpu_profile *p,
                           const struct tsm_gpu_count *c)
{
    tsm_json_open(j, '{');
    tsm_json_put_u64(j, "module", c->module + 1);
    tsm_json_put_string(j, "function", c->function);
    if (c->line) {
        tsm_json_put_u64(j, "line", c->line);
        tsm_json_put_string(j, "text", skip_space(text_of(p, c)));
    }
    tsm_json_put_u64(j, "warps", c->warps);
    tsm_json_put_u64(j, "threads", c->threads);
    tsm_json_put_u64(j, "lanes", c->lanes);
    tsm_json_put_u64(j, "waits", c->waits);
    tsm_json_put_u64(j, "wait_instructions", c->wait_steps);
    tsm_json_close(j, '}');
}

static void put_json_counts(struct tsm_json *j, const char *name, const struct tsm_gpu_profile *p,
                            const struct tsm_gpu_count *counts, size_t count)
{
    tsm_json_name(j, name);
    tsm_json_open(j, '[');
    for (size_t k = 0; k < count; k++)
        put_json_count(j, p, &counts[k]);
    tsm_json_close(j, ']');
}

static void print_json(const struct tsm_gpu_profile *p, const struct tables *t)
{
    struct tsm_json j = {.out = stdout};

    tsm_json_begin(&j, "tsprofile/1");
    tsm_json_put_bool(&j, "complete", p->is_whole);
    tsm_json_put_u64(&j, "launches", p->launch_count);
    tsm_json_put_u64(&j, "samples", p->sample_count);
    tsm_json_put_u64(&j, "sample_every", p->every);
    tsm_json_put_u64(&j, "warps", t->all.warps);
    tsm_json_put_u64(&j, "threads", t->all.threads);
    put_json_counts(&j, "functions", p, t->functions, t->function_count);
    put_json_counts(&j, "lines", p, t->lines, t->line_count);
    tsm_json_end(&j);
}

/* ---- files ----------------------------------------------------------------------------------- */

enum export { EXPORT_SPEEDSCOPE, EXPORT_PERFETTO, EXPORT_FOLDED };

static int write_export(const struct tsm_gpu_profile *p, enum export what, const char *path,
                        const char *name)
{
    struct tsm_output_file out;

    if (tsm_output_file_begin(&out, path) < 0)
        return tsm_complain_error();
    if (what == EXPORT_SPEEDSCOPE)
        tsm_gpu_profile_speedscope(p, name, out.file);
    else if (what == EXPORT_PERFETTO)
        tsm_gpu_profile_perfetto(p, out.file);
    else
        tsm_gpu_profile_folded(p, out.file);
    return tsm_output_file_end(&out, false) < 0 ? tsm_complain_error() : TSM_EXIT_OK;
}

static int show(const struct tsm_gpu_profile *p, const struct profile_values *v, const char *name)
{
    const char *paths[] = {v->speedscope, v->perfetto, v->folded};
    struct tables tables = {0};
    int status = TSM_EXIT_OK;
    bool exports = false;

    for (int k = 0; k < 3 && !status; k++) {
        if (paths[k])
            status = write_export(p, (enum export)k, paths[k], name);
        exports |= paths[k] != NULL;
    }
    if (!status && !make_tables(&tables, p))
        status = tsm_complain("out of memory");
    if (!status && v->json)
        print_json(p, &tables);
    else if (!status && v->lines)
        for (size_t k = 0; k < p->module_count; k++)
            print_module(p, k);
    else if (!status && (v->top || !exports))
        print_top(p, &tables, v->top ? v->top : 20);
    free(tables.functions);
    free(tables.lines);
    return status;
}

static int check_outputs(const struct profile_values *v)
{
    const char *paths[] = {v->speedscope, v->perfetto, v->folded};
    int error = 0;

    for (int k = 0; k < 3 && !error; k++)
        if (paths[k])
            error = tsm_output_check(paths[k], TSM_OUTPUT_OTHER, NULL, v->force);
    return error;
}

static int run(const struct tsm_command *command, void *values, const struct tsm_words *words)
{
    struct tsm_gpu_profile profile;
    int status = TSM_EXIT_ERROR;

    if (check_outputs(values) < 0)
        return tsm_complain_error();
    if (tsm_gpu_profile_read(&profile, words->words[0]) != 0) {
        tsm_complain_error();
    } else {
        if (!profile.is_whole)
            tsm_note("%s: the program did not end normally: samples are there, counts and host "
                     "stacks are not",
                     words->words[0]);
        status = show(&profile, values, words->words[0]);
    }
    tsm_gpu_profile_finish(&profile);
    return status;
}

const struct tsm_command tsm_command_profile = {
    .name = "profile",
    .summary = "show what kernels executed on the software GPU, line by line",
    .synopsis = "[OPTION]... FILE",
    .description =
        "Reads the profile that the software GPU writes when TS_EMU_PROFILE names a file, and "
        "shows which functions and which lines of PTX executed most.\n\n"
        "warps is how often a warp, or the part of one that was together, executed the line; "
        "threads how many threads did, with their guard true; active the share of the warp's 32 "
        "lanes that this is: below 100% the warp had diverged, was not full, or was guarded off. "
        "waits is how often a warp waited at a barrier, waiting how many warp instructions others "
        "executed meanwhile.\n\n"
        "With an export alone, nothing is printed.",
    .examples = "TS_EMU_PROFILE=p.txt tracesmith emu ./app\n"
                "tracesmith profile p.txt\n"
                "tracesmith profile --lines p.txt\n"
                "tracesmith profile --speedscope=p.json p.txt\n"
                "tracesmith profile --folded=- p.txt | flamegraph.pl >p.svg\n",
    .exit_status = "0|shown\n"
                   "2|the profile cannot be read, or an export not written",
    .options = options,
    .values_size = sizeof(struct profile_values),
    .operand = "FILE",
    .word_min = 1,
    .word_max = 1,
    .run = run,
};
