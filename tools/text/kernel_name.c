/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/text/kernel_name.h"

#include "tools/text/demangle.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

/* Compares with the whole of a demangled name, with that before the parameters, and with the
 * function's own name: "void n::add<float>(float*)" is "add", too. */
static bool is_plain(const char *wanted, const char *plain)
{
    const size_t length = strlen(wanted), end = strcspn(plain, "<(");
    size_t begin = end;

    while (begin && plain[begin - 1] != ' ' && plain[begin - 1] != ':')
        begin--;
    return strcmp(wanted, plain) == 0 ||
           (strncmp(wanted, plain, length) == 0 && plain[length] == '(') ||
           (length == end - begin && strncmp(wanted, plain + begin, length) == 0);
}

bool tsm_kernel_name_matches(const char *wanted, const char *name)
{
    char *plain = tsm_demangle(name);
    const bool matches = strcmp(wanted, name) == 0 || fnmatch(wanted, name, 0) == 0 ||
                         (plain && (is_plain(wanted, plain) || fnmatch(wanted, plain, 0) == 0));

    free(plain);
    return matches;
}
