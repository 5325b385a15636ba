/* SPDX-License-Identifier: Apache-2.0
 *
 * A test of two processes: the child is forked before either comes near the driver, and they talk
 * through a socket. The parent's result is both's.
 */
#ifndef TESTS_EMU_EMU_PAIR_H
#define TESTS_EMU_EMU_PAIR_H

#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/emu/emu_kernels.h"
#include "tests/emu/emu_test.h"

/* The other one ended early: what it has to say is on stderr. */
static inline void pair_send(int peer, const void *data, size_t size)
{
    if (send(peer, data, size, MSG_NOSIGNAL) != (ssize_t)size)
        exit(1);
}

static inline void pair_receive(int peer, void *data, size_t size)
{
    if (recv(peer, data, size, MSG_WAITALL) != (ssize_t)size)
        exit(1);
}

/* One of them goes on when the other one has come here, too. */
static inline void pair_meet(int peer)
{
    char c = 0;

    pair_send(peer, &c, 1);
    pair_receive(peer, &c, 1);
}

/* A file descriptor, as programs pass those of exported memory. */
static inline void pair_send_file(int peer, int file)
{
    char c = 0, control[CMSG_SPACE(sizeof(int))] = {0};
    struct iovec io = {&c, 1};
    struct msghdr message = {
        .msg_iov = &io, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control)};
    struct cmsghdr *c0 = CMSG_FIRSTHDR(&message);

    c0->cmsg_level = SOL_SOCKET;
    c0->cmsg_type = SCM_RIGHTS;
    c0->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(c0), &file, sizeof(file));
    CHECK_EQ_INT(sendmsg(peer, &message, MSG_NOSIGNAL), 1);
}

static inline int pair_receive_file(int peer)
{
    char c, control[CMSG_SPACE(sizeof(int))];
    struct iovec io = {&c, 1};
    struct msghdr message = {
        .msg_iov = &io, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control)};
    int file;

    if (recvmsg(peer, &message, 0) != 1 || !CMSG_FIRSTHDR(&message))
        exit(1);
    memcpy(&file, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(file));
    return file;
}

static inline int pair_run(void (*parent)(int peer), void (*child)(int peer))
{
    int ends[2], status = -1;

    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
        return 1;
    pid_t pid = fork();
    close(ends[pid != 0]);
    if (pid == 0) {
        child(ends[1]);
        exit(check_result());
    }
    parent(ends[0]);
    close(ends[0]);
    waitpid(pid, &status, 0);
    CHECK_EQ_INT(status, 0);
    return check_result();
}

/* add(unsigned *p, unsigned value) of PTX_ATOMIC: one thread. */
static inline void pair_add(CUdeviceptr p, unsigned value)
{
    static CUfunction function;
    CUmodule module;
    void *params[] = {&p, &value};

    if (!function) {
        OK(cuModuleLoadData(&module, PTX_HEAD PTX_ATOMIC));
        OK(cuModuleGetFunction(&function, module, "atomic_add"));
    }
    OK(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
    OK(cuCtxSynchronize());
}

static inline unsigned pair_read(CUdeviceptr p)
{
    unsigned value = 0;

    OK(cuMemcpyDtoH_v2(&value, p, sizeof(value)));
    return value;
}

#endif
