/* SPDX-License-Identifier: Apache-2.0
 *
 * Code that is linked at run time, of two texts that need each other.
 */
#include "tests/programs/program.h"

#define HEAD ".version 6.0\n.target sm_70\n.address_size 64\n"

static const char run[] = HEAD ".extern .func (.param .b32 r) twice(.param .b32 x);\n"
                               ".visible .entry run(.param .u64 out, .param .u32 value)\n"
                               "{\n"
                               "  .reg .b32 %r<3>; .reg .b64 %rd<2>;\n"
                               "  ld.param.u64 %rd1, [out];\n"
                               "  ld.param.u32 %r1, [value];\n"
                               "  { .param .b32 a; .param .b32 b;\n"
                               "    st.param.b32 [a], %r1;\n"
                               "    call (b), twice, (a);\n"
                               "    ld.param.b32 %r2, [b]; }\n"
                               "  st.global.u32 [%rd1], %r2;\n"
                               "  ret;\n"
                               "}\n";
static const char twice[] = HEAD ".visible .func (.param .b32 r) twice(.param .b32 x)\n"
                                 "{\n"
                                 "  .reg .b32 %r<3>;\n"
                                 "  ld.param.b32 %r1, [x];\n"
                                 "  add.u32 %r2, %r1, %r1;\n"
                                 "  st.param.b32 [r], %r2;\n"
                                 "  ret;\n"
                                 "}\n";

int main(void)
{
    CUcontext context;
    CUmodule base = program_begin(&context), module;
    CUfunction function;
    CUlinkState state;
    CUdeviceptr out;
    unsigned value = 21, got = 0;
    void *image;
    size_t size;

    CU(cuLinkCreate_v2(0, NULL, NULL, &state));
    CU(cuLinkAddData_v2(state, CU_JIT_INPUT_PTX, (void *)(uintptr_t)run, sizeof(run), "run", 0,
                        NULL, NULL));
    CU(cuLinkAddData_v2(state, CU_JIT_INPUT_PTX, (void *)(uintptr_t)twice, sizeof(twice), "twice",
                        0, NULL, NULL));
    CU(cuLinkComplete(state, &image, &size));
    CU(cuModuleLoadData(&module, image));
    CU(cuLinkDestroy(state));
    CU(cuModuleGetFunction(&function, module, "run"));
    CU(cuMemAlloc_v2(&out, 4));
    CU(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, (void *[]){&out, &value}, NULL));
    CU(cuMemcpyDtoH_v2(&got, out, 4));
    printf("linked: %u\n", got);
    CU(cuMemFree_v2(out));
    CU(cuModuleUnload(module));
    program_end(base, context);
    return got != 42;
}
