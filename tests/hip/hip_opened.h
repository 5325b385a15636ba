/* SPDX-License-Identifier: Apache-2.0
 *
 * For programs that open whatever libamdhip64 is here: CALL(hipMalloc, &memory, size) ends the program
 * with a line on stderr when it fails.
 */
#ifndef TESTS_HIP_HIP_OPENED_H
#define TESTS_HIP_HIP_OPENED_H

#include "api/hip/hip_prototypes.h"
#include "tests/programs/opened.h"

#include <stdbool.h>

static inline bool hip_open(void)
{
    static const char *const names[] = {"libamdhip64.so.5", "libamdhip64.so.6", "libamdhip64.so"};

    library = NULL;
    for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]) && !library; i++)
        library = dlopen(names[i], RTLD_NOW);
    return library != NULL;
}

static inline void hip_check(hipError_t error, const char *what)
{
    if (error == 0)
        return;
    fprintf(stderr, "%s: %u\n", what, error);
    exit(1);
}

#define CALL(name, ...) hip_check(F(name)(__VA_ARGS__), #name)

#endif
