/* SPDX-License-Identifier: Apache-2.0
 *
 * Parameters of the entry functions of a PTX text. We read tokens and know only what may stand in a
 * parameter list: .param, .align N, .ptr and state spaces, a type, .v2/.v4, a name, [N]. Offsets
 * follow the ABI: each parameter at the next multiple of its alignment.
 */
#include "api/cuda/image.h"
#include "api/cuda/ptx_scan.h"

#include <string.h>

struct param {
    uint32_t size, align, count;
    enum cuda_param_type type;
};

/* Returns the type of one value; vectors and arrays are bits. */
static enum cuda_param_type type_of(const struct cuda_ptx_token *token)
{
    if (token->text[1] == 'u')
        return CUDA_PARAM_UNSIGNED;
    if (token->text[1] == 's' && token->text[2] != 'a' &&
        token->text[2] != 'u') /* .samplerref, .surfref */
        return CUDA_PARAM_SIGNED;
    return cuda_ptx_is(token, ".f32") || cuda_ptx_is(token, ".f64") ? CUDA_PARAM_FLOAT
                                                                    : CUDA_PARAM_BITS;
}

/* One parameter, up to its comma or the list's end. False: no parameter stands here. */
static bool read_param(struct cuda_ptx_scanner *s, struct param *param, bool *last)
{
    struct cuda_ptx_token token = cuda_ptx_next(s);

    *param = (struct param){0, 0, 1, CUDA_PARAM_BITS};
    *last = cuda_ptx_is(&token, ")");
    if (*last)
        return false;
    for (;; token = cuda_ptx_next(s)) {
        if (token.size == 0)
            return false;
        if (cuda_ptx_is(&token, ",") || cuda_ptx_is(&token, ")")) {
            *last = cuda_ptx_is(&token, ")");
            break;
        }
        if (cuda_ptx_is(&token, ".ptr")) {
            param->type = CUDA_PARAM_POINTER;
            /* The rest describes the memory that the parameter points to. */
            while (token.size && !cuda_ptx_is(&token, ",") && !cuda_ptx_is(&token, ")"))
                token = cuda_ptx_next(s);
            *last = cuda_ptx_is(&token, ")");
            break;
        }
        if (cuda_ptx_is(&token, ".align")) {
            token = cuda_ptx_next(s);
            param->align = cuda_ptx_number(&token);
        } else if (cuda_ptx_is(&token, ".v2") || cuda_ptx_is(&token, ".v4")) {
            param->count *= (uint32_t)(token.text[2] - '0');
        } else if (cuda_ptx_is(&token, "[")) {
            token = cuda_ptx_next(s);
            param->count *= cuda_ptx_number(&token);
        } else if (cuda_ptx_type_size(&token)) {
            param->size = cuda_ptx_type_size(&token);
            param->type = type_of(&token);
        }
    }
    return param->size > 0;
}

/* The list after an entry's name. False when we do not understand it. */
static bool read_list(struct cuda_ptx_scanner *s, struct cuda_signature *signature,
                      struct cuda_param *params)
{
    struct param param;
    uint64_t offset = 0;
    bool last = false;

    while (!last && read_param(s, &param, &last)) {
        uint64_t size = (uint64_t)param.size * param.count;
        uint32_t align = param.align ? param.align : param.size;

        offset = (offset + align - 1) / align * align;
        if (signature->count >= CUDA_PARAM_COUNT_MAX || offset + size > CUDA_PARAM_OFFSET_MAX)
            return false;
        params[signature->count].offset = (uint16_t)offset;
        params[signature->count].type = param.count == 1 ? (uint16_t)param.type : CUDA_PARAM_BITS;
        params[signature->count++].size = (uint16_t)size;
        offset += size;
    }
    return last;
}

void cuda_ptx_functions(const char *text, size_t size, struct cuda_image_visitor *visitor)
{
    struct cuda_ptx_scanner s = {text, text + size};
    struct cuda_ptx_token token;

    while ((token = cuda_ptx_next(&s)).size) {
        struct cuda_signature signature = {.params = visitor->params};
        struct cuda_ptx_scanner ahead;

        if (!cuda_ptx_is(&token, ".entry"))
            continue;
        token = cuda_ptx_next(&s);
        signature.name = token.text;
        signature.name_size = token.size;
        ahead = s;
        token = cuda_ptx_next(&ahead);
        if (cuda_ptx_is(&token, "(") && !read_list(&ahead, &signature, visitor->params))
            continue;
        visitor->visit(visitor->context, &signature);
        visitor->count++;
        s = ahead;
    }
}

/* ---- variables ---------------------------------------------------------------------------------
 */

/* After ".global" or ".const": up to the name. Size 0: nothing that has bytes stands here. */
static struct cuda_ptx_token variable_name(struct cuda_ptx_scanner *s)
{
    struct cuda_ptx_token token = cuda_ptx_next(s);

    for (; token.size && !cuda_ptx_is(&token, ";"); token = cuda_ptx_next(s)) {
        if (cuda_ptx_is(&token, ".texref") || cuda_ptx_is(&token, ".samplerref") ||
            cuda_ptx_is(&token, ".surfref"))
            break;
        if (cuda_ptx_is(&token, ".align")) {
            cuda_ptx_next(s);
        } else if (cuda_ptx_is(&token, "(")) { /* of .attribute */
            while (token.size && !cuda_ptx_is(&token, ")"))
                token = cuda_ptx_next(s);
        } else if (token.text[0] != '.') {
            return token;
        }
    }
    return (struct cuda_ptx_token){NULL, 0};
}

/* Only what stands outside of functions: there ".global" begins a variable. */
void cuda_ptx_variables(const char *text, size_t size, struct cuda_image_visitor *visitor)
{
    struct cuda_ptx_scanner s = {text, text + size};
    bool is_extern = false;
    int depth = 0;

    for (struct cuda_ptx_token token = cuda_ptx_next(&s); token.size; token = cuda_ptx_next(&s)) {
        bool begins =
            depth == 0 && (cuda_ptx_is(&token, ".global") || cuda_ptx_is(&token, ".const"));

        depth += cuda_ptx_is(&token, "{") || cuda_ptx_is(&token, "(");
        depth -= cuda_ptx_is(&token, "}") || cuda_ptx_is(&token, ")");
        if (begins && !is_extern) {
            struct cuda_ptx_token name = variable_name(&s);
            if (name.size) {
                visitor->visit_variable(visitor->context, name.text, name.size);
                visitor->count++;
            }
        }
        is_extern = cuda_ptx_is(&token, ".extern");
    }
}
