/* SPDX-License-Identifier: Apache-2.0
 *
 * Odd processes: each act uses the GPU before, does something uncommon, and uses it again. The
 * first argument names the act; what is printed does not depend on time, addresses or process ids.
 * host_trouble.c has more of the kind.
 */
#include "tests/programs/program.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>

static CUdeviceptr memory;
static CUcontext context;
static int argument; /* the second one of the program */
static char **words; /* its argv */

static void begin(void)
{
    program_begin(&context);
    CU(cuMemAlloc_v2(&memory, 4096));
}

static unsigned sum_of_fills(unsigned char first, int count)
{
    unsigned char bytes[4096];
    unsigned sum = 0;

    for (int i = 0; i < count; i++) {
        CU(cuMemsetD8_v2(memory, (unsigned char)(first + i), sizeof(bytes)));
        CU(cuMemcpyDtoH_v2(bytes, memory, sizeof(bytes)));
        sum += bytes[i];
    }
    return sum;
}

static void work(void)
{
    printf("sum %u\n", sum_of_fills(1, 20));
}

/* A context of the child's own. */
static void work_in_child(void)
{
    begin();
    work();
    fflush(stdout);
}

static void wait_for_end(int of_pipe)
{
    char byte;

    while (read(of_pipe, &byte, 1) > 0)
        ;
    close(of_pipe);
}

static void wait_for(pid_t child)
{
    int status = 0;

    if (child < 0 || waitpid(child, &status, __WALL) != child)
        printf("no child\n");
    else
        printf("child ended: %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status));
}

/* ---- processes ----------------------------------------------------------------------------------
 */

static void daemonise(void)
{
    int alive[2];
    pid_t child;

    if (pipe(alive) != 0)
        exit(9);
    child = fork();
    if (child != 0) {
        close(alive[1]);
        wait_for_end(alive[0]);
        wait_for(child);
        return;
    }
    setsid();
    child = fork();
    if (child != 0)
        _exit(0);
    for (int fd = 3; fd < 1024; fd++)
        if (fd != alive[1])
            close(fd);
    if (chdir("/") != 0)
        _exit(1);
    work_in_child();
    exit(0);
}

static int cloned(void *unused)
{
    return 7;
}

static void clone_shared(void)
{
    static char stack[65536] __attribute__((aligned(16)));

    wait_for(clone(cloned, stack + sizeof(stack), CLONE_VM | CLONE_FILES | SIGCHLD, NULL));
    wait_for(clone(cloned, stack + sizeof(stack), CLONE_VM | CLONE_VFORK | SIGCHLD, NULL));
    wait_for(clone(cloned, stack + sizeof(stack), SIGCHLD, NULL));
}

/* No libc function knows of this child. */
static void raw_fork(void)
{
    pid_t child = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);

    if (child == 0)
        syscall(SYS_exit_group, 8);
    wait_for(child);
}

static void spawn(void)
{
    char *const command[] = {(char *)"sh", (char *)"-c", (char *)"echo spawned; exit 3", NULL};
    pid_t child = -1;

    fflush(stdout);
    if (posix_spawnp(&child, "sh", NULL, NULL, command, environ) == 0)
        wait_for(child);
}

extern int spawn_old(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
                     const posix_spawnattr_t *attributes, char *const argv[], char *const envp[]);
extern int spawnp_old(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
                      const posix_spawnattr_t *attributes, char *const argv[], char *const envp[]);
__asm__(".symver spawn_old, posix_spawn@GLIBC_2.2.5");
__asm__(".symver spawnp_old, posix_spawnp@GLIBC_2.2.5");

/* A file without "#!": programs of before glibc 2.15 have the shell run it. */
static void spawn_versions(void)
{
    int (*const ways[])(pid_t *, const char *, const posix_spawn_file_actions_t *,
                        const posix_spawnattr_t *, char *const[], char *const[]) = {
        posix_spawn, posix_spawnp, spawn_old, spawnp_old};
    char *const command[] = {(char *)"./script", NULL};
    FILE *script = fopen("script", "w");

    fputs("echo by the shell; exit 3\n", script);
    fchmod(fileno(script), 0755);
    fclose(script);
    for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
        pid_t child = -1;
        int error;

        fflush(stdout);
        error = ways[i](&child, command[0], NULL, NULL, command, environ);
        if (error)
            printf("%s\n", strerrorname_np(error));
        else
            wait_for(child);
    }
}

