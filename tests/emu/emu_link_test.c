/* SPDX-License-Identifier: Apache-2.0
 *
 * Linking: names meet across inputs, what is wrong is told with its input, archives are searched,
 * and the linked image lives on its own: another process loads it from a file.
 */
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/emu/emu_kernels.h"
#include "tests/emu/emu_test.h"

/* run(out): *out = twice(scale) + 1, both from elsewhere. `local` is a name that both texts have.
 */
static const char main_text[] =
    PTX_HEAD ".extern .func (.param .b32 r) twice(.param .b32 x);\n"
             ".extern .global .align 4 .u32 scale;\n"
             ".func (.param .b32 r) local() { .reg .b32 %r1; mov.u32 %r1, 1;\n"
             "  st.param.b32 [r], %r1; ret; }\n"
             ".visible .entry run(.param .u64 out)\n"
             "{\n"
             "  .reg .b32 %r<5>; .reg .b64 %rd<2>;\n"
             "  ld.param.u64 %rd1, [out];\n"
             "  ld.global.u32 %r1, [scale];\n"
             "  { .param .b32 a; .param .b32 b;\n"
             "    st.param.b32 [a], %r1;\n"
             "    call (b), twice, (a);\n"
             "    ld.param.b32 %r2, [b]; }\n"
             "  { .param .b32 c;\n"
             "    call (c), local;\n"
             "    ld.param.b32 %r3, [c]; }\n"
             "  add.u32 %r4, %r2, %r3;\n"
             "  st.global.u32 [%rd1], %r4;\n"
             "  ret;\n"
             "}\n";

static const char twice_text[] =
    PTX_HEAD ".visible .global .align 4 .u32 scale = 21;\n"
             ".func (.param .b32 r) local(.param .b32 x) { .reg .b32 %r<3>;\n"
             "  ld.param.b32 %r1, [x]; add.u32 %r2, %r1, %r1; st.param.b32 [r], %r2; ret; }\n"
             ".visible .func (.param .b32 r) twice(.param .b32 x)\n"
             "{\n"
             "  .reg .b32 %r<3>;\n"
             "  ld.param.b32 %r1, [x];\n"
             "  { .param .b32 a; .param .b32 b;\n"
             "    st.param.b32 [a], %r1;\n"
             "    call (b), local, (a);\n"
             "    ld.param.b32 %r2, [b]; }\n"
             "  st.param.b32 [r], %r2;\n"
             "  ret;\n"
             "}\n";

static void expect_43(const void *image)
{
    CUmodule m;
    CUfunction f;
    CUdeviceptr out;
    unsigned value = 0;

    if (!OK(cuModuleLoadData(&m, image)))
        return;
    OK(cuModuleGetFunction(&f, m, "run"));
    OK(cuMemAlloc_v2(&out, 4));
    OK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, (void *[]){&out}, NULL));
    OK(cuMemcpyDtoH_v2(&value, out, 4));
    CHECK_EQ_INT(value, 43);
    OK(cuMemFree_v2(out));
    OK(cuModuleUnload(m));
}

static CUresult add(CUlinkState state, const char *text, size_t size, const char *name)
{
    return cuLinkAddData_v2(state, CU_JIT_INPUT_PTX, (void *)(uintptr_t)text, size, name, 0, NULL,
                            NULL);
}

/* Sizes with and without the terminator; the image in a file is loaded by a child process. */
static void across_processes(const char *self)
{
    CUlinkState state;
    void *image;
    size_t size;
    char path[] = "/tmp/emu_link_XXXXXX";
    int fd = mkstemp(path), status = -1;

    OK(cuLinkCreate_v2(0, NULL, NULL, &state));
    OK(add(state, main_text, sizeof(main_text), "main"));
    OK(add(state, twice_text, sizeof(twice_text) - 1, "twice"));
    OK(cuLinkComplete(state, &image, &size));
    expect_43(image);
    CHECK(write(fd, image, size) == (ssize_t)size);
    close(fd);
    OK(cuLinkDestroy(state));
    FAILS(cuLinkDestroy(state), CUDA_ERROR_INVALID_HANDLE);
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        execl(self, self, path, (char *)NULL);
        _exit(127);
    }
    waitpid(child, &status, 0);
    CHECK_EQ_INT(status, 0);
    unlink(path);
}

