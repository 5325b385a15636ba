/* SPDX-License-Identifier: Apache-2.0 */
#include "api/cuda/ptx_splice.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "api/cuda/ptx_items.h"
#include "base/array.h"
#include "base/buffer.h"
#include "base/text.h"
#include "tracesmith/error.h"

#define NAME_MAX_SIZE 4096u
#define MODULE        "the recorded module"

/* A name of a text, and what takes its place. */
struct rename {
    struct cuda_ptx_token name;
    char *other;
};

struct splicer {
    struct tsm_buffer out;
    const struct cuda_splice *list;
    size_t count;
    struct cuda_ptx_items module;
    struct cuda_ptx_items *texts; /* of each of `list`; empty for one whose path came before */
    struct rename *renames;       /* of the text that is being written */
    size_t rename_count, rename_capacity;
    unsigned serial;
};

static struct cuda_ptx_token token_of(const char *text)
{
    return (struct cuda_ptx_token){text, strlen(text)};
}

/* Returns a copy of a token for a message. */
static const char *shown(char out[128], const struct cuda_ptx_token *token)
{
    tsm_format(out, 128, "%.*s", (int)(token->size < 127 ? token->size : 127), token->text);
    tsm_text_disarm(out);
    return out;
}

/* ---- declarations -----------------------------------------------------------------------------
 */

static bool is_linkage(const struct cuda_ptx_token *token)
{
    return cuda_ptx_is(token, ".visible") || cuda_ptx_is(token, ".weak") ||
           cuda_ptx_is(token, ".extern") || cuda_ptx_is(token, ".common");
}

/* Returns the next word that says something about bytes. */
static struct cuda_ptx_token next_plain(struct cuda_ptx_scanner *s)
{
    for (;;) {
        struct cuda_ptx_token token = cuda_ptx_next(s);
        if (cuda_ptx_is(&token, ".align"))
            cuda_ptx_next(s);
        else if (!is_linkage(&token))
            return token;
    }
}

static bool ends_declaration(const struct cuda_ptx_token *token)
{
    return !token->size || cuda_ptx_is(token, "=") || cuda_ptx_is(token, ";");
}

/* Moves both scanners behind the declarations, to what they begin with. Returns whether these are
 * alike; an array without a length is like one with a length. */
static bool same_declaration(struct cuda_ptx_scanner *was, struct cuda_ptx_scanner *is)
{
    for (;;) {
        const struct cuda_ptx_scanner here[] = {*was, *is};
        struct cuda_ptx_token a = next_plain(was), b = next_plain(is);

        if (ends_declaration(&a) && ends_declaration(&b)) {
            *was = here[0], *is = here[1];
            return true;
        }
        if (cuda_ptx_is(&b, "]") && !cuda_ptx_is(&a, "]"))
            a = next_plain(was);
        if (!cuda_ptx_same(&a, &b))
            return false;
    }
}

static bool same_rest(struct cuda_ptx_scanner *was, struct cuda_ptx_scanner *is)
{
    for (;;) {
        struct cuda_ptx_token a = next_plain(was), b = next_plain(is);

        if (!cuda_ptx_same(&a, &b))
            return false;
        if (!a.size || cuda_ptx_is(&a, ";"))
            return true;
    }
}

/* Fails if the variable `is` of a text cannot be the variable `was`. */
static int check_variable(const struct cuda_ptx_item *was, const struct cuda_ptx_item *is,
                          const char *path)
{
    struct cuda_ptx_scanner a = {was->begin, was->end}, b = {is->begin, is->end};
    char name[128];

    if (!same_declaration(&a, &b))
        return tsm_fail(TSM_E_UNSUPPORTED,
                        "%s: declares \"%s\" in another way than " MODULE
                        ", whose variable it would be; declare it alike, or give it another name",
                        path, shown(name, &is->name));
    if (!is->is_extern && !same_rest(&a, &b))
        return tsm_fail(TSM_E_UNSUPPORTED,
                        "%s: gives \"%s\" other initial values than " MODULE
                        ", whose variable it would be; declare it .extern, or give it another name",
                        path, shown(name, &is->name));
    return 0;
}

/* ---- names that clash -------------------------------------------------------------------------
 */

static const struct rename *find_rename(const struct splicer *s, const struct cuda_ptx_token *name)
{
    for (size_t i = 0; i < s->rename_count; i++)
        if (cuda_ptx_same(&s->renames[i].name, name))
            return &s->renames[i];
    return NULL;
}

