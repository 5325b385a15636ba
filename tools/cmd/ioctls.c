/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/command.h"

#include "base/text.h"
#include "format/json.h"
#include "tools/child.h"
#include "api/traits.h"
#include "api/drm/view/census.h"
#include "api/drm/view/text.h"
#include "tools/locate.h"
#include "tools/recorded.h"
#include "tools/terminal.h"
#include "tools/text/symbol.h"
#include "tools/text/json_out.h"
#include "tools/trace_open.h"

#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LOOK_EVERY_US 200000u /* at the trace of a program that runs */
#define STACK_COLUMN  14u

struct ioctls_values {
    bool summary, json, stacks, failed, commands;
    const char *calls, *output;
};

static const struct tsm_option options[] = {
    {.name = "summary",
     .letter = 'c',
     .type = TSM_OPTION_FLAG,
     .offset = TSM_FIELD(ioctls_values, summary),
     .help = "Only count: calls, errors and time of each ioctl, longest first."},
    {.name = "calls",
     .letter = 'e',
     .type = TSM_OPTION_TEXT,
     .offset = TSM_FIELD(ioctls_values, calls),
     .argument = "PATTERN",
     .help = "Only ioctls whose name matches this pattern, e.g. '*SUBMIT*'."},
    {.name = "failed",
     .letter = 'f',
     .type = TSM_OPTION_FLAG,
     .offset = TSM_FIELD(ioctls_values, failed),
     .help = "Only calls that returned an error."},
    {.name = "stacks",
     .letter = 'k',
     .type = TSM_OPTION_FLAG,
     .offset = TSM_FIELD(ioctls_values, stacks),
     .help = "Under each call, the program's stack that made it. A program that is run here has "
             "its stacks recorded for all calls then."},
    {.name = "commands",
     .type = TSM_OPTION_FLAG,
     .offset = TSM_FIELD(ioctls_values, commands),
     .help = "Under each submit, its commands, where they are known by name: virgl."},
    {.name = "output",
     .letter = 'o',
     .type = TSM_OPTION_NEW,
     .offset = TSM_FIELD(ioctls_values, output),
     .argument = "TRACE",
     .help = "Keep what is recorded of PROGRAM in this trace."},
    {.name = "json",
     .type = TSM_OPTION_FLAG,
     .offset = TSM_FIELD(ioctls_values, json),
     .help = "One JSON object a line: records as 'tsview --json' prints them, or with --summary "
             "one of schema \"ioctls/1\"."},
    {0},
};

/* ---- showing
 * --------------------------------------------------------------------------------------
 */

struct show {
    const struct ioctls_values *values;
    FILE *out;
    struct tsm_ioctls all;
    uint64_t next_seq; /* shown up to here */
    uint64_t unknown_count;
};

/* A reader for one look. */
struct look {
    struct sbt_reader *reader;
    struct tsm_record_text text;
    struct tsm_symbols *symbols;
    struct tsm_buffer json;
};

static bool is_wanted(const struct show *s, struct sbt_reader *reader,
                      const struct sbt_record *record)
{
    const struct sbt_schema *schema = sbt_reader_schema(reader, record->type);

    if (!(tsm_api_traits(record->type) & TSM_API_KERNEL))
        return false;
    if (s->values->failed && !(record->flags & SBT_RECORD_FAILED))
        return false;
    return !s->values->calls || (schema && fnmatch(s->values->calls, schema->name, 0) == 0);
}

static void show_record(struct show *s, struct look *l, const struct sbt_record *record)
{
    if (s->values->json) {
        tsm_buffer_clear(&l->json);
        sbt_json_record(&l->json, l->reader, record);
        tsm_json_put_lines(&l->json, s->out);
        return;
    }
    tsm_ioctl_put(&l->text, &s->all, record);
    tsm_text_line_write(&l->text.line, s->out);
    if (s->values->commands)
        tsm_ioctl_commands(l->reader, record, s->out);
    if (s->values->stacks && l->symbols)
        tsm_symbols_write_stack(l->symbols, l->reader, record->stack, &l->text.line, STACK_COLUMN,
                                s->out);
}

/* Everything from s->next_seq on. */
static int show_rest(struct show *s, struct look *l)
{
    const struct sbt_filter filter = {.seq_first = s->next_seq};
    const struct sbt_record *record;
    struct sbt_cursor *cursor = NULL;
    int more = sbt_cursor_create(&cursor, l->reader, &filter, 1);

    while (more >= 0 && (more = sbt_cursor_next(cursor, &record)) > 0 && !ferror(s->out)) {
        s->next_seq = record->seq + 1;
        if ((tsm_api_traits(record->type) & TSM_API_KERNEL) &&
            !tsm_ioctls_add(&s->all, l->reader, record))
            more = tsm_fail(TSM_E_MEMORY, "out of memory");
        else if (!s->values->summary && is_wanted(s, l->reader, record))
            show_record(s, l, record);
    }
    sbt_cursor_destroy(cursor);
    fflush(s->out);
    return more;
}

