/* SPDX-License-Identifier: Apache-2.0
 *
 * Which .target and .version instructions and types ask for. What the oldest machines have is not
 * listed.
 */
#include "emu/ptx/parse/parse.h"

#include <pthread.h>
#include <string.h>

/* Requirements of instructions: always, or with one or two modifiers. By opcode. */
#define NONE MOD_COUNT
static const struct need {
    const char *name;
    uint16_t mods[2]; /* NONE: whatever they are */
    uint8_t target;
    uint8_t version; /* times 10 */
} needs[] = {
    {"abs", {NONE, PTX_F16}, 53, 65},
    {"abs", {NONE, PTX_F16X2}, 53, 65},
    {"activemask", {NONE, NONE}, 30, 62},
    {"add", {NONE, PTX_BF16}, 90, 78},
    {"add", {NONE, PTX_BF16X2}, 90, 78},
    {"add", {NONE, PTX_F16}, 53, 42},
    {"add", {NONE, PTX_F16X2}, 53, 42},
    {"addc", {NONE, NONE}, 0, 12},
    {"alloca", {NONE, NONE}, 52, 73},
    {"applypriority", {NONE, NONE}, 80, 74},
    {"atom", {NONE, NONE}, 11, 0},
    {"atom", {NONE, PTX_B64}, 12, 0},
    {"atom", {NONE, PTX_BF16}, 90, 78},
    {"atom", {NONE, PTX_BF16X2}, 90, 78},
    {"atom", {NONE, PTX_F16}, 70, 63},
    {"atom", {NONE, PTX_F16X2}, 60, 62},
    {"atom", {NONE, PTX_F32}, 20, 20},
    {"atom", {NONE, PTX_F64}, 60, 50},
    {"atom", {NONE, PTX_U64}, 12, 0},
    {"atom", {MOD_and, PTX_B64}, 32, 31},
    {"atom", {MOD_cas, PTX_B16}, 70, 63},
    {"atom", {MOD_cluster, NONE}, 60, 50},
    {"atom", {MOD_cta, NONE}, 60, 50},
    {"atom", {MOD_gpu, NONE}, 60, 50},
    {"atom", {MOD_max, PTX_BF16}, 90, 81},
    {"atom", {MOD_max, PTX_BF16X2}, 90, 81},
    {"atom", {MOD_max, PTX_F16}, 90, 81},
    {"atom", {MOD_max, PTX_F16X2}, 90, 81},
    {"atom", {MOD_max, PTX_S64}, 32, 31},
    {"atom", {MOD_max, PTX_U64}, 32, 31},
    {"atom", {MOD_min, PTX_BF16}, 90, 81},
    {"atom", {MOD_min, PTX_BF16X2}, 90, 81},
    {"atom", {MOD_min, PTX_F16}, 90, 81},
    {"atom", {MOD_min, PTX_F16X2}, 90, 81},
    {"atom", {MOD_min, PTX_S64}, 32, 31},
    {"atom", {MOD_min, PTX_U64}, 32, 31},
    {"atom", {MOD_or, PTX_B64}, 32, 31},
    {"atom", {MOD_shared, NONE}, 12, 0},
    {"atom", {MOD_shared, PTX_B64}, 20, 20},
    {"atom", {MOD_shared, PTX_U64}, 20, 20},
    {"atom", {MOD_sys, NONE}, 60, 50},
    {"atom", {MOD_v2, NONE}, 90, 81},
    {"atom", {MOD_v4, NONE}, 90, 81},
    {"atom", {MOD_v8, NONE}, 90, 81},
    {"atom", {MOD_xor, PTX_B64}, 32, 31},
    {"bar", {MOD_arrive, NONE}, 20, 20},
    {"bar", {MOD_cta, NONE}, 20, 78},
    {"bar", {MOD_red, NONE}, 20, 20},
    {"bar", {MOD_warp, NONE}, 30, 60},
    {"barrier", {NONE, NONE}, 30, 60},
    {"barrier", {MOD_cta, NONE}, 30, 78},
    {"bfe", {NONE, NONE}, 20, 20},
    {"bfi", {NONE, NONE}, 20, 20},
    {"bfind", {NONE, NONE}, 20, 20},
    {"bmsk", {NONE, NONE}, 70, 76},
    {"brev", {NONE, NONE}, 20, 20},
    {"brkpt", {NONE, NONE}, 11, 0},
    {"brx", {NONE, NONE}, 30, 60},
    {"clusterlaunchcontrol", {NONE, NONE}, 100, 86},
    {"clz", {NONE, NONE}, 20, 20},
    {"copysign", {NONE, NONE}, 20, 20},
    {"cp", {NONE, NONE}, 80, 70},
    {"createpolicy", {NONE, NONE}, 80, 74},
    {"cvt", {MOD_pack, NONE}, 72, 65},
    {"cvt", {PTX_F16X2, PTX_F32}, 80, 70},
    {"cvta", {NONE, NONE}, 20, 20},
    {"cvta", {MOD_const, NONE}, 20, 31},
    {"cvta", {MOD_param, NONE}, 70, 77},
    {"cvta", {MOD_param_entry, NONE}, 70, 77},
    {"discard", {NONE, NONE}, 80, 74},
    {"dp2a", {NONE, NONE}, 61, 50},
    {"dp4a", {NONE, NONE}, 61, 50},
    {"elect", {NONE, NONE}, 90, 80},
    {"ex2", {NONE, PTX_BF16}, 90, 78},
    {"ex2", {NONE, PTX_BF16X2}, 90, 78},
    {"ex2", {NONE, PTX_F16}, 75, 70},
    {"ex2", {NONE, PTX_F16X2}, 75, 70},
    {"fence", {NONE, NONE}, 70, 60},
    {"fence", {MOD_alias, NONE}, 70, 75},
    {"fence", {MOD_async, NONE}, 90, 80},
    {"fence", {MOD_mbarrier_init, NONE}, 90, 80},
    {"fence", {MOD_tensormap_generic, NONE}, 90, 83},
    {"fma", {NONE, NONE}, 13, 14},
    {"fma", {NONE, PTX_F16}, 53, 42},
    {"fma", {NONE, PTX_F16X2}, 53, 42},
    {"fns", {NONE, NONE}, 30, 60},
    {"getctarank", {NONE, NONE}, 90, 78},
    {"griddepcontrol", {NONE, NONE}, 90, 78},
    {"isspacep", {NONE, NONE}, 20, 20},
    {"isspacep", {MOD_const, NONE}, 20, 31},
    {"isspacep", {MOD_param, NONE}, 70, 77},
    {"isspacep", {MOD_param_entry, NONE}, 70, 77},
    {"istypep", {NONE, NONE}, 30, 40},
    {"ldmatrix", {NONE, NONE}, 75, 65},
    {"ldu", {NONE, NONE}, 20, 20},
    {"lop3", {NONE, NONE}, 50, 43},
    {"lop3", {MOD_and, NONE}, 70, 82},
    {"lop3", {MOD_or, NONE}, 70, 82},
    {"lop3", {MOD_xor, NONE}, 70, 82},
    {"mad", {MOD_cc, NONE}, 20, 30},
    {"madc", {NONE, NONE}, 20, 30},
    {"mapa", {NONE, NONE}, 90, 78},
    {"match", {NONE, NONE}, 70, 60},
    {"max", {NONE, PTX_F16}, 80, 70},
    {"max", {NONE, PTX_F16X2}, 80, 70},
    {"max", {MOD_relu, NONE}, 90, 80},
    {"mbarrier", {NONE, NONE}, 80, 70},
    {"mbarrier", {MOD_cluster, NONE}, 90, 80},
    {"mbarrier", {MOD_complete_tx, NONE}, 90, 80},
    {"mbarrier", {MOD_cta, NONE}, 80, 80},
    {"mbarrier", {MOD_expect_tx, NONE}, 90, 80},
    {"mbarrier", {MOD_parity, NONE}, 80, 71},
    {"mbarrier", {MOD_relaxed, NONE}, 80, 86},
    {"mbarrier", {MOD_try_wait, NONE}, 90, 78},
    {"membar", {NONE, NONE}, 0, 14},
    {"membar", {MOD_alias, NONE}, 60, 75},
    {"membar", {MOD_sys, NONE}, 20, 20},
    {"min", {NONE, PTX_F16}, 80, 70},
    {"min", {NONE, PTX_F16X2}, 80, 70},
    {"min", {MOD_relu, NONE}, 90, 80},
    {"mma", {NONE, NONE}, 70, 64},
    {"movmatrix", {NONE, NONE}, 75, 78},
    {"mul", {NONE, PTX_BF16}, 90, 78},
    {"mul", {NONE, PTX_BF16X2}, 90, 78},
    {"mul", {NONE, PTX_F16}, 53, 42},
    {"mul", {NONE, PTX_F16X2}, 53, 42},
    {"multimem", {NONE, NONE}, 90, 81},
    {"nanosleep", {NONE, NONE}, 70, 62},
    {"neg", {NONE, PTX_F16}, 53, 60},
    {"neg", {NONE, PTX_F16X2}, 53, 60},
    {"pmevent", {NONE, NONE}, 0, 14},
    {"pmevent", {MOD_mask, NONE}, 20, 30},
    {"popc", {NONE, NONE}, 20, 20},
    {"prefetch", {NONE, NONE}, 20, 20},
    {"prefetch", {MOD_l2_evict_last, NONE}, 80, 74},
    {"prefetch", {MOD_l2_evict_normal, NONE}, 80, 74},
    {"prefetchu", {NONE, NONE}, 20, 20},
    {"prmt", {NONE, NONE}, 20, 20},
    {"red", {NONE, NONE}, 11, 12},
    {"red", {NONE, PTX_B64}, 12, 0},
    {"red", {NONE, PTX_BF16}, 90, 78},
    {"red", {NONE, PTX_BF16X2}, 90, 78},
    {"red", {NONE, PTX_F16}, 70, 63},
    {"red", {NONE, PTX_F16X2}, 60, 62},
    {"red", {NONE, PTX_F32}, 20, 20},
    {"red", {NONE, PTX_F64}, 60, 50},
    {"red", {NONE, PTX_U64}, 12, 0},
    {"red", {MOD_and, PTX_B64}, 32, 31},
    {"red", {MOD_async, NONE}, 90, 81},
    {"red", {MOD_cluster, NONE}, 60, 50},
    {"red", {MOD_cta, NONE}, 60, 50},
    {"red", {MOD_gpu, NONE}, 60, 50},
    {"red", {MOD_max, PTX_BF16}, 90, 81},
    {"red", {MOD_max, PTX_BF16X2}, 90, 81},
    {"red", {MOD_max, PTX_F16}, 90, 81},
    {"red", {MOD_max, PTX_F16X2}, 90, 81},
    {"red", {MOD_max, PTX_S64}, 32, 31},
    {"red", {MOD_max, PTX_U64}, 32, 31},
    {"red", {MOD_min, PTX_BF16}, 90, 81},
    {"red", {MOD_min, PTX_BF16X2}, 90, 81},
    {"red", {MOD_min, PTX_F16}, 90, 81},
    {"red", {MOD_min, PTX_F16X2}, 90, 81},
    {"red", {MOD_min, PTX_S64}, 32, 31},
    {"red", {MOD_min, PTX_U64}, 32, 31},
    {"red", {MOD_or, PTX_B64}, 32, 31},
    {"red", {MOD_shared, NONE}, 12, 0},
    {"red", {MOD_shared, PTX_B64}, 20, 20},
    {"red", {MOD_shared, PTX_U64}, 20, 20},
    {"red", {MOD_sys, NONE}, 60, 50},
    {"red", {MOD_v2, NONE}, 90, 81},
    {"red", {MOD_v4, NONE}, 90, 81},
    {"red", {MOD_v8, NONE}, 90, 81},
    {"red", {MOD_xor, PTX_B64}, 32, 31},
    {"redux", {NONE, NONE}, 80, 70},
    {"set", {NONE, PTX_BF16}, 90, 78},
    {"set", {NONE, PTX_BF16X2}, 90, 78},
    {"set", {NONE, PTX_F16}, 53, 42},
    {"set", {NONE, PTX_F16X2}, 53, 42},
    {"setmaxnreg", {NONE, NONE}, 90, 80},
    {"setp", {NONE, PTX_BF16}, 90, 78},
    {"setp", {NONE, PTX_BF16X2}, 90, 78},
    {"setp", {NONE, PTX_F16}, 53, 42},
    {"setp", {NONE, PTX_F16X2}, 53, 42},
    {"shf", {NONE, NONE}, 32, 31},
    {"shfl", {NONE, NONE}, 30, 30},
    {"shfl", {MOD_sync, NONE}, 30, 60},
    {"st", {MOD_async, NONE}, 90, 81},
    {"st", {MOD_bulk, NONE}, 100, 86},
    {"st", {MOD_param, NONE}, 20, 20},
    {"stackrestore", {NONE, NONE}, 52, 73},
    {"stacksave", {NONE, NONE}, 52, 73},
    {"stmatrix", {NONE, NONE}, 90, 78},
    {"sub", {NONE, PTX_BF16}, 90, 78},
    {"sub", {NONE, PTX_BF16X2}, 90, 78},
    {"sub", {NONE, PTX_F16}, 53, 42},
    {"sub", {NONE, PTX_F16X2}, 53, 42},
    {"subc", {NONE, NONE}, 0, 13},
    {"suld", {MOD_a1d, NONE}, 20, 30},
    {"suld", {MOD_a2d, NONE}, 20, 30},
    {"suld", {MOD_clamp, NONE}, 0, 20},
    {"suld", {MOD_geom_3d, NONE}, 20, 30},
    {"suld", {MOD_zero, NONE}, 0, 20},
    {"suq", {NONE, NONE}, 0, 15},
    {"suq", {MOD_array_size, NONE}, 0, 41},
    {"suq", {MOD_channel_data_type, NONE}, 0, 21},
    {"suq", {MOD_channel_order, NONE}, 0, 21},
    {"suq", {MOD_memory_layout, NONE}, 0, 42},
    {"sured", {NONE, NONE}, 20, 20},
    {"sured", {MOD_geom_3d, NONE}, 20, 30},
    {"sured", {MOD_max, PTX_S64}, 50, 81},
    {"sured", {MOD_max, PTX_U64}, 50, 81},
    {"sured", {MOD_min, PTX_S64}, 50, 81},
    {"sured", {MOD_min, PTX_U64}, 50, 81},
    {"sured", {MOD_p, PTX_B64}, 50, 81},
    {"sust", {MOD_a1d, NONE}, 20, 30},
    {"sust", {MOD_a2d, NONE}, 20, 30},
    {"sust", {MOD_clamp, NONE}, 0, 20},
    {"sust", {MOD_geom_3d, NONE}, 20, 30},
    {"sust", {MOD_p, NONE}, 20, 20},
    {"szext", {NONE, NONE}, 70, 76},
    {"tanh", {NONE, NONE}, 75, 70},
    {"tanh", {NONE, PTX_BF16}, 90, 78},
    {"tanh", {NONE, PTX_BF16X2}, 90, 78},
    {"tcgen05", {NONE, NONE}, 100, 86},
    {"tensormap", {NONE, NONE}, 90, 83},
    {"testp", {NONE, NONE}, 20, 20},
    {"tex", {MOD_base, NONE}, 20, 31},
    {"tex", {MOD_grad, NONE}, 20, 31},
    {"tex", {MOD_level, NONE}, 20, 31},
    {"tex", {PTX_F16, NONE}, 53, 42},
    {"tex", {PTX_F16X2, NONE}, 53, 42},
    {"tld4", {NONE, NONE}, 20, 22},
    {"tld4", {MOD_a2d, NONE}, 30, 43},
    {"tld4", {MOD_acube, NONE}, 30, 43},
    {"tld4", {MOD_cube, NONE}, 30, 43},
    {"txq", {NONE, NONE}, 0, 15},
    {"txq", {MOD_array_size, NONE}, 0, 41},
    {"txq", {MOD_channel_data_type, NONE}, 0, 21},
    {"txq", {MOD_channel_order, NONE}, 0, 21},
    {"txq", {MOD_force_unnormalized_coords, NONE}, 0, 22},
    {"txq", {MOD_level, NONE}, 30, 43},
    {"txq", {MOD_memory_layout, NONE}, 0, 42},
    {"txq", {MOD_num_mipmap_levels, NONE}, 20, 41},
    {"txq", {MOD_num_samples, NONE}, 30, 41},
    {"vabsdiff", {NONE, NONE}, 20, 20},
    {"vabsdiff2", {NONE, NONE}, 30, 30},
    {"vabsdiff4", {NONE, NONE}, 30, 30},
    {"vadd", {NONE, NONE}, 20, 20},
    {"vadd2", {NONE, NONE}, 30, 30},
    {"vadd4", {NONE, NONE}, 30, 30},
    {"vavrg2", {NONE, NONE}, 30, 30},
    {"vavrg4", {NONE, NONE}, 30, 30},
    {"vmad", {NONE, NONE}, 20, 20},
    {"vmax", {NONE, NONE}, 20, 20},
    {"vmax2", {NONE, NONE}, 30, 30},
    {"vmax4", {NONE, NONE}, 30, 30},
    {"vmin", {NONE, NONE}, 20, 20},
    {"vmin2", {NONE, NONE}, 30, 30},
    {"vmin4", {NONE, NONE}, 30, 30},
    {"vote", {NONE, NONE}, 12, 12},
    {"vote", {MOD_ballot, NONE}, 20, 20},
    {"vote", {MOD_sync, NONE}, 30, 60},
    {"vset", {NONE, NONE}, 20, 20},
    {"vset2", {NONE, NONE}, 30, 30},
    {"vset4", {NONE, NONE}, 30, 30},
    {"vshl", {NONE, NONE}, 20, 20},
    {"vshr", {NONE, NONE}, 20, 20},
    {"vsub", {NONE, NONE}, 20, 20},
    {"vsub2", {NONE, NONE}, 30, 30},
    {"vsub4", {NONE, NONE}, 30, 30},
    {"wgmma", {NONE, NONE}, 90, 80},
    {"wmma", {NONE, NONE}, 70, 60},
    {"wmma", {MOD_aligned, NONE}, 70, 63},
    {"wmma", {PTX_S32, NONE}, 72, 63},
    {"wmma", {PTX_S8, NONE}, 72, 63},
    {"wmma", {PTX_U8, NONE}, 72, 63},
};

