/* SPDX-License-Identifier: Apache-2.0
 *
 * Replays of HSA on the software GPU, which is in this program and says that it has the instruction
 * set of an AMD GPU: kernels are found and launched, and compute nothing. There is no sandbox, so
 * that code of this machine is refused.
 */
#include "api/hsa/hsa_calls.h"
#include "tests/fuzz/scene_api.h"

#include <stdlib.h>

extern const struct tsm_backend hsa_backend; /* api/hsa/replay/replay.c */
const struct tsm_backend *const tsm_backends[] = {&hsa_backend, NULL};

static void prepare(void)
{
    setenv("TS_EMU_HSA_ISA", "amdgcn-amd-amdhsa--gfx906", 1);
    setenv("TS_EMU_NOOP", "1", 1);
}

const struct scene_api scene_api = {.description = &hsa_description, .prepare = prepare};
