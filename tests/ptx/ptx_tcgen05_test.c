/* SPDX-License-Identifier: Apache-2.0
 *
 * tcgen05: what goes in and out of tensor memory, and products of every kind, shape and layout, in
 * one block or a pair. Each kernel fills all of tensor memory before, and gives all of it back, so
 * that what must not change is seen, too.
 */
#include "tests/ptx/ptx_harness.h"
#include "tests/ptx/ptx_layout.h"
#include "tests/ptx/ptx_tensor_memory.h"
#include "tests/unit/check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- ld and st: the figures of the manual, cell by cell ---- */

struct shape {
    const char *name;
    unsigned registers, lanes, columns; /* that x1 covers */
};

static const struct shape shapes[] = {{"32x32b", 1, 32, 1},
                                      {"16x64b", 1, 16, 2},
                                      {"16x128b", 2, 16, 4},
                                      {"16x256b", 4, 16, 8},
                                      {"16x32bx2", 1, 16, 1}};

/* Which thread and register have a cell of the first repetition. */
static void owner(unsigned shape, unsigned lane, unsigned column, unsigned *thread, unsigned *reg)
{
    switch (shape) {
    case 0:
        *thread = lane;
        *reg = 0;
        break;
    case 1: /* rows 0 to 7: even threads; column by pairs of threads */
        *thread = lane % 8 * 4 + column * 2 + lane / 8;
        *reg = 0;
        break;
    case 2:
        *thread = lane % 8 * 4 + column;
        *reg = lane / 8;
        break;
    case 3:
        *thread = lane % 8 * 4 + column / 2;
        *reg = column % 2 + lane / 8 * 2;
        break;
    default:
        *thread = lane;
        *reg = 0;
        break;
    }
}

static void test_move(unsigned shape, unsigned repeat, bool packs, bool stores)
{
    const struct shape *s = &shapes[shape];
    unsigned count = s->registers * repeat;
    unsigned start = 40;
    unsigned split = shape == 4 ? 200 : 0;
    unsigned upper = s->lanes == 16 && repeat % 4 == 2 ? 16 : 0;
    char warp[16384], thread[] = "";
    size_t used = append(warp, "add.u32 %%r12, %%r20, %u;\n", start | upper << 16);

    for (unsigned k = 0; k < count && stores; k++)
        used += append(warp + used, "ld.global.b32 %%q%u, [%%d3+%u];\n", k, 4 * k);
    used +=
        append(warp + used, "tcgen05.%s.sync.aligned.%s.x%u%s.b32 ", stores ? "st" : "ld",
                        s->name, repeat, packs ? (stores ? ".unpack::16b" : ".pack::16b") : "");
    if (!stores)
        used += list(warp + used, 0, count);
    used += append(warp + used, stores ? "[%%r12]" : ", [%%r12]");
    if (split)
        used += append(warp + used, ", %u", split);
    if (stores) {
        used += append(warp + used, ", ");
        used += list(warp + used, 0, count);
    }
    used +=
        append(warp + used, ";\ntcgen05.wait::%s.sync.aligned;\n", stores ? "st" : "ld");
    for (unsigned k = 0; k < count && !stores; k++)
        used += append(warp + used, "st.global.b32 [%%d3+%u], %%q%u;\n", 4 * k, k);
    draw_cells();
    for (unsigned k = 0; k < 128 * 128; k++)
        words[k] = draw();
    memcpy(wanted, cells, sizeof(*cells));
    static uint32_t kept[128 * 128];
    memcpy(kept, words, sizeof(kept));
    bool right = run_kernel(1, warp, thread);
    for (unsigned w = 0; w < 4; w++)
        for (unsigned half = 0; half < (split ? 2u : 1u); half++)
            for (unsigned lane = 0; lane < s->lanes; lane++)
                for (unsigned c = 0; c < s->columns * repeat; c++) {
                    unsigned t, r;
                    owner(shape, lane, c % s->columns, &t, &r);
                    r += c / s->columns * s->registers;
                    uint32_t *word = &kept[(w * 32 + t + half * 16) * 128 + r];
                    unsigned column = start + half * split + c * (packs ? 2 : 1);
                    uint32_t *cell = &wanted[0][column][w * 32 + upper + lane];
                    uint32_t *next = &wanted[0][column + 1][w * 32 + upper + lane];
                    if (stores) {
                        *cell = packs ? *word & 0xffff : *word;
                        if (packs)
                            *next = *word >> 16;
                    } else {
                        *word = packs ? (*cell & 0xffff) | *next << 16 : *cell;
                    }
                }
    right = right && check_cells(1, "move") && CHECK_EQ_MEM(words, kept, sizeof(kept));
    if (!right)
        fprintf(stderr, "%s %s x%u %s\n", stores ? "st" : "ld", s->name, repeat,
                packs ? "packed" : "");
}