static void forks(void)
{
    for (int i = 0; i < 8; i++) {
        pid_t child;

        fflush(stdout);
        child = fork();
        if (child == 0) {
            work_in_child();
            exit(i);
        }
        wait_for(child);
    }
}

/* Each process image is replaced by the next one. */
static void exec_chain(void)
{
    char number[16];

    if (argument == 0)
        return;
    work();
    fflush(stdout);
    snprintf(number, sizeof(number), "%d", argument - 1);
    execl("/proc/self/exe", words[0], words[1], number, NULL);
}

static void no_arguments(void)
{
    char *const none[] = {NULL};

    if (argument) {
        fflush(stdout);
        setenv("TS_ODD_ACT", "nothing", 1);
        execv("/proc/self/exe", none);
    }
}

static void memory_file(void)
{
    int from = open("/proc/self/exe", O_RDONLY), to = memfd_create("odd", 0);
    char *const command[] = {words[0], (char *)"nothing", NULL};
    char bytes[65536];
    ssize_t got;

    while ((got = read(from, bytes, sizeof(bytes))) > 0)
        if (write(to, bytes, (size_t)got) != got)
            exit(9);
    fflush(stdout);
    fexecve(to, command, environ);
}

static void large_environment(void)
{
    static char value[100000];
    char name[32];

    if (argument == 0)
        return;
    memset(value, 'x', sizeof(value) - 1);
    for (int i = 0; i < 15; i++) {
        snprintf(name, sizeof(name), "LARGE_%d", i);
        setenv(name, value, 1);
    }
    fflush(stdout);
    execl("/proc/self/exe", words[0], words[1], NULL);
    printf("%s\n", strerrorname_np(errno));
}

static void traced_child(void)
{
    int status = 0, stops = 0;
    pid_t child;

    fflush(stdout);
    child = fork();
    if (child == 0) {
        ptrace(PTRACE_TRACEME, 0, NULL, NULL);
        raise(SIGSTOP);
        work_in_child();
        exit(4);
    }
    while (waitpid(child, &status, 0) == child && WIFSTOPPED(status)) {
        stops += WSTOPSIG(status) == SIGSTOP;
        ptrace(PTRACE_SYSCALL, child, NULL, (void *)(long)0);
    }
    printf("traced: %d, %d\n", stops, WEXITSTATUS(status));
}

/* Nobody else's children are ever waited for. */
static void no_children(void)
{
    errno = 0;
    printf("wait: %d %s\n", wait(NULL), strerrorname_np(errno));
}

/* The argument is the way: 0 unshare(), 1 its number, 2 setns(), which is refused, but not for
 * threads. */
static void namespaces(void)
{
    int flags = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWNET | CLONE_FS | CLONE_FILES;
    int fd = open("/proc/self/ns/user", O_RDONLY);

    errno = 0;
    if (argument == 2)
        setns(fd, CLONE_NEWUSER);
    else if (argument == 1)
        syscall(SYS_unshare, flags);
    else
        unshare(flags);
    printf("%s\n", strerrorname_np(errno));
}

/* Only for a process whose threads do not share their folder. */
static void mount_namespace(void)
{
    int fd = open("/proc/self/ns/mnt", O_RDONLY);

    printf("setns: %d\n", setns(fd, CLONE_NEWNS));
}

/* ---- ends ---------------------------------------------------------------------------------------
 */

static void *work_then_exit(void *unused)
{
    usleep(20000); /* the main thread is likely to have ended; it makes no difference */
    CU(cuCtxSetCurrent(context));
    work();
    exit(5);
}

