/* SPDX-License-Identifier: Apache-2.0
 *
 * A program that lives by its SIGSEGV handler (a garbage collector's write barrier): it works on
 * while GPU work goes on, and is still the program's own.
 */
#include "tests/programs/program.h"

#include <signal.h>
#include <sys/mman.h>

static volatile sig_atomic_t faults;
static char *page;

static void handler(int signal_number, siginfo_t *info, void *context)
{
    faults++;
    mprotect(page, 4096, PROT_READ | PROT_WRITE);
}

int main(void)
{
    struct sigaction mine = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO}, there;
    CUcontext context;
    CUmodule module;
    CUdeviceptr memory;

    page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    sigaction(SIGSEGV, &mine, NULL);
    module = program_begin(&context);
    CU(cuMemHostRegister_v2(page, 4096, 0));
    CU(cuMemAlloc_v2(&memory, 4096));
    for (int i = 0; i < 20; i++) {
        mprotect(page, 4096, PROT_READ);
        page[i] = (char)i;
        CU(cuMemcpyHtoD_v2(memory, page, 4096));
    }
    sigaction(SIGSEGV, NULL, &there);
    printf("%d faults, handler %s\n", (int)faults,
           there.sa_sigaction == handler ? "unchanged" : "changed");
    CU(cuMemFree_v2(memory));
    CU(cuMemHostUnregister(page));
    program_end(module, context);
    return 0;
}
