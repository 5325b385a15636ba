/* SPDX-License-Identifier: Apache-2.0
 *
 * Waits for and writes of values in memory. The GPU carries them out in replay as it did: a wait is
 * over when the value is there, whoever writes it. What the program writes is recorded
 * (capture/call/value.c). What order they make is not in the streams, so their records say that
 * their place among all commands matters.
 */
#include "api/cuda/source/source.h"

#include "api/cuda/cuda_hooks.h"
#include "api/cuda/source/encode.h"
#include "capture/lock.h"

#include <stdatomic.h>

static atomic_bool are_awaited;

bool cuda_values_are_awaited(void)
{
    return atomic_load_explicit(&are_awaited, memory_order_relaxed);
}

void cuda_values_forked(void)
{
    atomic_store(&are_awaited, false);
}

static void note(struct tsm_call *call, const struct tsm_value *value, bool is_wait)
{
    if (is_wait)
        atomic_store(&are_awaited, true);
    if (call->flags & SBT_RECORD_CAPTURED)
        return; /* launches of the graph are ordered */
    tsm_call_flag(call, SBT_RECORD_ORDERED);
    if (is_wait)
        tsm_value_awaited(call, value);
    else
        tsm_value_written(call, value);
}

void cuda_after_value_wait(struct tsm_call *call, bool ok, CUdeviceptr address, uint64_t value,
                           unsigned int size, unsigned int flags)
{
    if (ok)
        note(call, &(struct tsm_value){address, value, size, (enum tsm_value_test)(flags & 3)},
             true);
}

void cuda_after_value_write(struct tsm_call *call, bool ok, CUdeviceptr address, uint64_t value,
                            unsigned int size)
{
    if (ok)
        note(call, &(struct tsm_value){.address = address, .value = value, .size = size}, false);
}

void cuda_before_value_write(struct tsm_call *call, CUdeviceptr address, uint64_t value,
                             unsigned int size)
{
    cuda_before_device_bytes(call, address, size);
}

void cuda_before_values(struct tsm_call *call, const CUstreamBatchMemOpParams *params,
                        unsigned int count)
{
    CUstreamBatchMemOpParams p;

    for (unsigned i = 0; i < count && tsm_memory_read(&p, CUDA_SLOT(&params[i]), sizeof(p)); i++) {
        const int operation = (int)p.operation;
        if (operation == CU_STREAM_MEM_OP_WRITE_VALUE_32)
            cuda_before_device_bytes(call, p.writeValue.address, 4);
        else if (operation == CU_STREAM_MEM_OP_WRITE_VALUE_64)
            cuda_before_device_bytes(call, p.writeValue.address, 8);
    }
}

void cuda_after_values(struct tsm_call *call, bool ok, const CUstreamBatchMemOpParams *params,
                       unsigned int count)
{
    for (unsigned i = 0; ok && i < count; i++) {
        const CUstreamBatchMemOpParams *p = &params[i];
        switch ((int)p->operation) {
        case CU_STREAM_MEM_OP_WAIT_VALUE_32:
            cuda_after_value_wait(call, true, p->waitValue.address, p->waitValue.value, 4,
                                  p->waitValue.flags);
            break;
        case CU_STREAM_MEM_OP_WAIT_VALUE_64:
            cuda_after_value_wait(call, true, p->waitValue.address, p->waitValue.value64, 8,
                                  p->waitValue.flags);
            break;
        case CU_STREAM_MEM_OP_WRITE_VALUE_32:
            cuda_after_value_write(call, true, p->writeValue.address, p->writeValue.value, 4);
            break;
        case CU_STREAM_MEM_OP_WRITE_VALUE_64:
            cuda_after_value_write(call, true, p->writeValue.address, p->writeValue.value64, 8);
            break;
        }
    }
}
