/* SPDX-License-Identifier: Apache-2.0
 *
 * A library to preload: the n-th call of a kind that TraceSmith's own code makes fails. Who calls
 * is known by the return address, so that calls of the program, of the driver and of libc go
 * through.
 *
 * - FAIL_IN: names of objects, separated by commas: "ours" is what is called from one of them. A
 * name that is part of the object's path will do; "-" is the main program.
 * - FAIL_KIND: memory, write, thread, open, ioctl or system.
 * - FAIL_AT: which call of that kind fails, from 1; 0: none.
 * - FAIL_ALL: set: it and all that come after it.
 * - FAIL_SHORT: set: a write fails only after half of its bytes were written.
 * - FAIL_COUNTS: a file for counts: u64 for each kind, then the address in its object of the call
 * that failed first. It is a mapping, so that it is whole when the process is killed.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

enum kind { MEMORY, WRITE, THREAD, OPEN, IOCTL, SYSTEM, KIND_COUNT };

static const char *const kind_names[KIND_COUNT] = {"memory", "write", "thread",
                                                   "open",   "ioctl", "system"};

struct counts {
    uint64_t calls[KIND_COUNT], place;
};

static struct counts nowhere, *counts = &nowhere;
static uint64_t fail_at;
static enum kind fail_kind;
static bool fail_all, fail_short, is_ready;
static char objects[512];

static bool is_listed(const char *path)
{
    char name[64];

    for (const char *at = objects; *at;) {
        size_t length = strcspn(at, ",");
        snprintf(name, sizeof(name), "%.*s", (int)length, at);
        if (strcmp(name, "-") == 0 ? *path == '\0' : strstr(path, name) != NULL)
            return true;
        at += length + (at[length] == ',');
    }
    return false;
}

/* Takes no lock and no memory. */
static bool is_ours(const void *caller, uint64_t *place)
{
    struct dl_find_object found;

    if (_dl_find_object((void *)(uintptr_t)caller, &found) != 0)
        return false;
    *place = (uint64_t)((uintptr_t)caller - found.dlfo_link_map->l_addr);
    return is_listed(found.dlfo_link_map->l_name);
}

static bool fails(enum kind kind, const void *caller)
{
    uint64_t place, n;

    if (!is_ready || !is_ours(caller, &place))
        return false;
    n = __atomic_add_fetch(&counts->calls[kind], 1, __ATOMIC_RELAXED);
    if (kind != fail_kind || fail_at == 0 || (fail_all ? n < fail_at : n != fail_at))
        return false;
    if (n == fail_at)
        counts->place = place;
    return true;
}

#define CALLER __builtin_return_address(0)
#define EXPORT __attribute__((visibility("default")))

