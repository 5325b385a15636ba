/* SPDX-License-Identifier: Apache-2.0
 *
 * cp.async.bulk.tensor and tensormap: random tensors and boxes, tiled and im2col, loaded, stored,
 * reduced, gathered and scattered, against loops over coordinates.
 */
#include "emu/ptx/tensor_map.h"
#include "tests/ptx/ptx_harness.h"
#include "tests/ptx/ptx_layout.h"
#include "tests/unit/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TENSOR_SIZE (1u << 20)
#define BOX_SIZE    (96u << 10)

static uint32_t seed = 12345;
static uint8_t *tensor, *before, *box, *wanted;
static struct ptx_tensor_map *map;
static int32_t *operands; /* five coordinates, three offsets */

static uint32_t draw(uint32_t end)
{
    seed = seed * 1664525u + 1013904223u;
    return (seed >> 8) % end;
}

static const uint8_t sizes[] = {1, 2, 4, 4, 8, 8, 2, 4, 4, 8, 2, 4, 4};

static void draw_bytes(uint8_t *out, size_t size)
{
    for (size_t k = 0; k < size; k++)
        out[k] = (uint8_t)draw(256);
}

/* ---- places in shared memory ---- */

static const uint8_t table_64[2][8] = {{0, 1, 2, 3, 4, 5, 6, 7}, {4, 5, 6, 7, 0, 1, 2, 3}};

static uint32_t swizzled(unsigned mode, unsigned atom, uint32_t at)
{
    unsigned row = at / 128;
    unsigned chunk = at % 128 / 16;
    unsigned in_chunk = at % 16;

    switch (mode) {
    case PTX_TENSOR_32:
    case PTX_TENSOR_96:
        chunk = layout_by_16[row % 2][chunk];
        break;
    case PTX_TENSOR_64:
        chunk = layout_by_16[row % 4][chunk];
        break;
    case PTX_TENSOR_128:
        chunk = atom == PTX_TENSOR_ATOM_16   ? layout_by_16[row % 8][chunk]
                : atom == PTX_TENSOR_ATOM_64 ? table_64[row % 2][chunk]
                                             : layout_by_32[row % 4][chunk];
        if (atom == PTX_TENSOR_ATOM_32_FLIP && row % 2)
            in_chunk = (in_chunk + 8) % 16;
        break;
    default:
        break;
    }
    return row * 128 + chunk * 16 + in_chunk;
}

/* ---- kernels ---- */

/* %r1: the box in shared memory, at `skip` of it; the bytes at out are there before, and the box is
 * copied to out at the end. */
static void write_kernel(char *out, const char *target, const char *instruction, unsigned skip,
                         bool loads)
{
    sprintf(out,
            ".version 8.8\n.target %s\n.address_size 64\n.extern .shared .align 1024 .b8 s[];\n"
            ".visible .entry k(.param .u64 map, .param .u64 out, .param .u64 ops, .param .u32 "
            "bytes) {\n"
            ".reg .b32 %%r<20>; .reg .b64 %%d<12>; .reg .b16 %%h<4>; .reg .pred %%p<4>;\n"
            ".shared .align 8 .b64 bar;\n"
            "ld.param.u64 %%d1, [map]; ld.param.u64 %%d2, [out]; ld.param.u64 %%d3, [ops];\n"
            "ld.param.u32 %%r9, [bytes]; mov.u32 %%r1, s; add.u32 %%r1, %%r1, %u;\n"
            "ld.global.v4.u32 {%%r2,%%r3,%%r4,%%r5}, [%%d3]; ld.global.u32 %%r6, [%%d3+16];\n"
            "ld.global.u16 %%h1, [%%d3+20]; ld.global.u16 %%h2, [%%d3+24];\n"
            "ld.global.u16 %%h3, [%%d3+28]; mov.u32 %%r10, 0;\n"
            "A: add.u32 %%r11, %%r1, %%r10; cvt.u64.u32 %%d4, %%r10; add.u64 %%d4, %%d4, %%d2;\n"
            "ld.global.u32 %%r12, [%%d4]; st.shared.u32 [%%r11], %%r12; add.u32 %%r10, %%r10, 4;\n"
            "setp.lt.u32 %%p1, %%r10, %%r9; @%%p1 bra A;\n"
            "mbarrier.init.shared::cta.b64 [bar], 1;\n"
            "mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], %%r9;\n%s\n%s"
            "mov.u32 %%r10, 0;\n"
            "B: add.u32 %%r11, %%r1, %%r10; cvt.u64.u32 %%d4, %%r10; add.u64 %%d4, %%d4, %%d2;\n"
            "ld.shared.u32 %%r12, [%%r11]; st.global.u32 [%%d4], %%r12; add.u32 %%r10, %%r10, 4;\n"
            "setp.lt.u32 %%p1, %%r10, %%r9; @%%p1 bra B;\nret;\n}\n",
            target, skip, instruction,
            loads ? "W: mbarrier.try_wait.parity.shared::cta.b64 %p2, [bar], 0; @!%p2 bra W;\n"
                  : "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;\n");
}

