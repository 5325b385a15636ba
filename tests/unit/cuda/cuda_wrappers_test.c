/* SPDX-License-Identifier: Apache-2.0
 *
 * Tests what generated wrappers do around the driver's functions: order, roles, nothing read that
 * the driver refused. Capture, helpers and driver are those of cuda_wrappers_fake.c.
 */
#include "api/cuda/cuda_calls.h"
#include "api/cuda/cuda_wrappers.h"
#include "tests/unit/check.h"
#include "tests/unit/cuda/cuda_wrappers_fake.h"

static CUresult answer; /* of each function of the fake driver */

static CUresult memset_async(CUdeviceptr dst, unsigned int value, size_t count, CUstream stream)
{
    fake_note("real:memset");
    return answer;
}

static CUresult copy_to_device(CUdeviceptr dst, const void *src, size_t size)
{
    fake_note("real:copy");
    return answer;
}

static CUresult copy_to_host(void *dst, CUdeviceptr src, size_t size)
{
    fake_note("real:copy");
    return answer;
}

static CUresult copy_with_attributes(CUdeviceptr dst, CUdeviceptr src, size_t size,
                                     CUmemcpyAttributes *attributes, CUstream stream)
{
    fake_note("real:copy");
    return answer;
}

static CUresult event_create(CUevent *event, unsigned int flags)
{
    *event = (CUevent)(size_t)5;
    return answer;
}

static CUresult event_destroy(CUevent event)
{
    fake_note("real:destroy");
    return answer;
}

static CUresult event_record(CUevent event, CUstream stream)
{
    fake_note("real:record");
    return answer;
}

/* Another thread records it while the call waits. */
static CUresult event_synchronize(CUevent event)
{
    fake_handle.position = 9;
    return answer;
}

static CUresult stream_wait(CUstream stream, CUevent event, unsigned int flags)
{
    return answer;
}

static CUresult map_flags(CUgraphicsResource resource, unsigned int flags)
{
    return answer;
}

static CUresult range_handle(void *handle, CUdeviceptr start, size_t size,
                             CUmemRangeHandleType type, unsigned long long flags)
{
    return answer;
}

static CUresult lock_process(int pid, CUcheckpointLockArgs *args)
{
    return answer;
}

static CUresult host_alloc(void **p, size_t size, unsigned int flags)
{
    static char memory[16];

    *p = memory;
    return answer;
}

static CUresult get_function(CUfunction *function, CUmodule module, const char *name)
{
    *function = (CUfunction)(size_t)9;
    return answer;
}

static void begin(CUresult driver_answers)
{
    fake_reset();
    answer = driver_answers;
}

static void test_command(void)
{
    begin(CUDA_SUCCESS);
    real.cuMemsetD32Async = memset_async;
    CHECK_EQ_INT(cuMemsetD32Async(0x1000, 3, 10, (CUstream)(size_t)4), CUDA_SUCCESS);
    CHECK_EQ_STR(fake_log, "publish enqueues:4 real:memset returned commit ");
    CHECK_EQ_INT(fake_type, SBT_TYPE(SBT_API_CUDA, 230));
    CHECK_EQ_INT(fake_record.slot_count, 4);
    CHECK_EQ_INT(fake_record.slots[0], 0x1000);
    CHECK_EQ_INT(fake_record.slots[3], 40); /* bytes */
}

/* The device's future writes are known before they can happen: the driver may run the command at
 * once. */
static void test_foretold(void)
{
    begin(CUDA_SUCCESS);
    real.cuMemsetD32Async = memset_async;
    real.cuMemcpyDtoH_v2 = copy_to_host;
    fake_is_shared = true;
    cuMemsetD32Async(0x1000, 3, 10, (CUstream)(size_t)4);
    CHECK_EQ_STR(fake_log, "publish enqueues:4 writes:40 foretold real:memset returned commit ");
    begin(CUDA_ERROR_INVALID_VALUE);
    cuMemsetD32Async(0x1000, 3, 10, (CUstream)(size_t)4);
    CHECK(strstr(fake_log, "writes:40 foretold real:memset failed commit ") != NULL);
    begin(CUDA_SUCCESS);
    cuMemcpyDtoH_v2(fake_log, 0x1000, 8);
    CHECK(strstr(fake_log, "writes:8 foretold real:copy ") != NULL);
    fake_is_shared = false;
}

