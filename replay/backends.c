/* SPDX-License-Identifier: Apache-2.0
 *
 * The backends of this build.
 */
#include "replay/backend.h"

extern const struct tsm_backend cuda_backend; /* api/cuda/cuda_replay.c */

const struct tsm_backend *const tsm_backends[] = {
    &cuda_backend,
    NULL,
};
