/* SPDX-License-Identifier: Apache-2.0
 *
 * The sandbox's process as the replaying process sees it: starts it, talks to it through the slots
 * of the control file, says how it ended.
 *
 * A thread of its own starts the process and waits for its end: the kernel kills a child when the
 * thread that made it goes (PR_SET_PDEATHSIG), and this one stays as long as the process.
 */
#include "emu/hsa/sandbox/sandbox.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "api/hsa/sandbox.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "base/thread.h"
#include "emu/hsa/runtime.h"

#define SPIN_COUNT  100u /* a few us */
#define SLICE_NS    100000000u
#define START_NS    ((uint64_t)30 * 1000000000u)
#define DEFAULT_NS  ((uint64_t)60 * 1000000000u)
#define FIRST_SPARE 10 /* descriptors below are the sandbox's */
#define NAME_SIZE   128u
#define WHY_SIZE    512u

static struct {
    pthread_mutex_t lock; /* of what follows */
    pthread_cond_t changed;
    bool is_started, is_ready, is_over, is_failed, is_stopping;
    int files[3]; /* arena, constants, control */
    int status;   /* of waitpid() */
    int spawn_errno;
    pid_t process;
    pthread_t keeper;
    struct sandbox_control *control;
    bool busy[SANDBOX_SLOT_COUNT];
    char names[SANDBOX_SLOT_COUNT][NAME_SIZE]; /* of the commands that run there */
    uint64_t timeout_ns;
    char why[WHY_SIZE]; /* the first failure */
} sandbox = {.lock = PTHREAD_MUTEX_INITIALIZER,
             .changed = PTHREAD_COND_INITIALIZER,
             .timeout_ns = DEFAULT_NS};

/* ---- failures ----------------------------------------------------------------------------------
 */

void emu_hsa_sandbox_fail(const char *format, ...)
{
    char text[WHY_SIZE];
    va_list ap;

    va_start(ap, format);
    tsm_vformat(text, sizeof(text), format, ap);
    va_end(ap);
    tsm_log(TSM_LOG_INFO, "%s", text);
    pthread_mutex_lock(&sandbox.lock);
    if (!*sandbox.why)
        tsm_format(sandbox.why, sizeof(sandbox.why), "%s", text);
    pthread_mutex_unlock(&sandbox.lock);
}

EMU_HSA_EXPORT void tracesmith_hsa_sandbox_why(char *out, size_t size)
{
    pthread_mutex_lock(&sandbox.lock);
    tsm_format(out, size, "%s", sandbox.why);
    pthread_mutex_unlock(&sandbox.lock);
}

void emu_hsa_sandbox_set_timeout(uint64_t timeout_ns)
{
    pthread_mutex_lock(&sandbox.lock);
    sandbox.timeout_ns = timeout_ns ? timeout_ns : DEFAULT_NS;
    *sandbox.why = '\0';
    pthread_mutex_unlock(&sandbox.lock);
}

/* ---- the end -----------------------------------------------------------------------------------
 */

static const char *signal_text(uint32_t signal)
{
    switch (signal) {
    case SIGSEGV:
    case SIGBUS:
        return "a memory fault";
    case SIGILL:
        return "an illegal instruction";
    case SIGFPE:
        return "an arithmetic error";
    case SIGTRAP:
        return "a breakpoint";
    default:
        return "a signal";
    }
}

/* Reports the sandbox's own words about its end; all of them may be a lie. Returns false if there
 * are none. */
static bool tell_reported(void)
{
    const struct sandbox_control *control = sandbox.control;
    uint32_t signal = __atomic_load_n(&control->signal, __ATOMIC_ACQUIRE);
    uint32_t slot = __atomic_load_n(&control->slot, __ATOMIC_RELAXED);
    const char *name = slot < SANDBOX_SLOT_COUNT && *sandbox.names[slot] ? sandbox.names[slot]
                                                                         : "code of the trace";

    if (!signal)
        return false;
    if (signal == SIGSYS)
        emu_hsa_sandbox_fail("%s: it made system call %u, which the sandbox refuses: code of a "
                             "trace may only compute. Only if you trust whoever made the trace: "
                             "--trust-code",
                             name, __atomic_load_n(&control->system_call, __ATOMIC_RELAXED));
    else
        emu_hsa_sandbox_fail(
            "%s: %s (signal %u) at address 0x%llx, which is no memory of the GPU that it may use",
            name, signal_text(signal), signal,
            (unsigned long long)__atomic_load_n(&control->address, __ATOMIC_RELAXED));
    return true;
}

