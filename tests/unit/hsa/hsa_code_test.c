/* SPDX-License-Identifier: Apache-2.0
 *
 * Code objects: of the software GPU, of an AMD GPU (a second argument, where a compiler for it is
 * there), and damaged ones.
 */
#include "tests/unit/check.h"

#include <stdlib.h>
#include <string.h>

#include "api/hsa/code.h"

static uint8_t *read_file(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    uint8_t *bytes = malloc(1 << 20);

    *size = file && bytes ? fread(bytes, 1, 1 << 20, file) : 0;
    if (file)
        fclose(file);
    CHECK(*size > 0);
    return bytes;
}

/* Its name is not looked at: it lives as long as the bytes. */
static bool kernel_find(const struct hsa_code *code, const char *name, struct hsa_code_kernel *out)
{
    const struct hsa_code_kernel *found;
    struct hsa_code_kernels kernels;

    CHECK(hsa_code_kernels_init(&kernels, code));
    found = hsa_code_kernels_find(&kernels, name, strlen(name));
    if (found)
        *out = *found;
    hsa_code_kernels_finish(&kernels);
    return found != NULL;
}

struct listing {
    unsigned kernels, variables;
    size_t longest; /* name of a kernel */
};

static bool count(void *user, const struct hsa_code_symbol *symbol)
{
    struct listing *listing = user;

    if (symbol->kernel)
        listing->kernels++;
    if (symbol->kernel && strlen(symbol->name) > listing->longest)
        listing->longest = strlen(symbol->name);
    if (!symbol->kernel)
        listing->variables++;
    return true;
}

static void test_own(const char *path)
{
    struct hsa_code_kernel kernel;
    struct listing listing = {0};
    struct hsa_code code;
    size_t size;
    uint8_t *bytes = read_file(path, &size);

    CHECK(hsa_code_open(&code, bytes, size));
    CHECK(!code.is_amdgpu);
    CHECK(hsa_code_each(&code, count, &listing));
    CHECK_EQ_INT(listing.kernels, 13);
    CHECK_EQ_INT(listing.variables, 3);
    CHECK_EQ_INT(listing.longest, 639 + 3);
    CHECK(kernel_find(&code, "scale.kd", &kernel));
    CHECK_EQ_INT(kernel.arguments_size, 16);
    CHECK_EQ_INT(kernel.argument_count, 2);
    CHECK_EQ_INT(kernel.arguments[0].kind, HSA_CODE_ARGUMENT_POINTER);
    CHECK_EQ_INT(kernel.arguments[1].kind, HSA_CODE_ARGUMENT_VALUE);
    CHECK_EQ_INT(kernel.arguments[1].offset, 8);
    CHECK_EQ_INT(kernel.arguments[1].size, 4);
    CHECK(!kernel_find(&code, "bias", &kernel));
    CHECK(!kernel_find(&code, "scale", &kernel));
    CHECK(!kernel_find(&code, "scale.kd2", &kernel));
    free(bytes);
}

/* Arguments as clang's assembly has them: 20 bytes, an address, an offset of local memory, an
 * address. */
static void test_amd(const char *path)
{
    struct hsa_code_kernel kernel;
    struct hsa_code code;
    size_t size;
    uint8_t *bytes = read_file(path, &size);

    CHECK(hsa_code_open(&code, bytes, size));
    CHECK(code.is_amdgpu);
    CHECK_EQ_INT(code.flags & 0xff, 0x2f); /* gfx906 */
    CHECK(kernel_find(&code, "step.kd", &kernel));
    CHECK(kernel.has_arguments);
    CHECK(kernel.argument_count >= 4);
    CHECK_EQ_STR(kernel.arguments[0].value_kind, "by_value");
    CHECK_EQ_INT(kernel.arguments[0].size, 20);
    CHECK_EQ_STR(kernel.arguments[1].value_kind, "global_buffer");
    CHECK_EQ_INT(kernel.arguments[1].offset, 24);
    CHECK_EQ_INT(kernel.arguments[1].kind, HSA_CODE_ARGUMENT_POINTER);
    CHECK_EQ_STR(kernel.arguments[2].value_kind, "dynamic_shared_pointer");
    CHECK_EQ_INT(kernel.arguments[2].kind, HSA_CODE_ARGUMENT_VALUE);
    CHECK_EQ_INT(kernel.arguments[3].kind, HSA_CODE_ARGUMENT_POINTER);
    free(bytes);
}

/* Any byte changed, any length cut: no crash, whatever is found. */
static void test_damaged(const char *path)
{
    struct hsa_code_kernel kernel;
    struct hsa_code code;
    size_t size;
    uint8_t *bytes = read_file(path, &size), *copy = malloc(size + 1);

    for (size_t at = 0; at < size; at += at < 4096 ? 1 : 37) {
        memcpy(copy, bytes, size);
        copy[at] ^= 0xff;
        if (hsa_code_open(&code, copy, size))
            kernel_find(&code, "scale.kd", &kernel);
        if (hsa_code_open(&code, bytes, at))
            kernel_find(&code, "scale.kd", &kernel);
    }
    free(copy);
    free(bytes);
}

int main(int argc, char **argv)
{
    test_own(argv[1]);
    test_damaged(argv[1]);
    for (int i = 2; i < argc; i++) {
        test_amd(argv[i]);
        test_damaged(argv[i]);
    }
    return check_result();
}