static int run_kernel(const char *target, const char *instruction, unsigned skip, bool loads,
                      uint32_t bytes)
{
    static char text[8192];
    struct ptx_module *m;
    int status;

    write_kernel(text, target, instruction, skip, loads);
    dev_target = strstr(target, "100") ? 100 : 90;
    m = dev_parse(text);
    status = dev_run(
        m, &(struct dev_launch){.kernel = "k", .grid = 1, .block = 1, .shared = BOX_SIZE + 2048},
        (uint64_t[]){PTR(map), PTR(box), PTR(operands), bytes}, 4);
    ptx_module_destroy(m);
    return status;
}

static const char *const coordinates[] = {"{%r2}", "{%r2,%r3}", "{%r2,%r3,%r4}",
                                          "{%r2,%r3,%r4,%r5}", "{%r2,%r3,%r4,%r5,%r6}"};

/* ---- random maps ---- */

static void draw_map(unsigned rank, unsigned type)
{
    uint64_t stride;

    memset(map, 0, sizeof(*map));
    map->address = PTR(tensor) + 1024;
    map->magic = PTX_TENSOR_MAP_MAGIC;
    map->type = (uint8_t)type;
    map->rank = (uint8_t)rank;
    for (unsigned d = 0; d < rank; d++) {
        map->size[d] = 1 + draw(d ? 7 : 40);
        map->step[d] = (uint8_t)(d && draw(4) == 0 ? 1 + draw(3) : 1);
    }
    stride = (map->size[0] * sizes[type] + 15) / 16 * 16 + 16 * draw(2);
    for (unsigned d = 1; d < rank; d++) {
        map->stride[d - 1] = stride;
        stride *= map->size[d] + draw(2);
    }
}

static void draw_box(void)
{
    unsigned size = sizes[map->type];
    unsigned inner = 16 * (1 + draw(8));

    map->swizzle = (uint8_t)draw(PTX_TENSOR_SWIZZLE_COUNT);
    map->atom = map->swizzle == PTX_TENSOR_128 ? (uint8_t)draw(PTX_TENSOR_ATOM_COUNT) : 0;
    if (map->swizzle == PTX_TENSOR_32 && inner > 32)
        inner = 32;
    if (map->swizzle == PTX_TENSOR_64 && inner > 64)
        inner = 64;
    if (map->swizzle == PTX_TENSOR_96 && inner > 96)
        inner = 96;
    map->box[0] = (uint16_t)(inner / size);
    for (unsigned d = 1; d < map->rank; d++)
        map->box[d] = (uint16_t)(1 + draw(d < 3 ? 6 : 3));
}

static unsigned extent(unsigned d)
{
    return (map->box[d] + map->step[d] - 1u) / map->step[d];
}

static uint32_t box_bytes(void)
{
    uint32_t bytes = sizes[map->type] * map->box[0];

    for (unsigned d = 1; d < map->rank; d++)
        bytes *= extent(d);
    return bytes;
}

/* The place in the tensor where element `e` of the box, counted along dimension 0 first, lies;
 * NULL: outside.
 */
static uint8_t *element(uint32_t e)
{
    uint8_t *at = tensor + 1024;

    for (unsigned d = 0; d < map->rank; d++) {
        unsigned count = d ? extent(d) : map->box[0];
        int64_t c = operands[d] + (int64_t)(e % count) * map->step[d];
        e /= count;
        if (c < 0 || c >= (int64_t)map->size[d])
            return NULL;
        at += (size_t)c * (d ? map->stride[d - 1] : sizes[map->type]);
    }
    return at;
}

static void describe(const char *what)
{
    fprintf(stderr, "%s: type %u rank %u swizzle %u atom %u\n", what, map->type, map->rank,
            map->swizzle, map->atom);
    for (unsigned d = 0; d < map->rank; d++)
        fprintf(stderr, "  size %llu box %u step %u at %d\n", (unsigned long long)map->size[d],
                map->box[d], map->step[d], operands[d]);
}

static uint32_t rounded_up(uint32_t bytes)
{
    return map->swizzle ? (bytes + 127) / 128 * 128 : bytes;
}

