/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/command.h"

#include "base/output_file.h"
#include "base/text.h"
#include "tools/code/show.h"
#include "tools/code/instructions.h"
#include "tools/terminal.h"
#include "tools/text/json_out.h"
#include "tools/trace_open.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>

struct code_values {
    const char *directory, *kernel;
    bool disassemble, json;
};

static const struct tsm_option options[] = {
    {.name = "kernel",
     .letter = 'k',
     .type = TSM_OPTION_TEXT,
     .offset = TSM_FIELD(code_values, kernel),
     .argument = "NAME",
     .help = "Only these kernels, and code that has them: the name as the code has it, demangled, "
             "or a pattern, e.g. '*gemm*'."},
    {.name = "extract",
     .letter = 'x',
     .type = TSM_OPTION_NEW,
     .offset = TSM_FIELD(code_values, directory),
     .argument = "DIR",
     .help = "Write the code to files in DIR: HASH.ptx, .cubin, .fatbin (and each member of it as "
             "HASH.NUMBER.ptx or .cubin), .hsaco, .so."},
    {.name = "disassemble",
     .letter = 'd',
     .type = TSM_OPTION_FLAG,
     .offset = TSM_FIELD(code_values, disassemble),
     .help = "Also show the instructions: PTX as it is, with --kernel that kernel's alone; a cubin "
             "by nvdisasm or cuobjdump, AMD's by llvm-objdump, x86-64 by Capstone, where there is "
             "one; else the sections."},
    {.name = "json",
     .type = TSM_OPTION_FLAG,
     .offset = TSM_FIELD(code_values, json),
     .help = "One JSON object, schema \"tscode/1\"."},
    {0},
};

/* ---- files ----------------------------------------------------------------------------------- */

static const char *ending(enum tsm_code_kind kind)
{
    static const char *const endings[] = {
        [TSM_CODE_UNKNOWN] = "bin", [TSM_CODE_MISSING] = "bin", [TSM_CODE_FATBIN] = "fatbin",
        [TSM_CODE_PTX] = "ptx",     [TSM_CODE_CUBIN] = "cubin", [TSM_CODE_AMD] = "hsaco",
        [TSM_CODE_X86] = "so",
    };

    return endings[kind];
}

struct showing {
    const struct code_values *v;
    const struct tsm_code_list *list;
    const struct tsm_code *code;
    struct tsm_json *json; /* NULL: text */
};

/* Names hold nothing of the trace but a hash. PTX is written without the 0 that ends it. */
static int write_member(void *user, const struct tsm_code_member *member, const uint8_t *bytes,
                        size_t size)
{
    const struct showing *s = user;
    const bool is_alone = s->code->kind != TSM_CODE_FATBIN;
    char path[PATH_MAX], number[24] = "";

    if (!is_alone)
        tsm_format(number, sizeof(number), ".%zu", (size_t)(member - s->code->members));
    tsm_format(path, sizeof(path), "%s/%s%s.%s", s->v->directory, s->code->hash, number,
               ending(member->kind));
    return tsm_output_file_put(path, bytes, size);
}

static int write_code(struct showing *s, const uint8_t *data)
{
    const struct tsm_code *code = s->code;
    char path[PATH_MAX];
    int error = 0;

    tsm_format(path, sizeof(path), "%s/%s.%s", s->v->directory, code->hash, ending(code->kind));
    if (code->kind == TSM_CODE_FATBIN || code->kind == TSM_CODE_UNKNOWN)
        error = tsm_output_file_put(path, data, (size_t)code->size);
    return error || code->kind == TSM_CODE_UNKNOWN
               ? error
               : tsm_code_each_member(code, data, write_member, s);
}

/* ---- text ------------------------------------------------------------------------------------ */

/* Prints each wanted kernel of PTX by itself, of other code all. */
static int print_instructions(const struct showing *s, const struct tsm_code_member *member,
                              const uint8_t *bytes, size_t size)
{
    int error = 0;

    if (!s->v->kernel || member->kind != TSM_CODE_PTX)
        return tsm_code_print(member, NULL, bytes, size);
    for (size_t i = 0; i < member->count && !error; i++)
        if (tsm_code_kernel_is_wanted(&member->kernels[i], s->v->kernel))
            error = tsm_code_print(member, &member->kernels[i], bytes, size);
    return error;
}

static int print_member(void *user, const struct tsm_code_member *member, const uint8_t *bytes,
                        size_t size)
{
    const struct showing *s = user;

    tsm_code_print_member(s->code, member, s->v->kernel);
    return print_instructions(s, member, bytes, size);
}

