/* SPDX-License-Identifier: Apache-2.0
 *
 * Programs that use GPU files in all the ways that files can be used. drm_modes MODE
 */
#include "tests/drm/drm_small.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>

static uint64_t cap(int fd)
{
    struct drm_get_cap c = {.capability = DRM_CAP_PRIME};

    MUST(fd, DRM_IOCTL_GET_CAP, &c);
    return c.value;
}

/* Each descriptor is of the same file. */
static void duplicates(int fd)
{
    int others[] = {dup(fd), dup2(fd, 50), dup3(fd, 51, O_CLOEXEC), fcntl(fd, F_DUPFD, 60),
                    fcntl(fd, F_DUPFD_CLOEXEC, 70)};

    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        cap(others[i]);
    close(others[0]);
    close_range(50, 80, 0);
    cap(fd);
}

static void send_fd(int socket, int fd)
{
    char byte = 0;
    struct iovec data = {&byte, 1};
    union {
        struct cmsghdr head;
        char room[CMSG_SPACE(sizeof(int))];
    } control = {.head = {CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS}};
    struct msghdr message = {.msg_iov = &data,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof(control)};

    memcpy(CMSG_DATA(&control.head), &fd, sizeof(fd));
    if (sendmsg(socket, &message, 0) != 1)
        perror("sendmsg");
}

static int receive_fd(int socket)
{
    char byte;
    struct iovec data = {&byte, 1};
    union {
        struct cmsghdr head;
        char room[CMSG_SPACE(sizeof(int))];
    } control;
    struct msghdr message = {.msg_iov = &data,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof(control)};
    int fd = -1;

    if (recvmsg(socket, &message, 0) == 1)
        memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(fd));
    return fd;
}

static void passed(int fd)
{
    int pair[2], other;

    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
        exit(1);
    send_fd(pair[0], fd);
    close(fd);
    other = receive_fd(pair[1]);
    printf("%llu\n", (unsigned long long)cap(other));
}

static void forked(int fd)
{
    pid_t child = fork();

    cap(fd);
    if (!child)
        _exit(0);
    waitpid(child, NULL, 0);
}

static void map_one(int fd)
{
    struct drm_mode_create_dumb create = {.width = 64, .height = 16, .bpp = 32};
    struct drm_mode_map_dumb map = {0};

    MUST(fd, DRM_IOCTL_MODE_CREATE_DUMB, &create);
    map.handle = create.handle;
    MUST(fd, DRM_IOCTL_MODE_MAP_DUMB, &map);
    map_at(fd, map.offset, create.size);
}

/* The child has its parent's mapping, and uses the file. */
static void forked_maps(int fd)
{
    map_one(fd);
    forked(fd);
}

/* Two ways to close it that are not close(); then its number is another file's. */
static void closed(int fd)
{
    closefrom(fd);
    if (memfd_create("other", 0) != fd || ftruncate(fd, 4096))
        exit(1);
    map_at(fd, 0, 4096);
    close(fd);
    if (open_node() != fd)
        exit(1);
    cap(fd);
    syscall(SYS_close_range, fd, fd, 0);
    if (memfd_create("other", 0) != fd || ftruncate(fd, 4096))
        exit(1);
    map_at(fd, 0, 4096);
}

static void executed(int fd, char **argv)
{
    char number[16];

    snprintf(number, sizeof(number), "%d", dup(fd)); /* without CLOEXEC */
    execl(argv[0], argv[0], "inherited", number, NULL);
}

static void told(long result)
{
    printf("%ld %s\n", result, result < 0 ? strerror(errno) : "");
}

