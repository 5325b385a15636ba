/* SPDX-License-Identifier: Apache-2.0
 *
 * A program that does something uncommon, named by its argument, before it uses the GPU, or after
 * it has begun to ("late"), and then works on: 20 fills and a sum.
 */
#include "tests/programs/program.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>

static CUdeviceptr memory;

static void begin(void)
{
    CUcontext context;

    program_begin(&context);
    CU(cuMemAlloc_v2(&memory, 4096));
}

static void work(void)
{
    unsigned char bytes[4096];
    unsigned sum = 0;

    for (unsigned char i = 0; i < 20; i++) {
        CU(cuMemsetD8_v2(memory, i, sizeof(bytes)));
        CU(cuMemcpyDtoH_v2(bytes, memory, sizeof(bytes)));
        sum += bytes[i];
    }
    printf("sum %u\n", sum);
}

/* ---- descriptors and limits -------------------------------------------------------------------
 */

static void close_all(void)
{
    syscall(SYS_close_range, 3u, ~0u, 0u);
}

/* Also 0, 1 and 2, and then files of its own get these numbers. */
static void close_everything(void)
{
    int out = fcntl(1, F_DUPFD, 100);

    syscall(SYS_close_range, 0u, 99u, 0u);
    for (int i = 0; i < 40; i++)
        open("/dev/null", O_RDONLY);
    dup2(out, 1);
}

static void no_descriptors(void)
{
    struct rlimit limit = {16, 16};

    setrlimit(RLIMIT_NOFILE, &limit);
    while (open("/dev/null", O_RDONLY) >= 0)
        ;
    printf("none left: %s\n", strerrorname_np(errno));
    close(3);
    close(4);
}

static void little_memory(void)
{
    struct rlimit limit;
    FILE *file = fopen("/proc/self/statm", "r");
    unsigned long pages = 0;

    if (fscanf(file, "%lu", &pages) != 1)
        exit(9);
    fclose(file);
    limit.rlim_cur = limit.rlim_max = pages * 4096 + (60u << 20);
    setrlimit(RLIMIT_AS, &limit);
}

static void no_file_size(void)
{
    struct rlimit limit = {0, 0};

    signal(SIGXFSZ, SIG_DFL);
    setrlimit(RLIMIT_FSIZE, &limit);
}

static void no_processes(void)
{
    struct rlimit limit = {1, 1};

    setrlimit(RLIMIT_NPROC, &limit);
    if (setresuid(65534, 65534, 65534) != 0)
        printf("cannot change\n");
}

/* ---- identity ---------------------------------------------------------------------------------
 */

static void other_user(void)
{
    if (setresgid(65534, 65534, 65534) != 0 || setresuid(65534, 65534, 65534) != 0)
        printf("cannot change\n");
}

static void change_root(void)
{
    if (chroot("/usr") != 0 || chdir("/") != 0)
        printf("cannot change\n");
}

static void no_environment(void)
{
    clearenv();
}

/* ---- signals ----------------------------------------------------------------------------------
 */

static volatile sig_atomic_t ticks;

static void count_tick(int number)
{
    ticks++;
}

static void profile_timer(void)
{
    struct sigaction action = {.sa_handler = count_tick}; /* without SA_RESTART */
    struct itimerval often = {{0, 1000}, {0, 1000}};

    sigaction(SIGPROF, &action, NULL);
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_PROF, &often, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
}

static sigjmp_buf after_overflow;

static void overflowed(int number)
{
    siglongjmp(after_overflow, 1);
}

static int recurse(volatile char *before)
{
    volatile char more[4096];

    more[0] = before[0];
    return more[0] == 0 ? recurse(more) + more[0] : 0; /* always */
}

static void overflow(void)
{
    static char space[65536];
    stack_t stack = {.ss_sp = space, .ss_size = sizeof(space)};
    struct sigaction action = {.sa_handler = overflowed, .sa_flags = SA_ONSTACK};
    char first = 0;

    sigaltstack(&stack, NULL);
    sigaction(SIGSEGV, &action, NULL);
    if (sigsetjmp(after_overflow, 1) == 0)
        printf("%d\n", recurse(&first));
    printf("overflow was handled\n");
}