/* Types and other modifiers, wherever they stand. */
static const struct mod_need {
    uint8_t target;
    uint8_t version;
} mod_needs[MOD_COUNT] = {
    [PTX_F64] = {13, 10},
    [PTX_F16] = {20, 20},
    [PTX_F16X2] = {53, 42},
    [PTX_BF16] = {80, 70},
    [PTX_BF16X2] = {80, 70},
    [PTX_TF32] = {80, 70},
    [PTX_F32X2] = {100, 86},
    [PTX_E4M3X2] = {89, 78},
    [PTX_E5M2X2] = {89, 78},
    [PTX_E4M3] = {89, 84},
    [PTX_E5M2] = {89, 84},
    [PTX_E2M1X2] = {100, 86},
    [PTX_E2M3X2] = {100, 86},
    [PTX_E3M2X2] = {100, 86},
    [PTX_UE8M0X2] = {100, 86},
    [PTX_U16X2] = {90, 80},
    [PTX_S16X2] = {90, 80},
    [PTX_B128] = {70, 83},
    [MOD_cc] = {0, 12},
    [MOD_ftz] = {0, 14},
    [MOD_approx] = {0, 14},
    [MOD_full] = {0, 14},
    [MOD_NaN] = {80, 70},
    [MOD_relu] = {80, 70},
    [MOD_xorsign] = {86, 72},
    [PTX_S2] = {75, 65},
    [PTX_U2] = {75, 65},
    [MOD_sc] = {70, 60},
    [MOD_acq_rel] = {70, 60},
    [MOD_tile_gather4] = {100, 86},
    [MOD_tile_scatter4] = {100, 86},
    [MOD_rs] = {100, 87},
    [MOD_cta_group_1] = {100, 86},
    [MOD_cta_group_2] = {100, 86},
    [MOD_bulk] = {90, 80},
    [MOD_cluster] = {90, 78},
    [MOD_shared_cluster] = {90, 78},
    [MOD_shared_cta] = {0, 78},
    [MOD_param_entry] = {0, 83},
    [MOD_param_func] = {0, 83},
    [MOD_weak] = {70, 60},
    [MOD_relaxed] = {70, 60},
    [MOD_acquire] = {70, 60},
    [MOD_release] = {70, 60},
    [MOD_mmio] = {70, 82},
    [MOD_ca] = {20, 20},
    [MOD_cg] = {20, 20},
    [MOD_cs] = {20, 20},
    [MOD_lu] = {20, 20},
    [MOD_cv] = {20, 20},
    [MOD_wb] = {20, 20},
    [MOD_wt] = {20, 20},
    [MOD_nc] = {32, 31},
    [MOD_l1_evict_normal] = {70, 74},
    [MOD_l1_evict_unchanged] = {70, 74},
    [MOD_l1_evict_first] = {70, 74},
    [MOD_l1_evict_last] = {70, 74},
    [MOD_l1_no_allocate] = {70, 74},
    [MOD_l2_64b] = {75, 74},
    [MOD_l2_128b] = {75, 74},
    [MOD_l2_256b] = {80, 74},
    [MOD_l2_cache_hint] = {80, 74},
};

