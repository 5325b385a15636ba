/* SPDX-License-Identifier: Apache-2.0
 *
 * Run every kernel check_NAME__GRID_BLOCK_SHARED of a PTX file (tests/real/checks.cu): each counts
 * what it found wrong, and what it looked at.
 */
#include "tests/programs/program.h"

#include <stdbool.h>

#define SCRATCH_SIZE 65536

static CUmodule module;
static CUdeviceptr counts, scratch;

static char *read_text(const char *path)
{
    FILE *file = fopen(path, "rb");
    size_t size = 0, capacity = 1 << 22;
    char *text = calloc(1, capacity);

    if (!file || !text)
        return NULL;
    size = fread(text, 1, capacity - 1, file);
    fclose(file);
    return size ? text : NULL;
}

/* True when the kernel looked at something and found nothing wrong. */
static bool run(const char *name)
{
    unsigned grid, block, shared, result[2] = {0, 0};
    void *params[] = {&counts, &scratch};
    CUfunction kernel;

    if (sscanf(strstr(name, "__"), "__%u_%u_%u", &grid, &block, &shared) != 3)
        return false;
    CU(cuModuleGetFunction(&kernel, module, name));
    CU(cuMemsetD8_v2(counts, 0, sizeof(result)));
    CU(cuMemsetD8_v2(scratch, 0, SCRATCH_SIZE));
    CU(cuLaunchKernel(kernel, grid, 1, 1, block, 1, 1, shared, NULL, params, NULL));
    CU(cuMemcpyDtoH_v2(result, counts, sizeof(result)));
    printf("%s: %u wrong of %u\n", name, result[0], result[1]);
    return result[0] == 0 && result[1] > 0;
}

int main(int argc, char **argv)
{
    char *text = argc > 1 ? read_text(argv[1]) : NULL;
    unsigned count = 0, failed = 0;
    CUcontext context;

    if (!text)
        return 2;
    CU(cuInit(0));
    CU(cuCtxCreate_v2(&context, 0, 0));
    CU(cuModuleLoadData(&module, text));
    CU(cuMemAlloc_v2(&counts, 8));
    CU(cuMemAlloc_v2(&scratch, SCRATCH_SIZE));
    for (const char *at = text; (at = strstr(at, ".entry check_")); at++, count++) {
        char name[128];
        snprintf(name, sizeof(name), "%.*s", (int)strcspn(at + 7, "( \n"), at + 7);
        failed += !run(name);
    }
    CU(cuCtxDestroy_v2(context));
    free(text);
    printf("%u of %u kernels failed\n", failed, count);
    return failed || !count;
}
