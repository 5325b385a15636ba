/* SPDX-License-Identifier: Apache-2.0
 *
 * The kernels of emu_kernels.cl on the software GPU and on the first OpenCL CPU device, in turns,
 * on the same data, their results compared. Prints "NAME_emu_ms" and "NAME_opencl_ms", launch to
 * end; of all kernels, or of the one that is named.
 *
 * bench_opencl KERNELS.ptx KERNELS.cl [NAME]
 */
#define CL_TARGET_OPENCL_VERSION 120
#include "bench/measure.h"
#include "emu/cuda/core/abi.h"

#include <CL/cl.h>
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 5, BUFFERS = 3, ARGS = 4, POINTS = 512 };

enum fill { ZERO, INTS, REALS, POSITIONS, ROOTS, CONSTANTS };

/* Arguments are the buffers, then `scalar` unless it is 0. The last buffer that is written is the
 * result; tolerance 0: the same bytes. */
struct work {
    const char *name;
    size_t grid[2];
    size_t block[2];
    size_t sizes[BUFFERS]; /* bytes; 0: no such buffer */
    enum fill fills[BUFFERS];
    unsigned result;
    uint32_t scalar; /* int or the bits of a float */
    float tolerance; /* of the largest value */
};

#define MIB (1u << 20)
static const struct work works[] = {
    {"saxpy", {8192, 1}, {256, 1}, {8 * MIB, 8 * MIB}, {REALS, REALS}, 1, 0x40000000, 0},
    {"reduction", {256, 1}, {256, 1}, {8 * MIB, 1024}, {INTS, ZERO}, 1, 32, 0},
    {"sgemm_naive", {16, 16}, {16, 16}, {MIB / 4, MIB / 4, MIB / 4}, {REALS, REALS}, 2, 256, 0},
    {"sgemm_tiled", {16, 16}, {16, 16}, {MIB / 4, MIB / 4, MIB / 4}, {REALS, REALS}, 2, 256, 0},
    {"stencil", {64, 64}, {16, 16}, {4 * MIB, 4 * MIB}, {REALS, ZERO}, 1, 1024, 1e-6f},
    {"histogram", {256, 1}, {256, 1}, {8 * MIB, 1024}, {INTS, ZERO}, 1, 32, 0},
    {"nbody", {8, 1}, {256, 1}, {32768, 32768}, {POSITIONS, ZERO}, 1, 2048, 1e-4f},
    {"sha256", {64, 1}, {256, 1}, {MIB, MIB / 2, 256}, {INTS, ZERO, CONSTANTS}, 1, 0, 0},
    {"fft", {512, 1}, {256, 1}, {2 * MIB, 2 * MIB, 2048}, {REALS, ZERO, ROOTS}, 1, 0, 1e-5f},
};

static void fail(const char *what, long code)
{
    fprintf(stderr, "bench_opencl: %s: %ld\n", what, code);
    exit(1);
}

static char *read_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    char *text = calloc(1, MIB);

    if (!file || !text || fread(text, 1, MIB - 1, file) == 0)
        fail(path, 0);
    fclose(file);
    return text;
}

/* ---- data ---- */

static void fill_roots(float *out)
{
    for (unsigned k = 0; k < POINTS / 2; k++) {
        double angle = -2 * 3.14159265358979323846 * k / POINTS;
        out[2 * k] = (float)cos(angle);
        out[2 * k + 1] = (float)sin(angle);
    }
}

static void fill(void *out, size_t size, enum fill how, uint64_t *random)
{
    uint32_t *words = out;
    float *reals = out;

    for (size_t k = 0; k < size / 4; k++) {
        uint32_t r = (uint32_t)bench_random(random);
        if (how == INTS || how == CONSTANTS)
            words[k] = r;
        else if (how == ZERO)
            words[k] = 0;
        else
            reals[k] = (float)(r >> 8) * 0x1p-24f;
    }
    if (how == ROOTS)
        fill_roots(out);
}

