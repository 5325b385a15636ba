/* SPDX-License-Identifier: Apache-2.0
 *
 * Arguments of every kind that LLVM's AMDGPU usage names: metadata are made here, read as those of
 * a code object are, and what a replay makes of a block of arguments is looked at kind by kind.
 */
#include "tests/unit/check.h"

#include <string.h>

#include "api/hsa/replay/hidden_args.h"

#define RECORDED 0x7f1234567890u /* what each 8 bytes held */
#define KEPT     UINT64_MAX      /* as recorded, in as many bytes as the argument has */

static const struct kind {
    const char *name;
    uint8_t size;
    uint64_t expected;
} kinds[] = {
    {"by_value", 8, KEPT},
    {"global_buffer", 8, KEPT},
    {"dynamic_shared_pointer", 4, KEPT},
    {"sampler", 8, KEPT},
    {"image", 8, KEPT},
    {"pipe", 8, KEPT},
    {"queue", 8, KEPT},
    {"hidden_global_offset_x", 8, KEPT},
    {"hidden_global_offset_y", 8, KEPT},
    {"hidden_global_offset_z", 8, KEPT},
    {"hidden_none", 8, 0},
    {"hidden_printf_buffer", 8, 0x1000},
    {"hidden_hostcall_buffer", 8, 0},
    {"hidden_default_queue", 8, 0},
    {"hidden_completion_action", 8, 0},
    {"hidden_multigrid_sync_arg", 8, 0},
    {"hidden_heap_v1", 8, 0},
    {"hidden_block_count_x", 4, 15},
    {"hidden_block_count_y", 4, 2},
    {"hidden_block_count_z", 4, 1},
    {"hidden_group_size_x", 2, 64},
    {"hidden_group_size_y", 2, 3},
    {"hidden_group_size_z", 2, 1},
    {"hidden_remainder_x", 2, 40},
    {"hidden_remainder_y", 2, 1},
    {"hidden_remainder_z", 2, 0},
    {"hidden_grid_dims", 2, 2},
    {"hidden_dynamic_lds_size", 4, 256},
    {"hidden_private_base", 4, 0x2000},
    {"hidden_shared_base", 4, 0x3000},
    {"hidden_queue_ptr", 8, 0x5000},
    {"hidden_of_times_to_come", 8, 0},
};

#define KIND_COUNT (sizeof(kinds) / sizeof(kinds[0]))

static const struct hsa_hidden_args here = {.grid = {1000, 7, 1},
                                            .group = {64, 3, 1},
                                            .dimensions = 2,
                                            .dynamic_size = 256,
                                            .queue = 0x5000,
                                            .private_base = 0x2000,
                                            .shared_base = 0x3000,
                                            .printf_buffer = 0x1000};

/* ---- MessagePack ------------------------------------------------------------------------------
 */

static uint8_t pack[8192];
static size_t pack_size;

static void put(uint8_t byte)
{
    pack[pack_size++] = byte;
}

static void put_text(const char *text)
{
    put(0xd9);
    put((uint8_t)strlen(text));
    memcpy(pack + pack_size, text, strlen(text));
    pack_size += strlen(text);
}

static void put_number(uint32_t number)
{
    put(0xcd);
    put((uint8_t)(number >> 8));
    put((uint8_t)number);
}

/* One kernel, whose arguments lie 8 bytes apart. */
static void make_metadata(void)
{
    put(0x81);
    put_text("amdhsa.kernels");
    put(0x91);
    put(0x82);
    put_text(".symbol");
    put_text("all.kd");
    put_text(".args");
    put(0xdc);
    put(0);
    put(KIND_COUNT);
    for (uint32_t i = 0; i < KIND_COUNT; i++) {
        put(0x83);
        put_text(".offset");
        put_number(i * 8);
        put_text(".size");
        put_number(kinds[i].size);
        put_text(".value_kind");
        put_text(kinds[i].name);
    }
}

/* ---- tests ------------------------------------------------------------------------------------
 */

static uint64_t taken(const uint64_t *arguments, uint32_t at)
{
    uint64_t value = 0;

    memcpy(&value, &arguments[at], kinds[at].size);
    return value;
}

static void test_all(const struct hsa_code_kernel *kernel)
{
    uint64_t arguments[KIND_COUNT], recorded = RECORDED;
    const char *missing;

    for (uint32_t i = 0; i < KIND_COUNT; i++)
        arguments[i] = recorded;
    missing = hsa_hidden_args_fill(kernel, &here, (uint8_t *)arguments, sizeof(arguments));
    CHECK_EQ_STR(missing, "hidden_hostcall_buffer");
    for (uint32_t i = 0; i < KIND_COUNT; i++) {
        uint64_t expected = kinds[i].expected;
        if (expected == KEPT) {
            expected = 0;
            memcpy(&expected, &recorded, kinds[i].size);
        }
        if (taken(arguments, i) != expected)
            fprintf(stderr, "%s: ", kinds[i].name);
        CHECK_EQ_INT(taken(arguments, i), expected);
        /* Bytes beside it belong to another argument. */
        CHECK_EQ_MEM((uint8_t *)&arguments[i] + kinds[i].size, (uint8_t *)&recorded + kinds[i].size,
                     (size_t)(8 - kinds[i].size));
    }
}

static void test_numbers(const struct hsa_code_kernel *kernel)
{
    uint64_t arguments[KIND_COUNT] = {0};

    for (uint32_t i = 0; i < KIND_COUNT; i++)
        if (!strcmp(kinds[i].name, "hidden_multigrid_sync_arg"))
            arguments[i] = 1;
    CHECK(!hsa_hidden_args_fill(kernel, &here, (uint8_t *)arguments, sizeof(arguments)));
    for (uint32_t i = 0; i < KIND_COUNT; i++)
        if (!strcmp(kinds[i].name, "hidden_multigrid_sync_arg"))
            CHECK_EQ_INT(arguments[i], 1);
}

/* A block that is shorter than the metadata say. */
static void test_short(const struct hsa_code_kernel *kernel)
{
    uint8_t arguments[21 * 8 + 1], expected = 0x5a;

    memset(arguments, expected, sizeof(arguments));
    hsa_hidden_args_fill(kernel, &here, arguments, sizeof(arguments));
    CHECK_EQ_INT(arguments[21 * 8], expected);
}

int main(void)
{
    struct hsa_code_kernel kernel = {.name = "all.kd"};
    struct hsa_code_kernels kernels = {.all = &kernel, .count = 1, .capacity = 1};

    make_metadata();
    hsa_code_metadata(pack, pack_size, &kernels);
    CHECK(kernel.has_arguments);
    CHECK_EQ_INT(kernel.argument_count, KIND_COUNT);
    CHECK(hsa_hidden_args_has(&kernel, "hidden_heap_v1"));
    CHECK(!hsa_hidden_args_has(&kernel, "hidden_heap_v2"));
    test_all(&kernel);
    test_numbers(&kernel);
    test_short(&kernel);
    return check_result();
}