/* A copy touches nothing else: the box lies in what was there. */
static void test_load(unsigned round)
{
    char line[512];
    unsigned skip = 128 * draw(8);

    draw_map(1 + round % 5, round % 8);
    draw_box();
    map->fills_nan = map->type >= PTX_TENSOR_F16 && draw(2);
    for (unsigned d = 0; d < 5; d++)
        operands[d] = (int32_t)draw(12) - 4;
    uint32_t bytes = box_bytes();
    draw_bytes(box, bytes + 256);
    memcpy(wanted, box, bytes + 256);
    for (uint32_t e = 0; e < bytes / sizes[map->type]; e++)
        for (unsigned k = 0; k < sizes[map->type]; k++) {
            const uint8_t *p = element(e);
            uint8_t none = !map->fills_nan ? 0 : k == sizes[map->type] - 1u ? 0x7f : 0xff;
            uint32_t at = swizzled(map->swizzle, map->atom, skip + e * sizes[map->type] + k) - skip;
            wanted[at] = p ? p[k] : none;
        }
    snprintf(line, sizeof(line),
             "cp.async.bulk.tensor.%ud.shared::c%s.global%s.mbarrier::complete_tx::bytes "
             "[%%r1], [%%d1, %s], [bar];",
             map->rank, round % 2 ? "luster" : "ta", round % 3 ? "" : ".tile",
             coordinates[map->rank - 1]);
    bool right = CHECK_EQ_INT(run_kernel("sm_90", line, skip, true, bytes), PTX_OK) &&
                 CHECK_EQ_MEM(box, wanted, bytes);
    if (!right)
        describe("load");
}

static void test_store(unsigned round)
{
    char line[512];
    unsigned skip = 128 * draw(8);

    draw_map(1 + round % 5, round % 8);
    draw_box();
    for (unsigned d = 0; d < 5; d++)
        operands[d] = (int32_t)draw(12) - 4;
    uint32_t bytes = box_bytes();
    draw_bytes(box, rounded_up(bytes));
    memcpy(before, tensor, TENSOR_SIZE);
    snprintf(line, sizeof(line),
             "cp.async.bulk.tensor.%ud.global.shared::cta.bulk_group [%%d1, %s], [%%r1];",
             map->rank, coordinates[map->rank - 1]);
    bool right = CHECK_EQ_INT(run_kernel("sm_90", line, skip, false, rounded_up(bytes)), PTX_OK);
    memcpy(wanted, tensor, TENSOR_SIZE);
    memcpy(tensor, before, TENSOR_SIZE);
    for (uint32_t e = 0; e < bytes / sizes[map->type]; e++)
        for (unsigned k = 0; k < sizes[map->type]; k++) {
            uint8_t *p = element(e);
            if (p)
                p[k] =
                    box[swizzled(map->swizzle, map->atom, skip + e * sizes[map->type] + k) - skip];
        }
    right = CHECK_EQ_MEM(wanted, tensor, TENSOR_SIZE) && right;
    if (!right)
        describe("store");
}

/* Each operation on a type that has it. Elements are distinct, so each is reduced once. */
static void test_reduce(void)
{
    static const struct {
        const char *op;
        unsigned type;
    } cases[] = {{"add", PTX_TENSOR_U32}, {"add", PTX_TENSOR_U64}, {"min", PTX_TENSOR_S32},
                 {"max", PTX_TENSOR_U32}, {"min", PTX_TENSOR_U64}, {"max", PTX_TENSOR_S64},
                 {"and", PTX_TENSOR_U32}, {"or", PTX_TENSOR_U64},  {"xor", PTX_TENSOR_S32},
                 {"inc", PTX_TENSOR_U32}, {"dec", PTX_TENSOR_U32}};

    for (size_t k = 0; k < sizeof(cases) / sizeof(cases[0]); k++) {
        char line[256];
        unsigned size = sizes[cases[k].type];
        draw_map(2, cases[k].type);
        map->box[0] = (uint16_t)(16 / size);
        map->box[1] = 3;
        operands[0] = operands[1] = 1;
        draw_bytes(box, box_bytes());
        memcpy(before, tensor, TENSOR_SIZE);
        snprintf(line, sizeof(line),
                 "cp.reduce.async.bulk.tensor.2d.global.shared::cta.%s.tile.bulk_group [%%d1, "
                 "{%%r2,%%r3}], [%%r1];",
                 cases[k].op);
        bool right = CHECK_EQ_INT(run_kernel("sm_90", line, 0, false, box_bytes()), PTX_OK);
        memcpy(wanted, tensor, TENSOR_SIZE);
        memcpy(tensor, before, TENSOR_SIZE);
        for (uint32_t e = 0; e < box_bytes() / size; e++) {
            uint64_t a = 0, b = 0, r;
            uint8_t *p = element(e);
            if (!p)
                continue;
            memcpy(&a, p, size);
            memcpy(&b, box + e * size, size);
            int64_t sa = size == 4 ? (int32_t)a : (int64_t)a;
            int64_t sb = size == 4 ? (int32_t)b : (int64_t)b;
            bool is_signed = cases[k].type == PTX_TENSOR_S32 || cases[k].type == PTX_TENSOR_S64;
            bool less = is_signed ? sa < sb : a < b;
            const char *op = cases[k].op;
            r = strcmp(op, "add") == 0   ? a + b
                : strcmp(op, "min") == 0 ? (less ? a : b)
                : strcmp(op, "max") == 0 ? (less ? b : a)
                : strcmp(op, "and") == 0 ? (a & b)
                : strcmp(op, "or") == 0  ? (a | b)
                : strcmp(op, "xor") == 0 ? (a ^ b)
                : strcmp(op, "inc") == 0 ? (a >= b ? 0 : a + 1)
                                         : (a == 0 || a > b ? b : a - 1);
            memcpy(p, &r, size);
        }
        right = CHECK_EQ_MEM(wanted, tensor, TENSOR_SIZE) && right;
        if (!right)
            describe(cases[k].op);
    }
}

