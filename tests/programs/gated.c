/* SPDX-License-Identifier: Apache-2.0
 *
 * Commands that are all sent at once give back bytes into the same memory, one after the other;
 * between them the device waits until the program has read what the last one gave: gated FIRST GATE
 * NEXT ROUNDS. FIRST, NEXT (what gives back bytes): copy, part (a copy of half as much), kernel,
 * memset GATE: function (a function of the program waits), value (the stream waits for a value),
 * other (a function on another stream, joined by events)
 */
#include "tests/programs/program.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>

enum { SIZE = 8192, COUNT = SIZE / 4, ROUNDS_MAX = 64, STEPS = 3 };

static sem_t gate;

static void wait_at_gate(void *unused)
{
    while (sem_wait(&gate))
        continue;
}

struct setup {
    CUstream stream, other;
    CUfunction fill;
    CUdeviceptr source, mapped, word_mapped;
    uint32_t *memory;
    volatile uint32_t *word;
    CUevent done, before, behind;
};

static void send_giver(const struct setup *s, const char *what, uint32_t number)
{
    uint32_t count = strcmp(what, "part") ? COUNT : COUNT / 2, value = 1000 * number + 1;
    CUdeviceptr to = strcmp(what, "kernel") ? s->source : s->mapped;

    if (!strcmp(what, "memset")) {
        CU(cuMemsetD32Async(s->mapped, value, count, s->stream));
        return;
    }
    program_launch(s->fill, count, s->stream, (void *[]){&count, &value, &to});
    if (to == s->source)
        CU(cuMemcpyDtoHAsync_v2(s->memory, s->source, (size_t)4 * count, s->stream));
}

static void send_gate(const struct setup *s, const char *how, uint32_t number)
{
    const bool is_other = !strcmp(how, "other");

    if (!strcmp(how, "value")) {
        CU(cuStreamWaitValue32_v2(s->stream, s->word_mapped, number, CU_STREAM_WAIT_VALUE_GEQ));
        return;
    }
    if (is_other) {
        CU(cuEventRecord(s->before, s->stream));
        CU(cuStreamWaitEvent(s->other, s->before, 0));
    }
    CU(cuLaunchHostFunc(is_other ? s->other : s->stream, wait_at_gate, NULL));
    if (is_other) {
        CU(cuEventRecord(s->behind, s->other));
        CU(cuStreamWaitEvent(s->stream, s->behind, 0));
    }
}

static void open_gate(const struct setup *s, const char *how, uint32_t number)
{
    if (!strcmp(how, "value"))
        __atomic_store_n(s->word, number, __ATOMIC_RELEASE);
    else
        sem_post(&gate);
}

int main(int argc, char **argv)
{
    const char *first = argc > 1 ? argv[1] : "copy", *how = argc > 2 ? argv[2] : "function";
    const char *next = argc > 3 ? argv[3] : "copy";
    const uint32_t rounds = argc > 4 ? (uint32_t)atoi(argv[4]) % ROUNDS_MAX : 4;
    CUcontext context;
    CUmodule module = program_begin(&context);
    struct setup s = {.fill = program_function(module, "fill")};
    uint32_t digest = 1, number = 0;
    CUevent done[STEPS];
    void *word;

    sem_init(&gate, 0, 0);
    CU(cuMemHostAlloc((void **)&s.memory, SIZE, CU_MEMHOSTALLOC_DEVICEMAP));
    CU(cuMemHostAlloc(&word, 4096, CU_MEMHOSTALLOC_DEVICEMAP));
    s.word = word;
    *s.word = 0;
    CU(cuMemHostGetDevicePointer_v2(&s.mapped, s.memory, 0));
    CU(cuMemHostGetDevicePointer_v2(&s.word_mapped, word, 0));
    CU(cuMemAlloc_v2(&s.source, SIZE));
    CU(cuStreamCreate(&s.stream, CU_STREAM_NON_BLOCKING));
    CU(cuStreamCreate(&s.other, CU_STREAM_NON_BLOCKING));
    CU(cuEventCreate(&s.before, CU_EVENT_DISABLE_TIMING));
    CU(cuEventCreate(&s.behind, CU_EVENT_DISABLE_TIMING));
    for (int i = 0; i < STEPS; i++)
        CU(cuEventCreate(&done[i], CU_EVENT_DISABLE_TIMING));
    for (uint32_t round = 0; round < rounds; round++) {
        for (uint32_t i = 0; i < STEPS; i++) {
            send_giver(&s, i + 1 == STEPS ? next : first, number + i);
            CU(cuEventRecord(done[i], s.stream));
            if (i + 1 < STEPS)
                send_gate(&s, how, number + i + 1);
        }
        for (uint32_t i = 0; i < STEPS; i++) {
            CU(cuEventSynchronize(done[i]));
            digest = digest * 31 + program_digest(s.memory, SIZE);
            if (i + 1 < STEPS)
                open_gate(&s, how, number + i + 1);
        }
        number += STEPS;
    }
    CU(cuStreamSynchronize(s.stream));
    program_end(module, context);
    printf("gated %s %s %s: %08x\n", first, how, next, digest);
    return 0;
}
