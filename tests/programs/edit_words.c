/* SPDX-License-Identifier: Apache-2.0
 *
 * edit_words IN OUT ADDEND FROM TO: copies a trace, with ADDEND added to each number of [FROM, TO)
 * in slots and in 8-byte words of argument blocks: as if the driver had chosen other handles.
 */
#include "tests/programs/trace_edit.h"

static uint64_t addend, from, to;
static unsigned edited;

static uint64_t changed(uint64_t word)
{
    if (word < from || word >= to)
        return word;
    edited++;
    return word + addend;
}

static void edit_block(uint8_t *bytes, size_t size)
{
    for (size_t at = 0; at + 8 <= size; at += 8) {
        uint64_t word;
        memcpy(&word, bytes + at, 8);
        word = changed(word);
        memcpy(bytes + at, &word, 8);
    }
}

static void copy_record(struct sbt_writer *w, struct sbt_reader *r, const struct sbt_record *record)
{
    const struct sbt_schema *schema = sbt_reader_schema(r, record->type);
    uint64_t slots[SBT_FIELD_COUNT_MAX];
    struct sbt_record copy = *record;
    uint8_t *data = malloc(record->data_size + 1);

    memcpy(data, record->data, record->data_size);
    copy.data = data;
    copy.slots = slots;
    copy_blobs(w, r, schema, record);
    for (uint32_t i = 0; i < record->slot_count; i++) {
        const uint8_t *bytes;
        size_t size;
        enum sbt_field_type type =
            schema && i < schema->field_count ? schema->fields[i].type : SBT_FIELD_UINT;
        slots[i] = record->slots[i];
        if (type == SBT_FIELD_BYTES && sbt_record_bytes(record, i, &bytes, &size))
            edit_block(data + (bytes - record->data), size);
        else if (type == SBT_FIELD_HEX)
            slots[i] = changed(slots[i]);
    }
    must(sbt_writer_record(w, &copy));
    free(data);
}

int main(int argc, char **argv)
{
    const struct sbt_record *record;
    struct trace_edit e;
    int more;

    if (argc != 6) {
        fprintf(stderr, "usage: edit_words IN OUT ADDEND FROM TO\n");
        return 2;
    }
    addend = strtoull(argv[3], NULL, 0);
    from = strtoull(argv[4], NULL, 0);
    to = strtoull(argv[5], NULL, 0);
    edit_open(&e, argv[1], argv[2]);
    copy_tables(e.w, e.r);
    while ((more = sbt_cursor_next(e.c, &record)) > 0)
        copy_record(e.w, e.r, record);
    edit_close(&e, more);
    printf("%u\n", edited);
    return edited ? 0 : 1;
}
