/* SPDX-License-Identifier: Apache-2.0 */
#include "api/traits.h"

#include <ctype.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

struct type_traits {
    uint32_t type; /* of records */
    uint32_t traits;
};

struct object_traits {
    const char *name;
    uint32_t traits;
};

struct api_traits {
    uint32_t traits;
    const char *stems[2]; /* what names of types begin with */
    uint32_t last;        /* number of a call that the description knows by name */
};

struct call_name {
    uint32_t api;
    const char *name;
};

#include "api/trait_table.inc"

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

static int compare_call(const void *left, const void *right)
{
    const struct call_name *key = left;
    const struct tsm_call_traits *row = right;
    int order = strcmp(key->name, row->name);

    return order ? order : key->api < row->api ? -1 : key->api > row->api;
}

static int compare_object(const void *left, const void *right)
{
    return strcmp(left, ((const struct object_traits *)right)->name);
}

/* A call of a newer registry than ours has a higher number: the patterns of the description hold
 * for it, too. */
static struct tsm_call_traits by_pattern(const struct sbt_schema *schema)
{
    struct tsm_call_traits out = {.name = schema->name, .target = ""};
    uint32_t api = SBT_TYPE_API(schema->type);

    if (api >= COUNT(api_rows) || SBT_TYPE_CALL(schema->type) <= api_rows[api].last)
        return out;
    for (size_t i = 0; i < COUNT(pattern_rows); i++) {
        const struct tsm_call_traits *row = &pattern_rows[i];
        if (row->api != api || fnmatch(row->name, schema->name, 0) != 0)
            continue;
        out.traits |= row->traits;
        if (*row->target)
            out.target = row->target;
    }
    return out;
}

struct tsm_call_traits tsm_call_traits(const struct sbt_schema *schema)
{
    const struct call_name key = {SBT_TYPE_API(schema->type), schema->name};
    const struct tsm_call_traits *row =
        bsearch(&key, call_rows, COUNT(call_rows), sizeof(*row), compare_call);

    return row ? *row : by_pattern(schema);
}

static int compare_type(const void *left, const void *right)
{
    uint32_t type = ((const struct type_traits *)right)->type;

    return *(const uint32_t *)left < type ? -1 : *(const uint32_t *)left > type;
}

uint32_t tsm_graph_traits(uint32_t record_type)
{
    const struct type_traits *row =
        bsearch(&record_type, graph_rows, COUNT(graph_rows), sizeof(*row), compare_type);

    return row ? row->traits : 0;
}

uint32_t tsm_object_traits(const char *type)
{
    const struct object_traits *row =
        bsearch(type, object_rows, COUNT(object_rows), sizeof(*row), compare_object);

    uint32_t traits = row ? row->traits : 0;

    for (size_t i = 0; !row && i < COUNT(object_pattern_rows); i++)
        if (fnmatch(object_pattern_rows[i].name, type, 0) == 0)
            traits |= object_pattern_rows[i].traits;
    return traits;
}

const char *tsm_object_type_with(uint32_t traits)
{
    for (size_t i = 0; i < COUNT(object_rows); i++)
        if (object_rows[i].traits & traits)
            return object_rows[i].name;
    return "";
}

uint32_t tsm_api_traits(uint32_t record_type)
{
    uint32_t api = SBT_TYPE_API(record_type);

    return api < COUNT(api_rows) ? api_rows[api].traits : 0;
}

static int compare_name(const void *left, const void *right)
{
    const struct call_name *key = left, *row = right;
    const int order = strcmp(key->name, row->name);

    return order ? order : key->api < row->api ? -1 : key->api > row->api;
}

bool tsm_result_says_failure(uint32_t record_type, const char *result)
{
    const struct call_name key = {SBT_TYPE_API(record_type), result};

    return bsearch(&key, failure_rows, COUNT(failure_rows), sizeof(key), compare_name);
}

const char *tsm_object_type_stem(const char *type)
{
    for (size_t i = 0; i < COUNT(api_rows); i++)
        for (size_t k = 0; k < 2; k++) {
            const char *stem = api_rows[i].stems[k];
            if (stem && strncmp(type, stem, strlen(stem)) == 0)
                return type + strlen(stem);
        }
    return type;
}

bool tsm_object_type_is(const char *value, const char *type)
{
    const char *a = tsm_object_type_stem(value), *b = tsm_object_type_stem(type);

    for (;; a++, b++) {
        while (*a == '_')
            a++;
        while (*b == '_')
            b++;
        if (tolower((unsigned char)*a) != tolower((unsigned char)*b))
            return false;
        if (!*a)
            return true;
    }
}
