/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared parts of programs that copy a trace and change something on the way. Any failure ends
 * them.
 */
#ifndef TESTS_PROGRAMS_TRACE_EDIT_H
#define TESTS_PROGRAMS_TRACE_EDIT_H

#include "tracesmith/reader.h"
#include "tracesmith/writer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct trace_edit {
    struct sbt_reader *r;
    struct sbt_writer *w;
    struct sbt_cursor *c;
};

static inline void must(int result)
{
    if (result < 0) {
        fprintf(stderr, "%s\n", tsm_error_message());
        exit(2);
    }
}

/* Returns the value of a metadata entry: TS_TEST_METADATA=NAME=VALUE is another one. */
static inline const char *metadata_of(const char *name, const char *value)
{
    const char *other = getenv("TS_TEST_METADATA");
    const size_t size = strlen(name);

    return other && !strncmp(other, name, size) && other[size] == '=' ? other + size + 1 : value;
}

/* Copies the tables that describe records and that records refer to. */
static inline void copy_tables(struct sbt_writer *w, struct sbt_reader *r)
{
    const char *name, *value, *text;
    const uint64_t *frames;
    int count;

    for (size_t i = 0; i < sbt_reader_metadata_count(r); i++) {
        sbt_reader_metadata(r, i, &name, &value);
        must(sbt_writer_metadata(w, name, metadata_of(name, value)));
    }
    for (size_t i = 0; i < sbt_reader_struct_count(r); i++)
        must(sbt_writer_struct(w, sbt_reader_struct_at(r, i)));
    for (size_t i = 0; i < sbt_reader_schema_count(r); i++) {
        const struct sbt_schema *schema = sbt_reader_schema_at(r, i);
        const struct sbt_enum *results = sbt_reader_enum(r, schema->result_enum);
        must(sbt_writer_schema(w, schema));
        if (results)
            must(sbt_writer_enum(w, results));
    }
    for (uint32_t id = 1; (text = sbt_reader_string(r, id)); id++)
        must(sbt_writer_string(w, id, text, strlen(text)));
    for (uint32_t id = 1; (count = sbt_reader_stack(r, id, &frames)) > 0; id++)
        must(sbt_writer_stack(w, id, frames, (uint32_t)count));
    for (size_t i = 0; i < sbt_reader_mapping_count(r); i++)
        must(sbt_writer_mapping(w, sbt_reader_mapping(r, i)));
}

static inline void edit_open(struct trace_edit *e, const char *in, const char *out)
{
    must(sbt_reader_open(&e->r, in));
    must(sbt_writer_create(&e->w, out, sbt_reader_session(e->r), NULL));
    must(sbt_cursor_create(&e->c, e->r, NULL, 0));
}

/* `more`: what the cursor said last. */
static inline void edit_close(struct trace_edit *e, int more)
{
    struct sbt_totals totals = *sbt_reader_totals(e->r);

    must(more);
    must(sbt_writer_finish(e->w, &totals, SBT_END_FINISHED));
    sbt_cursor_destroy(e->c);
    sbt_writer_destroy(e->w);
    sbt_reader_destroy(e->r);
}

static inline void copy_pieces(struct sbt_writer *w, struct sbt_reader *r,
                               const struct sbt_blob *blob)
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

/* All bytes that a record refers to. */
static inline void copy_blobs(struct sbt_writer *w, struct sbt_reader *r,
                              const struct sbt_schema *schema, const struct sbt_record *record)
{
    for (uint32_t i = 0; schema && i < schema->field_count && i < record->slot_count; i++) {
        const uint8_t *data;
        struct sbt_blob blob;
        size_t size;
        enum sbt_field_type type = schema->fields[i].type;

        if ((type == SBT_FIELD_BLOB && sbt_record_blob(record, i, &blob)) ||
            (type == SBT_FIELD_STRUCT && sbt_record_struct(record, i, &data, &size, &blob) == 2))
            copy_pieces(w, r, &blob);
    }
}

#endif
