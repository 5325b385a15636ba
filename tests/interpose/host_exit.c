/* SPDX-License-Identifier: Apache-2.0 -- ends in the way that its argument says, with status 3. */
#include "tests/programs/program.h"

int main(int argc, char **argv)
{
    const char *way = argc > 1 ? argv[1] : "";
    CUcontext context;
    CUdeviceptr memory;

    program_begin(&context);
    CU(cuMemAlloc_v2(&memory, 16));
    CU(cuMemsetD8_v2(memory, 7, 16));
    if (strcmp(way, "_exit") == 0)
        _exit(3);
    if (strcmp(way, "_Exit") == 0)
        _Exit(3);
    if (strcmp(way, "abort") == 0)
        abort();
    exit(3);
}
