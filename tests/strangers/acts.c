/* SPDX-License-Identifier: Apache-2.0
 *
 * Odd processes on each API (gpu.h): an act before the first GPU call, or with --amid after some,
 * and work afterwards. What is printed does not depend on time, addresses or process ids.
 *
 * usage: acts_API [--amid] ACT [WORD [NUMBER]]
 */
#include "tests/strangers/gpu.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

static const char *word = "";
static long number;
static bool begun;

static void begin(void)
{
    if (!begun)
        gpu_begin();
    begun = true;
}

static void work(void)
{
    printf("sum %u\n", gpu_fill(1, 20));
}

static void say(const char *what, int result)
{
    printf("%s: %s\n", what, result == 0 ? "done" : strerrorname_np(errno));
}

static void wait_for(pid_t child)
{
    int status = 0;

    if (child < 0 || waitpid(child, &status, 0) != child)
        printf("no child\n");
    else
        printf("child ended: %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status));
}

/* ---- limits -------------------------------------------------------------------------------------
 */

static void ignore_signal(int unused) {}

/* Limits by name; "now": NUMBER more than the process has. */
static void limit(void)
{
    static const struct {
        const char *name;
        int what;
    } limits[] = {
        {"data", RLIMIT_DATA},     {"stack", RLIMIT_STACK},   {"fsize", RLIMIT_FSIZE},
        {"nofile", RLIMIT_NOFILE}, {"nproc", RLIMIT_NPROC},   {"memlock", RLIMIT_MEMLOCK},
        {"cpu", RLIMIT_CPU},       {"rttime", RLIMIT_RTTIME}, {"sigpending", RLIMIT_SIGPENDING},
        {"core", RLIMIT_CORE},     {"as", RLIMIT_AS},         {"msgqueue", RLIMIT_MSGQUEUE},
        {"nice", RLIMIT_NICE},     {"rtprio", RLIMIT_RTPRIO}, {"locks", RLIMIT_LOCKS},
        {"rss", RLIMIT_RSS}};

    for (size_t i = 0; i < sizeof(limits) / sizeof(*limits); i++) {
        struct rlimit to = {(rlim_t)number, (rlim_t)number};
        if (strcmp(limits[i].name, word) == 0)
            say(word, setrlimit((__rlimit_resource_t)limits[i].what, &to));
    }
}

static void limit_handled(void)
{
    signal(SIGXFSZ, ignore_signal);
    signal(SIGXCPU, ignore_signal);
    limit();
}

static void limit_ignored(void)
{
    signal(SIGXFSZ, SIG_IGN);
    signal(SIGXCPU, SIG_IGN);
    limit();
}

/* Threads of a real-time program that run for longer than NUMBER microseconds are killed. */
static void realtime(void)
{
    const struct sched_param parameter = {.sched_priority = 1};
    struct rlimit limit = {(rlim_t)number, (rlim_t)number};

    say("rttime", setrlimit(RLIMIT_RTTIME, &limit));
    say("scheduler", sched_setscheduler(0, SCHED_FIFO, &parameter));
}

/* ---- signals ------------------------------------------------------------------------------------
 */

/* A child stops and continues the program all the time. */
static void stop_storm(void)
{
    pid_t parent = getpid(), child = fork();

    if (child == 0) {
        for (int i = 0; i < 300; i++) {
            kill(parent, SIGSTOP);
            kill(parent, SIGCONT);
            usleep(i % 10 * 50); /* lateness does no harm */
        }
        _exit(3);
    }
    begin();
    for (int i = 0; i < 10; i++)
        gpu_fill(1, 20);
    wait_for(child);
}

static volatile sig_atomic_t ticks;

static void tick(int unused)
{
    ticks++;
}

/* WORD: whether system calls are begun again. */
static void timer_storm(void)
{
    const struct itimerval often = {{0, 200}, {0, 200}};
    struct sigaction action = {.sa_handler = tick};

    action.sa_flags = strcmp(word, "restart") == 0 ? SA_RESTART : 0;
    sigaction(SIGALRM, &action, NULL);
    sigaction(SIGPROF, &action, NULL);
    sigaction(SIGVTALRM, &action, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
    setitimer(ITIMER_PROF, &often, NULL);
    setitimer(ITIMER_VIRTUAL, &often, NULL);
}

static void fork_in_handler(int unused)
{
    int status;
    pid_t child = fork();

    if (child == 0)
        _exit(4);
    if (child > 0)
        waitpid(child, &status, 0);
    ticks++;
}

static void handler_forks(void)
{
    const struct itimerval sometimes = {{0, 5000}, {0, 5000}}, never = {0};

    begin();
    ticks = 0;
    signal(SIGALRM, fork_in_handler);
    setitimer(ITIMER_REAL, &sometimes, NULL);
    while (ticks < 20)
        gpu_call();
    setitimer(ITIMER_REAL, &never, NULL);
}

static sigjmp_buf outside;

static void leave(int unused)
{
    siglongjmp(outside, 1);
}

/* A timer whose handler leaves calls wherever they are. */
static void leave_by_timer(void)
{
    const struct itimerval soon = {.it_value = {.tv_usec = 300}};

    begin();
    signal(SIGALRM, leave);
    for (volatile int i = 0; i < 200; i++) {
        if (sigsetjmp(outside, 1))
            continue;
        setitimer(ITIMER_REAL, &soon, NULL);
        for (;;)
            gpu_call();
    }
}

static void ignore_pipe(void)
{
    signal(SIGPIPE, SIG_IGN);
    for (int i = 1; i < 32; i++)
        signal(i, SIG_IGN);
    signal(SIGCHLD, SIG_DFL);
}

/* ---- stacks -------------------------------------------------------------------------------------
 */

static char *make_stack(void)
{
    size_t size = (size_t)number;
    char *stack =
        mmap(NULL, 4096 + size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    mprotect(stack, 4096, PROT_NONE);
    return stack + 4096;
}

static void calls(void)
{
    if (strcmp(word, "call") != 0)
        gpu_fill(1, 20);
    for (int i = 0; i < 20; i++)
        gpu_call();
}

static void *calls_of_thread(void *unused)
{
    gpu_attach();
    calls();
    return NULL;
}

static void calls_of_handler(int unused)
{
    calls();
}

static ucontext_t contexts[4], scheduler;

static void calls_of_coroutine(int self)
{
    for (int i = 0; i < 5; i++) {
        calls();
        swapcontext(&contexts[self], &scheduler);
    }
}

static void make_coroutine(int self)
{
    getcontext(&contexts[self]);
    contexts[self].uc_stack = (stack_t){.ss_sp = make_stack(), .ss_size = (size_t)number};
    contexts[self].uc_link = &scheduler;
    makecontext(&contexts[self], (void (*)(void))calls_of_coroutine, 1, self);
}

static void run_coroutines(void)
{
    for (int i = 0; i < 4; i++)
        make_coroutine(i);
    for (int round = 0; round < 5; round++)
        for (int i = 0; i < 4; i++)
            swapcontext(&scheduler, &contexts[i]);
}

/* NUMBER bytes each for a thread, a signal handler, four coroutines. */
static void small_stacks(void)
{
    stack_t alternate = {.ss_size = (size_t)number};
    const struct sigaction action = {.sa_handler = calls_of_handler, .sa_flags = SA_ONSTACK};
    pthread_attr_t attributes;
    pthread_t thread;

    begin();
    alternate.ss_sp = make_stack();
    if (number >= PTHREAD_STACK_MIN) {
        pthread_attr_init(&attributes);
        pthread_attr_setstacksize(&attributes, (size_t)number);
        pthread_create(&thread, &attributes, calls_of_thread, NULL);
        pthread_join(thread, NULL);
    }
    run_coroutines();
    sigaltstack(&alternate, NULL);
    sigaction(SIGUSR1, &action, NULL);
    raise(SIGUSR1);
}

/* ---- ways out of a call -------------------------------------------------------------------------
 */

static void leave_call_back(void)
{
    siglongjmp(outside, 1);
}

static void jump_from_call_back(void)
{
    begin();
    for (volatile int i = 0; i < 5; i++)
        if (sigsetjmp(outside, 1) == 0)
            printf("called back: %d\n", gpu_call_back(leave_call_back));
        else
            printf("left\n");
}

static void end_thread(void)
{
    pthread_exit(NULL);
}

static void *end_in_call_back(void *unused)
{
    gpu_call_back(end_thread);
    return NULL;
}

static void exit_from_call_back(void)
{
    pthread_t thread;

    begin();
    for (int i = 0; i < 5; i++) {
        pthread_create(&thread, NULL, end_in_call_back, NULL);
        pthread_join(thread, NULL);
    }
}

static void *call_for_ever(void *unused)
{
    int type;

    if (strcmp(word, "async") == 0)
        pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &type);
    for (;;) {
        gpu_call();
        pthread_testcancel();
    }
    return NULL;
}

static void cancel(void)
{
    begin();
    for (int i = 0; i < 100; i++) {
        pthread_t thread;
        void *result;

        pthread_create(&thread, NULL, call_for_ever, NULL);
        usleep((useconds_t)i * 10); /* lateness does no harm */
        pthread_cancel(thread);
        pthread_join(thread, &result);
        if (result != PTHREAD_CANCELED)
            printf("not cancelled\n");
    }
}

/* ---- ends of threads and processes --------------------------------------------------------------
 */

static pthread_key_t key;

static void end_of_thread(void *rounds)
{
    gpu_call();
    if ((long)rounds > 1)
        pthread_setspecific(key, (void *)((long)rounds - 1));
}

static void *call_at_end(void *unused)
{
    pthread_setspecific(key, (void *)4L);
    return NULL;
}

static void *call_once(void *unused)
{
    gpu_call();
    return NULL;
}

static void thread_ends(void)
{
    pthread_t thread;

    begin();
    pthread_key_create(&key, end_of_thread);
    for (int i = 0; i < 50; i++) {
        pthread_create(&thread, NULL, call_at_end, NULL);
        pthread_join(thread, NULL);
    }
}

static void threads_in_turn(void)
{
    long made = 0;

    begin();
    for (; made < number; made++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, call_once, NULL) != 0)
            break;
        pthread_join(thread, NULL);
    }
    printf("%ld threads\n", made);
}