/* ---- system calls that are forbidden ----------------------------------------------------------
 */

static void forbid_with(const int *calls, size_t count, unsigned action)
{
    struct sock_filter code[64] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
    };
    struct sock_fprog program = {.filter = code};
    unsigned short n = 1;

    for (size_t i = 0; i < count; i++) {
        code[n++] =
            (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)calls[i], 0, 1);
        code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, action);
    }
    code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    program.len = n;
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
        printf("no seccomp\n");
}

static void forbid(const int *calls, size_t count, int error)
{
    forbid_with(calls, count, SECCOMP_RET_ERRNO | (unsigned)error);
}

/* System calls that recording needs and the program does not. */
static const int ours[] = {SYS_membarrier, SYS_close_range, SYS_flock,      SYS_pidfd_open,
                           SYS_renameat2,  SYS_userfaultfd, SYS_ftruncate,  SYS_tgkill,
                           SYS_readlink,   SYS_fdatasync,   SYS_pidfd_getfd};

static void forbid_killing(void)
{
    forbid_with(ours, sizeof(ours) / sizeof(*ours), SECCOMP_RET_KILL_PROCESS);
}

/* Forbids those to a child that runs in our memory: nothing of it concerns us. */
static int forbidden_child(void *unused)
{
    forbid_killing();
    syscall(SYS_exit_group, 4);
    return 0;
}

static void child_in_our_memory(int (*function)(void *), int flags)
{
    static char stack[65536] __attribute__((aligned(16)));
    int status = 0;

    fflush(stdout);
    waitpid(clone(function, stack + sizeof(stack), CLONE_VM | SIGCHLD | flags, NULL), &status, 0);
    printf("child: %d\n", status);
}

static void clone_forbids(void)
{
    child_in_our_memory(forbidden_child, 0);
}

static void vfork_forbids(void)
{
    child_in_our_memory(forbidden_child, CLONE_VFORK);
}

static int child_without_clock(void *unused)
{
    prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0);
    _exit(4);
}

static void vfork_forbids_clock(void)
{
    child_in_our_memory(child_without_clock, CLONE_VFORK);
}

static void print_filter(struct sock_fprog *program)
{
    int result = prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, program);

    printf("filter: %d %s\n", result, strerrorname_np(errno));
    result = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, program);
    printf("filter: %d %s\n", result, strerrorname_np(errno));
}

/* The kernel takes no filter of who has no rights, and may gain some. */
static void refused_filter(void)
{
    struct sock_filter code[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)};
    struct sock_fprog program = {.len = 1, .filter = code};
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {{0}};

    if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 0 && syscall(SYS_capset, &header, none) == 0)
        print_filter(&program);
}

/* Nor one with an instruction that there is none. */
static void wrong_filter(void)
{
    struct sock_filter code[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
                                 BPF_STMT(0xffff, 0)};
    struct sock_fprog program = {.len = 2, .filter = code};

    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    print_filter(&program);
}

/* ... and, of these, some by the libraries that take stacks, by the settings and by the allocator.
 */
static const int rest[] = {SYS_lstat, SYS_mincore,    SYS_mremap,
                           SYS_pipe2, SYS_readlinkat, SYS_process_vm_writev};

static void forbid_rest(void)
{
    forbid_with(rest, sizeof(rest) / sizeof(*rest), SECCOMP_RET_KILL_PROCESS);
}

/* With what would say of which file a descriptor is, when one is mapped. */
static void forbid_looks(void)
{
    static const int looks[] = {SYS_fstat, SYS_readlink, SYS_kcmp};
    int fd = open("/bin/sh", O_RDONLY);
    void *mapped;

    forbid_with(looks, sizeof(looks) / sizeof(*looks), SECCOMP_RET_KILL_PROCESS);
    mapped = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
    printf("mapped: %d\n", mapped != MAP_FAILED && memcmp(mapped, "\177ELF", 4) == 0);
    close(fd);
}

static const int uncommon[] = {
    SYS_memfd_create,     SYS_membarrier, SYS_close_range,    SYS_pidfd_open, SYS_pidfd_getfd,
    SYS_userfaultfd,      SYS_ioctl,      SYS_renameat2,      SYS_flock,      SYS_getrandom,
    SYS_process_vm_readv, SYS_tgkill,     SYS_perf_event_open};
