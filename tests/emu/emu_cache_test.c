/* SPDX-License-Identifier: Apache-2.0
 *
 * emu_cache_test CASE [N]: loads a module of some 100 KB and runs kernels of it. Kernel k adds k to
 * a word. CASE: one (kernel N alone), twice, threads, all, refused (an instruction that is not
 * there in kernel N), many (N modules that differ).
 */
#include "tests/emu/emu_test.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { KERNELS = 60, THREADS = 8, TEXT_MAX = 1 << 20 };

static char text[TEXT_MAX];

/* Each kernel calls a function of its own, and has a shared variable of its own. */
static size_t add_kernel(size_t used, unsigned k, bool is_bad)
{
    used += (size_t)snprintf(text + used, TEXT_MAX - used,
                             ".func (.reg .u32 %%out) f%u(.reg .u32 %%in) {\n"
                             "  add.u32 %%out, %%in, %u;\n  ret;\n}\n"
                             ".visible .entry k%u(.param .u64 p) {\n"
                             "  .shared .align 4 .b8 s[%u];\n"
                             "  .reg .u64 %%rd;\n  .reg .u32 %%r<40>;\n"
                             "  ld.param.u64 %%rd, [p];\n  ld.global.u32 %%r1, [%%rd];\n",
                             k, k, k, 4 + 4 * k);
    for (unsigned i = 2; i < 40; i++)
        used += (size_t)snprintf(text + used, TEXT_MAX - used,
                                 "  mad.lo.u32 %%r%u, %%r%u, 3, %u;\n", i, i - 1, k);
    if (is_bad)
        used += (size_t)snprintf(text + used, TEXT_MAX - used, "  mma.nothing.sync;\n");
    return used + (size_t)snprintf(text + used, TEXT_MAX - used,
                                   "  st.shared.u32 [s], %%r1;\n  ld.shared.u32 %%r3, [s];\n"
                                   "  call (%%r2), f%u, (%%r3);\n  st.global.u32 [%%rd], %%r2;\n"
                                   "  ret;\n}\n",
                                   k);
}

static void make_text(unsigned variant, unsigned bad)
{
    size_t used = (size_t)snprintf(text, TEXT_MAX,
                                   ".version 8.0\n.target sm_70\n.address_size 64\n"
                                   ".visible .global .u32 variant = %u;\n",
                                   variant);

    for (unsigned k = 0; k < KERNELS; k++)
        used = add_kernel(used, k, k == bad);
}

static CUmodule load(void)
{
    CUmodule module = NULL;

    OK(cuModuleLoadData(&module, text));
    return module;
}

static void check_kernel(CUmodule module, unsigned k, CUstream stream)
{
    char name[16];
    CUfunction f = NULL;
    CUdeviceptr d = 0;
    uint32_t value = 1000;
    void *args[] = {&d};
    int shared = 0;

    snprintf(name, sizeof(name), "k%u", k);
    OK(cuModuleGetFunction(&f, module, name));
    OK(cuFuncGetAttribute(&shared, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, f));
    CHECK_EQ_INT(shared, 4 + 4 * k);
    OK(cuMemAlloc_v2(&d, 4));
    OK(cuMemcpyHtoD_v2(d, &value, 4));
    OK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, stream, args, NULL));
    OK(cuStreamSynchronize(stream));
    OK(cuMemcpyDtoH_v2(&value, d, 4));
    CHECK_EQ_INT(value, 1000 + k);
    OK(cuMemFree_v2(d));
}

static CUmodule shared_module;
static CUcontext shared_context;

/* Threads meet at some kernels and not at others. */
static void *run_thread(void *user)
{
    unsigned number = (unsigned)(uintptr_t)user;
    CUstream stream;

    OK(cuCtxSetCurrent(shared_context));
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    for (unsigned i = 0; i < 20; i++)
        check_kernel(shared_module, i % 2 ? i : (i * 7 + number) % KERNELS, stream);
    return NULL;
}

static void run_threads(void)
{
    pthread_t threads[THREADS];

    shared_module = load();
    cuCtxGetCurrent(&shared_context);
    for (size_t k = 0; k < THREADS; k++)
        CHECK_EQ_INT(pthread_create(&threads[k], NULL, run_thread, (void *)k), 0);
    for (size_t k = 0; k < THREADS; k++)
        pthread_join(threads[k], NULL);
}

static void run_refused(void)
{
    char log[512] = "";
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {log, (void *)sizeof(log)};
    CUmodule module;

    FAILS(cuModuleLoadDataEx(&module, text, 2, options, values), CUDA_ERROR_INVALID_PTX);
    printf("%s", log);
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "all";
    unsigned n = argc > 2 ? (unsigned)atoi(argv[2]) : 0;

    test_context();
    make_text(0, strcmp(name, "refused") == 0 ? n : KERNELS);
    if (strcmp(name, "refused") == 0) {
        run_refused();
    } else if (strcmp(name, "threads") == 0) {
        run_threads();
    } else if (strcmp(name, "one") == 0) {
        check_kernel(load(), n, NULL);
    } else if (strcmp(name, "twice") == 0) {
        CUmodule first = load();
        CUmodule second = load();
        OK(cuModuleUnload(first));
        check_kernel(second, n, NULL);
    } else if (strcmp(name, "many") == 0) {
        for (unsigned k = 1; k <= n; k++) {
            make_text(k, KERNELS);
            check_kernel(load(), 1, NULL);
        }
    } else {
        CUmodule module = load();
        for (unsigned k = 0; k < KERNELS; k++)
            check_kernel(module, k, NULL);
    }
    return check_result();
}
