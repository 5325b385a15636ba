/* SPDX-License-Identifier: Apache-2.0
 *
 * Measures the software GPU's cost apart from the kernels: launches of an empty kernel (in a row,
 * and each waited for), copies against memcpy(), memory used against memory asked for, modules
 * loaded and loaded again. bench_emu [MODULE.ptx]; bench_emu --loads MODULE.ptx KERNEL: modules
 * alone.
 */
#include "bench/measure.h"
#include "emu/cuda/core/abi.h"

#include <dlfcn.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 21, BATCH = 1000, COPY = 256 << 20 };

static const char empty[] = ".version 6.0\n.target sm_30\n.address_size 64\n"
                            ".visible .entry empty(.param .u64 p) { ret; }\n";

static struct {
    CUresult (*init)(unsigned);
    CUresult (*retain)(CUcontext *, CUdevice);
    CUresult (*enter)(CUcontext);
    CUresult (*load)(CUmodule *, const void *);
    CUresult (*unload)(CUmodule);
    CUresult (*function)(CUfunction *, CUmodule, const char *);
    CUresult (*alloc)(CUdeviceptr *, size_t);
    CUresult (*write)(CUdeviceptr, const void *, size_t);
    CUresult (*read)(void *, CUdeviceptr, size_t);
    CUresult (*copy)(CUdeviceptr, CUdeviceptr, size_t);
    CUresult (*free)(CUdeviceptr);
    CUresult (*launch)(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                       unsigned, CUstream, void **, void **);
    CUresult (*wait)(void);
} cu;

static void fail(const char *what, long code)
{
    fprintf(stderr, "bench_emu: %s: %ld\n", what, code);
    exit(1);
}

#define CU(call)                                                                                   \
    do {                                                                                           \
        CUresult status = (call);                                                                  \
        if (status)                                                                                \
            fail(#call, (long)status);                                                             \
    } while (0)

static void find(void *library, void *slot, const char *name)
{
    void *symbol = dlsym(library, name);

    if (!symbol)
        fail(name, 0);
    memcpy(slot, &symbol, sizeof(symbol));
}

static void open_driver(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    CUcontext context;

    if (!library)
        fail(dlerror(), 0);
    find(library, &cu.init, "cuInit");
    find(library, &cu.retain, "cuDevicePrimaryCtxRetain");
    find(library, &cu.enter, "cuCtxSetCurrent");
    find(library, &cu.load, "cuModuleLoadData");
    find(library, &cu.unload, "cuModuleUnload");
    find(library, &cu.function, "cuModuleGetFunction");
    find(library, &cu.alloc, "cuMemAlloc_v2");
    find(library, &cu.write, "cuMemcpyHtoD_v2");
    find(library, &cu.read, "cuMemcpyDtoH_v2");
    find(library, &cu.copy, "cuMemcpyDtoD_v2");
    find(library, &cu.free, "cuMemFree_v2");
    find(library, &cu.launch, "cuLaunchKernel");
    find(library, &cu.wait, "cuCtxSynchronize");
    CU(cu.init(0));
    CU(cu.retain(&context, 0));
    CU(cu.enter(context));
}

static double us_since(uint64_t start)
{
    return (double)(tsm_monotonic_ns() - start) * 1e-3;
}

static void launches(void)
{
    static struct bench_samples sent, waited;
    uint64_t p = 0;
    void *args[] = {&p};
    CUmodule module;
    CUfunction f;

    CU(cu.load(&module, empty));
    CU(cu.function(&f, module, "empty"));
    for (int round = 0; round < ROUNDS; round++) {
        uint64_t start = tsm_monotonic_ns();
        for (int k = 0; k < BATCH; k++)
            CU(cu.launch(f, 1, 1, 1, 32, 1, 1, 0, NULL, args, NULL));
        CU(cu.wait());
        bench_add(&sent, us_since(start) / BATCH);
        start = tsm_monotonic_ns();
        for (int k = 0; k < BATCH; k++) {
            CU(cu.launch(f, 1, 1, 1, 32, 1, 1, 0, NULL, args, NULL));
            CU(cu.wait());
        }
        bench_add(&waited, us_since(start) / BATCH);
    }
    bench_print("launch_us", &sent);
    bench_print("launch_and_wait_us", &waited);
}

static void copies(void)
{
    static struct bench_samples here, to, from, inside;
    uint8_t *a = malloc(COPY);
    uint8_t *b = malloc(COPY);
    CUdeviceptr d, e;

    if (!a || !b)
        fail("memory", 0);
    memset(a, 1, COPY);
    memset(b, 2, COPY);
    CU(cu.alloc(&d, COPY));
    CU(cu.alloc(&e, COPY));
    CU(cu.write(d, a, COPY));
    CU(cu.write(e, a, COPY));
    for (int round = 0; round < ROUNDS; round++) {
        uint64_t start = tsm_monotonic_ns();
        memcpy(b, a, COPY);
        bench_add(&here, us_since(start) * 1e-3);
        start = tsm_monotonic_ns();
        CU(cu.write(d, a, COPY));
        bench_add(&to, us_since(start) * 1e-3);
        start = tsm_monotonic_ns();
        CU(cu.read(b, d, COPY));
        bench_add(&from, us_since(start) * 1e-3);
        start = tsm_monotonic_ns();
        CU(cu.copy(e, d, COPY));
        CU(cu.wait());
        bench_add(&inside, us_since(start) * 1e-3);
    }
    bench_print("memcpy_ms", &here);
    bench_print("write_ms", &to);
    bench_print("read_ms", &from);
    bench_print("copy_ms", &inside);
    CU(cu.free(d));
    CU(cu.free(e));
    free(a);
    free(b);
}

/* Bytes of this process in memory. */
static double resident_bytes(void)
{
    FILE *file = fopen("/proc/self/statm", "r");
    long pages = 0;

    if (!file || fscanf(file, "%*d %ld", &pages) != 1)
        fail("/proc/self/statm", pages);
    fclose(file);
    return (double)pages * 4096;
}

/* `count` allocations of `size` bytes, all written: what the process grew by, to what was asked for. */
static double memory_to_asked(size_t count, size_t size)
{
    CUdeviceptr *all = calloc(count, sizeof(*all));
    uint8_t *bytes = malloc(size);
    double before, after;

    if (!all || !bytes)
        fail("memory", 0);
    memset(bytes, 3, size);
    memset(all, 1, count * sizeof(*all));
    before = resident_bytes();
    for (size_t i = 0; i < count; i++) {
        CU(cu.alloc(&all[i], size));
        CU(cu.write(all[i], bytes, size));
    }
    after = resident_bytes();
    for (size_t i = 0; i < count; i++)
        CU(cu.free(all[i]));
    free(all);
    free(bytes);
    return (after - before) / (double)(count * size);
}

static char *read_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    char *text = calloc(1, 64 << 20);

    if (!file || !text || fread(text, 1, (64 << 20) - 1, file) == 0)
        fail(path, 0);
    fclose(file);
    return text;
}

