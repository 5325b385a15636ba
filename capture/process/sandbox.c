/* SPDX-License-Identifier: Apache-2.0
 *
 * A program that is about to forbid itself system calls (seccomp) with the death penalty must not
 * die of ours. The filter is tried here on each call that a recording makes (docs/limits.md). If
 * one of them would kill, or wait for another process, recording ends before the filter is there,
 * or never begins. Filters that only give errors are no matter: every call of ours may fail.
 */
#include "capture/session.h"

#include "base/own_stack.h"
#include "capture/lane/drain_thread.h"
#include "capture/live.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* System calls of our threads, and of the program's threads in our code, from the first call to the
 * end of the trace. */
static const int needed[] = {SYS_read,
                             SYS_write,
                             SYS_close,
                             SYS_fstat,
                             SYS_mmap,
                             SYS_mprotect,
                             SYS_munmap,
                             SYS_brk,
                             SYS_rt_sigaction,
                             SYS_rt_sigprocmask,
                             SYS_pread64,
                             SYS_pwrite64,
                             SYS_madvise,
                             SYS_getpid,
                             SYS_gettid,
                             SYS_getppid,
                             SYS_clone3,
                             SYS_uname,
                             SYS_fcntl,
                             SYS_flock,
                             SYS_fdatasync,
                             SYS_ftruncate,
                             SYS_getcwd,
                             SYS_readlink,
                             SYS_getuid,
                             SYS_geteuid,
                             SYS_prctl,
                             SYS_futex,
                             SYS_tgkill,
                             SYS_openat,
                             SYS_newfstatat,
                             SYS_unlinkat,
                             SYS_unlink,
                             SYS_rename,
                             SYS_set_robust_list,
                             SYS_prlimit64,
                             SYS_getdents64,
                             SYS_getrandom,
                             SYS_renameat2,
                             SYS_membarrier,
                             SYS_close_range,
                             SYS_memfd_create,
                             SYS_clock_nanosleep,
                             SYS_process_vm_readv,
                             SYS_pidfd_open,
                             SYS_pidfd_getfd,
                             SYS_rseq,
                             SYS_exit,
                             SYS_sync_file_range,
                             SYS_sched_yield,
                             SYS_access,
                             SYS_clock_gettime,
                             SYS_lseek,
                             SYS_lstat,
                             SYS_mincore,
                             SYS_mremap,
                             SYS_pipe2,
                             SYS_ioctl,
                             SYS_clone,
                             SYS_readlinkat,
                             SYS_process_vm_writev,
                             SYS_userfaultfd,
                             SYS_capget,
                             SYS_ppoll,
                             SYS_kcmp,
                             SYS_fstatfs,
                             SYS_msync};

#define STEP_MAX      4096u /* BPF_MAXINSNS */
#define CALLS_WAIT_NS 250000000u

struct machine {
    const struct seccomp_data *data;
    uint32_t a, x, memory[BPF_MEMWORDS];
};

static uint32_t load(const struct machine *m, const struct sock_filter *f)
{
    uint32_t value = 0;

    switch (BPF_MODE(f->code)) {
    case BPF_IMM:
        return f->k;
    case BPF_MEM:
        return m->memory[f->k % BPF_MEMWORDS];
    case BPF_LEN:
        return sizeof(*m->data);
    default:
        if (f->k <= sizeof(*m->data) - sizeof(value))
            memcpy(&value, (const char *)m->data + f->k, sizeof(value));
        return value;
    }
}

static uint32_t compute(uint16_t code, uint32_t a, uint32_t b)
{
    switch (BPF_OP(code)) {
    case BPF_ADD:
        return a + b;
    case BPF_SUB:
        return a - b;
    case BPF_MUL:
        return a * b;
    case BPF_DIV:
        return b ? a / b : 0;
    case BPF_OR:
        return a | b;
    case BPF_AND:
        return a & b;
    case BPF_LSH:
        return b < 32 ? a << b : 0;
    case BPF_RSH:
        return b < 32 ? a >> b : 0;
    case BPF_XOR:
        return a ^ b;
    default:
        return -a;
    }
}

static bool holds(uint16_t code, uint32_t a, uint32_t b)
{
    switch (BPF_OP(code)) {
    case BPF_JEQ:
        return a == b;
    case BPF_JGT:
        return a > b;
    case BPF_JGE:
        return a >= b;
    default:
        return (a & b) != 0;
    }
}

/* Evaluates the filter for one system call. Jumps lead forward only, so it ends. */
static uint32_t judge(const struct sock_filter *filter, uint32_t count,
                      const struct seccomp_data *data)
{
    struct machine m = {.data = data};

    for (uint32_t at = 0; at < count; at++) {
        const struct sock_filter *f = &filter[at];
        uint32_t operand = BPF_SRC(f->code) == BPF_X ? m.x : f->k;

        switch (BPF_CLASS(f->code)) {
        case BPF_LD:
            m.a = load(&m, f);
            break;
        case BPF_LDX:
            m.x = load(&m, f);
            break;
        case BPF_ST:
            m.memory[f->k % BPF_MEMWORDS] = m.a;
            break;
        case BPF_STX:
            m.memory[f->k % BPF_MEMWORDS] = m.x;
            break;
        case BPF_ALU:
            m.a = compute(f->code, m.a, operand);
            break;
        case BPF_JMP:
            at += BPF_OP(f->code) == BPF_JA ? f->k : holds(f->code, m.a, operand) ? f->jt : f->jf;
            break;
        case BPF_RET:
            return BPF_RVAL(f->code) == BPF_A ? m.a : f->k;
        default:
            if (BPF_MISCOP(f->code) == BPF_TAX)
                m.x = m.a;
            else
                m.a = m.x;
            break;
        }
    }
    return SECCOMP_RET_KILL_PROCESS;
}

