/* SPDX-License-Identifier: Apache-2.0 */
#include "api/cuda/physical_window.h"

static CUresult map(const struct cuda_window *w, const struct cuda_real *driver,
                    CUmemGenericAllocationHandle handle)
{
    CUmemAccessDesc access = {.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE},
                              .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    CUdevice device = 0;
    CUresult result = driver->cuCtxGetDevice(&device);

    if (result == CUDA_SUCCESS)
        result = driver->cuMemMap(w->start, w->size, 0, handle, 0);
    if (result != CUDA_SUCCESS)
        return result;
    access.location.id = device;
    result = driver->cuMemSetAccess(w->start, w->size, &access, 1);
    if (result != CUDA_SUCCESS)
        driver->cuMemUnmap(w->start, w->size);
    return result;
}

CUresult cuda_window_open(struct cuda_window *out, const struct cuda_real *driver,
                          CUmemGenericAllocationHandle handle, size_t size)
{
    CUresult result;

    out->size = size;
    result = driver->cuMemAddressReserve(&out->start, size, 0, 0, 0);
    if (result != CUDA_SUCCESS)
        return result;
    result = map(out, driver, handle);
    if (result != CUDA_SUCCESS)
        driver->cuMemAddressFree(out->start, size);
    return result;
}

void cuda_window_close(const struct cuda_window *w, const struct cuda_real *driver)
{
    driver->cuMemUnmap(w->start, w->size);
    driver->cuMemAddressFree(w->start, w->size);
}
