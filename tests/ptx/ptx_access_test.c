/* SPDX-License-Identifier: Apache-2.0
 *
 * Loads and stores of a warp, whatever its lanes' addresses look like: side by side, all the same,
 * scattered, some lanes missing; every type in memory with every register that can hold it, and
 * vectors; against the same copy made here lane by lane.
 */
#include "tests/ptx/ptx_harness.h"
#include "tests/unit/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LANES = 32, BYTES = 4096, LANE_BYTES = 64 };

static const struct access {
    const char *type;
    unsigned size; /* in memory */
    bool is_signed;
    unsigned reg;
    unsigned count;
} accesses[] = {
    {"u8", 1, false, 16, 1},  {"u8", 1, false, 32, 1},  {"u8", 1, false, 64, 1},
    {"s8", 1, true, 16, 1},   {"s8", 1, true, 32, 1},   {"s8", 1, true, 64, 1},
    {"u16", 2, false, 16, 1}, {"u16", 2, false, 32, 1}, {"u16", 2, false, 64, 1},
    {"s16", 2, true, 16, 1},  {"s16", 2, true, 32, 1},  {"s16", 2, true, 64, 1},
    {"u32", 4, false, 32, 1}, {"u32", 4, false, 64, 1}, {"s32", 4, true, 32, 1},
    {"s32", 4, true, 64, 1},  {"u64", 8, false, 64, 1}, {"s64", 8, true, 64, 1},
    {"b8", 1, false, 32, 4},  {"s8", 1, true, 32, 2},   {"u16", 2, false, 16, 4},
    {"b32", 4, false, 32, 2}, {"b32", 4, false, 32, 4}, {"b64", 8, false, 64, 2},
};

static const uint32_t masks[] = {0xffffffffu, 0x0fff0ff1u, 0x80000000u, 0x80000001u, 0x7fu, 4u};

/* ---- the kernel ---- */

static char *append(char *at, const char *text)
{
    size_t size = strlen(text);

    memcpy(at, text, size + 1);
    return at + size;
}

static char *append_registers(char *at, unsigned count)
{
    if (count == 1)
        return append(at, "%v0");
    at += sprintf(at, "{");
    for (unsigned k = 0; k < count; k++)
        at += sprintf(at, "%s%%v%u", k ? ", " : "", k);
    return append(at, "}");
}

/* Each lane: its registers from in + 64 * lane, load or store at memory + at[lane], registers to
 * out + 64 * lane. In shared memory the first 32 lanes copy the 4096 bytes there and back. */