static double heap_bytes(void)
{
    struct mallinfo2 m = mallinfo2();

    return (double)(m.uordblks + m.hblkhd);
}

/* Measures the first and the second access to a kernel, then prints everything that is loaded. */
static void use(CUmodule module, const char *kernel)
{
    static const char *const names[] = {"use_first_us", "use_again_us"};
    CUfunction f;

    for (int k = 0; k < 2; k++) {
        uint64_t start = bench_thread_ns();
        CU(cu.function(&f, module, kernel));
        bench_print_value(names[k], (double)(bench_thread_ns() - start) * 1e-3);
    }
}

/* CPU time. The first load of a process is by itself: whether something was kept on disk shows
 * there. */
static void loads(const char *path, const char *kernel)
{
    static struct bench_samples again;
    char *text = read_file(path);
    double size = (double)strlen(text);
    CUmodule module;

    for (int round = 0; round < ROUNDS; round++) {
        double before = heap_bytes();
        uint64_t start = bench_thread_ns();
        CU(cu.load(&module, text));
        double ms = (double)(bench_thread_ns() - start) * 1e-6;
        if (round == 0)
            bench_print_value("load_first_ms", ms);
        else
            bench_add(&again, ms);
        if (round < 2)
            bench_print_value(round ? "memory_again" : "memory_first",
                              (heap_bytes() - before) / size);
        if (round == 0 && kernel)
            use(module, kernel);
        CU(cu.unload(module));
    }
    bench_print("load_again_ms", &again);
    free(text);
}

int main(int argc, char **argv)
{
    open_driver();
    if (argc > 3 && strcmp(argv[1], "--loads") == 0) {
        loads(argv[2], argv[3]);
        return 0;
    }
    if (argc > 1)
        loads(argv[1], NULL);
    bench_print_value("memory_large", memory_to_asked(4, 64 << 20));
    bench_print_value("memory_small", memory_to_asked(4096, 64 << 10));
    launches();
    copies();
    return 0;
}
