/* SPDX-License-Identifier: Apache-2.0
 *
 * Random programs with ramps (emu/ptx/exec/ramp.h) and without them: the same bytes, faults and
 * counts. They compute addresses and indices as compilers do, beside what is no ramp, or stops
 * being one: wrapped sums, lanes that go apart, exit, wait for one another, warps that are not
 * full, and rows of blocks that are narrower than a warp.
 */
#include "base/random.h"
#include "emu/ptx/ptx.h"
#include "tests/unit/check.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PROGRAMS = 400, WORDS = 8, WIDE = 5, SLOT = 96, BUFFER = 1 << 16, TEXT = 1 << 16 };

static uint64_t state, seed_now;
static char text[TEXT];
static size_t used;
static unsigned compared, finished;
static unsigned labels, new_words, new_wides; /* so far */
static enum ptx_schedule schedule;
static uint32_t drop; /* of 2^32 stores */
static bool stores_shared;
static uint8_t *in, *out;
static size_t out_size;

static unsigned pick(unsigned count)
{
    return (unsigned)(tsm_random(&state) >> 33) % count;
}

static void put(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void put(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    used += (size_t)vsnprintf(text + used, TEXT - used, format, args);
    va_end(args);
    if (used >= TEXT)
        abort();
}

#define ONE_OF(...) one_of((const char *const[]){__VA_ARGS__, NULL})
static const char *one_of(const char *const *list)
{
    unsigned count = 0;

    while (list[count])
        count++;
    return list[pick(count)];
}

/* Names of registers and constants, for a few at a time. */
static const char *name(const char *format, unsigned number)
{
    static char texts[16][16];
    static unsigned at;
    char *t = texts[at++ % 16];

    snprintf(t, sizeof(texts[0]), format, number);
    return t;
}

/* A register to write, of 32 or 64 bits: one of a few, or one that nothing else writes. Only such
 * can be ramps. */
static const char *to_word(void)
{
    return pick(3) ? name("%%t%u", new_words++) : name("%%r%u", pick(WORDS));
}

static const char *to_wide(void)
{
    return pick(3) ? name("%%e%u", new_wides++) : name("%%d%u", pick(WIDE));
}

static const char *wide(void)
{
    return new_wides && pick(3) ? name("%%e%u", pick(new_wides)) : name("%%d%u", pick(WIDE));
}

static const char *word(void)
{
    static const unsigned constants[] = {0, 1, 4, 31, 255, 4096, 0x7fffffff, 0xffffffff};

    switch (pick(4)) {
    case 0:
        return name("%u", constants[pick(8)]);
    case 1:
        return name("%%r%u", pick(WORDS));
    case 2:
        return ONE_OF("%tx", "%ty", "%lin", "%bx");
    default:
        return new_words ? name("%%t%u", pick(new_words)) : "%lin";
    }
}

static void put_index(void)
{
    put("mov.u32 %s, %s;\n", to_word(),
        ONE_OF("%tid.x", "%tid.y", "%ctaid.x", "%ctaid.y", "%ntid.x", "%laneid", "%nctaid.x"));
    put("mad.lo.s32 %s, %s, %s, %s;\n", to_word(), word(), word(), word());
}

static void put_sum(void)
{
    const char *how = ONE_OF("add.s32", "sub.u32", "mul.lo.u32", "shl.b32", "shr.u32", "shr.s32",
                             "and.b32", "or.b32", "xor.b32", "min.s32", "max.u32", "div.u32",
                             "rem.s32", "mul.hi.u32", "add.u32", "add.u32", "sub.u32");
    const char *a = word(), *b = word();

    put("%s %s, %s, %s;\n", how, to_word(), a, b);
}

static void put_wide(void)
{
    const char *a = word(), *b = word(), *x = wide(), *y = wide();

    switch (pick(6)) {
    case 0:
        put("mul.wide.%s %s, %s, %s;\n", ONE_OF("u32", "s32"), to_wide(), a, b);
        break;
    case 1:
        put("mad.wide.%s %s, %s, %s, %s;\n", ONE_OF("u32", "s32"), to_wide(), a, b, x);
        break;
    case 2:
        put("cvt.%s %s, %%lin;\n", ONE_OF("u64.u32", "s64.s32"), to_wide());
        break;
    case 3:
        put("cvt.u32.u64 %s, %s;\n", to_word(), x);
        break;
    case 4:
        put("%s %s, %s, %s;\n", ONE_OF("add.s64", "sub.s64", "mul.lo.u64", "and.b64"), to_wide(), x,
            y);
        break;
    default:
        put("shl.b64 %s, %s, %u;\n", to_wide(), x, pick(70));
    }
}

/* Ramps whose lanes wrap, or nearly do. */
static void put_wrap(void)
{
    const char *t = name("%%t%u", new_words++);
    const char *x = wide();

    put("mad.lo.u32 %s, %s, %s, %s;\n", t, ONE_OF("%tx", "%ty", "%lin", "%bx"),
        ONE_OF("1", "4", "4294967295", "268435456"),
        ONE_OF("4294967295", "4294967280", "2147483640", "2147483648", "5", "4026531840"));
    switch (pick(4)) {
    case 0:
        put("mul.wide.%s %s, %s, %s;\n", ONE_OF("u32", "s32"), to_wide(), t,
            ONE_OF("4", "1", "2147483648"));
        break;
    case 1:
        put("cvt.%s %s, %s;\n", ONE_OF("u64.u32", "s64.s32"), to_wide(), t);
        break;
    case 2:
        put("mad.wide.%s %s, %s, 8, %s;\n", ONE_OF("u32", "s32"), to_wide(), t, x);
        break;
    default:
        put("setp.%s.%s %%p0, %s, %s;\nselp.b32 %%r%u, %s, 3, %%p0;\n",
            ONE_OF("lt", "le", "gt", "ge", "eq", "ne"), ONE_OF("u32", "s32"), t,
            ONE_OF("4", "2147483647", "4294967295", "%tx", "%r0"), pick(WORDS), t);
    }
    put("xor.b64 %%d%u, %%d%u, %s;\n", pick(WIDE), pick(WIDE), wide());
    put("xor.b32 %%r%u, %%r%u, %s;\n", pick(WORDS), pick(WORDS), word());
}

static void put_narrow(void)
{
    put("cvt.u16.u32 %%h, %s;\ndiv.u16 %%h, %%h, 3;\n", word());
    put("cvt.u32.u16 %s, %%h;\n", to_word());
}

static void put_compare(void)
{
    if (pick(3))
        put("setp.%s.%s %%p%u, %s, %s;\n", ONE_OF("eq", "ne", "lt", "le", "gt", "ge"),
            ONE_OF("u32", "s32"), pick(3), word(), word());
    else
        put("setp.%s.%s.%s %%p%u|%%p3, %s, %s, %%p%u;\n", ONE_OF("eq", "ne", "lt", "ge"),
            ONE_OF("and", "or", "xor"), ONE_OF("u64", "s64"), pick(3), wide(), wide(), pick(3));
    if (pick(2))
        put("selp.b32 %%r%u, %s, %s, %%p%u;\n", pick(WORDS), word(), word(), pick(3));
    else
        put("@%s%%p%u add.u32 %%r%u, %s, %s;\n", ONE_OF("", "!"), pick(3), pick(WORDS), word(),
            word());
}

/* Returns the register of an address in a buffer of the launch, or in shared memory; mostly. */
static const char *put_address(bool is_shared, bool is_written)
{
    const char *part = name("%%e%u", new_wides), *to = name("%%e%u", new_wides + 1);
    bool is_out = is_written ? pick(200) != 0 : pick(3) == 0;

    new_wides += 2;
    switch (pick(5)) {
    case 0:
        put("mul.wide.u32 %s, %%lin, %u;\n", part, 8 << pick(3));
        break;
    case 1:
        put("mul.wide.u32 %s, %%tx, %u;\n", name("%%e%u", new_wides), 8 << pick(2));
        put("mad.wide.u32 %s, %%ty, %u, %s;\n", part, is_shared ? 16 : 8 << pick(5),
            name("%%e%u", new_wides++));
        break;
    case 2:
        put("mul.wide.u32 %s, %%bx, 64;\n", part);
        break;
    case 3:
        put("mad.wide.s32 %s, %%tx, %s, 2048;\n", part, ONE_OF("-8", "0", "8", "16"));
        break;
    default:
        put("and.b32 %s, %s, %u;\n", name("%%t%u", new_words), word(), is_shared ? 127 : 1023);
        put("mul.wide.u32 %s, %s, 8;\n", part, name("%%t%u", new_words++));
    }
    put("add.s64 %s, %s, %s;\n", to, is_shared ? "%sh" : is_out ? "%out" : "%in", part);
    return to;
}

static void put_memory(void)
{
    bool is_shared = pick(3) == 0;
    const char *space = is_shared ? "shared" : "global";
    unsigned offset = pick(200) ? pick(16) * 8 : pick(200); /* now and then misaligned */
    unsigned what = pick(7);
    const char *at = put_address(is_shared, what < 3);
    const char *a = word(), *b = word();

    stores_shared |= is_shared && what < 2;
    switch (what) {
    case 0:
        put("st.%s.u32 [%s+%u], %s;\n", space, at, offset, a);
        break;
    case 1:
        put("st.%s.v2.u32 [%s+%u], {%s, %s};\n", space, at, offset, a, b);
        break;
    case 2:
        put("atom.%s.add.u32 %s, [%s+%u], %s;\n", space, to_word(), at, offset, a);
        break;
    case 3:
        put("ld.%s.v2.u32 {%s, %%r%u}, [%s+%u];\n", space, name("%%t%u", new_words++), pick(WORDS),
            at, offset);
        break;
    case 4:
        put("ld.%s.%s %s, [%s+%u];\n", space, ONE_OF("u8", "s8", "u16", "s16"), to_word(), at,
            offset);
        break;
    case 5:
        put("ld.%s.u64 %s, [%s+%u];\n", space, to_wide(), at, offset);
        break;
    default:
        put("ld.%s.u32 %s, [%s+%u];\n", space, to_word(), at, offset);
    }
}

static void put_float(void)
{
    put("cvt.rn.f32.u32 %%f0, %s;\n", pick(2) ? "%tx" : "%bx");
    put("%s.rn.f32 %%f%u, %%f%u, %%f%u;\nmov.b32 %%r%u, %%f%u;\n", ONE_OF("add", "mul", "sub"),
        pick(3), pick(3), pick(3), pick(WORDS), pick(3));
}

static void put_lanes(void)
{
    put("shfl.sync.%s.b32 %%r%u, %s, %u, 31, 0xffffffff;\n", ONE_OF("bfly", "idx"), pick(WORDS),
        new_words && pick(2) ? name("%%t%u", pick(new_words)) : name("%%r%u", pick(WORDS)),
        pick(32));
}

static void put_block(unsigned depth);

static void put_branch(unsigned depth)
{
    unsigned label = labels++;

    put_compare();
    put("@%%p%u bra L%u;\n", pick(3), label);
    put_block(depth - 1);
    if (pick(2)) {
        put("bra M%u;\nL%u:\n", label, label);
        put_block(depth - 1);
        put("M%u:\n", label);
    } else {
        put("L%u:\n", label);
    }
}

static void put_loop(unsigned depth)
{
    unsigned label = labels++;

    put("and.b32 %%c%u, %s, 3;\nL%u:\n", depth, pick(2) ? "%bx" : word(), label);
    put_block(depth - 1);
    put("add.s32 %%c%u, %%c%u, -1;\nsetp.gt.s32 %%p3, %%c%u, 0;\n@%%p3 bra L%u;\n", depth, depth,
        depth, label);
}

static void put_statement(unsigned depth)
{
    static void (*const makers[])(void) = {put_index,  put_sum,    put_sum,    put_wide, put_wide,
                                           put_narrow, put_memory, put_memory, put_wrap, put_wrap,
                                           put_float,  put_memory, put_compare};
    unsigned what = pick(16);

    if (depth && what == 0)
        put_branch(depth);
    else if (depth && what == 1)
        put_loop(depth);
    else if (depth == 2 && what == 2)
        put("@%%p%u exit;\n", pick(3));
    else if (depth == 2 && what == 3)
        put("bar.sync 0;\n");
    else if (depth == 2 && what == 4)
        put_lanes();
    else
        makers[pick(sizeof(makers) / sizeof(makers[0]))]();
}

static void put_block(unsigned depth)
{
    for (unsigned left = 1 + pick(8); left; left--)
        put_statement(depth);
}

static void put_head(void)
{
    put(".version 7.8\n"
        ".target sm_70\n"
        ".address_size 64\n"
        ".visible .entry k(.param .u64 i, .param .u64 o, .param .u32 n) {\n"
        ".reg .u32 %%r<8>, %%c<3>, %%t<600>, %%tx, %%ty, %%lin, %%tt, %%b, %%bx;\n"
        ".reg .u64 %%d<5>, %%e<600>, %%in, %%out, %%sh, %%slot;\n"
        ".reg .u16 %%h;\n"
        ".reg .f32 %%f<3>;\n"
        ".reg .pred %%p<4>;\n"
        ".shared .align 16 .b8 room[16384];\n"
        "ld.param.u64 %%in, [i];\n"
        "ld.param.u64 %%out, [o];\n"
        "ld.param.u32 %%r0, [n];\n"
        "mov.u32 %%bx, %%ctaid.x;\n"
        "mov.u32 %%tx, %%tid.x;\n"
        "mov.u32 %%ty, %%tid.y;\n"
        "mov.u32 %%r1, %%ctaid.x;\n"
        "mov.u32 %%r2, %%ntid.x;\n"
        "mad.lo.u32 %%lin, %%ty, %%r2, %%tx;\n"
        "mov.u32 %%r3, 7;\n"
        "mov.u64 %%sh, room;\n"
        "mad.lo.u32 %%r4, %%r1, %%r2, %%tx;\n");
}

/* Each thread writes all that it has computed to a place of its own. */
static void put_results(void)
{
    put("mov.u32 %%tt, %%ctaid.y;\n"
        "mov.u32 %%b, %%nctaid.x;\n"
        "mad.lo.u32 %%b, %%tt, %%b, %%bx;\n"
        "mov.u32 %%tt, %%ntid.x;\n"
        "mul.lo.u32 %%b, %%b, %%tt;\n"
        "mov.u32 %%tt, %%ntid.y;\n"
        "mad.lo.u32 %%b, %%b, %%tt, %%lin;\n"
        "mad.wide.u32 %%slot, %%b, %u, %%out;\n"
        "add.s64 %%slot, %%slot, %u;\n",
        SLOT, BUFFER);
    for (unsigned k = 0; k < new_words; k++)
        put("xor.b32 %%r%u, %%r%u, %%t%u;\n", 1 + k % 7, 1 + k % 7, k);
    for (unsigned k = 0; k < new_wides; k++)
        put("xor.b64 %%d%u, %%d%u, %%e%u;\n", k % 5, k % 5, k);
    for (unsigned k = 0; k < WORDS; k++)
        put("st.global.u32 [%%slot+%u], %%r%u;\n", k * 4, k);
    for (unsigned k = 0; k < WIDE; k++)
        put("st.global.u64 [%%slot+%u], %%d%u;\n", 32 + k * 8, k);
    put("ret;\n}\n");
}

static void put_program(void)
{
    used = new_words = new_wides = 0;
    stores_shared = false;
    put_head();
    for (unsigned k = 0; k < 4; k++)
        put_block(2);
    put_results();
}

/* ---- running ---- */

struct result {
    int status;
    struct ptx_fault fault;
    uint64_t instructions, steps;
    uint8_t *bytes;
};

static bool is_accessible(void *user, uint64_t address, uint64_t size, bool write, uint64_t *start,
                          uint64_t *length)
{
    bool is_in = address >= (uintptr_t)in && address + size <= (uintptr_t)in + BUFFER;

    *start = (uintptr_t)(is_in ? in : out);
    *length = is_in ? BUFFER : out_size;
    return address >= *start && address + size <= *start + *length && !(is_in && write);
}

static void run(struct ptx_module *m, const uint32_t grid[2], const uint32_t block[2],
                bool has_ramps, struct result *r)
{
    struct {
        uint64_t in, out;
        uint32_t n;
    } params = {(uintptr_t)in, (uintptr_t)out, 100};
    struct ptx_launch l = {.module = m,
                           .function = ptx_module_find(m, "k"),
                           .grid = {grid[0], grid[1], 1},
                           .block = {block[0], block[1], 1},
                           .params = &params,
                           .schedule = schedule,
                           .seed = seed_now,
                           .drop = drop,
                           .drop_seed = seed_now,
                           .is_accessible = is_accessible,
                           .warp_instructions = &r->steps};

    if (has_ramps)
        unsetenv("PTX_NO_RAMPS");
    else
        setenv("PTX_NO_RAMPS", "1", 1);
    memset(out, 0x5a, out_size);
    r->status = ptx_run(&l, &r->fault, &r->instructions);
    r->bytes = malloc(out_size);
    memcpy(r->bytes, out, out_size);
}

static void *place(void *user, size_t size)
{
    return calloc(1, size);
}

static void show(const struct result *a, const struct result *b, const uint32_t grid[2],
                 const uint32_t block[2])
{
    size_t at = 0;

    while (at < out_size && a->bytes[at] == b->bytes[at])
        at++;
    fprintf(stderr,
            "drop %u, schedule %u, seed %llu, grid %u,%u, block %u,%u: byte %zu; with ramps: "
            "%s\nwithout: %s\n%s",
            drop, (unsigned)schedule, (unsigned long long)seed_now, grid[0], grid[1], block[0],
            block[1], at, a->fault.text, b->fault.text, text);
}

static void compare(struct ptx_module *m, const uint32_t grid[2], const uint32_t block[2])
{
    struct result with, without;

    run(m, grid, block, false, &without);
    run(m, grid, block, true, &with);
    finished += with.status == PTX_OK;
    bool is_same = with.status == without.status && with.instructions == without.instructions &&
                   with.steps == without.steps &&
                   strcmp(with.fault.text, without.fault.text) == 0 &&
                   memcmp(with.bytes, without.bytes, out_size) == 0;
    if (!is_same)
        show(&with, &without, grid, block);
    CHECK(is_same);
    free(with.bytes);
    free(without.bytes);
}

static void check_program(uint64_t seed)
{
    static const uint32_t blocks[][2] = {{256, 1}, {16, 16}, {8, 8}, {32, 4}, {4, 2},
                                         {24, 2},  {48, 1},  {1, 7}, {2, 64}, {16, 3}};
    struct ptx_module *m;
    char log_text[1024] = "";
    struct ptx_log log = {log_text, sizeof(log_text), 0};

    state = seed_now = seed;
    put_program();
    int status = ptx_module_create(&m, text, used, 75, &log);
    if (status != PTX_OK)
        fprintf(stderr, "%s%s", log_text, text);
    if (!CHECK(status == PTX_OK && ptx_module_place(m, place, NULL) == PTX_OK))
        return;
    const uint32_t *block = blocks[pick(sizeof(blocks) / sizeof(blocks[0]))];
    compared++;
    schedule = (enum ptx_schedule)pick(3);
    /* In shared memory, which stores are lost depends on where the host has put it. */
    drop = stores_shared || pick(2) ? 0 : 1u << 30;
    compare(m, (const uint32_t[]){1 + pick(3), 1 + pick(2)}, block);
    ptx_module_destroy(m);
}

int main(int argc, char **argv)
{
    unsigned count = argc > 1 ? (unsigned)atoi(argv[1]) : PROGRAMS;
    uint64_t first = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;

    out_size = BUFFER + 6 * 256 * SLOT;
    in = aligned_alloc(256, BUFFER);
    out = aligned_alloc(256, out_size);
    for (unsigned k = 0; k < BUFFER; k++)
        in[k] = (uint8_t)(k * 37 >> 3);
    for (unsigned k = 0; k < count; k++)
        check_program(first + k);
    CHECK(finished * 2 > compared); /* most do not end at a fault */
    free(in);
    free(out);
    return check_result();
}