static int show_with(struct show *s, struct sbt_reader *reader)
{
    struct look l = {.reader = reader};
    int result;

    tsm_record_text_init(&l.text, reader);
    if (s->values->stacks)
        tsm_symbols_create(&l.symbols, reader);
    result = show_rest(s, &l);
    tsm_symbols_destroy(l.symbols);
    tsm_record_text_finish(&l.text);
    tsm_buffer_finish(&l.json);
    return result;
}

static void note_metadata(struct sbt_reader *reader, const char *name, const char *what)
{
    const char *value = sbt_reader_metadata_find(reader, name);

    if (value)
        tsm_note("%s %s", value, what);
}

/* Notes what the listing lacks. */
static void note_missing(const struct show *s, struct sbt_reader *reader)
{
    uint64_t unknown = 0;

    for (uint32_t i = 0; i < s->all.count_count; i++)
        unknown += s->all.counts[i].name[0] ? 0 : s->all.counts[i].count;
    if (unknown)
        tsm_note("%" PRIu64 " ioctls are not known: shown raw", unknown);
    if (s->all.lost_submits)
        tsm_note("%" PRIu64
                 " submits were refused: the driver had reset their context, or lost the device",
                 s->all.lost_submits);
    note_metadata(reader, "drm.not_recorded",
                  "calls on GPU files were not recorded: the program uses another API "
                  "(TS_DRM=all records them)");
    note_metadata(reader, "drm.interrupted", "interrupted ioctls were not tried again");
    note_metadata(reader, "drm.unknown_extensions",
                  "extensions of ioctls' arguments are not known: of those only the head is shown");
    tsm_ioctl_census_note(reader);
}

/* The last look, at a trace that nobody writes any more. */
static int show_end(struct show *s, const char *path)
{
    struct sbt_reader *reader = tsm_trace_open(path);
    size_t noted = 0;
    int result;

    if (!reader)
        return TSM_EXIT_ERROR;
    if (s->values->json && !s->values->summary && !s->next_seq) {
        struct tsm_buffer head = {0};
        sbt_json_header(&head, reader);
        tsm_json_put_lines(&head, s->out);
        tsm_buffer_finish(&head);
    }
    result = show_with(s, reader);
    if (s->values->summary && s->values->json)
        tsm_ioctls_summary_json(&s->all, reader, s->out);
    else if (s->values->summary)
        tsm_ioctls_summary(&s->all, s->out);
    tsm_trace_note_damage(reader, &noted);
    note_missing(s, reader);
    sbt_reader_destroy(reader);
    return result < 0 ? tsm_complain_error() : TSM_EXIT_OK;
}

/* ---- while the program runs
 * -------------------------------------------------------------------------
 */

struct follower {
    struct show *show;
    const char *path;
    bool stop;
};

/* Shows what has reached the file so far: the recorder writes twice a second. */
static void *follow(void *argument)
{
    struct follower *f = argument;

    while (!__atomic_load_n(&f->stop, __ATOMIC_RELAXED)) {
        struct sbt_reader *reader = NULL;
        usleep(LOOK_EVERY_US);
        if (access(f->path, R_OK) == 0 && sbt_reader_open(&reader, f->path) == 0)
            show_with(f->show, reader);
        sbt_reader_destroy(reader);
    }
    return NULL;
}

/* Record ioctls and nothing else: so those are recorded, too, that other APIs' libraries make. */
static int prepare(const struct ioctls_values *v, const char *path)
{
    char library[PATH_MAX];
    int error = tsm_locate(library, sizeof(library), TSM_PLACE_CAPTURE);

    if (error >= 0)
        error = tsm_environment_prepend("LD_PRELOAD", library);
    if (error >= 0 && (setenv("TS_OUTPUT", path, 1) || setenv("TS_APIS", "drm", 1) ||
                       setenv("TS_DRM", v->output ? "all" : "calls", 1) ||
                       setenv("TS_STACKS", v->stacks ? "all" : "off", 1)))
        error = tsm_fail(TSM_E_MEMORY, "out of memory");
    return error;
}

/* Notes why there is no trace: the program made no ioctl, or none that could be seen. */
static void note_none(struct tsm_ioctl_census *census, const char *program, bool reached)
{
    uint64_t count = 0;
    bool known = tsm_ioctl_census_end(census, &count);

    if (count)
        tsm_note("%" PRIu64 " ioctls on DRM files went past libc (inline system calls, programs "
                 "that LD_PRELOAD does not reach): none was recorded",
                 count);
    else if (reached)
        tsm_note("%s used no GPU file%s%s", program,
                 known ? "" : " through libc; whether past it is not known: ", census->why);
    else
        tsm_note("%s", known ? "no ioctl on a DRM file was counted; the kernel counts those of "
                               "64-bit programs"
                             : census->why);
}

