/* SPDX-License-Identifier: Apache-2.0
 *
 * Structs of a trace become memory, and from that the same bytes again. Then each is damaged in
 * many ways: the decoder must answer with memory or with an error, and read and write nothing else
 * (a sanitizer looks). Usage: drm_hostile TRACE [FOLDER]; each value goes there, as a seed of
 * tests/fuzz/fuzz_drm.c.
 */
#include "api/drm/describe.h"
#include "api/drm/replay/decode.h"
#include "api/drm/source/encode.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DAMAGES = 400 };

static uint64_t state = 88172645463325252u;
static unsigned failures, values, refused;

static uint64_t next_random(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

static void *memory_for(struct drm_encoder *e, size_t size)
{
    return calloc(1, size + 1); /* for the time of this program */
}

static bool read_plainly(void *out, uint64_t address, size_t size)
{
    memcpy(out, (const void *)(uintptr_t)address, size);
    return true;
}

static void check_same(struct sbt_reader *reader, uint32_t type, const uint8_t *data, size_t size)
{
    static uint8_t room[1 << 20];
    struct drm_decoder d = {.reader = reader};
    struct drm_encoder e = {.memory = memory_for, .read = read_plainly};
    uint8_t *memory;

    values++;
    if (drm_decode(&d, type, data, size, &memory) < 0) {
        fprintf(stderr, "%s: not decoded\n", drm_text + drm_structs[type].name);
        failures++;
    } else {
        e.address = (uintptr_t)memory;
        sbt_out_init(&e.out, room, sizeof(room), NULL, NULL);
        drm_encode(&e, type, memory);
        if (sbt_out_size(&e.out) != size || memcmp(room, data, size)) {
            fprintf(stderr, "%s: other bytes\n", drm_text + drm_structs[type].name);
            failures++;
        }
    }
    drm_decode_finish(&d);
}

/* Some bytes changed, or some missing. */
static void check_damaged(struct sbt_reader *reader, uint32_t type, const uint8_t *data,
                          size_t size)
{
    for (int i = 0; i < DAMAGES && size; i++) {
        struct drm_decoder d = {.reader = reader};
        size_t length = next_random() % 4 ? size : next_random() % size;
        uint8_t *copy = malloc(length + 1), *memory;
        memcpy(copy, data, length);
        for (unsigned k = 0; length && k < 1 + next_random() % 4; k++)
            copy[next_random() % length] = (uint8_t)next_random();
        refused += drm_decode(&d, type, copy, length, &memory) < 0;
        drm_decode_finish(&d);
        free(copy);
    }
}

static void write_seed(const char *folder, uint16_t id, const uint8_t *data, size_t size)
{
    char path[4096];
    FILE *file;

    snprintf(path, sizeof(path), "%s/%u-%u", folder, id, values);
    file = fopen(path, "wb");
    if (!file || fwrite(&id, sizeof(id), 1, file) != 1 || fwrite(data, 1, size, file) != size)
        failures++;
    if (file)
        fclose(file);
}

static void check_record(struct sbt_reader *reader, const struct sbt_record *record,
                         const char *folder)
{
    const struct drm_ioctl *row = drm_ioctl_numbered(SBT_TYPE_CALL(record->type));
    struct sbt_value value;

    if (SBT_TYPE_API(record->type) != SBT_API_DRM || !row || !row->into)
        return;
    if (sbt_reader_value(reader, record, DRM_SLOT_COMMON, &value) == 1) {
        check_same(reader, row->into - 1u, value.data, value.size);
        check_damaged(reader, row->into - 1u, value.data, value.size);
        if (folder)
            write_seed(folder, row->id, value.data, value.size);
    }
    sbt_value_finish(&value);
}

int main(int argc, char **argv)
{
    struct sbt_reader *reader = NULL;
    struct sbt_cursor *cursor = NULL;
    const struct sbt_record *record;

    drm_describe();
    if (argc < 2 || sbt_reader_open(&reader, argv[1]) < 0 ||
        sbt_cursor_create(&cursor, reader, NULL, 0) < 0) {
        fprintf(stderr, "drm_hostile TRACE [FOLDER]\n");
        return 2;
    }
    while (sbt_cursor_next(cursor, &record) == 1)
        check_record(reader, record, argc > 2 ? argv[2] : NULL);
    sbt_cursor_destroy(cursor);
    sbt_reader_destroy(reader);
    printf("%u values, %u of %u damaged ones refused\n", values, refused, values * DAMAGES);
    return failures || !values || !refused;
}
