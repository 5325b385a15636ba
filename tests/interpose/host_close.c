/* SPDX-License-Identifier: Apache-2.0
 *
 * Opens the driver, takes its functions, closes it, and goes on. (The driver stays, as NVIDIA's own
 * does.)
 */
#include "tests/programs/program.h"

#include <dlfcn.h>

int main(void)
{
    for (int i = 0; i < 3; i++) {
        void *driver = dlopen("libcuda.so.1", RTLD_NOW);
        CUresult (*init)(unsigned int), (*count)(int *);
        int devices = 0;

        if (!driver)
            return 1;
        init = (CUresult(*)(unsigned int))(uintptr_t)dlsym(driver, "cuInit");
        count = (CUresult(*)(int *))(uintptr_t)dlsym(driver, "cuDeviceGetCount");
        printf("close: %d\n", dlclose(driver));
        CU(init(0));
        CU(count(&devices));
        printf("devices: %d\n", devices);
    }
    return 0;
}