static bool kills(const struct sock_filter *filter, uint32_t count)
{
    for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++) {
        struct seccomp_data data = {.nr = needed[i], .arch = AUDIT_ARCH_X86_64};
        uint32_t action = judge(filter, count, &data) & SECCOMP_RET_ACTION_FULL;

        /* Nobody may answer for a call that nobody expects. */
        if (action == SECCOMP_RET_KILL_PROCESS || action == SECCOMP_RET_KILL_THREAD ||
            action == SECCOMP_RET_TRAP || action == SECCOMP_RET_USER_NOTIF)
            return true;
    }
    return false;
}

/* The kernel takes a filter of those only who gain no rights by exec, or have them all. */
static bool will_be_refused(void)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct has[_LINUX_CAPABILITY_U32S_3];

    return syscall(SYS_prctl, PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 0 &&
           syscall(SYS_capget, &header, has) == 0 && !(has[0].effective & 1u << CAP_SYS_ADMIN);
}

struct coming {
    unsigned mode;
    uint64_t program; /* struct sock_fprog of the program's */
    bool kills;
};

static void look(void *argument)
{
    struct coming *c = argument;
    struct sock_filter *filter = NULL;
    struct sock_fprog program;
    size_t size = 0;

    c->kills = c->mode == SECCOMP_MODE_STRICT;
    if (c->kills || will_be_refused() || !tsm_memory_read(&program, c->program, sizeof(program)) ||
        !program.len || program.len > STEP_MAX)
        return;
    size = program.len * sizeof(*filter);
    filter = tsm_memory_map(size);
    if (filter && tsm_memory_read(filter, (uint64_t)(uintptr_t)program.filter, size))
        c->kills = kills(filter, program.len);
    if (filter)
        tsm_memory_unmap(filter, size);
}

/* ---- whom it concerns ---------------------------------------------------------------------------
 */

static bool sandboxed;
static bool comes; /* the same soon */
/* A process that runs in another one's memory (vfork, clone with CLONE_VM), and forbids itself
 * something; that other one goes on as before. */
static pid_t sandboxed_guest;
/* Whose memory this is, as far as that is known. */
static pid_t owner;

void tsm_process_begins(void)
{
    owner = tsm_own_pid();
}

static bool is_guest(void)
{
    const struct tsm_session *s = tsm_session_current();
    pid_t host = s ? s->pid : owner;

    return host && host != tsm_own_pid();
}

bool tsm_sandboxed(void)
{
    pid_t guest = __atomic_load_n(&sandboxed_guest, __ATOMIC_RELAXED);

    return __atomic_load_n(&sandboxed, __ATOMIC_RELAXED) ||
           (guest && (guest == tsm_own_pid() || guest == getppid()));
}

bool tsm_sandbox_is_coming(void)
{
    return __atomic_load_n(&comes, __ATOMIC_SEQ_CST);
}

/* Waits until no other thread is in code of ours: none starts a session, and, of what concerns all
 * threads, for calls that do not wait themselves. */
static void wait_for_others(bool for_all)
{
    struct tsm_live *live = __atomic_load_n(&tsm_live, __ATOMIC_ACQUIRE);

    while (tsm_live_state_now() == TSM_LIVE_STARTING)
        tsm_futex_wait(&live->state, TSM_LIVE_STARTING, 1000000000u);
    if (for_all && tsm_session_own())
        tsm_calls_hold(CALLS_WAIT_NS);
}

static void end_recording(const char *why, bool for_all)
{
    if (is_guest()) {
        __atomic_store_n(&sandboxed_guest, tsm_own_pid(), __ATOMIC_SEQ_CST);
        return;
    }
    __atomic_store_n(&comes, true, __ATOMIC_SEQ_CST);
    if (!tsm_inside())
        wait_for_others(for_all);
    tsm_session_stop(why);
    tsm_session_finish();
    __atomic_store_n(&sandboxed, true, __ATOMIC_SEQ_CST);
}

bool tsm_sandbox_comes(unsigned mode, const void *program, bool for_all)
{
    struct coming c = {mode, (uint64_t)(uintptr_t)program, false};
    int saved_errno = errno;

    if (tsm_sandboxed())
        return false;
    tsm_own_stack_run(look, &c);
    if (c.kills)
        end_recording("the program forbids system calls that recording needs (seccomp)", for_all);
    errno = saved_errno;
    return c.kills;
}

void tsm_sandbox_failed(void)
{
    int saved_errno = errno;

    if (is_guest()) {
        __atomic_store_n(&sandboxed_guest, 0, __ATOMIC_SEQ_CST);
    } else {
        __atomic_store_n(&sandboxed, false, __ATOMIC_SEQ_CST);
        __atomic_store_n(&comes, false, __ATOMIC_SEQ_CST);
        tsm_session_exec_failed();
    }
    errno = saved_errno;
}

void tsm_clock_forbidden(void)
{
    int saved_errno = errno;

    if (!tsm_sandboxed())
        end_recording("the program forbids reading the time stamp counter (PR_SET_TSC)", false);
    errno = saved_errno;
}
