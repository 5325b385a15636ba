/* SPDX-License-Identifier: Apache-2.0
 *
 * Measures the cost that recording adds to an ioctl on a GPU file, and to one on another file. Run
 * with LD_PRELOAD=libts_capture.so:libfake_drm.so FAKE_DRM=vgem TS_STACKS=off; the path of
 * libfake_drm.so is the argument. Bursts with rests between them: the drain thread's work is not
 * measured. Then a storm, without rests: a million calls of eight threads, where the drain thread
 * has to keep up; `tracesmith info` says whether the trace has them all.
 */
#include "base/clock.h"
#include "bench/measure.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { ROUNDS = 300, BURST = 200, THREADS = 8, STORM = 1000000 };

struct drm_get_cap {
    uint64_t capability, value;
};
struct drm_gem_close {
    uint32_t handle, pad;
};
#define DRM_IOCTL_GET_CAP   _IOWR('d', 0x0c, struct drm_get_cap)
#define DRM_IOCTL_GEM_CLOSE _IOW('d', 0x09, struct drm_gem_close)

static int (*fake_ioctl)(int, unsigned long, ...);

typedef void one(int fd);

static void cap_bare(int fd)
{
    struct drm_get_cap c = {1, 0};

    fake_ioctl(fd, DRM_IOCTL_GET_CAP, &c);
}

static void cap(int fd)
{
    struct drm_get_cap c = {1, 0};

    ioctl(fd, DRM_IOCTL_GET_CAP, &c);
}

/* Fails: an argument that only goes in. */
static void close_bare(int fd)
{
    struct drm_gem_close c = {0, 0};

    fake_ioctl(fd, DRM_IOCTL_GEM_CLOSE, &c);
}

static void close_recorded(int fd)
{
    struct drm_gem_close c = {0, 0};

    ioctl(fd, DRM_IOCTL_GEM_CLOSE, &c);
}

static void other_bare(int fd)
{
    int n;

    fake_ioctl(fd, FIONREAD, &n);
}

static void other(int fd)
{
    int n;

    ioctl(fd, FIONREAD, &n);
}

static double burst(one *f, int fd)
{
    uint64_t begin = tsm_monotonic_ns();

    for (int i = 0; i < BURST; i++)
        f(fd);
    return (double)(tsm_monotonic_ns() - begin) / BURST;
}

static void *storm_thread(void *f)
{
    int fd = open("/dev/dri/renderD128", O_RDWR);

    for (int i = 0; i < STORM / THREADS; i++)
        (*(one **)f)(fd);
    close(fd);
    return NULL;
}

/* Nanoseconds a call, all threads together. */
static double storm(one *f)
{
    pthread_t threads[THREADS];
    uint64_t begin = tsm_monotonic_ns();

    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, storm_thread, &f);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    return (double)(tsm_monotonic_ns() - begin) / STORM;
}

static double resident_mib(void)
{
    FILE *file = fopen("/proc/self/statm", "r");
    long all = 0, resident = 0;

    if (file && fscanf(file, "%ld %ld", &all, &resident) != 2)
        resident = 0;
    if (file)
        fclose(file);
    return (double)resident * 4096 / (1 << 20);
}

static void print_storm(void)
{
    double before;

    printf("drm_storm_bare %.1f\n", storm(cap_bare));
    printf("drm_storm_first %.1f\n", storm(cap)); /* lanes grow to their size */
    before = resident_mib();
    printf("drm_storm %.1f\n", storm(cap));
    printf("drm_storm_grown_mib %.1f\n", resident_mib() - before);
}

int main(int argc, char **argv)
{
    static struct bench_samples samples[6];
    static const char *const names[] = {"drm_inout_bare", "drm_inout",  "drm_in_bare",
                                        "drm_in",         "other_bare", "other"};
    one *const functions[] = {cap_bare, cap, close_bare, close_recorded, other_bare, other};
    void *fake = argc > 1 ? dlopen(argv[1], RTLD_LAZY | RTLD_NOLOAD) : NULL;
    int fd = open("/dev/dri/renderD128", O_RDWR), pipes[2];

    fake_ioctl = fake ? (int (*)(int, unsigned long, ...))dlsym(fake, "ioctl") : NULL;
    if (!fake_ioctl || fd < 0 || pipe(pipes)) {
        fprintf(stderr, "LD_PRELOAD=libts_capture.so:libfake_drm.so bench_drm libfake_drm.so\n");
        return 1;
    }
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < 6; i++)
            bench_add(&samples[i], burst(functions[i], i < 4 ? fd : pipes[0]));
        usleep(500);
    }
    for (int i = 0; i < 6; i++)
        bench_print(names[i], &samples[i]);
    for (int i = 0; i < 6; i += 2)
        printf("%s_added %.1f\n", names[i + 1],
               bench_percentile(&samples[i + 1], 10) - bench_percentile(&samples[i], 10));
    print_storm();
    return 0;
}
