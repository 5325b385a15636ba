/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernels of the program: registered, found by the address of their stub, launched in every way,
 * and the errors of images and launches.
 */
#include <pthread.h>

#include "tests/emu/cudart_test.h"

#define COUNT 1000u

static char add_stub, missing_stub, unknown_stub; /* the address of a stub is all that counts */
static float *a, *b, *c;                          /* on the device */

static void check_sums(unsigned wanted)
{
    float sums[COUNT];
    unsigned right = 0;

    OK(cudaMemcpy(sums, c, sizeof(sums), cudaMemcpyDeviceToHost));
    for (unsigned i = 0; i < COUNT; i++)
        right += sums[i] == 3.0f * (float)(i + 1);
    CHECK_EQ_INT(right, wanted);
    OK(cudaMemset(c, 0, sizeof(sums)));
}

static void prepare(void)
{
    float values[COUNT];

    OK(cudaMalloc((void **)&a, sizeof(values)));
    OK(cudaMalloc((void **)&b, sizeof(values)));
    OK(cudaMalloc((void **)&c, sizeof(values)));
    for (unsigned i = 0; i < COUNT; i++)
        values[i] = (float)(i + 1);
    OK(cudaMemcpy(a, values, sizeof(values), cudaMemcpyHostToDevice));
    for (unsigned i = 0; i < COUNT; i++)
        values[i] *= 2;
    OK(cudaMemcpy(b, values, sizeof(values), cudaMemcpyHostToDevice));
    OK(cudaMemset(c, 0, sizeof(values)));
}

static const dim3 grid = {(COUNT + 127) / 128, 1, 1}, block = {128, 1, 1};
static unsigned count = COUNT;
static void *arguments[] = {&c, &a, &b, &count};

/* add<<<grid, block>>>(...), as nvcc 12 and 13 write it. */
static void stubs(void)
{
    dim3 g, t;
    size_t shared;
    cudaStream_t stream;
    cudaKernel_t kernel;

    CHECK_EQ_INT(__cudaPushCallConfiguration(grid, block, 0, NULL), 0);
    OK(__cudaPopCallConfiguration(&g, &t, &shared, &stream));
    CHECK(g.x == grid.x && t.x == 128 && t.z == 1 && !shared && !stream);
    OK(cudaLaunchKernel(&add_stub, g, t, arguments, shared, stream));
    check_sums(COUNT);
    OK(__cudaGetKernel(&kernel, &add_stub));
    OK(__cudaLaunchKernel(kernel, grid, block, arguments, 0, NULL));
    check_sums(COUNT);
    FAILS(__cudaPopCallConfiguration(&g, &t, &shared, &stream), cudaErrorMissingConfiguration);
    CHECK_EQ_INT(cudaGetLastError(), cudaErrorMissingConfiguration);
}

/* An argument of a launch may be a call that launches: the configurations are a stack. */
static void nested(void)
{
    dim3 outer = {3, 1, 1}, inner = {7, 1, 1}, g, t;
    size_t shared;
    cudaStream_t stream;
    unsigned pushed = 0;

    CHECK_EQ_INT(__cudaPushCallConfiguration(outer, block, 1, cudaStreamPerThread), 0);
    CHECK_EQ_INT(__cudaPushCallConfiguration(inner, block, 2, NULL), 0);
    OK(__cudaPopCallConfiguration(&g, &t, &shared, &stream));
    CHECK(g.x == 7 && shared == 2 && !stream);
    OK(__cudaPopCallConfiguration(&g, &t, &shared, &stream));
    CHECK(g.x == 3 && shared == 1 && stream == cudaStreamPerThread);
    while (pushed < 1000 && !__cudaPushCallConfiguration(outer, block, 0, NULL))
        pushed++;
    CHECK(pushed >= 16 && pushed < 1000);
    CHECK_EQ_INT(cudaGetLastError(), cudaErrorMemoryAllocation);
    while (pushed--)
        OK(__cudaPopCallConfiguration(&g, &t, &shared, &stream));
}

static void others(void)
{
    cudaLaunchConfig_t config = {.gridDim = grid, .blockDim = block};
    cudaStream_t stream;
    cudaFunction_t function;
    cudaKernel_t kernel;

    OK(cudaStreamCreate(&stream));
    config.stream = stream;
    OK(cudaLaunchKernelExC(&config, &add_stub, arguments));
    OK(cudaStreamSynchronize(stream));
    check_sums(COUNT);
    OK(cudaLaunchCooperativeKernel(&add_stub, (dim3){4, 1, 1}, (dim3){256, 1, 1}, arguments, 0,
                                   stream));
    OK(cudaStreamSynchronize(stream));
    check_sums(COUNT);
    OK(cudaLaunchKernel_ptsz(&add_stub, grid, block, arguments, 0, NULL));
    OK(cudaStreamSynchronize_ptsz(NULL));
    check_sums(COUNT);
    /* Handles name kernels as stubs do. */
    OK(cudaGetKernel(&kernel, &add_stub));
    OK(cudaGetFuncBySymbol(&function, &add_stub));
    OK(cudaLaunchKernel(kernel, grid, block, arguments, 0, stream));
    OK(cudaStreamSynchronize(stream));
    check_sums(COUNT);
    OK(cudaLaunchKernel(function, grid, block, arguments, 0, stream));
    OK(cudaStreamSynchronize(stream));
    check_sums(COUNT);
    OK(cudaStreamDestroy(stream));
}

static void *launch_in_thread(void *nothing)
{
    OK(cudaLaunchKernel(&add_stub, grid, block, arguments, 0, NULL));
    OK(cudaDeviceSynchronize());
    check_sums(COUNT);
    return nothing;
}

