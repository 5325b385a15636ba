/* SPDX-License-Identifier: Apache-2.0
 *
 * Replays of CUDA on the software GPU, which is in this program: a launch ends after its time, and
 * nothing is remembered of PTX.
 */
#include "api/cuda/cuda_calls.h"
#include "tests/fuzz/scene_api.h"

#include <stdlib.h>

extern const struct tsm_backend cuda_backend; /* api/cuda/replay/replay.c */
const struct tsm_backend *const tsm_backends[] = {&cuda_backend, NULL};

static void prepare(void)
{
    setenv("TS_EMU_CACHE", "0", 1);
    setenv("TS_EMU_TIMEOUT", "0.2", 0);
    setenv("TS_EMU_MEMORY", "67108864", 1);
    setenv("TS_EMU_THREADS", "1", 1);
    setenv("TS_EMU_STACKS", "0", 1);
}

const struct scene_api scene_api = {.description = &cuda_description, .prepare = prepare};
