/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/drm/fake_drm.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <linux/dma-buf.h>
#include <linux/dma-heap.h>
#include <linux/sync_file.h>
#include <linux/udmabuf.h>

#include <amdgpu_drm.h>
#include <drm.h>
#include <drm_mode.h>

#undef fstat

#define EXPORT __attribute__((visibility("default")))
#define NAME   "fake-drm"

enum node { NODE_DRM, NODE_NVIDIA, NODE_UVM, NODE_UDMABUF, NODE_HEAP, NODE_HL, NODE_COUNT };

static const struct {
    const char *path, *name; /* of the memfd */
    unsigned major, minor;
} nodes[NODE_COUNT] = {
    {"/dev/dri/renderD128", NAME, 226, 128},        {"/dev/nvidiactl", NAME "-nvidia", 195, 255},
    {"/dev/nvidia-uvm", NAME "-uvm", 510, 0},       {"/dev/udmabuf", NAME "-udmabuf", 10, 125},
    {"/dev/dma_heap/system", NAME "-heap", 511, 0}, {"/dev/hl0", NAME "-hl", 512, 0}};

EXPORT int ioctl(int fd, unsigned long request, ...);
EXPORT int open64(const char *path, int flags, ...);
EXPORT int __fxstat64(int version, int fd, struct stat *out);
#pragma GCC visibility push(default)
int open(const char *path, int flags, ...);
int openat(int folder, const char *path, int flags, ...);
int fstat(int fd, struct stat *out);
ssize_t readlink(const char *path, char *out, size_t size);
#pragma GCC visibility pop

/* A system call past libc, whose functions and syscall() are the recorder's. */
long fake_call(long number, long a, long b, long c, long d, long e, long f)
{
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    long result;

    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "0"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    if (result < 0 && result > -4096) {
        errno = (int)-result;
        return -1;
    }
    return result;
}

#define CALL(number, a, b, c, d, e, f)                                                             \
    fake_call(number, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))

/* Any other driver: one that does nothing, and says that it was done. */
static int take_all(struct fake_file *file, int fd, uint32_t request, void *argument)
{
    (void)file, (void)fd, (void)request, (void)argument;
    return 0;
}

static const struct fake_driver *driver(void)
{
    static struct fake_driver other = {NULL, 1, 0, 0, take_all};

    static const struct fake_driver *const drivers[] = {&fake_amdgpu, &fake_i915,    &fake_nouveau,
                                                        &fake_vgem,   &fake_virtgpu,
#ifdef FAKE_XE
                                                        &fake_xe
#endif
    };
    const char *name = getenv("FAKE_DRM");

    for (size_t i = 0; name && i < sizeof(drivers) / sizeof(drivers[0]); i++)
        if (strcmp(drivers[i]->name, name) == 0)
            return drivers[i];
    other.name = name;
    return name ? &other : &fake_vgem;
}

/* ---- the file
 * -------------------------------------------------------------------------------------
 */

