/* SPDX-License-Identifier: Apache-2.0
 *
 * edit_words IN OUT ADDEND FROM TO: copies a trace, with ADDEND added to each number of [FROM, TO) in
 * slots and in 8-byte words of argument blocks: as if the driver had chosen other handles.
 */
#include "tracesmith/reader.h"
#include "tracesmith/writer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t addend, from, to;
static unsigned edited;

static void must(int result)
{
    if (result < 0) {
        fprintf(stderr, "edit_words: %s\n", tsm_error_message());
        exit(2);
    }
}

static void copy_tables(struct sbt_writer *w, struct sbt_reader *r)
{
    const char *name, *value, *text;

    for (size_t i = 0; i < sbt_reader_metadata_count(r); i++) {
        sbt_reader_metadata(r, i, &name, &value);
        must(sbt_writer_metadata(w, name, value));
    }
    for (size_t i = 0; i < sbt_reader_schema_count(r); i++)
        must(sbt_writer_schema(w, sbt_reader_schema_at(r, i)));
    for (uint32_t id = 1; (text = sbt_reader_string(r, id)); id++)
        must(sbt_writer_string(w, id, text, strlen(text)));
    for (size_t i = 0; i < sbt_reader_mapping_count(r); i++)
        must(sbt_writer_mapping(w, sbt_reader_mapping(r, i)));
}

static void copy_pieces(struct sbt_writer *w, struct sbt_reader *r, const struct sbt_blob *blob)
{
    static const struct sbt_key zero;
    uint8_t piece[SBT_PIECE_SIZE];
    struct sbt_key key;

    for (uint64_t i = 0; i < blob->piece_count; i++) {
        memcpy(key.bytes, blob->keys + 16 * i, 16);
        if (memcmp(&key, &zero, sizeof(key)) == 0)
            continue;
        int size = sbt_reader_piece(r, &key, piece);
        must(size);
        must(sbt_writer_piece(w, &key, piece, (size_t)size));
    }
}

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
    for (uint32_t i = 0; i < record->slot_count; i++) {
        struct sbt_blob blob;
        const uint8_t *bytes;
        size_t size;
        enum sbt_field_type type =
            schema && i < schema->field_count ? schema->fields[i].type : SBT_FIELD_UINT;
        slots[i] = record->slots[i];
        if (type == SBT_FIELD_BLOB && sbt_record_blob(record, i, &blob))
            copy_pieces(w, r, &blob);
        else if (type == SBT_FIELD_BYTES && sbt_record_bytes(record, i, &bytes, &size))
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
    struct sbt_totals totals;
    struct sbt_reader *r;
    struct sbt_writer *w;
    struct sbt_cursor *c;
    int more;

    if (argc != 6) {
        fprintf(stderr, "usage: edit_words IN OUT ADDEND FROM TO\n");
        return 2;
    }
    addend = strtoull(argv[3], NULL, 0);
    from = strtoull(argv[4], NULL, 0);
    to = strtoull(argv[5], NULL, 0);
    must(sbt_reader_open(&r, argv[1]));
    must(sbt_writer_create(&w, argv[2], sbt_reader_session(r), NULL));
    copy_tables(w, r);
    must(sbt_cursor_create(&c, r, NULL, 0));
    while ((more = sbt_cursor_next(c, &record)) > 0)
        copy_record(w, r, record);
    must(more);
    totals = *sbt_reader_totals(r);
    must(sbt_writer_finish(w, &totals, SBT_END_FINISHED));
    sbt_cursor_destroy(c);
    sbt_writer_destroy(w);
    sbt_reader_destroy(r);
    printf("%u\n", edited);
    return edited ? 0 : 1;
}
