/* SPDX-License-Identifier: Apache-2.0
 *
 * spread SEED [STREAMS [PLACES [WAITS]]]: kernels, copies and fills, as a random number has it, on
 * the streams that PLACES names, one letter for each command, from 'a' on; without it all are on
 * one. WAITS are "FROM:TO,..." numbers of commands, from 0: TO waits for an event that is recorded
 * right behind FROM. What comes out depends on the waits. With an odd SEED some calls wait: copies
 * to memory that the device cannot reach.
 */
#include "tests/programs/program.h"

enum { STREAMS_MAX = 8, BUFFERS = 6, SIZE = 65536, COMMANDS = 48, WAITS_MAX = 512 };

static struct {
    CUstream streams[STREAMS_MAX];
    CUdeviceptr buffers[BUFFERS];
    CUevent events[COMMANDS];
    CUfunction mix;
    uint8_t *pinned;
    const char *places;
    unsigned from[WAITS_MAX], to[WAITS_MAX], wait_count;
    uint64_t random;
    int is_odd;
} t;

static uint8_t pageable[2 * SIZE], results[BUFFERS][SIZE];

static unsigned choose(unsigned count)
{
    t.random = t.random * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(t.random >> 33) % count;
}

static void send(CUstream stream)
{
    const unsigned a = choose(BUFFERS), b = choose(BUFFERS);
    const size_t size = 256u << choose(9);
    int count = (int)(64u << choose(7)), rounds = 1 + (int)choose(200);

    switch (choose(8)) {
    case 0:
        CU(cuMemcpyHtoDAsync_v2(t.buffers[a], t.pinned + (size_t)a * SIZE, size, stream));
        break;
    case 1:
        CU(cuMemcpyDtoHAsync_v2(t.pinned + (size_t)(BUFFERS + a) * SIZE, t.buffers[a], size,
                                stream));
        break;
    case 2:
        CU(cuMemcpyDtoDAsync_v2(t.buffers[a], t.buffers[(a + 1) % BUFFERS], size, stream));
        break;
    case 3:
        CU(cuMemsetD8Async(t.buffers[a] + b * 64, 3, size / 4, stream));
        break;
    case 4:
        CU(cuMemcpyDtoHAsync_v2(t.is_odd ? pageable : t.pinned, t.buffers[a], size, stream));
        break;
    default:
        program_launch(t.mix, (unsigned)count, stream, (void *[]){&count, &rounds, &t.buffers[a]});
    }
}

static void step(unsigned number)
{
    CUstream stream = t.streams[t.places ? t.places[number] - 'a' : 0];
    int is_recorded = 0;

    for (unsigned i = 0; i < t.wait_count; i++)
        if (t.to[i] == number)
            CU(cuStreamWaitEvent(stream, t.events[t.from[i]], 0));
    send(stream);
    for (unsigned i = 0; i < t.wait_count; i++)
        is_recorded |= t.from[i] == number;
    if (is_recorded)
        CU(cuEventRecord(t.events[number], stream));
    if (choose(12) == 0)
        CU(cuCtxSynchronize());
}

static void read_waits(char *text)
{
    for (; *text && t.wait_count < WAITS_MAX; t.wait_count++) {
        t.from[t.wait_count] = (unsigned)strtoul(text, &text, 10) % COMMANDS;
        t.to[t.wait_count] = (unsigned)strtoul(text + (*text == ':'), &text, 10);
        text += *text == ',';
    }
}

int main(int argc, char **argv)
{
    const unsigned streams = argc > 2 ? (unsigned)atoi(argv[2]) : 1;
    CUcontext context;
    CUmodule module = program_begin(&context);

    t.random = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    t.is_odd = t.random % 2;
    t.places = argc > 3 && strlen(argv[3]) >= COMMANDS ? argv[3] : NULL;
    if (argc > 4)
        read_waits(argv[4]);
    t.mix = program_function(module, "mix");
    for (unsigned i = 0; i < streams && i < STREAMS_MAX; i++)
        CU(cuStreamCreate(&t.streams[i], CU_STREAM_NON_BLOCKING));
    for (unsigned i = 0; i < BUFFERS; i++)
        CU(cuMemAlloc_v2(&t.buffers[i], SIZE + 512));
    for (unsigned i = 0; i < COMMANDS; i++)
        CU(cuEventCreate(&t.events[i], CU_EVENT_DISABLE_TIMING));
    CU(cuMemHostAlloc((void **)&t.pinned, (size_t)2 * BUFFERS * SIZE, 0));
    for (size_t i = 0; i < (size_t)2 * BUFFERS * SIZE; i++)
        t.pinned[i] = (uint8_t)(i * 11 + i / SIZE);
    for (unsigned i = 0; i < COMMANDS; i++)
        step(i);
    CU(cuCtxSynchronize());
    for (unsigned i = 0; i < BUFFERS; i++)
        CU(cuMemcpyDtoH_v2(results[i], t.buffers[i], SIZE));
    printf("spread: %08x %08x %08x\n", program_digest(t.pinned, (size_t)2 * BUFFERS * SIZE),
           program_digest(pageable, sizeof(pageable)), program_digest(results, sizeof(results)));
    return 0;
}
