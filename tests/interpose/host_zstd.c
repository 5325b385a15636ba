/* SPDX-License-Identifier: Apache-2.0 -- a program with a zstd of its own, which ours never meets.
 */
#include "tests/programs/program.h"

#include <dlfcn.h>
#include <zstd.h>

int main(void)
{
    char in[1000] = {0}, out[2000], back[1000];
    CUcontext context;
    CUmodule module = program_begin(&context);
    size_t size = ZSTD_compress(out, sizeof(out), in, sizeof(in), 3);
    Dl_info info;

    if (!dladdr((void *)ZSTD_compress, &info) || !strstr(info.dli_fname, "libzstd.so"))
        printf("not the program's own zstd: %s\n", info.dli_fname);
    printf("%zu\n", ZSTD_decompress(back, sizeof(back), out, size));
    program_end(module, context);
    return 0;
}
