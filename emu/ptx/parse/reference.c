/* SPDX-License-Identifier: Apache-2.0
 *
 * Variables that name textures, surfaces and samplers. The driver binds the first two by their
 * address; a sampler's bytes are a struct ptx_sampler.
 */
#include "emu/ptx/parse/parse.h"

#include <stdlib.h>
#include <string.h>

#define REFERENCE_SIZE ((sizeof(struct ptx_sampler) + 7) / 8 * 8)

bool ptx_reference_type(struct ptx_declaration *d, enum ptx_modifier word)
{
    switch (word) {
    case MOD_texref:
        d->kind = PTX_VARIABLE_TEXREF;
        break;
    case MOD_surfref:
        d->kind = PTX_VARIABLE_SURFREF;
        break;
    case MOD_samplerref:
        d->kind = PTX_VARIABLE_SAMPLERREF;
        break;
    default:
        return false;
    }
    d->type = PTX_B64; /* as a parameter: a handle */
    return true;
}

static bool is_word(const struct ptx_token *t, const char *word)
{
    return t->kind == PTX_TOKEN_NAME && t->size == strlen(word) &&
           memcmp(t->text, word, t->size) == 0;
}

static int find_word(const struct ptx_token *t, const char *const *words)
{
    for (int k = 0; words[k]; k++)
        if (is_word(t, words[k]))
            return k;
    return -1;
}

/* clamp_ogl is clamp_to_edge for what this engine samples. */
static bool set_address(struct ptx_sampler *s, unsigned axis, const struct ptx_token *t)
{
    static const char *const words[] = {"wrap",          "mirror",          "clamp_ogl",
                                        "clamp_to_edge", "clamp_to_border", NULL};
    static const uint8_t modes[] = {PTX_ADDRESS_WRAP, PTX_ADDRESS_MIRROR, PTX_ADDRESS_CLAMP,
                                    PTX_ADDRESS_CLAMP, PTX_ADDRESS_BORDER};
    int mode = find_word(t, words);

    if (mode >= 0)
        s->address[axis] = modes[mode];
    return mode >= 0;
}

/* One "name = value" of a sampler; of textures and surfaces the values are the driver's business.
 */
static bool parse_field(struct ptx_parser *p, struct ptx_sampler *s)
{
    static const char *const names[] = {
        "addr_mode_0", "addr_mode_1", "addr_mode_2", "filter_mode", "force_unnormalized_coords",
        NULL};
    static const char *const filters[] = {"nearest", "linear", NULL};
    int name = find_word(&p->lexer.token, names);
    int filter;

    ptx_lexer_next(&p->lexer);
    if (!ptx_expect(p, '='))
        return false;
    const struct ptx_token value = p->lexer.token;
    ptx_lexer_next(&p->lexer);
    switch (name) {
    case 0:
    case 1:
    case 2:
        return set_address(s, (unsigned)name, &value) ||
               ptx_fail(p, PTX_INVALID, value.line, "unknown address mode '%.*s'", (int)value.size,
                        value.text);
    case 3:
        filter = find_word(&value, filters);
        s->is_linear = filter == 1;
        return filter >= 0 || ptx_fail(p, PTX_INVALID, value.line, "unknown filter mode '%.*s'",
                                       (int)value.size, value.text);
    case 4:
        s->is_normalized = value.value == 0;
        return true;
    default:
        return true;
    }
}

bool ptx_parse_reference(struct ptx_parser *p, struct ptx_var *var)
{
    struct ptx_sampler sampler = {.is_normalized = true, .lod_max = 1000};

    for (unsigned k = 0; k < 3; k++)
        sampler.address[k] = PTX_ADDRESS_CLAMP;
    var->info.size = REFERENCE_SIZE;
    var->info.align = 16;
    if (ptx_lexer_take(&p->lexer, '=')) {
        if (!ptx_expect(p, '{'))
            return false;
        do {
            if (!parse_field(p, &sampler))
                return false;
        } while (ptx_lexer_take(&p->lexer, ','));
        if (!ptx_expect(p, '}'))
            return false;
    }
    if (var->info.kind != PTX_VARIABLE_SAMPLERREF)
        return true;
    free(var->init);
    var->init = calloc(1, REFERENCE_SIZE);
    if (!var->init)
        return ptx_fail_memory(p);
    var->init_size = REFERENCE_SIZE;
    memcpy(var->init, &sampler, sizeof(sampler));
    return true;
}