static const int files[] = {SYS_openat, SYS_open,   SYS_ftruncate, SYS_readlink,
                            SYS_unlink, SYS_rename, SYS_getcwd};

static void forbid_uncommon(void)
{
    forbid(uncommon, sizeof(uncommon) / sizeof(*uncommon), EPERM);
}

static void forbid_uncommon_unknown(void)
{
    forbid(uncommon, sizeof(uncommon) / sizeof(*uncommon), ENOSYS);
}

static void forbid_files(void)
{
    forbid(files, sizeof(files) / sizeof(*files), EACCES);
}

/* System calls that this program, the software GPU and libc need; everything else, as in the
 * sandbox of a browser's GPU process, has one action. */
static const int allowed[] = {
    SYS_read,           SYS_write,      SYS_open,         SYS_close,
    SYS_fstat,          SYS_newfstatat, SYS_mmap,         SYS_mprotect,
    SYS_munmap,         SYS_brk,        SYS_rt_sigaction, SYS_rt_sigreturn,
    SYS_rt_sigprocmask, SYS_pread64,    SYS_access,       SYS_sched_yield,
    SYS_madvise,        SYS_clone3,     SYS_exit,         SYS_exit_group,
    SYS_futex,          SYS_openat,     SYS_readlink,     SYS_set_robust_list,
    SYS_prlimit64,      SYS_getrandom,  SYS_rseq,         SYS_clock_nanosleep,
    SYS_clock_gettime,  SYS_prctl,      SYS_ioctl,        SYS_getpid,
    SYS_gettid,         SYS_arch_prctl};

static void allow_only(unsigned action, unsigned flags)
{
    struct sock_filter code[3 * sizeof(allowed) / sizeof(*allowed)] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
    };
    struct sock_fprog program = {.filter = code};
    unsigned short n = 1;

    for (size_t i = 0; i < sizeof(allowed) / sizeof(*allowed); i++) {
        code[n++] =
            (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)allowed[i], 0, 1);
        code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    }
    code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, action);
    program.len = n;
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program) < 0)
        printf("no seccomp\n");
}

#define ALLOW(name, action, flags)                                                                 \
    static void allow_##name(void)                                                                 \
    {                                                                                              \
        allow_only(action, flags);                                                                 \
    }
ALLOW(or_die, SECCOMP_RET_KILL_PROCESS, 0)
ALLOW(or_end, SECCOMP_RET_KILL_THREAD, 0)
ALLOW(or_trap, SECCOMP_RET_TRAP, 0)
ALLOW(or_fail, SECCOMP_RET_ERRNO | EPERM, 0)
ALLOW(or_lack, SECCOMP_RET_ERRNO | ENOSYS, 0)
ALLOW(or_trace, SECCOMP_RET_TRACE, 0)
ALLOW(or_log, SECCOMP_RET_LOG, 0)
ALLOW(or_ask, SECCOMP_RET_USER_NOTIF, SECCOMP_FILTER_FLAG_NEW_LISTENER) /* nobody answers */

/* ---- threads and processes --------------------------------------------------------------------
 */

static void in_callback(void *unused)
{
    pid_t child = fork();
    int status = 0;

    if (child == 0)
        _exit(7);
    waitpid(child, &status, 0);
    printf("forked in a callback: %d\n", WEXITSTATUS(status));
}

static void fork_in_callback(void)
{
    CUstream stream;

    if (!memory)
        return;
    CU(cuStreamCreate(&stream, 0));
    for (int i = 0; i < 3; i++)
        CU(cuLaunchHostFunc(stream, in_callback, NULL));
    CU(cuStreamSynchronize(stream));
}

/* A function of its own: the child shares its frame. */
static int vfork_once(char *const *arguments)
{
    int status = 0;
    pid_t child;

    fflush(stdout);
    child = vfork();
    if (child == 0) {
        execv("/bin/sh", arguments);
        _exit(1);
    }
    waitpid(child, &status, 0);
    return WEXITSTATUS(status);
}

static void vfork_exec(void)
{
    char *const arguments[] = {(char *)"sh", (char *)"-c", (char *)"echo child; exit 4", NULL};

    for (int i = 0; i < 3; i++)
        printf("vfork: %d\n", vfork_once(arguments));
}