static void main_exits(void)
{
    pthread_t thread;

    pthread_create(&thread, NULL, work_then_exit, NULL);
    pthread_exit(NULL);
}

static void *work_last(void *unused)
{
    int version;

    usleep(20000); /* main() is likely to have ended; it makes no difference */
    printf("%d\n", cuDriverGetVersion(&version));
    return NULL;
}

/* The process ends with status 0 when its last thread returns; the software GPU has none before it
 * is used. */
static void last_thread(void)
{
    pthread_t thread;

    pthread_create(&thread, NULL, work_last, NULL);
    pthread_detach(thread);
    pthread_exit(NULL);
}

static void *busy(void *unused)
{
    int version;

    for (;;)
        cuDriverGetVersion(&version);
    return NULL;
}

static void start_busy(int count)
{
    pthread_t thread;

    for (int i = 0; i < count; i++) {
        pthread_create(&thread, NULL, busy, NULL);
        pthread_detach(thread);
    }
}

static void exit_amid_threads(void)
{
    start_busy(8);
}

static void fork_amid_threads(void)
{
    start_busy(4);
    forks();
}

static void at_end(void)
{
    work();
    fflush(stdout);
}

static void exit_handler(void)
{
    atexit(at_end);
}

static void quick(void)
{
    at_quick_exit(at_end);
    fflush(stdout);
    quick_exit(6);
}

static void end_in_handler(int number)
{
    _exit(11);
}

static void signal_end(void)
{
    signal(SIGALRM, end_in_handler);
    ualarm(3000, 0);
    fflush(stdout);
    for (;;)
        cuMemsetD8_v2(memory, 1, 16);
}

/* The signal is likely to come while the thread holds the heap's lock. */
static void malloc_end(void)
{
    void *volatile bytes;

    signal(SIGALRM, end_in_handler);
    ualarm(3000, 0);
    for (;;) {
        bytes = malloc(5000);
        free(bytes);
    }
}

static void kill_self(void)
{
    fflush(stdout);
    raise(argument);
}

/* ---- signals ------------------------------------------------------------------------------------
 */

static volatile sig_atomic_t storms;

static void count_storm(int number)
{
    storms++;
}

static void *storm(void *target)
{
    for (int i = 0; i < 20000; i++)
        pthread_kill(*(pthread_t *)target, i % 2 ? SIGUSR1 : SIGRTMIN + 3);
    return NULL;
}

static void signal_storm(void)
{
    static char stack[65536];
    stack_t alternate = {.ss_sp = stack, .ss_size = sizeof(stack)};
    struct sigaction action = {.sa_handler = count_storm, .sa_flags = SA_ONSTACK};
    pthread_t self = pthread_self(), threads[2];

    sigaltstack(&alternate, NULL);
    sigaction(SIGUSR1, &action, NULL);
    sigaction(SIGRTMIN + 3, &action, NULL);
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, storm, &self);
    for (int i = 0; i < 20; i++)
        sum_of_fills(1, 20);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    printf("signals: %d\n", storms > 0);
}

static void all_blocked(void)
{
    sigset_t all;

    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, NULL);
    for (int i = 1; i < 32; i++)
        signal(i, SIG_IGN);
}

static char *guarded;

static void unguard(int number)
{
    mprotect(guarded, 1 << 20, PROT_READ | PROT_WRITE);
}

/* Makes memory readable when it is touched, as garbage collectors do. */
static void faulting_source(void)
{
    guarded = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(guarded, 3, 1 << 20);
    mprotect(guarded, 1 << 20, PROT_NONE);
    signal(SIGSEGV, unguard);
    CU(cuMemcpyHtoD_v2(memory, guarded, 4096));
    signal(SIGSEGV, SIG_DFL);
}

static sigjmp_buf before_fault;
static CUstream left_stream;

static void leave_call(int number)
{
    siglongjmp(before_fault, 1);
}

/* A first use of the stream by another thread. */
static void *fill_left_stream(void *unused)
{
    CU(cuCtxSetCurrent(context));
    for (int i = 0; i < 3; i++)
        CU(cuMemsetD8Async(memory, 5, 16, left_stream));
    CU(cuStreamSynchronize(left_stream));
    return NULL;
}