static bool is_taken(const struct splicer *s, const char *name)
{
    for (size_t i = 0; i < s->count; i++)
        if (cuda_ptx_items_find(&s->texts[i], name, strlen(name)))
            return true;
    return cuda_ptx_items_find(&s->module, name, strlen(name)) != NULL;
}

static int add_rename(struct splicer *s, const struct cuda_ptx_token *name)
{
    char other[NAME_MAX_SIZE];
    struct rename rename = {*name, NULL};

    if (find_rename(s, name))
        return 0;
    if (name->size > NAME_MAX_SIZE - 16)
        return tsm_fail(TSM_E_UNSUPPORTED, "a name of %zu bytes is too long", name->size);
    do
        tsm_format(other, sizeof(other), "%.*s$r%u", (int)name->size, name->text, ++s->serial);
    while (is_taken(s, other));
    rename.other = strdup(other);
    if (rename.other && TSM_ARRAY_PUSH(s->renames, s->rename_count, s->rename_capacity, rename))
        return 0;
    free(rename.other);
    return tsm_fail(TSM_E_MEMORY, "no memory for names");
}

static void forget_renames(struct splicer *s)
{
    for (size_t i = 0; i < s->rename_count; i++)
        free(s->renames[i].other);
    s->rename_count = 0;
}

/* Returns the item of that name of the module, or of a text that was written before text `index`.
 */
static const struct cuda_ptx_item *find_before(const struct splicer *s, size_t index,
                                               const struct cuda_ptx_token *name)
{
    const struct cuda_ptx_item *found = cuda_ptx_items_find(&s->module, name->text, name->size);

    for (size_t i = 0; i < index && !found; i++) {
        found = cuda_ptx_items_find(&s->texts[i], name->text, name->size);
        if (found && found->kind == CUDA_PTX_ENTRY)
            found = NULL; /* it is there under the name that it replaces */
    }
    return found;
}

/* Returns whether an external item of a text is defined by the text itself. */
static bool is_defined_in(const struct cuda_ptx_items *text, const struct cuda_ptx_item *item)
{
    for (size_t i = 0; i < text->count; i++)
        if (text->list[i].kind == item->kind && !text->list[i].is_extern &&
            cuda_ptx_same(&text->list[i].name, &item->name))
            return true;
    return false;
}