static void test_not_recording(void)
{
    begin(CUDA_ERROR_UNKNOWN);
    fake_recording = false;
    CHECK_EQ_INT(cuMemsetD32Async(0, 0, 0, NULL), CUDA_ERROR_UNKNOWN);
    CHECK_EQ_STR(fake_log, "real:memset ");
}

/* While something is captured, a call on such a stream takes no place there. */
static void test_captured(void)
{
    begin(CUDA_SUCCESS);
    real.cuMemsetD32Async = memset_async;
    cuda_captures_begun = 1;
    cuMemsetD32Async(0x1000, 3, 10, (CUstream)(size_t)6);
    CHECK(strstr(fake_log, "publish captured:6 real:memset returned commit ") == fake_log);
    begin(CUDA_SUCCESS);
    cuMemsetD32Async(0x1000, 3, 10, (CUstream)(size_t)5);
    CHECK(strstr(fake_log, "publish enqueues:5 ") == fake_log);
    cuda_captures_begun = 0;
    begin(CUDA_SUCCESS);
    cuMemsetD32Async(0x1000, 3, 10, (CUstream)(size_t)6);
    CHECK(strstr(fake_log, "publish enqueues:6 ") == fake_log);
}

static void test_payload(void)
{
    begin(CUDA_SUCCESS);
    real.cuMemcpyHtoD_v2 = copy_to_device;
    cuMemcpyHtoD_v2(0x1000, "abcd", 4);
    CHECK_EQ_STR(fake_log, "settles:1000 real:copy returned blob:4 commit "
                           "synchronised:1000 ");
}

/* The attributes are not recorded: a replay copies in the stream's order, which all of them allow.
 */
static void test_copy_with_attributes(void)
{
    CUmemcpyAttributes attributes = {.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_ANY};

    begin(CUDA_SUCCESS);
    real.cuMemcpyWithAttributesAsync = copy_with_attributes;
    CHECK_EQ_INT(cuMemcpyWithAttributesAsync(0x1000, 0x2000, 8, &attributes, (CUstream)(size_t)4),
                 CUDA_SUCCESS);
    CHECK(strstr(fake_log, "publish blocks:4 ") == fake_log);
    CHECK(strstr(fake_log, "real:copy returned ") != NULL);
    CHECK_EQ_INT(fake_type, SBT_TYPE(SBT_API_CUDA, 638));
    CHECK_EQ_INT(fake_record.flags, 0);
    CHECK_EQ_INT(fake_record.slots[0], 0x1000);
    CHECK_EQ_INT(fake_record.slots[1], 0x2000);
    CHECK_EQ_INT(fake_record.slots[2], 8);
}

static void test_refused_is_not_read(void)
{
    begin(CUDA_ERROR_INVALID_VALUE);
    CHECK_EQ_INT(cuMemcpyHtoD_v2(0x1000, (void *)1, 4), CUDA_ERROR_INVALID_VALUE);
    CHECK_EQ_STR(fake_log, "settles:1000 real:copy failed blob:0 commit ");
    CHECK_EQ_INT(fake_result, CUDA_ERROR_INVALID_VALUE);
}

static void test_readback(void)
{
    char bytes[8];

    begin(CUDA_SUCCESS);
    real.cuMemcpyDtoH_v2_ptds = copy_to_host;
    cuMemcpyDtoH_v2_ptds(bytes, 0x1000, sizeof(bytes));
    CHECK_EQ_STR(fake_log, "settles:2000 real:copy returned readback:8:complete commit "
                           "synchronised:2000 ");
}

