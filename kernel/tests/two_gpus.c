/* SPDX-License-Identifier: Apache-2.0
 *
 * A program that uses two GPUs: memory of the software GPU, and jobs on the mock driver's rings.
 */
#include "kernel/tests/mock_client.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void *driver;

static void call(const char *name, unsigned long a, unsigned long b, unsigned long c)
{
    int (*function)(unsigned long, unsigned long, unsigned long) =
        (int (*)(unsigned long, unsigned long, unsigned long))dlsym(driver, name);
    int result = function ? function(a, b, c) : -1;

    if (result) {
        fprintf(stderr, "%s: %d\n", name, result);
        exit(1);
    }
}

int main(void)
{
    unsigned long context = 0, memory = 0;
    int word = 42, fd = mock_open();

    driver = dlopen("libcuda.so.1", RTLD_NOW);
    if (fd < 0 || !driver) {
        fprintf(stderr, "a GPU is missing\n");
        return 1;
    }
    call("cuInit", 0, 0, 0);
    call("cuCtxCreate_v2", (unsigned long)&context, 0, 0);
    call("cuMemAlloc_v2", (unsigned long)&memory, 4096, 0);
    call("cuMemcpyHtoD_v2", memory, (unsigned long)&word, sizeof(word));
    if (!mock_traffic(fd, 32, 200))
        return 1;
    call("cuMemcpyHtoD_v2", memory, (unsigned long)&word, sizeof(word));
    call("cuMemFree_v2", memory, 0, 0);
    close(fd);
    return 0;
}