static int show_text(struct showing *s, const uint8_t *data)
{
    tsm_code_print_head(s->code);
    if (s->v->disassemble && data && s->code->kind != TSM_CODE_UNKNOWN)
        return tsm_code_each_member(s->code, data, print_member, s);
    for (size_t i = 0; i < s->code->member_count; i++)
        tsm_code_print_member(s->code, &s->code->members[i], s->v->kernel);
    return 0;
}

/* ---- the command ----------------------------------------------------------------------------- */

static int show(struct showing *s)
{
    const bool needs_bytes = s->v->directory || s->v->disassemble;
    uint8_t *data = NULL;
    int error = 0;

    if (needs_bytes && s->code->kind != TSM_CODE_MISSING)
        error = tsm_code_read(&data, s->list, s->code);
    if (!error && s->json)
        tsm_code_json(s->json, s->code, s->v->kernel);
    else if (!error)
        error = show_text(s, data);
    if (!error && data && s->v->directory)
        error = write_code(s, data);
    free(data);
    return error;
}

static int show_list(struct showing *s, size_t *shown)
{
    int error = 0;

    *shown = 0;
    for (size_t i = 0; i < s->list->count && !error; i++) {
        s->code = &s->list->list[i];
        if (!tsm_code_is_wanted(s->code, s->v->kernel))
            continue;
        error = show(s);
        ++*shown;
    }
    return error;
}

static int show_all(const struct code_values *v, const struct tsm_code_list *list)
{
    const char *trace = sbt_reader_name(list->reader);
    struct tsm_json json = {.out = stdout};
    struct showing s = {.v = v, .list = list, .json = v->json ? &json : NULL};
    size_t shown;
    int error;

    if (v->directory && mkdir(v->directory, 0777) < 0 && errno != EEXIST)
        return tsm_complain("%s: cannot be made: %s", v->directory, tsm_errno_text(errno));
    if (v->json) {
        tsm_json_begin(&json, "tscode/1");
        tsm_json_put_string(&json, "trace", trace);
        tsm_json_put_open(&json, "code", '[');
    }
    error = show_list(&s, &shown);
    if (v->json) {
        tsm_json_close(&json, ']');
        tsm_json_end(&json);
    }
    if (error)
        return tsm_complain_error();
    if (!shown)
        tsm_note("%s: no code%s%s", trace, v->kernel ? " with a kernel " : "",
                 v->kernel ? v->kernel : "");
    return shown ? TSM_EXIT_OK : TSM_EXIT_NO;
}

static int run(const struct tsm_command *command, void *values, const struct tsm_words *words)
{
    const struct code_values *v = values;
    struct sbt_reader *reader;
    struct tsm_code_list list = {0};
    int status = TSM_EXIT_ERROR;
    size_t noted = 0;

    if (v->json && v->disassemble)
        return tsm_complain("--json and --disassemble: instructions are text; one at a time, "
                            "please");
    reader = tsm_trace_open(words->words[0]);
    if (!reader)
        return status;
    if (tsm_code_list_init(&list, reader) < 0)
        tsm_complain_error();
    else
        status = show_all(v, &list);
    tsm_trace_note_damage(reader, &noted);
    tsm_code_list_finish(&list);
    sbt_reader_destroy(reader);
    return status;
}

const struct tsm_command tsm_command_code = {
    .name = "code",
    .summary = "list the code that a trace loads and its kernels, write it out, disassemble it",
    .synopsis = "[OPTION]... TRACE",
    .description =
        "Prints each module, library and code object of the trace once, by the hash of its bytes "
        "(XXH3-128): what it is (PTX, cubin, fatbin and its members, HSA code object), for which "
        "GPU, and the call that loaded it first. Under it its kernels: name, demangled name, how "
        "often commands launch it and graphs hold it, what a block or thread of it takes as far "
        "as the code says, and its parameters with their places in the argument block. PTX says "
        "nothing of registers; its shared and local memory is what the kernel itself declares or "
        "names. Launches are counted by name: in a fatbin each member of that name has them.",
    .examples = "tracesmith code trace.sbt\n"
                "tracesmith code --kernel='*gemm*' --disassemble trace.sbt\n"
                "tracesmith code --extract=code trace.sbt\n",
    .exit_status = "0|shown\n1|there is none\n2|an error",
    .options = options,
    .values_size = sizeof(struct code_values),
    .operand = "TRACE",
    .word_min = 1,
    .word_max = 1,
    .run = run,
};
