/* SPDX-License-Identifier: Apache-2.0
 *
 * Prints all calls of a trace with their numbers, and the kernel that a launch runs.
 *
 *     cc print_calls.c $(pkg-config --cflags --libs tracesmith) -o print_calls
 *     ./print_calls t.sbt
 */
#include <inttypes.h>
#include <stdio.h>

#include <tracesmith/tracesmith.h>

static void print_record(struct sbt_reader *reader, const struct sbt_record *record)
{
    const struct sbt_schema *schema = sbt_reader_schema(reader, record->type);
    const char *kernel = tsm_record_kernel(reader, record);

    printf("%" PRIu64 " %s", record->seq, schema ? schema->name : "unknown");
    /* Other fields hold handles, texts, bytes: `type` says how a slot is to be read. */
    for (uint32_t i = 0; schema && i < schema->field_count && i < record->slot_count; i++)
        if (schema->fields[i].type == SBT_FIELD_SIZE || schema->fields[i].type == SBT_FIELD_UINT)
            printf(" %s=%" PRIu64, schema->fields[i].name, record->slots[i]);
    printf(kernel ? " (%s)\n" : "\n", kernel);
}

int main(int argc, char **argv)
{
    struct sbt_reader *reader = NULL;
    struct sbt_cursor *cursor = NULL;
    const struct sbt_record *record; /* valid until the cursor moves */
    int more = -1;

    if (argc == 2 && sbt_reader_open(&reader, argv[1]) == 0 &&
        sbt_cursor_create(&cursor, reader, NULL, 0) == 0)
        while ((more = sbt_cursor_next(cursor, &record)) == 1)
            print_record(reader, record);
    if (more < 0)
        fprintf(stderr, "print_calls: %s\n", argc == 2 ? tsm_error_message() : "which trace?");
    sbt_cursor_destroy(cursor);
    sbt_reader_destroy(reader);
    return more < 0 ? 2 : 0;
}