static bool calls_at_end;

static void at_end(void)
{
    gpu_call();
    work();
    fflush(stdout);
}

static void exits(void)
{
    calls_at_end = true;
    atexit(at_end);
}

__attribute__((destructor)) static void ends(void)
{
    if (calls_at_end) {
        gpu_call();
        printf("destructor\n");
        fflush(stdout);
    }
}

/* ---- processes ----------------------------------------------------------------------------------
 */

static int vfork_once(void)
{
    int status = 0;
    pid_t child;

    fflush(stdout);
    child = vfork();
    if (child == 0) {
        if (number)
            execl("/bin/sh", "sh", "-c", "exit 4", NULL);
        _exit(2);
    }
    waitpid(child, &status, 0);
    return WEXITSTATUS(status);
}

static void vforks(void)
{
    for (int i = 0; i < 5; i++)
        printf("vfork: %d\n", vfork_once());
}

static int lose_shared_files(void *unused)
{
    return (int)syscall(SYS_close_range, 3u, ~0u, 0u);
}

/* A child that shares memory and descriptors, and closes them all. */
static void clone_closes(void)
{
    static char stack[65536] __attribute__((aligned(16)));

    wait_for(
        clone(lose_shared_files, stack + sizeof(stack), CLONE_VM | CLONE_FILES | SIGCHLD, NULL));
}

