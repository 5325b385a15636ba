/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/schedule.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/output_file.h"
#include "base/text.h"
#include "tracesmith/error.h"

#define LINE_MAX_SIZE 2048u /* of which nothing that is meant needs more */
#define WORD_MAX      6u
#define HEAD          "tsschedule"
#define VERSION       "1"

static const char *const kind_names[] = {
    [TSM_SCHEDULE_SEND] = "send", [TSM_SCHEDULE_WAIT] = "wait", [TSM_SCHEDULE_DROP] = "drop"};

struct reading {
    struct tsm_schedule *schedule;
    const char *path;
    FILE *file;
    uint64_t line, item_max;
    bool has_head;
    char text[LINE_MAX_SIZE];
};

/* ---- lines --------------------------------------------------------------------------------- */

static int fail_line(const struct reading *r, const char *what)
{
    return tsm_fail(TSM_E_FORMAT, "%s:%" PRIu64 ": %s", r->path, r->line, what);
}

static int fail_read(const struct reading *r)
{
    if (ferror(r->file))
        return tsm_fail(TSM_E_IO, "%s: cannot be read: %s", r->path, tsm_errno_text(errno));
    return 0;
}

/* Puts the next line, without its end, into r->text. Returns 0 at the end of the file. */
static int next_line(struct reading *r)
{
    size_t size = 0;
    int c;

    r->line++;
    while ((c = getc(r->file)) != EOF && c != '\n') {
        if (c == '\r')
            continue;
        if ((c < ' ' && c != '\t') || c == 127)
            return fail_line(r,
                             "has a byte that no text has: a schedule is a text file that begins "
                             "with \"" HEAD " " VERSION "\"");
        if (size == sizeof(r->text) - 1)
            return fail_line(r, "is longer than 2047 bytes: a line is one item, such as "
                                "\"send 12 at=3000\"; put comments on lines of their own");
        r->text[size++] = (char)c;
    }
    r->text[size] = '\0';
    if (c == EOF && ferror(r->file))
        return fail_read(r);
    return c != EOF || size > 0;
}

/* Splits the line at blanks; a comment ends it. Returns how many words there are, at most
 * WORD_MAX. */
static size_t split(char *text, char *words[WORD_MAX])
{
    size_t count = 0;

    text[strcspn(text, "#")] = '\0';
    for (char *at = text + strspn(text, " \t"); *at && count < WORD_MAX; at += strspn(at, " \t")) {
        words[count++] = at;
        at += strcspn(at, " \t");
        if (*at)
            *at++ = '\0';
    }
    return count;
}

static bool parse_number(const char *text, uint64_t most, uint64_t *out)
{
    uint64_t value = 0;

    if (!*text)
        return false;
    for (; *text; text++) {
        const uint64_t digit = (uint64_t)(*text - '0');
        if (*text < '0' || *text > '9' || value > (most - digit) / 10)
            return false;
        value = value * 10 + digit;
    }
    *out = value;
    return true;
}

/* ---- items --------------------------------------------------------------------------------- */

static int read_head(struct reading *r, char *const *words, size_t count)
{
    if (strcmp(words[0], HEAD) != 0 || count != 2)
        return fail_line(r, "is no schedule: its first line is to be \"" HEAD " " VERSION "\"");
    if (strcmp(words[1], VERSION) != 0)
        return tsm_fail(TSM_E_VERSION,
                        "%s:%" PRIu64 ": is of a version that this build does not know: \"" HEAD
                        " " VERSION "\" is what it reads",
                        r->path, r->line);
    r->has_head = true;
    return 0;
}

static bool find_kind(const char *word, enum tsm_schedule_kind *out)
{
    for (size_t i = 0; i < sizeof(kind_names) / sizeof(*kind_names); i++)
        if (strcmp(word, kind_names[i]) == 0) {
            *out = (enum tsm_schedule_kind)i;
            return true;
        }
    return false;
}

/* Reads the value of "at=". */
static int read_at(const struct reading *r, const char *value, struct tsm_schedule_item *item)
{
    if (item->kind != TSM_SCHEDULE_SEND)
        return fail_line(r, "a wait has no time of its own: leave \"at=\" out");
    item->has_at = true;
    if (!parse_number(value, TSM_SCHEDULE_AT_MAX, &item->at_ns))
        return fail_line(r, "\"at=\" takes nanoseconds since the run began, a number from 0 to "
                            "1000000000000000000");
    return 0;
}

static int read_on(const struct reading *r, const char *value, struct tsm_schedule_item *item)
{
    uint64_t on = 0;

    if (item->kind != TSM_SCHEDULE_SEND)
        return fail_line(r, "only what is sent goes to a stream: leave \"on=\" out");
    item->has_on = r->schedule->has_on = true;
    if (!parse_number(value, TSM_SCHEDULE_ON_MAX - 1, &on))
        return fail_line(r, "\"on=\" takes a number of a stream, from 0 to 4095");
    item->on = (uint32_t)on;
    return 0;
}