/* Calls that the tables do not know, that fail, and whose arguments are nowhere. */
static void strange(int fd)
{
    struct drm_gem_close close = {.handle = 999};
    uint32_t words[4] = {1, 2, 3, 4};
    struct drm_mode_create_dumb dumb = {.width = 8, .height = 8, .bpp = 32};

    told(ioctl(fd, DRM_IOWR(DRM_COMMAND_BASE + 0x3e, uint32_t[4]), words));
    told(ioctl(fd, DRM_IOCTL_GEM_CLOSE, &close));
    told(ioctl(fd, DRM_IOCTL_GET_CAP, NULL));
    told(ioctl(0, DRM_IOCTL_GET_CAP, words));
    told(ioctl(-1, DRM_IOCTL_GET_CAP, words));
    /* An older program's shorter struct. */
    told(ioctl(fd, _IOC(_IOC_READ | _IOC_WRITE, 'd', 0xb2, 24), &dumb));
}

/* The device takes this, but it is nothing to do again. */
static void unsafe(int fd)
{
    struct drm_gem_flink flink = {.handle = 1};

    MUST(fd, DRM_IOCTL_GEM_FLINK, &flink);
}

static void unknown(int fd)
{
    uint32_t words[4] = {0};

    must(fd, DRM_IOWR(DRM_COMMAND_BASE + 0x3d, uint32_t[4]), words, "unknown");
}

static void nvidia(int fd)
{
    static uint8_t parameters[104] = {1, 2, 3};
    uint64_t there = (uintptr_t)parameters;
    uint32_t control[8] = {
        0xc1d00001, 0x5c000003, 0x20800110, 0, (uint32_t)there, (uint32_t)(there >> 32), 104, 0};
    /* A GPFIFO channel; parameters that are not there. */
    uint32_t alloc[12] = {0xc1d00001, 0x5c000003, 0x5c000009, 0xc86f, 16, 0, 0, 0, 8, 0};
    struct {
        uint32_t status;
    } uvm = {0};
    /* The number of a control that had another name before branch 555. */
    uint32_t renamed[8] = {0xc1d00001, 0x5c000003, 0x00730108, 0, 0, 0, 0, 0};
    uint64_t carried[2] = {0x2b | 48ull << 32, 0};
    struct {
        uint32_t command, reply;
        char text[64];
    } version = {.text = "535.161.07"};
    int other = open("/dev/nvidiactl", O_RDWR);

    must(other, _IOWR('F', 0x2a, uint32_t[8]), control, "control");
    must(other, _IOWR('F', 0x2a, uint32_t[8]), renamed, "control of a driver not known");
    must(other, _IOWR('F', 210, version), &version, "version");
    must(other, _IOWR('F', 0x2a, uint32_t[8]), renamed, "control of a driver that is known");
    must(other, _IOWR('F', 211, uint64_t[2]), carried, "transfer");
    must(other, _IOWR('F', 0x2b, uint32_t[12]), alloc, "allocation");
    close(other);
    other = open("/dev/nvidia-uvm", O_RDWR);
    must(other, 27, &uvm, "an ioctl of UVM");
    must(other, 0x30000001, &uvm, "its first");
    must(other, 250, &uvm, "one that nobody knows");
    close(other);
}

static void raw(int fd)
{
    struct drm_get_cap c = {.capability = DRM_CAP_PRIME};

    told(syscall(SYS_ioctl, fd, DRM_IOCTL_GET_CAP, &c));
    told(syscall(SYS_getpid) == getpid());
    told(syscall(SYS_close, -1));
}

/* FAKE_DRM_EINTR makes some fail; most are tried again, the last is not. */
static void interrupted(int fd)
{
    struct drm_get_cap c = {.capability = DRM_CAP_PRIME};

    for (int i = 0; i < 10; i++)
        cap(fd);
    while (ioctl(fd, DRM_IOCTL_GET_CAP, &c) == 0)
        ;
    cap(fd);
}

struct storm {
    int fd;
    unsigned count;
};

static void *storm_thread(void *argument)
{
    const struct storm *s = argument;

    for (unsigned i = 0; i < s->count; i++)
        cap(s->fd);
    return NULL;
}