/* ---- the software GPU ---- */

static struct {
    CUresult (*init)(unsigned);
    CUresult (*retain)(CUcontext *, CUdevice);
    CUresult (*enter)(CUcontext);
    CUresult (*load)(CUmodule *, const void *);
    CUresult (*function)(CUfunction *, CUmodule, const char *);
    CUresult (*alloc)(CUdeviceptr *, size_t);
    CUresult (*write)(CUdeviceptr, const void *, size_t);
    CUresult (*read)(void *, CUdeviceptr, size_t);
    CUresult (*launch)(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                       unsigned, CUstream, void **, void **);
    CUresult (*wait)(void);
} cu;

static CUmodule emu_module;

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

static void emu_open(const char *ptx)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    CUcontext context;

    if (!library)
        fail(dlerror(), 0);
    find(library, &cu.init, "cuInit");
    find(library, &cu.retain, "cuDevicePrimaryCtxRetain");
    find(library, &cu.enter, "cuCtxSetCurrent");
    find(library, &cu.load, "cuModuleLoadData");
    find(library, &cu.function, "cuModuleGetFunction");
    find(library, &cu.alloc, "cuMemAlloc_v2");
    find(library, &cu.write, "cuMemcpyHtoD_v2");
    find(library, &cu.read, "cuMemcpyDtoH_v2");
    find(library, &cu.launch, "cuLaunchKernel");
    find(library, &cu.wait, "cuCtxSynchronize");
    CU(cu.init(0));
    CU(cu.retain(&context, 0));
    CU(cu.enter(context));
    char *text = read_file(ptx);
    CU(cu.load(&emu_module, text));
    free(text);
}

static double emu_once(const struct work *w, void *const data[BUFFERS], void *result)
{
    CUdeviceptr buffers[BUFFERS];
    uint32_t scalar = w->scalar;
    void *args[ARGS];
    unsigned count = 0;
    CUfunction f;

    CU(cu.function(&f, emu_module, w->name));
    for (; count < BUFFERS && w->sizes[count]; count++) {
        CU(cu.alloc(&buffers[count], w->sizes[count]));
        CU(cu.write(buffers[count], data[count], w->sizes[count]));
        args[count] = &buffers[count];
    }
    args[count] = &scalar;
    CU(cu.wait());
    uint64_t start = tsm_monotonic_ns();
    CU(cu.launch(f, (unsigned)w->grid[0], (unsigned)w->grid[1], 1, (unsigned)w->block[0],
                 (unsigned)w->block[1], 1, 0, NULL, args, NULL));
    CU(cu.wait());
    double ms = (double)(tsm_monotonic_ns() - start) * 1e-6;
    CU(cu.read(result, buffers[w->result], w->sizes[w->result]));
    return ms;
}

/* ---- OpenCL ---- */

static struct {
    cl_context context;
    cl_command_queue queue;
    cl_program program;
} cl;

