/* SPDX-License-Identifier: Apache-2.0
 *
 * Tests' own window on the C library: print a trace in its JSON form, print its damage, check it,
 * write a sample.
 *
 *   print_trace json FILE | damage FILE | check FILE | verdict FILE... | sample FILE COUNT
 * CHUNK_SIZE
 *
 * Exit status 0; 1 when the file cannot be opened (with the message on stdout, so that tests can
 * compare it) or breaks a rule.
 */
#include "format/check/counts.h"
#include "format/json.h"
#include "tests/unit/format/format_sample.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int fail(void)
{
    const char *message = tsm_error_message(), *name = strrchr(message, '/');

    printf("error: %s\n", name ? name + 1 : message);
    return 1;
}

static int print_records(struct sbt_reader *r, struct tsm_buffer *line)
{
    const struct sbt_record *record;
    struct sbt_cursor *c;
    int got = sbt_cursor_create(&c, r, NULL, 0);

    if (got < 0)
        return got;
    while ((got = sbt_cursor_next(c, &record)) == 1) {
        tsm_buffer_clear(line);
        got = sbt_json_record(line, r, record);
        if (got < 0)
            break;
        fwrite(line->data, 1, line->size, stdout);
    }
    sbt_cursor_destroy(c);
    return got;
}

static int print_json(const char *path)
{
    struct tsm_buffer line = {0};
    struct sbt_reader *r;
    int error = sbt_reader_open(&r, path);

    if (error)
        return fail();
    error = sbt_json_header(&line, r);
    if (!error) {
        fwrite(line.data, 1, line.size, stdout);
        error = print_records(r, &line);
    }
    sbt_reader_destroy(r);
    tsm_buffer_finish(&line);
    return error ? fail() : 0;
}

/* Everything that reading finds, after reading everything. */
static int print_damage(const char *path)
{
    uint8_t piece[SBT_PIECE_SIZE];
    struct sbt_key key = {{1}};
    const uint64_t *frames;
    const struct sbt_record *record;
    struct sbt_cursor *c;
    struct sbt_reader *r;

    if (sbt_reader_open(&r, path) < 0)
        return fail();
    if (sbt_cursor_create(&c, r, NULL, 0) == 0) {
        while (sbt_cursor_next(c, &record) == 1)
            ;
        sbt_cursor_destroy(c);
    }
    sbt_reader_mapping_count(r);
    sbt_reader_string(r, 1);
    sbt_reader_stack(r, 1, &frames);
    sbt_reader_piece(r, &key, piece);
    for (size_t i = 0; i < sbt_reader_damage_count(r); i++)
        printf("%s\n", sbt_reader_damage(r, i));
    if (sbt_reader_unknown_count(r))
        printf("unknown chunks: %zu\n", sbt_reader_unknown_count(r));
    sbt_reader_destroy(r);
    return 0;
}

/* ---- verdict: what the reader and the check make of a file, and how many records they find ----
 */

static void note_first_violation(void *user, uint64_t offset, const char *text)
{
    char *first = user;

    if (!*first)
        snprintf(first, 256, "offset %" PRIu64 ": %s", offset, text);
}

static const char *name_verdict(bool is_refused, bool is_damaged)
{
    return is_refused ? "refused" : is_damaged ? "damaged" : "valid";
}

static void print_reader_verdict(const char *path)
{
    struct sbt_missing missing = {0};
    const struct sbt_record *record;
    struct sbt_cursor *c = NULL;
    struct sbt_reader *r = NULL;
    uint64_t count = 0;
    bool is_damaged = false, is_refused = sbt_reader_open(&r, path) < 0;

    if (!is_refused && sbt_cursor_create(&c, r, NULL, 0) == 0) {
        while (sbt_cursor_next(c, &record) == 1)
            count++;
        sbt_reader_examine(r);
        sbt_reader_missing(r, 0, &missing);
        is_damaged = sbt_reader_damage_count(r) || missing.record_count || missing.chunk_count ||
                     sbt_reader_end(r) == SBT_END_NONE;
    }
    printf("%s %" PRIu64 " ", name_verdict(is_refused, is_damaged), count);
    sbt_cursor_destroy(c);
    sbt_reader_destroy(r);
}

static void print_verdict(const char *path)
{
    struct sbt_check_counts counts;
    char first[256] = "";
    int found;

    print_reader_verdict(path);
    found = sbt_check_and_count(path, note_first_violation, first, &counts, NULL);
    printf("%s %" PRIu64 " %s\n", name_verdict(found<0, found> 0), found < 0 ? 0 : counts.records,
           first);
}

static void print_violation(void *user, uint64_t offset, const char *text)
{
    (void)user;
    printf("offset %" PRIu64 ": %s\n", offset, text);
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "json") == 0)
        return print_json(argv[2]);
    if (argc == 3 && strcmp(argv[1], "damage") == 0)
        return print_damage(argv[2]);
    if (argc == 3 && strcmp(argv[1], "check") == 0) {
        int count = sbt_check(argv[2], print_violation, NULL);
        return count < 0 ? fail() : count > 0;
    }
    if (argc == 5 && strcmp(argv[1], "sample") == 0) {
        struct sbt_writer_options options = {.chunk_size = strtoul(argv[4], NULL, 10)};
        return sample_write(argv[2], strtoull(argv[3], NULL, 10), &options) < 0 ? fail() : 0;
    }
    if (argc > 2 && strcmp(argv[1], "verdict") == 0) {
        for (int i = 2; i < argc; i++)
            print_verdict(argv[i]);
        return 0;
    }
    fprintf(
        stderr,
        "usage: print_trace json|damage|check FILE, verdict FILE..., or sample FILE COUNT CHUNK\n");
    return 2;
}