static void close_all(void)
{
    syscall(SYS_close_range, 3u, ~0u, 0u);
}

static void dup_over(void)
{
    int null = open("/dev/null", O_RDWR);

    for (int fd = 3; fd < 200; fd++)
        if (fd != null)
            dup2(null, fd);
    close(null);
}

static void change_root(void)
{
    say("chroot", chroot("/usr"));
    say("chdir", chdir("/"));
}

static void change_user(void)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    say("group", setresgid(65534, 65534, 65534));
    say("user", setresuid(65534, 65534, 65534));
}

static void namespaces(void)
{
    say("unshare", unshare(CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS |
                           CLONE_NEWCGROUP | CLONE_FS | CLONE_FILES | CLONE_SYSVSEM));
}

static void controls(void)
{
    say("dumpable", prctl(PR_SET_DUMPABLE, 0));
    say("no_new_privs", prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
    say("pdeathsig", prctl(PR_SET_PDEATHSIG, SIGKILL));
    say("subreaper", prctl(PR_SET_CHILD_SUBREAPER, 1));
    say("keepcaps", prctl(PR_SET_KEEPCAPS, 1));
    say("name", prctl(PR_SET_NAME, "odd"));
    say("slack", prctl(PR_SET_TIMERSLACK, 1));
    say("thp", prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0));
}

