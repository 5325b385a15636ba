/* SPDX-License-Identifier: Apache-2.0
 *
 * A code object for what the loader of the sandbox does: a constructor, addresses in data,
 * functions of the C and the mathematical library, and, as LOADING_... says, a function that a
 * resolver chooses, a thread-local variable, another library. Each adds 1 to what the kernel gives.
 */
#include "tests/hsa/hostile_kernels.h"

#include "tracesmith/hsa_kernel.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static uint64_t constructed;
static uint64_t *const pointers[] = {&constructed, NULL};
static const char *const texts[] = {"one", "two"};
static double (*volatile function)(double) = sqrt;

__attribute__((constructor)) static void construct(void)
{
    constructed = 1;
}

#ifdef LOADING_IFUNC
static uint64_t one(void)
{
    return 1;
}

__attribute__((used)) static uint64_t (*choose(void))(void)
{
    return one;
}

uint64_t chosen(void) __attribute__((ifunc("choose"), visibility("default")));
#elif defined(LOADING_TLS)
static __thread volatile uint64_t own = 1;
#elif defined(LOADING_LIBRARY)
unsigned ZSTD_versionNumber(void);
#endif

static uint64_t special(void)
{
#ifdef LOADING_IFUNC
    return chosen();
#elif defined(LOADING_TLS)
    return own;
#elif defined(LOADING_LIBRARY)
    return ZSTD_versionNumber() > 0;
#else
    return 1;
#endif
}

static void attack(const void *arguments, const struct tracesmith_work_item *item)
{
    const struct hostile_arguments *a = arguments;
    char *copy = strdup(texts[item->global[0]]);

    if (*pointers[0] == 1 && copy && strcmp(copy, "one") == 0 && function(16) == 4)
        *a->out += special();
    free(copy);
}

TRACESMITH_HSA_KERNEL(attack, struct hostile_arguments, 0,
                      TRACESMITH_HSA_POINTER(struct hostile_arguments, out),
                      TRACESMITH_HSA_VALUE(struct hostile_arguments, address),
                      TRACESMITH_HSA_VALUE(struct hostile_arguments, deed));
