/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/text/param_kind.h"

#include "base/text.h"

void tsm_param_kind(char out[32], const struct cuda_param *param)
{
    static const char letters[] = {[CUDA_PARAM_BITS] = 'b',
                                   [CUDA_PARAM_UNSIGNED] = 'u',
                                   [CUDA_PARAM_SIGNED] = 's',
                                   [CUDA_PARAM_FLOAT] = 'f'};
    const bool is_word =
        param->size == 1 || param->size == 2 || param->size == 4 || param->size == 8;

    if (param->type == CUDA_PARAM_POINTER)
        tsm_text_copy(out, 32, "pointer");
    else if (is_word)
        tsm_format(out, 32, "%c%u", letters[param->type], param->size * 8u);
    else
        tsm_text_copy(out, 32, "bytes");
}
