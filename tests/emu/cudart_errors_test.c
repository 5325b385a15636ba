/* SPDX-License-Identifier: Apache-2.0
 *
 * The last error: each thread's own, forgotten when it is asked for, unless it broke the context.
 * Names and texts. Two devices.
 */
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/emu/cudart_test.h"

static const char fault_text[] = PTX_HEAD ".visible .entry fault()\n"
                                          "{\n"
                                          "    .reg .b64 %rd<2>;\n"
                                          "    .reg .b32 %r<2>;\n"
                                          "    mov.u64 %rd1, 16;\n"
                                          "    st.global.u32 [%rd1], %r1;\n"
                                          "    ret;\n"
                                          "}\n";
static char fault_stub;

static void *without_errors(void *nothing)
{
    CHECK_EQ_INT(cudaPeekAtLastError(), cudaSuccess);
    FAILS(cudaSetDevice(99), cudaErrorInvalidDevice);
    CHECK_EQ_INT(cudaGetLastError(), cudaErrorInvalidDevice);
    return nothing;
}

static void kept(void)
{
    pthread_t thread;
    void *p;

    FAILS(cudaMalloc(NULL, 4), cudaErrorInvalidValue);
    OK(cudaMalloc(&p, 4)); /* a success does not clear it */
    CHECK_EQ_INT(cudaPeekAtLastError(), cudaErrorInvalidValue);
    CHECK_EQ_INT(pthread_create(&thread, NULL, without_errors, NULL), 0);
    CHECK_EQ_INT(pthread_join(thread, NULL), 0);
    CHECK_EQ_INT(cudaPeekAtLastError(), cudaErrorInvalidValue);
    CHECK_EQ_INT(cudaGetLastError(), cudaErrorInvalidValue);
    CHECK_EQ_INT(cudaGetLastError(), cudaSuccess);
    OK(cudaFree(p));
}

/* A question whose answer is "not yet" is an error like others. */
static void not_ready(void)
{
    cudaEvent_t begin, end;
    float ms = -1;

    OK(cudaEventCreateWithFlags(&begin, CU_EVENT_DISABLE_TIMING));
    OK(cudaEventCreate(&end));
    OK(cudaEventQuery(begin));
    OK(cudaEventRecord(end, NULL));
    OK(cudaEventSynchronize(end));
    FAILS(cudaEventElapsedTime(&ms, begin, end), cudaErrorInvalidResourceHandle);
    OK(cudaEventDestroy(begin));
    OK(cudaEventCreate(&begin));
    OK(cudaEventRecord(begin, NULL));
    OK(cudaEventRecord_ptsz(end, NULL));
    OK(cudaEventSynchronize(end));
    OK(cudaEventSynchronize(begin));
    OK(cudaEventElapsedTime(&ms, begin, end));
    CHECK_EQ_INT(cudaGetLastError(), cudaErrorInvalidResourceHandle);
    OK(cudaEventDestroy(begin));
    OK(cudaEventDestroy(end));
}

/* A kernel's error comes with the wait for it, stays, and goes with the context. */
static void broken(void)
{
    CUcontext context;
    void *p;

    OK(cudaLaunchKernel(&fault_stub, (dim3){1, 1, 1}, (dim3){1, 1, 1}, NULL, 0, NULL));
    FAILS(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
    FAILS(cudaMalloc(&p, 4), cudaErrorIllegalAddress);
    CHECK_EQ_INT(cudaGetLastError(), cudaErrorIllegalAddress);
    CHECK_EQ_INT(cudaGetLastError(), cudaErrorIllegalAddress);
    OK(cudaDeviceReset());
    CHECK_EQ_INT(cuCtxGetCurrent(&context), CUDA_SUCCESS);
    CHECK(context == NULL); /* the next call retains another one, as a recording of it says */
    CHECK_EQ_INT(cudaGetLastError(), cudaSuccess);
    OK(cudaMalloc(&p, 4));
    OK(cudaFree(p));
    OK(cudaLaunchKernel(&fault_stub, (dim3){1, 1, 1}, (dim3){1, 1, 1}, NULL, 0, NULL));
    FAILS(cudaStreamSynchronize(NULL), cudaErrorIllegalAddress);
    OK(cudaDeviceReset());
}

static void texts(void)
{
    CHECK_EQ_STR(cudaGetErrorName(cudaSuccess), "cudaSuccess");
    CHECK_EQ_STR(cudaGetErrorName(cudaErrorMemoryAllocation), "cudaErrorMemoryAllocation");
    CHECK_EQ_STR(cudaGetErrorName(cudaErrorIllegalAddress), "cudaErrorIllegalAddress");
    CHECK_EQ_STR(cudaGetErrorName(cudaErrorUnknown), "cudaErrorUnknown");
    CHECK_EQ_STR(cudaGetErrorName((cudaError_t)7777), "unrecognized error code");
    CHECK_EQ_STR(cudaGetErrorString(cudaSuccess), "no error");
    CHECK_EQ_STR(cudaGetErrorString((cudaError_t)7777), "unrecognized error code");
    for (int i = 0; i < 1000; i++) {
        bool is_named = strcmp(cudaGetErrorName((cudaError_t)i), "unrecognized error code") != 0;
        const char *text = cudaGetErrorString((cudaError_t)i);
        CHECK(text && (is_named || strcmp(text, "unrecognized error code") == 0));
    }
}

static void *in_thread(void *device_out)
{
    OK(cudaGetDevice(device_out));
    return NULL;
}

static void devices(void)
{
    cudaPointerAttributes is;
    cudaDeviceProp properties;
    pthread_t thread;
    int count = 0, device = -1, value = -1, access = -1;
    void *p, *q;

    OK(cudaGetDeviceCount(&count));
    CHECK_EQ_INT(count, 2);
    OK(cudaSetDevice(1));
    OK(cudaGetDevice(&device));
    CHECK_EQ_INT(device, 1);
    OK(cudaMalloc(&p, 64));
    OK(cudaPointerGetAttributes(&is, p));
    CHECK_EQ_INT(is.device, 1);
    CHECK_EQ_INT(pthread_create(&thread, NULL, in_thread, &device), 0);
    CHECK_EQ_INT(pthread_join(thread, NULL), 0);
    CHECK_EQ_INT(device, 0);
    OK(cudaSetDevice(0));
    OK(cudaMalloc(&q, 64));
    OK(cudaDeviceCanAccessPeer(&access, 0, 1));
    if (access) {
        OK(cudaDeviceEnablePeerAccess(1, 0));
        OK(cudaMemset(q, 0x33, 64));
        OK(cudaMemcpyPeer(p, 1, q, 0, 64));
        OK(cudaMemcpy(&value, p, 4, cudaMemcpyDefault));
        CHECK_EQ_INT(value, 0x33333333);
        OK(cudaDeviceDisablePeerAccess(1));
    }
    OK(cudaFree(q));
    OK(cudaFree(p)); /* of the other device */
    FAILS(cudaSetDevice(2), cudaErrorInvalidDevice);
    FAILS(cudaSetDevice(-1), cudaErrorInvalidDevice);
#if CUDART_MAJOR >= 13
    OK(cudaGetDeviceProperties(&properties, 0));
    FAILS(cudaGetDeviceProperties(&properties, 2), cudaErrorInvalidDevice);
#else
    OK(cudaGetDeviceProperties_v2(&properties, 0));
    FAILS(cudaGetDeviceProperties_v2(&properties, 2), cudaErrorInvalidDevice);
#endif
    CHECK_EQ_INT(properties.warpSize, 32);
    CHECK(properties.major == 7 && properties.minor == 5 && properties.multiProcessorCount > 0);
    CHECK(properties.totalGlobalMem == (size_t)4 << 30 && *properties.name);
    OK(cudaDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 1));
    CHECK_EQ_INT(value, 32);
    CHECK_EQ_INT(cudaGetLastError(), cudaErrorInvalidDevice);
}

