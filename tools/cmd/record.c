/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/command.h"

#include "base/text.h"
#include "capture/settings.h"
#include "tools/locate.h"
#include "tools/child.h"
#include "tools/kernel/cpu_collect.h"
#include "api/drm/view/census.h"
#include "tools/kernel/session.h"
#include "tools/named_output.h"
#include "tools/recorded.h"
#include "tools/terminal.h"
#include "tracesmith/error.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SETTING_COUNT_MAX 48

struct record_values {
    bool audit, emu, kernel, census, force;
    struct tsm_cpu_wanted cpu;
    int kernel_backend;
    const char *settings[SETTING_COUNT_MAX]; /* by row of the settings table; NULL: not given */
};

static const struct tsm_option options[] = {
    {.name = "emu",
     .letter = 'e',
     .type = TSM_OPTION_FLAG,
     .offset = TSM_FIELD(record_values, emu),
     .help = "Run the program on the software GPU instead of a real one."},
    {.name = "audit",
     .letter = 'a',
     .type = TSM_OPTION_FLAG,
     .offset = TSM_FIELD(record_values, audit),
     .help = "Also load libts_audit.so (LD_AUDIT), for programs that find the driver in ways that "
             "LD_PRELOAD does not reach. Slows down program start."},
    {.name = "census",
     .type = TSM_OPTION_FLAG,
     .offset = TSM_FIELD(record_values, census),
     .help = "Have the kernel count the ioctls on DRM files of the program and of what it starts, "
             "and say how many of them went past libc, where they are not recorded (as root). "
             "Not by default: while it counts, each system call of every program takes longer, "
             "and the traces are read once more at the end."},
    {.name = "cpu",
     .type = TSM_OPTION_PARSED,
     .offset = TSM_FIELD(record_values, cpu),
     .argument = "WHICH",
     .absent = "all",
     .parse = tsm_cpu_wanted_parse,
     .help =
         "Also record what the CPUs do meanwhile: switches and wake-ups of threads, interrupts, "
         "block I/O, by eBPF (as root). 'tracesmith merge' shows where requests spend their "
         "time. WHICH leaves the rest out in the kernel: pid=PID,tid=TID,cgroup=PATH,"
         "device=MAJOR:MINOR; buffer=16M is room for what comes at once. Default: all."},
    {.name = "kernel",
     .letter = 'k',
     .type = TSM_OPTION_FLAG,
     .offset = TSM_FIELD(record_values, kernel),
     .help = "Also record what the kernel's GPU rings do meanwhile, with the module grtrace.ko (as "
             "root): it goes into the program's trace, on the same clock. 'grtrace report' and "
             "'tsview --kernel' show it."},
    {.name = "kernel-backend",
     .type = TSM_OPTION_CHOICE,
     .offset = TSM_FIELD(record_values, kernel_backend),
     .argument = TSM_KERNEL_BACKENDS,
     .help = "--kernel: what records there, as for 'grtrace --backend'. Default: auto."},
    TSM_OUTPUT_FORCE(record_values, force),
    {0},
};

/* ---- the settings' rows ---------------------------------------------------------------------- */

/* "TS_LANE_SIZE" is --lane-size. */
static void setting_option_name(char *out, size_t size, const char *setting)
{
    tsm_format(out, size, "%s", setting + strlen("TS_"));
    for (; *out; out++)
        *out = *out == '_' ? '-' : (char)tolower((unsigned char)*out);
}

static size_t setting_options(struct tsm_option *out, size_t max)
{
    static char names[SETTING_COUNT_MAX][32], help[SETTING_COUNT_MAX][320];
    size_t count, used = 0;
    const struct tsm_setting *settings = tsm_settings_table(&count);

    for (size_t i = 0; i < count && i < SETTING_COUNT_MAX && used < max; i++) {
        const struct tsm_setting *s = &settings[i];
        if (strcmp(s->name, "TS_CAPTURE") == 0)
            continue; /* recording nothing is not what this command is for */
        setting_option_name(names[i], sizeof(names[i]), s->name);
        bool plain = !s->default_text[0];
        tsm_format(help[i], sizeof(help[i]), "%s%s%s%s", s->help,
                   plain ? "" : " Default: ", s->default_text, plain ? "" : ".");
        bool output = strcmp(s->name, "TS_OUTPUT") == 0;
        out[used++] = (struct tsm_option){
            .name = names[i],
            .letter = output ? 'o' : 0,
            .type = output ? TSM_OPTION_NEW : TSM_OPTION_TEXT,
            .offset = TSM_FIELD(record_values, settings) + i * sizeof(const char *),
            .argument = output ? "FILE" : s->argument,
            .help = help[i],
        };
    }
    return used;
}

