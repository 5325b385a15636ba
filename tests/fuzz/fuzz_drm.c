/* SPDX-License-Identifier: Apache-2.0
 *
 * Feeds bytes to what rebuilds an ioctl's argument from a trace, and to what rewrites virgl's
 * commands in it: they must end with memory that the kernel can be given, or with an error.
 *
 * An input is the pinned number of an ioctl (u16), then a value of its struct: drm_hostile makes
 * some of a trace. What was decoded is encoded again: so all of it is read, and a sanitizer looks.
 */
#include "api/drm/describe.h"
#include "api/drm/replay/decode.h"
#include "api/drm/replay/replay.h"
#include "api/drm/source/encode.h"
#include "base/bytes.h"
#include "tracesmith/writer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct drm_replay replay;

static void check(bool ok, const char *what)
{
    if (ok)
        return;
    fprintf(stderr, "%s: %s\n", what, tsm_error_message());
    abort();
}

/* A trace that describes all structs and has no record; resources 1 to 99 are known by other
 * numbers. */
static void prepare(void)
{
    const struct sbt_session session = {.id = {1, 2, 3, 4, 5, 6, 0x47, 8, 0x89},
                                        .clock = "monotonic"};
    const struct sbt_totals none = {0};
    int fd = memfd_create("fuzz_drm", 0);
    struct sbt_writer *writer = NULL;
    char path[64];

    drm_describe();
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    check(fd >= 0 && sbt_writer_create_fd(&writer, dup(fd), &session, NULL) == 0, "writer");
    check(sbt_writer_metadata(writer, "process.pid", "1") == 0, "metadata");
    for (size_t i = 0; i < drm_description.enum_count; i++)
        check(sbt_writer_enum(writer, &drm_description.enums[i]) == 0, "enum");
    for (size_t i = 0; i < drm_description.struct_count; i++)
        check(sbt_writer_struct(writer, &drm_description.structs[i]) == 0, "struct");
    check(sbt_writer_finish(writer, &none, SBT_END_FINISHED) == 0, "finish");
    sbt_writer_destroy(writer);
    check(sbt_reader_open(&replay.reader, path) == 0, "reader");
    pthread_mutex_init(&replay.lock, NULL);
    for (uint64_t i = 1; i < 100; i++)
        check(drm_resource_set(&replay, 0, i, i + 1000) == 0, "resource");
}

static void *memory_for(struct drm_encoder *e, size_t size)
{
    void **blocks = e->user;
    void **block = calloc(1, sizeof(*block) + size + 1);

    check(block != NULL, "memory");
    *block = *blocks;
    *blocks = block;
    return block + 1;
}

static bool read_plainly(void *out, uint64_t address, size_t size)
{
    memcpy(out, (const void *)(uintptr_t)address, size);
    return true;
}

static void encode_again(uint32_t type, const uint8_t *memory)
{
    static uint8_t room[1 << 20];
    void *blocks = NULL;
    struct drm_encoder e = {
        .memory = memory_for, .read = read_plainly, .address = (uintptr_t)memory, .user = &blocks};

    sbt_out_init(&e.out, room, sizeof(room), NULL, NULL);
    drm_encode(&e, type, memory);
    while (blocks) {
        void *next = *(void **)blocks;
        free(blocks);
        blocks = next;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct drm_ioctl *row;
    struct drm_decoder d = {0};
    uint8_t *memory;

    if (!replay.reader)
        prepare();
    if (size < 2)
        return 0;
    row = drm_ioctl_numbered(tsm_get_u16(data));
    d.reader = replay.reader;
    if (row && row->into && drm_decode(&d, row->into - 1u, data + 2, size - 2, &memory) >= 0) {
        drm_virgl_translate(&replay, 0, row, memory);
        encode_again(row->into - 1u, memory);
    }
    drm_decode_finish(&d);
    return 0;
}
