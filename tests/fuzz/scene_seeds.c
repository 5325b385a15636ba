/* SPDX-License-Identifier: Apache-2.0
 *
 * Makes an input of a fuzzer of scenes of a trace: scene_seeds_API TRACE FILE [OPTIONS [PLACE]]
 */
#include "base/buffer.h"
#include "base/bytes.h"
#include "tests/fuzz/scene_record.h"
#include "tracesmith/reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LONG_MAX_SIZE 16384u /* of bytes of one field: the rest is left out */

static struct tsm_buffer out;

static void add_long(struct sbt_reader *reader, const struct sbt_record *r, uint32_t slot, int type)
{
    static uint8_t room[LONG_MAX_SIZE];
    const uint8_t *bytes = NULL;
    struct sbt_value value = {0};
    struct sbt_blob blob;
    size_t size = 0;

    if (type == SBT_FIELD_STRING) {
        bytes = (const uint8_t *)sbt_reader_string(reader, (uint32_t)r->slots[slot]);
        size = bytes ? strlen((const char *)bytes) : 0;
    } else if (type == SBT_FIELD_BYTES) {
        if (!sbt_record_bytes(r, slot, &bytes, &size))
            size = 0;
    } else if (type == SBT_FIELD_STRUCT) {
        size = sbt_reader_value(reader, r, slot, &value) == 1 ? value.size : 0;
        bytes = value.data;
    } else if (sbt_record_blob(r, slot, &blob)) {
        size = blob.size < sizeof(room) ? blob.size : sizeof(room);
        bytes = room;
        if (sbt_reader_blob(reader, &blob, 0, room, size) < 0)
            size = 0;
    }
    size = size < 0xffff ? size : 0;
    tsm_buffer_add_u16(&out, (uint16_t)size);
    tsm_buffer_add(&out, bytes, size);
    sbt_value_finish(&value);
}

static void add_record(struct sbt_reader *reader, const struct sbt_record *r)
{
    const struct sbt_schema *schema;
    size_t head = out.size;

    schema = scene_schema(scene_number(r->type));
    if (!schema || schema->field_count > r->slot_count)
        return;
    tsm_buffer_add_u16(&out, (uint16_t)scene_number(r->type));
    tsm_buffer_add_u8(&out, r->stream < SCENE_NO_STREAM ? (uint8_t)r->stream : SCENE_NO_STREAM);
    tsm_buffer_add_u8(&out, (uint8_t)r->result);
    tsm_buffer_add_u16(&out, 0);
    for (uint32_t i = 0; i < schema->field_count; i++) {
        if (scene_is_long(&schema->fields[i]))
            add_long(reader, r, i, (int)schema->fields[i].type);
        else
            tsm_buffer_add_u64(&out, r->slots[i]);
    }
    if (out.size - head - SCENE_RECORD_HEAD > 0xffff)
        out.size = head;
    else
        tsm_put_u16(out.data + head + 4, (uint16_t)(out.size - head - SCENE_RECORD_HEAD));
}

/* Adds the metadata that a backend reads, not facts about the host and the program. */
static void add_metadata(struct sbt_reader *reader)
{
    for (size_t i = 0; i < sbt_reader_metadata_count(reader); i++) {
        const char *name, *value;
        sbt_reader_metadata(reader, i, &name, &value);
        size_t size = strlen(name) + strlen(value) + 1;
        if (strncmp(name, "host.", 5) == 0 || strncmp(name, "process.", 8) == 0 ||
            strncmp(name, "setting.", 8) == 0 || strncmp(name, "vulkan.", 7) == 0 ||
            size > SCENE_TEXT_MAX)
            continue;
        tsm_buffer_add_u16(&out, SCENE_METADATA);
        tsm_buffer_add_u8(&out, SCENE_NO_STREAM);
        tsm_buffer_add_u8(&out, 0);
        tsm_buffer_add_u16(&out, (uint16_t)size);
        tsm_buffer_add(&out, name, strlen(name) + 1);
        tsm_buffer_add(&out, value, strlen(value));
    }
}

int main(int argc, char **argv)
{
    const struct sbt_record *record;
    struct sbt_reader *reader = NULL;
    struct sbt_cursor *cursor = NULL;
    FILE *file;

    scene_describe();
    if (argc < 3 || sbt_reader_open(&reader, argv[1]) < 0 ||
        sbt_cursor_create(&cursor, reader, NULL, 0) < 0) {
        fprintf(stderr, "usage: scene_seeds_API TRACE FILE [OPTIONS [PLACE]]\n");
        return 2;
    }
    for (int i = 3; i < 3 + (int)SCENE_HEAD; i++)
        tsm_buffer_add_u8(&out, i < argc ? (uint8_t)strtoul(argv[i], NULL, 0) : 0);
    add_metadata(reader);
    while (sbt_cursor_next(cursor, &record) == 1)
        add_record(reader, record);
    sbt_cursor_destroy(cursor);
    sbt_reader_destroy(reader);
    file = fopen(argv[2], "wb");
    if (!file || out.failed || fwrite(out.data, 1, out.size, file) != out.size)
        return 1;
    fclose(file);
    tsm_buffer_finish(&out);
    return 0;
}