static long resident_kib(void)
{
    FILE *file = fopen("/proc/self/statm", "r");
    long all = 0, resident = 0;

    if (!file || fscanf(file, "%ld %ld", &all, &resident) != 2)
        resident = 0;
    if (file)
        fclose(file);
    return resident * 4;
}

static void storm_once(int fd, unsigned count)
{
    pthread_t threads[8];
    struct storm s = {fd, count / 8};

    for (int i = 0; i < 8; i++)
        pthread_create(&threads[i], NULL, storm_thread, &s);
    for (int i = 0; i < 8; i++)
        pthread_join(threads[i], NULL);
}

/* Prints by how much memory has grown after the first fifth. */
static void storm(int fd, unsigned count)
{
    long before;

    storm_once(fd, count / 5);
    before = resident_kib();
    storm_once(fd, count - count / 5);
    printf("grown %ld KiB\n", resident_kib() - before);
}

/* Longer than the recorder keeps anything to itself. */
static void slow(int fd)
{
    for (int i = 0; i < 12; i++) {
        cap(fd);
        usleep(150000);
    }
}

static void cuda(void *driver, const char *name, unsigned long a, unsigned long b, unsigned long c)
{
    int (*function)(unsigned long, unsigned long, unsigned long) =
        driver ? (int (*)(unsigned long, unsigned long, unsigned long))dlsym(driver, name) : NULL;

    if (!function || function(a, b, c))
        exit(3);
}

/* CUDA beside it, whose calls are where checkpoints are taken. */
static void beside_cuda(int fd)
{
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);
    unsigned long context = 0, memory = 0;

    cuda(driver, "cuInit", 0, 0, 0);
    cuda(driver, "cuCtxCreate_v2", (unsigned long)&context, 0, 0);
    cuda(driver, "cuMemAlloc_v2", (unsigned long)&memory, 4096, 0);
    for (int i = 0; i < 8; i++) {
        cap(fd);
        cuda(driver, "cuMemsetD32_v2", memory, 7, 16);
        cuda(driver, "cuCtxSynchronize", 0, 0, 0);
    }
}

/* Past libc; it goes to the kernel, past the library that stands in for a GPU. */
static void past(int fd)
{
    struct drm_get_cap c = {.capability = 1};
    long result;

    cap(fd);
    syscall(SYS_ioctl, -1, DRM_IOCTL_GET_CAP,
            &c); /* on no file at all, as Mesa does when it ends */
    for (int i = 0; i < 20; i++)
        __asm__ volatile("syscall"
                         : "=a"(result)
                         : "0"((long)SYS_ioctl), "D"((long)fd), "S"((long)DRM_IOCTL_GET_CAP),
                           "d"(&c)
                         : "rcx", "r11", "memory");
}

static void maps(int fd)
{
    struct drm_mode_create_dumb create = {.width = 64, .height = 64, .bpp = 32};
    struct drm_mode_map_dumb map = {0};
    char *memory, *moved;

    MUST(fd, DRM_IOCTL_MODE_CREATE_DUMB, &create);
    map.handle = create.handle;
    MUST(fd, DRM_IOCTL_MODE_MAP_DUMB, &map);
    memory = map_at(fd, map.offset, create.size);
    moved = mremap(memory, create.size, 2 * create.size, MREMAP_MAYMOVE);
    munmap(moved, 2 * create.size);
}

/* Asks as libdrm does: how much there is, then the lists. */
static void property(int fd)
{
    struct drm_mode_property_enum names[2];
    uint64_t values[2];
    struct drm_mode_get_property p = {.prop_id = 8};

    MUST(fd, DRM_IOCTL_MODE_GETPROPERTY, &p);
    p.values_ptr = (uintptr_t)values;
    p.enum_blob_ptr = (uintptr_t)names;
    MUST(fd, DRM_IOCTL_MODE_GETPROPERTY, &p);
}