static void help_settings(struct tsm_help_page *page)
{
    tsm_help_page_heading(page, "Environment");
    tsm_help_page_text(
        page, "Where an option's text ends in a variable's name, the variable does the same; an "
              "option wins over it. With variables alone, programs that tsrecord does not start "
              "are recorded: LD_PRELOAD=libts_capture.so TS_OUTPUT=x.sbt ./app. TS_CAPTURE=0 "
              "switches capture off.");
}

static int bad_setting(const struct tsm_setting *setting, const char *text)
{
    char name[32];

    setting_option_name(name, sizeof(name), setting->name);
    return tsm_fail(TSM_E_ARGUMENT, "--%s: '%s' is %s %s; see 'tsrecord --help'", name, text,
                    strchr(setting->argument, '|') ? "none of" : "no", setting->argument);
}

/* Check each given setting with the parser that the program will use, and export it. */
static int export_settings(const struct record_values *v)
{
    static struct tsm_settings scratch;
    size_t count;
    const struct tsm_setting *settings = tsm_settings_table(&count);

    for (size_t i = 0; i < count && i < SETTING_COUNT_MAX; i++) {
        if (!v->settings[i])
            continue;
        if (!settings[i].parse(&scratch, v->settings[i]))
            return bad_setting(&settings[i], v->settings[i]);
        if (setenv(settings[i].name, v->settings[i], 1) != 0)
            return tsm_fail(TSM_E_MEMORY, "%s: %s", settings[i].name, strerror(errno));
    }
    return 0;
}

/* The program may change its folder before its first GPU call: make the path absolute. */
static int export_output(char *out, size_t size)
{
    size_t count;
    const struct tsm_setting *settings = tsm_settings_table(&count);
    const char *path = getenv("TS_OUTPUT");
    char folder[PATH_MAX];

    for (size_t i = 0; (!path || !*path) && i < count; i++) {
        if (strcmp(settings[i].name, "TS_OUTPUT") == 0)
            path = settings[i].default_text;
    }
    if (path[0] == '/')
        tsm_format(out, size, "%s", path);
    else if (getcwd(folder, sizeof(folder)))
        tsm_format(out, size, "%s/%s", folder, path);
    else
        return tsm_fail(TSM_E_IO, "this folder: %s", strerror(errno));
    return setenv("TS_OUTPUT", out, 1) ? tsm_fail(TSM_E_MEMORY, "out of memory") : 0;
}

/* Recording only begins with the program's first GPU call, and then may not fail the program. */
static int check_output(const char *pattern, bool force)
{
    const char *slash = strrchr(pattern, '/'), *id = strstr(pattern, "%p");
    char path[PATH_MAX];
    int error;

    if (id && slash && id < slash)
        return 0; /* in a folder that is named after a process: there is none yet */
    if (!tsm_output_path(path, sizeof(path), pattern, 0))
        return tsm_fail(TSM_E_ARGUMENT, "%s: the path is too long", pattern);
    error = tsm_output_check(path, TSM_OUTPUT_RECORDING, NULL, force);
    if (!error && force && !tsm_output_is_trace(path) && unlink(path) != 0 && errno != ENOENT)
        error = tsm_fail(TSM_E_IO, "%s: cannot be replaced: %s", path, strerror(errno));
    return error;
}

/* Names the tool of NVTX beside the library, as that does itself, but before any code of the
 * program runs. Another tool stays; without ours there are no labels. */