static bool check(struct ptx_parser *p, unsigned target, unsigned version, const char *name,
                  unsigned size)
{
    uint32_t line = p->statement.line;

    if (p->target && p->target < target)
        return ptx_fail(p, PTX_INVALID, line, "'%.*s' requires .target sm_%u or higher", (int)size,
                        name, target);
    if (p->version < version)
        return ptx_fail(p, PTX_INVALID, line, "'%.*s' requires PTX ISA .version %u.%u or later",
                        (int)size, name, version / 10, version % 10);
    return true;
}

bool ptx_check_world(struct ptx_parser *p, unsigned target, unsigned version, const char *name)
{
    return check(p, target, version, name, (unsigned)strlen(name));
}

static bool has(const struct ptx_statement *s, uint16_t mod)
{
    for (unsigned m = 0; m < s->mod_count; m++)
        if (s->mods[m] == mod)
            return true;
    return mod == NONE;
}

/* Lists instructions that some generations alone have: code for sm_90a and the like. */
static const struct family {
    const char *name;
    uint16_t mod; /* NONE: whatever they are */
    uint8_t first, last;
} families[] = {
    {"wgmma", NONE, 9, 9},       {"tcgen05", NONE, 10, 10},    {"setmaxnreg", NONE, 9, 12},
    {"redux", PTX_F32, 10, 10},  {"cvt", PTX_E2M1X2, 10, 12},  {"cvt", PTX_E2M3X2, 10, 12},
    {"cvt", PTX_E3M2X2, 10, 12}, {"cvt", PTX_UE8M0X2, 10, 12},
};

