/* SPDX-License-Identifier: Apache-2.0
 *
 * Which descriptors are of GPU files. A descriptor is looked at when the first ioctl comes, and
 * what it is is kept until it is closed, or something else gets its number.
 */
#include "api/drm/drm_source.h"

#include "api/drm/drm_version.h"
#include "base/text.h"
#include "capture/lock.h"
#include "interpose/real_library.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define DRM_MAJOR    226
#define NVIDIA_MAJOR 195
#define PATH_SIZE    256u

/* struct drm_file as a word; 0: nothing is known. */
static _Atomic uint64_t files[DRM_FD_MAX];
static _Atomic uint32_t file_count;
static _Atomic int highest_fd; /* that something was known of */
static struct tsm_lock lock;   /* of those who look */
static _Atomic pid_t owner;    /* of the table */

_Static_assert(sizeof(struct drm_file) == sizeof(uint64_t), "a word");

static uint64_t pack(struct drm_file f)
{
    uint64_t word;

    f.known = true;
    memcpy(&word, &f, sizeof(word));
    return word;
}

static inline struct drm_file unpack(uint64_t word)
{
    struct drm_file f;

    memcpy(&f, &word, sizeof(f));
    return f;
}

uint32_t drm_file_count(void)
{
    return atomic_load(&file_count);
}

static bool is_kept(int fd)
{
    return fd >= 0 && fd < DRM_FD_MAX;
}

static void keep(int fd, struct drm_file f)
{
    int highest = atomic_load_explicit(&highest_fd, memory_order_relaxed);

    if (!is_kept(fd))
        return;
    while (fd > highest && !atomic_compare_exchange_weak(&highest_fd, &highest, fd))
        ;
    atomic_store_explicit(&files[fd], pack(f), memory_order_release);
}

struct drm_file drm_file_known(int fd)
{
    return unpack(is_kept(fd) ? atomic_load_explicit(&files[fd], memory_order_acquire) : 0);
}

void drm_file_forget(int fd)
{
    if (is_kept(fd) && !tsm_inside_own() && atomic_load_explicit(&files[fd], memory_order_relaxed))
        atomic_store_explicit(&files[fd], 0, memory_order_release);
}

void drm_files_forked(void)
{
    int highest = atomic_load(&highest_fd);

    lock = (struct tsm_lock){0, 0};
    for (int fd = 0; fd <= highest; fd++)
        drm_file_forget(fd);
}

/* ---- what a descriptor is -----------------------------------------------------------------------
 */

/* Where the kernel says that the descriptor leads to. */
static void path_of(int fd, char *path, size_t size)
{
    char link[48];
    ssize_t length;

    tsm_format(link, sizeof(link), "/proc/thread-self/fd/%d", fd);
    length = readlink(link, path, size - 1);
    path[length > 0 ? length : 0] = '\0';
}

static enum drm_node node_of_path(const char *path)
{
    static const struct {
        const char *prefix;
        enum drm_node node;
    } nodes[] = {
        {"/dev/kfd", DRM_NODE_KFD},
        {"/dev/nvidia-uvm", DRM_NODE_NVIDIA_UVM},
        {"/dev/nvidia", DRM_NODE_NVIDIA},
        {"/dev/udmabuf", DRM_NODE_UDMABUF},
        {"/dev/dma_heap/", DRM_NODE_DMA_HEAP},
        {"/dev/dri/", DRM_NODE_DRM},
        {"/dmabuf:", DRM_NODE_DMABUF},
        {"anon_inode:sync_file", DRM_NODE_SYNC_FILE},
    };

    for (size_t i = 0; i < sizeof(nodes) / sizeof(nodes[0]); i++)
        if (strncmp(path, nodes[i].prefix, strlen(nodes[i].prefix)) == 0)
            return nodes[i].node;
    return DRM_NODE_NONE;
}

struct facts {
    enum drm_node node;
    uint64_t device;
    char path[PATH_SIZE];
    char driver[64], version[64];
};

/* Newer kernels call files without a name regular ones; those are in a file system without a
 * device. */
