/* SPDX-License-Identifier: Apache-2.0
 *
 * Whole replays with whatever in their records: a scene becomes a trace, which is replayed on the
 * software GPU, or on the tests' own DRM devices, in part and whole, in loops, with memory hashed,
 * and as trim saves it. A replay ends, refused or answered, within its time. For libFuzzer;
 * tests/fuzz/replay_corpus.c runs the checked-in corpus in the normal suite, scene_seeds.c makes
 * inputs of traces.
 */
#include "tests/fuzz/scene_api.h"
#include "tests/fuzz/scene_record.h"
#include "tracesmith/replay.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Memory that is too large to be had is refused, as it is without a sanitizer. */
__attribute__((visibility("default"))) const char *__asan_default_options(void);

const char *__asan_default_options(void)
{
    return "allocator_may_return_null=1:max_allocation_size_mb=512";
}

#define TIMEOUT_NS 100000000u   /* of what is changed: most of it hangs, if at all, for ever */
#define WORKS_NS   120000000000 /* of what works, on a busy machine */

static enum tsm_grain grain_of(unsigned bits)
{
    if (bits & SCENE_EACH)
        return TSM_GRAIN_COMMAND;
    return bits & SCENE_SYNC ? TSM_GRAIN_SYNC : TSM_GRAIN_READBACK;
}

static void replay(struct sbt_reader *reader, unsigned bits, unsigned place)
{
    struct tsm_replay_options options = {.backend = scene_api.description->name,
                                         .grain = grain_of(bits),
                                         .no_checkpoint = bits & SCENE_WHOLE,
                                         .timeout_ns = bits & SCENE_WORKS ? WORKS_NS : TIMEOUT_NS};

    if (bits & SCENE_RANGE)
        options.filter.seq_first = place;
    else if (bits & SCENE_SAVE)
        options.filter.seq_end = place;
    scene_replay(reader, &options, bits, place);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sbt_reader *reader = NULL;
    char path[64];
    int fd;

    if (size <= SCENE_HEAD)
        return 0;
    scene_describe();
    fd = scene_write_trace(data + SCENE_HEAD, size - SCENE_HEAD);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    if (scene_api.begin)
        scene_api.begin(data[0]);
    if (sbt_reader_open(&reader, path) == 0)
        replay(reader, data[0], data[1]);
    sbt_reader_destroy(reader);
    if (scene_api.end)
        scene_api.end();
    close(fd);
    return 0;
}