/* The program may make a context of its own current: that counts. */
static void own_context(void)
{
    CUcontext context, current;
    CUdeviceptr base;
    size_t size;
    void *p;

    CHECK_EQ_INT(cuCtxCreate_v2(&context, 0, 0), CUDA_SUCCESS);
    OK(cudaMalloc(&p, 64));
    CHECK_EQ_INT(cuCtxGetCurrent(&current), CUDA_SUCCESS);
    CHECK(current == context);
    CHECK_EQ_INT(cuMemGetAddressRange_v2(&base, &size, (CUdeviceptr)(uintptr_t)p), CUDA_SUCCESS);
    CHECK_EQ_INT(cuCtxDestroy_v2(context), CUDA_SUCCESS);
    FAILS(cudaFree(p), cudaErrorInvalidValue);
    /* No context is current: the device's own one is from now on. */
    CHECK_EQ_INT(cuCtxSetCurrent(NULL), CUDA_SUCCESS);
    OK(cudaMalloc(&p, 64));
    OK(cudaFree(p));
    CHECK_EQ_INT(cudaGetLastError(), cudaErrorInvalidValue);
}

/* A child of fork() has no device, as with NVIDIA's driver. */
static void forked(void)
{
    int status = -1;
    void *p;
    pid_t child = fork();

    if (!child)
        _exit(cudaMalloc(&p, 4) == cudaErrorInitializationError &&
                      cudaGetLastError() == cudaErrorInitializationError
                  ? 0
                  : 1);
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    OK(cudaMalloc(&p, 4));
    OK(cudaFree(p));
}

static void *left;

/* After the driver's end calls fail, and do not crash. */
static void at_exit(void)
{
    if (cudaFree(left) != cudaErrorCudartUnloading)
        _exit(7);
}

static void versions(void)
{
    int driver = 0, runtime = 0;
    void *function = NULL;
    cudaDriverEntryPointQueryResult found;

    OK(cudaDriverGetVersion(&driver));
    OK(cudaRuntimeGetVersion(&runtime));
    CHECK(runtime / 1000 == CUDART_MAJOR && driver >= runtime);
    OK(cudaGetDriverEntryPoint("cuMemAlloc", &function, 0, &found));
    CHECK(found == CU_GET_PROC_ADDRESS_SUCCESS && function == (void *)cuMemAlloc_v2);
    OK(cudaGetDriverEntryPointByVersion("cuStreamQuery", &function, 12000, 0, NULL));
    CHECK(function == (void *)cuStreamQuery);
    OK(cudaGetDriverEntryPointByVersion_ptsz("cuStreamQuery", &function, 12000, 0, NULL));
    CHECK(function == (void *)cuStreamQuery_ptsz);
    OK(cudaGetDriverEntryPoint("cuNothing", &function, 0, &found));
    CHECK_EQ_INT(found, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
}

int main(void)
{
    struct test_image image = {0};

    CHECK(atexit(at_exit) == 0); /* before the driver is initialised, so that it comes later */
    test_register_ptx(&image, 70, fault_text);
    test_function(&image, &fault_stub, "fault");
    kept();
    not_ready();
    texts();
    devices();
    own_context();
    versions();
    forked();
    broken();
    test_finish(&image);
    OK(cudaMalloc(&left, 4));
    return check_result();
}
