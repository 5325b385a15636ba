/* SPDX-License-Identifier: Apache-2.0
 *
 * Programs with a seeded mistake, and their correct twins. `wrong MISTAKE` makes it, `wrong MISTAKE
 * fixed` does the same work without it:
 *
 *   atomic   a float sum whose order of additions varies
 *   wait     two streams, one reads what the other writes, without waiting for it
 *   aside    the same, after the host has waited for the stream that reads
 *   uninit   a sum over memory that was never written
 *   copied   a copy of memory that was never written
 *
 * The printed result may vary from run to run for the mistakes: that is the point.
 */
#include "tests/programs/program.h"

#include <stdbool.h>

enum { COUNT = 2048 };

static CUmodule module;

static void print_word(const char *name, CUdeviceptr address)
{
    unsigned word;

    CU(cuCtxSynchronize());
    CU(cuMemcpyDtoH_v2(&word, address, sizeof(word)));
    printf("%s: %08x\n", name, word);
}

static void sum_floats(bool fixed)
{
    CUfunction sum = program_function(module, fixed ? "sum_ordered" : "sum_atomic");
    static float in[COUNT];
    CUdeviceptr device_in, device_out;
    int count = COUNT;

    for (int i = 0; i < COUNT; i++)
        in[i] = (i % 2 ? -1.0f : 1.0f) * (float)(1 << (i % 23)) / 3.0f;
    CU(cuMemAlloc_v2(&device_in, sizeof(in)));
    CU(cuMemAlloc_v2(&device_out, 4));
    CU(cuMemcpyHtoD_v2(device_in, in, sizeof(in)));
    CU(cuMemsetD32_v2(device_out, 0, 1));
    program_launch(sum, COUNT, NULL, (void *[]){&count, &device_in, &device_out});
    print_word("atomic", device_out);
    CU(cuMemFree_v2(device_in));
    CU(cuMemFree_v2(device_out));
}

static void read_other_stream(const char *name, bool waits_aside, bool fixed)
{
    CUfunction fill = program_function(module, "fill"), mix = program_function(module, "mix"),
               copy = program_function(module, "copy");
    CUdeviceptr shared, out;
    CUstream writer, reader;
    CUevent written;
    int count = COUNT, steps = 2000;
    unsigned seed = 7;

    CU(cuMemAlloc_v2(&shared, COUNT * 4));
    CU(cuMemAlloc_v2(&out, COUNT * 4));
    CU(cuMemsetD8_v2(shared, 0, COUNT * 4));
    CU(cuCtxSynchronize());
    CU(cuStreamCreate(&writer, CU_STREAM_NON_BLOCKING));
    CU(cuStreamCreate(&reader, CU_STREAM_NON_BLOCKING));
    CU(cuEventCreate(&written, CU_EVENT_DISABLE_TIMING));
    program_launch(fill, COUNT, writer, (void *[]){&count, &seed, &shared});
    program_launch(mix, COUNT, writer, (void *[]){&count, &steps, &shared});
    CU(cuEventRecord(written, writer));
    if (fixed)
        CU(cuStreamWaitEvent(reader, written, 0));
    if (waits_aside)
        CU(cuStreamSynchronize(reader));
    program_launch(copy, COUNT, reader, (void *[]){&count, &shared, &out});
    print_word(name, out);
    CU(cuEventDestroy_v2(written));
    CU(cuStreamDestroy_v2(writer));
    CU(cuStreamDestroy_v2(reader));
    CU(cuMemFree_v2(shared));
    CU(cuMemFree_v2(out));
}

static void read_uninitialised(bool fixed)
{
    CUfunction sum = program_function(module, "sum_blocks");
    CUdeviceptr in, out;
    int count = 256;

    CU(cuMemAlloc_v2(&in, 256 * 4));
    CU(cuMemAlloc_v2(&out, 4));
    /* The mistake: only the first half is written. */
    CU(cuMemsetD32_v2(in, 5, fixed ? 256 : 128));
    program_launch(sum, 256, NULL, (void *[]){&count, &in, &out});
    print_word("uninit", out);
    CU(cuMemFree_v2(in));
    CU(cuMemFree_v2(out));
}

static void copy_uninitialised(bool fixed)
{
    CUdeviceptr from, to;

    CU(cuMemAlloc_v2(&from, 1024));
    CU(cuMemAlloc_v2(&to, 1024));
    if (fixed)
        CU(cuMemsetD32_v2(from, 5, 256));
    CU(cuMemsetD32_v2(to, 7, 256));
    CU(cuMemcpyDtoD_v2(to, from, 1024));
    print_word("copied", to + 512);
    CU(cuMemFree_v2(from));
    CU(cuMemFree_v2(to));
}

int main(int argc, char **argv)
{
    bool fixed = argc > 2 && strcmp(argv[2], "fixed") == 0;
    CUcontext context;

    if (argc < 2) {
        fprintf(stderr, "usage: wrong atomic|wait|aside|uninit|copied [fixed]\n");
        return 2;
    }
    module = program_begin(&context);
    if (strcmp(argv[1], "atomic") == 0)
        sum_floats(fixed);
    else if (strcmp(argv[1], "wait") == 0)
        read_other_stream("wait", false, fixed);
    else if (strcmp(argv[1], "aside") == 0)
        read_other_stream("aside", true, fixed);
    else if (strcmp(argv[1], "copied") == 0)
        copy_uninitialised(fixed);
    else
        read_uninitialised(fixed);
    program_end(module, context);
    return 0;
}