static void set_floats(uint8_t *at, const float *values, unsigned count, unsigned type)
{
    for (unsigned k = 0; k < count; k++) {
        uint32_t bits;
        memcpy(&bits, &values[k], 4);
        if (type == PTX_TENSOR_BF16)
            memcpy(at + 2 * (size_t)k, (uint8_t *)&bits + 2, 2);
        else
            memcpy(at + 4 * (size_t)k, &bits, 4);
    }
}

static void test_reduce_floats(void)
{
    static const float a[] = {1, 2, -3, 4, 0.5f, 6, 7, 8};
    static const float b[] = {10, -2, 3, 4, 0.25f, 16, -7, 1};
    static const float sums[] = {11, 0, 0, 8, 0.75f, 22, 0, 9};
    static const float lows[] = {1, -2, -3, 4, 0.25f, 6, -7, 1};

    for (unsigned k = 0; k < 3; k++) {
        unsigned type = k ? PTX_TENSOR_BF16 : PTX_TENSOR_F32;
        draw_map(1, type);
        map->size[0] = map->box[0] = 8;
        operands[0] = 0;
        set_floats(tensor + 1024, a, 8, type);
        set_floats(box, b, 8, type);
        set_floats(wanted, k == 2 ? lows : sums, 8, type);
        CHECK_EQ_INT(run_kernel("sm_90",
                                k == 2 ? "cp.reduce.async.bulk.tensor.1d.global.shared::cta.min."
                                         "bulk_group [%d1, {%r2}], [%r1];"
                                       : "cp.reduce.async.bulk.tensor.1d.global.shared::cta.add."
                                         "bulk_group [%d1, {%r2}], [%r1];",
                                0, false, box_bytes()),
                     PTX_OK);
        CHECK_EQ_MEM(tensor + 1024, wanted, box_bytes());
    }
}

/* Numbers loaded as tf32 are rounded, and small numbers of .ftz are 0. */
static void test_rounding(void)
{
    static const uint32_t in[] = {0x3f801000, 0x3f803000, 0x3f800fff, 0x3f801001,
                                  0x00001234, 0x807fffff, 0x7f800000, 0x7fc12345};
    static const uint32_t out[3][8] = {
        {0x3f801000, 0x3f803000, 0x3f800fff, 0x3f801001, 0, 0x80000000, 0x7f800000, 0x7fc12345},
        {0x3f800000, 0x3f804000, 0x3f800000, 0x3f802000, 0x00002000, 0x80800000, 0x7f800000,
         0x7fc12345},
        {0x3f800000, 0x3f804000, 0x3f800000, 0x3f802000, 0, 0x80000000, 0x7f800000, 0x7fc12345}};
    static const uint8_t types[] = {PTX_TENSOR_F32_FTZ, PTX_TENSOR_TF32, PTX_TENSOR_TF32_FTZ};

    for (unsigned k = 0; k < 3; k++) {
        draw_map(1, types[k]);
        map->size[0] = map->box[0] = 8;
        operands[0] = 0;
        memcpy(tensor + 1024, in, sizeof(in));
        CHECK_EQ_INT(
            run_kernel(
                "sm_90",
                "cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes "
                "[%r1], [%d1, {%r2}], [bar];",
                0, true, 32),
            PTX_OK);
        CHECK_EQ_MEM(box, out[k], 32);
    }
}

