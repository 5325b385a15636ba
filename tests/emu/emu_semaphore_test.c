/* SPDX-License-Identifier: Apache-2.0
 *
 * External semaphores: two processes whose streams wait for each other's work in shared memory, with a
 * timeline and with binary ones, in streams and in graphs.
 */
#include "tests/emu/emu_pair.h"

#include <sys/mman.h>

enum { ROUNDS = 3 };

static int files[3]; /* timeline, binary, memory */

static CUexternalSemaphore import(int file, CUexternalSemaphoreHandleType type)
{
    const CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC desc = {.type = type, .handle.fd = dup(file)};
    CUexternalSemaphore semaphore;

    OK(cuImportExternalSemaphore(&semaphore, &desc));
    return semaphore;
}

static CUdeviceptr open_memory(void)
{
    const CUDA_EXTERNAL_MEMORY_HANDLE_DESC desc = {.type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD,
                                                   .handle.fd = dup(files[2]),
                                                   .size = 4096};
    const CUDA_EXTERNAL_MEMORY_BUFFER_DESC whole = {.size = 4096};
    CUexternalMemory memory;
    CUdeviceptr address;

    OK(cuImportExternalMemory(&memory, &desc));
    OK(cuExternalMemoryGetMappedBuffer(&address, memory, &whole));
    return address;
}

static void signal_at(CUexternalSemaphore s, uint64_t value, CUstream stream)
{
    const CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS p = {.params.fence.value = value};

    OK(cuSignalExternalSemaphoresAsync(&s, &p, 1, stream));
}

static void wait_at(CUexternalSemaphore s, uint64_t value, CUstream stream)
{
    const CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS p = {.params.fence.value = value};

    OK(cuWaitExternalSemaphoresAsync(&s, &p, 1, stream));
}

/* Adds up what the other has written; the two take turns by the timeline. */
static void take_turns(bool first)
{
    CUcontext context = test_context();
    CUexternalSemaphore line =
        import(files[0], CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_FD);
    CUexternalSemaphore once = import(files[1], CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD);
    CUdeviceptr memory = open_memory();
    unsigned seen = 0;
    CUstream stream;

    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    for (unsigned round = 0; round < ROUNDS; round++) {
        uint64_t turn = round * 2 + !first;
        wait_at(line, turn, stream);
        OK(cuMemcpyDtoHAsync_v2(&seen, memory, 4, stream));
        OK(cuMemsetD32Async(memory, (unsigned)turn + 1, 1, stream));
        signal_at(line, turn + 1, stream);
        OK(cuStreamSynchronize(stream));
        CHECK_EQ_INT(seen, turn);
    }
    if (first)
        signal_at(once, 0, stream);
    else
        wait_at(once, 0, stream);
    OK(cuStreamSynchronize(stream));
    CHECK_EQ_INT(cuStreamQuery(stream), CUDA_SUCCESS);
    OK(cuDestroyExternalSemaphore(line));
    FAILS(cuDestroyExternalSemaphore(line), CUDA_ERROR_INVALID_HANDLE);
    OK(cuDestroyExternalSemaphore(once));
    OK(cuCtxDestroy_v2(context));
}

/* A graph waits for one value and signals the next; params are kept and can be changed. */
static void in_graphs(void)
{
    CUcontext context = test_context();
    const uint64_t zero = 0;
    int file = memfd_create("line", MFD_CLOEXEC);
    CHECK(write(file, &zero, 8) == 8);
    CUexternalSemaphore line =
        import(file, CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_FD);
    CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS wait = {.params.fence.value = 5};
    CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS signal = {.params.fence.value = 6};
    const CUDA_EXT_SEM_WAIT_NODE_PARAMS waits = {&line, &wait, 1};
    const CUDA_EXT_SEM_SIGNAL_NODE_PARAMS signals = {&line, &signal, 1};
    CUDA_EXT_SEM_SIGNAL_NODE_PARAMS told;
    CUgraphNode first, second;
    CUgraphExec exec;
    CUgraph graph, captured;
    CUstream stream;
    uint64_t value = 0;

    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cuGraphCreate(&graph, 0));
    OK(cuGraphAddExternalSemaphoresWaitNode(&first, graph, NULL, 0, &waits));
    OK(cuGraphAddExternalSemaphoresSignalNode(&second, graph, &first, 1, &signals));
    OK(cuGraphExternalSemaphoresSignalNodeGetParams(second, &told));
    CHECK(told.numExtSems == 1 && told.extSemArray[0] == line);
    CHECK_EQ_INT(told.paramsArray[0].params.fence.value, 6);
    OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    OK(cuGraphLaunch(exec, stream));
    usleep(20000);
    CHECK_EQ_INT(cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
    value = 5;
    CHECK(pwrite(file, &value, 8, 0) == 8); /* the program is one of those that signal */
    OK(cuStreamSynchronize(stream));
    CHECK(pread(file, &value, 8, 0) == 8);
    CHECK_EQ_INT(value, 6);
    signal.params.fence.value = 9;
    OK(cuGraphExecExternalSemaphoresSignalNodeSetParams(exec, second, &signals));
    OK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    signal_at(line, 20, stream);
    OK(cuStreamEndCapture(stream, &captured));
    OK(cuDestroyExternalSemaphore(line)); /* graphs keep it */
    OK(cuGraphLaunch(exec, stream));
    OK(cuStreamSynchronize(stream));
    CHECK(pread(file, &value, 8, 0) == 8);
    CHECK_EQ_INT(value, 9);
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphInstantiateWithFlags(&exec, captured, 0));
    OK(cuGraphLaunch(exec, stream));
    OK(cuStreamSynchronize(stream));
    CHECK(pread(file, &value, 8, 0) == 8);
    CHECK_EQ_INT(value, 20);
    FAILS(cuGraphAddExternalSemaphoresWaitNode(&first, graph, NULL, 0, &waits),
          CUDA_ERROR_INVALID_HANDLE);
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphDestroy(captured));
    OK(cuGraphDestroy(graph));
    OK(cuCtxDestroy_v2(context));
}

int main(void)
{
    static const char zeros[4096];
    pid_t child;
    int status = 1;

    for (int i = 0; i < 3; i++) {
        files[i] = memfd_create("shared", MFD_CLOEXEC);
        CHECK(write(files[i], zeros, sizeof(zeros)) == sizeof(zeros));
    }
    child = fork();
    if (!child) {
        alarm(60);
        take_turns(false);
        exit(check_result());
    }
    alarm(60);
    take_turns(true);
    CHECK(waitpid(child, &status, 0) == child);
    CHECK_EQ_INT(status, 0);
    in_graphs();
    return check_result();
}
