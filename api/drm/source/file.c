/* SPDX-License-Identifier: Apache-2.0
 *
 * Which descriptors are of GPU files. A descriptor is looked at when the first ioctl comes, and
 * what it is is kept until it is closed, or something else gets its number.
 */
#include "api/drm/source/source.h"

#include "api/drm/version.h"
#include "base/log.h"
#include "base/own_stack.h"
#include "base/text.h"
#include "capture/call/sync_fd.h"
#include "capture/lock.h"
#include "interpose/real_library.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <linux/kcmp.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define DRM_MAJOR     226
#define ACCEL_MAJOR   261 /* DRM drivers of what is no GPU */
#define NVIDIA_MAJOR  195
#define PATH_SIZE     256u
#define PAGE          4096u
#define DMA_BUF_FILES 0x444d4142 /* DMA_BUF_MAGIC of the kernel: their file system */

/* A process that no handler of fork() told of its birth (a raw clone()) finds zeros here, once it
 * has been asked for, and so knows. */
static _Alignas(PAGE) struct {
    _Atomic uint64_t words[DRM_FD_MAX]; /* struct drm_file as a word; 0: nothing is known */
    struct tsm_lock lock;               /* of those who look */
    _Atomic uint32_t is_ours;           /* this process' */
    uint8_t rest[PAGE - sizeof(struct tsm_lock) - sizeof(uint32_t)];
} table;
#define files table.words

static _Atomic uint32_t file_count;
static _Atomic int highest_fd; /* that something was known of */
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

/* The child of vfork() has descriptors of its own, but our table is its parent's. */
static bool is_own_gpu_file(struct drm_file f)
{
    return f.node != DRM_NODE_NONE && !tsm_sandboxed() && getpid() == atomic_load(&owner);
}

void drm_file_forget(int fd)
{
    struct drm_file f = drm_file_known(fd);

    if (f.known && !tsm_inside_own() && (f.node == DRM_NODE_NONE || is_own_gpu_file(f)))
        atomic_store_explicit(&files[fd], 0, memory_order_release);
}

void drm_files_forked(void)
{
    int highest = atomic_load(&highest_fd);

    table.lock = (struct tsm_lock){0, 0};
    for (int fd = 0; fd <= highest; fd++)
        atomic_store_explicit(&files[fd], 0, memory_order_relaxed);
    atomic_store(&table.is_ours, 0);
}

/* The process is going to use a GPU file. With the lock held. */
static void own_table(void)
{
    if (atomic_load(&table.is_ours))
        return;
    if (atomic_load(&owner))
        drm_file_events.born();
    madvise(&table, sizeof(table), MADV_WIPEONFORK);
    atomic_store(&owner, getpid());
    atomic_store(&table.is_ours, 1);
}

/* ---- what a descriptor is -----------------------------------------------------------------------
 */

