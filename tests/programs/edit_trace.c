/* SPDX-License-Identifier: Apache-2.0
 *
 * edit_trace IN OUT CALL N OFFSET: copies a trace, with one byte changed: that at OFFSET of the
 * payload of the Nth record of CALL. All checksums of the copy are right: only its content differs.
 */
#include "tests/programs/trace_edit.h"

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
    struct trace_edit e;
    int more, seen = 0, edited = 0;

    if (argc != 6) {
        fprintf(stderr, "usage: edit_trace IN OUT CALL N OFFSET\n");
        return 2;
    }
    edit_open(&e, argv[1], argv[2]);
    copy_tables(e.w, e.r);
    while ((more = sbt_cursor_next(e.c, &record)) > 0) {
        const struct sbt_schema *schema = sbt_reader_schema(e.r, record->type);
        int payload = schema ? sbt_schema_role(schema, SBT_ROLE_PAYLOAD) : -1;
        bool wanted = schema && strcmp(schema->name, argv[3]) == 0 && ++seen == atoi(argv[4]);
        struct sbt_record copy = *record;
        struct sbt_blob blob;
        uint8_t *data = NULL;

        copy_blobs(e.w, e.r, schema, record);
        if (wanted && payload >= 0 && sbt_record_blob(record, (uint32_t)payload, &blob)) {
            data = malloc(record->data_size);
            memcpy(data, record->data, record->data_size);
            edit_payload(e.w, e.r, &blob, strtoull(argv[5], NULL, 0),
                         data + (record->slots[payload] >> 32));
            copy.data = data;
            edited++;
        }
        must(sbt_writer_record(e.w, &copy));
        free(data);
    }
    edit_close(&e, more);
    if (edited != 1)
        fprintf(stderr, "edit_trace: no such payload\n");
    return edited == 1 ? 0 : 2;
}