/* Elements of 4 and 6 bits: 16 of them have 16 bytes in shared memory. */
static void test_small(void)
{
    static const struct {
        uint8_t type, packed, padded;
    } types[] = {
        {PTX_TENSOR_B4X16, 8, 8}, {PTX_TENSOR_B4X16_P64, 8, 16}, {PTX_TENSOR_B6X16_P32, 12, 16}};

    for (unsigned k = 0; k < 3; k++) {
        uint32_t bytes = 128 / 16 * types[k].padded;
        memset(map, 0, sizeof(*map));
        *map = (struct ptx_tensor_map){.address = PTR(tensor) + 1024,
                                       .magic = PTX_TENSOR_MAP_MAGIC,
                                       .type = types[k].type,
                                       .rank = 1,
                                       .step = {1},
                                       .size = {256},
                                       .box = {128}};
        operands[0] = 128;
        draw_bytes(box, bytes);
        memcpy(wanted, box, bytes);
        for (unsigned g = 0; g < 8; g++)
            memcpy(wanted + (size_t)g * types[k].padded,
                   tensor + 1024 + (size_t)(8 + g) * types[k].packed, types[k].packed);
        CHECK_EQ_INT(
            run_kernel(
                "sm_90",
                "cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes "
                "[%r1], [%d1, {%r2}], [bar];",
                0, true, bytes),
            PTX_OK);
        CHECK_EQ_MEM(box, wanted, bytes);
    }
    /* Stored, each byte is a number of 6 bits. */
    draw_bytes(box, 128);
    memset(wanted, 0, 96);
    for (unsigned e = 0; e < 128; e++)
        for (unsigned bit = 0; bit < 6; bit++)
            if (box[e] >> bit & 1)
                wanted[(e * 6 + bit) / 8] |= (uint8_t)(1u << (e * 6 + bit) % 8);
    CHECK_EQ_INT(run_kernel("sm_90",
                            "cp.async.bulk.tensor.1d.global.shared::cta.bulk_group [%d1, {%r2}], "
                            "[%r1];",
                            0, false, 128),
                 PTX_OK);
    CHECK_EQ_MEM(tensor + 1024 + 96, wanted, 96);
}

/* ---- four rows ---- */

static void test_rows(bool stores)
{
    for (unsigned round = 0; round < 10; round++) {
        draw_map(2, PTX_TENSOR_U16);
        draw_box();
        map->size[1] = 9;
        map->box[1] = map->step[1] = 1;
        uint32_t row_bytes = box_bytes();
        operands[0] = (int32_t)draw(10) - 3;
        for (unsigned k = 0; k < 4; k++)
            operands[1 + k] = (int32_t)(k * 3 + draw(3)) - 1;
        draw_bytes(box, rounded_up(4 * row_bytes));
        memcpy(wanted, box, rounded_up(4 * row_bytes));
        memcpy(before, tensor, TENSOR_SIZE);
        for (uint32_t at = 0; at < 4 * row_bytes; at++) {
            int64_t x = operands[0] + (int64_t)(at % row_bytes / 2);
            int64_t y = operands[1 + at / row_bytes];
            bool inside = x >= 0 && y >= 0 && x < (int64_t)map->size[0] && y < 9;
            uint8_t *p = before + 1024 + y * (int64_t)map->stride[0] + x * 2 + at % 2;
            uint8_t *q = wanted + swizzled(map->swizzle, map->atom, at);
            if (!stores)
                *q = inside ? *p : 0;
            else if (inside)
                *p = *q;
        }
        CHECK_EQ_INT(run_kernel("sm_100a",
                                stores
                                    ? "cp.async.bulk.tensor.2d.global.shared::cta.tile::scatter4."
                                      "bulk_group [%d1, {%r2,%r3,%r4,%r5,%r6}], [%r1];"
                                    : "cp.async.bulk.tensor.2d.shared::cluster.global.tile::"
                                      "gather4.mbarrier::complete_tx::bytes [%r1], [%d1, "
                                      "{%r2,%r3,%r4,%r5,%r6}], [bar];",
                                0, !stores, stores ? rounded_up(4 * row_bytes) : 4 * row_bytes),
                     PTX_OK);
        bool right = stores ? CHECK_EQ_MEM(tensor, before, TENSOR_SIZE)
                            : CHECK_EQ_MEM(box, wanted, 4 * row_bytes);
        if (!right)
            describe("rows");
    }
}

/* ---- im2col ---- */

static void draw_im2col(unsigned rank)
{
    draw_map(rank, PTX_TENSOR_U16);
    map->mode = PTX_TENSOR_IM2COL;
    map->size[0] = 32;
    uint64_t stride = 64;
    for (unsigned d = 1; d < rank; d++) {
        map->size[d] = 3 + draw(5);
        map->stride[d - 1] = stride;
        stride *= map->size[d];
    }
    for (unsigned d = 0; d < rank - 2; d++) {
        map->im2col.lower[d] = (int16_t)((int)draw(3) - 1);
        map->im2col.upper[d] = (int16_t) - (int)draw(2);
    }
    map->im2col.channels = (uint16_t)(8 * (1 + draw(3)));
    map->im2col.pixels = (uint16_t)(1 + draw(40));
}

/* Counts pixels by the place of the base in the whole walk, dimension by dimension. */
static void pixel_at(unsigned rank, unsigned pixel, int64_t *c)
{
    uint64_t walked[5] = {0};
    uint64_t total = pixel;

    /* How many steps each dimension has, and at which step the walk begins. */
    for (unsigned d = 1; d < rank - 1; d++) {
        int64_t low = map->im2col.lower[d - 1];
        int64_t end = (int64_t)map->size[d] + map->im2col.upper[d - 1];
        uint64_t steps = (uint64_t)(end - low + map->step[d] - 1) / map->step[d];
        uint64_t begin = (uint64_t)(operands[d] - low) / map->step[d];
        walked[d] = (begin + total) % steps;
        total = (begin + total) / steps;
        c[d] = low + (int64_t)walked[d] * map->step[d] + operands[5 + d - 1];
    }
    c[rank - 1] = operands[rank - 1] + (int64_t)total;
}

