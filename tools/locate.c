/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/locate.h"

#include "base/text.h"
#include "tracesmith/error.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Paths relative to the program's folder; the first that exists is taken. TSM_LIBDIR leads from the
 * folder of an installed program to that of libraries. */
static const char *const candidates[][4] = {
    [TSM_PLACE_CAPTURE] = {"../interpose/libts_capture.so", TSM_LIBDIR "/libts_capture.so",
                           TSM_LIBDIR "/tracesmith/libts_capture.so"},
    [TSM_PLACE_AUDIT] = {"../interpose/libts_audit.so", TSM_LIBDIR "/libts_audit.so",
                         TSM_LIBDIR "/tracesmith/libts_audit.so"},
    [TSM_PLACE_EMU] = {"../emu/libcuda.so.1", TSM_LIBDIR "/tracesmith/emu/libcuda.so.1"},
};

static int own_folder(char *out, size_t size)
{
    ssize_t count = readlink("/proc/self/exe", out, size - 1);

    if (count < 0)
        return tsm_fail(TSM_E_IO, "/proc/self/exe: %s", strerror(errno));
    out[count] = '\0';
    *strrchr(out, '/') = '\0';
    return 0;
}

int tsm_locate(char *out, size_t size, enum tsm_place place)
{
    char folder[PATH_MAX], path[2 * PATH_MAX], found[PATH_MAX];
    int error = own_folder(folder, sizeof(folder));

    if (error)
        return error;
    for (size_t i = 0; i < 4 && candidates[place][i]; i++) {
        tsm_format(path, sizeof(path), "%s/%s", folder, candidates[place][i]);
        if (realpath(path, found)) {
            tsm_format(out, size, "%s", found);
            return 0;
        }
    }
    const char *name = strrchr(candidates[place][0], '/') + 1;
    return tsm_fail(TSM_E_NOT_FOUND, "%s: not found beside this program (looked from %s); %s", name,
                    folder, "install TraceSmith whole, or build it whole");
}

int tsm_environment_prepend(const char *name, const char *entry)
{
    char *value = NULL;
    const char *old = getenv(name);
    int error = 0;

    if (old && *old) {
        size_t size = strlen(entry) + strlen(old) + 2;
        value = malloc(size);
        if (!value)
            return tsm_fail(TSM_E_MEMORY, "out of memory");
        tsm_format(value, size, "%s:%s", entry, old);
    }
    if (setenv(name, value ? value : entry, 1) != 0)
        error = tsm_fail(TSM_E_MEMORY, "%s: %s", name, strerror(errno));
    free(value);
    return error;
}

int tsm_environment_emu(void)
{
    char path[PATH_MAX];
    int error = tsm_locate(path, sizeof(path), TSM_PLACE_EMU);

    if (error)
        return error;
    *strrchr(path, '/') = '\0';
    return tsm_environment_prepend("LD_LIBRARY_PATH", path);
}
