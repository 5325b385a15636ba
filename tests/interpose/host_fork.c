/* SPDX-License-Identifier: Apache-2.0
 *
 * A program that forks before it uses the GPU and after, and whose children use it or do not.
 * Children end by _exit, the parent by return.
 */
#include "tests/programs/program.h"

#include <sys/wait.h>

static void work(unsigned char value)
{
    unsigned char bytes[256] = {0};
    CUcontext context;
    CUmodule module = program_begin(&context);
    CUdeviceptr memory;

    CU(cuMemAlloc_v2(&memory, sizeof(bytes)));
    CU(cuMemsetD8_v2(memory, value, sizeof(bytes)));
    CU(cuMemcpyDtoH_v2(bytes, memory, sizeof(bytes)));
    printf("%d\n", bytes[255]);
    fflush(stdout);
    CU(cuMemFree_v2(memory));
    program_end(module, context);
}

static int child(int value, int status)
{
    pid_t pid = fork();
    int result;

    if (pid == 0) {
        if (value)
            work((unsigned char)value);
        _exit(status);
    }
    waitpid(pid, &result, 0);
    return WEXITSTATUS(result);
}

int main(void)
{
    printf("child: %d\n", child(11, 5));
    fflush(stdout);
    work(22);
    printf("child: %d\n", child(0, 6));
    return 0;
}
