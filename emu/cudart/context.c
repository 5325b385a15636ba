/* SPDX-License-Identifier: Apache-2.0
 *
 * Which device and context a thread uses. A context that the program made current by the driver API
 * counts; else the primary context of the thread's device is made current by the first call that
 * needs one.
 */
#include "emu/cudart/cudart.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "api/cuda/abi_current.h"

#define DEVICE_MAX 64

static _Thread_local int chosen; /* by cudaSetDevice() */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static CUcontext primaries[DEVICE_MAX]; /* retained once a process */

static atomic_bool is_ending;

static void end(void)
{
    atomic_store(&is_ending, true);
}

/* The driver remembers that it is initialised, but asking it costs a recorder a record. */
static CUresult init(void)
{
    static atomic_bool is_done;
    static atomic_flag is_noted = ATOMIC_FLAG_INIT;
    CUresult result;

    if (atomic_load_explicit(&is_done, memory_order_acquire))
        return CUDA_SUCCESS;
    result = cuInit(0);
    if (result)
        return result;
    atomic_store_explicit(&is_done, true, memory_order_release);
    if (!atomic_flag_test_and_set(&is_noted) && atexit(end))
        cudart_warn("no memory to note the end of the process");
    return CUDA_SUCCESS;
}

static CUresult retain(CUcontext *out, int device)
{
    CUresult result = CUDA_SUCCESS;

    if (device < 0 || device >= DEVICE_MAX)
        return CUDA_ERROR_INVALID_DEVICE;
    pthread_mutex_lock(&lock);
    if (!primaries[device])
        result = cuDevicePrimaryCtxRetain(&primaries[device], device);
    *out = primaries[device];
    pthread_mutex_unlock(&lock);
    return result;
}

static CUresult bind(int device)
{
    CUcontext context;
    CUresult result = retain(&context, device);

    return result ? result : cuCtxSetCurrent(context);
}

static CUresult enter(void)
{
    CUresult result = init();

    return result || tsm_emu_has_context() ? result : bind(chosen);
}

cudaError_t cudart_init(void)
{
    return cudart_result(init());
}

cudaError_t cudart_enter(void)
{
    return cudart_result(enter());
}

bool cudart_is_ending(void)
{
    return atomic_load(&is_ending);
}

int cudart_device(void)
{
    CUdevice device;

    return cuCtxGetDevice(&device) ? chosen : device;
}

cudaError_t cudart_primary(CUcontext *out, int device)
{
    CUresult result = init();

    return cudart_result(result ? result : retain(out, device));
}

/* ---- entry points ---- */

cudaError_t cudaSetDevice(int device)
{
    CUresult result = init();

    if (!result)
        result = bind(device);
    if (!result)
        chosen = device;
    return cudart_result(result);
}

cudaError_t cudaGetDevice(int *device)
{
    if (cudart_init())
        return cudart_last();
    if (!device)
        return cudart_fail(cudaErrorInvalidValue);
    *device = cudart_device();
    return cudaSuccess;
}

/* The list is a wish, as to which device a thread that has chosen none should use. */
cudaError_t cudaSetValidDevices(int *device_arr, int len)
{
    int count;

    if (cudaGetDeviceCount(&count))
        return cudart_last();
    if (len < 0 || len > count || (len && !device_arr))
        return cudart_fail(cudaErrorInvalidValue);
    for (int i = 0; i < len; i++)
        if (device_arr[i] < 0 || device_arr[i] >= count)
            return cudart_fail(cudaErrorInvalidDevice);
    if (len)
        chosen = device_arr[0];
    return cudaSuccess;
}

cudaError_t cudaInitDevice(int device, unsigned int deviceFlags, unsigned int flags)
{
    CUcontext context;

    if (flags & ~1u)
        return cudart_fail(cudaErrorInvalidValue);
    if (cudart_init() ||
        ((flags & 1) && cudart_result(cuDevicePrimaryCtxSetFlags_v2(device, deviceFlags))))
        return cudart_last();
    return cudart_primary(&context, device);
}

/* Has the next call that needs a context retain the primary one again, which makes it anew. Other
 * threads go on with it. */
static CUresult leave(int device)
{
    CUcontext current, primary;
    CUresult result = cuCtxGetCurrent(&current);

    pthread_mutex_lock(&lock);
    primary = primaries[device];
    primaries[device] = NULL;
    pthread_mutex_unlock(&lock);
    return !result && primary && current == primary ? cuCtxSetCurrent(NULL) : result;
}

cudaError_t cudaDeviceReset(void)
{
    const int device = cudart_device();
    CUresult result = init();

    if (!result)
        result = cuDevicePrimaryCtxReset_v2(device);
    if (!result)
        result = leave(device);
    if (!result)
        cudart_forget();
    return cudart_result(result);
}

cudaError_t cudaGetDeviceFlags(unsigned int *flags)
{
    return CUDART_DRIVER(cuCtxGetFlags(flags));
}

cudaError_t cudaSetDeviceFlags(unsigned int flags)
{
    CUresult result = init();

    if (!result)
        result = cuDevicePrimaryCtxSetFlags_v2(cudart_device(), flags);
    return cudart_result(result);
}

cudaError_t cudaDeviceEnablePeerAccess(int peerDevice, unsigned int flags)
{
    CUcontext peer = NULL;

    if (cudart_enter() || cudart_primary(&peer, peerDevice))
        return cudart_last();
    return cudart_result(cuCtxEnablePeerAccess(peer, flags));
}

cudaError_t cudaDeviceDisablePeerAccess(int peerDevice)
{
    CUcontext peer = NULL;

    if (cudart_enter() || cudart_primary(&peer, peerDevice))
        return cudart_last();
    return cudart_result(cuCtxDisablePeerAccess(peer));
}

#if CUDART_MAJOR < 13
cudaError_t cudaThreadExit(void)
{
    return cudaDeviceReset();
}
#endif
