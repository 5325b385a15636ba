/* SPDX-License-Identifier: Apache-2.0
 *
 * A program that tells what it is doing, by roctx: kernels inside of labels of two threads. It also
 * asks the runtime compiler, which has a library of its own here. Both libraries are linked, or
 * ("opened") opened by name.
 */
#include "api/hip/hip_prototypes.h"
#include "tests/hsa/hsa_kernels.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#define COUNT 512u

static void check(bool good, const char *what)
{
    if (good)
        return;
    fprintf(stderr, "failed: %s\n", what);
    exit(1);
}

#define CHECK(condition) check(condition, #condition)

extern void roctxMarkA(const char *message);
extern int roctxRangePushA(const char *message);
extern int roctxRangePop(void);
extern uint64_t roctxRangeStartA(const char *message);
extern void roctxRangeStop(uint64_t id);

static struct {
    __typeof__(&roctxMarkA) mark;
    __typeof__(&roctxRangePushA) push;
    __typeof__(&roctxRangePop) pop;
    __typeof__(&roctxRangeStartA) start;
    __typeof__(&roctxRangeStop) stop;
    __typeof__(&hiprtcVersion) version;
    __typeof__(&hiprtcLinkDestroy) unlink;
} at = {roctxMarkA,     roctxRangePushA, roctxRangePop,    roctxRangeStartA,
        roctxRangeStop, hiprtcVersion,   hiprtcLinkDestroy};

static void open_both(void)
{
    void *roctx = dlopen("libroctx64.so.4", RTLD_NOW | RTLD_LOCAL);
    void *rtc = dlopen("libhiprtc.so.6", RTLD_NOW | RTLD_LOCAL);

    CHECK(roctx && rtc);
    at.mark = (__typeof__(at.mark))dlsym(roctx, "roctxMarkA");
    at.push = (__typeof__(at.push))dlsym(roctx, "roctxRangePushA");
    at.pop = (__typeof__(at.pop))dlsym(roctx, "roctxRangePop");
    at.start = (__typeof__(at.start))dlsym(roctx, "roctxRangeStartA");
    at.stop = (__typeof__(at.stop))dlsym(roctx, "roctxRangeStop");
    at.version = (__typeof__(at.version))dlsym(rtc, "hiprtcVersion");
    at.unlink = (__typeof__(at.unlink))dlsym(rtc, "hiprtcLinkDestroy");
    CHECK(dlsym(roctx, "roctx_version_major") && !dlsym(rtc, "hiprtcGetCode"));
}

static hipModule_t module;
static hipStream_t stream;

static void scale(float *data, float factor)
{
    struct scale_arguments arguments = {data, factor};
    size_t size = sizeof(arguments);
    void *extra[] = {(void *)1, &arguments, (void *)2, &size, (void *)3};
    hipFunction_t function;

    CHECK(hipModuleGetFunction(&function, module, "scale") == 0);
    CHECK(hipModuleLaunchKernel(function, COUNT / 64, 1, 1, 64, 1, 1, 0, stream, NULL, extra) == 0);
    CHECK(hipStreamSynchronize(stream) == 0);
}

/* Labels of another thread, which begin and end in the midst of ours. */
static void *other(void *range)
{
    CHECK(at.push("elsewhere") == 0 && at.pop() == 0 && at.pop() == -1);
    at.stop(*(uint64_t *)range);
    return NULL;
}

static void work(float *data, float *back)
{
    const uint64_t range = at.start("range"), second = at.start("second");
    pthread_t thread;

    CHECK(range && second == range + 1);
    scale(data, 2);
    CHECK(at.push("outer") == 0);
    scale(data, 3);
    CHECK(at.push("inner") == 1);
    CHECK(pthread_create(&thread, NULL, other, (void *)&range) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
    scale(data, 5);
    CHECK(hipMemcpy(back, data, COUNT * sizeof(*back), 2) == 0);
    CHECK(at.pop() == 1);
    at.mark("point");
    scale(data, 7);
    CHECK(at.pop() == 0);
    at.stop(second);
}

int main(int argc, char **argv)
{
    float host[COUNT], back[COUNT];
    float *data = NULL;
    unsigned bad = 0;
    int major = 0, minor = 0;

    if (argc > 2)
        open_both();
    CHECK(hipInit(0) == 0);
    CHECK(at.version(&major, &minor) == 0 && major == 6 && minor == 4);
    CHECK(at.unlink(NULL) == 3);
    CHECK(hipModuleLoad(&module, argv[1]) == 0);
    CHECK(hipMalloc((void **)&data, sizeof(host)) == 0);
    for (unsigned i = 0; i < COUNT; i++)
        host[i] = (float)i;
    CHECK(hipMemcpy(data, host, sizeof(host), 1) == 0);
    CHECK(hipStreamCreate(&stream) == 0);
    work(data, back);
    for (unsigned i = 0; i < COUNT; i++)
        bad += back[i] != 30 * (float)i;
    printf("%u wrong\n", bad);
    return bad != 0;
}
