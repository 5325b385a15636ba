/* SPDX-License-Identifier: Apache-2.0
 *
 * Replays of DRM on devices that compute nothing: renderD128 and those after it have one driver
 * each, that of a line of `drivers`. A device reads all that an argument leads to, as a kernel
 * would; gives new numbers to what is made; and refuses mappings that no object has. An ioctl that
 * is not safe must not get here, and no descriptor is closed that is not open. The calls come here
 * by --wrap.
 */
#include "api/drm/describe.h"
#include "api/drm/source/encode.h"
#include "api/drm/tables.h"
#include "api/drm/version.h"
#include "replay/closing.h"
#include "tests/fuzz/scene_api.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

extern const struct tsm_backend drm_backend; /* api/drm/replay/replay.c */
const struct tsm_backend *const tsm_backends[] = {&drm_backend, NULL};

#define DEVICE_SIZE (1u << 20) /* of memory: more is not mapped */
#define FILE_MAX    (DEVICE_SIZE / 4096)
#define FD_MAX      1024

static const struct {
    const char *name;
    int major, minor;
} drivers[] = {{"amdgpu", 3, 64},     {"i915", 1, 6},    {"nouveau", 1, 4},
               {"virtio_gpu", 0, 99}, {"xe", 1, 1},      {"vgem", 1, 0},
               {"radeon", 2, 99},     {"vmwgfx", 2, 99}, {"panfrost", 1, 99}};
#define DRIVER_COUNT ((int)(sizeof(drivers) / sizeof(drivers[0])))

static unsigned char driver_of[FD_MAX]; /* of open descriptors: its place in drivers + 1 */
static bool is_device[FD_MAX];          /* a descriptor of ours, also of no driver */
static uint64_t next_number;

int __real_open64(const char *path, int flags, ...);
int __real_fcntl64(int fd, int command, ...);
int __real_close(int fd);
int __real_dup(int fd);
int __wrap_open64(const char *path, int flags, ...);
int __wrap_fcntl64(int fd, int command, ...);
int __wrap_close(int fd);
int __wrap_dup(int fd);
int __wrap_ioctl(int fd, unsigned long request, ...);
int __wrap_poll(struct pollfd *list, nfds_t count, int timeout);
int __real_fstat64(int fd, struct stat *out);
int __wrap_fstat64(int fd, struct stat *out);
void *__real_mmap64(void *address, size_t size, int prot, int flags, int fd, off_t offset);
void *__wrap_mmap64(void *address, size_t size, int prot, int flags, int fd, off_t offset);

/* ---- files ---------------------------------------------------------------------------------- */

static int new_file(int driver)
{
    int fd = memfd_create("device", MFD_CLOEXEC);

    if (fd < 0 || fd >= FD_MAX || ftruncate(fd, DEVICE_SIZE) != 0)
        abort();
    driver_of[fd] = (unsigned char)driver;
    is_device[fd] = true;
    return fd;
}

int __wrap_open64(const char *path, int flags, ...)
{
    int number = -1;
    va_list rest;
    mode_t mode;

    va_start(rest, flags);
    mode = va_arg(rest, mode_t);
    va_end(rest);
    if (sscanf(path, "/dev/dri/renderD%d", &number) == 1)
        number -= 128;
    else if (sscanf(path, "/dev/dri/card%d", &number) != 1)
        return strncmp(path, "/dev/", 5) == 0 ? new_file(0) : __real_open64(path, flags, mode);
    if (number >= 0 && number < DRIVER_COUNT)
        return new_file(number + 1);
    errno = ENOENT;
    return -1;
}

static int copied(int from, int to)
{
    if (to >= FD_MAX)
        abort();
    if (from >= 0 && from < FD_MAX && to >= 0) {
        driver_of[to] = driver_of[from];
        is_device[to] = is_device[from];
    }
    return to;
}

int __wrap_fcntl64(int fd, int command, ...)
{
    va_list rest;
    long argument;

    va_start(rest, command);
    argument = va_arg(rest, long);
    va_end(rest);
    return command == F_DUPFD_CLOEXEC ? copied(fd, __real_fcntl64(fd, command, argument))
                                      : __real_fcntl64(fd, command, argument);
}

int __wrap_dup(int fd)
{
    return copied(fd, __real_dup(fd));
}

int __wrap_close(int fd)
{
    if (fd >= 0 && fd < FD_MAX) {
        driver_of[fd] = 0;
        is_device[fd] = false;
    }
    if (__real_close(fd) == 0)
        return 0;
    fprintf(stderr, "descriptor %d was closed, and was not open\n", fd);
    abort();
}

int __wrap_poll(struct pollfd *list, nfds_t count, int timeout)
{
    for (nfds_t i = 0; i < count; i++)
        list[i].revents = list[i].events;
    return (int)count;
}

int __wrap_fstat64(int fd, struct stat *out)
{
    int result = __real_fstat64(fd, out);

    if (result == 0 && fd >= 0 && fd < FD_MAX && driver_of[fd]) {
        out->st_mode = S_IFCHR | 0666;
        out->st_rdev = makedev(226, 127 + driver_of[fd]);
    }
    return result;
}

