/* SPDX-License-Identifier: Apache-2.0
 *
 * A daemon's start: closes every descriptor that it did not open, in the middle of its work. It
 * finds as many of them as without us.
 */
#include "tests/programs/program.h"

#include <fcntl.h>

static int close_all(void)
{
    int closed = 0;

    for (int fd = 3; fd < 1024; fd++)
        closed += close(fd) == 0;
    return closed;
}

int main(void)
{
    char bytes[4096] = {1};
    CUcontext context;
    CUmodule module = program_begin(&context);
    CUdeviceptr memory;

    printf("closed: %d\n", close_all());
    printf("next descriptor: %d\n", open("/dev/null", O_RDONLY));
    CU(cuMemAlloc_v2(&memory, sizeof(bytes)));
    for (int i = 0; i < 1000; i++) {
        memcpy(bytes, &i, sizeof(i));
        CU(cuMemcpyHtoD_v2(memory, bytes, sizeof(bytes)));
    }
    CU(cuMemFree_v2(memory));
    program_end(module, context);
    return 0;
}