#define CL(call)                                                                                   \
    do {                                                                                           \
        cl_int status = (call);                                                                    \
        if (status)                                                                                \
            fail(#call, status);                                                                   \
    } while (0)

static void cl_open(const char *source)
{
    char *text = read_file(source);
    cl_platform_id platform;
    cl_device_id device;
    cl_int code;

    CL(clGetPlatformIDs(1, &platform, NULL));
    CL(clGetDeviceIDs(platform, CL_DEVICE_TYPE_CPU, 1, &device, NULL));
    cl.context = clCreateContext(NULL, 1, &device, NULL, NULL, &code);
    CL(code);
    cl.queue = clCreateCommandQueue(cl.context, device, 0, &code);
    CL(code);
    cl.program = clCreateProgramWithSource(cl.context, 1, (const char **)&text, NULL, &code);
    CL(code);
    CL(clBuildProgram(cl.program, 1, &device, "", NULL, NULL));
    free(text);
}

static double cl_once(const struct work *w, void *const data[BUFFERS], void *result)
{
    size_t global[2] = {w->grid[0] * w->block[0], w->grid[1] * w->block[1]};
    cl_mem buffers[BUFFERS];
    unsigned count = 0;
    cl_int code;
    cl_kernel kernel = clCreateKernel(cl.program, w->name, &code);

    CL(code);
    for (; count < BUFFERS && w->sizes[count]; count++) {
        buffers[count] = clCreateBuffer(cl.context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR,
                                        w->sizes[count], data[count], &code);
        CL(code);
        CL(clSetKernelArg(kernel, count, sizeof(cl_mem), &buffers[count]));
    }
    if (w->scalar)
        CL(clSetKernelArg(kernel, count, sizeof(w->scalar), &w->scalar));
    CL(clFinish(cl.queue));
    uint64_t start = tsm_monotonic_ns();
    CL(clEnqueueNDRangeKernel(cl.queue, kernel, 2, NULL, global, w->block, 0, NULL, NULL));
    CL(clFinish(cl.queue));
    double ms = (double)(tsm_monotonic_ns() - start) * 1e-6;
    CL(clEnqueueReadBuffer(cl.queue, buffers[w->result], CL_TRUE, 0, w->sizes[w->result], result, 0,
                           NULL, NULL));
    for (unsigned k = 0; k < count; k++)
        CL(clReleaseMemObject(buffers[k]));
    CL(clReleaseKernel(kernel));
    return ms;
}

/* ---- both ---- */

static void compare(const struct work *w, const float *a, const float *b)
{
    size_t count = w->sizes[w->result] / 4;
    float largest = 0;

    if (memcmp(a, b, w->sizes[w->result]) == 0)
        return;
    for (size_t k = 0; k < count; k++)
        largest = fmaxf(largest, fabsf(b[k]));
    for (size_t k = 0; k < count; k++)
        if (!(fabsf(a[k] - b[k]) <= w->tolerance * largest)) {
            fprintf(stderr, "%s: word %zu is %g here and %g there\n", w->name, k, (double)a[k],
                    (double)b[k]);
            fail("results differ", (long)k);
        }
}

static void print(const struct work *w, const char *side, struct bench_samples *s)
{
    char name[64];

    snprintf(name, sizeof(name), "%s_%s_ms", w->name, side);
    bench_print(name, s);
}

/* The first round of each is not counted: code is made and pages come. */
static void measure(const struct work *w)
{
    static struct bench_samples ours, theirs;
    uint64_t random = BENCH_SEED;
    void *data[BUFFERS] = {NULL};
    void *here = calloc(1, w->sizes[w->result]);
    void *there = calloc(1, w->sizes[w->result]);

    ours.count = theirs.count = 0;
    for (unsigned k = 0; k < BUFFERS && w->sizes[k]; k++) {
        data[k] = malloc(w->sizes[k]);
        if (!data[k] || !here || !there)
            fail("memory", 0);
        fill(data[k], w->sizes[k], w->fills[k], &random);
    }
    for (unsigned round = 0; round <= ROUNDS; round++) {
        double a = emu_once(w, data, here);
        double b = cl_once(w, data, there);
        compare(w, here, there);
        if (round > 0) {
            bench_add(&ours, a);
            bench_add(&theirs, b);
        }
    }
    print(w, "emu", &ours);
    print(w, "opencl", &theirs);
    for (unsigned k = 0; k < BUFFERS; k++)
        free(data[k]);
    free(here);
    free(there);
}

int main(int argc, char **argv)
{
    if (argc < 3)
        fail("usage: bench_opencl KERNELS.ptx KERNELS.cl [NAME]", argc);
    emu_open(argv[1]);
    cl_open(argv[2]);
    for (size_t k = 0; k < sizeof(works) / sizeof(works[0]); k++)
        if (argc == 3 || strcmp(argv[3], works[k].name) == 0)
            measure(&works[k]);
    return 0;
}
