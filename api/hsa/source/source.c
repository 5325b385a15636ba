/* SPDX-License-Identifier: Apache-2.0
 *
 * Gives capture the functions of the HSA source. No other file of the source calls this one.
 */
#include "api/hsa/source/source.h"

#include "api/hsa/hsa_wrappers.h"

static void forked(void)
{
    hsa_queue_list_forked();
    hsa_queues_forked();
    hsa_intercept_forked();
    hsa_completion_forked();
    hsa_counts_forked();
    hsa_pointers_forked();
    hsa_copy_streams_forked();
    hsa_memory_forked();
    hsa_locks_forked();
    hsa_exported_forked();
    hsa_gpu_time_forget();
}

static void end(void)
{
    hsa_gpu_time_collect();
    hsa_uses_ending();
}

static const char *const sonames[] = {"libhsa-runtime64.so.1", "libhsa-runtime64.so", NULL};

const struct tsm_source hsa_source = {
    .description = &hsa_description,
    .sonames = sonames,
    .exports = &hsa_exports,
    .owns_name = hsa_owns_name,
    .bind = hsa_bind_library,
    .forked = forked,
    .quiet = hsa_checkpoint_quiet,
    .save = hsa_checkpoint_save,
    .unseen = end,
    .opening = hsa_opening,
    .tables = hsa_tables,
};