/* A handler that leaves a call which sends work; then other threads send to the same stream. */
static void leave_by_fault(void)
{
    char *none = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    pthread_t thread;
    CUmodule module;
    CUfunction kernel;

    CU(cuModuleLoad(&module, getenv("TS_TEST_PTX")));
    CU(cuModuleGetFunction(&kernel, module, "saxpy"));
    CU(cuStreamCreate(&left_stream, CU_STREAM_NON_BLOCKING));
    signal(SIGSEGV, leave_call);
    if (sigsetjmp(before_fault, 1) == 0) {
        cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, left_stream, (void **)(void *)none, NULL);
        printf("not left\n");
    }
    signal(SIGSEGV, SIG_DFL);
    for (int i = 0; i < 2; i++) {
        pthread_create(&thread, NULL, fill_left_stream, NULL);
        pthread_join(thread, NULL);
    }
}

/* ---- what a process forbids itself --------------------------------------------------------------
 */

static void strict(void)
{
    char text[64];
    int size;

    fflush(stdout);
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) != 0)
        exit(77);
    size = snprintf(text, sizeof(text), "strict\n");
    if (write(1, text, (size_t)size) != size)
        syscall(SYS_exit, 1);
    syscall(SYS_exit, 12);
}

static void not_dumpable(void)
{
    prctl(PR_SET_DUMPABLE, 0);
}

static void locked_memory(void)
{
    struct rlimit limit = {64 << 20, 64 << 20};

    setrlimit(RLIMIT_MEMLOCK, &limit);
    if (mlockall(MCL_FUTURE) != 0)
        printf("no\n");
}

static void limited(void)
{
    static const struct {
        int what;
        rlim_t value;
    } limits[] = {{RLIMIT_CORE, 0}, {RLIMIT_SIGPENDING, 0}, {RLIMIT_MSGQUEUE, 0},
                  {RLIMIT_NICE, 0}, {RLIMIT_MEMLOCK, 0},    {RLIMIT_NOFILE, 0}};

    for (size_t i = 0; i < sizeof(limits) / sizeof(*limits); i++) {
        struct rlimit limit = {limits[i].value, limits[i].value};
        setrlimit((__rlimit_resource_t)limits[i].what, &limit);
    }
}

static void landlock(void)
{
    struct {
        uint64_t handled;
    } attributes = {0x1ff2}; /* all but reading and executing */
    int rules = (int)syscall(444, &attributes, sizeof(attributes), 0u);

    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    printf("landlock: %s\n", rules >= 0 && syscall(446, rules, 0u) == 0 ? "on" : "not here");
    if (rules >= 0)
        close(rules);
}

/* ---- libraries, memory, the kernel's other doors
 * -------------------------------------------------
 */

static void *emulator(void)
{
    char path[4096];

    snprintf(path, sizeof(path), "%s/libcuda.so.1", getenv("TEST_EMU"));
    return strdup(path);
}

static void reopen(void)
{
    for (int i = 0; i < 20; i++) {
        void *library = dlopen(emulator(), RTLD_NOW | (i % 2 ? RTLD_GLOBAL : RTLD_LOCAL));
        CUresult (*version)(int *) = (CUresult(*)(int *))dlsym(library, "cuDriverGetVersion");
        int number = 0;

        printf("%d", version(&number));
        dlclose(library);
    }
    printf("\n");
}

static void other_namespace(void)
{
    void *library = dlmopen(LM_ID_NEWLM, emulator(), RTLD_NOW);
    CUresult (*initialise)(unsigned) =
        library ? (CUresult(*)(unsigned))dlsym(library, "cuInit") : NULL;

    printf("%s\n", !library ? dlerror() : initialise && initialise(0) == 0 ? "another one" : "no");
}