/* A linked image is an input like others. */
static void link_again(void)
{
    CUlinkState first, second;
    void *image;
    size_t size;

    OK(cuLinkCreate_v2(0, NULL, NULL, &first));
    OK(add(first, twice_text, sizeof(twice_text), "twice"));
    OK(cuLinkComplete(first, &image, &size));
    OK(cuLinkCreate_v2(0, NULL, NULL, &second));
    OK(cuLinkAddData_v2(second, CU_JIT_INPUT_CUBIN, image, size, "first", 0, NULL, NULL));
    OK(cuLinkDestroy(first));
    OK(add(second, main_text, sizeof(main_text), "main"));
    OK(cuLinkComplete(second, &image, &size));
    expect_43(image);
    OK(cuLinkDestroy(second));
}

static size_t add_member(char *out, const char *name, const char *data, size_t size)
{
    int n = sprintf(out, "%-16s%-12d%-6d%-6d%-8d%-10zu`\n", name, 0, 0, 0, 0, size);

    memcpy(out + n, data, size);
    if (size % 2)
        out[(size_t)n + size] = '\n';
    return (size_t)n + size + size % 2;
}

static void archive(void)
{
    char data[8192] = "!<arch>\n";
    size_t size = 8;
    CUlinkState state;
    void *image;

    size += add_member(data + size, "/", "symbol table", 12);
    size += add_member(data + size, "main.ptx/", main_text, sizeof(main_text) - 1);
    size += add_member(data + size, "twice.ptx/", twice_text, sizeof(twice_text) - 1);
    OK(cuLinkCreate_v2(0, NULL, NULL, &state));
    OK(cuLinkAddData_v2(state, CU_JIT_INPUT_LIBRARY, data, size, "lib.a", 0, NULL, NULL));
    OK(cuLinkComplete(state, &image, &size));
    expect_43(image);
    OK(cuLinkDestroy(state));
}

static void wrong(void)
{
    char log[512] = "", info[64] = "x";
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
                              CU_JIT_INFO_LOG_BUFFER, CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES,
                              CU_JIT_WALL_TIME};
    void *values[] = {log, (void *)sizeof(log), info, (void *)sizeof(info), (void *)-1};
    static const char bad[] = PTX_HEAD "\n.entry f() { frobnicate.u32 %r1; }";
    float ms = -1;
    CUlinkState state;
    void *image = NULL;
    size_t size;

    OK(cuLinkCreate_v2(5, options, values, &state));
    FAILS(add(state, bad, sizeof(bad), "bad.ptx"), CUDA_ERROR_INVALID_PTX);
    CHECK(strstr(log, "bad.ptx"));
    CHECK(strstr(log, "line 5"));
    CHECK(strstr(log, "frobnicate"));
    CHECK_EQ_INT((uintptr_t)values[1], strlen(log));
    CHECK_EQ_INT((uintptr_t)values[3], 0);
    CHECK_EQ_STR(info, "");
    memcpy(&ms, &values[4], sizeof(ms));
    CHECK(ms >= 0 && ms < 10000);
    FAILS(cuLinkComplete(state, &image, &size), CUDA_ERROR_INVALID_VALUE);
    OK(add(state, main_text, sizeof(main_text), "main"));
    FAILS(cuLinkComplete(state, &image, &size), CUDA_ERROR_INVALID_IMAGE);
    CHECK(strstr(log, "'twice'") || strstr(log, "'scale'"));
    OK(add(state, twice_text, sizeof(twice_text), "twice"));
    OK(add(state, twice_text, sizeof(twice_text), "twice again"));
    FAILS(cuLinkComplete(state, &image, &size), CUDA_ERROR_INVALID_IMAGE);
    FAILS(add(state, "\1\2\3\4", 4, "junk"), CUDA_ERROR_INVALID_IMAGE);
    FAILS(cuLinkAddFile_v2(state, CU_JIT_INPUT_PTX, "/nowhere", 0, NULL, NULL),
          CUDA_ERROR_FILE_NOT_FOUND);
    CHECK(image == NULL);
    OK(cuLinkDestroy(state));
}

static int loaded_from(const char *path)
{
    char image[16384] = "";
    FILE *f = fopen(path, "rb");

    CHECK(f && fread(image, 1, sizeof(image) - 1, f) > 0);
    if (f)
        fclose(f);
    expect_43(image);
    return check_result();
}

int main(int argc, char **argv)
{
    CUcontext context = test_context();

    if (argc > 1)
        return loaded_from(argv[1]);
    across_processes(argv[0]);
    link_again();
    archive();
    wrong();
    OK(cuCtxDestroy_v2(context));
    return check_result();
}