/* Reading the clock by an instruction is forbidden to this thread and those that it makes. */
static void no_clock(void)
{
    say("tsc", strcmp(word, "number") == 0 ? (int)syscall(SYS_prctl, PR_SET_TSC, PR_TSC_SIGSEGV)
                                           : prctl(PR_SET_TSC, PR_TSC_SIGSEGV));
}

static void lock_memory(void)
{
    say("mlockall", mlockall(MCL_CURRENT | MCL_FUTURE));
}

static void low_addresses(void)
{
    for (uintptr_t at = 0x10000; at < 0x80000000; at += 0x1000000)
        mmap((void *)at, 0x10000, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1,
             0);
}

static void attached(void)
{
    pid_t parent = getpid(), child;

    fflush(stdout);
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
    child = fork();
    if (child == 0) {
        int status;
        for (int i = 0; i < 50; i++) {
            if (ptrace(PTRACE_ATTACH, parent, NULL, NULL) != 0)
                _exit(1);
            waitpid(parent, &status, __WALL);
            ptrace(PTRACE_DETACH, parent, NULL, NULL);
        }
        _exit(6);
    }
    begin();
    for (int i = 0; i < 10; i++)
        gpu_fill(1, 20);
    wait_for(child);
}

/* System calls of programs of the four APIs, their drivers and libc, by strace, and some of their
 * kind. */
static const int plain_calls[] = {SYS_futex,
                                  SYS_mmap,
                                  SYS_openat,
                                  SYS_newfstatat,
                                  SYS_fstat,
                                  SYS_read,
                                  SYS_mprotect,
                                  SYS_close,
                                  SYS_munmap,
                                  SYS_rt_sigaction,
                                  SYS_rt_sigprocmask,
                                  SYS_rt_sigreturn,
                                  SYS_brk,
                                  SYS_access,
                                  SYS_readlink,
                                  SYS_set_robust_list,
                                  SYS_rseq,
                                  SYS_lseek,
                                  SYS_pread64,
                                  SYS_getdents64,
                                  SYS_clone3,
                                  SYS_getrandom,
                                  SYS_write,
                                  SYS_exit_group,
                                  SYS_exit,
                                  SYS_prctl,
                                  SYS_prlimit64,
                                  SYS_sched_setaffinity,
                                  SYS_ftruncate,
                                  SYS_memfd_create,
                                  SYS_sched_getaffinity,
                                  SYS_socket,
                                  SYS_connect,
                                  SYS_getuid,
                                  SYS_geteuid,
                                  SYS_setpriority,
                                  SYS_sched_setscheduler,
                                  SYS_readlinkat,
                                  SYS_madvise,
                                  SYS_gettid,
                                  SYS_getpid,
                                  SYS_clock_nanosleep,
                                  SYS_clock_gettime,
                                  SYS_ioctl,
                                  SYS_sched_yield,
                                  SYS_open,
                                  SYS_stat,
                                  SYS_getgid,
                                  SYS_getegid,
                                  SYS_sysinfo,
                                  SYS_uname,
                                  SYS_fcntl,
                                  SYS_sched_getparam,
                                  SYS_sched_getscheduler,
                                  SYS_pwrite64,
                                  SYS_gettimeofday,
                                  SYS_mremap,
                                  SYS_sendto,
                                  SYS_recvmsg,
                                  SYS_getcwd};