/* Reads the path of a descriptor from the kernel. */
static void path_of(int fd, char *path, size_t size)
{
    char link[48];
    ssize_t length;

    tsm_text_numbered(link, sizeof(link), "/proc/thread-self/fd/", (unsigned)fd);
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
        {"/dev/accel/", DRM_NODE_DRM},
        {"/dev/hl", DRM_NODE_HABANALABS},
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
    bool is_hidden; /* a device that only its name tells, and there is no /proc that has it */
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

/* The kernel does not let us look, or a filter of the program's. */
static void find_facts_by_path(struct facts *out, const char *path)
{
    if (errno == EBADF)
        return;
    if (path) {
        tsm_text_copy(out->path, sizeof(out->path), path);
        out->node = node_of_path(path);
    } else if (drm_file_count() > 0) {
        tsm_session_unmodelled("a descriptor that could not be looked at", true);
    }
}

/* Device files and files without a name are looked at; the rest is nothing that we know. `path`:
 * how the program called it, for where there is no /proc; NULL: not known. */
static void find_facts(int fd, struct facts *out, const char *path)
{
    struct stat st;
    struct statfs fs;
    bool is_device;

    *out = (struct facts){.node = DRM_NODE_NONE};
    if (fstat(fd, &st) != 0) {
        find_facts_by_path(out, path);
        return;
    }
    if (!may_be_ours(&st))
        return;
    path_of(fd, out->path, sizeof(out->path));
    if (!out->path[0] && path)
        tsm_text_copy(out->path, sizeof(out->path), path);
    is_device = S_ISCHR(st.st_mode);
    out->device = is_device ? st.st_rdev : 0;
    if (is_device == (strncmp(out->path, "/dev/", 5) == 0))
        out->node = node_of_path(out->path);
    if (!is_device && !out->path[0] && fstatfs(fd, &fs) == 0 && fs.f_type == DMA_BUF_FILES)
        out->node = DRM_NODE_DMABUF;
    if (is_device && (major(st.st_rdev) == DRM_MAJOR || major(st.st_rdev) == ACCEL_MAJOR))
        out->node = DRM_NODE_DRM;
    else if (out->node == DRM_NODE_NONE && is_device && major(st.st_rdev) == NVIDIA_MAJOR)
        out->node = DRM_NODE_NVIDIA;
    out->is_hidden = out->node == DRM_NODE_NONE && is_device && !out->path[0];
}

/* Another library's fstat() may use files itself. */
static void look_at(int fd, struct facts *out, const char *path)
{
    tsm_inside_enter();
    find_facts(fd, out, path);
    tsm_inside_leave();
}

static _Atomic uint64_t asked_count;

uint64_t drm_asked_count(void)
{
    return atomic_load(&asked_count);
}

void drm_file_asked(void)
{
    atomic_fetch_add(&asked_count, 1);
}

static void ask_driver(int fd, struct facts *out)
{
    struct drm_driver_version v = {.name_size = sizeof(out->driver) - 1, .name = out->driver};

    drm_file_asked();
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

    if (facts->is_hidden)
        f.family = DRM_FAMILY_HIDDEN;
    if (facts->node == DRM_NODE_NONE)
        return f;
    if (facts->node == DRM_NODE_DRM) {
        ask_driver(fd, facts);
        f.family = (uint8_t)drm_family_of_driver(facts->driver);
    } else {
        f.family = (uint8_t)drm_family_of_node(facts->node);
    }
    f.id = atomic_fetch_add(&file_count, 1) + 1;
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

static void write_dup(int from, int to, struct drm_file f)
{
    struct tsm_call call;

    if (!drm_begin(&call, DRM_RECORD_DUP))
        return;
    tsm_call_returned(&call, to, false);
    tsm_call_slot(&call, (uint64_t)to);
    tsm_call_slot(&call, f.id);
    tsm_call_slot(&call, (uint64_t)from);
    tsm_call_commit(&call);
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

/* A descriptor that is known to be of the same open file, which came to us twice; or -1. */
static int find_same(int fd, const struct facts *facts)
{
    int highest = atomic_load(&highest_fd);
    pid_t thread = (pid_t)syscall(SYS_gettid);

    for (int other = 0; other <= highest && facts->node != DRM_NODE_NONE; other++) {
        struct drm_file f = drm_file_known(other);
        if (other != fd && f.node == facts->node &&
            syscall(SYS_kcmp, thread, thread, KCMP_FILE, fd, other) == 0)
            return other;
    }
    return -1;
}

/* Two threads may look at the same time. */
static struct drm_file introduce(int fd, struct facts *facts, enum drm_how how)
{
    struct drm_file f;
    int same = -1;

    drm_enter(&table.lock);
    if (facts->node != DRM_NODE_NONE)
        own_table();
    f = drm_file_known(fd);
    if (f.node == DRM_NODE_NONE && how != DRM_HOW_MADE && how != DRM_HOW_OPENED)
        same = find_same(fd, facts);
    if (f.node == DRM_NODE_NONE) {
        f = same >= 0 ? drm_file_known(same) : file_of(fd, facts);
        keep(fd, f);
    }
    drm_leave(&table.lock);
    if (f.node == DRM_NODE_NONE)
        return f;
    tsm_follow_forks();
    if (same >= 0 && f.told)
        write_dup(same, fd, f);
    else
        tell(fd, &f, facts, how);
    drm_file_events.used();
    return f;
}

/* Arguments and result of what runs on a stack of ours: facts are large. */
struct question {
    int fd;
    enum drm_how how;
    const char *path;
    struct drm_file file;
};

static void look_on_own_stack(void *argument)
{
    struct question *q = argument;
    struct facts facts;

    look_at(q->fd, &facts, q->path);
    q->file = introduce(q->fd, &facts, q->how);
}

static __attribute__((noinline)) struct drm_file look(int fd, enum drm_how how, const char *path)
{
    struct question q = {.fd = fd, .how = how, .path = path};
    int saved_errno = errno;

    if (tsm_sandboxed())
        return q.file; /* nothing that we know */
    tsm_own_stack_run(look_on_own_stack, &q);
    errno = saved_errno;
    return q.file;
}

static void tell_on_own_stack(void *argument)
{
    struct question *q = argument;
    struct facts facts;

    look_at(q->fd, &facts, NULL);
    facts.node = (enum drm_node)q->file.node;
    if (q->file.node == DRM_NODE_DRM)
        ask_driver(q->fd, &facts);
    tell(q->fd, &q->file, &facts, q->how);
}

void drm_file_tell(int fd, struct drm_file f, enum drm_how how)
{
    struct question q = {.fd = fd, .how = how, .file = f};
    int saved_errno = errno;

    if (!f.told && !tsm_sandboxed())
        tsm_own_stack_run(tell_on_own_stack, &q);
    errno = saved_errno;
}

struct drm_file drm_file_of(int fd)
{
    uint64_t word = is_kept(fd) ? atomic_load_explicit(&files[fd], memory_order_acquire) : 0;

    return word ? unpack(word) : look(fd, DRM_HOW_FOUND, NULL);
}

static void map_on_own_stack(void *argument)
{
    struct question *q = argument;
    struct facts facts;

    look_at(q->fd, &facts, NULL);
    if (facts.node != DRM_NODE_DRM) {
        drm_file_forget(q->fd);
        q->file = drm_file_of(q->fd);
    }
}

struct drm_file drm_file_mapped(int fd)
{
    struct question q = {.fd = fd, .file = drm_file_of(fd)};
    int saved_errno = errno;

    if (q.file.node == DRM_NODE_DRM && !tsm_sandboxed())
        tsm_own_stack_run(map_on_own_stack, &q);
    errno = saved_errno;
    return q.file;
}

void drm_file_opened(int fd, const char *path)
{
    drm_file_forget(fd);
    if (fd >= 0 && node_of_path(path) != DRM_NODE_NONE && !tsm_inside())
        look(fd, DRM_HOW_OPENED, path);
}

void drm_file_received(int fd)
{
    drm_file_forget(fd);
    if (fd >= 0 && !tsm_inside())
        look(fd, DRM_HOW_RECEIVED, NULL);
}

void drm_file_created(int fd, enum drm_node node)
{
    struct facts facts = {.node = node};
    int saved_errno = errno;

    drm_file_forget(fd);
    if (fd >= 0 && !tsm_sandboxed())
        introduce(fd, &facts, DRM_HOW_MADE);
    errno = saved_errno;
}

void drm_file_duplicated(int from, int to)
{
    struct drm_file f = drm_file_known(from);
    int saved_errno = errno;

    tsm_sync_fd_duplicated(from, to);
    if (tsm_inside_own() || from == to)
        return;
    if (!is_own_gpu_file(f)) {
        drm_file_forget(to);
        return;
    }
    keep(to, f);
    write_dup(from, to, f);
    errno = saved_errno;
}

int drm_file_descriptor_of(uint32_t id)
{
    int highest = atomic_load(&highest_fd);

    for (int fd = 0; fd <= highest && id; fd++)
        if (drm_file_known(fd).id == id)
            return fd;
    return -1;
}

uint32_t drm_file_closing(int fd)
{
    struct drm_file f = drm_file_known(fd);
    int saved_errno = errno;
    struct tsm_call call;

    tsm_sync_fds_closed((unsigned)fd, (unsigned)fd);
    if (f.node == DRM_NODE_NONE)
        drm_file_forget(fd);
    if (tsm_inside_own() || !is_own_gpu_file(f))
        return 0;
    drm_file_forget(fd);
    if (drm_begin(&call, DRM_RECORD_CLOSE)) {
        tsm_call_returned(&call, 0, false);
        tsm_call_slot(&call, (uint64_t)fd);
        tsm_call_slot(&call, f.id);
        tsm_call_commit(&call);
    }
    errno = saved_errno;
    return f.id;
}

unsigned drm_file_highest(void)
{
    return (unsigned)atomic_load(&highest_fd);
}

bool drm_is_first_thread(void)
{
    return !tsm_sandboxed() && (pid_t)syscall(SYS_gettid) == getpid();
}

void drm_files_unshared(void)
{
    int saved_errno = errno;

    if (drm_file_count() && !tsm_inside_own() && !drm_is_first_thread())
        tsm_session_unmodelled("descriptors of GPU files that only one thread has", true);
    errno = saved_errno;
}

static void hide_on_own_stack(void *argument)
{
    tsm_log(TSM_LOG_WARN,
            "descriptor %d may be of a GPU: its ioctls are not recorded, for /proc, which has "
            "its name, cannot be "
            "read; mount /proc there",
            *(int *)argument);
    if (drm_file_count() > 0)
        tsm_session_unmodelled("a descriptor that could not be looked at", true);
}

void drm_file_hidden(int fd)
{
    static _Atomic bool said;
    int saved_errno = errno;

    if (!atomic_load_explicit(&said, memory_order_relaxed) && !atomic_exchange(&said, true))
        tsm_own_stack_run(hide_on_own_stack, &fd);
    errno = saved_errno;
}

static void doubt_on_own_stack(void *argument)
{
    int fd = *(int *)argument;
    struct drm_file f = drm_file_known(fd);
    bool has_name = f.node != DRM_NODE_DMABUF && f.node != DRM_NODE_SYNC_FILE;
    struct facts facts;
    struct stat st;

    look_at(fd, &facts, NULL);
    if (fstat(fd, &st) != 0 || (has_name && facts.path[0] && f.node != facts.node))
        drm_file_forget(fd);
}

void drm_file_doubted(int fd)
{
    if (!tsm_sandboxed())
        tsm_own_stack_run(doubt_on_own_stack, &fd);
}
