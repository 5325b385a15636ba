/* SPDX-License-Identifier: Apache-2.0
 *
 * Whole scenes of Vulkan with whatever in their records: they become a trace, which is replayed on
 * a driver that does nothing, with dumps, screenshots, loops, and what trim saves. Refused or
 * answered; what the driver is given is there. For libFuzzer; tests/fuzz/replay_corpus.c runs the
 * checked-in corpus in the normal suite, scene_seeds.c makes inputs of traces.
 */
#include "replay/backend.h"
#include "tests/fuzz/scene_driver.h"
#include "tests/fuzz/scene_record.h"
#include "tracesmith/replay.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

extern const struct tsm_backend vulkan_backend; /* api/vulkan/replay/replay.c */
const struct tsm_backend *const tsm_backends[] = {&vulkan_backend, NULL};

static void replay(struct sbt_reader *reader, unsigned bits, unsigned place, const char *folder)
{
    const struct tsm_frames frames = {1, 3};
    struct tsm_inspect look = {.dump_directory = bits & SCENE_DUMP ? folder : NULL,
                               .dump_seq = place,
                               .screenshot_directory = bits & SCENE_SHOT ? folder : NULL,
                               .frames = &frames,
                               .frame_count = bits & SCENE_SHOT ? 1 : 0};
    struct tsm_replay_options options = {
        .backend = "vulkan",
        .grain = bits & SCENE_SYNC ? TSM_GRAIN_SYNC : TSM_GRAIN_READBACK,
        .timeout_ns = 2000000000,
        .inspect = bits & (SCENE_DUMP | SCENE_SHOT) ? &look : NULL};

    if (bits & SCENE_SAVE)
        options.filter.seq_end = place;
    scene_replay(reader, &options, bits, place);
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
    scene_describe();
    scene_driver.apart = data[0] & SCENE_APART;
    strcpy(folder,
           access("/dev/shm", W_OK) == 0 ? "/dev/shm/fuzz_scene.XXXXXX" : "/tmp/fuzz_scene.XXXXXX");
    if (looks && !mkdtemp(folder))
        abort();
    fd = scene_write_trace(data + SCENE_HEAD, size - SCENE_HEAD);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    if (sbt_reader_open(&reader, path) == 0)
        replay(reader, data[0], data[1], folder);
    sbt_reader_destroy(reader);
    close(fd);
    if (looks)
        remove_folder(folder);
    return 0;
}
