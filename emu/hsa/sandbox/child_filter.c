/* SPDX-License-Identifier: Apache-2.0
 *
 * The list of system calls for code of a trace. Everything else raises SIGSYS, whose handler names
 * the call and ends the process.
 *
 * Allowed is what computing needs: waiting (futex), memory without a name and of the two files that
 * are open, the clock, the signal mask (swapcontext() sets it), the end. Nothing here opens a file,
 * makes a process or a thread, sends anything, or learns of other processes.
 */
#include "emu/hsa/sandbox/child.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define DATA(field)            (uint32_t) offsetof(struct seccomp_data, field)
#define LOW_ARGUMENT(i)        ((uint32_t)(offsetof(struct seccomp_data, args) + (i) * sizeof(uint64_t)))
#define LOAD(offset)           BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (offset))
#define IF_NO_BIT(bits, skip)  BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, (bits), 0, (skip))
#define IF_ANY_BIT(bits, skip) BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, (bits), (skip), 0)
#define IF_NOT(value, skip)    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (value), 0, (skip))
#define IF(value, skip)        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (value), (skip), 0)
#define GIVE(what)             BPF_STMT(BPF_RET | BPF_K, (what))
#define ALLOW(call)            IF_NOT((call), 1), GIVE(SECCOMP_RET_ALLOW)

bool emu_hsa_child_filter(void)
{
    struct sock_filter filter[] = {
        LOAD(DATA(arch)),
        IF(AUDIT_ARCH_X86_64, 1),
        GIVE(SECCOMP_RET_KILL_PROCESS),
        LOAD(DATA(nr)),
        ALLOW(SYS_futex),
        ALLOW(SYS_munmap),
        ALLOW(SYS_mprotect),
        ALLOW(SYS_brk),
        ALLOW(SYS_rt_sigprocmask),
        ALLOW(SYS_rt_sigreturn),
        ALLOW(SYS_restart_syscall),
        ALLOW(SYS_sched_yield),
        ALLOW(SYS_clock_gettime),
        ALLOW(SYS_exit_group),
        /* realloc() does without it. */
        IF_NOT(SYS_mremap, 1),
        GIVE(SECCOMP_RET_ERRNO | ENOMEM),
        /* free() gives memory back. */
        IF_NOT(SYS_madvise, 4),
        LOAD(LOW_ARGUMENT(2)),
        ALLOW(MADV_DONTNEED),
        GIVE(SECCOMP_RET_TRAP),
        /* Without a name only what counts as data (RLIMIT_DATA): nothing shared, no stacks. */
        IF_NOT(SYS_mmap, 9),
        LOAD(LOW_ARGUMENT(3)),
        IF_ANY_BIT(MAP_HUGETLB | MAP_LOCKED | MAP_GROWSDOWN, 7),
        IF_NO_BIT(MAP_SHARED, 1),
        IF_ANY_BIT(MAP_ANONYMOUS, 5),
        LOAD(LOW_ARGUMENT(4)),
        IF(SANDBOX_ARENA, 2),
        IF(SANDBOX_CONSTANTS, 1),
        IF_NOT(UINT32_MAX, 1), /* no file */
        GIVE(SECCOMP_RET_ALLOW),
        GIVE(SECCOMP_RET_TRAP),
    };
    const struct sock_fprog program = {sizeof(filter) / sizeof(filter[0]), filter};

    return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) == 0;
}