static void test_moves(void)
{
    for (unsigned shape = 0; shape < 5; shape++)
        for (unsigned repeat = 1; repeat * shapes[shape].registers <= 128; repeat *= 2)
            for (unsigned form = 0; form < 4; form++)
                if (repeat * shapes[shape].columns * (form & 1 ? 2 : 1) <= 200 + 56 * (shape != 4))
                    test_move(shape, repeat, form & 1, form & 2);
}

/* ---- cp and shift ---- */

static void test_fill(void)
{
    static const struct {
        const char *name;
        unsigned rows, columns;
        unsigned from[4];
    } forms[] = {{"128x256b", 128, 8, {0, 1, 2, 3}},
                 {"128x128b", 128, 4, {0, 1, 2, 3}},
                 {"64x128b.warpx2::02_13", 64, 4, {0, 1, 0, 1}},
                 {"64x128b.warpx2::01_23", 64, 4, {0, 0, 1, 1}},
                 {"32x128b.warpx4", 32, 4, {0, 0, 0, 0}}};

    for (unsigned k = 0; k < 10; k++) {
        unsigned group = 1 + k / 5;
        struct layout l = {.bits = 32, .unit = 32, .width = k == 0 ? 32 : 16};
        char thread[128];
        layout_set_strides(&l, 128);
        draw_cells();
        memcpy(wanted, cells, 2 * sizeof(*cells));
        for (unsigned b = 0; b < group; b++)
            for (unsigned row = 0; row < forms[k % 5].rows; row++)
                for (unsigned c = 0; c < forms[k % 5].columns; c++) {
                    uint32_t v = draw();
                    layout_put(&l, images[b], 0, row, c, v);
                    for (unsigned q = 0; q < 4; q++)
                        if (forms[k % 5].from[q] == row / 32)
                            wanted[b][70 + c][q * 32 + row % 32] = v;
                }
        operands[0] = (uint64_t)(l.leading / 16) << 16 | (uint64_t)(l.stride / 16) << 32 |
                      1ull << 46 | (l.width == 32 ? 6ull << 61 : 0);
        snprintf(thread, sizeof(thread), "tcgen05.cp.cta_group::%u.%s [%%r20+70], %%d5;", group,
                 forms[k % 5].name);
        if (!run_kernel(group, "", thread) || !check_cells(group, "cp"))
            fprintf(stderr, "%s\n", thread);
    }
}

static void test_shift(void)
{
    draw_cells();
    memcpy(wanted, cells, sizeof(*cells));
    for (unsigned c = 0; c < 8; c++)
        for (unsigned l = 1; l < 32; l++)
            wanted[0][64 + c][32 + l] = cells[0][64 + c][32 + l - 1];
    run_kernel(1, "", "add.u32 %r12, %r20, 0x200040; tcgen05.shift.cta_group::1.down [%r12];");
    check_cells(1, "shift");
}

/* ---- products ---- */

