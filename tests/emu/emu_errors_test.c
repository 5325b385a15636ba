/* SPDX-License-Identifier: Apache-2.0
 *
 * Every call in every state of the driver: not initialised, in a child of fork(), without a
 * context, with a good one, with one that has failed, and at the end of the process. The arguments
 * are all zero, which is what a careless program passes, and enough to see what a call looks at
 * first.
 */
#include <sys/wait.h>
#include <unistd.h>

#include "tests/emu/emu_kernels.h"
#include "tests/emu/emu_test.h"

/* Integers and pointers travel in registers and on the stack alike: more than any call takes. */
typedef CUresult any(long, long, long, long, long, long, long, long, long, long, long, long, long,
                     long, long, long);
#define ZEROS 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0

static const struct {
    const char *name;
    any *function;
} calls[] = {
#define TSM_CUDA_CALL(id, name, parameters, arguments) {#name, (any *)(void *)name},
#include "api/cuda/cuda_calls.inc"
#undef TSM_CUDA_CALL
};
#define COUNT (sizeof(calls) / sizeof(*calls))

static bool is_in(const char *name, const char *const *list)
{
    while (*list && strcmp(*list, name) != 0)
        list++;
    return *list != NULL;
}

/* Calls that answer without cuInit(). */
static const char *const early[] = {
    "cuInit",
    "cuDriverGetVersion",
    "cuGetErrorName",
    "cuGetErrorString",
    "cuGetProcAddress",
    "cuGetProcAddress_v2",
    "cuGetExportTable",
    "cuLogsRegisterCallback",
    "cuLogsUnregisterCallback",
    "cuLogsCurrent",
    "cuLogsDumpToFile",
    "cuLogsDumpToMemory",
    NULL,
};

/* Calls that succeed with zeros and need no context, or one in any state. */
static const char *const free_of_contexts[] = {
    "cuInit",
    "cuDevicePrimaryCtxSetFlags",
    "cuDevicePrimaryCtxSetFlags_v2",
    "cuDevicePrimaryCtxGetState",
    "cuDevicePrimaryCtxReset",
    "cuDevicePrimaryCtxReset_v2",
    "cuCtxPopCurrent",
    "cuCtxPopCurrent_v2",
    "cuCtxSetCurrent",
    "cuDeviceGraphMemTrim",
    NULL,
};

static void expect(size_t i, CUresult result, CUresult wanted, const char *state)
{
    if (!CHECK(result == wanted))
        fprintf(stderr, "%s %s: %d, not %d\n", calls[i].name, state, (int)result, (int)wanted);
}

static void check_uninitialised(CUresult wanted, const char *state)
{
    for (size_t i = 0; i < COUNT; i++)
        if (!is_in(calls[i].name, early))
            expect(i, calls[i].function(ZEROS), wanted, state);
}

static void check_without_context(void)
{
    for (size_t i = 0; i < COUNT; i++) {
        OK(cuCtxSetCurrent(NULL));
        CUresult result = calls[i].function(ZEROS);
        if (!result && !is_in(calls[i].name, free_of_contexts))
            expect(i, result, CUDA_ERROR_INVALID_CONTEXT, "without a context");
    }
}