static bool may_be_ours(const struct stat *st)
{
    mode_t type = st->st_mode & S_IFMT;

    return type == S_IFCHR || type == 0 || (type == S_IFREG && major(st->st_dev) == 0);
}

/* Device files and files without a name are looked at; the rest is nothing that we know. */
static void look_at(int fd, struct facts *out)
{
    struct stat st;
    bool is_device;

    *out = (struct facts){.node = DRM_NODE_NONE};
    if (fstat(fd, &st) != 0 || !may_be_ours(&st))
        return;
    path_of(fd, out->path, sizeof(out->path));
    is_device = S_ISCHR(st.st_mode);
    out->device = is_device ? st.st_rdev : 0;
    if (is_device == (strncmp(out->path, "/dev/", 5) == 0))
        out->node = node_of_path(out->path);
    if (is_device && major(st.st_rdev) == DRM_MAJOR)
        out->node = DRM_NODE_DRM;
    else if (out->node == DRM_NODE_NONE && is_device && major(st.st_rdev) == NVIDIA_MAJOR)
        out->node = DRM_NODE_NVIDIA;
}

static _Atomic uint64_t asked_count;

uint64_t drm_asked_count(void)
{
    return atomic_load(&asked_count);
}

static void ask_driver(int fd, struct facts *out)
{
    struct drm_driver_version v = {.name_size = sizeof(out->driver) - 1, .name = out->driver};

    atomic_fetch_add(&asked_count, 1);
    if (drm_libc_ioctl(fd, DRM_DRIVER_VERSION, &v, false) != 0) {
        out->driver[0] = '\0';
        return;
    }
    out->driver[sizeof(out->driver) - 1] = '\0';
    tsm_format(out->version, sizeof(out->version), "%d.%d.%d", v.major, v.minor, v.patch);
}

static struct drm_file file_of(int fd, struct facts *facts)
{
    struct drm_file f = {.node = (uint8_t)facts->node, .family = DRM_FAMILY_COUNT};

    if (facts->node == DRM_NODE_NONE)
        return f;
    if (facts->node == DRM_NODE_DRM) {
        ask_driver(fd, facts);
        f.family = (uint8_t)drm_family_of_driver(facts->driver);
    } else {
        f.family = (uint8_t)drm_family_of_node(facts->node);
    }
    f.id = atomic_fetch_add(&file_count, 1) + 1;
    atomic_store(&owner, getpid());
    return f;
}

/* ---- records ------------------------------------------------------------------------------------
 */

static bool write_file(int fd, struct drm_file f, const struct facts *facts, enum drm_how how)
{
    struct tsm_call call;

    if (!drm_begin(&call, DRM_RECORD_FILE))
        return false;
    tsm_call_returned(&call, 0, false);
    tsm_call_slot(&call, (uint64_t)fd);
    tsm_call_slot(&call, f.id);
    tsm_call_slot(&call, f.node);
    tsm_call_slot(&call, how);
    tsm_call_string(&call, facts->path[0] ? facts->path : NULL);
    tsm_call_slot(&call, facts->device);
    tsm_call_string(&call, facts->driver[0] ? facts->driver : NULL);
    tsm_call_string(&call, facts->version[0] ? facts->version : NULL);
    tsm_call_commit(&call);
    return true;
}

/* One thread gets to say it. */
static bool claim(int fd, struct drm_file *f)
{
    uint64_t untold = pack(*f);

    f->told = true;
    return !is_kept(fd) || atomic_compare_exchange_strong(&files[fd], &untold, pack(*f));
}

static void tell(int fd, struct drm_file *f, const struct facts *facts, enum drm_how how)
{
    if (f->node == DRM_NODE_NONE || f->told || !claim(fd, f))
        return;
    if (!write_file(fd, *f, facts, how)) {
        f->told = false;
        keep(fd, *f);
    }
}

/* Two threads may look at the same time; a signal handler may not come between. */
static struct drm_file introduce(int fd, struct facts *facts, enum drm_how how)
{
    struct drm_file f;

