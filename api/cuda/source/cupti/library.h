/* SPDX-License-Identifier: Apache-2.0
 *
 * libcupti, opened when the program's first GPU call is made and TS_GPU_TIME asks for it.
 */
#ifndef API_CUDA_SOURCE_CUPTI_LIBRARY_H
#define API_CUDA_SOURCE_CUPTI_LIBRARY_H

#include "api/cuda/abi_cupti.h"

#include <stdbool.h>

struct cupti_library {
#define MEMBER(name, arguments) int(*name) arguments;
    TSM_CUPTI_FUNCTIONS(MEMBER)
#undef MEMBER
    uint32_t version;
};

#define CUPTI_REASON_SIZE 512u

/* Opens it: `path`, or where that is empty the first of the usual names. False: `reason` says why,
 * and what to do. The program must not have it already. Inside tsm_inside_enter(). */
bool cupti_library_open(struct cupti_library *out, const char *path,
                        char reason[CUPTI_REASON_SIZE]);

/* Would a program that opens this path use CUPTI? */
bool cupti_library_is(const char *path);

/* Says why a function failed. */
void cupti_library_reason(const struct cupti_library *library, const char *function, int result,
                          char reason[CUPTI_REASON_SIZE]);

#endif
