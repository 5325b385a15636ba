/* SPDX-License-Identifier: Apache-2.0
 *
 * run_checks FILE.ptx, or FILE.cu with options for NVRTC, which compiles it here: run every kernel
 * check_NAME__GRID_BLOCK_SHARED (tests/real/check.cuh; _CLUSTER may follow, blocks): each counts
 * what it found wrong, and what it looked at. Exit status 77: there is no NVRTC.
 */
#include "tests/programs/program.h"

#include <dlfcn.h>
#include <stdbool.h>

#define SCRATCH_SIZE 65536

static CUmodule module;
static CUdeviceptr counts, scratch;

/* With debug information a text has many megabytes. */
static char *read_text(const char *path)
{
    FILE *file = fopen(path, "rb");
    char *text = NULL;
    long size;

    if (!file)
        return NULL;
    if (fseek(file, 0, SEEK_END) == 0 && (size = ftell(file)) > 0 &&
        (text = calloc(1, (size_t)size + 1))) {
        rewind(file);
        if (fread(text, 1, (size_t)size, file) != (size_t)size)
            text[0] = '\0';
    }
    fclose(file);
    return text;
}

/* ---- NVRTC, found as programs find it ---- */

struct compiler {
    int (*create)(void **program, const char *source, const char *name, int headers,
                  const char *const *texts, const char *const *names);
    int (*compile)(void *program, int count, const char *const *options);
    int (*log_size)(void *program, size_t *size);
    int (*log)(void *program, char *log);
    int (*ptx_size)(void *program, size_t *size);
    int (*ptx)(void *program, char *ptx);
};

static bool find_compiler(struct compiler *c)
{
    static const char *const names[] = {"libnvrtc.so", "libnvrtc.so.13", "libnvrtc.so.12"};
    void *library = NULL;

    for (int i = 0; i < 3 && !library; i++)
        library = dlopen(names[i], RTLD_NOW);
    if (!library)
        return false;
    *(void **)&c->create = dlsym(library, "nvrtcCreateProgram");
    *(void **)&c->compile = dlsym(library, "nvrtcCompileProgram");
    *(void **)&c->log_size = dlsym(library, "nvrtcGetProgramLogSize");
    *(void **)&c->log = dlsym(library, "nvrtcGetProgramLog");
    *(void **)&c->ptx_size = dlsym(library, "nvrtcGetPTXSize");
    *(void **)&c->ptx = dlsym(library, "nvrtcGetPTX");
    return c->create && c->compile && c->log_size && c->log && c->ptx_size && c->ptx;
}

/* The PTX of a source text; NULL, and why on stderr. */
static char *compile(const struct compiler *c, const char *source, int count, char **options)
{
    char *text = NULL;
    void *program;
    size_t size;

    if (c->create(&program, source, "checks.cu", 0, NULL, NULL) != 0)
        return NULL;
    if (c->compile(program, count, (const char *const *)options) == 0) {
        if (c->ptx_size(program, &size) == 0 && (text = calloc(1, size + 1)))
            c->ptx(program, text);
    } else if (c->log_size(program, &size) == 0 && (text = calloc(1, size + 1))) {
        c->log(program, text);
        fputs(text, stderr);
        free(text);
        text = NULL;
    }
    return text;
}

/* True when the kernel looked at something and found nothing wrong. */
static bool run(const char *name)
{
    unsigned grid, block, shared, cluster = 0, result[2] = {0, 0};
    void *params[] = {&counts, &scratch};
    CUfunction kernel;

    if (sscanf(strstr(name, "__"), "__%u_%u_%u_%u", &grid, &block, &shared, &cluster) < 3)
        return false;
    CU(cuModuleGetFunction(&kernel, module, name));
    CU(cuMemsetD8_v2(counts, 0, sizeof(result)));
    CU(cuMemsetD8_v2(scratch, 0, SCRATCH_SIZE));
    CUlaunchAttribute attribute = {.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION,
                                   .value.clusterDim = {cluster, 1, 1}};
    CUlaunchConfig config = {.gridDimX = grid,
                             .gridDimY = 1,
                             .gridDimZ = 1,
                             .blockDimX = block,
                             .blockDimY = 1,
                             .blockDimZ = 1,
                             .sharedMemBytes = shared,
                             .attrs = &attribute,
                             .numAttrs = 1};
    if (cluster)
        CU(cuLaunchKernelEx(&config, kernel, params, NULL));
    else
        CU(cuLaunchKernel(kernel, grid, 1, 1, block, 1, 1, shared, NULL, params, NULL));
    CU(cuMemcpyDtoH_v2(result, counts, sizeof(result)));
    printf("%s: %u wrong of %u\n", name, result[0], result[1]);
    return result[0] == 0 && result[1] > 0;
}

int main(int argc, char **argv)
{
    char *text = argc > 1 ? read_text(argv[1]) : NULL;
    unsigned count = 0, failed = 0;
    struct compiler compiler;
    CUcontext context;

    if (!text)
        return 2;
    CU(cuInit(0));
    if (strstr(argv[1], ".cu")) {
        char *source = text;
        if (!find_compiler(&compiler))
            return 77;
        text = compile(&compiler, source, argc - 2, argv + 2);
        free(source);
        if (!text)
            return 2;
    }
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