static void write_kernel(char *at, const struct access *a, bool is_store, bool is_shared)
{
    const char *space = is_shared ? "shared" : "global";
    char vector[16] = "";

    if (a->count > 1)
        sprintf(vector, ".v%u", a->count);
    at = append(at, ".version 6.0\n.target sm_70\n.address_size 64\n"
                    ".visible .entry k(.param .u64 in, .param .u64 out, .param .u64 at,"
                    " .param .u64 memory, .param .u32 mask)\n{\n"
                    ".shared .align 16 .b8 s[4096];\n"
                    ".reg .pred %p; .reg .b32 %r<9>; .reg .b64 %d<12>;\n");
    at += sprintf(at, ".reg .b%u %%v<4>;\n", a->reg);
    at = append(at, "ld.param.u64 %d0, [in];\nld.param.u64 %d1, [out];\nld.param.u64 %d2, [at];\n"
                    "ld.param.u64 %d3, [memory];\nld.param.u32 %r0, [mask];\n"
                    "mov.u32 %r1, %tid.x;\nmul.wide.u32 %d4, %r1, 64;\nadd.u64 %d5, %d0, %d4;\n"
                    "add.u64 %d6, %d1, %d4;\nmul.wide.u32 %d7, %r1, 4;\nadd.u64 %d7, %d2, %d7;\n"
                    "ld.global.u32 %r2, [%d7];\nshr.u32 %r3, %r0, %r1;\nand.b32 %r3, %r3, 1;\n"
                    "setp.ne.u32 %p, %r3, 0;\n"
                    "mov.u32 %r4, s;\nmul.lo.u32 %r5, %r1, 128;\nadd.u32 %r5, %r4, %r5;\n"
                    "cvt.u64.u32 %d8, %r1;\nmul.lo.u64 %d8, %d8, 128;\nadd.u64 %d8, %d3, %d8;\n");
    for (unsigned k = 0; is_shared && k < 16; k++)
        at += sprintf(at, "ld.global.u64 %%d9, [%%d8+%u];\nst.shared.u64 [%%r5+%u], %%d9;\n", 8 * k,
                      8 * k);
    at = append(at, "bar.sync 0;\nadd.u32 %r4, %r4, %r2;\ncvt.u64.u32 %d10, %r2;\n"
                    "add.u64 %d10, %d3, %d10;\n");
    for (unsigned k = 0; k < a->count; k++)
        at += sprintf(at, "ld.global.b%u %%v%u, [%%d5+%u];\n", a->reg, k, 8 * k);
    const char *address = is_shared ? "%r4" : "%d10";
    at += sprintf(at, "@%%p %s.%s%s.%s ", is_store ? "st" : "ld", space, vector, a->type);
    if (is_store) {
        at += sprintf(at, "[%s], ", address);
        at = append_registers(at, a->count);
    } else {
        at = append_registers(at, a->count);
        at += sprintf(at, ", [%s]", address);
    }
    at = append(at, ";\nbar.sync 0;\n");
    for (unsigned k = 0; k < a->count; k++)
        at += sprintf(at, "st.global.b%u [%%d6+%u], %%v%u;\n", a->reg, 8 * k, k);
    for (unsigned k = 0; is_shared && k < 16; k++)
        at += sprintf(at, "ld.shared.u64 %%d9, [%%r5+%u];\nst.global.u64 [%%d8+%u], %%d9;\n", 8 * k,
                      8 * k);
    append(at, "ret;\n}\n");
}

/* ---- the same here ---- */

static uint64_t read_value(const uint8_t *from, const struct access *a)
{
    uint64_t value = 0;

    memcpy(&value, from, a->size);
    if (a->is_signed && a->size < 8 && value >> (a->size * 8 - 1))
        value |= ~0ull << a->size * 8;
    return value;
}

static void copy_here(const struct access *a, bool is_store, const uint32_t *at, uint32_t mask,
                      uint8_t *registers, uint8_t *memory)
{
    for (unsigned l = 0; l < LANES; l++)
        for (unsigned k = 0; (mask >> l & 1) && k < a->count; k++) {
            uint8_t *reg = registers + l * LANE_BYTES + 8 * k;
            uint8_t *place = memory + at[l] + k * a->size;
            uint64_t value = read_value(place, a);
            if (is_store)
                memcpy(place, reg, a->size);
            else
                memcpy(reg, &value, a->reg / 8);
        }
}

/* ---- shapes ---- */

enum { ROW, ROW_LATER, SAME, BACKWARDS, SPREAD, SCATTERED, SHAPES };

static uint32_t place_of(unsigned shape, unsigned lane, uint32_t whole)
{
    switch (shape) {
    case ROW:
        return lane * whole;
    case ROW_LATER:
        return BYTES - LANES * whole + lane * whole;
    case SAME:
        return 5 * whole;
    case BACKWARDS:
        return (LANES - 1 - lane) * whole;
    case SPREAD:
        return lane * 3 * whole % (BYTES - whole + 1) / whole * whole;
    default:
        return (uint32_t)rand() % (BYTES / whole) * whole;
    }
}

static struct {
    uint8_t *in, *out, *memory;
    uint32_t *at;
    uint8_t wanted_memory[BYTES], wanted_out[LANES * LANE_BYTES];
} t;