static int run_program(struct show *s, char *const *argv, const char *path)
{
    struct follower f = {s, path, false};
    struct tsm_program_end end;
    struct tsm_ioctl_census census;
    struct tsm_recording recording;
    pthread_t thread;
    bool follows, ran, reached;

    if (prepare(s->values, path) < 0) {
        tsm_complain_error();
        return TSM_EXIT_OURS;
    }
    follows =
        !s->values->summary && !s->values->json && pthread_create(&thread, NULL, follow, &f) == 0;
    reached = tsm_program_note_reach(argv[0]);
    tsm_recording_begin(&recording, path);
    tsm_ioctl_census_begin(&census);
    ran = tsm_program_run(&end, argv);
    __atomic_store_n(&f.stop, true, __ATOMIC_RELAXED);
    if (follows)
        pthread_join(thread, NULL);
    if (!ran)
        return end.status;
    if (access(path, R_OK) == 0) {
        if (tsm_ioctl_census_write(&census, &recording, path) < 0)
            tsm_complain_error();
        show_end(s, path);
    } else {
        note_none(&census, argv[0], reached);
    }
    return end.status;
}

static int run_in_folder(struct show *s, char *const *argv)
{
    char folder[] = "/tmp/tracesmith.XXXXXX", path[PATH_MAX], command[PATH_MAX + 16];
    int status;

    if (s->values->output) {
        char here[PATH_MAX];
        bool absolute = s->values->output[0] == '/';
        if (!absolute && !getcwd(here, sizeof(here)))
            return tsm_complain("this folder: %s", strerror(errno));
        tsm_format(path, sizeof(path), "%s%s%s", absolute ? "" : here, absolute ? "" : "/",
                   s->values->output);
        return run_program(s, argv, path);
    }
    if (!mkdtemp(folder))
        return tsm_complain("%s: %s", folder, strerror(errno));
    tsm_format(path, sizeof(path), "%s/ioctls.sbt", folder);
    status = run_program(s, argv, path);
    tsm_format(command, sizeof(command), "rm -rf '%s'", folder);
    if (system(command) != 0)
        tsm_note("%s is left over", folder);
    return status;
}

/* ---- the command
 * ------------------------------------------------------------------------------------
 */

/* Tests whether the only operand is a trace, not a program. */
static bool is_trace(const struct tsm_words *words)
{
    static const uint8_t magic[4] = {0x89, 'S', 'B', 'T'};
    uint8_t begin[4] = {0};
    FILE *file = words->count == 1 ? fopen(words->words[0], "rb") : NULL;
    size_t length;

    if (!file)
        return words->count == 1 && strstr(words->words[0], ".sbt");
    length = fread(begin, 1, sizeof(begin), file);
    fclose(file);
    return (length == sizeof(begin) && !memcmp(begin, magic, sizeof(magic))) ||
           strstr(words->words[0], ".sbt");
}

static int run(const struct tsm_command *command, void *values, const struct tsm_words *words)
{
    struct show s = {.values = values, .out = stdout};
    int status;

    if (is_trace(words)) {
        status = show_end(&s, words->words[0]);
    } else {
        s.out = stderr; /* standard output is the program's */
        status = run_in_folder(&s, words->words);
    }
    tsm_ioctls_finish(&s.all);
    return status;
}

const struct tsm_command tsm_command_ioctls = {
    .name = "ioctls",
    .summary = "show ioctls on GPU files, decoded",
    .synopsis = "[OPTION]... TRACE\n[OPTION]... [--] PROGRAM [ARGUMENT]...",
    .description =
        "Shows what a program asks of the kernel's GPU drivers (/dev/dri, /dev/accel, /dev/kfd, "
        "dma-bufs, sync files), as strace shows system calls: each ioctl with the struct that went "
        "in and, after =>, what is different in the one that came out; pointers are followed. "
        "Then its result, its duration and, of a submit, its stream. Ioctls that are not known are "
        "shown raw.\n\n"
        "With PROGRAM, runs it and shows its ioctls while it runs, half a second behind, on "
        "standard error; those that other GPU libraries make are shown, too. What went past libc "
        "is not seen; how many of those there were is said, where the kernel may count (as root).",
    .examples = "tracesmith ioctls ./app\n"
                "tracesmith ioctls -c -- ./app --size 1024   count calls, errors and time\n"
                "tracesmith ioctls -f -k trace.sbt           what failed, and who called it\n"
                "tracesmith ioctls -e '*EXECBUFFER' --commands trace.sbt\n",
    .exit_status = "0|shown\n"
                   "2|the trace cannot be read\n"
                   "PROGRAM's|with PROGRAM, its own status; 125 to 127 as of tsrecord",
    .options = options,
    .values_size = sizeof(struct ioctls_values),
    .operand = "TRACE",
    .word_min = 1,
    .word_max = -1,
    .runs_program = true,
    .run = run,
};