static void become_daemon(void)
{
    if (daemon(1, 1) != 0)
        exit(9);
}

static void *exec_thread(void *unused)
{
    execl("/bin/sh", "sh", "-c", "echo instead; exit 6", NULL);
    return NULL;
}

static void exec_in_thread(void)
{
    pthread_t thread;

    fflush(stdout);
    /* Linux makes no threads while another one of the process is in exec: those of the GPU first.
     */
    if (memory)
        CU(cuMemsetD8_v2(memory, 1, 16));
    pthread_create(&thread, NULL, exec_thread, NULL);
    for (;;)
        if (memory)
            CU(cuMemsetD8_v2(memory, 1, 16));
}

static pthread_barrier_t all_there;

static void *one_of_many(void *unused)
{
    int version;

    pthread_barrier_wait(&all_there);
    CU(cuDriverGetVersion(&version));
    return NULL;
}

static void many_threads(void)
{
    enum { COUNT_MAX = 10000 };
    static pthread_t threads[COUNT_MAX];
    const int count = getenv("TS_TEST_ALL") ? COUNT_MAX : 2500;
    pthread_attr_t small;
    int made = 0;

    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 64 << 10);
    pthread_barrier_init(&all_there, NULL, (unsigned)count);
    while (made < count && pthread_create(&threads[made], &small, one_of_many, NULL) == 0)
        made++;
    if (made < count)
        exit(77); /* this machine does not let anybody have so many */
    for (int i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
    printf("%d threads\n", made);
}

static void *endless(void *unused)
{
    int version;

    for (;;) {
        cuDriverGetVersion(&version);
        pthread_testcancel();
    }
    return NULL;
}

static void cancel_threads(void)
{
    for (int i = 0; i < 50; i++) {
        pthread_t thread;
        void *result;

        pthread_create(&thread, NULL, endless, NULL);
        usleep(200);
        pthread_cancel(thread);
        pthread_join(thread, &result);
        if (result != PTHREAD_CANCELED)
            printf("not cancelled\n");
    }
}

static const struct {
    const char *name;
    void (*act)(void);
} acts[] = {
    {"close_all", close_all},
    {"close_everything", close_everything},
    {"no_descriptors", no_descriptors},
    {"little_memory", little_memory},
    {"no_file_size", no_file_size},
    {"no_processes", no_processes},
    {"other_user", other_user},
    {"change_root", change_root},
    {"no_environment", no_environment},
    {"profile_timer", profile_timer},
    {"overflow", overflow},
    {"forbid_uncommon", forbid_uncommon},
    {"forbid_uncommon_unknown", forbid_uncommon_unknown},
    {"forbid_files", forbid_files},
    {"forbid_killing", forbid_killing},
    {"forbid_rest", forbid_rest},
    {"forbid_looks", forbid_looks},
    {"clone_forbids", clone_forbids},
    {"vfork_forbids", vfork_forbids},
    {"vfork_forbids_clock", vfork_forbids_clock},
    {"refused_filter", refused_filter},
    {"wrong_filter", wrong_filter},
    {"allow_or_die", allow_or_die},
    {"allow_or_end", allow_or_end},
    {"allow_or_trap", allow_or_trap},
    {"allow_or_fail", allow_or_fail},
    {"allow_or_lack", allow_or_lack},
    {"allow_or_trace", allow_or_trace},
    {"allow_or_log", allow_or_log},
    {"allow_or_ask", allow_or_ask},
    {"fork_in_callback", fork_in_callback},
    {"vfork_exec", vfork_exec},
    {"become_daemon", become_daemon},
    {"exec_in_thread", exec_in_thread},
    {"many_threads", many_threads},
    {"cancel_threads", cancel_threads},
};

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    bool late = argc > 2 && strcmp(argv[2], "late") == 0;

    setvbuf(stdout, NULL, _IOLBF, 0);
    if (late)
        begin();
    for (size_t i = 0; i < sizeof(acts) / sizeof(*acts); i++) {
        if (strcmp(acts[i].name, name) == 0)
            acts[i].act();
    }
    if (!late)
        begin();
    work();
    return 5;
}