static void test_im2col(unsigned round)
{
    static const char *const offsets[] = {"{%h1}", "{%h1,%h2}", "{%h1,%h2,%h3}"};
    unsigned rank = 3 + round % 3;
    bool stores = round % 4 == 3;
    char line[512];

    draw_im2col(rank);
    operands[0] = 8 * (int32_t)draw(4);
    for (unsigned d = 1; d < rank - 1; d++) {
        if (stores) /* inside of the tensor */
            map->im2col.lower[d - 1] = 0;
        operands[d] = map->im2col.lower[d - 1] + (int32_t)(map->step[d] * draw(2));
        if (operands[d] >= (int32_t)map->size[d] + map->im2col.upper[d - 1])
            operands[d] = map->im2col.lower[d - 1]; /* the base begins inside of the box */
    }
    operands[rank - 1] = (int32_t)draw(3);
    for (unsigned k = 0; k < 3; k++)
        operands[5 + k] = stores ? 0 : (int32_t)draw(3);
    uint32_t row = map->im2col.channels * 2u;
    uint32_t bytes = row * map->im2col.pixels;
    draw_bytes(box, bytes);
    memcpy(wanted, box, bytes);
    memcpy(before, tensor, TENSOR_SIZE);
    for (uint32_t at = 0; at < bytes; at++) {
        int64_t c[5] = {operands[0] + at % row / 2};
        bool inside = c[0] < (int64_t)map->size[0];
        pixel_at(rank, at / row, c);
        uint8_t *p = before + 1024 + c[0] * 2 + at % 2;
        for (unsigned d = 1; d < rank; d++) {
            inside = inside && c[d] >= 0 && c[d] < (int64_t)map->size[d];
            p += c[d] * (int64_t)map->stride[d - 1];
        }
        if (!stores)
            wanted[at] = inside ? *p : 0;
        else if (inside)
            *p = box[at];
    }
    if (stores)
        snprintf(
            line, sizeof(line),
            "cp.async.bulk.tensor.%ud.global.shared::cta.im2col_no_offs.bulk_group [%%d1, %s], "
            "[%%r1];",
            rank, coordinates[rank - 1]);
    else
        snprintf(line, sizeof(line),
                 "cp.async.bulk.tensor.%ud.shared::cluster.global.im2col.mbarrier::complete_tx::"
                 "bytes [%%r1], [%%d1, %s], [bar], %s;",
                 rank, coordinates[rank - 1], offsets[rank - 3]);
    CHECK_EQ_INT(run_kernel("sm_90", line, 0, !stores, bytes), PTX_OK);
    bool right =
        stores ? CHECK_EQ_MEM(tensor, before, TENSOR_SIZE) : CHECK_EQ_MEM(box, wanted, bytes);
    if (!right)
        describe(line);
}

/* ---- clusters ---- */

static char *place_of(const char *what, char *text)
{
    char *at = strstr(text, what);

    if (!at)
        abort();
    return at;
}

/* Block 1 of four loads for blocks 0, 2 and 3; each hears of it at its own barrier. With
 * .cta_group::2 the barriers of the blocks with even numbers hear of both of their pairs. */
