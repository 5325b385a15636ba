/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/lock.h"

#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define SLEEP_FIRST_NS 200000u
#define SLEEP_MAX_NS   100000000u

void tsm_futex_wait(uint32_t *word, uint32_t value, uint64_t timeout_ns)
{
    int saved_errno = errno;
    struct timespec timeout = {(time_t)(timeout_ns / 1000000000u),
                               (long)(timeout_ns % 1000000000u)};

    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, timeout_ns ? &timeout : NULL, NULL, 0);
    errno = saved_errno;
}

void tsm_futex_wake(uint32_t *word, int count)
{
    int saved_errno = errno;

    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, count, NULL, NULL, 0);
    errno = saved_errno;
}

/* Who gives the lock and does not see us in `sleepers` has stored before: that store is on its way
 * out of its core, and is there long before the first sleep is over. Who gives it later sees us. */
bool tsm_lock_wait_until(struct tsm_lock *lock, uint64_t until_ns)
{
    uint64_t sleep_ns = SLEEP_FIRST_NS;
    bool taken;

    for (int i = 0; i < 100; i++) {
        if (__atomic_load_n(&lock->word, __ATOMIC_RELAXED) == 0 && tsm_lock_try(lock))
            return true;
        __builtin_ia32_pause();
    }
    __atomic_add_fetch(&lock->sleepers, 1, __ATOMIC_SEQ_CST);
    while (!(taken = tsm_lock_try(lock)) && tsm_monotonic_ns() < until_ns) {
        tsm_futex_wait(&lock->word, 1, sleep_ns);
        if (sleep_ns < SLEEP_MAX_NS)
            sleep_ns *= 2;
    }
    __atomic_sub_fetch(&lock->sleepers, 1, __ATOMIC_SEQ_CST);
    return taken;
}

void tsm_lock_wait(struct tsm_lock *lock)
{
    tsm_lock_wait_until(lock, UINT64_MAX);
}

void tsm_lock_wake(struct tsm_lock *lock)
{
    tsm_futex_wake(&lock->word, 1);
}

/* Memory mapped since tsm_memory_together() by the one thread that starts a session; what others
 * map meanwhile is theirs. */
static struct {
    void *memory;
    size_t size;
} together[TSM_TOGETHER_MAX];
static uint32_t together_count;
static __thread bool maps_together __attribute__((tls_model("initial-exec")));

void *tsm_memory_map(size_t size)
{
    int saved_errno = errno;
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    errno = saved_errno;
    if (memory == MAP_FAILED)
        return NULL;
    if (maps_together && together_count < TSM_TOGETHER_MAX) {
        together[together_count].memory = memory;
        together[together_count++].size = size;
    }
    return memory;
}

void tsm_memory_together(void)
{
    together_count = 0;
    maps_together = true;
}

void tsm_memory_together_end(bool keep)
{
    uint32_t count = together_count;

    maps_together = false;
    together_count = 0;
    for (uint32_t i = 0; i < count && !keep; i++)
        tsm_memory_unmap(together[i].memory, together[i].size);
}

void tsm_memory_unmap(void *memory, size_t size)
{
    int saved_errno = errno;

    if (memory)
        munmap(memory, size);
    errno = saved_errno;
}

/* Reads through /proc/self/mem where a sandbox forbids process_vm_readv. */
static int read_by_file(void *out, uint64_t address, size_t size)
{
    int fd = open("/proc/self/mem", O_RDONLY | O_CLOEXEC), error = 0;
    ssize_t got;

    if (fd < 0)
        return errno;
    got = pread(fd, out, size, (off_t)address);
    if (got != (ssize_t)size) /* EIO: nothing is there */
        error = got >= 0 || errno == EIO ? EFAULT : errno;
    close(fd);
    return error;
}

int tsm_memory_try(void *out, uint64_t address, size_t size)
{
    int saved_errno = errno, error = 0;
    struct iovec local = {out, size};
    struct iovec remote = {(void *)(uintptr_t)address,
                           size}; /* NOLINT: only the kernel follows it */
    ssize_t got = process_vm_readv((pid_t)syscall(SYS_getpid), &local, 1, &remote, 1, 0);

    if (got != (ssize_t)size)
        error = got >= 0 ? EFAULT : errno;
    if (error == ENOSYS || error == EPERM)
        error = read_by_file(out, address, size);
    errno = saved_errno;
    return error;
}

bool tsm_memory_read(void *out, uint64_t address, size_t size)
{
    return tsm_memory_try(out, address, size) == 0;
}

bool tsm_memory_is_readable(uint64_t address, uint64_t size)
{
    enum { PAGE = 4096, AT_ONCE = 64 };
    struct iovec spans[AT_ONCE];
    uint8_t bytes[AT_ONCE], last;
    uint64_t at = address, end;

    if (size == 0 || !tsm_memory_read(&last, address, 1))
        return true; /* nobody can be asked here */
    if (__builtin_add_overflow(address, size, &end))
        return false;
    while (at < end) {
        size_t count = 0;
        for (; count < AT_ONCE && at < end; at = (at | (PAGE - 1)) + 1)
            spans[count++] =
                (struct iovec){(void *)(uintptr_t)at, 1}; /* NOLINT: the kernel follows */
        if (tsm_memory_read_spans(bytes, spans, count))
            continue;
        for (size_t i = 0; i < count; i++)
            if (!tsm_memory_read(&last, (uintptr_t)spans[i].iov_base, 1))
                return false;
    }
    return true;
}

/* The spans are the local side, as if they were written into ourselves: then the kernel pins the
 * pages of `out`, which lie together, and reads the spans with an ordinary, checked copy. The other
 * way around it would pin each span on its own, which costs half as much again. */
bool tsm_memory_read_spans(void *out, const struct iovec *spans, size_t count)
{
    int saved_errno = errno;
    struct iovec remote = {out, 0};
    ssize_t got;

    for (size_t i = 0; i < count; i++)
        remote.iov_len += spans[i].iov_len;
    /* Not by libc's function: spans are whole pages, and a sanitizer that has its own checks them
     * against the program's objects. */
    got = syscall(SYS_process_vm_writev, syscall(SYS_getpid), spans, count, &remote, 1, 0);
    errno = saved_errno;
    return got >= 0 && (size_t)got == remote.iov_len;
}
