/* SPDX-License-Identifier: Apache-2.0
 *
 * Answers questions about a pointer.
 */
#include "emu/cuda/core/emu.h"

#include <string.h>

#include "emu/cuda/core/context.h"
#include "emu/cuda/core/object.h"
#include "emu/cuda/memory/memory.h"
#include "emu/cuda/memory/share.h"

static bool is_host(const struct emu_memory *m)
{
    return m->kind == EMU_MEMORY_HOST || m->kind == EMU_MEMORY_REGISTERED;
}

/* The values have the sizes that the interface gives each attribute. */
static void put_u32(void *out, unsigned value)
{
    memcpy(out, &value, sizeof(value));
}

static void put_u64(void *out, uint64_t value)
{
    memcpy(out, &value, sizeof(value));
}

static void put_bool(void *out, bool value)
{
    *(unsigned char *)out = value;
}

static CUresult get_known(void *out, CUpointer_attribute attribute, const struct emu_memory *m,
                          uint64_t address)
{
    switch ((int)attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
        put_u64(out, (uintptr_t)m->context);
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
        put_u32(out, is_host(m) ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE);
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
        put_u64(out, address);
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
        if (!is_host(m) && !emu_memory_is_managed(m, address))
            return CUDA_ERROR_INVALID_VALUE;
        put_u64(out, address);
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
        put_bool(out, m->is_sync);
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
    case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
        put_u64(out, m->id);
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
        put_bool(out, emu_memory_is_managed(m, address));
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
        put_u32(out, (unsigned)m->device);
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
        put_bool(out, m->kind == EMU_MEMORY_DEVICE);
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
        put_bool(out, false);
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE:
        put_bool(out, m->kind == EMU_MEMORY_DEVICE || m->kind == EMU_MEMORY_POOL ||
                          m->kind == EMU_MEMORY_MAPPED);
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
    case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
        put_u64(out, m->address);
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
    case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
        put_u64(out, m->size);
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_MAPPED:
        put_bool(out, true);
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
        put_u64(out, CU_MEM_HANDLE_TYPE_NONE);
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
        put_u32(out, m->is_writable ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE
                                    : CU_MEM_ACCESS_FLAGS_PROT_READ);
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
        put_u64(out, (uintptr_t)(m->kind == EMU_MEMORY_POOL ? m->owner : emu_share_pool(m)));
        return CUDA_SUCCESS;
    }
    return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult cuPointerGetAttribute(void *data, CUpointer_attribute attribute, CUdeviceptr ptr)
{
    CUresult result = emu_ready();
    struct emu_memory memory;

    if (result)
        return result;
    if (!data || !emu_memory_find(&memory, ptr))
        return CUDA_ERROR_INVALID_VALUE;
    return get_known(data, attribute, &memory, ptr);
}

/* A pointer that the driver does not know is no error here: each answer says so in its way. */
static void get_unknown(void *out, CUpointer_attribute attribute, uint64_t address)
{
    switch ((int)attribute) {
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
        put_u64(out, address);
        break;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
        put_u32(out, (unsigned)-2);
        break;
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
        put_u32(out, 0);
        break;
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
    case CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE:
    case CU_POINTER_ATTRIBUTE_MAPPED:
        put_bool(out, false);
        break;
    default:
        put_u64(out, 0);
    }
}

CUresult cuPointerGetAttributes(unsigned int numAttributes, CUpointer_attribute *attributes,
                                void **data, CUdeviceptr ptr)
{
    CUresult result = emu_ready();
    struct emu_memory memory;
    bool is_known;

    if (result)
        return result;
    if (!numAttributes || !attributes || !data)
        return CUDA_ERROR_INVALID_VALUE;
    is_known = emu_memory_find(&memory, ptr);
    for (unsigned i = 0; i < numAttributes; i++) {
        if (attributes[i] == CU_POINTER_ATTRIBUTE_P2P_TOKENS)
            return CUDA_ERROR_NOT_SUPPORTED;
        if (!is_known || get_known(data[i], attributes[i], &memory, ptr))
            get_unknown(data[i], attributes[i], is_known ? 0 : ptr);
    }
    return CUDA_SUCCESS;
}

static void set_sync(struct emu_memory *memory, void *user)
{
    memory->is_sync = *(const unsigned *)user != 0;
}

CUresult cuPointerSetAttribute(const void *value, CUpointer_attribute attribute, CUdeviceptr ptr)
{
    CUresult result = emu_ready();
    unsigned wanted;

    if (result)
        return result;
    if (!value || attribute != CU_POINTER_ATTRIBUTE_SYNC_MEMOPS)
        return CUDA_ERROR_INVALID_VALUE;
    memcpy(&wanted, value, sizeof(wanted));
    return emu_memory_change(ptr, set_sync, &wanted) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
