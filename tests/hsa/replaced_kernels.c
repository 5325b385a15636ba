/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernels that take the place of recorded ones: each of the modules that are made of this file has
 * one thing in which it differs.
 */
#include "tests/hsa/hsa_kernels.h"

#include "tracesmith/hsa_kernel.h"

#ifndef EXTRA
#define EXTRA 0
#endif
#ifndef GROUP_SIZE
#define GROUP_SIZE 0
#endif

#ifdef WIDE
struct other_arguments {
    float *data;
    double factor;
};
#else
#define other_arguments scale_arguments
#endif

#ifdef VARIABLE
__attribute__((visibility("default"))) uint32_t bias = 7;
#endif

static void scale(const void *arguments, const struct tracesmith_work_item *item)
{
    const struct other_arguments *a = arguments;
    float *value = a->data + item->global[0];

    *value = (float)(a->factor * (double)*value) + EXTRA;
}

TRACESMITH_HSA_KERNEL(scale, struct other_arguments, GROUP_SIZE,
                      TRACESMITH_HSA_POINTER(struct other_arguments, data),
                      TRACESMITH_HSA_VALUE(struct other_arguments, factor));
