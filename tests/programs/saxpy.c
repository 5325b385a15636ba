/* SPDX-License-Identifier: Apache-2.0 -- the smallest whole program: one launch, checked. */
#include "tests/programs/program.h"

int main(void)
{
    enum { COUNT = 1000 };
    float x[COUNT], y[COUNT], a = 2;
    int n = COUNT;
    CUcontext context;
    CUmodule module = program_begin(&context);
    CUfunction saxpy = program_function(module, "saxpy");
    CUdeviceptr device_x, device_y;

    for (int i = 0; i < COUNT; i++) {
        x[i] = (float)i;
        y[i] = 1;
    }
    CU(cuMemAlloc_v2(&device_x, sizeof(x)));
    CU(cuMemAlloc_v2(&device_y, sizeof(y)));
    CU(cuMemcpyHtoD_v2(device_x, x, sizeof(x)));
    CU(cuMemcpyHtoD_v2(device_y, y, sizeof(y)));
    program_launch(saxpy, COUNT, NULL, (void *[]){&n, &a, &device_x, &device_y});
    CU(cuCtxSynchronize());
    CU(cuMemcpyDtoH_v2(y, device_y, sizeof(y)));
    CU(cuMemFree_v2(device_x));
    CU(cuMemFree_v2(device_y));
    program_end(module, context);
    for (int i = 0; i < COUNT; i++) {
        if (y[i] != 2 * (float)i + 1) {
            printf("y[%d] = %g\n", i, (double)y[i]);
            return 1;
        }
    }
    printf("saxpy ok\n");
    return 0;
}
