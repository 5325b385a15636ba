/* SPDX-License-Identifier: Apache-2.0
 *
 * default_streams [quiet] [drop]: waits for the default stream before anything was sent to it: for
 * what was sent to streams that join it. Then it is used; with quiet it never is. With drop the
 * waits are left out.
 */
#include "tests/programs/program.h"

enum { COUNT = 16384, SIZE = COUNT * 4 };

int main(int argc, char **argv)
{
    int is_quiet = 0, is_dropped = 0, count = COUNT, rounds = 3;
    CUcontext context;
    CUmodule module = program_begin(&context);
    CUfunction mix = program_function(module, "mix");
    CUdeviceptr memory[2];
    CUstream joined, apart;
    uint8_t *out;

    for (int i = 1; i < argc; i++) {
        is_quiet |= !strcmp(argv[i], "quiet");
        is_dropped |= !strcmp(argv[i], "drop");
    }
    CU(cuMemHostAlloc((void **)&out, SIZE, 0));
    CU(cuStreamCreate(&joined, 0));
    CU(cuStreamCreate(&apart, CU_STREAM_NON_BLOCKING));
    for (unsigned i = 0; i < 2; i++)
        CU(cuMemAlloc_v2(&memory[i], SIZE));
    for (unsigned round = 0; round < 2; round++) {
        CU(cuMemsetD32Async(memory[0], 3, COUNT, joined));
        CU(cuMemsetD32Async(memory[1], 4, COUNT, apart));
        program_launch(mix, COUNT, joined, (void *[]){&count, &rounds, &memory[0]});
        program_launch(mix, COUNT, apart, (void *[]){&count, &rounds, &memory[1]});
        if (!is_dropped)
            CU(cuStreamSynchronize(NULL));
        CU(cuMemcpyDtoHAsync_v2(out, memory[0], SIZE, apart));
        if (!is_quiet)
            program_launch(mix, COUNT, NULL, (void *[]){&count, &rounds, &memory[0]});
    }
    CU(cuCtxSynchronize());
    program_end(module, context);
    return 0;
}