static void test_multicast(bool pairs)
{
    static const char *const parts[] = {
        ".version 8.8\n.target %s\n.address_size 64\n.shared .align 128 .b8 s[256];\n"
        ".shared .align 8 .b64 bar;\n.visible .entry k(.param .u64 map, .param .u64 out) {\n"
        ".reg .b32 %%r<20>; .reg .b64 %%d<12>; .reg .b16 %%h<4>; .reg .pred %%p<4>;\n"
        "ld.param.u64 %%d1, [map]; ld.param.u64 %%d2, [out]; mov.u32 %%r1, %%cluster_ctarank;\n"
        "mbarrier.init.shared::cta.b64 [bar], 1; mov.u32 %%r2, 0; mov.u32 %%r3, 16;\n"
        "setp.eq.u32 %%p1, %%r1, 1; setp.%s %%p3, %%r1, 1; mov.u32 %%r4, %s;\n"
        "@!%%p3 mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], %%r4;\n"
        "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned; mov.u16 %%h1, %s;\n"
        "@%%p1 cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes."
        "multicast::cluster%s [s], [%%d1, {%%r3}], [bar], %%h1;\n"
        "@%%p3 bra E;\nW: mbarrier.try_wait.parity.shared::cta.b64 %%p2, [bar], 0; @!%%p2 bra W;\n"
        "E: barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;\n"
        "mad.wide.u32 %%d2, %%r1, 16, %%d2; ld.shared.v4.u32 {%%r5,%%r6,%%r7,%%r8}, [s];\n"
        "st.global.v4.u32 [%%d2], {%%r5,%%r6,%%r7,%%r8}; ret;\n}\n"};
    char text[4096];
    struct ptx_module *m;

    snprintf(text, sizeof(text), parts[0], pairs ? "sm_100a" : "sm_90", "eq.u32",
             pairs ? "32" : "16", pairs ? "15" : "13", pairs ? ".cta_group::2" : "");
    if (pairs) { /* the odd ones have nothing to wait for */
        char *at = place_of("setp.eq.u32 %p3, %r1, 1;", text);
        memcpy(at, "and.b32 %r9, %r1, 1;    ", 24);
        at = place_of("mov.u32 %r4, 32;", text);
        memmove(at + 25, at, strlen(at) + 1);
        memcpy(at, "setp.ne.u32 %p3, %r9, 0; ", 25);
    }
    dev_target = pairs ? 100 : 90;
    memset(map, 0, sizeof(*map));
    *map = (struct ptx_tensor_map){.address = PTR(tensor) + 1024,
                                   .magic = PTX_TENSOR_MAP_MAGIC,
                                   .type = PTX_TENSOR_U8,
                                   .rank = 1,
                                   .step = {1},
                                   .size = {256},
                                   .box = {16}};
    m = dev_parse(text);
    memset(box, 0xaa, 64);
    CHECK_EQ_INT(
        dev_run(m, &(struct dev_launch){.kernel = "k", .grid = 4, .block = 1, .cluster = {4, 1, 1}},
                (uint64_t[]){PTR(map), PTR(box)}, 2),
        PTX_OK);
    for (unsigned k = 0; k < 4; k++) {
        static const uint8_t zeros[16];
        CHECK_EQ_MEM(box + 16 * (size_t)k, k == 1 && !pairs ? zeros : tensor + 1024 + 16, 16);
    }
    ptx_module_destroy(m);
}

/* ---- maps that kernels change ---- */

/* Every field, in shared memory; then the map goes to global memory and is used. */
static void test_replace(void)
{
    static const char instruction[] =
        "mov.u64 %d8, %d1; mov.u32 %r10, 0; mov.u32 %r13, 0;\n"
        "{ .shared .align 128 .b8 m[128]; mov.u32 %r13, m;\n"
        "C: add.u32 %r11, %r13, %r10; cvt.u64.u32 %d4, %r10; add.u64 %d4, %d4, %d1;\n"
        "ld.global.u32 %r12, [%d4]; st.shared.u32 [%r11], %r12; add.u32 %r10, %r10, 4;\n"
        "setp.lt.u32 %p1, %r10, 128; @%p1 bra C;\n"
        "ld.global.u64 %d5, [%d3+32]; ld.global.u64 %d6, [%d3+40];\n"
        "tensormap.replace.tile.global_address.shared::cta.b1024.b64 [m], %d5;\n"
        "tensormap.replace.tile.rank.shared::cta.b1024.b32 [m], 1;\n"
        "tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [m], 0, 8;\n"
        "tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [m], 1, 4;\n"
        "tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [m], 0, 20;\n"
        "tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [m], 1, 3;\n"
        "tensormap.replace.tile.global_stride.shared::cta.b1024.b64 [m], 0, %d6;\n"
        "tensormap.replace.tile.element_stride.shared::cta.b1024.b32 [m], 0, 1;\n"
        "tensormap.replace.tile.element_stride.shared::cta.b1024.b32 [m], 1, 2;\n"
        "tensormap.replace.tile.elemtype.shared::cta.b1024.b32 [m], 6;\n"
        "tensormap.replace.tile.interleave_layout.shared::cta.b1024.b32 [m], 0;\n"
        "tensormap.replace.tile.swizzle_mode.shared::cta.b1024.b32 [m], 3;\n"
        "tensormap.replace.tile.swizzle_atomicity.shared::cta.b1024.b32 [m], 3;\n"
        "tensormap.replace.tile.fill_mode.shared::cta.b1024.b32 [m], 1;\n"
        "cvta.shared.u64 %d7, %d7;\n"
        "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned "
        "[%d1], [m], 128;\n"
        "fence.proxy.tensormap::generic.acquire.gpu [%d1], 128; }\n"
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes "
        "[%r1], [%d1, {%r2,%r3}], [bar];";
    const struct ptx_tensor_map wish = {.address = PTR(tensor) + 2048,
                                        .magic = PTX_TENSOR_MAP_MAGIC,
                                        .type = PTX_TENSOR_F16,
                                        .rank = 2,
                                        .step = {1, 2},
                                        .size = {20, 3},
                                        .stride = {96},
                                        .box = {8, 4},
                                        .swizzle = PTX_TENSOR_128,
                                        .atom = PTX_TENSOR_ATOM_64,
                                        .fills_nan = 1};

    memset(map, 0, sizeof(*map));
    map->magic = PTX_TENSOR_MAP_MAGIC;
    operands[0] = 16;
    operands[1] = 1;
    memcpy(operands + 8, &wish.address, 8);
    memcpy(operands + 10, &wish.stride[0], 8);
    memset(box, 0, 32);
    CHECK_EQ_INT(run_kernel("sm_100a", instruction, 0, true, 32), PTX_OK);
    CHECK_EQ_MEM(map, &wish, sizeof(wish));
    for (unsigned e = 0; e < 16; e++) {
        unsigned y = 1 + 2 * (e / 8);
        uint16_t got, right = 0x7fff;
        memcpy(&got, box + 2 * (size_t)e, 2);
        if (y < 3 && e % 8 < 4)
            memcpy(&right, tensor + 2048 + 96 * (size_t)y + 2 * (16 + e % 8), 2);
        CHECK_EQ_INT(got, right);
    }
}

