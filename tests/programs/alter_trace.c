/* SPDX-License-Identifier: Apache-2.0
 *
 * alter_trace IN OUT ACTION [N [VALUE]]: copies a trace, with record number N altered:
 *
 *   remove N         leave it out; the records after it are numbered again
 *   flag N FLAGS     set flags (SBT_RECORD_*)
 *   type N TYPE      another record type, which is described like its own
 *   position N P     another place on its stream
 *   slot N I:VALUE   another value of slot I
 *   argument N I:VALUE  another word I in the kernel's arguments
 *   data N I:VALUE   another word I in the record's bytes
 *   cut [N]          no trailer, and only the first N records
 *   head N           only the first N records
 *   lost N           N records were lost
 *   stopped          recording could not go on, at the end
 *   kernel FILE      with the kernel's records that the file has
 *
 * All checksums of the copy are right: only its content differs.
 */
#include "tests/programs/trace_edit.h"

struct wish {
    const char *action;
    uint64_t number, value;
    uint32_t slot;
};

static bool is(const struct wish *wish, const char *action)
{
    return strcmp(wish->action, action) == 0;
}

static void alter(const struct wish *wish, struct sbt_record *record, uint64_t *slots)
{
    if (is(wish, "flag"))
        record->flags |= (uint32_t)wish->value;
    else if (is(wish, "type"))
        record->type = (uint32_t)wish->value;
    else if (is(wish, "position"))
        record->position = wish->value;
    else if (is(wish, "slot") && wish->slot < record->slot_count)
        slots[wish->slot] = wish->value;
}

/* Replaces a word of the record's bytes, or of those that are the kernel's arguments. */
static void alter_data(struct trace_edit *e, const struct wish *wish, struct sbt_record *record)
{
    static uint8_t data[65536];
    int index = sbt_schema_role(sbt_reader_schema(e->r, record->type), SBT_ROLE_ARGUMENTS);
    size_t at = 8 * (size_t)wish->slot;

    if (is(wish, "argument"))
        at += index < 0 ? sizeof(data) : (size_t)(record->slots[index] >> 32);
    if (record->data_size > sizeof(data) || at + 8 > record->data_size)
        return;
    memcpy(data, record->data, record->data_size);
    memcpy(data + at, &wish->value, 8);
    record->data = data;
}

static void describe_type(struct trace_edit *e, const struct wish *wish)
{
    const struct sbt_record *record;

    if (!is(wish, "type") || sbt_reader_schema(e->r, (uint32_t)wish->value))
        return;
    must(sbt_cursor_seek(e->c, wish->number));
    must(sbt_cursor_next(e->c, &record));
    struct sbt_schema schema = *sbt_reader_schema(e->r, record->type);
    schema.type = (uint32_t)wish->value;
    must(sbt_writer_schema(e->w, &schema));
    must(sbt_cursor_seek(e->c, 0));
}

static void put_stopped(struct trace_edit *e, uint64_t seq)
{
    uint64_t slot = 0xfffffff;
    struct sbt_record record = {.seq = seq,
                                .type = SBT_TYPE(SBT_API_CORE, SBT_CORE_STOPPED),
                                .stream = SBT_STREAM_NONE,
                                .slots = &slot,
                                .slot_count = 1};

    if (!sbt_reader_schema(e->r, record.type))
        must(sbt_writer_schema(e->w, sbt_core_schema(SBT_CORE_STOPPED)));
    must(sbt_writer_string(e->w, (uint32_t)slot, "the disk is full", 16));
    must(sbt_writer_record(e->w, &record));
}

static void put_kernel(struct trace_edit *e, const char *path)
{
    static uint8_t records[1 << 20];
    FILE *file = fopen(path, "rb");
    const size_t size = file ? fread(records, 1, sizeof(records), file) : 0;

    if (!size) {
        perror(path);
        exit(2);
    }
    fclose(file);
    must(sbt_writer_kernel_events(e->w, records, size));
}

static bool is_behind(const struct wish *wish, uint64_t seq)
{
    return (is(wish, "cut") || is(wish, "head")) && seq >= wish->number;
}

/* Returns what the cursor said last. */
static int copy_all(struct trace_edit *e, const struct wish *wish)
{
    const struct sbt_record *record;
    uint64_t removed = 0, count = 0;
    int more;

    while ((more = sbt_cursor_next(e->c, &record)) > 0 && !is_behind(wish, record->seq)) {
        struct sbt_record copy = *record;
        uint64_t slots[SBT_FIELD_COUNT_MAX];
        bool wanted = record->seq == wish->number;

        copy_blobs(e->w, e->r, sbt_reader_schema(e->r, record->type), record);
        memcpy(slots, record->slots, record->slot_count * sizeof(*slots));
        copy.slots = slots;
        if (wanted)
            alter(wish, &copy, slots);
        if (wanted && (is(wish, "argument") || is(wish, "data")))
            alter_data(e, wish, &copy);
        if (wanted && is(wish, "remove")) {
            removed++;
            continue;
        }
        copy.seq -= removed;
        count = copy.seq + 1;
        must(sbt_writer_record(e->w, &copy));
    }
    if (is(wish, "stopped"))
        put_stopped(e, count);
    return more;
}

int main(int argc, char **argv)
{
    struct wish wish = {.action = argc > 3 ? argv[3] : "", .number = UINT64_MAX};
    struct trace_edit e;
    char *colon;

    if (argc < 4 || argc > 6) {
        fprintf(stderr, "usage: alter_trace IN OUT ACTION [N [VALUE]]\n");
        return 2;
    }
    if (argc > 4)
        wish.number = strtoull(argv[4], NULL, 0);
    colon = argc > 5 ? strchr(argv[5], ':') : NULL;
    if (argc > 5)
        wish.value = strtoull(colon ? colon + 1 : argv[5], NULL, 0);
    wish.slot = colon ? (uint32_t)strtoul(argv[5], NULL, 0) : 0;
    edit_open(&e, argv[1], argv[2]);
    copy_tables(e.w, e.r);
    describe_type(&e, &wish);
    int more = copy_all(&e, &wish);
    if (is(&wish, "kernel") && argc > 4)
        put_kernel(&e, argv[4]);
    if (is(&wish, "cut")) {
        must(sbt_writer_flush(e.w));
        sbt_writer_destroy(e.w);
        return 0;
    }
    if (is(&wish, "lost")) {
        struct sbt_totals totals = {.lost_count = wish.number};
        must(sbt_writer_finish(e.w, &totals, SBT_END_FINISHED));
        sbt_writer_destroy(e.w);
        return 0;
    }
    edit_close(&e, more);
    return 0;
}
