/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/code/show.h"

#include "tools/terminal.h"
#include "tools/text/kernel_name.h"

#include <inttypes.h>
#include <stdio.h>

bool tsm_code_kernel_is_wanted(const struct tsm_code_kernel *kernel, const char *pattern)
{
    return !pattern || tsm_kernel_name_matches(pattern, kernel->name);
}

bool tsm_code_is_wanted(const struct tsm_code *code, const char *pattern)
{
    for (size_t i = 0; pattern && i < code->member_count; i++)
        for (size_t k = 0; k < code->members[i].count; k++)
            if (tsm_code_kernel_is_wanted(&code->members[i].kernels[k], pattern))
                return true;
    return !pattern;
}

/* ---- text -------------------------------------------------------------------------------------
 */

static void print_kind(const struct tsm_code_member *member)
{
    printf("%s", tsm_code_kind_name(member->kind));
    if (*member->version)
        printf(" %s", tsm_clean(member->version));
    if (*member->target)
        printf(" for %s", tsm_clean(member->target));
}

void tsm_code_print_head(const struct tsm_code *code)
{
    printf("%s%s%s  ", tsm_paint(TSM_PAINT_BOLD), *code->hash ? code->hash : "-",
           tsm_paint(TSM_PAINT_NONE));
    if (code->member_count == 1 && code->kind != TSM_CODE_FATBIN)
        print_kind(&code->members[0]);
    else
        printf("%s", tsm_code_kind_name(code->kind));
    printf(", %" PRIu64 " bytes, record %" PRIu64 " %s", code->size, code->seq,
           tsm_clean(code->call));
    printf(", %s#%" PRIu64, tsm_clean(code->type), code->id);
    if (code->count > 1)
        printf(", %" PRIu64 " times", code->count);
    printf("\n");
}

static void print_number(const char **comma, uint32_t value, const char *what)
{
    if (value == TSM_CODE_NUMBER_UNKNOWN)
        return;
    printf("%s%" PRIu32 " %s", *comma, value, what);
    *comma = ", ";
}

static void print_resources(const struct tsm_code_kernel *k)
{
    const char *comma = "      ";

    print_number(&comma, k->registers, "registers");
    print_number(&comma, k->scalar_registers, "scalar registers");
    print_number(&comma, k->shared, "bytes shared");
    print_number(&comma, k->local, "bytes local");
    print_number(&comma, k->constant, "bytes constant");
    print_number(&comma, k->max_threads, "threads at most");
    if (k->block[0] != TSM_CODE_NUMBER_UNKNOWN) {
        printf("%sblock %" PRIu32 " x %" PRIu32 " x %" PRIu32 " required", comma, k->block[0],
               k->block[1], k->block[2]);
        comma = "";
    }
    if (comma[0] != ' ' || comma[1] != ' ')
        printf("\n");
}

static void print_launches(const struct tsm_code_kernel *k)
{
    if (!k->launch_count && !k->node_count) {
        printf("  not launched");
        return;
    }
    printf("  ");
    if (k->launch_count)
        printf("%" PRIu64 " launch%s", k->launch_count, k->launch_count == 1 ? "" : "es");
    if (k->node_count)
        printf("%s%" PRIu64 " graph node%s", k->launch_count ? ", " : "", k->node_count,
               k->node_count == 1 ? "" : "s");
    printf(", first record %" PRIu64, k->first_seq);
}

static void print_kernel(const struct tsm_code_kernel *k)
{
    printf("  %s%s%s", tsm_paint(TSM_PAINT_NAME), tsm_clean(k->name), tsm_paint(TSM_PAINT_NONE));
    if (k->plain)
        printf("  %s", tsm_clean(k->plain));
    print_launches(k);
    printf("\n");
    print_resources(k);
    for (uint32_t i = 0; i < k->param_count; i++)
        printf("      parameter %" PRIu32 " at %" PRIu32 ": %s, %" PRIu32 " bytes\n", i,
               k->params[i].offset, tsm_clean(k->params[i].kind), k->params[i].size);
    if (!k->has_params)
        printf("      parameters unknown\n");
}

void tsm_code_print_member(const struct tsm_code *code, const struct tsm_code_member *member,
                           const char *pattern)
{
    if (code->kind == TSM_CODE_FATBIN) {
        printf("  member %zu: ", (size_t)(member - code->members));
        print_kind(member);
        printf(", %" PRIu64 " bytes%s\n", member->size, member->is_packed ? ", compressed" : "");
    }
    for (size_t i = 0; i < member->count; i++)
        if (tsm_code_kernel_is_wanted(&member->kernels[i], pattern))
            print_kernel(&member->kernels[i]);
}

