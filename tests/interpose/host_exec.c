/* SPDX-License-Identifier: Apache-2.0
 *
 * Uses the GPU, fails to exec, uses it again, and becomes another program. Argument: which function
 * of the exec family.
 */
#include "tests/programs/program.h"

static void use(CUdeviceptr memory)
{
    unsigned char byte;

    CU(cuMemsetD8_v2(memory, 7, 1));
    CU(cuMemcpyDtoH_v2(&byte, memory, 1));
    printf("%d\n", byte);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    char *words[] = {(char *)"/bin/echo", (char *)"one", (char *)"two", NULL};
    char *variables[] = {(char *)"TS_NONE=1", NULL};
    const char *way = argc > 1 ? argv[1] : "";
    CUcontext context;
    CUdeviceptr memory;

    program_begin(&context);
    CU(cuMemAlloc_v2(&memory, 16));
    use(memory);
    execl("/nonexistent/program", "program", (char *)NULL);
    use(memory);
    if (strcmp(way, "execl") == 0)
        execl("/bin/echo", "echo", "one", "two", (char *)NULL);
    if (strcmp(way, "execlp") == 0)
        execlp("echo", "echo", "one", "two", (char *)NULL);
    if (strcmp(way, "execle") == 0)
        execle("/bin/echo", "echo", "one", "two", (char *)NULL, variables);
    if (strcmp(way, "execv") == 0)
        execv("/bin/echo", words);
    if (strcmp(way, "execvp") == 0)
        execvp("echo", words);
    if (strcmp(way, "execve") == 0)
        execve("/bin/echo", words, variables);
    return 1;
}
