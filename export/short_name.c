/* SPDX-License-Identifier: Apache-2.0 */
#include "export/short_name.h"

#include "base/text.h"

#include <stdbool.h>
#include <string.h>

/* Returns where the list of parameters begins: the last parenthesis that opens outside of others
 * and of template arguments; the end where there is none. */
static size_t parameters_of(const char *name, size_t length)
{
    size_t found = length;
    int depth = 0;

    for (size_t i = 0; i < length; i++) {
        if (name[i] == '(' && depth == 0 && i > 0)
            found = i;
        depth += name[i] == '(' || name[i] == '<';
        depth -= (name[i] == ')' || name[i] == '>') && depth > 0;
    }
    return found;
}

/* Returns where the template's arguments begin that end right before `end`; `end` where none do. */
static size_t template_of(const char *name, size_t end)
{
    int depth = 0;

    if (!end || name[end - 1] != '>')
        return end;
    for (size_t i = end; i-- > 0;) {
        depth += name[i] == '>';
        depth -= name[i] == '<';
        if (depth == 0)
            return i ? i : end;
    }
    return end;
}

/* Returns where the function's own name begins that ends at `end`. */
static size_t own_begin(const char *name, size_t end)
{
    int depth = 0;

    for (size_t i = end; i-- > 0;) {
        depth += name[i] == '>' || name[i] == ')';
        depth -= (name[i] == '<' || name[i] == '(') && depth > 0;
        if (depth == 0 && (name[i] == ' ' || name[i] == ':' || name[i] == '*' || name[i] == '&'))
            return i + 1;
    }
    return 0;
}

void tsm_short_name(char *out, size_t size, const char *name)
{
    const size_t end = template_of(name, parameters_of(name, strlen(name)));
    const size_t begin = own_begin(name, end);

    tsm_format(out, size, "%.*s", (int)(end - begin), name + begin);
    if (!*out)
        tsm_format(out, size, "%s", name);
}
