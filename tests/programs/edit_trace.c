/* SPDX-License-Identifier: Apache-2.0
 *
 * edit_trace IN OUT CALL N OFFSET: copies a trace, with one byte changed: that at OFFSET of the
 * payload of the Nth record of CALL. All checksums of the copy are right: only its content differs.
 */
#include "tracesmith/reader.h"
#include "tracesmith/writer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void must(int result)
{
    if (result < 0) {
        fprintf(stderr, "edit_trace: %s\n", tsm_error_message());
        exit(2);
    }
}

static void copy_tables(struct sbt_writer *w, struct sbt_reader *r)
{
    const char *name, *value, *text;
    const uint64_t *frames;
    int count;

    for (size_t i = 0; i < sbt_reader_metadata_count(r); i++) {
        sbt_reader_metadata(r, i, &name, &value);
        must(sbt_writer_metadata(w, name, value));
    }
    for (size_t i = 0; i < sbt_reader_schema_count(r); i++)
        must(sbt_writer_schema(w, sbt_reader_schema_at(r, i)));
    for (uint32_t id = 1; (text = sbt_reader_string(r, id)); id++)
        must(sbt_writer_string(w, id, text, strlen(text)));
    for (uint32_t id = 1; (count = sbt_reader_stack(r, id, &frames)) > 0; id++)
        must(sbt_writer_stack(w, id, frames, (uint32_t)count));
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

/* The payload again, with the byte at `offset` inverted; its reference goes to `encoded`. */
static void edit_payload(struct sbt_writer *w, struct sbt_reader *r, const struct sbt_blob *blob,
                         uint64_t offset, uint8_t *encoded)
{
    uint8_t *bytes = malloc(blob->size);

    if (!bytes || offset >= blob->size) {
        fprintf(stderr, "edit_trace: the payload has only %llu bytes\n",
                (unsigned long long)blob->size);
        exit(2);
    }
    must(sbt_reader_blob(r, blob, 0, bytes, blob->size));
    bytes[offset] ^= 0xff;
    must(sbt_writer_blob(w, bytes, blob->size, encoded));
    free(bytes);
}

int main(int argc, char **argv)
{
    const struct sbt_record *record;
    struct sbt_totals totals;
    struct sbt_reader *r;
    struct sbt_writer *w;
    struct sbt_cursor *c;
    int more, seen = 0, edited = 0;

    if (argc != 6) {
        fprintf(stderr, "usage: edit_trace IN OUT CALL N OFFSET\n");
        return 2;
    }
    must(sbt_reader_open(&r, argv[1]));
    must(sbt_writer_create(&w, argv[2], sbt_reader_session(r), NULL));
    copy_tables(w, r);
    must(sbt_cursor_create(&c, r, NULL, 0));
    while ((more = sbt_cursor_next(c, &record)) > 0) {
        const struct sbt_schema *schema = sbt_reader_schema(r, record->type);
        int payload = schema ? sbt_schema_role(schema, SBT_ROLE_PAYLOAD) : -1;
        bool wanted = schema && strcmp(schema->name, argv[3]) == 0 && ++seen == atoi(argv[4]);
        struct sbt_record copy = *record;
        uint8_t *data = NULL;

        for (uint32_t i = 0; schema && i < schema->field_count && i < record->slot_count; i++) {
            struct sbt_blob blob;
            if (schema->fields[i].type != SBT_FIELD_BLOB || !sbt_record_blob(record, i, &blob))
                continue;
            copy_pieces(w, r, &blob);
            if (wanted && (int)i == payload) {
                data = malloc(record->data_size);
                memcpy(data, record->data, record->data_size);
                edit_payload(w, r, &blob, strtoull(argv[5], NULL, 0),
                             data + (record->slots[i] >> 32));
                copy.data = data;
                edited++;
            }
        }
        must(sbt_writer_record(w, &copy));
        free(data);
    }
    must(more);
    totals = *sbt_reader_totals(r);
    must(sbt_writer_finish(w, &totals, SBT_END_FINISHED));
    sbt_cursor_destroy(c);
    sbt_writer_destroy(w);
    sbt_reader_destroy(r);
    if (edited != 1)
        fprintf(stderr, "edit_trace: no such payload\n");
    return edited == 1 ? 0 : 2;
}
