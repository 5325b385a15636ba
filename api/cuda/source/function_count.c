/* SPDX-License-Identifier: Apache-2.0
 *
 * Counts functions of the program that the driver was given and that have not returned.
 */
#include "api/cuda/source/source.h"

#include <stdatomic.h>

static atomic_uint unfinished;

unsigned cuda_functions_unfinished(void)
{
    return atomic_load(&unfinished);
}

void cuda_function_expected(void)
{
    atomic_fetch_add(&unfinished, 1);
}

void cuda_function_over(void)
{
    atomic_fetch_sub(&unfinished, 1);
}

void cuda_function_count_forked(void)
{
    atomic_store(&unfinished, 0);
}
