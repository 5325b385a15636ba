/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/replay/kernel_options.h"

#include "base/array.h"
#include "base/map.h"
#include "tools/text/kernel_name.h"
#include "tracesmith/error.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool tsm_kernel_option_parse(void *field, const char *text)
{
    struct tsm_kernel_values *values = field;
    const char *equals = strchr(text, '=');
    const char *colon = equals ? strrchr(equals, ':') : NULL;
    struct tsm_kernel_option *option = &values->options[values->count];

    if (!equals || equals == text || !equals[1] || values->count == TSM_KERNEL_OPTIONS_MAX)
        return false;
    *option = (struct tsm_kernel_option){.name = text,
                                         .name_size = (size_t)(equals - text),
                                         .path = equals + 1,
                                         .path_size = strlen(equals + 1)};
    if (colon && access(option->path, F_OK) != 0) { /* there is no file of the whole name */
        option->path_size = (size_t)(colon - option->path);
        option->from = colon + 1;
    }
    values->count++;
    return option->path_size && (!option->from || *option->from);
}

/* Makes texts of an option's parts. */
static int take(struct tsm_kernel_replacement *out, const struct tsm_kernel_option *option)
{
    *out = (struct tsm_kernel_replacement){.name = strndup(option->name, option->name_size),
                                           .path = strndup(option->path, option->path_size),
                                           .from = option->from};
    return out->name && out->path ? 0 : tsm_fail(TSM_E_MEMORY, "no memory for names of kernels");
}

/* Adds a launched kernel that an option means. Its name lives as long as the reader. */
static int add(struct tsm_kernel_values *values, const struct tsm_kernel_replacement *given,
               const char *name)
{
    const struct tsm_kernel_replacement found = {
        .name = name, .path = given->path, .from = given->from};

    for (size_t i = 0; i < values->list_count; i++)
        if (strcmp(values->list[i].name, name) == 0)
            return tsm_fail(TSM_E_ARGUMENT,
                            "--replace-kernel: kernel \"%s\" is to be replaced by \"%s\" and by "
                            "\"%s\"; give one of them",
                            name, values->list[i].path, given->path);
    return TSM_ARRAY_PUSH(values->list, values->list_count, values->list_capacity, found)
               ? 0
               : tsm_fail(TSM_E_MEMORY, "no memory for names of kernels");
}

/* Marks the names of all functions that commands launch, or graphs hold. */
static int collect(struct tsm_map *names, struct sbt_reader *reader)
{
    const struct sbt_record *record;
    struct sbt_cursor *cursor = NULL;
    int more = sbt_cursor_create(&cursor, reader, NULL, 1);

    while (more >= 0 && (more = sbt_cursor_next(cursor, &record)) == 1) {
        const struct sbt_schema *schema = sbt_reader_schema(reader, record->type);
        const uint64_t id = schema ? sbt_record_role(schema, record, SBT_ROLE_FUNCTION_NAME, 0) : 0;
        if (id && !tsm_map_set(names, id, 1))
            more = tsm_fail(TSM_E_MEMORY, "no memory for names of kernels");
    }
    sbt_cursor_destroy(cursor);
    return more;
}

/* Adds the kernels that an option means: the one of exactly that name, or all that match it. */
static int resolve(struct tsm_kernel_values *values, const struct tsm_kernel_replacement *given,
                   const struct tsm_map *names, struct sbt_reader *reader, bool is_exact)
{
    const size_t before = values->list_count;
    int error = 0;

    for (size_t i = 0; i < names->capacity && !error; i++) {
        const char *name =
            names->slots[i].used ? sbt_reader_string(reader, (uint32_t)names->slots[i].key) : NULL;
        if (name && (is_exact ? strcmp(given->name, name) == 0
                              : tsm_kernel_name_matches(given->name, name)))
            error = add(values, given, name);
    }
    if (error || values->list_count > before)
        return error;
    return is_exact ? resolve(values, given, names, reader, false)
                    : tsm_fail(TSM_E_NOT_FOUND,
                               "%s: no kernel \"%s\" is launched; `tracesmith code` lists them",
                               sbt_reader_name(reader), given->name);
}

int tsm_kernel_options_resolve(struct tsm_kernel_values *values, struct sbt_reader *reader)
{
    struct tsm_map names = {0};
    int error = values->count ? collect(&names, reader) : 0;

    for (size_t i = 0; i < values->count && !error; i++)
        error = take(&values->given[i], &values->options[i]);
    for (size_t i = 0; i < values->count && !error; i++)
        error = resolve(values, &values->given[i], &names, reader, true);
    tsm_map_finish(&names);
    return error;
}

void tsm_kernel_options_finish(struct tsm_kernel_values *values)
{
    for (size_t i = 0; i < values->count; i++) {
        free((char *)(uintptr_t)values->given[i].name);
        free((char *)(uintptr_t)values->given[i].path);
    }
    free(values->list);
    values->count = 0;
    values->list = NULL;
    values->list_count = values->list_capacity = 0;
}
