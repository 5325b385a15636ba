/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/command.h"

#include "api/vulkan/tables/spirv.h"
#include "base/output_file.h"
#include "base/text.h"
#include "tools/terminal.h"
#include "tools/text/disassemble.h"
#include "tools/text/json_out.h"
#include "tools/trace_open.h"
#include "api/vulkan/view/shader_list.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct shaders_values {
    const char *output, *only;
    bool disassemble, json;
};

static const struct tsm_option options[] = {
    {.name = "output",
     .letter = 'o',
     .type = TSM_OPTION_NEW,
     .offset = TSM_FIELD(shaders_values, output),
     .argument = "DIR",
     .help = "Write each module to DIR/HASH.spv; with --disassemble its text to DIR/HASH.spvasm."},
    {.name = "disassemble",
     .letter = 'd',
     .type = TSM_OPTION_FLAG,
     .offset = TSM_FIELD(shaders_values, disassemble),
     .help = "Also show each module's instructions. Needs the program spirv-dis (Debian: "
             "spirv-tools)."},
    {.name = "only",
     .type = TSM_OPTION_TEXT,
     .offset = TSM_FIELD(shaders_values, only),
     .argument = "HASH",
     .help = "Only the modules whose hash begins with HASH."},
    {.name = "json",
     .type = TSM_OPTION_FLAG,
     .offset = TSM_FIELD(shaders_values, json),
     .help = "One JSON object, schema \"tsshaders/1\"."},
    {0},
};

/* ---- text ------------------------------------------------------------------------------------ */

static void print_entry(const struct spirv_entry *e)
{
    printf("  %s%s%s (%s", tsm_paint(TSM_PAINT_NAME), tsm_clean(e->name), tsm_paint(TSM_PAINT_NONE),
           spirv_model_name(e->model));
    if (e->has_local_size)
        printf(", local size %" PRIu32 " x %" PRIu32 " x %" PRIu32, e->local_size[0],
               e->local_size[1], e->local_size[2]);
    printf(")\n");
}

static void print_names(const char *name, const char *type)
{
    if (*name || *type)
        printf(" %s%s%s", tsm_clean(name), *name && *type ? ": " : "", tsm_clean(type));
    printf("\n");
}

static void print_binding(const struct spirv_binding *b)
{
    printf("  set %" PRIu32 " binding %" PRIu32 "  %s", b->set, b->binding, b->type);
    if (b->count == 0)
        printf("[]");
    else if (b->count > 1)
        printf("[%" PRIu64 "]", b->count);
    print_names(b->name, b->type_name);
}