struct product {
    const char *kind;
    enum layout_kind a, b;
    char d; /* f: f32, h: f16, s: s32 */
    unsigned m, n, group;
    unsigned width_a, width_b; /* 16: not swizzled */
    bool a_transposed, b_transposed;
    bool a_negated, b_negated;
    bool a_in_memory; /* tensor memory */
    bool is_stationary;
    bool ignores_d;
    bool masks;
    unsigned shrink;
    unsigned scales; /* of a row */
    unsigned scale_id;
    bool short_scales;
    unsigned row_base; /* 16: the upper halves of the quarters */
};

static int8_t full_a[256][64], full_b[256][64];

static unsigned bits_of(enum layout_kind kind)
{
    static const uint8_t bits[] = {
        [L_F16] = 16, [L_BF16] = 16, [L_TF32] = 32, [L_E4M3] = 8, [L_E5M2] = 8,
        [L_E2M3] = 6, [L_E3M2] = 6,  [L_E2M1] = 4,  [L_S8] = 8,   [L_U8] = 8};

    return bits[kind];
}

static unsigned unit_of(const struct product *p)
{
    unsigned bits = bits_of(p->a);

    return strncmp(p->kind, "mxf4", 4) == 0 ? 4 : bits < 8 ? 8 : bits;
}

static unsigned depth_of(const struct product *p)
{
    return 256 / unit_of(p);
}

static uint32_t descriptor_of(const struct product *p)
{
    static const uint8_t codes[] = {
        [L_F16] = 0,  [L_BF16] = 1, [L_TF32] = 2, [L_E4M3] = 0, [L_E5M2] = 1,
        [L_E2M3] = 3, [L_E3M2] = 4, [L_E2M1] = 5, [L_S8] = 1,   [L_U8] = 0};
    bool four = unit_of(p) == 4;
    uint32_t common = (uint32_t)(four ? 1 : codes[p->a]) << 7 |
                      (uint32_t)(four ? 1 : codes[p->b]) << 10 | (uint32_t)p->a_negated << 13 |
                      (uint32_t)p->b_negated << 14 | (uint32_t)p->a_transposed << 15 |
                      (uint32_t)p->b_transposed << 16 | p->n / 8 << 17;

    if (p->scales)
        return common | p->scale_id << 4 | (uint32_t)!p->short_scales << 23 | p->m / 128 << 27 |
               p->scale_id << 29;
    return common | (p->d == 'f' ? 1u : p->d == 's' ? 2u : 0u) << 4 | p->m / 16 << 24;
}

static uint64_t lay_out(const struct product *p, bool is_a, unsigned block)
{
    static const uint64_t modes[] = {[1] = 0, [2] = 6, [4] = 4, [8] = 2};
    enum layout_kind kind = is_a ? p->a : p->b;
    unsigned lines = (is_a ? p->m : p->n) / p->group;
    unsigned start = is_a ? A_AT : B_AT;
    struct layout l = {.bits = bits_of(kind),
                       .unit = unit_of(p),
                       .width = is_a ? p->width_a : p->width_b,
                       .transposed = is_a ? p->a_transposed : p->b_transposed};

    l.by_32 = kind == L_TF32 && l.transposed;
    layout_set_strides(&l, lines);
    for (unsigned line = 0; line < lines; line++)
        for (unsigned k = 0; k < depth_of(p); k++)
            layout_put(&l, images[block], start, line, k,
                       layout_encode(kind, (is_a ? full_a : full_b)[block * lines + line][k]));
    return start / 16 | (uint64_t)(l.leading / 16) << 16 | (uint64_t)(l.stride / 16) << 32 |
           1ull << 46 | (l.by_32 ? 1ull : modes[l.width / 16]) << 61;
}

/* Computes where row and column of D of a block lie: the manual's layouts A to G. */
static void place(const struct product *p, unsigned row, unsigned n, unsigned *lane,
                  unsigned *column)
{
    unsigned rows = p->m / p->group;

    *lane = row;
    *column = n;
    if (p->is_stationary || (p->group == 2 && p->m == 128)) { /* columns in two or four parts */
        unsigned parts = LANES / rows;
        *lane = row + n / (p->n / parts) * rows;
        *column = n % (p->n / parts);
    } else if (rows == 64) { /* 16 lanes of each quarter */
        *lane = row / 16 * 32 + row % 16 + p->row_base;
    }
}