static struct fake_file *map_file(int fd)
{
    return (void *)CALL(SYS_mmap, NULL, FAKE_FILE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
}

static uint32_t node_of(const char *path)
{
    uint32_t node = 0;

    while (node < NODE_COUNT && strcmp(path, nodes[node].path) != 0)
        node++;
    return node;
}

/* Files of this process, by their inode: mapped once. */
static struct {
    dev_t device;
    ino_t inode;
    struct fake_file *file;
} files[64];

static struct fake_file *remember(const struct stat *st, struct fake_file *file)
{
    for (size_t i = 0; i < 64; i++)
        if (!__atomic_load_n(&files[i].file, __ATOMIC_ACQUIRE)) {
            files[i].file = file;
            files[i].device = st->st_dev;
            __atomic_store_n(&files[i].inode, st->st_ino, __ATOMIC_RELEASE);
            return file;
        }
    return NULL;
}

static int open_node(uint32_t node)
{
    int fd = memfd_create(nodes[node].name, 0);
    struct fake_file *file;
    struct stat st;

    if (fd < 0 || ftruncate(fd, (off_t)FAKE_FILE_SIZE) != 0)
        return -1;
    file = map_file(fd);
    file->next_offset = FAKE_MEMORY;
    file->node = node;
    /* FAKE_DRM_TAKEN: the first handle is not to be had. */
    file->objects[1].used = getenv("FAKE_DRM_TAKEN") != NULL;
    file->next_handle = file->objects[1].used;
    /* Found later without the name, which only /proc has. */
    if (getenv("FAKE_DRM_NAMELESS") && CALL(SYS_fstat, fd, &st, 0, 0, 0, 0) == 0)
        remember(&st, file);
    else
        CALL(SYS_munmap, file, FAKE_FILE_SIZE, 0, 0, 0, 0);
    return fd;
}

/* Appends it to `out`, which has room. As the kernel, it takes next to nothing of the program's
 * stack: printf's functions take 2 KiB. */
static size_t append(char *out, size_t at, const char *text)
{
    memcpy(out + at, text, strlen(text) + 1);
    return at + strlen(text);
}

static void append_number(char *out, size_t at, unsigned number)
{
    char digits[16] = "", *first = digits + sizeof(digits) - 1;

    do
        *--first = (char)('0' + number % 10);
    while (number /= 10);
    append(out, at, first);
}

/* Is the file one of ours by this name? */
static __attribute__((noinline)) bool is_named(int fd, const char *name)
{
    char link[48], path[64];
    ssize_t length;

    append_number(link, append(link, 0, "/proc/thread-self/fd/"), (unsigned)fd);
    length = readlinkat(AT_FDCWD, link, path, sizeof(path) - 1);
    path[length > 0 ? length : 0] = '\0';
    return strncmp(path, "/memfd:", 7) == 0 && strncmp(path + 7, name, strlen(name)) == 0;
}

static struct fake_file *file_of(int fd)
{
    struct stat st;