/* ---- JSON -------------------------------------------------------------------------------------
 */

static void json_number(struct tsm_json *j, const char *name, uint32_t value)
{
    if (value == TSM_CODE_NUMBER_UNKNOWN)
        tsm_json_put_string(j, name, NULL);
    else
        tsm_json_put_u64(j, name, value);
}

static void json_params(struct tsm_json *j, const struct tsm_code_kernel *k)
{
    if (!k->has_params) {
        tsm_json_put_string(j, "parameters", NULL);
        return;
    }
    tsm_json_put_open(j, "parameters", '[');
    for (uint32_t i = 0; i < k->param_count; i++) {
        tsm_json_open(j, '{');
        tsm_json_put_u64(j, "offset", k->params[i].offset);
        tsm_json_put_u64(j, "size", k->params[i].size);
        tsm_json_put_string(j, "kind", k->params[i].kind);
        tsm_json_close(j, '}');
    }
    tsm_json_close(j, ']');
}

static void json_block(struct tsm_json *j, const struct tsm_code_kernel *k)
{
    if (k->block[0] == TSM_CODE_NUMBER_UNKNOWN) {
        tsm_json_put_string(j, "required_block", NULL);
        return;
    }
    tsm_json_put_open(j, "required_block", '[');
    for (unsigned i = 0; i < 3; i++)
        tsm_json_u64(j, k->block[i]);
    tsm_json_close(j, ']');
}

static void json_kernel(struct tsm_json *j, const struct tsm_code_kernel *k)
{
    const bool is_launched = k->launch_count || k->node_count;

    tsm_json_open(j, '{');
    tsm_json_put_string(j, "name", k->name);
    tsm_json_put_string(j, "demangled", k->plain);
    json_params(j, k);
    json_number(j, "registers", k->registers);
    json_number(j, "scalar_registers", k->scalar_registers);
    json_number(j, "shared_bytes", k->shared);
    json_number(j, "local_bytes", k->local);
    json_number(j, "constant_bytes", k->constant);
    json_number(j, "max_threads", k->max_threads);
    json_block(j, k);
    tsm_json_put_u64(j, "launch_count", k->launch_count);
    tsm_json_put_u64(j, "node_count", k->node_count);
    if (is_launched)
        tsm_json_put_u64(j, "first_seq", k->first_seq);
    else
        tsm_json_put_string(j, "first_seq", NULL);
    tsm_json_close(j, '}');
}

static void json_member(struct tsm_json *j, const struct tsm_code_member *member,
                        const char *pattern)
{
    tsm_json_open(j, '{');
    tsm_json_put_string(j, "kind", tsm_code_kind_name(member->kind));
    tsm_json_put_string(j, "version", *member->version ? member->version : NULL);
    tsm_json_put_string(j, "target", *member->target ? member->target : NULL);
    tsm_json_put_u64(j, "size", member->size);
    tsm_json_put_bool(j, "compressed", member->is_packed);
    tsm_json_put_open(j, "kernels", '[');
    for (size_t i = 0; i < member->count; i++)
        if (tsm_code_kernel_is_wanted(&member->kernels[i], pattern))
            json_kernel(j, &member->kernels[i]);
    tsm_json_close(j, ']');
    tsm_json_close(j, '}');
}

void tsm_code_json(struct tsm_json *j, const struct tsm_code *code, const char *pattern)
{
    tsm_json_open(j, '{');
    tsm_json_put_string(j, "hash", *code->hash ? code->hash : NULL);
    tsm_json_put_string(j, "kind", tsm_code_kind_name(code->kind));
    tsm_json_put_u64(j, "size", code->size);
    tsm_json_put_u64(j, "seq", code->seq);
    tsm_json_put_string(j, "call", code->call);
    tsm_json_put_string(j, "object_type", code->type);
    tsm_json_put_u64(j, "object", code->id);
    tsm_json_put_u64(j, "count", code->count);
    tsm_json_put_open(j, "members", '[');
    for (size_t i = 0; i < code->member_count; i++)
        json_member(j, &code->members[i], pattern);
    tsm_json_close(j, ']');
    tsm_json_close(j, '}');
}
