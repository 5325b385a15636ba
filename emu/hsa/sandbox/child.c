/* SPDX-License-Identifier: Apache-2.0
 *
 * The sandbox's main program: gives up everything that it does not need, then carries out commands.
 * It is started with an empty environment and three files (sandbox.h).
 */
#include "emu/hsa/sandbox/child.h"

#include <errno.h>
#include <linux/futex.h>
#include <malloc.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "emu/hsa/group.h"

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

#define STACK_SIZE  ((size_t)8 << 20)
#define SIGNAL_SIZE 65536u
#define PRIVATE_SIZE_MAX                                                                           \
    ((rlim_t)4 << 30) /* bytes of its own: stacks, and what kernels allocate                       \
                       */
/* The GPU's memory and its own. What is mapped and only read costs the kernel tables of pages. */
#define ADDRESS_SIZE_MAX ((rlim_t)1 << 40)
#define CPU_SECONDS_MAX  ((rlim_t)86400)

static struct sandbox_control *control;
static __thread uint32_t own_slot;

/* ---- commands ----------------------------------------------------------------------------------
 */

static uint32_t map(const uint64_t *a)
{
    void *wanted = (void *)(uintptr_t)a[0];
    void *got = mmap(wanted, a[1], (int)a[3], MAP_SHARED | MAP_NORESERVE | MAP_FIXED_NOREPLACE,
                     (int)a[4], (off_t)a[2]);

    if (got == wanted)
        return SANDBOX_OK;
    if (got != MAP_FAILED)
        munmap(got, a[1]);
    return got != MAP_FAILED || errno == EEXIST ? SANDBOX_TAKEN : SANDBOX_NO_MEMORY;
}

static uint32_t run(const uint64_t *a)
{
    struct emu_hsa_group group = {
        .item = {.grid_size = {(uint32_t)a[2], (uint32_t)a[3], (uint32_t)a[4]},
                 .group_size = {(uint32_t)a[5], (uint32_t)a[6], (uint32_t)a[7]}},
        .kernel = (const void *)(uintptr_t)a[0],
        .arguments = (const void *)(uintptr_t)a[1],
    };
    hsa_status_t status = emu_hsa_grid_run(&group, (uint32_t)a[8]);

    return group.is_wrong                 ? SANDBOX_BARRIER
           : status == HSA_STATUS_SUCCESS ? SANDBOX_OK
                                          : SANDBOX_NO_MEMORY;
}

static uint32_t perform(const uint64_t *a)
{
    hsa_agent_dispatch_packet_t packet;

    memcpy(&packet, a, sizeof(packet));
    emu_hsa_function_run(&packet);
    return SANDBOX_OK;
}

static uint32_t carry_out(struct sandbox_slot *slot)
{
    const uint64_t *a = slot->arguments;

    switch (slot->command) {
    case SANDBOX_MAP:
        return map(a);
    case SANDBOX_UNMAP:
        return munmap((void *)(uintptr_t)a[0], a[1]) == 0 ? SANDBOX_OK : SANDBOX_ARGUMENT;
    case SANDBOX_LOAD:
        *slot->text = '\0';
        return emu_hsa_child_load((const void *)(uintptr_t)a[0], a[1], (void *)(uintptr_t)a[2],
                                  a[3], slot->text);
    case SANDBOX_RUN:
        return run(a);
    case SANDBOX_PERFORM:
        return perform(a);
    default:
        return SANDBOX_ARGUMENT;
    }
}

static void futex(uint32_t *word, int operation, uint32_t value)
{
    syscall(SYS_futex, word, operation, value, NULL, NULL, 0);
}

static bool is_asked(const struct sandbox_slot *slot)
{
    uint32_t state = __atomic_load_n(&slot->state, __ATOMIC_ACQUIRE);

    return state == SANDBOX_REQUEST || state == SANDBOX_REQUEST_ASLEEP;
}

/* Sleeps at once: the next command comes, as a rule, when another thread of the replay has run. */
static void await_request(struct sandbox_slot *slot)
{
    while (!is_asked(slot)) {
        uint32_t state = __atomic_load_n(&slot->state, __ATOMIC_ACQUIRE);
        if (state == SANDBOX_WORKER_ASLEEP) {
            futex(&slot->state, FUTEX_WAIT, SANDBOX_WORKER_ASLEEP);
        } else if (state == SANDBOX_IDLE || state == SANDBOX_DONE) {
            __atomic_compare_exchange_n(&slot->state, &state, SANDBOX_WORKER_ASLEEP, false,
                                        __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
        }
    }
}

/* Serves a slot for ever. */
static void *work(void *number)
{
    struct sandbox_slot *slot;

    own_slot = (uint32_t)(uintptr_t)number;
    slot = &control->slots[own_slot];
    for (;;) {
        await_request(slot);
        __atomic_store_n(&slot->result, carry_out(slot), __ATOMIC_RELAXED);
        if (__atomic_exchange_n(&slot->state, SANDBOX_DONE, __ATOMIC_ACQ_REL) ==
            SANDBOX_REQUEST_ASLEEP)
            futex(&slot->state, FUTEX_WAKE, 1);
    }
    return NULL;
}

/* ---- the end -----------------------------------------------------------------------------------
 */

static void on_signal(int number, siginfo_t *info, void *unused)
{
    uint32_t none = 0;

    control->slot = own_slot;
    if (number == SIGSYS)
        control->system_call = (uint32_t)info->si_syscall;
    else
        control->address = (uintptr_t)info->si_addr;
    __atomic_compare_exchange_n(&control->signal, &none, (uint32_t)number, false, __ATOMIC_ACQ_REL,
                                __ATOMIC_ACQUIRE);
    syscall(SYS_exit_group, 1);
}

/* ---- the beginning -----------------------------------------------------------------------------
 */

static _Noreturn void refuse(enum sandbox_stage stage)
{
    control->failed_errno = (uint32_t)errno;
    control->failed_stage = stage;
    syscall(SYS_exit_group, 2);
    for (;;) {
    }
}

/* Opens the control memory. Returns false if the software GPU did not start this process. */
static bool open_control(void)
{
    void *got =
        mmap(NULL, sizeof(*control), PROT_READ | PROT_WRITE, MAP_SHARED, SANDBOX_CONTROL, 0);

    control = got;
    return got != MAP_FAILED;
}

/* The kernel ends this process with the one that started it. */
static void follow_parent(void)
{
    if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0)
        refuse(SANDBOX_STAGE_PARENT);
    if ((uint32_t)getppid() != control->parent) {
        errno = ESRCH;
        refuse(SANDBOX_STAGE_PARENT);
    }
}