void *__wrap_mmap64(void *address, size_t size, int prot, int flags, int fd, off_t offset)
{
    off_t end = fd < 0 ? 0 : lseek(fd, 0, SEEK_END);

    if (fd >= 0 && (end < 0 || offset < 0 || offset > end || size > (size_t)(end - offset))) {
        errno = EINVAL;
        return MAP_FAILED;
    }
    return __real_mmap64(address, size, prot, flags, fd, offset);
}

/* ---- ioctls --------------------------------------------------------------------------------- */

static void *memory_for(struct drm_encoder *e, size_t size)
{
    void **blocks = e->user;
    void **block = calloc(1, sizeof(*block) + size + 1);

    if (!block)
        abort();
    *block = *blocks;
    *blocks = block;
    return block + 1;
}

static bool read_plainly(void *out, uint64_t address, size_t size)
{
    memcpy(out, (const void *)(uintptr_t)address, size);
    return true;
}

/* All that a kernel would. */
static void read_all(uint32_t type, const void *argument)
{
    static _Thread_local uint8_t room[1 << 20];
    void *blocks = NULL;
    struct drm_encoder e = {.memory = memory_for,
                            .read = read_plainly,
                            .address = (uintptr_t)argument,
                            .user = &blocks};

    sbt_out_init(&e.out, room, sizeof(room), NULL, NULL);
    drm_encode(&e, type, argument);
    while (blocks) {
        void *next = *(void **)blocks;
        free(blocks);
        blocks = next;
    }
}

static void put(uint8_t *memory, const struct drm_member *m, uint64_t value)
{
    memcpy(memory + m->offset, &value, m->size < 8 ? m->size : 8);
}

/* Writes a descriptor where the call gave none that is open; kernels leave others as they are. */
static void put_fd(uint8_t *memory, const struct drm_member *m)
{
    int given = (int)drm_load(memory + m->offset, m->size);

    if (given < 0 || fcntl(given, F_GETFD) < 0)
        put(memory, m, (uint64_t)new_file(0));
}

static void make_numbers(uint8_t *memory, const struct drm_struct *type)
{
    for (uint32_t i = 0; i < type->count; i++) {
        const struct drm_member *m = &drm_members[type->first + i];
        if (m->form == DRM_FORM_ONE && m->kind == DRM_KIND_HANDLE && m->flags & DRM_MEMBER_NEW)
            put(memory, m, ++next_number % FILE_MAX + 1);
        else if (m->form == DRM_FORM_ONE && m->kind == DRM_KIND_FD)
            put_fd(memory, m);
    }
}

static int version(int driver, struct drm_driver_version *v)
{
    size_t size = strlen(drivers[driver].name);

    v->major = drivers[driver].major;
    v->minor = drivers[driver].minor;
    if (v->name && v->name_size >= size)
        memcpy(v->name, drivers[driver].name, size);
    v->name_size = size;
    return 0;
}

int __wrap_ioctl(int fd, unsigned long request, ...)
{
    int driver = fd >= 0 && fd < FD_MAX ? driver_of[fd] - 1 : -1;
    const struct drm_ioctl *row;
    enum drm_node node;
    void *argument;
    va_list rest;

    va_start(rest, request);
    argument = va_arg(rest, void *);
    va_end(rest);
    if (driver >= 0 && request == DRM_DRIVER_VERSION)
        return version(driver, argument);
    node = driver >= 0 ? DRM_NODE_DRM : DRM_NODE_DMABUF;
    row = drm_ioctl_find(
        node, driver >= 0 ? drm_family_of_driver(drivers[driver].name) : drm_family_of_node(node),
        (uint32_t)request);
    if (driver < 0 && !row)
        row = drm_ioctl_find(DRM_NODE_DMA_HEAP, drm_family_of_node(DRM_NODE_DMA_HEAP),
                             (uint32_t)request);
    if (driver >= 0 && row && !(row->flags & (DRM_IOCTL_SAFE | DRM_IOCTL_DISPLAY)) &&
        row->kind != SBT_KIND_QUERY) {
        fprintf(stderr, "%s is not safe, and was sent to %s\n", drm_text + row->name,
                drivers[driver].name);
        abort();
    }
    if (!row || row->request != request) {
        errno = ENOTTY;
        return -1;
    }
    if (row->into && !(row->flags & DRM_IOCTL_TEXT))
        read_all(row->into - 1u, argument);
    if (row->out)
        make_numbers(argument, &drm_structs[row->out - 1]);
    if (row->map_offset.size == 8)
        memcpy((uint8_t *)argument + row->map_offset.offset, &(uint64_t){0}, 8);
    if (row->out && row->tells.size && row->done != DRM_TELLS_POINTS) {
        const uint64_t done = row->done;
        memcpy((uint8_t *)argument + row->tells.offset, &done, row->tells.size);
    }
    return row->returns != DRM_NODE_NONE ? new_file(0) : 0;
}

/* ---- scenes --------------------------------------------------------------------------------- */

static void begin(unsigned bits)
{
    next_number = 0;
}

/* A replay is a process of its own: it leaves descriptors that were given away. One that still runs
 * uses its own. */
static void end(void)
{
    tsm_left_collect();
    if (tsm_left_count())
        return;
    for (int fd = 3; fd < FD_MAX; fd++)
        if (is_device[fd])
            __wrap_close(fd);
}

const struct scene_api scene_api = {.description = &drm_description, .begin = begin, .end = end};
