/* SPDX-License-Identifier: Apache-2.0
 *
 * Two processes, and memory that goes from one to the other as files: an amount without an address,
 * and memory of a pool. The other one maps both, has a kernel add them, and says what came.
 */
#include "api/hsa/hsa_prototypes.h"
#include "tests/hsa/hsa_helper.h"
#include "tests/hsa/hsa_kernels.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define PART  (2u << 20)
#define COUNT 1024u
#define SIZE  (COUNT * sizeof(float))

/* Two descriptors through a socket; sent, or received into. */
static int pass(int socket, int files[2], bool sends)
{
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(2 * sizeof(int))];
    } control = {0};
    char byte = 0;
    struct iovec data = {&byte, 1};
    struct msghdr message = {.msg_iov = &data,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof(control)};

    if (!sends && recvmsg(socket, &message, 0) != 1)
        return 1;
    if (!sends) {
        memcpy(files, CMSG_DATA(&control.head), 2 * sizeof(int));
        return 0;
    }
    control.head = (struct cmsghdr){
        .cmsg_len = CMSG_LEN(2 * sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
    memcpy(CMSG_DATA(&control.head), files, 2 * sizeof(int));
    return sendmsg(socket, &message, 0) != 1;
}

static void map(const struct hsa_machine *machine, void *at, hsa_vmem_handle_t handle)
{
    hsa_memory_access_t access = {HSA_ACCESS_PERMISSION_RW, machine->gpu};

    HSA_CHECK(hsa_amd_vmem_map(at, PART, 0, handle, 0));
    HSA_CHECK(hsa_amd_vmem_set_access(at, PART, &access, 1));
}

static int one(int socket)
{
    struct hsa_machine machine;
    float numbers[COUNT], *memory;
    hsa_vmem_handle_t handle;
    void *range;
    uint64_t offset;
    int files[2];

    hsa_machine_find(&machine);
    HSA_CHECK(hsa_amd_vmem_address_reserve(&range, PART, 0, 0));
    HSA_CHECK(hsa_amd_vmem_handle_create(machine.device, PART, 0, 0, &handle));
    map(&machine, range, handle);
    memory = hsa_pool_take(machine.device, PART);
    for (unsigned i = 0; i < COUNT; i++)
        numbers[i] = (float)i;
    HSA_CHECK(hsa_memory_copy(range, numbers, SIZE));
    HSA_CHECK(hsa_memory_copy(memory, numbers, SIZE));
    HSA_CHECK(hsa_amd_vmem_export_shareable_handle(&files[0], handle, 0));
    HSA_CHECK(hsa_amd_portable_export_dmabuf(memory, PART, &files[1], &offset));
    return pass(socket, files, true);
}

static int other(const char *code, int socket)
{
    static const uint32_t grid[3] = {COUNT, 1, 1};
    static const uint16_t group[3] = {64, 1, 1};
    struct hsa_machine machine;
    struct hsa_found_kernel add;
    struct add_arguments *arguments;
    hsa_vmem_handle_t handle;
    hsa_signal_t done;
    hsa_queue_t *queue;
    float back[COUNT];
    void *range, *memory;
    unsigned bad = 0;
    size_t size;
    int files[2];

    if (pass(socket, files, false))
        return 1;
    hsa_machine_find(&machine);
    hsa_machine_load(&machine, code);
    HSA_CHECK(hsa_amd_vmem_address_reserve(&range, PART, 0, 0));
    HSA_CHECK(hsa_amd_vmem_import_shareable_handle(files[0], &handle));
    map(&machine, range, handle);
    HSA_CHECK(hsa_amd_interop_map_buffer(1, &machine.gpu, files[1], 0, &size, &memory, NULL, NULL));
    add = hsa_kernel_find(&machine, "add.kd");
    queue = hsa_queue_take(&machine, 64);
    arguments = hsa_pool_take(machine.kernarg, sizeof(*arguments));
    *arguments = (struct add_arguments){range, memory, memory};
    done = hsa_signal_take(1);
    hsa_ring(queue, hsa_dispatch(queue, &add, grid, group, arguments, done));
    hsa_await(done);
    HSA_CHECK(hsa_memory_copy(back, memory, SIZE));
    for (unsigned i = 0; i < COUNT; i++)
        bad += back[i] != 2 * (float)i;
    HSA_CHECK(hsa_amd_interop_unmap_buffer(memory));
    HSA_CHECK(hsa_amd_vmem_unmap(range, PART));
    HSA_CHECK(hsa_amd_vmem_handle_release(handle));
    return bad != 0;
}

int main(int argc, char **argv)
{
    int ends[2], status = 1;
    pid_t child;

    if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) != 0)
        return 1;
    child = fork();
    if (child == 0)
        return other(argv[1], ends[0]);
    if (one(ends[1]))
        return 1;
    waitpid(child, &status, 0);
    printf("the other one: %d\n", status);
    return status != 0;
}