static void check_shape(struct ptx_module *m, const struct access *a, bool is_store, unsigned shape,
                        uint32_t mask)
{
    for (unsigned k = 0; k < LANES * LANE_BYTES; k++)
        t.in[k] = (uint8_t)rand();
    for (unsigned k = 0; k < BYTES; k++)
        t.memory[k] = (uint8_t)rand();
    for (unsigned l = 0; l < LANES; l++)
        t.at[l] = place_of(shape, l, a->size * a->count);
    memcpy(t.wanted_memory, t.memory, BYTES);
    memcpy(t.wanted_out, t.in, sizeof(t.wanted_out));
    copy_here(a, is_store, t.at, mask, t.wanted_out, t.wanted_memory);
    memset(t.out, 0, LANES * LANE_BYTES);
    CHECK_EQ_INT(DEV_RUN(m, "k", 1, LANES, PTR(t.in), PTR(t.out), PTR(t.at), PTR(t.memory), mask),
                 PTX_OK);
    bool same = CHECK_EQ_MEM(t.memory, t.wanted_memory, BYTES);
    for (unsigned l = 0; l < LANES; l++)
        for (unsigned k = 0; same && k < a->count; k++)
            same = CHECK_EQ_MEM(t.out + l * LANE_BYTES + 8 * k,
                                t.wanted_out + l * LANE_BYTES + 8 * k, a->reg / 8);
    if (!same)
        printf("  %s.%s x%u, b%u, shape %u, mask %x\n", is_store ? "st" : "ld", a->type, a->count,
               a->reg, shape, mask);
}

static void check_access(const struct access *a, bool is_store, bool is_shared)
{
    static char text[16384];

    write_kernel(text, a, is_store, is_shared);
    struct ptx_module *m = dev_parse(text);
    for (unsigned shape = 0; shape < SHAPES; shape++)
        for (unsigned k = 0; k < sizeof(masks) / sizeof(masks[0]); k++)
            check_shape(m, a, is_store, shape, masks[k]);
    ptx_module_destroy(m);
}

/* A row that ends outside: fine while the lanes there are not active, the first one's fault else.
 */
static void check_edge(bool is_store)
{
    static char text[16384];
    uint8_t *last = dev_alloc(0); /* 256 bytes are left */
    struct access a = {"b32", 4, false, 32, 1};

    write_kernel(text, &a, is_store, false);
    struct ptx_module *m = dev_parse(text);
    for (unsigned l = 0; l < LANES; l++)
        t.at[l] = 4 * l;
    uint8_t *memory = last + 256 - 4 * 20; /* 20 lanes are inside */
    CHECK_EQ_INT(DEV_RUN(m, "k", 1, LANES, PTR(t.in), PTR(t.out), PTR(t.at), PTR(memory), 0xfffff),
                 PTX_OK);
    CHECK(DEV_RUN(m, "k", 1, LANES, PTR(t.in), PTR(t.out), PTR(t.at), PTR(memory), 0x1fffff) !=
          PTX_OK);
    CHECK_EQ_INT(dev_fault.kind, PTX_FAULT_ADDRESS);
    CHECK_EQ_INT(dev_fault.thread[0], 20);
    for (unsigned l = 0; l < LANES; l++)
        t.at[l] = 4 * l + 2;
    CHECK(DEV_RUN(m, "k", 1, LANES, PTR(t.in), PTR(t.out), PTR(t.at), PTR(t.memory), ~0u) !=
          PTX_OK);
    CHECK_EQ_INT(dev_fault.kind, PTX_FAULT_MISALIGNED);
    ptx_module_destroy(m);
}

int main(void)
{
    t.in = dev_alloc(LANES * LANE_BYTES);
    t.out = dev_alloc(LANES * LANE_BYTES);
    t.at = dev_alloc(LANES * 4);
    t.memory = dev_alloc(BYTES);
    for (unsigned k = 0; k < sizeof(accesses) / sizeof(accesses[0]); k++)
        for (unsigned way = 0; way < 4; way++)
            check_access(&accesses[k], way & 1, way & 2);
    check_edge(false);
    check_edge(true);
    return check_result();
}
