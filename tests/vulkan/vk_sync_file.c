/* SPDX-License-Identifier: Apache-2.0
 *
 * Ioctls of sync files for eventfds, which the driver of the tests (vk_driver_fds.c) gives out. To
 * be preloaded after whoever records.
 */
#include <dlfcn.h>
#include <linux/sync_file.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

struct merged {
    int fds[2], to;
};

static void *merge(void *user)
{
    struct merged *m = user;
    const uint64_t one = 1;

    for (int i = 0; i < 2; i++) {
        struct pollfd p = {m->fds[i], POLLIN, 0};
        if (poll(&p, 1, -1) != 1)
            abort();
        close(m->fds[i]);
    }
    if (write(m->to, &one, sizeof(one)) != sizeof(one))
        abort();
    close(m->to);
    free(m);
    return NULL;
}

static int begin_merge(int first, struct sync_merge_data *data)
{
    struct merged *m = malloc(sizeof(*m));
    pthread_t thread;

    data->fence = eventfd(0, EFD_CLOEXEC);
    *m = (struct merged){{dup(first), dup(data->fd2)}, dup(data->fence)};
    if (pthread_create(&thread, NULL, merge, m) != 0)
        abort();
    pthread_detach(thread);
    return 0;
}

EXPORT int ioctl(int fd, unsigned long request, ...)
{
    static int (*next)(int, unsigned long, ...);
    struct pollfd p = {fd, POLLIN, 0};
    void *argument;
    va_list list;

    va_start(list, request);
    argument = va_arg(list, void *);
    va_end(list);
    if (request == SYNC_IOC_MERGE)
        return begin_merge(fd, argument);
    if (request == SYNC_IOC_FILE_INFO) {
        ((struct sync_file_info *)argument)->status = poll(&p, 1, 0) == 1;
        return 0;
    }
    if (!next)
        next = (int (*)(int, unsigned long, ...))(uintptr_t)dlsym(RTLD_NEXT, "ioctl");
    return next(fd, request, argument);
}
