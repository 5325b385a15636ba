/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/recorded.h"

#include "base/text.h"
#include "tools/terminal.h"
#include "tools/trace_open.h"

#include <glob.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define REPORTED_MAX     8
#define STREAM_COUNT_MAX 256 /* each is counted */

/* %p, %h and %r of an output's name become "*"; what glob(3) gives meaning to is quoted. */
static void make_pattern(char *out, size_t size, const char *output, const char *before_suffix)
{
    const char *slash = strrchr(output, '/');
    const char *dot = strrchr(slash ? slash : output, '.');
    size_t at = 0;

    if (!dot)
        dot = output + strlen(output);
    for (const char *p = output;; p++) {
        if (p == dot)
            at += tsm_format(out + at, size - at, "%s", before_suffix);
        if (!*p)
            break;
        if (*p == '%' && p[1] && p + 1 != dot) {
            at += tsm_format(out + at, size - at, "%s", *++p == '%' ? "%" : "*");
            continue;
        }
        at += tsm_format(out + at, size - at, strchr("*?[\\", *p) ? "\\%c" : "%c", *p);
    }
}

void tsm_recording_begin(struct tsm_recording *recording, const char *output)
{
    make_pattern(recording->pattern, sizeof(recording->pattern), output, "");
    make_pattern(recording->again, sizeof(recording->again), output, ".[0-9]*");
    clock_gettime(CLOCK_REALTIME_COARSE, &recording->begin);
}

/* ---- one trace ------------------------------------------------------------------------------- */

/* A stream's last record says how many commands it took; nothing else need be read. */
static bool count_commands(struct sbt_reader *reader, uint64_t *out)
{
    uint32_t stream_count = sbt_reader_totals(reader)->stream_count;
    const struct sbt_record *record;

    *out = 0;
    if (stream_count > STREAM_COUNT_MAX)
        return false;
    for (uint32_t stream = 0; stream < stream_count; stream++) {
        const struct sbt_filter filter = {.streams = &stream, .stream_count = 1};
        struct sbt_cursor *cursor = NULL;
        int found = sbt_cursor_create(&cursor, reader, &filter, 0);
        if (found == 0)
            found = sbt_cursor_seek(cursor, UINT64_MAX);
        if (found == 0)
            found = sbt_cursor_previous(cursor, &record);
        while (found > 0 && !record->position) /* captured into a graph */
            found = sbt_cursor_previous(cursor, &record);
        if (found > 0)
            *out += record->position;
        sbt_cursor_destroy(cursor);
        if (found < 0)
            return false;
    }
    return true;
}

static const char *shown_path(const char *path)
{
    char folder[PATH_MAX];
    size_t size;

    if (!getcwd(folder, sizeof(folder)))
        return path;
    size = strlen(folder);
    return strncmp(path, folder, size) == 0 && path[size] == '/' ? path + size + 1 : path;
}

/* Says that a setting had no effect: there is no record of that kind. Reads up to the first one. */
static void note_without(struct sbt_reader *reader, const char *path, const char *metadata,
                         enum sbt_core_record call, const char *why)
{
    const char *setting = sbt_reader_metadata_find(reader, metadata);
    const struct sbt_record *record;
    struct sbt_cursor *cursor = NULL;
    bool is_there = false;

    if (!setting || strcmp(setting, "0") == 0 || strcmp(setting, "off") == 0 ||
        sbt_cursor_create(&cursor, reader, NULL, 1) < 0)
        return;
    while (!is_there && sbt_cursor_next(cursor, &record) == 1)
        is_there = record->type == SBT_TYPE(SBT_API_CORE, call);
    sbt_cursor_destroy(cursor);
    if (!is_there)
        tsm_note("%s: %s", path, why);
}

static void note_settings(struct sbt_reader *reader, const char *path)
{
    note_without(reader, path, "setting.TS_GPU_TIME", SBT_CORE_GPU_TIME,
                 "--gpu-time: no command has a GPU time; commands of CUDA and HSA have one, and "
                 "submits of Vulkan where the device's queue has timestamps");
    note_without(reader, path, "setting.TS_ACCESSES", SBT_CORE_ACCESSES,
                 "--accesses: of no command is it known what it accessed; the software GPU says so "
                 "of CUDA's (--emu)");
}