static CUcontext failed_context(void)
{
    CUcontext context;
    CUfunction store;
    CUmodule module;
    CUdeviceptr wild = 16;
    unsigned value = 0;
    void *params[] = {&wild, &value};

    OK(cuCtxCreate_v2(&context, 0, 0));
    OK(cuModuleLoadData(&module, PTX_HEAD PTX_STORE));
    OK(cuModuleGetFunction(&store, module, "store"));
    OK(cuLaunchKernel(store, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
    FAILS(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
    return context;
}

/* Calls that work in a good context report the failure in a failed one. */
static void check_failed(void)
{
    CUcontext failed = failed_context(), good;
    CUdeviceptr p;

    for (size_t i = 0; i < COUNT; i++) {
        OK(cuCtxCreate_v2(&good, 0, 0));
        CUresult result = calls[i].function(ZEROS);
        OK(cuCtxDestroy_v2(good));
        OK(cuCtxSetCurrent(failed));
        CUresult failed_result = calls[i].function(ZEROS);
        if (!result && !is_in(calls[i].name, free_of_contexts))
            expect(i, failed_result, CUDA_ERROR_ILLEGAL_ADDRESS, "in a failed context");
    }
    /* Others are not touched by it, and it can be destroyed. */
    OK(cuCtxCreate_v2(&good, 0, 0));
    OK(cuMemAlloc_v2(&p, 64));
    OK(cuMemsetD8_v2(p, 1, 64));
    OK(cuCtxSynchronize());
    OK(cuCtxSetCurrent(failed));
    FAILS(cuMemAlloc_v2(&p, 64), CUDA_ERROR_ILLEGAL_ADDRESS);
    OK(cuCtxDestroy_v2(failed));
    OK(cuCtxSetCurrent(good));
    OK(cuCtxSynchronize());
    OK(cuCtxDestroy_v2(good));
}

/* ---- handles of what is gone ---- */

struct gone {
    CUstream stream;
    CUevent event;
    CUmodule module;
    CUfunction function;
    CUgraph graph;
    CUgraphExec exec;
    CUgraphNode node;
    CUmemoryPool pool;
    CUarray array;
    CUlibrary library;
    CUlinkState link;
};

static struct gone destroy_all(void)
{
    static const CUDA_ARRAY_DESCRIPTOR box = {4, 4, CU_AD_FORMAT_UNSIGNED_INT8, 1};
    CUmemPoolProps props = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                            .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
    struct gone g;

    OK(cuStreamCreate(&g.stream, 0));
    OK(cuEventCreate(&g.event, 0));
    OK(cuModuleLoadData(&g.module, PTX_HEAD PTX_STORE));
    OK(cuModuleGetFunction(&g.function, g.module, "store"));
    OK(cuGraphCreate(&g.graph, 0));
    OK(cuGraphAddEmptyNode(&g.node, g.graph, NULL, 0));
    OK(cuGraphInstantiateWithFlags(&g.exec, g.graph, 0));
    OK(cuMemPoolCreate(&g.pool, &props));
    OK(cuArrayCreate_v2(&g.array, &box));
    OK(cuLibraryLoadData(&g.library, PTX_HEAD PTX_STORE, NULL, NULL, 0, NULL, NULL, 0));
    OK(cuLinkCreate_v2(0, NULL, NULL, &g.link));
    OK(cuLinkDestroy(g.link));
    OK(cuLibraryUnload(g.library));
    OK(cuArrayDestroy(g.array));
    OK(cuMemPoolDestroy(g.pool));
    OK(cuGraphExecDestroy(g.exec));
    OK(cuGraphDestroy(g.graph));
    OK(cuModuleUnload(g.module));
    OK(cuEventDestroy_v2(g.event));
    OK(cuStreamDestroy_v2(g.stream));
    return g;
}

static void check_gone(void)
{
    CUcontext context = test_context();
    struct gone g = destroy_all();
    unsigned char dst[16];
    CUfunction function;
    CUkernel kernel;
    CUdeviceptr p;
    size_t size;
    int value;

    FAILS(cuStreamSynchronize(g.stream), CUDA_ERROR_INVALID_HANDLE);
    FAILS(cuStreamDestroy_v2(g.stream), CUDA_ERROR_INVALID_HANDLE);
    FAILS(cuStreamQuery(g.stream), CUDA_ERROR_INVALID_HANDLE);
    FAILS(cuMemcpyHtoDAsync_v2(0, dst, 0, g.stream), CUDA_ERROR_INVALID_HANDLE);
    FAILS(cuEventRecord(g.event, NULL), CUDA_ERROR_INVALID_HANDLE);
    FAILS(cuEventQuery(g.event), CUDA_ERROR_INVALID_HANDLE);
    FAILS(cuEventSynchronize(g.event), CUDA_ERROR_INVALID_HANDLE);
    FAILS(cuEventDestroy_v2(g.event), CUDA_ERROR_INVALID_HANDLE);
    FAILS(cuStreamWaitEvent(NULL, g.event, 0), CUDA_ERROR_INVALID_HANDLE);
    FAILS(cuModuleGetFunction(&function, g.module, "store"), CUDA_ERROR_INVALID_HANDLE);
    FAILS(cuModuleGetGlobal_v2(&p, &size, g.module, "x"), CUDA_ERROR_INVALID_HANDLE);
    FAILS(cuModuleUnload(g.module), CUDA_ERROR_INVALID_HANDLE);
    FAILS(cuLaunchKernel(g.function, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL),
          CUDA_ERROR_INVALID_HANDLE);
    FAILS(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_NUM_REGS, g.function),
          CUDA_ERROR_INVALID_HANDLE);
    FAILS(cuGraphLaunch(g.exec, NULL), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuGraphExecDestroy(g.exec), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuGraphDestroy(g.graph), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuGraphDestroyNode(g.node), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuMemAllocFromPoolAsync(&p, 64, g.pool, NULL), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuMemPoolDestroy(g.pool), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuMemcpyHtoA_v2(g.array, 0, dst, 4), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuArrayDestroy(g.array), CUDA_ERROR_INVALID_HANDLE);
    FAILS(cuLibraryGetKernel(&kernel, g.library, "store"), CUDA_ERROR_INVALID_HANDLE);
    FAILS(cuLibraryUnload(g.library), CUDA_ERROR_INVALID_HANDLE);
    FAILS(cuLinkDestroy(g.link), CUDA_ERROR_INVALID_HANDLE);
    OK(cuCtxDestroy_v2(context));
    FAILS(cuCtxDestroy_v2(context), CUDA_ERROR_INVALID_CONTEXT);
    FAILS(cuCtxSetCurrent(context), CUDA_ERROR_INVALID_CONTEXT);
    FAILS(cuCtxPushCurrent_v2(context), CUDA_ERROR_INVALID_CONTEXT);
}

/* ---- other threads' stacks, and contexts that others destroy ---- */

static void check_stacks(void)
{
    CUcontext a, b, seen;
    CUdevice device;

    OK(cuCtxCreate_v2(&a, 0, 0));
    OK(cuCtxCreate_v2(&b, 0, 0));
    OK(cuCtxDestroy_v2(a)); /* not on top: it stays where it is, and is found dead */
    OK(cuCtxPopCurrent_v2(&seen));
    CHECK(seen == b);
    OK(cuCtxGetCurrent(&seen));
    CHECK(seen == a);
    FAILS(cuCtxGetDevice(&device), CUDA_ERROR_CONTEXT_IS_DESTROYED);
    FAILS(cuCtxSynchronize(), CUDA_ERROR_CONTEXT_IS_DESTROYED);
    OK(cuCtxPopCurrent_v2(&seen));
    FAILS(cuCtxPopCurrent_v2(&seen), CUDA_ERROR_INVALID_CONTEXT);
    OK(cuCtxSetCurrent(b));
    OK(cuCtxDestroy_v2(b));
    OK(cuCtxGetCurrent(&seen));
    CHECK(!seen);
}

/* ---- one context's objects in another one ---- */

static void check_wrong_context(void)
{
    CUcontext a = test_context(), b;
    CUdeviceptr p;
    unsigned value = 1;
    void *params[] = {&p, &value};
    CUstream in_a, in_b;
    CUfunction store;
    CUmodule module;
    CUevent event;

    OK(cuStreamCreate(&in_a, 0));
    OK(cuMemAlloc_v2(&p, 64));
    OK(cuEventCreate(&event, 0));
    OK(cuModuleLoadData(&module, PTX_HEAD PTX_STORE));
    OK(cuModuleGetFunction(&store, module, "store"));
    OK(cuCtxCreate_v2(&b, 0, 0));
    OK(cuStreamCreate(&in_b, 0));
    FAILS(cuLaunchKernel(store, 1, 1, 1, 1, 1, 1, 0, in_b, params, NULL),
          CUDA_ERROR_INVALID_HANDLE);
    FAILS(cuEventRecord(event, in_b), CUDA_ERROR_INVALID_HANDLE);
    /* A stream brings its context along; events order streams of all. */
    OK(cuLaunchKernel(store, 1, 1, 1, 1, 1, 1, 0, in_a, params, NULL));
    OK(cuEventRecord(event, in_a));
    OK(cuStreamWaitEvent(in_b, event, 0));
    OK(cuStreamSynchronize(in_b));
    OK(cuCtxDestroy_v2(b));
    OK(cuCtxDestroy_v2(a));
}

static void check_child(void)
{
    int status = -1;
    pid_t pid = fork();

    if (pid == 0) {
        check_failures = 0;
        check_uninitialised(CUDA_ERROR_NOT_INITIALIZED, "in a child of fork()");
        FAILS(cuInit(0), CUDA_ERROR_NOT_INITIALIZED);
        _exit(check_result());
    }
    waitpid(pid, &status, 0);
    CHECK_EQ_INT(status, 0);
}

/* Registered before cuInit(), so it runs after the driver's own end. */
static void at_end(void)
{
    check_uninitialised(CUDA_ERROR_DEINITIALIZED, "at the end of the process");
    if (check_failures)
        _exit(check_result());
}

int main(void)
{
    CHECK_EQ_INT(atexit(at_end), 0);
    check_uninitialised(CUDA_ERROR_NOT_INITIALIZED, "before cuInit()");
    OK(cuInit(0));
    check_without_context();
    OK(cuCtxSetCurrent(NULL));
    check_stacks();
    check_failed();
    check_gone();
    check_wrong_context();
    check_child();
    return check_result();
}
