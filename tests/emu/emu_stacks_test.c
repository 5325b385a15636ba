/* SPDX-License-Identifier: Apache-2.0
 *
 * Launches from several places, again and again, for emu_stacks_test.py, which looks at their
 * stacks.
 */
#include "tests/emu/emu_test.h"

static CUfunction function;

static void launch(void)
{
    OK(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
}

static void place(void)
{
    launch();
}

/* The same calls, from frames that lie elsewhere. */
static int deep(int depth)
{
    volatile int left = depth;

    if (left == 0)
        launch();
    else
        left = deep(depth - 1);
    return left + 1;
}

int main(void)
{
    CUmodule module;

    test_context();
    OK(cuModuleLoadData(&module, ".version 6.0\n.target sm_70\n.address_size 64\n"
                                 ".visible .entry k { ret; }\n"));
    OK(cuModuleGetFunction(&function, module, "k"));
    for (int round = 0; round < 3; round++) {
        place();
        place(); /* only the outermost frame differs */
        deep(3);
        deep(5);
    }
    OK(cuCtxSynchronize());
    return check_result();
}