static void tell_end(int status)
{
    if (tell_reported())
        return;
    if (WIFSIGNALED(status))
        emu_hsa_sandbox_fail("the process in which code of the trace runs was killed by signal %d",
                             WTERMSIG(status));
    else
        emu_hsa_sandbox_fail("code of the trace ended the process in which it runs (status %d)",
                             WEXITSTATUS(status));
}

static void wake(uint32_t *word)
{
    syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

static void declare_over(int status)
{
    pthread_mutex_lock(&sandbox.lock);
    bool tells = !sandbox.is_stopping && !sandbox.is_failed && sandbox.is_ready;
    sandbox.status = status;
    pthread_mutex_unlock(&sandbox.lock);
    if (tells)
        tell_end(status);
    pthread_mutex_lock(&sandbox.lock);
    __atomic_store_n(&sandbox.is_over, true, __ATOMIC_RELEASE);
    pthread_cond_broadcast(&sandbox.changed);
    pthread_mutex_unlock(&sandbox.lock);
    wake(&sandbox.control->is_ready);
    for (uint32_t i = 0; i < SANDBOX_SLOT_COUNT; i++)
        wake(&sandbox.control->slots[i].state);
}

/* ---- the beginning -----------------------------------------------------------------------------
 */

/* The sandbox's program lies beside this library. */
static bool find_program(char *out, size_t size)
{
    char *slash;
    Dl_info info;

    if (!dladdr((void *)(uintptr_t)find_program, &info) || !info.dli_fname)
        return false;
    tsm_format(out, size, "%s", info.dli_fname);
    slash = strrchr(out, '/');
    if (!slash)
        return false;
    tsm_format(slash + 1, size - (size_t)(slash + 1 - out), SANDBOX_NAME);
    return access(out, X_OK) == 0;
}

/* In the child of vfork(), with everything but descriptors shared. The legacy layout puts the
 * sandbox's own libraries where no program has memory, so the GPU's addresses are free there. */
static void become_sandbox(const char *path, const int files[3])
{
    char *const argv[] = {(char *)(uintptr_t)SANDBOX_NAME, NULL}, *const envp[] = {NULL};
    int personality_now = personality(0xffffffff);

    for (int i = 0; i < 3; i++)
        if (dup2(files[i], SANDBOX_ARENA + i) < 0)
            return;
    if (personality_now >= 0)
        personality(((unsigned long)personality_now & ~(unsigned long)ADDR_NO_RANDOMIZE) |
                    ADDR_COMPAT_LAYOUT);
    syscall(SYS_execve, path, argv, envp);
}

static pid_t spawn(const char *path, const int files[3], int *error)
{
    volatile int failed = 0;
    sigset_t all, before;
    pid_t process;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    process = vfork();
    if (process == 0) {
        become_sandbox(path, files);
        failed = errno;
        _exit(127);
    }
    *error = process < 0 ? errno : failed;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return process;
}

static void *keep(void *unused)
{
    char path[PATH_MAX];
    int status = 0, error = ENOENT;
    pid_t process = find_program(path, sizeof(path)) ? spawn(path, sandbox.files, &error) : -1;

    pthread_mutex_lock(&sandbox.lock);
    sandbox.process = process;
    sandbox.spawn_errno = error;
    /* It may have been ready, and its work over, before this thread got here: nobody else kills it.
     */
    if (sandbox.is_stopping && process > 0)
        kill(process, SIGKILL);
    pthread_cond_broadcast(&sandbox.changed);
    pthread_mutex_unlock(&sandbox.lock);
    while (process > 0 && waitpid(process, &status, 0) < 0 && errno == EINTR) {
    }
    declare_over(status);
    return NULL;
}

static bool make_control(void)
{
    int file = memfd_create("tracesmith-sandbox", MFD_CLOEXEC);
    void *got = MAP_FAILED;

    if (file >= 0 && ftruncate(file, sizeof(*sandbox.control)) == 0)
        got = mmap(NULL, sizeof(*sandbox.control), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (got == MAP_FAILED) {
        if (file >= 0)
            close(file);
        return false;
    }
    sandbox.control = got;
    sandbox.control->parent = (uint32_t)getpid();
    sandbox.files[2] = file;
    return true;
}

/* Copies above the numbers that the sandbox gives them, so that none is in another's way. */
static bool raise_files(int arena, int constants)
{
    int given[3] = {arena, constants, sandbox.files[2]};

    for (int i = 0; i < 3; i++) {
        sandbox.files[i] = fcntl(given[i], F_DUPFD_CLOEXEC, FIRST_SPARE);
        if (sandbox.files[i] < 0)
            return false;
    }
    close(given[2]);
    return true;
}

static const char *stage_text(uint32_t stage)
{
    static const char *const texts[] = {
        [SANDBOX_STAGE_NONE] = "starting it",       [SANDBOX_STAGE_PARENT] = "finding its parent",
        [SANDBOX_STAGE_FILES] = "closing files",    [SANDBOX_STAGE_SIGNALS] = "handling signals",
        [SANDBOX_STAGE_THREADS] = "making threads", [SANDBOX_STAGE_LIMITS] = "setting limits",
        [SANDBOX_STAGE_PRIVILEGES] = "prctl",       [SANDBOX_STAGE_FILTER] = "seccomp",
    };

    return stage < sizeof(texts) / sizeof(texts[0]) ? texts[stage] : "?";
}

static void tell_no_start(void)
{
    uint32_t stage = sandbox.control ? sandbox.control->failed_stage : 0;
    int error = stage ? (int)sandbox.control->failed_errno : sandbox.spawn_errno;

    emu_hsa_sandbox_fail("code of the trace does not run: its sandbox cannot be set up (%s: %s). "
                         "Only if you trust whoever made the trace: --trust-code runs it without",
                         stage_text(stage), tsm_errno_text(error));
}

/* The lock is held by nobody else. */
static bool await_ready(void)
{
    uint64_t start = tsm_monotonic_ns();
    const struct timespec slice = {0, SLICE_NS};

    while (!__atomic_load_n(&sandbox.control->is_ready, __ATOMIC_ACQUIRE)) {
        if (__atomic_load_n(&sandbox.is_over, __ATOMIC_ACQUIRE))
            return false;
        if (tsm_monotonic_ns() - start > START_NS) {
            sandbox.spawn_errno = ETIMEDOUT;
            return false;
        }
        syscall(SYS_futex, &sandbox.control->is_ready, FUTEX_WAIT, 0, &slice, NULL, 0);
    }
    return true;
}

bool emu_hsa_sandbox_start(int arena, int constants)
{
    pthread_mutex_lock(&sandbox.lock);
    bool is_new = !sandbox.is_started;
    bool ok = true;
    sandbox.is_started = true;
    if (is_new) {
        ok = make_control() && raise_files(arena, constants);
        if (!ok || tsm_thread_create(&sandbox.keeper, keep, NULL) != 0) {
            sandbox.spawn_errno = errno;
            sandbox.is_failed = sandbox.is_over = true;
            ok = false;
        }
    }
    pthread_mutex_unlock(&sandbox.lock);
    if (is_new && (!ok || !await_ready())) {
        tell_no_start();
        __atomic_store_n(&sandbox.is_failed, true, __ATOMIC_RELEASE);
        return false;
    }
    __atomic_store_n(&sandbox.is_ready, true, __ATOMIC_RELEASE);
    return emu_hsa_sandbox_is_alive();
}

bool emu_hsa_sandbox_is_alive(void)
{
    return __atomic_load_n(&sandbox.is_started, __ATOMIC_ACQUIRE) &&
           !__atomic_load_n(&sandbox.is_failed, __ATOMIC_ACQUIRE) &&
           !__atomic_load_n(&sandbox.is_over, __ATOMIC_ACQUIRE);
}

static void kill_it(void)
{
    pthread_mutex_lock(&sandbox.lock);
    if (sandbox.process > 0 && !sandbox.is_over)
        kill(sandbox.process, SIGKILL);
    pthread_mutex_unlock(&sandbox.lock);
}

/* Ends the sandbox and forgets it. */
void emu_hsa_sandbox_stop(void)
{
    if (!sandbox.is_started)
        return;
    pthread_mutex_lock(&sandbox.lock);
    sandbox.is_stopping = true;
    pthread_mutex_unlock(&sandbox.lock);
    kill_it();
    if (sandbox.keeper)
        pthread_join(sandbox.keeper, NULL);
    for (int i = 0; i < 3; i++)
        if (sandbox.files[i] >= FIRST_SPARE)
            close(sandbox.files[i]);
    if (sandbox.control)
        munmap(sandbox.control, sizeof(*sandbox.control));
    sandbox.control = NULL;
    sandbox.keeper = 0;
    sandbox.process = 0;
    memset(sandbox.files, 0, sizeof(sandbox.files));
    sandbox.is_started = sandbox.is_ready = sandbox.is_over = sandbox.is_failed =
        sandbox.is_stopping = false;
}

/* ---- commands ----------------------------------------------------------------------------------
 */

static uint32_t take_slot(bool is_kernel, const char *name)
{
    uint32_t first = is_kernel ? 1 : 0, end = is_kernel ? SANDBOX_SLOT_COUNT : 1, at;

    pthread_mutex_lock(&sandbox.lock);
    for (;;) {
        for (at = first; at < end && sandbox.busy[at]; at++)
            ;
        if (at < end || sandbox.is_over)
            break;
        pthread_cond_wait(&sandbox.changed, &sandbox.lock);
    }
    if (at < end) {
        sandbox.busy[at] = true;
        tsm_format(sandbox.names[at], NAME_SIZE, "%.100s", name);
    }
    pthread_mutex_unlock(&sandbox.lock);
    return at < end ? at : SANDBOX_SLOT_COUNT;
}

static void give_slot(uint32_t at)
{
    pthread_mutex_lock(&sandbox.lock);
    sandbox.busy[at] = false;
    if (!sandbox.is_over)
        *sandbox.names[at] = '\0';
    pthread_cond_broadcast(&sandbox.changed);
    pthread_mutex_unlock(&sandbox.lock);
}

static bool is_done(uint32_t state)
{
    return state != SANDBOX_REQUEST && state != SANDBOX_REQUEST_ASLEEP;
}

static bool give_up(const char *name)
{
    pthread_mutex_lock(&sandbox.lock);
    double seconds = (double)sandbox.timeout_ns / 1e9;
    bool tells = !sandbox.is_failed && !sandbox.is_over;
    sandbox.is_failed = true;
    pthread_mutex_unlock(&sandbox.lock);
    if (tells)
        emu_hsa_sandbox_fail("%.100s: it has not ended in %.3g s (--timeout), and was stopped",
                             name, seconds);
    kill_it();
    return false;
}

static bool await_slot(struct sandbox_slot *slot, const char *name)
{
    const struct timespec slice = {0, SLICE_NS};
    uint64_t start;

    for (unsigned i = 0; i < SPIN_COUNT; i++) {
        if (is_done(__atomic_load_n(&slot->state, __ATOMIC_ACQUIRE)))
            return true;
        __builtin_ia32_pause();
    }
    start = tsm_monotonic_ns();
    for (;;) {
        uint32_t expected = SANDBOX_REQUEST;
        __atomic_compare_exchange_n(&slot->state, &expected, SANDBOX_REQUEST_ASLEEP, false,
                                    __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
        if (is_done(__atomic_load_n(&slot->state, __ATOMIC_ACQUIRE)))
            return true;
        if (__atomic_load_n(&sandbox.is_over, __ATOMIC_ACQUIRE))
            return false;
        if (tsm_monotonic_ns() - start > sandbox.timeout_ns)
            return give_up(name);
        syscall(SYS_futex, &slot->state, FUTEX_WAIT, SANDBOX_REQUEST_ASLEEP, &slice, NULL, 0);
    }
}

/* Copies the sandbox's text without what a terminal would take for an order. */
static void copy_text(const struct sandbox_slot *slot, char *out)
{
    size_t i;

    for (i = 0; i + 1 < SANDBOX_TEXT_SIZE; i++) {
        char c = __atomic_load_n(&slot->text[i], __ATOMIC_RELAXED);
        if (!c)
            break;
        out[i] = c >= ' ' && c <= '~' ? c : '?';
    }
    out[i] = '\0';
}

bool emu_hsa_sandbox_call(bool is_kernel, enum sandbox_command command, const uint64_t *arguments,
                          size_t argument_count, const char *name, uint32_t *result, char *text)
{
    uint32_t at = emu_hsa_sandbox_is_alive() ? take_slot(is_kernel, name) : SANDBOX_SLOT_COUNT;
    struct sandbox_slot *slot;
    bool ok;

    if (at == SANDBOX_SLOT_COUNT)
        return false;
    slot = &sandbox.control->slots[at];
    slot->command = command;
    memcpy(slot->arguments, arguments, argument_count * sizeof(*arguments));
    if (__atomic_exchange_n(&slot->state, SANDBOX_REQUEST, __ATOMIC_ACQ_REL) ==
        SANDBOX_WORKER_ASLEEP)
        wake(&slot->state);
    ok = await_slot(slot, name);
    *result = __atomic_load_n(&slot->result, __ATOMIC_RELAXED);
    if (text)
        copy_text(slot, text);
    give_slot(at);
    return ok;
}
