/* SPDX-License-Identifier: Apache-2.0
 *
 * Special registers: %tid and the like.
 */
#include "emu/ptx/exec/special.h"
#include "emu/ptx/parse/parse.h"

#include <stdio.h>
#include <string.h>

static const char *const special_names[PTX_SPECIAL_COUNT] = {
#define X(id, name) [PTX_SPECIAL_##id] = name,
    PTX_SPECIALS32(X)
#undef X
};

static const struct {
    const char *name;
    ptx_type type;
    uint8_t fetch;
} fetches[] = {
    {"%clock", PTX_U32, PTX_FETCH_CLOCK},
    {"%clock_hi", PTX_U32, PTX_FETCH_CLOCK_HI},
    {"%clock64", PTX_U64, PTX_FETCH_CLOCK64},
    {"%globaltimer", PTX_U64, PTX_FETCH_GLOBALTIMER},
    {"%globaltimer_lo", PTX_U32, PTX_FETCH_GLOBALTIMER_LO},
    {"%globaltimer_hi", PTX_U32, PTX_FETCH_GLOBALTIMER_HI},
};

/* Requirements of special registers, by the begin of the name. */
static const struct {
    const char *begin;
    uint8_t target;
    uint8_t version; /* times 10 */
} needs[] = {
    {"%laneid", 0, 13},
    {"%warpid", 0, 13},
    {"%nwarpid", 20, 20},
    {"%smid", 0, 13},
    {"%nsmid", 20, 20},
    {"%lanemask_", 20, 20},
    {"%clock_hi", 20, 50},
    {"%clock64", 20, 20},
    {"%globaltimer", 30, 31},
    {"%total_smem_size", 20, 41},
    {"%aggr_smem_size", 90, 81},
    {"%dynamic_smem_size", 20, 41},
    {"%cluster", 90, 78},
    {"%ncluster", 90, 78},
    {"%reserved_smem_offset_", 80, 76},
    {"%current_graph_exec", 50, 80},
    {"%is_explicit_cluster", 90, 78},
};

static bool check_needs(struct ptx_parser *p, const char *name)
{
    for (size_t k = 0; k < sizeof(needs) / sizeof(needs[0]); k++)
        if (strncmp(name, needs[k].begin, strlen(needs[k].begin)) == 0)
            return ptx_check_world(p, needs[k].target, needs[k].version, name);
    return true;
}

/* %pm0 to %pm7, and %pm0_64. */
static bool parse_counter(struct ptx_parser *p, struct ptx_operand *o, const char *name)
{
    if (strncmp(name, "%pm", 3) != 0 || name[3] < '0' || name[3] > '7')
        return false;
    bool wide = strcmp(name + 4, "_64") == 0;
    if (name[4] && !wide)
        return false;
    ptx_check_world(p,
                    wide            ? 50
                    : name[3] > '3' ? 20
                                    : 0,
                    wide            ? 40
                    : name[3] > '3' ? 30
                                    : 13,
                    name);
    o->type = wide ? PTX_U64 : PTX_U32;
    o->fetch = PTX_FETCH_PM;
    return true;
}

/* %envreg0 to %envreg31 are 0, but for 1 and 2: a cooperative launch has its workspace there. */
static bool is_plain_envreg(const char *name, uint32_t size)
{
    if (size < 8 || size > 9 || memcmp(name, "%envreg", 7) != 0 || name[7] < '0' || name[7] > '9')
        return false;
    return size == 9 || (name[7] != '1' && name[7] != '2');
}

static bool parse_fetched(struct ptx_operand *o, const char *name)
{
    for (size_t i = 0; i < sizeof(fetches) / sizeof(fetches[0]); i++)
        if (strcmp(name, fetches[i].name) == 0) {
            o->type = fetches[i].type;
            o->fetch = (int8_t)fetches[i].fetch;
            return true;
        }
    return false;
}

/* %current_graph_exec: no launch is a graph's own; and %gridid. */
static bool parse_wide(struct ptx_parser *p, struct ptx_operand *o, const char *name)
{
    o->is_grid = strcmp(name, "%gridid") == 0;
    if (!o->is_grid && strcmp(name, "%current_graph_exec") != 0)
        return false;
    o->op = o->is_grid ? PTX_SPECIAL_GRIDID * 128u | PTX_BASE_SPECIAL : ptx_pool_value(p, 0, 8);
    o->type = PTX_U64;
    return true;
}

/* %tid, or %tid.x, whose component's token is taken; the fourth one is 0. */
static bool parse_vector(struct ptx_parser *p, struct ptx_operand *o, const char *name)
{
    const unsigned which = ptx_component(&p->lexer.token);
    char first[40];
    unsigned i = 0;

    snprintf(first, sizeof(first), "%s.x", name);
    while (i < PTX_SPECIAL_COUNT && strcmp(first, special_names[i]) != 0)
        i++;
    if (i == PTX_SPECIAL_COUNT)
        return false;
    o->type = PTX_U32;
    o->op = which == 3 ? ptx_pool_value(p, 0, 4)
                       : ptx_special_op((enum ptx_special)(i + (which < 3 ? which : 0)));
    o->is_component = which < 4;
    o->vector = which < 4 ? 0 : 4;
    if (which < 4)
        ptx_lexer_next(&p->lexer);
    return true;
}

static bool parse_plain(struct ptx_parser *p, struct ptx_operand *o, const char *name)
{
    for (unsigned i = 0; i < PTX_SPECIAL_COUNT; i++) {
        if (strcmp(name, special_names[i]) != 0)
            continue;
        p->module->uses_reserved |=
            i >= PTX_SPECIAL_RESERVED_SMEM_BEGIN && i <= PTX_SPECIAL_RESERVED_SMEM_1;
        o->op = ptx_special_op(i);
        o->type = i == PTX_SPECIAL_IS_EXPLICIT_CLUSTER ? PTX_PRED : PTX_U32;
        return true;
    }
    return false;
}

bool ptx_parse_special(struct ptx_parser *p, struct ptx_operand *o)
{
    char name[32];
    uint32_t size = o->token.size;

    if (size + 3 > sizeof(name))
        return false;
    memcpy(name, o->token.text, size);
    if (is_plain_envreg(name, size))
        size = 7;
    name[size] = 0;
    o->kind = PTX_OPERAND_REG;
    if (parse_counter(p, o, name))
        return true;
    if (!parse_fetched(o, name)) {
        o->is_special = true;
        if (!parse_wide(p, o, name) && !parse_vector(p, o, name) && !parse_plain(p, o, name))
            return false;
    }
    check_needs(p, name);
    return true;
}

unsigned ptx_component(const struct ptx_token *t)
{
    static const char letters[] = "xyzwrgba";

    if (t->kind != PTX_TOKEN_DOT || t->size != 1 || !strchr(letters, t->text[0]))
        return PTX_COMPONENT_NONE;
    return (unsigned)(strchr(letters, t->text[0]) - letters) % 4;
}