/* Functions that drivers have. */
static bool is_system_function(const struct cuda_ptx_token *name)
{
    static const char *const names[] = {"vprintf",      "malloc", "free",
                                        "__assertfail", "memcpy", "memset"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (cuda_ptx_is(name, names[i]))
            return true;
    return name->size > 4 && !memcmp(name->text, "cuda", 4);
}

/* ---- writing ----------------------------------------------------------------------------------
 */

static void put(struct splicer *s, const char *text, size_t size)
{
    tsm_buffer_add(&s->out, text, size);
}

static void put_text(struct splicer *s, const char *text)
{
    put(s, text, strlen(text));
}

static void put_word(struct splicer *s, const struct cuda_ptx_token *token)
{
    const struct rename *rename = find_rename(s, token);

    if (rename)
        put_text(s, rename->other);
    else
        put(s, token->text, token->size);
}

/* Writes an item with its names changed, and without the lines of its source: their files are
 * numbered as in its own text. `name`: takes the place of the item's own; NULL: none does. */
static void put_item(struct splicer *s, const struct cuda_ptx_item *item, const char *name)
{
    struct cuda_ptx_scanner scanner = {item->begin, item->end};
    const char *at = item->begin;
    struct cuda_ptx_token token;

    while ((token = cuda_ptx_next(&scanner)).size) {
        put(s, at, (size_t)(token.text - at));
        if (cuda_ptx_is(&token, ".loc")) {
            while (scanner.at < scanner.end && *scanner.at != '\n')
                scanner.at++;
        } else if (name && cuda_ptx_same(&token, &item->name)) {
            put_text(s, name);
        } else {
            put_word(s, &token);
        }
        at = scanner.at;
    }
    put_text(s, "\n");
}

/* Decides what becomes of an item that is no kernel. */
static int put_other(struct splicer *s, size_t index, const struct cuda_ptx_item *item)
{
    const struct cuda_ptx_item *was = item->name.size ? find_before(s, index, &item->name) : NULL;
    const bool is_missing = !was && item->is_extern && !is_defined_in(&s->texts[index], item) &&
                            (item->kind == CUDA_PTX_VARIABLE ||
                             (item->kind == CUDA_PTX_FUNCTION && !is_system_function(&item->name)));
    char name[128];

    if (item->kind < CUDA_PTX_ENTRY)
        return 0; /* header, debug information */
    if (item->is_list)
        return tsm_fail(TSM_E_UNSUPPORTED,
                        "%s: declares several variables at once, beginning with \"%s\"; give each "
                        "a statement of its own",
                        s->list[index].path, shown(name, &item->name));
    if (is_missing)
        return tsm_fail(TSM_E_UNSUPPORTED, "%s: needs \"%s\", which " MODULE " does not have",
                        s->list[index].path, shown(name, &item->name));
    if (was && item->kind == CUDA_PTX_VARIABLE && was->kind == CUDA_PTX_VARIABLE)
        return check_variable(was, item, s->list[index].path);
    if (was && item->is_extern && item->kind == CUDA_PTX_FUNCTION)
        return 0;
    put_item(s, item, NULL);
    return 0;
}

/* Names that clash are changed before the first one is written. */
static int find_clashes(struct splicer *s, size_t index)
{
    const struct cuda_ptx_items *text = &s->texts[index];
    int error = 0;

    forget_renames(s);
    for (size_t i = 0; i < text->count && !error; i++) {
        const struct cuda_ptx_item *item = &text->list[i];
        const struct cuda_ptx_item *was =
            item->name.size ? find_before(s, index, &item->name) : NULL;
        const bool is_shared =
            was && ((item->kind == CUDA_PTX_VARIABLE && was->kind == CUDA_PTX_VARIABLE) ||
                    (item->kind == CUDA_PTX_FUNCTION && !is_defined_in(text, item)));
        if (was && !is_shared && item->kind > CUDA_PTX_ENTRY && item->kind <= CUDA_PTX_SHARED)
            error = add_rename(s, &item->name);
    }
    return error;
}

static const struct cuda_ptx_item *find_kernel(const struct cuda_ptx_items *text, const char *name)
{
    const struct cuda_ptx_token wanted = token_of(name);

    for (size_t i = 0; i < text->count; i++)
        if (text->list[i].kind == CUDA_PTX_ENTRY && text->list[i].has_body &&
            cuda_ptx_same(&text->list[i].name, &wanted))
            return &text->list[i];
    return NULL;
}

/* Writes the kernels of the text at `index`, all that are of its path. */
static int put_kernels(struct splicer *s, size_t index)
{
    for (size_t i = index; i < s->count; i++) {
        const struct cuda_ptx_item *kernel;

        if (strcmp(s->list[i].path, s->list[index].path) != 0)
            continue;
        kernel = find_kernel(&s->texts[index], s->list[i].from);
        if (!kernel)
            return tsm_fail(TSM_E_NOT_FOUND, "%s: has no kernel \"%s\"", s->list[i].path,
                            s->list[i].from);
        put_item(s, kernel, s->list[i].name);
    }
    return 0;
}

static int put_source(struct splicer *s, size_t index)
{
    const struct cuda_ptx_items *text = &s->texts[index];
    int error = find_clashes(s, index);

    for (size_t i = 0; i < text->count && !error; i++)
        if (text->list[i].kind != CUDA_PTX_ENTRY)
            error = put_other(s, index, &text->list[i]);
    return error ? error : put_kernels(s, index);
}

/* ---- the module's own -------------------------------------------------------------------------
 */

static bool is_replaced(const struct splicer *s, const struct cuda_ptx_item *item)
{
    for (size_t i = 0; i < s->count; i++) {
        const struct cuda_ptx_token name = token_of(s->list[i].name);
        if (item->kind == CUDA_PTX_ENTRY && item->has_body && cuda_ptx_same(&item->name, &name))
            return true;
    }
    return false;
}

static uint32_t header_number(const struct cuda_ptx_item *item)
{
    struct cuda_ptx_token major = item ? item->name : token_of(""), minor = {NULL, 0};
    const char *dot = major.size ? memchr(major.text, '.', major.size) : NULL;

    if (item && item->kind == CUDA_PTX_TARGET && major.size > 3)
        return cuda_ptx_number(&(struct cuda_ptx_token){major.text + 3, major.size - 3});
    if (dot)
        minor = (struct cuda_ptx_token){dot + 1, (size_t)(major.text + major.size - dot) - 1};
    return cuda_ptx_number(&major) * 1000 + cuda_ptx_number(&minor);
}

/* Returns the newest header of that kind. */
static const struct cuda_ptx_item *newest(const struct splicer *s, enum cuda_ptx_kind kind)
{
    const struct cuda_ptx_item *best = cuda_ptx_items_header(&s->module, kind);

    for (size_t i = 0; i < s->count; i++) {
        const struct cuda_ptx_item *other = cuda_ptx_items_header(&s->texts[i], kind);
        if (other && header_number(other) > header_number(best))
            best = other;
    }
    return best;
}

/* Writes version or target, as new as any text needs; options of the target stay the module's. */
static void put_header(struct splicer *s, const struct cuda_ptx_item *item)
{
    const struct cuda_ptx_token name = newest(s, item->kind)->name;
    const char *rest = item->name.text + item->name.size;

    put(s, item->begin, (size_t)(item->name.text - item->begin));
    put(s, name.text, name.size);
    put(s, rest, (size_t)(item->end - rest));
}

static void put_module(struct splicer *s)
{
    for (size_t i = 0; i < s->module.count; i++) {
        const struct cuda_ptx_item *item = &s->module.list[i];

        if (is_replaced(s, item))
            continue;
        if (item->kind == CUDA_PTX_VERSION || item->kind == CUDA_PTX_TARGET)
            put_header(s, item);
        else
            put(s, item->begin, (size_t)(item->end - item->begin));
        put_text(s, "\n");
    }
}

static int read_texts(struct splicer *s, const char *module, size_t size)
{
    int error = cuda_ptx_items_read(&s->module, module, size, MODULE);

    s->texts = calloc(s->count, sizeof(*s->texts));
    if (!s->texts)
        return tsm_fail(TSM_E_MEMORY, "no memory for PTX");
    for (size_t i = 0; i < s->count && !error; i++) {
        bool is_first = true;
        for (size_t k = 0; k < i; k++)
            is_first &= strcmp(s->list[k].path, s->list[i].path) != 0;
        if (is_first)
            error = cuda_ptx_items_read(&s->texts[i], s->list[i].text, s->list[i].size,
                                        s->list[i].path);
    }
    return error;
}

static void finish(struct splicer *s)
{
    for (size_t i = 0; s->texts && i < s->count; i++)
        cuda_ptx_items_finish(&s->texts[i]);
    free(s->texts);
    cuda_ptx_items_finish(&s->module);
    forget_renames(s);
    free(s->renames);
    tsm_buffer_finish(&s->out);
}

int cuda_ptx_splice(char **out, const char *module, size_t size, const struct cuda_splice *list,
                    size_t count)
{
    struct splicer s = {.list = list, .count = count};
    int error = read_texts(&s, module, size);

    *out = NULL;
    if (!error)
        put_module(&s);
    for (size_t i = 0; i < count && !error; i++)
        if (s.texts[i].count)
            error = put_source(&s, i);
    put(&s, "", 1);
    if (!error && s.out.failed)
        error = tsm_fail(TSM_E_MEMORY, "no memory for the code of a module");
    if (!error) {
        *out = (char *)s.out.data;
        s.out = (struct tsm_buffer){0};
    }
    finish(&s);
    return error;
}

int cuda_ptx_needs_module(const struct cuda_splice *splice, const char *module, size_t size)
{
    struct splicer s = {.list = splice, .count = 1};
    int needs = read_texts(&s, module, size);

    for (size_t i = 0; needs == 0 && i < s.texts[0].count; i++) {
        const struct cuda_ptx_item *item = &s.texts[0].list[i];
        const struct cuda_ptx_item *was = item->name.size ? find_before(&s, 0, &item->name) : NULL;
        if (item->kind == CUDA_PTX_VARIABLE)
            needs = (was && was->kind == CUDA_PTX_VARIABLE) ||
                    (item->is_extern && !is_defined_in(&s.texts[0], item));
        else if (item->kind == CUDA_PTX_FUNCTION)
            needs = item->is_extern && !is_defined_in(&s.texts[0], item) &&
                    !is_system_function(&item->name);
    }
    finish(&s);
    return needs;
}