#define D_AT       0u
#define A_CELLS_AT 256u
#define SCALES_A   400u
#define SCALES_B   420u

static uint32_t float_bits(float v)
{
    uint32_t bits;

    memcpy(&bits, &v, 4);
    return bits;
}

/* At most 11 bits, in halves. */
static uint32_t half_bits(double v)
{
    uint32_t bits = float_bits((float)v);

    if (v == 0)
        return 0;
    return (bits >> 16 & 0x8000) | ((bits >> 23 & 0xff) - 112) << 10 | (bits >> 13 & 0x3ff);
}

static uint32_t result_bits(const struct product *p, double v)
{
    return p->d == 's' ? (uint32_t)(int32_t)v : p->d == 'h' ? half_bits(v) : float_bits((float)v);
}

static double before(unsigned row, unsigned n)
{
    return (double)((int)(row * 3 + n) % 61 - 30) * 4;
}

/* Scales are powers of two, and 1.5 times one of them in ue4m3. */
static double scale(const struct product *p, bool is_a, unsigned line, unsigned j, unsigned *code)
{
    int e = (int)((line * 7 + j * 3 + is_a) % 5) - 2;
    unsigned half = p->short_scales ? (line + j) % 2 : 0;

    *code = p->short_scales ? (unsigned)(e + 7) << 3 | half << 2 : (unsigned)(e + 127);
    return ldexp(half ? 1.5 : 1, e);
}

static void put_scales(const struct product *p, unsigned block)
{
    unsigned code;

    for (unsigned is_a = 0; is_a < 2; is_a++) {
        unsigned lines = is_a ? p->m / p->group : p->n;
        for (unsigned line = 0; line < lines; line++)
            for (unsigned j = 0; j < p->scales; j++) {
                scale(p, is_a, is_a ? block * lines + line : line, j, &code);
                for (unsigned q = 0; q < 4; q++) {
                    uint32_t *cell =
                        &cells[block][(is_a ? SCALES_A : SCALES_B) + line / 32][q * 32 + line % 32];
                    unsigned shift = 8 * (p->scale_id + j);
                    *cell = (*cell & ~(0xffu << shift)) | code << shift;
                }
            }
    }
}

static void put_a(const struct product *p, unsigned block)
{
    unsigned rows = p->m / p->group;
    unsigned unit = unit_of(p);
    unsigned lane, column;

    for (unsigned row = 0; row < rows; row++)
        for (unsigned k = 0; k < depth_of(p); k++) {
            place(p, row, 0, &lane, &column);
            uint32_t *cell = &cells[block][A_CELLS_AT + k * unit / 32][lane];
            uint64_t mask = ((1ull << unit) - 1) << k * unit % 32;
            uint32_t v = layout_encode(p->a, full_a[block * rows + row][k]);
            *cell = (*cell & ~(uint32_t)mask) | v << k * unit % 32;
        }
}

static double expected(const struct product *p, unsigned row, unsigned n)
{
    double sum = p->ignores_d ? 0 : ldexp(before(row, n), -(int)p->shrink);
    int sign = p->a_negated != p->b_negated ? -1 : 1;
    unsigned code;

    for (unsigned k = 0; k < depth_of(p); k++) {
        double v = sign * full_a[row][k] * full_b[n][k];
        if (p->scales) {
            unsigned j = k / (depth_of(p) / p->scales);
            v *= scale(p, true, row, j, &code) * scale(p, false, n, j, &code);
        }
        sum += v;
    }
    return sum;
}

static bool is_masked(const struct product *p, unsigned block, unsigned lane)
{
    return p->masks && (((uint32_t *)(operands + 2))[1 + block] >> lane % 32 & 1);
}