static void ring(void)
{
    struct io_uring_params parameters = {0};
    int fd = (int)syscall(SYS_io_uring_setup, 4u, &parameters);
    struct io_uring_sqe *entries;
    unsigned char *queue;
    unsigned *tail;

    if (fd < 0) {
        printf("no io_uring: %s\n", strerrorname_np(errno));
        return;
    }
    queue = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, IORING_OFF_SQ_RING);
    entries = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, IORING_OFF_SQES);
    if (queue == MAP_FAILED || (void *)entries == MAP_FAILED)
        exit(9);
    entries[0] = (struct io_uring_sqe){.opcode = IORING_OP_NOP};
    *(unsigned *)(void *)(queue + parameters.sq_off.array) = 0;
    tail = (unsigned *)(void *)(queue + parameters.sq_off.tail);
    __atomic_store_n(tail, *tail + 1, __ATOMIC_RELEASE);
    printf("io_uring: %ld\n",
           syscall(SYS_io_uring_enter, fd, 1u, 1u, (unsigned)IORING_ENTER_GETEVENTS, NULL, 0u));
}

static ucontext_t outside, inside;

static void on_other_stack(void)
{
    work();
}

static void coroutine(void)
{
    static char stack[1 << 18];

    getcontext(&inside);
    inside.uc_stack.ss_sp = stack;
    inside.uc_stack.ss_size = sizeof(stack);
    inside.uc_link = &outside;
    makecontext(&inside, on_other_stack, 0);
    swapcontext(&outside, &inside);
}

/* The argument is what goes: 1 descriptors of files, 2 the folder, 3 the environment. */
static void lose(void)
{
    char folder[] = "/tmp/odd.XXXXXX";

    if (argument == 1)
        for (int fd = 3; fd < 4096; fd++)
            close(fd);
    if (argument == 2 && (!mkdtemp(folder) || chdir(folder) != 0 || rmdir(folder) != 0))
        printf("no\n");
    if (argument == 3)
        environ = NULL;
}

static void nothing(void) {}

static const struct {
    const char *name;
    void (*act)(void);
} acts[] = {
    {"daemonise", daemonise},
    {"clone_shared", clone_shared},
    {"raw_fork", raw_fork},
    {"spawn", spawn},
    {"spawn_versions", spawn_versions},
    {"forks", forks},
    {"exec_chain", exec_chain},
    {"no_arguments", no_arguments},
    {"memory_file", memory_file},
    {"large_environment", large_environment},
    {"traced_child", traced_child},
    {"no_children", no_children},
    {"namespaces", namespaces},
    {"mount_namespace", mount_namespace},
    {"main_exits", main_exits},
    {"last_thread", last_thread},
    {"exit_amid_threads", exit_amid_threads},
    {"fork_amid_threads", fork_amid_threads},
    {"exit_handler", exit_handler},
    {"quick", quick},
    {"signal_end", signal_end},
    {"malloc_end", malloc_end},
    {"kill_self", kill_self},
    {"signal_storm", signal_storm},
    {"all_blocked", all_blocked},
    {"faulting_source", faulting_source},
    {"leave_by_fault", leave_by_fault},
    {"strict", strict},
    {"not_dumpable", not_dumpable},
    {"locked_memory", locked_memory},
    {"limited", limited},
    {"landlock", landlock},
    {"reopen", reopen},
    {"other_namespace", other_namespace},
    {"ring", ring},
    {"coroutine", coroutine},
    {"lose", lose},
    {"nothing", nothing},
};

/* usage: odd [--late] ACT [NUMBER]: with --late the GPU is not used before the act. */
int main(int argc, char **argv)
{
    bool late = argc > 1 && strcmp(argv[1], "--late") == 0;
    const char *name = getenv("TS_ODD_ACT");

    words = argv + late;
    if (argc - late > 1)
        name = words[1];
    argument = argc - late > 2 ? atoi(words[2]) : 0;
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (!late)
        begin();
    for (size_t i = 0; i < sizeof(acts) / sizeof(*acts); i++) {
        if (name && strcmp(acts[i].name, name) == 0)
            acts[i].act();
    }
    if (late)
        begin();
    work();
    return 5;
}
