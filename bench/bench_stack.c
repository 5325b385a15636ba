/* SPDX-License-Identifier: Apache-2.0
 *
 * A host stack's id against unw_backtrace() of libunwind, the quickest public unwinder, at the same
 * depth, as it is before capture has begun (and, for what recording does to the program's own
 * unwinding, after). Depth 32, and depths from 9 to 32 in turn. The chain of frames is of four
 * different functions, with frames of different sizes and without frame pointers.
 */
#include "bench/null_api.h"
#include "capture/session.h"
#include "capture/call/stack.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 2000, BATCH = 32 };

static int (*backtrace_of)(void **frames, int size);
static struct tsm_session *session;
static struct tsm_lane *lane;
static bool mine;
static double last_ns;
static uint32_t last_id;
static int last_depth;

static __attribute__((noinline)) uint32_t stack_id(void)
{
    return tsm_stack_capture(session, lane, __builtin_return_address(0), __builtin_dwarf_cfa());
}

static __attribute__((noinline)) void leaf(void)
{
    void *frames[64];
    uint64_t begin = tsm_monotonic_ns();

    for (int i = 0; i < BATCH; i++) {
        if (mine)
            last_id = stack_id();
        else
            last_depth = backtrace_of(frames, 64);
    }
    last_ns = (double)(tsm_monotonic_ns() - begin) / BATCH;
}

static void down(int depth);

#define FRAME(name, words)                                                                         \
    static __attribute__((noinline)) void name(int depth)                                          \
    {                                                                                              \
        volatile uint64_t space[words];                                                            \
        space[0] = (uint64_t)depth;                                                                \
        down(depth - 1);                                                                           \
        space[words - 1] = space[0];                                                               \
    }
FRAME(frame_a, 1)
FRAME(frame_b, 3)
FRAME(frame_c, 9)
FRAME(frame_d, 30)

static inline void down(int depth)
{
    static void (*const frames[])(int) = {frame_a, frame_b, frame_c, frame_d};

    if (depth <= 0)
        leaf();
    else
        frames[depth % 4](depth);
}

/* How many frames the program has above the chain is the system's matter: ask first. */
static double measure(bool id, int depth)
{
    static int above = -1;

    if (above < 0) {
        mine = false;
        down(0);
        above = last_depth;
    }
    mine = id;
    down(depth - above);
    return last_ns;
}

/* Depth 32 and the depths from 9 to 32 in turn. */
static void measure_all(bool id, struct bench_samples *deep, struct bench_samples *mixed)
{
    for (int i = 0; i < ROUNDS; i++) {
        bench_add(deep, measure(id, 32));
        bench_add(mixed, measure(id, 9 + i % 24));
    }
}

int main(void)
{
    static struct bench_samples id, backtrace, mixed_id, mixed_backtrace, after, mixed_after;
    static const uint64_t words[BENCH_WORDS];
    void *unwind = dlopen("libunwind.so.8", RTLD_NOW | RTLD_LOCAL);
    void *found = unwind ? dlsym(unwind, "unw_backtrace") : NULL;

    if (!found)
        return 77;
    memcpy(&backtrace_of, &found, sizeof(found));
    measure_all(false, &backtrace, &mixed_backtrace);
    null_launch(null_stream(), words);
    session = tsm_session_current();
    lane = tsm_thread_lane(session);
    measure_all(true, &id, &mixed_id);
    measure_all(false, &after, &mixed_after);
    if (last_id == 0)
        return 1;
    bench_print("stack_id_ns", &id);
    bench_print("backtrace_ns", &backtrace);
    bench_print("mixed_stack_id_ns", &mixed_id);
    bench_print("mixed_backtrace_ns", &mixed_backtrace);
    bench_print("backtrace_after_ns", &after);
    tsm_session_finish();
    return 0;
}
