/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/kernel/cgroup.h"

#include "base/text.h"
#include "tracesmith/error.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int tsm_cgroup_find(uint64_t *out, const char *text)
{
    /* The first one is the place of version 2 on systems that have both versions. */
    static const char *const folders[] = {"/sys/fs/cgroup/unified/", "/sys/fs/cgroup/"};
    struct stat status;
    char path[PATH_MAX], *end;

    *out = strtoull(text, &end, 10);
    if (end != text && !*end)
        return 0;
    for (size_t i = 0; i < 2; i++) {
        tsm_format(path, sizeof(path), "%s%s", *text == '/' ? "" : folders[i], text);
        if (stat(path, &status) == 0) {
            *out = status.st_ino;
            return 0;
        }
    }
    return tsm_fail(TSM_E_NOT_FOUND, "cgroup %s: %s", path, strerror(errno));
}