static void print_shader(const struct tsm_shader *s, const struct spirv_module *m)
{
    printf("%s%s%s  %zu bytes, SPIR-V %u.%u, record %" PRIu64, tsm_paint(TSM_PAINT_BOLD), s->hash,
           tsm_paint(TSM_PAINT_NONE), s->size, m->version >> 16 & 0xff, m->version >> 8 & 0xff,
           s->seq);
    if (s->module)
        printf(", " TSM_SHADER_MODULE "#%" PRIu64, s->module);
    if (s->count > 1)
        printf(", %" PRIu64 " times", s->count);
    printf("\n");
    for (uint32_t i = 0; i < m->entry_count; i++)
        print_entry(&m->entries[i]);
    for (uint32_t i = 0; i < m->binding_count; i++)
        print_binding(&m->bindings[i]);
    for (uint32_t i = 0; i < m->push_count; i++) {
        printf("  push constants  %" PRIu64 " bytes", m->pushes[i].size);
        print_names(m->pushes[i].name, m->pushes[i].type_name);
    }
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void json_entries(struct tsm_json *j, const struct spirv_module *m)
{
    tsm_json_name(j, "entry_points");
    tsm_json_open(j, '[');
    for (uint32_t i = 0; i < m->entry_count; i++) {
        const struct spirv_entry *e = &m->entries[i];
        tsm_json_open(j, '{');
        tsm_json_put_string(j, "name", e->name);
        tsm_json_put_string(j, "stage", spirv_model_name(e->model));
        if (e->has_local_size) {
            tsm_json_name(j, "local_size");
            tsm_json_open(j, '[');
            for (int d = 0; d < 3; d++)
                tsm_json_u64(j, e->local_size[d]);
            tsm_json_close(j, ']');
        }
        tsm_json_close(j, '}');
    }
    tsm_json_close(j, ']');
}

static void json_bindings(struct tsm_json *j, const struct spirv_module *m)
{
    tsm_json_name(j, "bindings");
    tsm_json_open(j, '[');
    for (uint32_t i = 0; i < m->binding_count; i++) {
        const struct spirv_binding *b = &m->bindings[i];
        tsm_json_open(j, '{');
        tsm_json_put_u64(j, "set", b->set);
        tsm_json_put_u64(j, "binding", b->binding);
        tsm_json_put_string(j, "type", b->type);
        tsm_json_put_u64(j, "count", b->count);
        tsm_json_put_string(j, "name", b->name);
        tsm_json_put_string(j, "type_name", b->type_name);
        tsm_json_close(j, '}');
    }
    tsm_json_close(j, ']');
    tsm_json_name(j, "push_constants");
    tsm_json_open(j, '[');
    for (uint32_t i = 0; i < m->push_count; i++) {
        tsm_json_open(j, '{');
        tsm_json_put_u64(j, "size", m->pushes[i].size);
        tsm_json_put_string(j, "name", m->pushes[i].name);
        tsm_json_put_string(j, "type_name", m->pushes[i].type_name);
        tsm_json_close(j, '}');
    }
    tsm_json_close(j, ']');
}

static void json_shader(struct tsm_json *j, const struct tsm_shader *s,
                        const struct spirv_module *m, bool is_module)
{
    tsm_json_open(j, '{');
    tsm_json_put_string(j, "hash", s->hash);
    tsm_json_put_u64(j, "size", s->size);
    tsm_json_put_u64(j, "seq", s->seq);
    tsm_json_put_u64(j, "module", s->module);
    tsm_json_put_u64(j, "count", s->count);
    tsm_json_put_bool(j, "is_spirv", is_module);
    tsm_json_put_u64(j, "version", m->version);
    json_entries(j, m);
    json_bindings(j, m);
    tsm_json_close(j, '}');
}

/* ---- files ----------------------------------------------------------------------------------- */

static int write_shader(const struct shaders_values *v, const struct tsm_shader *s)
{
    char path[PATH_MAX];

    tsm_format(path, sizeof(path), "%s/%s.spv", v->output, s->hash);
    if (tsm_output_file_put(path, s->words, s->size) < 0)
        return tsm_complain_error();
    if (!v->disassemble)
        return TSM_EXIT_OK;
    tsm_format(path, sizeof(path), "%s/%s.spvasm", v->output, s->hash);
    return tsm_disassemble(s->words, s->size, path) < 0 ? tsm_complain_error() : TSM_EXIT_OK;
}

static int show(const struct shaders_values *v, const struct tsm_shader *s, struct tsm_json *json)
{
    static struct spirv_module m;
    bool is_module = spirv_reflect(&m, s->words, s->size);

    if (json)
        json_shader(json, s, &m, is_module);
    else
        print_shader(s, &m);
    if (!is_module)
        tsm_note("%s: no SPIR-V that adds up", s->hash);
    if (v->output)
        return write_shader(v, s);
    if (v->disassemble && !json && tsm_disassemble(s->words, s->size, NULL) < 0)
        return tsm_complain_error();
    return TSM_EXIT_OK;
}

/* ---- the command ----------------------------------------------------------------------------- */

static int show_all(const struct shaders_values *v, const struct tsm_shader_list *list,
                    const char *trace)
{
    struct tsm_json json = {.out = stdout};
    size_t shown = 0;
    int status = TSM_EXIT_OK;

    if (v->output && mkdir(v->output, 0777) < 0 && errno != EEXIST)
        return tsm_complain("%s: cannot be made: %s", v->output, tsm_errno_text(errno));
    if (v->json) {
        tsm_json_begin(&json, "tsshaders/1");
        tsm_json_put_string(&json, "trace", trace);
        tsm_json_name(&json, "shaders");
        tsm_json_open(&json, '[');
    }
    for (size_t i = 0; i < list->count && status == TSM_EXIT_OK; i++) {
        if (v->only && strncmp(list->shaders[i].hash, v->only, strlen(v->only)) != 0)
            continue;
        status = show(v, &list->shaders[i], v->json ? &json : NULL);
        shown++;
    }
    if (v->json) {
        tsm_json_close(&json, ']');
        tsm_json_end(&json);
    }
    if (!shown && status == TSM_EXIT_OK)
        tsm_note("%s: no shaders%s%s", trace, v->only ? " with hash " : "", v->only ? v->only : "");
    return status == TSM_EXIT_OK && !shown ? TSM_EXIT_NO : status;
}

static int run(const struct tsm_command *command, void *values, const struct tsm_words *words)
{
    struct sbt_reader *reader = tsm_trace_open(words->words[0]);
    struct tsm_shader_list list = {0};
    int status = TSM_EXIT_ERROR;
    size_t noted = 0;

    if (!reader)
        return status;
    if (tsm_shader_list_init(&list, reader) < 0)
        tsm_complain_error();
    else
        status = show_all(values, &list, sbt_reader_name(reader));
    tsm_trace_note_damage(reader, &noted);
    tsm_shader_list_finish(&list);
    sbt_reader_destroy(reader);
    return status;
}

const struct tsm_command tsm_command_shaders = {
    .name = "shaders",
    .summary = "list a trace's SPIR-V modules, write them out, disassemble them",
    .synopsis = "[OPTION]... TRACE",
    .description =
        "Prints each SPIR-V module of a Vulkan trace once: its hash (XXH3-128 of its bytes, by "
        "which "
        "tsreplay --replace-shader names it), size and version, the first record that has it, its "
        "entry points with their local sizes, and its interface: descriptor sets and bindings with "
        "type, length of the array ([] where the layout says it) and names, and push constants.",
    .examples = "tracesmith shaders trace.sbt\n"
                "tracesmith shaders -o shaders --disassemble trace.sbt\n"
                "tracesmith shaders --disassemble --only=5d3c trace.sbt\n",
    .exit_status = "0|shown\n1|there are none\n2|an error",
    .options = options,
    .values_size = sizeof(struct shaders_values),
    .operand = "TRACE",
    .word_min = 1,
    .word_max = 1,
    .run = run,
};