static void name_nvtx_tool(const char *library)
{
    const char *apis = getenv("TS_APIS");
    char path[PATH_MAX + 32];

    tsm_format(path, sizeof(path), "%.*s/shim/libts_nvtx.so",
               (int)(strrchr(library, '/') - library), library);
    if (access(path, R_OK) == 0 &&
        (tsm_settings_want_api(apis, "nvtx") || tsm_settings_want_api(apis, "cuda")))
        setenv("NVTX_INJECTION64_PATH", path, 0);
}

static int prepare(const struct record_values *v, char *output, size_t size)
{
    char library[PATH_MAX];
    int error;

    if ((error = export_settings(v)) < 0 || (error = export_output(output, size)) < 0 ||
        (error = check_output(output, v->force)) < 0 ||
        (error = tsm_locate(library, sizeof(library), TSM_PLACE_CAPTURE)) < 0 ||
        (error = tsm_environment_prepend("LD_PRELOAD", library)) < 0)
        return error;
    name_nvtx_tool(library);
    if (v->audit && ((error = tsm_locate(library, sizeof(library), TSM_PLACE_AUDIT)) < 0 ||
                     (error = tsm_environment_prepend("LD_AUDIT", library)) < 0))
        return error;
    return v->emu ? tsm_environment_emu() : 0;
}

/* ---- the kernel ------------------------------------------------------------------------------ */

static struct tsm_kernel_session kernel;

/* Begins the kernel's session. Its records go to a file in the trace's folder, under a name that no
 * trace of the program takes. */
static int kernel_begin(char *part, size_t size, const char *output, int choice)
{
    const struct tsm_kernel_backend *backend = tsm_kernel_backend(choice);

    if (!backend)
        return TSM_E_NOT_FOUND;
    tsm_format(part, size, "%s.kernel-%d", output, (int)getpid());
    return tsm_kernel_session_begin(&kernel, backend, part);
}

/* Puts collected events into the trace of the program itself; without such a trace the file
 * stays. */
static void put_into_trace(const char *part, const char *what,
                           const struct tsm_recording *recording, pid_t pid)
{
    char path[PATH_MAX];

    if (!tsm_recording_find(path, sizeof(path), recording, pid)) {
        tsm_note("%s: %s; the program left no trace of its own to put them into", part, what);
        return;
    }
    if (tsm_kernel_append(path, part) < 0) {
        tsm_complain_error();
        tsm_note("%s: what was collected is here", part);
        return;
    }
    unlink(part);
    tsm_note("%s: %s", path, what);
}

static void kernel_end(const char *part, const struct tsm_recording *recording, pid_t pid)
{
    char what[64];

    if (tsm_kernel_session_end(&kernel) < 0) {
        tsm_complain_error();
        return;
    }
    tsm_format(what, sizeof(what), "%" PRIu64 " kernel records", kernel.collect.record_count);
    put_into_trace(part, what, recording, pid);
}

/* ---- the CPUs -------------------------------------------------------------------------------- */

static int cpu_begin(struct tsm_cpu_collect **out, char *part, size_t size, const char *output,
                     const struct tsm_cpu_wanted *wanted)
{
    if (!wanted->on)
        return 0;
    tsm_format(part, size, "%s.cpu-%d", output, (int)getpid());
    return tsm_cpu_collect_begin(out, wanted, part);
}

static void cpu_end(struct tsm_cpu_collect *cpu, const char *part,
                    const struct tsm_recording *recording, pid_t pid)
{
    if (!cpu)
        return;
    if (tsm_cpu_collect_end(cpu) < 0)
        tsm_complain_error();
    else
        put_into_trace(part, "what the CPUs did; 'tracesmith merge' shows it", recording, pid);
}

/* ---- ioctls past libc ------------------------------------------------------------------------ */