static void test_create(void)
{
    CUevent event;

    begin(CUDA_SUCCESS);
    real.cuEventCreate = event_create;
    cuEventCreate(&event, 0);
    CHECK_EQ_STR(fake_log, "returned add:5 commit ");
    CHECK_EQ_INT(fake_record.slots[0], 1);
    begin(CUDA_ERROR_OUT_OF_MEMORY);
    cuEventCreate(&event, 0);
    CHECK_EQ_STR(fake_log, "failed commit ");
    CHECK_EQ_INT(fake_record.slots[0], 0);
}

/* An object whose destruction failed stays as it was. */
static void test_destroy_forgets_when_gone(void)
{
    begin(CUDA_SUCCESS);
    real.cuEventDestroy_v2 = event_destroy;
    cuEventDestroy_v2((CUevent)(size_t)5);
    CHECK_EQ_STR(fake_log, "leaves:5 real:destroy returned left:5 commit ");
    CHECK_EQ_INT(fake_record.slots[0], 105);
    begin(CUDA_ERROR_INVALID_CONTEXT);
    cuEventDestroy_v2((CUevent)(size_t)5);
    CHECK_EQ_STR(fake_log, "leaves:5 real:destroy failed stays:5 commit ");
    CHECK_EQ_INT(fake_record.slots[0], 105);
}

static void test_signal_and_wait(void)
{
    begin(CUDA_SUCCESS);
    fake_handle = (struct tsm_handle){.raw = 5, .id = 3};
    real.cuEventRecord = event_record;
    real.cuStreamWaitEvent = stream_wait;
    cuEventRecord((CUevent)(size_t)5, (CUstream)(size_t)4);
    CHECK_EQ_STR(fake_log, "publish enqueues:4 real:record returned commit ");
    CHECK_EQ_INT((size_t)fake_handle.stream, 4);
    CHECK_EQ_INT(fake_handle.position, 7);
    fake_log[0] = 0;
    cuStreamWaitEvent((CUstream)(size_t)6, (CUevent)(size_t)5, 0);
    CHECK_EQ_STR(fake_log, "publish enqueues:6 returned waits:3:7 commit ");
}

static void test_sync(void)
{
    begin(CUDA_SUCCESS);
    fake_handle = (struct tsm_handle){.raw = 5, .id = 3, .position = 4};
    real.cuEventSynchronize = event_synchronize;
    cuEventSynchronize((CUevent)(size_t)5);
    CHECK_EQ_STR(fake_log, "returned commit synchronised:event:3:4 ");
    begin(CUDA_ERROR_LAUNCH_FAILED);
    cuEventSynchronize((CUevent)(size_t)5);
    CHECK_EQ_STR(fake_log, "failed commit ");
}

static void test_unmodelled_taints(void)
{
    begin(CUDA_SUCCESS);
    real.cuGraphicsResourceSetMapFlags = map_flags;
    cuGraphicsResourceSetMapFlags((CUgraphicsResource)(size_t)11, 4);
    CHECK_EQ_INT(fake_record.flags, SBT_RECORD_TAINTS);
    CHECK_EQ_INT(fake_record.slots[0], 11);
    begin(CUDA_ERROR_INVALID_HANDLE);
    cuGraphicsResourceSetMapFlags((CUgraphicsResource)(size_t)11, 4);
    CHECK_EQ_INT(fake_record.flags, 0);
}

/* Calls that give memory to others, or stop the process for a while, change nothing on the device.
 */
static void test_no_taint(void)
{
    CUcheckpointLockArgs args = {.timeoutMs = 5};
    int fd;

    begin(CUDA_SUCCESS);
    real.cuMemGetHandleForAddressRange = range_handle;
    cuMemGetHandleForAddressRange(&fd, 0x1000, 4096, CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0);
    CHECK_EQ_STR(fake_log, "returned commit exported ");
    CHECK_EQ_INT(fake_record.flags, 0);
    CHECK_EQ_INT(fake_record.slots[1], 0x1000);
    begin(CUDA_ERROR_NOT_SUPPORTED);
    cuMemGetHandleForAddressRange(&fd, 0x1000, 4096, CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0);
    CHECK_EQ_STR(fake_log, "failed commit ");
    begin(CUDA_SUCCESS);
    real.cuCheckpointProcessLock = lock_process;
    cuCheckpointProcessLock(77, &args);
    CHECK_EQ_INT(fake_record.flags, 0);
    CHECK_EQ_INT(fake_record.slots[0], 77);
}

