/* SPDX-License-Identifier: Apache-2.0 */
#include "api/cuda/cuda_source.h"

const struct tsm_source *const tsm_sources[] = {&cuda_source, NULL};