/* System calls that a recording needs, by capture/process/sandbox.c. */
static const int needed_calls[] = {
#include "needed.inc"
};

static unsigned add_calls(struct sock_filter *code, unsigned at, const int *numbers, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        code[at++] =
            (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)numbers[i], 0, 1);
        code[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    }
    return at;
}

/* WORD: what other calls get; NUMBER 1: those that a recording needs are allowed. */
static void sandbox(void)
{
    struct sock_filter code[2 * (sizeof(plain_calls) + sizeof(needed_calls)) / sizeof(int) + 2] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
    };
    struct sock_fprog program = {.filter = code};
    unsigned at = add_calls(code, 1, plain_calls, sizeof(plain_calls) / sizeof(int));

    if (number)
        at = add_calls(code, at, needed_calls, sizeof(needed_calls) / sizeof(int));
    code[at++] = (struct sock_filter)BPF_STMT(
        BPF_RET | BPF_K, strcmp(word, "kill") == 0   ? SECCOMP_RET_KILL_PROCESS
                         : strcmp(word, "trap") == 0 ? SECCOMP_RET_TRAP
                                                     : SECCOMP_RET_ERRNO | EPERM);
    program.len = (unsigned short)at;
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    say("seccomp", prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program));
}

/* ---- libraries ----------------------------------------------------------------------------------
 */

static void reopen(void)
{
    int more = strcmp(word, "deep") == 0 ? RTLD_DEEPBIND : 0;

    for (int i = 0; gpu_library && i < 20; i++) {
        void *library = dlopen(gpu_library, RTLD_NOW | more);
        gpu_call_in(library);
        dlclose(library);
    }
}

static void nothing(void) {}

static void wait_for_signal(void)
{
    begin();
    signal(SIGUSR2, tick);
    printf("ready\n");
    fflush(stdout);
    while (!ticks)
        gpu_call();
}

#define ACT(name)                                                                                  \
    {                                                                                              \
#name, name                                                                                \
    }

static const struct {
    const char *name;
    void (*act)(void);
} acts[] = {
    ACT(limit),        ACT(limit_handled),   ACT(limit_ignored), ACT(realtime),
    ACT(stop_storm),   ACT(timer_storm),     ACT(handler_forks), ACT(leave_by_timer),
    ACT(ignore_pipe),  ACT(small_stacks),    ACT(exits),         ACT(jump_from_call_back),
    ACT(cancel),       ACT(thread_ends),     ACT(vforks),        ACT(exit_from_call_back),
    ACT(clone_closes), ACT(close_all),       ACT(dup_over),      ACT(threads_in_turn),
    ACT(change_root),  ACT(change_user),     ACT(namespaces),    ACT(controls),
    ACT(no_clock),     ACT(lock_memory),     ACT(low_addresses), ACT(attached),
    ACT(reopen),       ACT(wait_for_signal), ACT(nothing),       ACT(sandbox),
};

int main(int argc, char **argv)
{
    bool amid = argc > 1 && strcmp(argv[1], "--amid") == 0;

    argv += amid;
    argc -= amid;
    word = argc > 2 ? argv[2] : "";
    number = argc > 3 ? atol(argv[3]) : 0;
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (amid) {
        begin();
        work();
    }
    for (size_t i = 0; argc > 1 && i < sizeof(acts) / sizeof(*acts); i++)
        if (strcmp(acts[i].name, argv[1]) == 0)
            acts[i].act();
    begin();
    work();
    return 5;
}