/* ---- refusals ---- */

static void test_faults(void)
{
    static const char load[] = "cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_"
                               "tx::bytes [%r1], [%d1, {%r2}], [bar];";
    static const struct {
        unsigned skip;
        enum ptx_fault_kind kind;
    } cases[] = {{64, PTX_FAULT_MISALIGNED}, {128 << 10, PTX_FAULT_ADDRESS}};
    const struct ptx_tensor_map good = {.address = PTR(tensor),
                                        .magic = PTX_TENSOR_MAP_MAGIC,
                                        .type = PTX_TENSOR_U8,
                                        .rank = 1,
                                        .step = {1},
                                        .size = {256},
                                        .box = {16}};

    operands[0] = 0;
    *map = good;
    for (unsigned k = 0; k < 2; k++) {
        char text[1024];
        snprintf(text, sizeof(text), "add.u32 %%r1, %%r1, %u;\n%s", cases[k].skip, load);
        CHECK(run_kernel("sm_90", text, 0, true, 16) != PTX_OK);
        CHECK_EQ_INT(dev_fault.kind, cases[k].kind);
    }
    map->address = 64;
    CHECK(run_kernel("sm_90", load, 0, true, 16) != PTX_OK);
    CHECK_EQ_INT(dev_fault.kind, PTX_FAULT_ADDRESS);
    for (unsigned k = 0; k < 8; k++) { /* no map, or not one for this copy */
        *map = good;
        map->magic ^= k == 0;
        map->type = k == 1 ? 16 : map->type;
        map->rank = k == 2 ? 2 : k == 3 ? 200 : map->rank;
        map->swizzle = k == 4 ? 5 : 0;
        map->mode = k == 5;
        map->interleave = k == 6;
        map->box[0] = k == 7 ? 0 : 16;
        CHECK(run_kernel("sm_90", load, 0, true, 16) != PTX_OK);
        if (!CHECK_EQ_INT(dev_fault.kind, PTX_FAULT_TENSOR_MAP))
            fprintf(stderr, "case %u\n", k);
    }
    *map = good;
    CHECK(
        run_kernel("sm_90",
                   "cp.reduce.async.bulk.tensor.1d.global.shared::cta.add.bulk_group [%d1, {%r2}], "
                   "[%r1];",
                   0, false, 16) != PTX_OK);
    CHECK_EQ_INT(dev_fault.kind, PTX_FAULT_TENSOR_MAP);
}

/* A prefetch changes nothing. */
static void test_prefetch(void)
{
    memset(map, 0, sizeof(*map));
    CHECK_EQ_INT(
        run_kernel("sm_90",
                   "cp.async.bulk.prefetch.tensor.2d.L2.global.tile [%d1, {%r2,%r3}];\n"
                   "cp.async.bulk.prefetch.tensor.3d.L2.global.im2col.L2::cache_hint [%d1, "
                   "{%r2,%r3,%r4}], {%h1}, %d4;",
                   0, false, 16),
        PTX_OK);
}

int main(void)
{
    tensor = dev_alloc(TENSOR_SIZE);
    box = dev_alloc(BOX_SIZE);
    map = dev_alloc(128);
    operands = dev_alloc(64);
    before = malloc(TENSOR_SIZE);
    wanted = malloc(TENSOR_SIZE);
    draw_bytes(tensor, TENSOR_SIZE);
    for (unsigned k = 0; k < 120; k++)
        test_load(k);
    for (unsigned k = 0; k < 60; k++)
        test_store(k);
    for (unsigned k = 0; k < 60; k++)
        test_im2col(k);
    test_reduce();
    test_reduce_floats();
    test_rounding();
    test_small();
    test_rows(false);
    test_rows(true);
    test_multicast(false);
    test_multicast(true);
    test_replace();
    test_prefetch();
    test_faults();
    free(before);
    free(wanted);
    return check_result();
}
