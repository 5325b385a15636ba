/* SPDX-License-Identifier: Apache-2.0
 *
 * sees WAY: the program sees in its memory, and by no call, that a command is complete, and changes
 * at once what the commands before that one have read or given back; commands that do not wait for
 * them use it then. Letters of WAY: what the program looks at is written by a c(opy), k(ernel),
 * m(emset) or v(alue); x: on another stream, which waits for the first; l: work is behind it that
 * takes a while; w: the program waits for another stream, and changes nothing before that, nor what
 * was read.
 */
#include "tests/programs/program.h"

enum { COUNT = 2048, SIZE = COUNT * 4, WORK = 1 << 17, ROUNDS = 3 };

static struct {
    CUfunction mix, fill, copy;
    CUstream first, second, other;
    CUevent event;
    CUdeviceptr work, data, out, again, flag, device_read, device_word;
    unsigned *read, *given;
    volatile unsigned *word;
    const char *way;
    unsigned back[COUNT];
    uint32_t digest;
} t;

static int has(char letter)
{
    return strchr(t.way, letter) != NULL;
}

static void *shared(CUdeviceptr *there, size_t size)
{
    void *memory;

    CU(cuMemHostAlloc(&memory, size, CU_MEMHOSTALLOC_DEVICEMAP));
    CU(cuMemHostGetDevicePointer_v2(there, memory, 0));
    memset(memory, 0, size);
    return memory;
}

static void prepare(CUmodule module)
{
    CUdeviceptr unused;

    t.mix = program_function(module, "mix");
    t.fill = program_function(module, "fill");
    t.copy = program_function(module, "copy");
    CU(cuStreamCreate(&t.first, CU_STREAM_NON_BLOCKING));
    CU(cuStreamCreate(&t.second, CU_STREAM_NON_BLOCKING));
    CU(cuStreamCreate(&t.other, CU_STREAM_NON_BLOCKING));
    CU(cuEventCreate(&t.event, CU_EVENT_DISABLE_TIMING));
    CU(cuMemAlloc_v2(&t.work, WORK * 4));
    CU(cuMemAlloc_v2(&t.data, SIZE));
    CU(cuMemAlloc_v2(&t.out, SIZE));
    CU(cuMemAlloc_v2(&t.again, SIZE));
    CU(cuMemAlloc_v2(&t.flag, 4));
    t.read = shared(&t.device_read, SIZE);
    t.given = shared(&unused, SIZE);
    t.word = shared(&t.device_word, 4096);
}

static void run(CUfunction function, unsigned count, unsigned number, CUdeviceptr at,
                CUstream stream)
{
    void *arguments[] = {&count, &number, &at};

    program_launch(function, count, stream, arguments);
}

static void copy_words(CUdeviceptr from, CUdeviceptr to, CUstream stream)
{
    unsigned count = COUNT;
    void *arguments[] = {&count, &from, &to};

    program_launch(t.copy, COUNT, stream, arguments);
}

/* Writes the word that the program looks at. */
static void write_word(unsigned round, CUstream stream)
{
    if (has('c')) {
        run(t.fill, 1, round, t.flag, stream);
        CU(cuMemcpyDtoHAsync_v2((void *)(uintptr_t)t.word, t.flag, 4, stream));
    } else if (has('k')) {
        run(t.fill, 1, round, t.device_word, stream);
    } else if (has('m')) {
        CU(cuMemsetD32Async(t.device_word, round, 1, stream));
    } else {
        CU(cuStreamWriteValue32_v2(stream, t.device_word, round, 0));
    }
}

static void look(CUdeviceptr at)
{
    CU(cuMemcpyDtoH_v2(t.back, at, SIZE));
    t.digest = t.digest * 31 + program_digest(t.back, SIZE);
}

static void send(unsigned round)
{
    CUstream stream = has('x') ? t.second : t.first;

    run(t.mix, WORK, round, t.work, t.first);
    run(t.mix, COUNT, round, t.data, t.first);
    if (!has('w'))
        copy_words(t.device_read, t.out, t.first);
    CU(cuMemcpyDtoHAsync_v2(t.given, t.data, SIZE, t.first));
    if (has('x')) {
        CU(cuEventRecord(t.event, t.first));
        CU(cuStreamWaitEvent(t.second, t.event, 0));
    }
    write_word(round, stream);
    if (has('l'))
        run(t.mix, WORK, round, t.work, stream);
}

static void one_round(unsigned round)
{
    for (unsigned i = 0; i < COUNT && !has('w'); i++)
        t.read[i] = round * 1000 + i;
    send(round);
    while (__atomic_load_n(t.word, __ATOMIC_ACQUIRE) != round)
        ;
    if (has('w'))
        CU(cuStreamSynchronize(t.other));
    t.digest = t.digest * 31 + program_digest(t.given, SIZE);
    for (unsigned i = 0; i < COUNT; i++)
        t.given[i] = round * 77 + i;
    for (unsigned i = 0; i < COUNT && !has('w'); i++)
        t.read[i] = round * 99 + i;
    if (!has('w')) {
        copy_words(t.device_read, t.again, t.other);
        CU(cuStreamSynchronize(t.other));
        look(t.again);
    }
    CU(cuStreamSynchronize(t.first));
    CU(cuMemcpyHtoDAsync_v2(t.again, t.given, SIZE, t.other));
    CU(cuCtxSynchronize());
    look(t.out);
    look(t.again);
}

int main(int argc, char **argv)
{
    CUcontext context;
    CUmodule module = program_begin(&context);

    if (argc != 2)
        return 2;
    t.way = argv[1];
    prepare(module);
    for (unsigned round = 1; round <= ROUNDS; round++)
        one_round(round);
    printf("sees %s: %08x\n", t.way, t.digest);
    program_end(module, context);
    return 0;
}