static void write_product(const struct product *p, char *out)
{
    size_t used = append(out, "add.u32 %%r12, %%r20, %u; add.u32 %%r13, %%r20, %u;\n",
                                  D_AT | p->row_base << 16, A_CELLS_AT | p->row_base << 16);

    used += append(out + used, "add.u32 %%r14, %%r20, %u; add.u32 %%r15, %%r20, %u;\n",
                            SCALES_A, SCALES_B);
    used += append(out + used, "tcgen05.mma%s.cta_group::%u.kind::%s",
                            p->is_stationary ? ".ws" : "", p->group, p->kind);
    if (p->scales)
        used += append(out + used, ".block_scale.scale_vec::%uX", p->scales);
    used += append(out + used, "%s [%%r12], %s, %%d6, %%r21",
                            p->is_stationary ? ".collector::b1::fill" : ".collector::a::discard",
                            p->a_in_memory ? "[%r13]" : "%d5");
    if (p->scales)
        used += append(out + used, ", [%%r14], [%%r15]");
    if (p->masks)
        used += append(out + used, p->group == 1 ? ", {%%r22,%%r22,%%r22,%%r22}"
                                                          : ", {%%r22,%%r22,%%r22,%%r22,%%r23,"
                                                            "%%r23,%%r23,%%r23}");
    used += append(out + used, ", %%p3");
    if (p->shrink)
        used += append(out + used, ", %u", p->shrink);
    append(out + used, ";\n");
}

static bool try_product(const struct product *p)
{
    char thread[1024];
    unsigned rows = p->m / p->group;
    unsigned lane, column;

    for (unsigned r = 0; r < 256; r++)
        for (unsigned k = 0; k < 64; k++) {
            full_a[r][k] = (int8_t)(p->a == L_U8 ? draw() % 4 : draw() % 7 - 3);
            full_b[r][k] = (int8_t)(p->b == L_U8 ? draw() % 4 : draw() % 7 - 3);
        }
    draw_cells();
    memset(images, 0xee, 2 * sizeof(*images));
    for (unsigned b = 0; b < p->group; b++) {
        operands[0] = lay_out(p, true, b);
        operands[1] = lay_out(p, false, b);
        if (p->a_in_memory)
            put_a(p, b);
        if (p->scales)
            put_scales(p, b);
        for (unsigned row = 0; row < rows; row++)
            for (unsigned n = 0; n < p->n; n++) {
                place(p, row, n, &lane, &column);
                cells[b][column][lane] = result_bits(p, before(b * rows + row, n));
            }
    }
    uint32_t *w = (uint32_t *)(operands + 2);
    w[0] = descriptor_of(p);
    w[1] = 0xf00f1234;
    w[2] = 0x0ff05678;
    w[7] = !p->ignores_d;
    memcpy(wanted, cells, 2 * sizeof(*cells));
    for (unsigned b = 0; b < p->group; b++)
        for (unsigned row = 0; row < rows; row++)
            for (unsigned n = 0; n < p->n; n++) {
                place(p, row, n, &lane, &column);
                if (!is_masked(p, b, lane))
                    wanted[b][column][lane] = result_bits(p, expected(p, b * rows + row, n));
            }
    write_product(p, thread);
    bool right = run_kernel(p->group, "", thread) && check_cells(p->group, "mma");
    if (!right)
        fprintf(stderr, "m %u n %u types %d %d %c widths %u %u: %s", p->m, p->n, p->a, p->b, p->d,
                p->width_a, p->width_b, thread);
    return right;
}

static const unsigned widths[] = {16, 32, 64, 128};