/* The next function of that name: the sanitizer's, the preload library's, libc's. */
#define NEXT(name)                                                                                 \
    ({                                                                                             \
        static __typeof__(name) *next_;                                                            \
        if (!next_)                                                                                \
            next_ = (__typeof__(name) *)(uintptr_t)dlsym(RTLD_NEXT, #name);                        \
        next_;                                                                                     \
    })

static int refuse(int error)
{
    errno = error;
    return -1;
}

static void *no_memory(void)
{
    errno = ENOMEM;
    return NULL;
}

__attribute__((constructor)) static void begin(void)
{
    const char *in = getenv("FAIL_IN"), *kind = getenv("FAIL_KIND"), *at = getenv("FAIL_AT");
    const char *path = getenv("FAIL_COUNTS");
    int fd = path ? (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CREAT, 0600) : -1;
    void *mapped;

    if (fd >= 0 && syscall(SYS_ftruncate, fd, sizeof(*counts)) == 0) {
        mapped = (void *)syscall(SYS_mmap, NULL, sizeof(*counts), PROT_READ | PROT_WRITE,
                                 MAP_SHARED, fd, 0L);
        if (mapped != MAP_FAILED)
            counts = mapped;
    }
    if (fd >= 0)
        syscall(SYS_close, fd);
    snprintf(objects, sizeof(objects), "%s", in ? in : "");
    for (int i = 0; kind && i < KIND_COUNT; i++)
        if (strcmp(kind, kind_names[i]) == 0)
            fail_kind = (enum kind)i;
    fail_at = at ? strtoull(at, NULL, 10) : 0;
    fail_all = getenv("FAIL_ALL") != NULL;
    fail_short = getenv("FAIL_SHORT") != NULL;
    is_ready = true;
}

/* ---- memory ------------------------------------------------------------------------------------
 */

EXPORT void *malloc(size_t size)
{
    return fails(MEMORY, CALLER) ? no_memory() : NEXT(malloc)(size);
}

EXPORT void *calloc(size_t count, size_t size)
{
    return fails(MEMORY, CALLER) ? no_memory() : NEXT(calloc)(count, size);
}

EXPORT void *realloc(void *old, size_t size)
{
    return fails(MEMORY, CALLER) ? no_memory() : NEXT(realloc)(old, size);
}

EXPORT void *reallocarray(void *old, size_t count, size_t size)
{
    return fails(MEMORY, CALLER) ? no_memory() : NEXT(reallocarray)(old, count, size);
}

EXPORT char *strdup(const char *text)
{
    return fails(MEMORY, CALLER) ? no_memory() : NEXT(strdup)(text);
}

EXPORT char *strndup(const char *text, size_t size)
{
    return fails(MEMORY, CALLER) ? no_memory() : NEXT(strndup)(text, size);
}

EXPORT char *realpath(const char *path, char *out)
{
    return fails(MEMORY, CALLER) ? no_memory() : NEXT(realpath)(path, out);
}

EXPORT FILE *open_memstream(char **out, size_t *size)
{
    return fails(MEMORY, CALLER) ? no_memory() : NEXT(open_memstream)(out, size);
}

EXPORT void *mmap(void *address, size_t size, int prot, int flags, int fd, off_t offset)
{
    if (fails(MEMORY, CALLER)) {
        errno = ENOMEM;
        return MAP_FAILED;
    }
    return NEXT(mmap)(address, size, prot, flags, fd, offset);
}

EXPORT void *mmap64(void *address, size_t size, int prot, int flags, int fd, off64_t offset)
{
    if (fails(MEMORY, CALLER)) {
        errno = ENOMEM;
        return MAP_FAILED;
    }
    return NEXT(mmap64)(address, size, prot, flags, fd, offset);
}

EXPORT int mprotect(void *address, size_t size, int prot)
{
    return fails(MEMORY, CALLER) ? refuse(ENOMEM) : NEXT(mprotect)(address, size, prot);
}

EXPORT int madvise(void *address, size_t size, int advice)
{
    return fails(MEMORY, CALLER) ? refuse(ENOMEM) : NEXT(madvise)(address, size, advice);
}

/* ---- write -------------------------------------------------------------------------------------
 */

/* A message goes to a pipe or a terminal: only what goes to a file fails. */
static bool is_file(int fd)
{
    struct stat st;

    return NEXT(fstat)(fd, &st) == 0 && S_ISREG(st.st_mode);
}

EXPORT ssize_t write(int fd, const void *data, size_t size)
{
    if (!is_file(fd) || !fails(WRITE, CALLER))
        return NEXT(write)(fd, data, size);
    if (fail_short && size > 1) {
        fail_all = true; /* the rest of it */
        return NEXT(write)(fd, data, size / 2);
    }
    return refuse(ENOSPC);
}

EXPORT ssize_t pwrite(int fd, const void *data, size_t size, off_t at)
{
    return fails(WRITE, CALLER) ? refuse(ENOSPC) : NEXT(pwrite)(fd, data, size, at);
}

EXPORT ssize_t pwrite64(int fd, const void *data, size_t size, off64_t at)
{
    return fails(WRITE, CALLER) ? refuse(ENOSPC) : NEXT(pwrite64)(fd, data, size, at);
}

EXPORT int ftruncate(int fd, off_t size)
{
    return fails(WRITE, CALLER) ? refuse(ENOSPC) : NEXT(ftruncate)(fd, size);
}

EXPORT int ftruncate64(int fd, off64_t size)
{
    return fails(WRITE, CALLER) ? refuse(ENOSPC) : NEXT(ftruncate64)(fd, size);
}

EXPORT int fdatasync(int fd)
{
    return fails(WRITE, CALLER) ? refuse(EIO) : NEXT(fdatasync)(fd);
}

EXPORT int msync(void *address, size_t size, int flags)
{
    return fails(WRITE, CALLER) ? refuse(EIO) : NEXT(msync)(address, size, flags);
}

EXPORT int rename(const char *from, const char *to)
{
    return fails(WRITE, CALLER) ? refuse(ENOSPC) : NEXT(rename)(from, to);
}

EXPORT int renameat2(int from_folder, const char *from, int to_folder, const char *to,
                     unsigned flags)
{
    return fails(WRITE, CALLER) ? refuse(ENOSPC)
                                : NEXT(renameat2)(from_folder, from, to_folder, to, flags);
}

/* Loses what is in a stream's buffer, as when the write that this makes fails. */
EXPORT int fflush(FILE *file)
{
    return is_file(fileno(file)) && fails(WRITE, CALLER) ? refuse(ENOSPC) : NEXT(fflush)(file);
}

EXPORT int fclose(FILE *file)
{
    bool failed = is_file(fileno(file)) && fails(WRITE, CALLER);
    int result = NEXT(fclose)(file);

    return failed ? refuse(ENOSPC) : result;
}

/* ---- thread ------------------------------------------------------------------------------------
 */

EXPORT int pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*main)(void *), void *argument)
{
    return fails(THREAD, CALLER) ? EAGAIN
                                 : NEXT(pthread_create)(thread, attributes, main, argument);
}

EXPORT pid_t fork(void)
{
    return fails(THREAD, CALLER) ? refuse(EAGAIN) : NEXT(fork)();
}

/* ---- open --------------------------------------------------------------------------------------
 */