static void report_trace(const char *full_path)
{
    const char *path = shown_path(full_path);
    char state[160], what[64];
    struct stat info;
    uint64_t commands;
    struct sbt_reader *reader = tsm_trace_open(path);

    if (!reader)
        return;
    const struct sbt_totals *totals = sbt_reader_totals(reader);
    if (count_commands(reader, &commands))
        tsm_format(what, sizeof(what), "%" PRIu64 " command%s", commands, commands == 1 ? "" : "s");
    else
        tsm_format(what, sizeof(what), "%" PRIu64 " records", totals->record_count);
    tsm_trace_completeness(reader, state, sizeof(state));
    double size_mb = stat(path, &info) == 0 ? (double)info.st_size / 1e6 : 0;
    tsm_note("%s: %s, %" PRIu32 " stream%s, %.*f MB, %s", path, what, totals->stream_count,
             totals->stream_count == 1 ? "" : "s", size_mb < 1 ? 3 : 1, size_mb, state);
    note_settings(reader, path);
    sbt_reader_destroy(reader);
}

/* ---- all of them ----------------------------------------------------------------------------- */

static bool is_fresh(const char *path, const struct timespec *begin)
{
    struct stat info;

    if (stat(path, &info) != 0 || !S_ISREG(info.st_mode))
        return false;
    return info.st_mtim.tv_sec > begin->tv_sec ||
           (info.st_mtim.tv_sec == begin->tv_sec && info.st_mtim.tv_nsec >= begin->tv_nsec);
}

void tsm_recording_report(const struct tsm_recording *recording, pid_t pid)
{
    glob_t found = {0};
    size_t fresh = 0;

    if (tsm_terminal_quiet())
        return;
    glob(recording->pattern, GLOB_NOSORT, NULL, &found);
    glob(recording->again, GLOB_NOSORT | GLOB_APPEND, NULL, &found);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        if (!is_fresh(found.gl_pathv[i], &recording->begin))
            continue;
        if (fresh++ < REPORTED_MAX)
            report_trace(found.gl_pathv[i]);
    }
    if (fresh > REPORTED_MAX)
        tsm_note("... and %zu more traces", fresh - REPORTED_MAX);
    if (fresh == 0 && !recording->is_unreachable) /* that was said */
        tsm_note("no trace: the program made no GPU call that is covered%s",
                 " ('tracesmith coverage' lists them)");
    globfree(&found);
}

/* ---- one process' ---------------------------------------------------------------------------- */

static bool is_of(const char *path, pid_t pid)
{
    struct sbt_reader *reader = NULL;
    const char *text = NULL;
    bool is;

    if (sbt_reader_open(&reader, path) == 0)
        text = sbt_reader_metadata_find(reader, "process.pid");
    is = text && strtoll(text, NULL, 10) == (long long)pid;
    sbt_reader_destroy(reader);
    return is;
}

void tsm_recording_each(const struct tsm_recording *recording,
                        void (*look)(const char *path, void *user), void *user)
{
    glob_t found = {0};

    glob(recording->pattern, GLOB_NOSORT, NULL, &found);
    glob(recording->again, GLOB_NOSORT | GLOB_APPEND, NULL, &found);
    for (size_t i = 0; i < found.gl_pathc; i++)
        if (is_fresh(found.gl_pathv[i], &recording->begin))
            look(found.gl_pathv[i], user);
    globfree(&found);
}

bool tsm_recording_find(char *path, size_t size, const struct tsm_recording *recording, pid_t pid)
{
    size_t fresh = 0;
    glob_t found = {0};
    bool own = false;

    glob(recording->pattern, GLOB_NOSORT, NULL, &found);
    glob(recording->again, GLOB_NOSORT | GLOB_APPEND, NULL, &found);
    for (size_t i = 0; i < found.gl_pathc && !own; i++) {
        if (!is_fresh(found.gl_pathv[i], &recording->begin))
            continue;
        own = is_of(found.gl_pathv[i], pid);
        if (own || fresh++ == 0)
            tsm_format(path, size, "%s", found.gl_pathv[i]);
    }
    globfree(&found);
    return own || fresh == 1;
}
