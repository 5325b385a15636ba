/* SPDX-License-Identifier: Apache-2.0
 *
 * Names for types of kernels' parameters.
 */
#ifndef TOOLS_TEXT_PARAM_KIND_H
#define TOOLS_TEXT_PARAM_KIND_H

#include "api/cuda/image.h"

/* Writes "u32", "f64", "pointer", "b64" (of a word, only the size is known) or "bytes". */
void tsm_param_kind(char out[32], const struct cuda_param *param);

#endif