static void census_end(struct tsm_ioctl_census *census, const struct tsm_recording *recording,
                       pid_t pid)
{
    struct sbt_reader *reader = NULL;
    char path[PATH_MAX];
    uint64_t count = 0;

    if (!tsm_recording_find(path, sizeof(path), recording, pid)) {
        if (!tsm_ioctl_census_end(census, &count))
            tsm_note("ioctls were not counted: %s", census->why);
        else if (count)
            tsm_note("the kernel counted %" PRIu64
                     " ioctls on DRM files; the program left no trace of its own",
                     count);
    } else if (tsm_ioctl_census_write(census, recording, path) < 0) {
        tsm_complain_error();
    } else if (sbt_reader_open(&reader, path) >= 0) {
        tsm_ioctl_census_note(reader);
    }
    sbt_reader_destroy(reader);
}

static int run(const struct tsm_command *command, void *values, const struct tsm_words *words)
{
    char output[PATH_MAX + 1], part[PATH_MAX + 32], cpu_part[PATH_MAX + 32];
    struct tsm_cpu_collect *cpu = NULL;
    const struct record_values *v = values;
    struct tsm_recording recording;
    struct tsm_program_end end;
    struct tsm_ioctl_census census;
    bool is_reached;

    if (prepare(values, output, sizeof(output)) < 0) {
        tsm_complain_error();
        return TSM_EXIT_OURS;
    }
    is_reached = tsm_program_note_reach(words->words[0]);
    if (v->kernel && kernel_begin(part, sizeof(part), output, v->kernel_backend) < 0) {
        tsm_complain_error();
        return TSM_EXIT_OURS;
    }
    if (cpu_begin(&cpu, cpu_part, sizeof(cpu_part), output, &v->cpu) < 0) {
        tsm_complain_error();
        if (v->kernel && tsm_kernel_session_end(&kernel) == 0)
            unlink(part);
        return TSM_EXIT_OURS;
    }
    tsm_recording_begin(&recording, output);
    recording.is_unreachable = !is_reached;
    if (v->census)
        tsm_ioctl_census_begin(&census);
    if (!tsm_program_run(&end, words->words)) {
        if (cpu && tsm_cpu_collect_end(cpu) == 0)
            unlink(cpu_part);
        if (v->kernel && tsm_kernel_session_end(&kernel) == 0)
            unlink(part);
        return end.status;
    }
    if (end.signal)
        tsm_note("%s was ended by signal %d (%s)", words->words[0], end.signal,
                 strsignal(end.signal));
    tsm_recording_report(&recording, end.pid);
    if (v->kernel)
        kernel_end(part, &recording, end.pid);
    cpu_end(cpu, cpu_part, &recording, end.pid);
    if (v->census)
        census_end(&census, &recording, end.pid);
    return end.status;
}

const struct tsm_command tsm_command_record = {
    .name = "record",
    .alias = "tsrecord",
    .summary = "run a program and record what it sends to the GPU",
    .synopsis = "[OPTION]... [--] PROGRAM [ARGUMENT]...",
    .description =
        "Runs PROGRAM unchanged, with its own input, output and exit status, and writes every "
        "command that it sends to a GPU into a trace file. What was recorded before a crash, a "
        "kill or ^C is kept.\n\n"
        "Says at the end, in one line on stderr, what was recorded and whether anything is "
        "missing. Processes that PROGRAM starts are recorded too, each into a file of its own: "
        "use %p in the output's name to tell them apart.",
    .examples = "tsrecord ./app --size 1024            writes trace.sbt\n"
                "tsrecord -o 'run-%p.sbt' -- make test  one trace a process\n"
                "tsrecord --stacks=off --emu ./app     no stacks, on the software GPU\n"
                "tsrecord --keep=10 ./server           only the last ten seconds\n"
                "tsrecord --kernel ./app               with the kernel's side, as root\n",
    .exit_status = "PROGRAM's|its own status; 128+N if signal N ended it\n"
                   "125|tsrecord itself failed, and PROGRAM did not run\n"
                   "126|PROGRAM cannot be run\n"
                   "127|PROGRAM was not found",
    .options = options,
    .values_size = sizeof(struct record_values),
    .operand = "PROGRAM",
    .word_min = 1,
    .word_max = -1,
    .runs_program = true,
    .failure = TSM_EXIT_OURS,
    .more_options = setting_options,
    .more_help = help_settings,
    .run = run,
};