static void test_kinds(void)
{
    static const struct product kinds[] = {
        {.kind = "f16", .a = L_F16, .b = L_F16, .d = 'f'},
        {.kind = "f16", .a = L_F16, .b = L_F16, .d = 'h'},
        {.kind = "f16", .a = L_BF16, .b = L_BF16, .d = 'f'},
        {.kind = "tf32", .a = L_TF32, .b = L_TF32, .d = 'f'},
        {.kind = "f8f6f4", .a = L_E4M3, .b = L_E5M2, .d = 'f'},
        {.kind = "f8f6f4", .a = L_E5M2, .b = L_E2M3, .d = 'h'},
        {.kind = "f8f6f4", .a = L_E3M2, .b = L_E2M1, .d = 'f'},
        {.kind = "i8", .a = L_S8, .b = L_U8, .d = 's'},
    };
    static const struct {
        unsigned m, n, group;
        bool is_stationary;
        unsigned row_base;
    } shapes_of[] = {{128, 32, 1, false, 0}, {64, 16, 1, false, 0},   {64, 64, 1, false, 16},
                     {256, 64, 2, false, 0}, {128, 128, 2, false, 0}, {32, 64, 1, true, 0},
                     {64, 128, 1, true, 0},  {128, 64, 1, true, 0}};

    for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++)
        for (size_t s = 0; s < sizeof(shapes_of) / sizeof(shapes_of[0]); s++) {
            struct product p = kinds[k];
            p.m = shapes_of[s].m;
            p.n = shapes_of[s].n;
            p.group = shapes_of[s].group;
            p.is_stationary = shapes_of[s].is_stationary;
            p.row_base = shapes_of[s].row_base;
            p.width_a = widths[(k + s) % 4];
            p.width_b = widths[(k / 4 + s) % 4];
            p.a_in_memory = s % 2 && bits_of(p.a) >= 8 && !p.is_stationary;
            p.ignores_d = (k + s) % 3 == 0;
            if (!try_product(&p))
                return;
        }
}

static void test_orders(void)
{
    static const struct product kinds[] = {
        {.kind = "f16", .a = L_F16, .b = L_F16, .d = 'f'},
        {.kind = "f8f6f4", .a = L_E4M3, .b = L_E4M3, .d = 'f'},
        {.kind = "tf32", .a = L_TF32, .b = L_TF32, .d = 'f'},
    };

    for (size_t k = 0; k < 3; k++)
        for (unsigned form = 0; form < 16; form++) {
            struct product p = kinds[k];
            p.m = form & 1 ? 128 : 64;
            p.n = 64;
            p.group = 1;
            p.a_transposed = form & 2 || k == 2;
            p.b_transposed = form & 4;
            p.width_a = k == 2 ? 128 : widths[form / 4];
            p.width_b = k == 2 && p.b_transposed ? 128 : widths[3 - form / 4];
            p.a_negated = form & 8;
            p.b_negated = form % 3 == 0;
            if (!try_product(&p))
                return;
        }
}

static void test_scales(void)
{
    static const struct product kinds[] = {
        {.kind = "mxf8f6f4", .a = L_E4M3, .b = L_E2M1, .scales = 1, .scale_id = 3},
        {.kind = "mxf8f6f4", .a = L_E2M3, .b = L_E5M2, .scales = 1, .scale_id = 0},
        {.kind = "mxf4", .a = L_E2M1, .b = L_E2M1, .scales = 2, .scale_id = 2},
        {.kind = "mxf4nvf4", .a = L_E2M1, .b = L_E2M1, .scales = 2, .scale_id = 0},
        {.kind = "mxf4nvf4", .a = L_E2M1, .b = L_E2M1, .scales = 4},
        {.kind = "mxf4nvf4", .a = L_E2M1, .b = L_E2M1, .scales = 4, .short_scales = true},
    };

    for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++)
        for (unsigned group = 1; group < 3; group++) {
            struct product p = kinds[k];
            p.d = 'f';
            p.group = group;
            p.m = 128 * group;
            p.n = group == 1 ? 72 : 160;
            p.width_a = p.width_b = widths[k % 4];
            p.a_in_memory = k == 4;
            if (!try_product(&p))
                return;
        }
}