    tsm_inside_enter();
    tsm_lock_take(&lock);
    f = drm_file_known(fd);
    if (f.node == DRM_NODE_NONE) {
        f = file_of(fd, facts);
        keep(fd, f);
    }
    tsm_lock_give(&lock);
    tsm_inside_leave();
    if (f.node != DRM_NODE_NONE)
        tsm_follow_forks();
    tell(fd, &f, facts, how);
    if (f.node != DRM_NODE_NONE)
        drm_maps_inherited();
    return f;
}

static struct drm_file look(int fd, enum drm_how how)
{
    int saved_errno = errno;
    struct drm_file f;
    struct facts facts;

    look_at(fd, &facts);
    f = introduce(fd, &facts, how);
    errno = saved_errno;
    return f;
}

void drm_file_tell(int fd, struct drm_file f, enum drm_how how)
{
    int saved_errno = errno;
    struct facts facts;

    if (f.told)
        return;
    look_at(fd, &facts);
    facts.node = (enum drm_node)f.node;
    if (f.node == DRM_NODE_DRM)
        ask_driver(fd, &facts);
    tell(fd, &f, &facts, how);
    errno = saved_errno;
}

struct drm_file drm_file_of(int fd)
{
    uint64_t word = is_kept(fd) ? atomic_load_explicit(&files[fd], memory_order_acquire) : 0;

    return word ? unpack(word) : look(fd, DRM_HOW_FOUND);
}

struct drm_file drm_file_mapped(int fd)
{
    struct drm_file f = drm_file_of(fd);
    int saved_errno = errno;
    struct facts facts;

    if (f.node == DRM_NODE_DRM) {
        look_at(fd, &facts);
        if (facts.node != DRM_NODE_DRM) {
            drm_file_forget(fd);
            f = drm_file_of(fd);
        }
    }
    errno = saved_errno;
    return f;
}

void drm_file_opened(int fd, const char *path)
{
    drm_file_forget(fd);
    if (fd >= 0 && node_of_path(path) != DRM_NODE_NONE && !tsm_inside())
        look(fd, DRM_HOW_OPENED);
}

void drm_file_received(int fd)
{
    drm_file_forget(fd);
    if (fd >= 0 && !tsm_inside())
        look(fd, DRM_HOW_RECEIVED);
}

void drm_file_made(int fd, enum drm_node node)
{
    struct facts facts = {.node = node};
    int saved_errno = errno;

    drm_file_forget(fd);
    if (fd >= 0)
        introduce(fd, &facts, DRM_HOW_MADE);
    errno = saved_errno;
}

/* The child of vfork() has descriptors of its own, but our table is its parent's. */
static bool is_own_gpu_file(struct drm_file f)
{
    return f.node != DRM_NODE_NONE && getpid() == atomic_load(&owner);
}

void drm_file_duplicated(int from, int to)
{
    struct drm_file f = drm_file_known(from);
    int saved_errno = errno;
    struct tsm_call call;

    if (tsm_inside_own() || from == to)
        return;
    if (!is_own_gpu_file(f)) {
        drm_file_forget(to);
        return;
    }
    keep(to, f);
    if (drm_begin(&call, DRM_RECORD_DUP)) {
        tsm_call_returned(&call, to, false);
        tsm_call_slot(&call, (uint64_t)to);
        tsm_call_slot(&call, f.id);
        tsm_call_slot(&call, (uint64_t)from);
        tsm_call_commit(&call);
    }
    errno = saved_errno;
}

void drm_file_closing(int fd)
{
    struct drm_file f = drm_file_known(fd);
    int saved_errno = errno;
    struct tsm_call call;

    if (f.node == DRM_NODE_NONE)
        drm_file_forget(fd);
    if (tsm_inside_own() || !is_own_gpu_file(f))
        return;
    drm_file_forget(fd);
    if (drm_begin(&call, DRM_RECORD_CLOSE)) {
        tsm_call_returned(&call, 0, false);
        tsm_call_slot(&call, (uint64_t)fd);
        tsm_call_slot(&call, f.id);
        tsm_call_commit(&call);
    }
    errno = saved_errno;
}