static const struct {
    const char *name;
    void (*run)(int fd);
} modes[] = {{"amdgpu", run_amdgpu},
             {"unfollowed", run_unfollowed},
             {"beside_cuda", beside_cuda},
             {"i915", run_i915},
             {"nouveau", run_nouveau},
             {"i915_memory", run_i915_memory},
             {"amdgpu_memory", run_amdgpu_memory},
             {"amdgpu_lost", run_amdgpu_lost},
             {"chains", run_chains},
             {"chain_unknown", run_chain_unknown},
             {"chain_wrong", run_chain_wrong},
             {"udmabuf", run_udmabuf},
             {"heap", run_heap},
             {"vgem", run_vgem},
             {"results", run_results},
#ifdef FAKE_XE
             {"xe", run_xe},
             {"xe_fences", run_xe_fences},
#endif
             {"vmwgfx", run_vmwgfx},
             {"habanalabs", run_habanalabs},
#ifdef PAST_DRIVERS
             {"savage", run_savage},
             {"r128", run_r128},
             {"via", run_via},
#endif
#ifdef FAKE_ACCEL
             {"powervr", run_pvr},
             {"intel_vpu", run_ivpu},
             {"qaic", run_qaic},
#endif
             {"commit", run_commit},
             {"names", run_names},
             {"radeon", run_radeon},
#ifdef ARM_DRIVERS
             {"v3d", run_v3d},
             {"panfrost", run_panfrost},
             {"etnaviv", run_etnaviv},
             {"lima", run_lima},
             {"msm", run_msm},
#endif
             {"vc4", run_vc4},
             {"tegra", run_tegra},
             {"virtgpu", run_virtgpu},
             {"duplicates", duplicates},
             {"passed", passed},
             {"forked", forked},
             {"forked_maps", forked_maps},
             {"closed", closed},
             {"strange", strange},
             {"raw", raw},
             {"interrupted", interrupted},
             {"maps", maps},
             {"property", property},
             {"past", past},
             {"slow", slow},
             {"nvidia", nvidia},
             {"unsafe", unsafe},
             {"unknown", unknown}};

/* ---- little stack -------------------------------------------------------------------------------
 */

static struct {
    ucontext_t caller, callee;
    void (*run)(int fd);
    int fd;
} small;

static void run_small(void)
{
    small.run(small.fd);
}

static void on_signal(int number)
{
    small.run(small.fd);
}

static char *make_stack(size_t size)
{
    char *stack =
        mmap(NULL, 4096 + size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    mprotect(stack, 4096, PROT_NONE);
    return stack + 4096;
}

/* With DRM_SMALL=BYTES a mode runs on a coroutine's stack of that size; below 0: in a signal
 * handler with one of -BYTES. */
static void run(void (*mode)(int fd), int fd)
{
    const char *words = getenv("DRM_SMALL");
    const long size = words ? atol(words) : 0;
    const stack_t stack = {.ss_sp = size ? make_stack((size_t)labs(size)) : NULL,
                           .ss_size = (size_t)labs(size)};
    const struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};

    small.run = mode;
    small.fd = fd;
    if (size < 0) {
        sigaltstack(&stack, NULL);
        sigaction(SIGUSR1, &action, NULL);
        raise(SIGUSR1);
    } else if (size) {
        getcontext(&small.callee);
        small.callee.uc_stack = stack;
        small.callee.uc_link = &small.caller;
        makecontext(&small.callee, run_small, 0);
        swapcontext(&small.caller, &small.callee);
    } else {
        mode(fd);
    }
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";
    int fd = strcmp(mode, "inherited") ? open_node() : atoi(argv[2]);

    for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++)
        if (!strcmp(modes[i].name, mode))
            run(modes[i].run, fd);
    if (!strcmp(mode, "executed"))
        executed(fd, argv);
    if (!strcmp(mode, "inherited"))
        cap(fd);
    if (!strcmp(mode, "storm"))
        storm(fd, argc > 2 ? (unsigned)atoi(argv[2]) : 8000);
    close(fd);
    return 0;
}