#define MODE(flags)                                                                                \
    ({                                                                                             \
        va_list list_;                                                                             \
        mode_t mode_ = 0;                                                                          \
        va_start(list_, flags);                                                                    \
        if ((flags) & (O_CREAT | O_TMPFILE))                                                       \
            mode_ = va_arg(list_, mode_t);                                                         \
        va_end(list_);                                                                             \
        mode_;                                                                                     \
    })

EXPORT int open(const char *path, int flags, ...)
{
    mode_t mode = MODE(flags);

    return fails(OPEN, CALLER) ? refuse(EMFILE) : NEXT(open)(path, flags, mode);
}

EXPORT int open64(const char *path, int flags, ...)
{
    mode_t mode = MODE(flags);

    return fails(OPEN, CALLER) ? refuse(EMFILE) : NEXT(open64)(path, flags, mode);
}

EXPORT int openat(int folder, const char *path, int flags, ...)
{
    mode_t mode = MODE(flags);

    return fails(OPEN, CALLER) ? refuse(EMFILE) : NEXT(openat)(folder, path, flags, mode);
}

EXPORT int openat64(int folder, const char *path, int flags, ...)
{
    mode_t mode = MODE(flags);

    return fails(OPEN, CALLER) ? refuse(EMFILE) : NEXT(openat64)(folder, path, flags, mode);
}

EXPORT int mkostemp(char *path, int flags)
{
    return fails(OPEN, CALLER) ? refuse(EMFILE) : NEXT(mkostemp)(path, flags);
}

EXPORT int mkostemp64(char *path, int flags)
{
    return fails(OPEN, CALLER) ? refuse(EMFILE) : NEXT(mkostemp64)(path, flags);
}

EXPORT int memfd_create(const char *name, unsigned flags)
{
    return fails(OPEN, CALLER) ? refuse(EMFILE) : NEXT(memfd_create)(name, flags);
}

EXPORT int pipe2(int fds[2], int flags)
{
    return fails(OPEN, CALLER) ? refuse(EMFILE) : NEXT(pipe2)(fds, flags);
}

EXPORT int dup(int fd)
{
    return fails(OPEN, CALLER) ? refuse(EMFILE) : NEXT(dup)(fd);
}

EXPORT FILE *fopen(const char *path, const char *mode)
{
    return fails(OPEN, CALLER) ? refuse(EMFILE), NULL : NEXT(fopen)(path, mode);
}

EXPORT FILE *fopen64(const char *path, const char *mode)
{
    return fails(OPEN, CALLER) ? refuse(EMFILE), NULL : NEXT(fopen64)(path, mode);
}

EXPORT FILE *fdopen(int fd, const char *mode)
{
    return fails(OPEN, CALLER) ? no_memory() : NEXT(fdopen)(fd, mode);
}

/* ---- ioctl, other system calls -----------------------------------------------------------------
 */

EXPORT int ioctl(int fd, unsigned long request, ...)
{
    va_list list;
    void *argument;

    va_start(list, request);
    argument = va_arg(list, void *);
    va_end(list);
    return fails(IOCTL, CALLER) ? refuse(EIO) : NEXT(ioctl)(fd, request, argument);
}

/* Calls that only wait or return a number do not fail. */
static bool is_sure(long number)
{
    return number == SYS_futex || number == SYS_gettid || number == SYS_getpid ||
           number == SYS_tgkill || number == SYS_kill || number == SYS_close;
}

EXPORT long syscall(long number, ...)
{
    long words[6];
    va_list list;

    va_start(list, number);
    for (int i = 0; i < 6; i++)
        words[i] = va_arg(list, long);
    va_end(list);
    if (!is_sure(number) && fails(SYSTEM, CALLER))
        return refuse(EPERM);
    return NEXT(syscall)(number, words[0], words[1], words[2], words[3], words[4], words[5]);
}

EXPORT int fstat(int fd, struct stat *out)
{
    return fails(SYSTEM, CALLER) ? refuse(EIO) : NEXT(fstat)(fd, out);
}

EXPORT ssize_t read(int fd, void *out, size_t size)
{
    return fails(SYSTEM, CALLER) ? refuse(EIO) : NEXT(read)(fd, out, size);
}

EXPORT ssize_t pread(int fd, void *out, size_t size, off_t at)
{
    return fails(SYSTEM, CALLER) ? refuse(ENOMEM) : NEXT(pread)(fd, out, size, at);
}

EXPORT ssize_t pread64(int fd, void *out, size_t size, off64_t at)
{
    return fails(SYSTEM, CALLER) ? refuse(ENOMEM) : NEXT(pread64)(fd, out, size, at);
}

EXPORT ssize_t preadv64(int fd, const struct iovec *spans, int count, off64_t at)
{
    return fails(SYSTEM, CALLER) ? refuse(ENOMEM) : NEXT(preadv64)(fd, spans, count, at);
}

EXPORT ssize_t process_vm_readv(pid_t pid, const struct iovec *to, unsigned long to_count,
                                const struct iovec *from, unsigned long from_count,
                                unsigned long flags)
{
    return fails(SYSTEM, CALLER)
               ? refuse(EPERM)
               : NEXT(process_vm_readv)(pid, to, to_count, from, from_count, flags);
}
