/* SPDX-License-Identifier: Apache-2.0
 *
 * Physical memory, pools and foreign files that are passed on as file descriptors.
 */
#include <sys/mman.h>

#include "tests/emu/emu_pair.h"

#define MIB2 (2ull << 20)

static const CUmemAllocationProp exportable = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                               .requestedHandleTypes =
                                                   CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                                               .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};

static CUdeviceptr map(CUmemGenericAllocationHandle handle)
{
    CUmemAccessDesc rights = {exportable.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    CUdeviceptr p;

    OK(cuMemAddressReserve(&p, MIB2, 0, 0, 0));
    OK(cuMemMap(p, MIB2, 0, handle, 0));
    OK(cuMemSetAccess(p, MIB2, &rights, 1));
    return p;
}

/* ---- physical memory ---- */

static void offer_physical(int peer)
{
    CUmemGenericAllocationHandle handle, plain, again;
    CUmemAllocationProp prop = exportable;
    CUdeviceptr p, q;
    int file = -1;

    OK(cuMemCreate(&handle, MIB2, &exportable, 0));
    prop.requestedHandleTypes = 0;
    OK(cuMemCreate(&plain, MIB2, &prop, 0));
    FAILS(cuMemExportToShareableHandle(&file, plain, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0),
          CUDA_ERROR_INVALID_VALUE);
    FAILS(cuMemExportToShareableHandle(&file, handle, CU_MEM_HANDLE_TYPE_WIN32, 0),
          CUDA_ERROR_INVALID_VALUE);
    FAILS(cuMemExportToShareableHandle(NULL, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0),
          CUDA_ERROR_INVALID_VALUE);
    OK(cuMemExportToShareableHandle(&file, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    OK(cuMemRelease(plain));
    p = map(handle);
    pair_add(p, 3);
    /* In the same process it is the same memory, too. */
    OK(cuMemImportFromShareableHandle(&again, (void *)(intptr_t)file,
                                      CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
    q = map(again);
    CHECK_EQ_INT(pair_read(q), 3);
    pair_send_file(peer, file);
    close(file);
    pair_meet(peer); /* the child has added */
    CHECK_EQ_INT(pair_read(p), 43);
    OK(cuMemUnmap(p, MIB2));
    OK(cuMemUnmap(q, MIB2));
    OK(cuMemRelease(handle));
    OK(cuMemRelease(again));
    pair_meet(peer); /* it lives on with the child */
}

static void take_physical(int peer)
{
    int file = pair_receive_file(peer), other = memfd_create("something else", 0);
    CUmemGenericAllocationHandle handle;
    CUmemAllocationProp prop;
    CUdeviceptr p;

    FAILS(cuMemImportFromShareableHandle(&handle, (void *)(intptr_t)other,
                                         CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR),
          CUDA_ERROR_INVALID_VALUE);
    FAILS(cuMemImportFromShareableHandle(NULL, (void *)(intptr_t)file,
                                         CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR),
          CUDA_ERROR_INVALID_VALUE);
    OK(cuMemImportFromShareableHandle(&handle, (void *)(intptr_t)file,
                                      CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
    close(file);
    close(other);
    OK(cuMemGetAllocationPropertiesFromHandle(&prop, handle));
    CHECK_EQ_INT(prop.requestedHandleTypes, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
    p = map(handle);
    CHECK_EQ_INT(pair_read(p), 3);
    pair_add(p, 40);
    pair_meet(peer);
    pair_meet(peer);
    CHECK_EQ_INT(pair_read(p), 43);
    OK(cuMemUnmap(p, MIB2));
    OK(cuMemRelease(handle));
}

/* ---- pools ---- */

static const CUmemPoolProps pool_props = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                                          .handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                                          .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};

static void offer_pool(int peer)
{
    CUmemPoolPtrExportData data, bad;
    CUmemoryPool pool, usual;
    CUdeviceptr p, q;
    int file = -1;

    OK(cuMemPoolCreate(&pool, &pool_props));
    OK(cuDeviceGetDefaultMemPool(&usual, 0));
    FAILS(
        cuMemPoolExportToShareableHandle(&file, usual, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0),
        CUDA_ERROR_INVALID_VALUE);
    OK(cuMemPoolExportToShareableHandle(&file, pool, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    pair_send_file(peer, file);
    close(file);
    OK(cuMemAllocFromPoolAsync(&p, 3000, pool, NULL));
    OK(cuMemAllocAsync(&q, 3000, NULL));
    OK(cuMemsetD32Async(p, 0, 3000 / 4, NULL));
    pair_add(p, 6);
    FAILS(cuMemPoolExportPointer(&bad, q), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuMemPoolExportPointer(NULL, p), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemPoolExportPointer(&data, p));
    pair_send(peer, &data, sizeof(data));
    pair_meet(peer); /* the child has added, and freed its own */
    CHECK_EQ_INT(pair_read(p), 66);
    OK(cuMemFreeAsync(p, NULL));
    OK(cuMemFreeAsync(q, NULL));
    OK(cuMemPoolDestroy(pool));
}

static void take_pool(int peer)
{
    int file = pair_receive_file(peer);
    CUmemPoolPtrExportData data, bad = {{0}};
    CUmemAccess_flags flags;
    CUmemLocation here = pool_props.location;
    CUmemoryPool pool, of;
    CUdeviceptr p, q;

    OK(cuMemPoolImportFromShareableHandle(&pool, (void *)(intptr_t)file,
                                          CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    close(file);
    OK(cuMemPoolGetAccess(&flags, pool, &here));
    FAILS(cuMemAllocFromPoolAsync(&p, 100, pool, NULL), CUDA_ERROR_INVALID_VALUE);
    pair_receive(peer, &data, sizeof(data));
    FAILS(cuMemPoolImportPointer(&p, pool, &bad), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemPoolImportPointer(&p, pool, &data));
    OK(cuMemPoolImportPointer(&q, pool, &data)); /* the same again */
    CHECK_EQ_INT(p, q);
    OK(cuPointerGetAttribute(&of, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, p));
    CHECK(of == pool);
    CHECK_EQ_INT(pair_read(p), 6);
    pair_add(p, 60);
    OK(cuMemFreeAsync(p, NULL));
    OK(cuMemFree_v2(q));
    FAILS(cuMemFree_v2(q), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemPoolDestroy(pool));
    pair_meet(peer);
}

/* ---- memory of another API: a file ---- */

static void check_external(void)
{
    int file = memfd_create("another API's", 0);
    CUDA_EXTERNAL_MEMORY_HANDLE_DESC desc = {
        .type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD, .handle.fd = file, .size = 65536};
    CUDA_EXTERNAL_MEMORY_BUFFER_DESC part = {.offset = 4096, .size = 8192};
    CUexternalMemory memory;
    CUdeviceptr p;
    unsigned *host;

    CHECK_EQ_INT(ftruncate(file, 65536), 0);
    host = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    CHECK(host != MAP_FAILED);
    host[1024] = 20;
    desc.size = 1 << 20;
    FAILS(cuImportExternalMemory(&memory, &desc), CUDA_ERROR_INVALID_VALUE); /* it is smaller */
    desc.size = 65536;
    desc.type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_D3D12_HEAP;
    FAILS(cuImportExternalMemory(&memory, &desc), CUDA_ERROR_NOT_SUPPORTED);
    desc.type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD;
    FAILS(cuImportExternalMemory(NULL, &desc), CUDA_ERROR_INVALID_VALUE);
    OK(cuImportExternalMemory(&memory, &desc));
    part.offset = 61440;
    FAILS(cuExternalMemoryGetMappedBuffer(&p, memory, &part), CUDA_ERROR_INVALID_VALUE);
    part.offset = 4096;
    OK(cuExternalMemoryGetMappedBuffer(&p, memory, &part));
    pair_add(p, 3);
    CHECK_EQ_INT(host[1024], 23);
    FAILS(cuMemsetD8_v2(p, 0, 8193), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemFree_v2(p));
    OK(cuDestroyExternalMemory(memory));
    FAILS(cuDestroyExternalMemory(memory), CUDA_ERROR_INVALID_HANDLE);
    FAILS(cuExternalMemoryGetMappedBuffer(&p, memory, &part), CUDA_ERROR_INVALID_HANDLE);
    CHECK_EQ_INT(host[1024], 23);
}

static CUresult import(CUexternalMemory *out, int file, uint64_t size)
{
    const CUDA_EXTERNAL_MEMORY_HANDLE_DESC desc = {
        .type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD, .handle.fd = file, .size = size};

    return cuImportExternalMemory(out, &desc);
}

/* Mesa's software driver puts a header in front: the file's size, and where the memory begins. A
 * header that lies is refused. */
static void check_mesa(void)
{
    const CUDA_EXTERNAL_MEMORY_BUFFER_DESC part = {.offset = 1024, .size = 3072};
    int file = memfd_create("llvmpipe memory fd", 0);
    uint64_t header[2] = {8192 + 40, 4096};
    CUexternalMemory memory;
    CUdeviceptr p;
    unsigned *host;

    CHECK_EQ_INT(ftruncate(file, 8192 + 40), 0);
    host = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    CHECK(host != MAP_FAILED);
    FAILS(import(&memory, file, 4096), CUDA_ERROR_INVALID_VALUE); /* none yet */
    memcpy(host, header, sizeof(header));
    FAILS(import(&memory, file, 4096 + 41), CUDA_ERROR_INVALID_VALUE);
    ((uint64_t *)host)[1] = 8192 + 41;
    FAILS(import(&memory, file, 1), CUDA_ERROR_INVALID_VALUE);
    ((uint64_t *)host)[1] = 4096;
    host[1280] = 100;
    OK(import(&memory, file, 4096));
    OK(cuExternalMemoryGetMappedBuffer(&p, memory, &part));
    pair_add(p, 11);
    CHECK_EQ_INT(host[1280], 111);
    OK(cuDestroyExternalMemory(memory));
    pair_add(p, 1); /* it stays mapped */
    CHECK_EQ_INT(host[1280], 112);
    OK(cuMemFree_v2(p));
}

/* Physical memory of this process, as external memory. */
static void check_own(void)
{
    const CUDA_EXTERNAL_MEMORY_BUFFER_DESC all = {.size = 2 << 20};
    CUmemGenericAllocationHandle handle;
    CUexternalMemory memory;
    CUdeviceptr p, q;
    int file;

    OK(cuMemCreate(&handle, 2 << 20, &exportable, 0));
    p = map(handle);
    OK(cuMemExportToShareableHandle(&file, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    OK(import(&memory, file, 2 << 20));
    OK(cuExternalMemoryGetMappedBuffer(&q, memory, &all));
    OK(cuMemsetD32_v2(p, 5, 16));
    pair_add(q, 4);
    CHECK_EQ_INT(pair_read(p), 9);
    OK(cuMemFree_v2(q));
    OK(cuDestroyExternalMemory(memory));
    OK(cuMemUnmap(p, 2 << 20));
    OK(cuMemAddressFree(p, 2 << 20));
    OK(cuMemRelease(handle));
}

static void parent(int peer)
{
    CUcontext context = test_context();

    offer_physical(peer);
    offer_pool(peer);
    OK(cuCtxDestroy_v2(context));
}

static void child(int peer)
{
    CUcontext context = test_context();

    take_physical(peer);
    take_pool(peer);
    check_external();
    check_mesa();
    check_own();
    OK(cuCtxDestroy_v2(context));
}

int main(void)
{
    return pair_run(parent, child);
}
