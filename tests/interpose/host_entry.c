/* SPDX-License-Identifier: Apache-2.0
 *
 * cuGetProcAddress as the CUDA runtime uses it: for each name that it knows at several versions and
 * with each flag. Prints how many addresses it got and, with the argument "owners", how many of
 * them are not in libts_capture.so.
 */
#include "tests/programs/program.h"

#include <dlfcn.h>

static const char *const names[] = {
#define NAME(name) #name,
#include "entry_names.inc"
};

static int got, foreign, verbose;

static void ask(const char *name, int version, cuuint64_t flags)
{
    CUdriverProcAddressQueryResult status = 0;
    void *function = NULL;
    Dl_info info;

    if (cuGetProcAddress_v2(name, &function, version, flags, &status) != CUDA_SUCCESS || !function)
        return;
    got++;
    if (dladdr(function, &info) && !strstr(info.dli_fname, "libts_capture.so")) {
        foreign++;
        if (verbose)
            fprintf(stderr, "%s %d %d: %s\n", name, version, (int)flags, info.dli_sname);
    }
}

int main(int argc, char **argv)
{
    static const int versions[] = {2000, 3020, 6000, 7000, 11030, 12000, 12080, 13000};
    void *function = NULL;

    verbose = argc > 1;
    CU(cuInit(0));
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        for (size_t j = 0; j < sizeof(versions) / sizeof(versions[0]); j++)
            for (cuuint64_t flags = 0; flags <= 2; flags++)
                ask(names[i], versions[j], flags);
    printf("got: %d\n", got);
    if (verbose)
        printf("foreign: %d\n", foreign);
    /* First calls of the runtime; only that nothing breaks is of interest. */
    cuGetProcAddress_v2("", &function, 0, 0, NULL);
    cuGetProcAddress_v2("cuInit", &function, 2000, 0, NULL);
    cuGetProcAddress("cuGetProcAddress", &function, 13000, 0);
    printf("itself: %d\n", function != NULL);
    return 0;
}