    if (CALL(SYS_fstat, fd, &st, 0, 0, 0, 0) != 0 || !S_ISREG(st.st_mode))
        return NULL;
    for (size_t i = 0; i < 64 && files[i].inode; i++)
        if (files[i].inode == st.st_ino && files[i].device == st.st_dev)
            return files[i].file;
    return is_named(fd, NAME) ? remember(&st, map_file(fd)) : NULL;
}

uint32_t fake_object_make(struct fake_file *file, uint64_t size)
{
    uint32_t handle = __atomic_add_fetch(&file->next_handle, 1, __ATOMIC_RELAXED);
    struct fake_object *object;

    /* Handles are used again, the lowest first, as the kernel does. */
    for (uint32_t i = 1; i < FAKE_OBJECT_MAX && i < handle; i++) {
        uint32_t unused = 0;
        if (__atomic_compare_exchange_n(&file->objects[i].used, &unused, 1, false, __ATOMIC_ACQ_REL,
                                        __ATOMIC_RELAXED)) {
            handle = i;
            break;
        }
    }
    if (handle >= FAKE_OBJECT_MAX)
        return 0;
    size = (size + 4095) & ~(uint64_t)4095;
    object = &file->objects[handle];
    *object = (struct fake_object){
        1, 0, size, __atomic_fetch_add(&file->next_offset, size, __ATOMIC_RELAXED), 0, NULL};
    return handle;
}

uint32_t fake_object_user(struct fake_file *file, uint64_t address, uint64_t size)
{
    uint32_t handle = address & 4095 || size & 4095 ? 0 : fake_object_make(file, size);

    if (handle)
        file->objects[handle].user = (void *)(uintptr_t)address;
    return handle;
}

uint64_t fake_object_map(int fd, const struct fake_object *object, uint64_t offset, uint64_t size)
{
    long result = object && offset <= object->size && size <= object->size - offset
                      ? CALL(SYS_mmap, NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
                             object->offset + offset)
                      : -1;

    return result < 0 ? 0 : (uint64_t)result;
}

struct fake_object *fake_object_of(struct fake_file *file, uint32_t handle)
{
    return handle && handle < FAKE_OBJECT_MAX && file->objects[handle].used ? &file->objects[handle]
                                                                            : NULL;
}

void *fake_in_object(struct fake_file *file, const struct fake_object *object, uint64_t offset,
                     uint64_t size)
{
    if (!object || offset > object->size || size > object->size - offset)
        return NULL;
    return object->user ? (char *)object->user + offset : (char *)file + object->offset + offset;
}

void *fake_at_address(struct fake_file *file, uint64_t address, uint64_t size)
{
    for (uint32_t i = 1; i < FAKE_OBJECT_MAX; i++) {
        const struct fake_object *o = &file->objects[i];
        if (o->used && o->address && address >= o->address && address - o->address < o->size)
            return fake_in_object(file, o, address - o->address, size);
    }
    return NULL;
}

/* ---- what all drivers have
 * --------------------------------------------------------------------------
 */

static int version(struct drm_version *v)
{
    const struct fake_driver *d = driver();

    v->version_major = d->major;
    v->version_minor = d->minor;
    v->version_patchlevel = d->patch;
    if (v->name && v->name_len)
        strncpy(v->name, d->name, v->name_len);
    v->name_len = strlen(d->name);
    v->date_len = v->desc_len = 0;
    return 0;
}

static int close_object(struct fake_file *file, uint32_t handle)
{
    struct fake_object *object = fake_object_of(file, handle);

    if (!object)
        return -EINVAL;
    object->address = 0;
    object->res_handle = 0;
    __atomic_store_n(&object->used, 0, __ATOMIC_RELEASE);
    return 0;
}

static int create_dumb(struct fake_file *file, struct drm_mode_create_dumb *d)
{
    d->pitch = d->width * ((d->bpp + 7) / 8);
    d->size = ((uint64_t)d->pitch * d->height + 4095) & ~4095ull;
    d->handle = fake_object_make(file, d->size);
    return d->handle ? 0 : -ENOMEM;
}

static int map_dumb(struct fake_file *file, struct drm_mode_map_dumb *m)
{
    struct fake_object *object = fake_object_of(file, m->handle);

    if (!object)
        return -ENOENT;
    m->offset = object->offset;
    return 0;
}

/* A dma-buf is a file that holds its object's handle: good for the same device file only. */
static int handle_to_fd(struct fake_file *file, struct drm_prime_handle *p)
{
    if (!fake_object_of(file, p->handle))
        return -ENOENT;
    p->fd = memfd_create("fake-dmabuf", MFD_CLOEXEC);
    if (p->fd < 0 || pwrite(p->fd, &p->handle, sizeof(p->handle), 0) != (ssize_t)sizeof(p->handle))
        return -ENOMEM;
    return 0;
}

/* Other dma-bufs are memory of the program's, or of a heap. */
static int import_memory(struct fake_file *file, struct drm_prime_handle *p)
{
    struct stat st;
    long memory;

    if (CALL(SYS_fstat, p->fd, &st, 0, 0, 0, 0) != 0)
        return -EBADF;
    memory = CALL(SYS_mmap, NULL, st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, p->fd, 0);
    p->handle = memory < 0 ? 0 : fake_object_user(file, (uint64_t)memory, (uint64_t)st.st_size);
    return p->handle ? 0 : -EINVAL;
}

static int fd_to_handle(struct fake_file *file, struct drm_prime_handle *p)
{
    if (!is_named(p->fd, "fake-dmabuf"))
        return import_memory(file, p);
    if (pread(p->fd, &p->handle, sizeof(p->handle), 0) != (ssize_t)sizeof(p->handle))
        return -EBADF;
    return fake_object_of(file, p->handle) ? 0 : -EINVAL;
}

/* Enumerated: both lists are filled in when there is room for them. */
static int get_property(struct drm_mode_get_property *p)
{
    static const struct drm_mode_property_enum names[] = {{0, "Overlay"}, {1, "Primary"}};
    static const uint64_t values[] = {0, 1};

    if (p->count_values >= 2)
        memcpy((void *)(uintptr_t)p->values_ptr, values, sizeof(values));
    if (p->count_enum_blobs >= 2)
        memcpy((void *)(uintptr_t)p->enum_blob_ptr, names, sizeof(names));
    p->count_values = p->count_enum_blobs = 2;
    p->flags = DRM_MODE_PROP_ENUM;
    strcpy(p->name, "type");
    return 0;
}

static int export_fence(struct drm_syncobj_handle *h)
{
    if (h->flags & ~DRM_SYNCOBJ_HANDLE_TO_FD_FLAGS_EXPORT_SYNC_FILE)
        return -EINVAL;
    h->fd = fake_fence_fd();
    return h->fd < 0 ? -EMFILE : 0;
}

static int core_ioctl(struct fake_file *file, uint32_t request, void *argument)
{
    switch (request) {
    case DRM_IOCTL_VERSION:
        return version(argument);
    case DRM_IOCTL_GET_CAP:
        ((struct drm_get_cap *)argument)->value = 1;
        return 0;
    case DRM_IOCTL_GEM_CLOSE:
        return close_object(file, ((struct drm_gem_close *)argument)->handle);
    case DRM_IOCTL_MODE_CREATE_DUMB:
        return create_dumb(file, argument);
    case DRM_IOCTL_MODE_MAP_DUMB:
        return map_dumb(file, argument);
    case DRM_IOCTL_MODE_DESTROY_DUMB:
        return close_object(file, ((struct drm_mode_destroy_dumb *)argument)->handle);
    case DRM_IOCTL_MODE_GETPROPERTY:
        return get_property(argument);
    case DRM_IOCTL_PRIME_HANDLE_TO_FD:
        return handle_to_fd(file, argument);
    case DRM_IOCTL_PRIME_FD_TO_HANDLE:
        return fd_to_handle(file, argument);
    case DRM_IOCTL_SYNCOBJ_CREATE:
        ((struct drm_syncobj_create *)argument)->handle =
            __atomic_add_fetch(&file->next_syncobj, 1, __ATOMIC_RELAXED);
        return 0;
    case DRM_IOCTL_SYNCOBJ_HANDLE_TO_FD:
        return export_fence(argument);
    case DRM_IOCTL_SYNCOBJ_DESTROY: /* the number is used again, as the kernel does */
        file->next_syncobj -=
            ((struct drm_syncobj_destroy *)argument)->handle == file->next_syncobj;
        return 0;
    case DRM_IOCTL_GEM_FLINK:
    case DRM_IOWR(DRM_COMMAND_BASE + 0x3d, uint32_t[4]): /* no driver's */
    case DRM_IOCTL_SYNCOBJ_RESET:
    case DRM_IOCTL_SYNCOBJ_SIGNAL:
    case DRM_IOCTL_SYNCOBJ_TIMELINE_SIGNAL:
    case DRM_IOCTL_SYNCOBJ_TRANSFER:
        return 0;
    default:
        return -ENOTTY;
    }
}

/* FAKE_DRM_EINTR=N: every Nth call is interrupted. */
static bool is_interrupted(void)
{
    static unsigned count;
    const char *every = getenv("FAKE_DRM_EINTR");
    unsigned n = every ? (unsigned)atoi(every) : 0;

    return n && __atomic_add_fetch(&count, 1, __ATOMIC_RELAXED) % n == 0;
}

/* Takes everything, and says so; a control adds one to the first byte of its parameters. */
static int nvidia(uint32_t request, const uint32_t *argument)
{
    uint64_t parameters;

    memcpy(&parameters, argument + 4, request == _IOWR('F', 0x2a, uint32_t[8]) ? 8 : 0);
    if (request == _IOWR('F', 0x2a, uint32_t[8]) && parameters)
        ++*(uint8_t *)(uintptr_t)parameters;
    return (request >> 8 & 0xff) == 'F' ? 0 : -EINVAL;
}

/* The dma-buf of a memfd is the memfd, opened once more: a part of it cannot be had. */
static int udmabuf(uint32_t request, const void *argument)
{
    const struct udmabuf_create *one = argument;
    const struct udmabuf_create_list *list = argument;
    uint32_t memfd = request == UDMABUF_CREATE ? one->memfd : list->list[0].memfd;
    uint64_t size = request == UDMABUF_CREATE ? one->size : list->list[0].size;
    char path[32];
    struct stat st;

    if ((request != UDMABUF_CREATE && (request != UDMABUF_CREATE_LIST || list->count != 1)) ||
        CALL(SYS_fstat, memfd, &st, 0, 0, 0, 0) != 0 || (uint64_t)st.st_size != size ||
        CALL(SYS_fcntl, memfd, F_GET_SEALS, 0, 0, 0, 0) != F_SEAL_SHRINK)
        return -EINVAL;
    append_number(path, append(path, 0, "/proc/self/fd/"), memfd);
    return (int)CALL(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC, 0, 0, 0);
}

static int heap(struct dma_heap_allocation_data *a)
{
    int fd = a->fd ? -1 : memfd_create("fake-heap", MFD_CLOEXEC); /* as the kernel demands */

    a->fd = (uint32_t)fd;
    return fd < 0 || ftruncate(fd, (off_t)a->len) != 0 ? -ENOMEM : 0;
}

static int other_node(uint32_t node, uint32_t request, void *argument)
{
    if (node == NODE_NVIDIA)
        return nvidia(request, argument);
    if (node == NODE_UDMABUF)
        return udmabuf(request, argument);
    return node == NODE_HEAP ? heap(argument) : 0;
}

/* FAKE_DRM_NAMES: a file that gets each name that a dma-buf is given. */
static int set_name(const char *name)
{
    const char *path = getenv("FAKE_DRM_NAMES");
    FILE *out;

    if (!name)
        return -EFAULT;
    if (strnlen(name, 32) == 32)
        return -EINVAL;
    out = path ? fopen(path, "a") : NULL;
    if (out) {
        fprintf(out, "%s\n", name);
        fclose(out);
    }
    return 0;
}

static int do_ioctl(struct fake_file *file, int fd, uint32_t request, void *argument)
{
    int result;

    if (file->node != NODE_DRM)
        return other_node(file->node, request, argument);
    if ((request >> 8 & 0xff) != DRM_IOCTL_BASE)
        return -ENOTTY;
    if (!argument && request >> 16 & 0x3fff)
        return -EFAULT;
    if (request != DRM_IOCTL_VERSION && is_interrupted())
        return -EINTR;
    result = fake_wait(file, driver()->name, request, argument);
    if (result == -ENOTTY)
        result = core_ioctl(file, request, argument);
    return result == -ENOTTY ? driver()->ioctl(file, fd, request, argument) : result;
}

/* ---- libc
 * -------------------------------------------------------------------------------------------
 */

int ioctl(int fd, unsigned long request, ...)
{
    struct fake_file *file = file_of(fd);
    void *argument;
    va_list rest;
    int result;

    va_start(rest, request);
    argument = va_arg(rest, void *);
    va_end(rest);
    if (!file && (request == DMA_BUF_SET_NAME || request == DMA_BUF_SET_NAME_A) &&
        is_named(fd, "fake-dmabuf"))
        result = set_name(argument);
    else if (!file && request == SYNC_IOC_FILE_INFO)
        result = fake_fence_info(argument);
    else if (!file && request == DMA_BUF_IOCTL_SYNC && is_named(fd, "fake-dmabuf"))
        result = fake_is_done(true) ? 0 : -EIO;
    else if (!file)
        return (int)CALL(SYS_ioctl, fd, request, argument, 0, 0, 0);
    else
        result = do_ioctl(file, fd, (uint32_t)request, argument);
    if (result < 0)
        errno = -result;
    return result < 0 ? -1 : result;
}

#define OPEN(folder, path, flags)                                                                  \
    do {                                                                                           \
        va_list rest_;                                                                             \
        mode_t mode_;                                                                              \
        va_start(rest_, flags);                                                                    \
        mode_ = va_arg(rest_, mode_t);                                                             \
        va_end(rest_);                                                                             \
        return node_of(path) < NODE_COUNT                                                          \
                   ? open_node(node_of(path))                                                      \
                   : (int)CALL(SYS_openat, folder, path, flags, mode_, 0, 0);                      \
    } while (0)

int open(const char *path, int flags, ...)
{
    OPEN(AT_FDCWD, path, flags);
}

int open64(const char *path, int flags, ...)
{
    OPEN(AT_FDCWD, path, flags);
}

int openat(int folder, const char *path, int flags, ...)
{
    OPEN(folder, path, flags);
}

int fstat(int fd, struct stat *out)
{
    int result = (int)CALL(SYS_fstat, fd, out, 0, 0, 0, 0);

    if (result == 0 && file_of(fd)) {
        out->st_mode = S_IFCHR | 0666;
        out->st_rdev = makedev(nodes[file_of(fd)->node].major, nodes[file_of(fd)->node].minor);
    }
    return result;
}

/* Some nodes are known by their path, which a memfd has not. */
ssize_t readlink(const char *path, char *out, size_t size)
{
    ssize_t length = readlinkat(AT_FDCWD, path, out, size);

    for (int node = NODE_UVM; length > 0 && node < NODE_COUNT; node++) {
        char name[64];
        size_t name_length =
            append(name, append(name, append(name, 0, "/memfd:"), nodes[node].name), " ");
        size_t path_length = strlen(nodes[node].path);
        if ((size_t)length > name_length && strncmp(out, name, name_length) == 0 &&
            path_length <= size) {
            memcpy(out, nodes[node].path, path_length);
            return (ssize_t)path_length;
        }
    }
    return length;
}

int __fxstat64(int version, int fd, struct stat *out)
{
    return fstat(fd, out);
}