static void threads(void)
{
    pthread_t thread;

    CHECK_EQ_INT(pthread_create(&thread, NULL, launch_in_thread, NULL), 0);
    CHECK_EQ_INT(pthread_join(thread, NULL), 0);
}

/* Each is the thread's last error, once. */
static void refused(void)
{
    static const dim3 bad_grids[] = {{0, 1, 1}, {1, 70000, 1}, {1, 1, 0}};
    static const dim3 bad_blocks[] = {
        {0, 1, 1}, {1025, 1, 1}, {1, 1, 65}, {64, 64, 1}, {1024, 1024, 1024}};

    for (unsigned i = 0; i < 3; i++) {
        FAILS(cudaLaunchKernel(&add_stub, bad_grids[i], block, arguments, 0, NULL),
              cudaErrorInvalidConfiguration);
        CHECK_EQ_INT(cudaGetLastError(), cudaErrorInvalidConfiguration);
        CHECK_EQ_INT(cudaGetLastError(), cudaSuccess);
    }
    for (unsigned i = 0; i < 5; i++)
        FAILS(cudaLaunchKernel(&add_stub, grid, bad_blocks[i], arguments, 0, NULL),
              cudaErrorInvalidConfiguration);
    FAILS(cudaLaunchKernel(&add_stub, grid, block, arguments, 1 << 20, NULL),
          cudaErrorInvalidValue);
    FAILS(cudaLaunchKernel(&add_stub, grid, block, arguments, (size_t)1 << 40, NULL),
          cudaErrorInvalidValue);
    FAILS(cudaLaunchKernel(&unknown_stub, grid, block, arguments, 0, NULL),
          cudaErrorInvalidDeviceFunction);
    FAILS(cudaLaunchKernel(NULL, grid, block, arguments, 0, NULL), cudaErrorInvalidDeviceFunction);
    FAILS(cudaLaunchKernel(&missing_stub, grid, block, arguments, 0, NULL),
          cudaErrorInvalidDeviceFunction);
    FAILS(cudaLaunchKernelExC(NULL, &add_stub, arguments), cudaErrorInvalidValue);
    FAILS(__cudaLaunchKernel(NULL, grid, block, arguments, 0, NULL),
          cudaErrorInvalidDeviceFunction);
    CHECK_EQ_INT(cudaGetLastError(), cudaErrorInvalidDeviceFunction);
    check_sums(0);
}

/* Images that do not suit the device: the error is that of what is asked for of them. */
static void images(void)
{
    struct test_image code = {0}, too_new = {0};
    static char code_stub, new_stub;
    cudaKernel_t kernel = NULL;
    cudaFuncAttributes attributes;

    fatbin_begin(&code.bytes);
    fatbin_add(&code.bytes, FATBIN_CODE, 75, 0, "machine code", 13, 0);
    test_register(&code);
    test_function(&code, &code_stub, "add");
    test_register_ptx(&too_new, 90, PTX_HEAD PTX_ADD);
    test_function(&too_new, &new_stub, "add");

    FAILS(cudaFuncGetAttributes(&attributes, &code_stub), cudaErrorNoKernelImageForDevice);
    FAILS(__cudaGetKernel(&kernel, &new_stub), cudaErrorNoKernelImageForDevice);
    CHECK(!kernel);
    CHECK_EQ_INT(cudaGetLastError(), cudaErrorNoKernelImageForDevice);
    /* The program asks for a kernel once, and launches what it got each time. */
    FAILS(__cudaLaunchKernel(kernel, grid, block, arguments, 0, NULL),
          cudaErrorNoKernelImageForDevice);
    CHECK_EQ_INT(cudaGetLastError(), cudaErrorNoKernelImageForDevice);
    test_finish(&code);
    test_finish(&too_new);
    FAILS(cudaFuncGetAttributes(&attributes, &code_stub), cudaErrorInvalidDeviceFunction);
    OK(cudaLaunchKernel(&add_stub, grid, block, arguments, 0, NULL));
    check_sums(COUNT);
}

static void questions(void)
{
    cudaFuncAttributes attributes;
    const char *name = NULL;
    size_t offset, size;
    int blocks = 0;

    OK(cudaFuncGetAttributes(&attributes, &add_stub));
    CHECK_EQ_INT(attributes.maxThreadsPerBlock, 1024);
    CHECK_EQ_INT(attributes.sharedSizeBytes, 0);
    CHECK(attributes.numRegs > 0 && attributes.maxDynamicSharedSizeBytes == 48 << 10);
    OK(cudaFuncSetAttribute(&add_stub, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 60 << 10));
    OK(cudaFuncGetAttributes(&attributes, &add_stub));
    CHECK_EQ_INT(attributes.maxDynamicSharedSizeBytes, 60 << 10);
    OK(cudaFuncGetName(&name, &add_stub));
    CHECK_EQ_STR(name, "add");
    OK(cudaFuncGetParamInfo(&add_stub, 3, &offset, &size));
    CHECK(offset == 24 && size == 4);
    OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, &add_stub, 128, 0));
    CHECK(blocks > 0);
    FAILS(cudaFuncGetAttributes(NULL, &add_stub), cudaErrorInvalidValue);
    FAILS(cudaFuncGetAttributes(&attributes, &unknown_stub), cudaErrorInvalidDeviceFunction);
    CHECK_EQ_INT(cudaGetLastError(), cudaErrorInvalidDeviceFunction);
}

int main(void)
{
    struct test_image image = {0};

    test_register_ptx(&image, 70, PTX_HEAD PTX_ADD);
    test_function(&image, &add_stub, "add");
    test_function(&image, &missing_stub, "subtract");
    __cudaRegisterFatBinaryEnd(image.handle);
    prepare();
    stubs();
    nested();
    others();
    threads();
    refused();
    images();
    questions();
    test_finish(&image);
    return check_result();
}
