/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/trace_open.h"

#include "base/text.h"
#include "capture/lane/salvage.h"
#include "format/read/progress.h"
#include "tools/terminal.h"

#include <inttypes.h>
#include <unistd.h>

/* The program was killed before its first call; under its name there may be an older trace, else it
 * is an error. */
static int tell_unbegun(const char *path)
{
    if (access(path, F_OK) == 0) {
        tsm_note("%s: a later recording was cut off before its first call, with nothing recorded; "
                 "this is the trace before it",
                 path);
        return 0;
    }
    return tsm_fail(
        TSM_E_NOT_FOUND,
        "%s: no trace: the program was cut off before its first call, nothing was recorded", path);
}

static int tell_salvaged(const char *path, int done, const struct tsm_salvage_result *result)
{
    if (done == 0)
        return result->unbegun ? tell_unbegun(path) : 0;
    if (result->stopped[0])
        tsm_note("%s: recording had stopped: %s", path, result->stopped);
    tsm_note("%s: process %" PRIu32 " %s; %" PRIu64 " records brought in from its buffers"
             ", %" PRIu64 " of them calls that had not returned",
             path, result->pid, result->stopped[0] ? "ended without it" : "was cut off",
             result->record_count, result->unfinished_count);
    if (result->lost_count)
        tsm_note("%s: %" PRIu64 " records that had been written are not there any more", path,
                 result->lost_count);
    if (result->torn_count)
        tsm_note("%s: %" PRIu32 " buffers end in nonsense; what came after it is lost", path,
                 result->torn_count);
    return 0;
}

/* A trace that cannot be completed is still a trace: what is in it will be read. */
static int drain_lanes(const char *path)
{
    struct tsm_salvage_result result = {0};
    int done = tsm_salvage(path, &result);

    if (done < 0 && access(path, F_OK) != 0)
        return done;
    if (done < 0) {
        tsm_note("%s; reading the trace without them", tsm_error_message());
        return 0;
    }
    if (result.running)
        tsm_note("%s: still being written; this is what is there by now", path);
    return tell_salvaged(path, done, &result);
}

int tsm_trace_recover(const char *path)
{
    struct tsm_salvage_result result = {0};
    int done = tsm_salvage(path, &result);

    if (done < 0)
        return done;
    if (result.running)
        return tsm_fail(TSM_E_STATE,
                        "%s: still being written; try again when its program has ended", path);
    return tell_salvaged(path, done, &result);
}

int tsm_trace_try(struct sbt_reader **out, const char *path)
{
    int error = drain_lanes(path);

    *out = NULL;
    return error ? error : sbt_reader_open(out, path);
}

struct sbt_reader *tsm_trace_open(const char *path)
{
    struct sbt_reader *reader;

    if (tsm_trace_try(&reader, path) < 0)
        tsm_complain_error();
    return reader;
}

static void show_progress(void *user, uint64_t done, uint64_t total)
{
    tsm_progress(user, done, total);
}

void tsm_trace_show_progress(struct sbt_reader *reader, const char *what)
{
    sbt_reader_show_progress(reader, what ? show_progress : NULL, (void *)what);
    if (!what)
        tsm_progress_end();
}

void tsm_trace_note_damage(const struct sbt_reader *reader, size_t *noted)
{
    enum { LINES_MAX = 10 };
    size_t count = sbt_reader_damage_count(reader);

    for (; *noted < count && *noted < LINES_MAX; (*noted)++)
        tsm_note("%s: %s", sbt_reader_name(reader), sbt_reader_damage(reader, *noted));
    if (*noted == LINES_MAX && count > LINES_MAX) {
        tsm_note("%s: ... %zu more; 'tracesmith check' lists them", sbt_reader_name(reader),
                 count - LINES_MAX);
        *noted = count;
    }
}

static size_t add_part(char *out, size_t size, size_t at, uint64_t count, const char *what)
{
    if (count == 0)
        return at;
    return at + tsm_format(out + at, size - at, "%s%" PRIu64 " %s", at ? ", " : "", count, what);
}

bool tsm_trace_completeness(struct sbt_reader *reader, char *out, size_t size)
{
    const struct sbt_totals *totals = sbt_reader_totals(reader);
    struct sbt_missing missing;
    size_t at = 0;

    sbt_reader_missing(reader, 0, &missing);

    out[0] = '\0';
    at = add_part(out, size, at, totals->lost_count, "lost");
    at = add_part(out, size, at, missing.record_count, "missing");
    at = add_part(out, size, at, totals->filtered_count, "left out on request");
    at = add_part(out, size, at, totals->tainted_count, "tainted");
    if (sbt_reader_end(reader) == SBT_END_NONE)
        at += tsm_format(out + at, size - at, "%sno clean end", at ? ", " : "");
    else if (sbt_reader_end(reader) == SBT_END_CUT)
        at += tsm_format(out + at, size - at, "%srepaired, its end is missing", at ? ", " : "");
    else if (sbt_reader_end(reader) == SBT_END_RECOVERED)
        at += tsm_format(out + at, size - at, "%srecovered", at ? ", " : "");
    if (sbt_reader_damage_count(reader) > 0)
        at += tsm_format(out + at, size - at, "%sdamaged", at ? ", " : "");
    if (at == 0)
        tsm_format(out, size, "complete");
    return at == 0;
}