static void test_host_memory(void)
{
    void *p;

    begin(CUDA_SUCCESS);
    real.cuMemHostAlloc = host_alloc;
    cuMemHostAlloc(&p, 16, 0);
    CHECK_EQ_STR(fake_log, "returned track:16 commit ");
    CHECK_EQ_INT(fake_record.slots[0], (long long)(size_t)p);
}

static void test_shared_handle(void)
{
    CUfunction function;

    begin(CUDA_SUCCESS);
    real.cuModuleGetFunction = get_function;
    cuModuleGetFunction(&function, (CUmodule)(size_t)2, "saxpy");
    CHECK_EQ_INT(fake_record.slots[0], 1);
    cuModuleGetFunction(&function, (CUmodule)(size_t)2, "saxpy");
    CHECK_EQ_INT(fake_record.slots[0], 1);
    cuModuleGetFunction(&function, (CUmodule)(size_t)2, "dot"); /* the driver reused the value */
    CHECK_EQ_INT(fake_record.slots[0], 2);
}

static void test_no_driver(void)
{
    int version;

    begin(CUDA_SUCCESS);
    fake_recording = false;
    CHECK_EQ_INT(cuDriverGetVersion(&version), CUDA_ERROR_NOT_FOUND);
}

static void test_exports_are_sorted(void)
{
    CHECK_EQ_INT(cuda_exports.count, cuda_description.call_count);
    for (size_t i = 1; i < cuda_exports.count; i++)
        CHECK(strcmp(cuda_exports.rows[i - 1].name, cuda_exports.rows[i].name) < 0);
}

static CUresult refuse(void)
{
    return CUDA_ERROR_INVALID_VALUE;
}

/* With null pointers, and a driver that refuses: each wrapper gives as many slots as its schema has
 * fields, and reads nothing. Arguments are passed without regard to their types, which the x86-64
 * calling convention forgives. Those in which a helper takes part are left out. */
static void test_every_wrapper(void)
{
#ifdef __x86_64__
    typedef CUresult (*zeros)(size_t, size_t, size_t, size_t, size_t, size_t, size_t, size_t,
                              size_t, size_t, size_t, size_t, size_t, size_t, size_t, size_t);

    tsm_description_fill(&cuda_description);
    for (size_t i = 0; i < cuda_description.call_count; i++) {
        const struct tsm_call_description *call = &cuda_description.calls[i];
        const struct tsm_export *row = cuda_exports.rows;

        if (call->status == TSM_CALL_HOOKED)
            continue;
        while (strcmp(row->name, call->schema->name) != 0)
            row++;
        begin(CUDA_SUCCESS);
        *row->real = (void *)refuse;
        ((zeros)row->wrapper)(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
        if (!CHECK_EQ_INT(fake_record.slot_count, call->schema->field_count) ||
            !CHECK_EQ_INT(fake_type, call->schema->type))
            fprintf(stderr, "in %s\n", row->name);
    }
#endif
}

int main(void)
{
    test_no_driver();
    test_command();
    test_foretold();
    test_not_recording();
    test_payload();
    test_copy_with_attributes();
    test_refused_is_not_read();
    test_captured();
    test_readback();
    test_create();
    test_destroy_forgets_when_gone();
    test_signal_and_wait();
    test_sync();
    test_unmodelled_taints();
    test_no_taint();
    test_host_memory();
    test_shared_handle();
    test_exports_are_sorted();
    test_every_wrapper();
    return check_result();
}