static void test_options(void)
{
    struct product p = {.kind = "f16",
                        .a = L_F16,
                        .b = L_F16,
                        .d = 'f',
                        .m = 128,
                        .n = 256,
                        .group = 1,
                        .width_a = 128,
                        .width_b = 128,
                        .shrink = 2};

    try_product(&p);
    p.masks = true;
    p.shrink = 0;
    try_product(&p);
    p.m = 256;
    p.group = 2;
    try_product(&p);
}

/* ---- what is refused ---- */

/* The instruction of one warp, with tensor memory of 32 columns at 0. */
static enum ptx_fault_kind fault_of(const char *instruction)
{
    char text[2048];
    struct ptx_module *m;

    snprintf(text, sizeof(text),
             ".version 8.6\n.target sm_100a\n.address_size 64\n.shared .b32 at;\n"
             ".visible .entry k() {\n.reg .b32 %%r<9>; .reg .b64 %%d<4>; .reg .pred %%p;\n"
             "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [at], 32;\n"
             "ld.shared.u32 %%r1, [at];\n%s\nret;\n}\n",
             instruction);
    m = dev_parse(text);
    int status = DEV_RUN(m, "k", 1, 32);
    ptx_module_destroy(m);
    return status == PTX_OK ? PTX_FAULT_NONE : dev_fault.kind;
}

static void test_faults(void)
{
    static const struct {
        const char *line;
        enum ptx_fault_kind kind;
    } cases[] = {
        {"tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r2}, [%r1+31];", PTX_FAULT_NONE},
        {"tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r2}, [%r1+32];", PTX_FAULT_TENSOR_MEMORY},
        {"tcgen05.ld.sync.aligned.32x32b.x2.b32 {%r2,%r3}, [%r1+31];", PTX_FAULT_TENSOR_MEMORY},
        {"add.u32 %r1, %r1, 0x200000; tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r2}, [%r1];",
         PTX_FAULT_TENSOR_MEMORY},
        {"tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r1, 64;", PTX_FAULT_TENSOR_MEMORY},
        {"tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r1, 32; "
         "tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r1, 32;",
         PTX_FAULT_TENSOR_MEMORY},
        {"tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [at], 33;", PTX_FAULT_DESCRIPTOR},
        {"tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned; "
         "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [at], 32;",
         PTX_FAULT_DESCRIPTOR},
        {"mov.u64 %d1, 0; setp.eq.u32 %p, 0, 0; tcgen05.mma.cta_group::1.kind::f16 [%r1], %d1, "
         "%d1, "
         "0, %p;",
         PTX_FAULT_DESCRIPTOR},
        {"mov.u64 %d1, 0x6000000000000000; setp.eq.u32 %p, 0, 0; "
         "tcgen05.mma.cta_group::1.kind::f16 [%r1], %d1, %d1, 0x8080010, %p;",
         PTX_FAULT_DESCRIPTOR},
        {"mov.u64 %d1, 0x4000; setp.eq.u32 %p, 0, 0; tcgen05.mma.cta_group::1.kind::f16 [%r1], "
         "%d1, "
         "%d1, 0x8080010, %p;",
         PTX_FAULT_ADDRESS},
        {"mov.u64 %d1, 0; setp.eq.u32 %p, 0, 0; tcgen05.mma.cta_group::2.kind::f16 [%r1], %d1, "
         "%d1, "
         "0x10100010, %p;",
         PTX_FAULT_TENSOR_MEMORY},
    };

    for (size_t k = 0; k < sizeof(cases) / sizeof(cases[0]); k++)
        if (!CHECK_EQ_INT(fault_of(cases[k].line), cases[k].kind))
            fprintf(stderr, "%s\n", cases[k].line);
}

