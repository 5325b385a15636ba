/* SPDX-License-Identifier: Apache-2.0
 *
 * Makes a trace of a scene.
 */
#include "base/bytes.h"
#include "tests/fuzz/scene_record.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define RECORDS_MAX 2000u
#define DATA_SIZE   (1u << 17)
#define STREAM_MAX  8u

struct scene {
    struct sbt_writer *w;
    uint64_t seq, positions[STREAM_MAX];
    uint32_t texts;
};

void scene_must(int result)
{
    if (result >= 0)
        return;
    fprintf(stderr, "fuzzer of scenes: %s\n", tsm_error_message());
    abort();
}

/* Returns the slot of a long field: a string's id, or the place of its bytes in data, from *used
 * on.
 */
static uint64_t put_long(struct scene *s, const struct sbt_field *field, const uint8_t *bytes,
                         size_t size, uint8_t *data, size_t *used)
{
    size_t from = *used;

    if (field->type == SBT_FIELD_STRING && size) {
        char text[SCENE_TEXT_MAX + 1];
        size = size < SCENE_TEXT_MAX ? size : SCENE_TEXT_MAX;
        memcpy(text, bytes, size);
        text[size] = 0;
        size = strlen(text);
        return sbt_writer_string(s->w, ++s->texts, text, size) < 0 ? 0 : s->texts;
    }
    if (!size)
        return 0;
    if (field->type == SBT_FIELD_BLOB) {
        scene_must(sbt_writer_blob(s->w, bytes, size, data + from));
        *used += SBT_BLOB_ENCODED_SIZE(size);
        return (uint64_t)from << 32 | (*used - from);
    }
    if (field->type == SBT_FIELD_STRUCT)
        data[(*used)++] = 0; /* the value follows, docs/FORMAT.md 8.1 */
    memcpy(data + *used, bytes, size);
    *used += size;
    return (uint64_t)from << 32 | (*used - from);
}

static void put_record(struct scene *s, const struct sbt_schema *schema, uint32_t stream,
                       int64_t result, struct tsm_view in)
{
    static uint8_t data[DATA_SIZE];
    uint64_t slots[SBT_FIELD_COUNT_MAX] = {0};
    size_t used = 0;
    struct sbt_record r = {.seq = s->seq,
                           .time_ns = s->seq * 1000,
                           .duration_ns = 10,
                           .type = schema->type,
                           .thread = 1,
                           .stream = stream < STREAM_MAX ? stream : SBT_STREAM_NONE,
                           .result = result,
                           .slots = slots,
                           .slot_count = schema->field_count,
                           .data = data};

    if (sbt_writer_shape(s->w, schema->type, &(uint64_t){0}) < 0) {
        scene_schema_facts(s->w, schema);
        scene_must(sbt_writer_schema(s->w, schema));
    }
    for (uint32_t i = 0; i < schema->field_count && !in.failed; i++) {
        if (scene_is_long(&schema->fields[i])) {
            size_t size = tsm_view_u16(&in);
            const uint8_t *bytes = tsm_view_take(&in, size);
            if (bytes)
                slots[i] = put_long(s, &schema->fields[i], bytes, size, data, &used);
        } else {
            slots[i] = tsm_view_u64(&in);
        }
    }
    r.data_size = used;
    r.position = stream < STREAM_MAX ? s->positions[stream] + 1 : 0;
    if (sbt_writer_record(s->w, &r) < 0)
        return; /* the writer refuses some of what a file could hold: fuzz_reader */
    s->seq++;
    if (stream < STREAM_MAX)
        s->positions[stream]++;
}

static void put_metadata(struct scene *s, struct tsm_view in)
{
    char text[SCENE_TEXT_MAX + 2] = {0};
    size_t left = (size_t)(in.end - in.at), size = left < SCENE_TEXT_MAX ? left : SCENE_TEXT_MAX;

    memcpy(text, in.at, size);
    sbt_writer_metadata(s->w, text, text + strlen(text) + 1);
}

/* Metadata comes first in a trace, wherever it is in the scene. */
static void put_records(struct scene *s, struct tsm_view in, bool is_metadata)
{
    for (unsigned i = 0; i < RECORDS_MAX && in.at < in.end; i++) {
        uint32_t number = tsm_view_u16(&in), stream = tsm_view_u8(&in);
        int8_t result = (int8_t)tsm_view_u8(&in);
        size_t length = tsm_view_u16(&in), left = (size_t)(in.end - in.at);
        const struct sbt_schema *schema = in.failed || is_metadata ? NULL : scene_schema(number);

        length = length < left ? length : left;
        if (schema)
            put_record(s, schema, stream, result, tsm_view_init(in.at, length));
        else if (is_metadata && number == SCENE_METADATA && !in.failed)
            put_metadata(s, tsm_view_init(in.at, length));
        tsm_view_take(&in, length);
    }
}

int scene_write_trace(const uint8_t *data, size_t size)
{
    const struct sbt_session session = {.id = {1, 2, 3, 4, 5, 6, 0x47, 8, 0x89},
                                        .clock = "monotonic"};
    const struct sbt_totals none = {0};
    struct sbt_writer_options options = {.level = -5};
    struct scene s = {0};
    int fd = memfd_create("scene", MFD_CLOEXEC);

    scene_must(fd);
    scene_must(sbt_writer_create_fd(&s.w, dup(fd), &session, &options));
    scene_must(sbt_writer_metadata(s.w, "host.name", "fuzzer")); /* there is some, always */
    put_records(&s, tsm_view_init(data, size), true);
    scene_facts(s.w);
    put_records(&s, tsm_view_init(data, size), false);
    sbt_writer_finish(s.w, &none, SBT_END_FINISHED);
    sbt_writer_destroy(s.w);
    return fd;
}
