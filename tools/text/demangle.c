/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/text/demangle.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

typedef char *(*demangler)(const char *name, char *out, size_t *size, int *status);

static demangler find(void)
{
    static demangler found;
    static bool is_tried;
    void *library = is_tried ? NULL : dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_LOCAL);

    is_tried = true;
    if (library)
        found = (demangler)dlsym(library, "__cxa_demangle");
    return found;
}

char *tsm_demangle(const char *name)
{
    const size_t length = strlen(name);
    const bool is_kernel = length > 3 && strcmp(name + length - 3, ".kd") == 0;
    const demangler demangle = strncmp(name, "_Z", 2) == 0 ? find() : NULL;
    char *plain = NULL, *mangled;
    int status = 0;

    mangled = demangle ? strndup(name, is_kernel ? length - 3 : length) : NULL;
    if (mangled)
        plain = demangle(mangled, NULL, NULL, &status);
    free(mangled);
    return plain;
}