/* An allocation waits until another warp has given enough back. */
static void test_waiting(void)
{
    static const char text[] =
        ".version 8.6\n.target sm_100a\n.address_size 64\n.shared .b32 at[2];\n"
        ".visible .entry k(.param .u64 out) {\n.reg .b32 %r<9>; .reg .b64 %d<4>; .reg .pred %p;\n"
        "ld.param.u64 %d1, [out]; mov.u32 %r1, %tid.x; setp.ge.u32 %p, %r1, 32;\n"
        "@%p bra SECOND;\n"
        "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [at], 512; bar.sync 0;\n"
        "mov.u32 %r3, 0;\nL: add.u32 %r3, %r3, 1; setp.lt.u32 %p, %r3, 9000; @%p bra L;\n"
        "ld.shared.u32 %r2, [at]; st.shared.u32 [at+4], 77;\n"
        "tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r2, 512; ret;\n"
        "SECOND: bar.sync 0; tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [at], 256;\n"
        "ld.shared.u32 %r2, [at+4]; st.global.u32 [%d1], %r2; ret;\n}\n";
    struct ptx_module *m = dev_parse(text);
    uint32_t *out = dev_alloc(4);

    CHECK_EQ_INT(DEV_RUN(m, "k", 1, 64, PTR(out)), PTX_OK);
    CHECK_EQ_INT(*out, 77);
    ptx_module_destroy(m);
}

static void test_refused(void)
{
    static const struct {
        const char *target, *line;
    } lines[] = {
        {"sm_100", "tcgen05.wait::ld.sync.aligned;"},
        {"sm_100a", "tcgen05.wait::ld.sync;"},
        {"sm_100a", "tcgen05.ld.sync.aligned.32x32b.x2.b32 {%r1}, [%r1];"},
        {"sm_100a", "tcgen05.ld.sync.aligned.16x256b.x64.b32 {%r1}, [%r1];"},
        {"sm_100a", "tcgen05.cp.cta_group::1.64x128b [%r1], %d1;"},
        {"sm_100a", "tcgen05.mma.cta_group::1.kind::f16.block_scale [%r1], %d1, %d1, %r1, %p;"},
        {"sm_100a", "tcgen05.mma.cta_group::1.kind::i8 [%r1], %d1, %d1, %r1, %p, 3;"},
        {"sm_100a", "tcgen05.mma.cta_group::1.kind::mxf4nvf4.block_scale [%r1], %d1, %d1, %r1, "
                    "[%r1], [%r1], %p;"},
        {"sm_100a", "tcgen05.mma.sp.cta_group::1.kind::f16 [%r1], %d1, %d1, [%r1], %r1, %p;"},
        {"sm_100a", "tcgen05.mma.ws.cta_group::2.kind::f16 [%r1], %d1, %d1, %r1, %p;"},
        {"sm_100a", "tcgen05.mma.cta_group::1.kind::f16 [%r1], %d1, %d1, %r1, {%r1,%r1}, %p;"},
    };

    for (size_t k = 0; k < sizeof(lines) / sizeof(lines[0]); k++) {
        char text[512];
        snprintf(text, sizeof(text),
                 ".version 8.8\n.target %s\n.address_size 64\n.visible .entry k() {\n"
                 ".reg .b32 %%r<3>; .reg .b64 %%d<3>; .reg .pred %%p;\n%s\nret; }\n",
                 lines[k].target, lines[k].line);
        if (!CHECK(dev_try(text) != PTX_OK) || !CHECK(strstr(dev_log, "line 6;")) ||
            !CHECK(strstr(dev_log, "tcgen05")))
            fprintf(stderr, "%s: %s\n", lines[k].line, dev_log);
    }
}

int main(void)
{
    dev_target = 100;
    cells = dev_alloc(2 * sizeof(*cells));
    wanted = malloc(2 * sizeof(*wanted));
    images = dev_alloc(2 * sizeof(*images));
    operands = dev_alloc(64);
    words = dev_alloc(128 * 512);
    test_moves();
    test_fill();
    test_shift();
    test_kinds();
    test_orders();
    test_scales();
    test_options();
    test_faults();
    test_waiting();
    test_refused();
    free(wanted);
    return check_result();
}
