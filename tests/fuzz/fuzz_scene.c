/* SPDX-License-Identifier: Apache-2.0
 *
 * Whole scenes of Vulkan with whatever in their records: they become a trace, which is replayed on
 * a driver that does nothing, with dumps, screenshots, loops, and what trim saves. Refused or
 * answered; what the driver is given is there. For libFuzzer; tests/fuzz/replay_corpus.c runs the
 * checked-in corpus in the normal suite, scene_seeds.c makes inputs of traces.
 */
#include "base/bytes.h"
#include "replay/backend.h"
#include "tests/fuzz/scene_driver.h"
#include "tests/fuzz/scene_record.h"
#include "tracesmith/replay.h"
#include "tracesmith/writer.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define RECORDS_MAX 2000u
#define DATA_SIZE   (1u << 17)
#define STREAM_MAX  8u

extern const struct tsm_backend vulkan_backend; /* api/vulkan/vulkan_replay.c */
const struct tsm_backend *const tsm_backends[] = {&vulkan_backend, NULL};

struct scene {
    struct sbt_writer *w;
    uint64_t seq, positions[STREAM_MAX];
    uint32_t texts;
};

static void must(int result)
{
    if (result >= 0)
        return;
    fprintf(stderr, "fuzz_scene: %s\n", tsm_error_message());
    abort();
}

/* ---- a trace of it ----------------------------------------------------------------------------
 */

/* Of devices alone: replay takes structs and their members from its own tables. */
static void describe(struct sbt_writer *w)
{
    static const char *const facts[] = {"heap 0, flags 0xf", "heap 0, flags 0x6",
                                        "heap 0, flags 0x1"};
    char name[64];

    for (int device = 1; device < 3; device++) {
        snprintf(name, sizeof(name), "vulkan.device.%d.name", device);
        must(sbt_writer_metadata(w, name, "recorded"));
        for (int i = 0; i < 3; i++) {
            snprintf(name, sizeof(name), "vulkan.device.%d.memory.%d", device, i);
            must(sbt_writer_metadata(w, name, facts[i]));
        }
    }
}

/* What stands in the record of bytes; in data, from *used on. */
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
        must(sbt_writer_blob(s->w, bytes, size, data + from));
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

    if (sbt_writer_shape(s->w, schema->type, &(uint64_t){0}) < 0)
        must(sbt_writer_schema(s->w, schema));
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

static int write_trace(const uint8_t *data, size_t size)
{
    const struct sbt_session session = {.id = {1, 2, 3, 4, 5, 6, 0x47, 8, 0x89},
                                        .clock = "monotonic"};
    const struct sbt_totals none = {0};
    struct sbt_writer_options options = {.level = -5};
    struct tsm_view in = tsm_view_init(data, size);
    struct scene s = {0};
    int fd = memfd_create("scene", MFD_CLOEXEC);

    must(fd);
    must(sbt_writer_create_fd(&s.w, dup(fd), &session, &options));
    describe(s.w);
    for (unsigned i = 0; i < RECORDS_MAX && in.at < in.end; i++) {
        uint32_t number = tsm_view_u16(&in), stream = tsm_view_u8(&in);
        int8_t result = (int8_t)tsm_view_u8(&in);
        size_t length = tsm_view_u16(&in), left = (size_t)(in.end - in.at);
        const struct sbt_schema *schema = in.failed ? NULL : scene_schema(number);

        length = length < left ? length : left;
        if (schema)
            put_record(&s, schema, stream, result, tsm_view_init(in.at, length));
        tsm_view_take(&in, length);
    }
    sbt_writer_finish(s.w, &none, SBT_END_FINISHED);
    sbt_writer_destroy(s.w);
    return fd;
}

/* ---- what is done with it -----------------------------------------------------------------------
 */

static int save_memory(void *user, const struct tsm_saved *saved)
{
    return 0;
}

static int save_state(void *user, const char *type, const uint64_t slots[8])
{
    return 0;
}

static void replay(struct sbt_reader *reader, unsigned bits, unsigned place, const char *folder)
{
    const struct tsm_saver saver = {
        .memory = save_memory, .state = save_state, .part_first = place};
    const struct tsm_frames frames = {1, 3};
    struct tsm_look look = {.dump_directory = bits & SCENE_DUMP ? folder : NULL,
                            .dump_seq = place,
                            .screenshot_directory = bits & SCENE_SHOT ? folder : NULL,
                            .frames = &frames,
                            .frame_count = bits & SCENE_SHOT ? 1 : 0};
    struct tsm_replay_options options = {.backend = "vulkan",
                                         .library = "", /* this program */
                                         .loop = bits & SCENE_LOOP ? 2 : 1,
                                         .grain = bits & SCENE_SYNC ? TSM_GRAIN_SYNC
                                                                    : TSM_GRAIN_READBACK,
                                         .permute = bits & SCENE_PERMUTE ? 1 : 0,
                                         .lossy = true,
                                         .keep_going = true,
                                         .timeout_ns = 2000000000,
                                         .look = bits & (SCENE_DUMP | SCENE_SHOT) ? &look : NULL};
    struct tsm_replay_result result;
    struct tsm_replay *replay = NULL;
    int error;

    if (bits & SCENE_SAVE)
        options.filter.seq_end = place;
    error = tsm_replay_create(&replay, reader, &options);
    if (!error)
        error = tsm_replay_run(replay, &result);
    if (!error && (bits & SCENE_SAVE))
        error = tsm_replay_save(replay, &saver);
    if (bits & SCENE_WORKS)
        must(error);
    tsm_replay_destroy(replay);
}

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *place)
{
    return remove(path);
}

/* Not by a command: a copy of a process with a sanitizer's memory takes longer than the replay. */
static void remove_folder(const char *folder)
{
    if (nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS) != 0)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sbt_reader *reader = NULL;
    char path[64], folder[32];
    bool looks = size > SCENE_HEAD && (data[0] & (SCENE_DUMP | SCENE_SHOT));
    int fd;

    if (size <= SCENE_HEAD)
        return 0;
    vulkan_describe();
    scene_driver.apart = data[0] & SCENE_APART;
    strcpy(folder,
           access("/dev/shm", W_OK) == 0 ? "/dev/shm/fuzz_scene.XXXXXX" : "/tmp/fuzz_scene.XXXXXX");
    if (looks && !mkdtemp(folder))
        abort();
    fd = write_trace(data + SCENE_HEAD, size - SCENE_HEAD);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    if (sbt_reader_open(&reader, path) == 0)
        replay(reader, data[0], data[1], folder);
    sbt_reader_destroy(reader);
    close(fd);
    if (looks)
        remove_folder(folder);
    return 0;
}