static bool is_of_family(const struct ptx_parser *p, const struct family *f)
{
    unsigned generation = p->target / 10;

    return !p->target || (p->variant && generation >= f->first && generation <= f->last);
}

static bool check_family(struct ptx_parser *p)
{
    const struct ptx_statement *s = &p->statement;
    const struct ptx_token *t = &s->opcode;

    for (size_t k = 0; k < sizeof(families) / sizeof(families[0]); k++) {
        const struct family *f = &families[k];
        if (strlen(f->name) == t->size && memcmp(f->name, t->text, t->size) == 0 &&
            has(s, f->mod) && !is_of_family(p, f))
            return ptx_fail(p, PTX_INVALID, s->line, "'%s' requires .target sm_%u0a", f->name,
                            f->first);
    }
    return true;
}

#define NEED_COUNT (sizeof(needs) / sizeof(needs[0]))

/* First need of the opcodes that share their first letter and their size; NEED_COUNT: there is
 * none. `next`: the one after it. */
#define SIZE_COUNT 24
static uint16_t first[26][SIZE_COUNT];
static uint16_t next[NEED_COUNT];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void fill(void)
{
    for (unsigned letter = 0; letter < 26; letter++)
        for (unsigned size = 0; size < SIZE_COUNT; size++)
            first[letter][size] = NEED_COUNT;
    for (size_t k = NEED_COUNT; k-- > 0;) {
        uint16_t *slot = &first[needs[k].name[0] - 'a'][strlen(needs[k].name)];
        next[k] = *slot;
        *slot = (uint16_t)k;
    }
}

static bool check_instruction(struct ptx_parser *p)
{
    const struct ptx_statement *s = &p->statement;
    const struct ptx_token *t = &s->opcode;
    unsigned letter = (unsigned)(t->text[0] - 'a');

    pthread_once(&once, fill);
    for (size_t k = letter < 26 && t->size < SIZE_COUNT ? first[letter][t->size] : NEED_COUNT;
         k < NEED_COUNT; k = next[k])
        if (memcmp(needs[k].name, t->text, t->size) == 0 && has(s, needs[k].mods[0]) &&
            has(s, needs[k].mods[1]) &&
            !check(p, needs[k].target, needs[k].version, t->text, t->size))
            return false;
    return true;
}

bool ptx_check_needs(struct ptx_parser *p)
{
    const struct ptx_statement *s = &p->statement;

    for (unsigned m = 0; m < s->mod_count; m++) {
        enum ptx_modifier mod = s->mods[m];
        const struct mod_need *need = mod < MOD_COUNT ? &mod_needs[mod] : NULL;
        if (need && need->version &&
            !check(p, need->target, need->version, s->mod_tokens[m].text, s->mod_tokens[m].size))
            return false;
    }
    return check_instruction(p) && check_family(p);
}
