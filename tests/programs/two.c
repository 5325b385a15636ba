/* SPDX-License-Identifier: Apache-2.0
 *
 * two [plain|pool|physical]: two processes. The child opens memory of the parent, computes with
 * what it finds there, writes into it, and shows its result; the parent computes in its own memory
 * before and after, never with what the child wrote. They wait for each other's events.
 */
#include "tests/programs/program.h"

#include <sys/socket.h>
#include <sys/wait.h>

enum { COUNT = 2048, SIZE = COUNT * 4, PAGES = 2 << 20 };

struct offer {
    CUipcMemHandle memory;
    CUipcEventHandle event;
    CUmemPoolPtrExportData pointer;
};

static const char *kind = "plain";

static void must(int ok)
{
    if (!ok)
        exit(1);
}

static void send_file(int peer, int file)
{
    char c = 0, control[CMSG_SPACE(sizeof(int))] = {0};
    struct iovec io = {&c, 1};
    struct msghdr message = {
        .msg_iov = &io, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control)};
    struct cmsghdr *head = CMSG_FIRSTHDR(&message);

    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(head), &file, sizeof(file));
    must(sendmsg(peer, &message, MSG_NOSIGNAL) == 1);
}

static int receive_file(int peer)
{
    char c, control[CMSG_SPACE(sizeof(int))];
    struct iovec io = {&c, 1};
    struct msghdr message = {
        .msg_iov = &io, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control)};
    int file;

    must(recvmsg(peer, &message, 0) == 1);
    memcpy(&file, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(file));
    return file;
}

static void meet(int peer)
{
    char c = 0;

    must(write(peer, &c, 1) == 1 && read(peer, &c, 1) == 1);
}

static void mix(CUfunction function, CUdeviceptr memory, uint32_t rounds)
{
    uint32_t count = COUNT;
    void *arguments[] = {&count, &rounds, &memory};

    program_launch(function, COUNT, NULL, arguments);
}

static uint32_t digest_of(CUdeviceptr memory)
{
    static uint32_t out[COUNT];

    CU(cuMemcpyDtoH_v2(out, memory, SIZE));
    return program_digest(out, SIZE);
}

static CUmemAllocationProp shareable(void)
{
    return (CUmemAllocationProp){.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                 .requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                                 .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
}

static CUdeviceptr map(CUmemGenericAllocationHandle handle)
{
    CUmemAccessDesc access = {{CU_MEM_LOCATION_TYPE_DEVICE, 0}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    CUdeviceptr memory;

    CU(cuMemAddressReserve(&memory, PAGES, 0, 0, 0));
    CU(cuMemMap(memory, PAGES, 0, handle, 0));
    CU(cuMemSetAccess(memory, PAGES, &access, 1));
    return memory;
}

/* Memory that can be shared, and what is said of it. */
static CUdeviceptr offer_memory(int peer, struct offer *offer)
{
    CUmemPoolProps props = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                            .handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                            .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
    const CUmemAllocationProp physical = shareable();
    CUmemGenericAllocationHandle handle;
    CUmemoryPool pool;
    CUdeviceptr memory;
    int file;

    if (!strcmp(kind, "plain")) {
        CU(cuMemAlloc_v2(&memory, SIZE));
        CU(cuIpcGetMemHandle(&offer->memory, memory));
        return memory;
    }
    if (!strcmp(kind, "pool")) {
        CU(cuMemPoolCreate(&pool, &props));
        CU(cuMemPoolExportToShareableHandle(&file, pool, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                                            0));
        CU(cuMemAllocFromPoolAsync(&memory, SIZE, pool, NULL));
        CU(cuCtxSynchronize());
        CU(cuMemPoolExportPointer(&offer->pointer, memory));
    } else {
        CU(cuMemCreate(&handle, PAGES, &physical, 0));
        CU(cuMemExportToShareableHandle(&file, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                                        0));
        memory = map(handle);
    }
    send_file(peer, file);
    return memory;
}

static CUdeviceptr open_memory(int peer, const struct offer *offer)
{
    CUmemPoolPtrExportData pointer = offer->pointer;
    CUmemGenericAllocationHandle handle;
    CUmemoryPool pool;
    CUdeviceptr memory;
    void *file;

    if (!strcmp(kind, "plain")) {
        CU(cuIpcOpenMemHandle_v2(&memory, offer->memory, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
        return memory;
    }
    file = (void *)(intptr_t)receive_file(peer);
    if (!strcmp(kind, "pool")) {
        CU(cuMemPoolImportFromShareableHandle(&pool, file, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                                              0));
        CU(cuMemPoolImportPointer(&memory, pool, &pointer));
        return memory;
    }
    CU(cuMemImportFromShareableHandle(&handle, file, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
    return map(handle);
}

static void parent(int peer)
{
    CUcontext context;
    CUmodule module = program_begin(&context);
    CUfunction function = program_function(module, "mix");
    struct offer offer = {0};
    CUdeviceptr own, shared;
    CUevent event;

    CU(cuMemAlloc_v2(&own, SIZE));
    CU(cuEventCreate(&event, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING));
    CU(cuIpcGetEventHandle(&offer.event, event));
    shared = offer_memory(peer, &offer);
    CU(cuMemsetD32_v2(shared, 77, COUNT));
    CU(cuMemcpyDtoD_v2(own, shared, SIZE));
    mix(function, own, 3);
    CU(cuEventRecord(event, NULL));
    CU(cuCtxSynchronize());
    must(write(peer, &offer, sizeof(offer)) == sizeof(offer));
    printf("parent before: %08x\n", digest_of(own));
    meet(peer); /* the child has written */
    mix(function, own, 4);
    printf("parent after: %08x\n", digest_of(own));
    program_end(module, context);
}

static void child(int peer)
{
    CUcontext context;
    CUmodule module = program_begin(&context);
    CUfunction function = program_function(module, "mix");
    struct offer offer;
    CUdeviceptr shared;
    CUevent event;

    if (!strcmp(kind, "plain")) {
        must(read(peer, &offer, sizeof(offer)) == sizeof(offer));
        shared = open_memory(peer, &offer);
    } else { /* the file comes first */
        int files[2];
        must(socketpair(AF_UNIX, SOCK_STREAM, 0, files) == 0);
        send_file(files[0], receive_file(peer));
        must(read(peer, &offer, sizeof(offer)) == sizeof(offer));
        shared = open_memory(files[1], &offer);
    }
    CU(cuIpcOpenEventHandle(&event, offer.event));
    CU(cuStreamWaitEvent(NULL, event, 0));
    mix(function, shared, 5);
    printf("child: %08x\n", digest_of(shared));
    fflush(stdout);
    meet(peer);
    if (!strcmp(kind, "plain"))
        CU(cuIpcCloseMemHandle(shared));
    CU(cuEventDestroy_v2(event));
    program_end(module, context);
}

int main(int argc, char **argv)
{
    int peers[2], status = 1;
    pid_t id;

    if (argc > 1)
        kind = argv[1];
    must(socketpair(AF_UNIX, SOCK_STREAM, 0, peers) == 0);
    id = fork();
    if (!id) {
        child(peers[0]);
        return 0;
    }
    parent(peers[1]);
    must(waitpid(id, &status, 0) == id && status == 0);
    return 0;
}
