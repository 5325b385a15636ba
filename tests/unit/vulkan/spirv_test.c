/* SPDX-License-Identifier: Apache-2.0
 *
 * Reflection of SPIR-V: a module put together by hand, cut off at each word, and with each word
 * damaged.
 */
#include "api/vulkan/tables/spirv.h"

#include "tests/unit/check.h"

#include <stdlib.h>

#define I(op, length) ((uint32_t)(length) << 16 | (op))
#define MAIN          0x6e69616du /* "main" */

static const uint32_t words[] = {
    SPIRV_MAGIC, 0x00010300, 0,          40, 0,        I(15, 5),
    5,           1,          MAIN,       0,               /* OpEntryPoint GLCompute %1 "main" */
    I(16, 6),    1,          17,         64, 2,        1, /* OpExecutionMode %1 LocalSize 64 2 1 */
    I(5, 3),     10,         0x00006264,                  /* OpName %10 "db" */
    I(5, 3),     8,          0x00005444,                  /* OpName %8 "DT" */
    I(71, 4),    10,         34,         1,               /* OpDecorate %10 DescriptorSet 1 */
    I(71, 4),    10,         33,         3,               /* OpDecorate %10 Binding 3 */
    I(71, 4),    20,         34,         0,               /* %20: set 0, binding 2 */
    I(71, 4),    20,         33,         2,  I(72, 5), 30,
    0,           35,         0,                  /* OpMemberDecorate %30 0 Offset 0 */
    I(72, 5),    30,         1,          35, 16, /* ... 1 Offset 16 */
    I(22, 3),    2,          32,                 /* %2 = OpTypeFloat 32 */
    I(21, 4),    3,          32,         0,      /* %3 = OpTypeInt 32 0 */
    I(43, 4),    3,          4,          5,      /* %4 = OpConstant %3 5 */
    I(23, 4),    6,          2,          3,      /* %6 = OpTypeVector %2 3 */
    I(29, 3),    7,          2,                  /* %7 = OpTypeRuntimeArray %2 */
    I(30, 3),    8,          7,                  /* %8 = OpTypeStruct %7 */
    I(28, 4),    11,         8,          4,      /* %11 = OpTypeArray %8 %4 */
    I(32, 4),    9,          12,         11,     /* %9 = OpTypePointer StorageBuffer %11 */
    I(59, 4),    9,          10,         12,     /* %10 = OpVariable */
    I(25, 9),    21,         2,          1,  0,        0,
    0,           1,          0,              /* %21 = OpTypeImage %2 2D ... sampled */
    I(27, 3),    22,         21,             /* %22 = OpTypeSampledImage %21 */
    I(32, 4),    23,         0,          22, /* %23 = OpTypePointer UniformConstant %22 */
    I(59, 4),    23,         20,         0,  /* %20 = OpVariable */
    I(30, 4),    30,         2,          6,  /* %30 = OpTypeStruct %2 %6 */
    I(32, 4),    31,         9,          30, /* %31 = OpTypePointer PushConstant %30 */
    I(59, 4),    31,         32,         9,  /* %32 = OpVariable */
};

static struct spirv_module module;

static void check_whole(void)
{
    CHECK(spirv_reflect(&module, words, sizeof(words)));
    CHECK_EQ_INT(module.entry_count, 1);
    CHECK_EQ_STR(module.entries[0].name, "main");
    CHECK_EQ_STR(spirv_model_name(module.entries[0].model), "compute");
    CHECK_EQ_INT(module.entries[0].local_size[1], 2);
    CHECK_EQ_INT(module.binding_count, 2);
    CHECK_EQ_INT(module.bindings[0].binding, 2); /* of set 0: first */
    CHECK_EQ_STR(module.bindings[0].type, "combined_image_sampler");
    CHECK_EQ_INT(module.bindings[1].set, 1);
    CHECK_EQ_STR(module.bindings[1].type, "storage_buffer");
    CHECK_EQ_INT((long long)module.bindings[1].count, 5);
    CHECK_EQ_STR(module.bindings[1].name, "db");
    CHECK_EQ_STR(module.bindings[1].type_name, "DT");
    CHECK_EQ_INT(module.push_count, 1);
    CHECK_EQ_INT((long long)module.pushes[0].size, 28);
}

/* Nothing is read beyond the words that are there: run this under ASan. */
static void check_damaged(void)
{
    uint32_t *copy;

    for (size_t i = 0; i < sizeof(words) / 4; i++) {
        copy = malloc(i * 4 + 4);
        memcpy(copy, words, i * 4);
        spirv_reflect(&module, copy, i * 4);
        free(copy);
    }
    copy = malloc(sizeof(words));
    for (size_t i = 0; i < sizeof(words) / 4; i++)
        for (uint32_t bit = 0; bit < 32; bit++) {
            memcpy(copy, words, sizeof(words));
            copy[i] ^= 1u << bit;
            spirv_reflect(&module, copy, sizeof(words));
        }
    free(copy);
    CHECK(!spirv_is_module(words, 19));
    CHECK(!spirv_is_module(words, sizeof(words) - 4));
}

/* A struct of two of the struct before, 40 times over: 2^40 members, each of which has a size. */
static void check_explosion(void)
{
    static uint32_t deep[2048];
    size_t n = 5;

    memcpy(deep, words, 20);
    deep[3] = 200;
#define PUT(...)                                                                                   \
    do {                                                                                           \
        const uint32_t put_[] = {__VA_ARGS__};                                                     \
        memcpy(deep + n, put_, sizeof(put_));                                                      \
        n += sizeof(put_) / 4;                                                                     \
    } while (0)
    PUT(I(22, 3), 1, 32);
    for (uint32_t i = 2; i < 42; i++) {
        PUT(I(30, 4), i, i - 1, i - 1);
        PUT(I(72, 5), i, 0, 35, 0);
        PUT(I(72, 5), i, 1, 35, 4);
    }
    PUT(I(32, 4), 100, 9, 41);
    PUT(I(59, 4), 100, 101, 9);
    CHECK(spirv_reflect(&module, deep, n * 4));
    CHECK_EQ_INT(module.push_count, 1);
}

int main(void)
{
    check_whole();
    check_damaged();
    check_explosion();
    return check_result();
}
