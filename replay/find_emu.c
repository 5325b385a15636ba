/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/find_emu.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"

#ifndef TSM_LIBDIR
#define TSM_LIBDIR        "/usr/local/lib"
#define TSM_WAY_TO_LIBDIR "../lib"
#endif

static const char *const places[] = {
    "../emu",
    "tracesmith/emu",
    TSM_WAY_TO_LIBDIR "/tracesmith/emu",
};

static bool is_near(char *out, size_t size, const char *library, const char *file)
{
    char folder[PATH_MAX];

    if (!file || !realpath(file, folder))
        return false;
    *strrchr(folder, '/') = '\0';
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        tsm_format(out, size, "%s/%s/%s", folder, places[i], library);
        if (access(out, R_OK) == 0)
            return true;
    }
    return false;
}

void tsm_find_emu(char *out, size_t size, const char *library, const char *variable)
{
    const char *path = getenv(variable);
    Dl_info own;

    if (path)
        tsm_format(out, size, "%s", path);
    else if (!is_near(out, size, library, "/proc/self/exe") &&
             !(dladdr(places, &own) && is_near(out, size, library, own.dli_fname)))
        tsm_format(out, size, TSM_LIBDIR "/tracesmith/emu/%s", library);
}
