/* SPDX-License-Identifier: Apache-2.0
 *
 * Which .target and .version instructions and types ask for. What the oldest machines have is not
 * listed.
 */
#include "emu/ptx/parse/parse.h"

#include <string.h>

static const struct need {
    const char *name;
    uint8_t target;
    uint8_t version; /* times 10 */
} needs[] = {
    {"activemask", 30, 62},
    {"alloca", 52, 73},
    {"applypriority", 80, 74},
    {"barrier", 30, 60},
    {"bfe", 20, 20},
    {"bfi", 20, 20},
    {"bfind", 20, 20},
    {"bmsk", 70, 76},
    {"brev", 20, 20},
    {"brx", 30, 60},
    {"clusterlaunchcontrol", 100, 86},
    {"clz", 20, 20},
    {"copysign", 20, 20},
    {"cp", 80, 70},
    {"createpolicy", 80, 74},
    {"cvta", 20, 20},
    {"discard", 80, 74},
    {"dp2a", 61, 50},
    {"dp4a", 61, 50},
    {"elect", 90, 80},
    {"fence", 70, 60},
    {"fma", 13, 14},
    {"fns", 30, 60},
    {"getctarank", 90, 78},
    {"griddepcontrol", 90, 78},
    {"isspacep", 20, 20},
    {"ldmatrix", 75, 65},
    {"lop3", 50, 43},
    {"mapa", 90, 78},
    {"match", 70, 60},
    {"mbarrier", 80, 70},
    {"mma", 70, 64},
    {"movmatrix", 75, 78},
    {"multimem", 90, 81},
    {"nanosleep", 70, 63},
    {"popc", 20, 20},
    {"prefetch", 20, 20},
    {"prefetchu", 20, 20},
    {"prmt", 20, 20},
    {"redux", 80, 70},
    {"setmaxnreg", 90, 80},
    {"shf", 32, 31},
    {"shfl", 30, 30},
    {"stackrestore", 52, 73},
    {"stacksave", 52, 73},
    {"stmatrix", 90, 78},
    {"szext", 70, 76},
    {"tanh", 75, 70},
    {"tcgen05", 100, 86},
    {"tensormap", 90, 83},
    {"testp", 20, 20},
    {"vabsdiff", 20, 20},
    {"vabsdiff2", 30, 30},
    {"vabsdiff4", 30, 30},
    {"vadd", 20, 20},
    {"vadd2", 30, 30},
    {"vadd4", 30, 30},
    {"vavrg2", 30, 30},
    {"vavrg4", 30, 30},
    {"vmad", 20, 20},
    {"vmax", 20, 20},
    {"vmax2", 30, 30},
    {"vmax4", 30, 30},
    {"vmin", 20, 20},
    {"vmin2", 30, 30},
    {"vmin4", 30, 30},
    {"vote", 12, 12},
    {"vset", 20, 20},
    {"vset2", 30, 30},
    {"vset4", 30, 30},
    {"vshl", 20, 20},
    {"vshr", 20, 20},
    {"vsub", 20, 20},
    {"vsub2", 30, 30},
    {"vsub4", 30, 30},
    {"wgmma", 90, 80},
    {"wmma", 70, 60},
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

/* Lists instructions that one generation alone has: code for sm_90a and the like. */
static const struct {
    const char *name;
    uint8_t generation;
} families[] = {
    {"wgmma", 9},
    {"tcgen05", 10},
};

static bool check_family(struct ptx_parser *p)
{
    const struct ptx_token *t = &p->statement.opcode;

    for (size_t k = 0; k < sizeof(families) / sizeof(families[0]); k++)
        if (strlen(families[k].name) == t->size && memcmp(families[k].name, t->text, t->size) == 0 &&
            p->target && !(p->variant && p->target / 10 == families[k].generation))
            return ptx_fail(p, PTX_INVALID, p->statement.line, "'%s' requires .target sm_%u0a",
                            families[k].name, families[k].generation);
    return true;
}

bool ptx_check_world(struct ptx_parser *p, unsigned target, unsigned version, const char *name)
{
    return check(p, target, version, name, (unsigned)strlen(name));
}

bool ptx_check_needs(struct ptx_parser *p)
{
    const struct ptx_statement *s = &p->statement;
    const struct ptx_token *t = &s->opcode;

    for (size_t k = 0; k < sizeof(needs) / sizeof(needs[0]); k++)
        if (needs[k].name[0] == t->text[0] && strlen(needs[k].name) == t->size &&
            memcmp(needs[k].name, t->text, t->size) == 0 &&
            !check(p, needs[k].target, needs[k].version, t->text, t->size))
            return false;
    for (unsigned m = 0; m < s->mod_count; m++) {
        enum ptx_modifier mod = s->mods[m];
        const struct mod_need *need = mod < MOD_COUNT ? &mod_needs[mod] : NULL;
        if (need && need->version &&
            !check(p, need->target, need->version, s->mod_tokens[m].text, s->mod_tokens[m].size))
            return false;
    }
    return check_family(p);
}
