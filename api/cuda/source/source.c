/* SPDX-License-Identifier: Apache-2.0
 *
 * Gives capture the functions of the CUDA source. No other file of the source calls this one.
 */
#include "api/cuda/source/source.h"

#include "api/cuda/cuda_calls.h"
#include "api/cuda/cuda_wrappers.h"
#include "api/cuda/source/cupti/cupti.h"

static void forked(void)
{
    cuda_contexts_forked();
    cuda_streams_forked();
    cuda_captures_forked();
    cuda_functions_forked();
    cuda_checksum_forked();
    cuda_checkpoint_forked();
    cuda_virtual_forked();
    cuda_values_forked();
    cuda_cupti_forked();
    cuda_describe_again();
}

static const char *const sonames[] = {"libcuda.so.1", "libcuda.so", NULL};

const struct tsm_source cuda_source = {
    .description = &cuda_description,
    .sonames = sonames,
    .exports = &cuda_exports,
    .owns_name = cuda_owns_name,
    .bind = cuda_bind_library,
    .describe = cuda_describe,
    .quiet = cuda_checkpoint_quiet,
    .save = cuda_checkpoint_save,
    .is_complete = cuda_stream_is_complete,
    .forked = forked,
    .opening = cuda_cupti_opening,
    .ending = cuda_cupti_ending,
    .unseen = cuda_cupti_unseen,
};