/* Reads the value of "after=", numbers with commas between. */
static int read_after(const struct reading *r, char *value, struct tsm_schedule_item *item)
{
    struct tsm_schedule *s = r->schedule;

    item->first_after = s->after_count;
    for (char *at = value; at; item->after_count++) {
        char *comma = strchr(at, ',');
        uint64_t seq;

        if (comma)
            *comma++ = '\0';
        if (!parse_number(at, UINT64_MAX - 1, &seq))
            return fail_line(r, "\"after=\" takes numbers of records with commas between");
        if (!TSM_ARRAY_PUSH(s->after, s->after_count, s->after_capacity, seq))
            return tsm_fail(TSM_E_MEMORY, "%s: no memory for a schedule", r->path);
        at = comma;
    }
    return 0;
}

static int read_word(const struct reading *r, char *word, struct tsm_schedule_item *item)
{
    if (strncmp(word, "at=", 3) == 0 && !item->has_at)
        return read_at(r, word + 3, item);
    if (strncmp(word, "on=", 3) == 0 && !item->has_on)
        return read_on(r, word + 3, item);
    if (strncmp(word, "after=", 6) == 0 && !item->after_count)
        return read_after(r, word + 6, item);
    return fail_line(r, "what follows the number is to be \"at=NS\", \"on=STREAM\" or "
                        "\"after=RECORD,...\", each once");
}

static int read_item(struct reading *r, char *const *words, size_t count)
{
    struct tsm_schedule_item item = {.line = r->line};
    int error = 0;

    if (!find_kind(words[0], &item.kind))
        return fail_line(r, "does not begin with \"send\", \"wait\" or \"drop\"");
    if (count < 2 || !parse_number(words[1], UINT64_MAX - 1, &item.seq))
        return fail_line(r, "has no number of a record behind its first word; 'tsview' shows them");
    if (count > 5)
        return fail_line(r, "has more words than an item: one item a line");
    for (size_t i = 2; i < count && !error; i++)
        error = read_word(r, words[i], &item);
    if (!error && item.after_count && !item.has_on && item.kind != TSM_SCHEDULE_WAIT)
        error = fail_line(r, "has \"after=\", which is for waits, and with \"on=\"");
    if (error)
        return error;
    if (r->schedule->count >= r->item_max)
        return fail_line(r, "has more items than the trace has records: it is the schedule of "
                            "another trace");
    return TSM_ARRAY_PUSH(r->schedule->items, r->schedule->count, r->schedule->capacity, item)
               ? 0
               : tsm_fail(TSM_E_MEMORY, "%s: no memory for a schedule", r->path);
}

static int read_lines(struct reading *r)
{
    char *words[WORD_MAX] = {0};
    int more;

    while ((more = next_line(r)) == 1) {
        const size_t count = split(r->text, words);
        int error = 0;

        if (count && !r->has_head)
            error = read_head(r, words, count);
        else if (count)
            error = read_item(r, words, count);
        if (error)
            return error;
    }
    if (!more && !r->has_head)
        return tsm_fail(TSM_E_FORMAT,
                        "%s: is empty: the first line of a schedule is to be \"" HEAD " " VERSION
                        "\"",
                        r->path);
    return more;
}

/* ---- the file ------------------------------------------------------------------------------ */

int tsm_schedule_read(struct tsm_schedule *out, const char *path, uint64_t item_max)
{
    struct tsm_schedule schedule = {.name = strdup(path)};
    struct reading r = {.schedule = &schedule, .path = path, .item_max = item_max};
    int error = 0;

    if (!schedule.name)
        return tsm_fail(TSM_E_MEMORY, "%s: no memory for a schedule", path);
    r.file = fopen(path, "re");
    if (!r.file)
        error = tsm_fail(TSM_E_IO, "%s: cannot be opened: %s", path, tsm_errno_text(errno));
    if (!error)
        error = read_lines(&r);
    if (r.file)
        fclose(r.file);
    if (error) {
        tsm_schedule_finish(&schedule);
        return error;
    }
    *out = schedule;
    return 0;
}

void tsm_schedule_finish(struct tsm_schedule *schedule)
{
    free(schedule->items);
    free(schedule->after);
    free(schedule->name);
    *schedule = (struct tsm_schedule){0};
}

static void write_item(FILE *file, const struct tsm_schedule *schedule,
                       const struct tsm_schedule_item *item)
{
    fprintf(file, "%s %" PRIu64, kind_names[item->kind], item->seq);
    if (item->has_at)
        fprintf(file, " at=%" PRIu64, item->at_ns);
    if (item->has_on)
        fprintf(file, " on=%" PRIu32, item->on);
    for (size_t i = 0; i < item->after_count; i++)
        fprintf(file, "%s%" PRIu64, i ? "," : " after=", schedule->after[item->first_after + i]);
    putc('\n', file);
}

int tsm_schedule_write(const char *path, const struct tsm_schedule *schedule)
{
    struct tsm_output_file out;
    int error = tsm_output_file_begin(&out, path);

    if (error)
        return error;
    fputs(HEAD " " VERSION "\n", out.file);
    for (size_t i = 0; i < schedule->count; i++)
        write_item(out.file, schedule, &schedule->items[i]);
    return tsm_output_file_end(&out, false);
}
