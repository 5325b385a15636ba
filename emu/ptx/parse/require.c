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
static const struct {
    uint16_t mod;
    uint8_t target;
    uint8_t version;
} mod_needs[] = {
    {PTX_F64, 13, 10},      {PTX_F16, 20, 20},
    {PTX_F16X2, 53, 42},    {PTX_BF16, 80, 70},
    {PTX_BF16X2, 80, 70},   {PTX_TF32, 80, 70},
    {PTX_F32X2, 100, 86},   {PTX_E4M3X2, 89, 78},
    {PTX_E5M2X2, 89, 78},   {PTX_E4M3, 89, 84},
    {PTX_E5M2, 89, 84},     {PTX_E2M1X2, 100, 86},
    {PTX_E2M3X2, 100, 86},  {PTX_E3M2X2, 100, 86},
    {PTX_UE8M0X2, 100, 86}, {PTX_U16X2, 90, 80},
    {PTX_S16X2, 90, 80},    {MOD_v8, 100, 88},
    {MOD_bulk, 90, 80},     {MOD_cluster, 90, 78},
    {PTX_B128, 70, 83},     {MOD_shared_cluster, 90, 78},
    {MOD_tile_gather4, 100, 86}, {MOD_tile_scatter4, 100, 86},
    {MOD_rs, 100, 87}, {MOD_cta_group_1, 100, 86}, {MOD_cta_group_2, 100, 86},
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

/* Instructions that one generation has and others do not: code for sm_90a and the like. */
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

/* atom and red, whose vectors are older than those of ld and st. */
static bool is_update(const struct ptx_token *opcode)
{
    return opcode->text[0] == 'a' || opcode->text[0] == 'r';
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
    for (unsigned m = 0; m < s->mod_count; m++)
        for (size_t k = 0; k < sizeof(mod_needs) / sizeof(mod_needs[0]); k++)
            if (s->mods[m] == mod_needs[k].mod && !(s->mods[m] == MOD_v8 && is_update(t)) &&
                !check(p, mod_needs[k].target, mod_needs[k].version, s->mod_tokens[m].text,
                       s->mod_tokens[m].size))
                return false;
    return check_family(p);
}
