/* SPDX-License-Identifier: Apache-2.0
 *
 * A kernel that prints a line for each of two threads.
 */
#include "tests/programs/program.h"

static const char ptx[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".extern .func (.param .b32 result) vprintf(.param .b64 format, .param .b64 values);\n"
    ".global .align 1 .b8 format[13] = {108, 105, 110, 101, 32, 111, 102, 32, 37, 117, 10, 0};\n"
    ".visible .entry prints()\n{\n"
    " .local .align 8 .b8 values[8]; .reg .b64 %d<4>; .reg .u32 %r<3>;\n"
    " mov.u64 %d1, values; cvta.local.u64 %d2, %d1; mov.u32 %r1, %tid.x; st.local.u32 [%d1], %r1;\n"
    " mov.u64 %d3, format; cvta.global.u64 %d3, %d3;\n"
    " { .param .b64 a; .param .b64 b; .param .b32 c; st.param.b64 [a], %d3; st.param.b64 [b], "
    "%d2;\n"
    "   call.uni (c), vprintf, (a, b); ld.param.b32 %r2, [c]; }\n"
    " ret;\n}\n";

int main(void)
{
    CUcontext context;
    CUmodule kernels = program_begin(&context), module;

    CU(cuModuleLoadData(&module, ptx));
    CU(cuLaunchKernel(program_function(module, "prints"), 1, 1, 1, 2, 1, 1, 0, NULL, NULL, NULL));
    CU(cuCtxSynchronize());
    CU(cuModuleUnload(module));
    program_end(kernels, context);
    return 0;
}