/* Only the GPU's memory stays open. */
static void close_files(void)
{
    struct rlimit limit = {0};

    for (int file = 0; file < SANDBOX_ARENA; file++)
        close(file);
    if (syscall(SYS_close_range, (unsigned)SANDBOX_CONTROL, ~0u, 0) == 0)
        return;
    if (errno != ENOSYS || getrlimit(RLIMIT_NOFILE, &limit) != 0)
        refuse(SANDBOX_STAGE_FILES);
    for (rlim_t file = SANDBOX_CONTROL; file < limit.rlim_cur && file < (1u << 20); file++)
        close((int)file);
}

static void handle_signals(void)
{
    static const int numbers[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGSYS};
    struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    sigset_t none;

    sigemptyset(&none);
    sigfillset(&action.sa_mask);
    for (unsigned i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        if (sigaction(numbers[i], &action, NULL) != 0)
            refuse(SANDBOX_STAGE_SIGNALS);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

/* A stack for the handler, also of a kernel that has used up its own. */
static void take_signal_stack(void)
{
    stack_t stack = {.ss_size = SIGNAL_SIZE};

    stack.ss_sp =
        mmap(NULL, SIGNAL_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (stack.ss_sp == MAP_FAILED || sigaltstack(&stack, NULL) != 0)
        refuse(SANDBOX_STAGE_SIGNALS);
}

static pthread_barrier_t all_there;

static void *start_thread(void *number)
{
    take_signal_stack();
    pthread_barrier_wait(&all_there);
    return work(number);
}

/* All threads that there will ever be. */
static void make_threads(void)
{
    pthread_attr_t attributes;
    pthread_t thread;

    pthread_barrier_init(&all_there, NULL, SANDBOX_SLOT_COUNT);
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_SIZE);
    for (uintptr_t i = 1; i < SANDBOX_SLOT_COUNT; i++) {
        errno = pthread_create(&thread, &attributes, start_thread, (void *)i);
        if (errno)
            refuse(SANDBOX_STAGE_THREADS);
    }
    take_signal_stack();
    pthread_barrier_wait(&all_there);
}

static void limit(int resource, rlim_t most)
{
    const struct rlimit value = {most, most};

    if (setrlimit((__rlimit_resource_t)resource, &value) != 0)
        refuse(SANDBOX_STAGE_LIMITS);
}

/* Unless less is allowed already. */
static void limit_more(int resource, rlim_t most)
{
    struct rlimit now;

    if (getrlimit((__rlimit_resource_t)resource, &now) != 0)
        refuse(SANDBOX_STAGE_LIMITS);
    limit(resource, now.rlim_max < most ? now.rlim_max : most);
}

static void limit_all(void)
{
    limit_more(RLIMIT_DATA, PRIVATE_SIZE_MAX);
    limit_more(RLIMIT_AS, ADDRESS_SIZE_MAX);
    limit(RLIMIT_CORE, 0);
    limit(RLIMIT_FSIZE, 0);
    limit(RLIMIT_MEMLOCK, 0);
    limit(RLIMIT_NOFILE, 0);
    limit(RLIMIT_NPROC, 0);
    limit(RLIMIT_CPU, CPU_SECONDS_MAX);
}

int main(void)
{
    static volatile double one = 1;

    if (!open_control()) {
        fprintf(stderr,
                SANDBOX_NAME ": the software GPU starts it for a replay; nobody else can\n");
        return 2;
    }
    follow_parent();
    close_files();
    mallopt(M_ARENA_MAX, 1); /* more would look for the number of processors, in files */
    free(malloc(1));
    one = cos(one); /* links the mathematical library, for kernels */
    handle_signals();
    make_threads();
    limit_all();
    if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        refuse(SANDBOX_STAGE_PRIVILEGES);
    if (!emu_hsa_child_filter())
        refuse(SANDBOX_STAGE_FILTER);
    __atomic_store_n(&control->is_ready, 1, __ATOMIC_RELEASE);
    futex(&control->is_ready, FUTEX_WAKE, 1);
    work(NULL);
    return 0;
}
