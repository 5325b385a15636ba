/* SPDX-License-Identifier: Apache-2.0
 *
 * How many threads the user of this process may still start (RLIMIT_NPROC). Raw system calls: this
 * runs on a thread of the program.
 */
#include "capture/session.h"

#include "base/text.h"
#include "capture/lane/drain_thread.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

struct entry {
    uint64_t inode;
    int64_t offset;
    unsigned short size;
    unsigned char type;
    char name[];
};

/* Threads of process `name`, if it is the user's. */
static uint64_t threads_of(int proc, const char *name, uid_t user)
{
    char path[64];
    struct stat st;

    tsm_format(path, sizeof(path), "%s/task", name);
    if (name[0] < '0' || name[0] > '9' || fstatat(proc, path, &st, 0) != 0 || st.st_uid != user)
        return 0;
    return st.st_nlink > 2 ? st.st_nlink - 2 : 1;
}

static uint64_t count_threads(uid_t user)
{
    int proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    char bytes[1024] __attribute__((aligned(8)));
    uint64_t count = 0;
    long got;

    while (proc >= 0 && (got = syscall(SYS_getdents64, proc, bytes, sizeof(bytes))) > 0) {
        for (long at = 0; at < got;) {
            const struct entry *e = (const void *)(bytes + at);
            count += threads_of(proc, e->name, user);
            at += e->size;
        }
    }
    if (proc >= 0)
        close(proc);
    return count;
}

/* All threads of the system, which are at least the user's: one short file instead of all
 * processes. */
static uint64_t threads_at_most(void)
{
    char text[128], *at;
    int fd = open("/proc/loadavg", O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

    if (fd >= 0)
        close(fd);
    text[got > 0 ? got : 0] = '\0';
    at = strchr(text, '/');
    return at ? strtoull(at + 1, NULL, 10) : UINT64_MAX;
}

uint64_t tsm_threads_left(void)
{
    struct rlimit limit;
    uid_t user = getuid();
    uint64_t count;

    if (user == 0 || getrlimit(RLIMIT_NPROC, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
        return UINT64_MAX; /* the kernel does not count root's */
    count = threads_at_most();
    if (count > limit.rlim_cur || limit.rlim_cur - count < TSM_THREADS_LEFT_MIN)
        count = count_threads(user);
    return count < limit.rlim_cur ? limit.rlim_cur - count : 0;
}
