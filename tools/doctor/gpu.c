/* SPDX-License-Identifier: Apache-2.0
 *
 * GPU drivers and devices. A driver is opened in a child process: opening one can hang, crash,
 * start threads, or keep a device awake.
 */
#include "tools/doctor/doctor.h"

#include "base/text.h"
#include "emu/emu_support.inc"
#include "tools/locate.h"

#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATIENCE_S 20

bool tsm_probe(void (*look)(const char *library, char *out, size_t size), const char *library,
               char *out, size_t size)
{
    int ends[2], status = 0;
    ssize_t count = 0;

    if (pipe(ends) != 0) {
        tsm_format(out, size, "-pipe: %s", strerror(errno));
        return false;
    }
    pid_t child = fork();
    if (child == 0) {
        alarm(PATIENCE_S);
        look(library, out, size);
        /* no destructors: some drivers' take seconds */
        _exit(write(ends[1], out, strlen(out)) < 0);
    }
    close(ends[1]);
    if (child > 0) {
        count = read(ends[0], out, size - 1);
        waitpid(child, &status, 0);
    }
    close(ends[0]);
    out[count > 0 ? count : 0] = '\0';
    if (count <= 0 && WIFSIGNALED(status))
        tsm_format(out, size, WTERMSIG(status) == SIGALRM ? "-%s hangs" : "-%s crashes", library);
    return out[0] == '+';
}

static void look_emu(struct tsm_finding *out)
{
    char path[PATH_MAX], said[400];

    if (tsm_locate(path, sizeof(path), TSM_PLACE_EMU) < 0)
        tsm_found(out, TSM_HEALTH_MISSING, "install TraceSmith whole, or build it whole",
                  "the software GPU is not beside this program");
    else if (tsm_probe(tsm_probe_cuda, path, said, sizeof(said)))
        tsm_found(out, TSM_HEALTH_OK, "", "%s; %d of %d calls ('tracesmith coverage --emu')",
                  said + 1, EMU_CALL_COUNT - EMU_MISSING_COUNT, EMU_CALL_COUNT);
    else
        tsm_found(out, TSM_HEALTH_MISSING, "report this", "%s", said[0] ? said + 1 : "no answer");
}

static void look_nodes(struct tsm_finding *out)
{
    static const char *const patterns[] = {"/dev/nvidia[0-9]*", "/dev/dri/renderD*", "/dev/kfd"};
    size_t at = 0, refused = 0;
    glob_t found;

    out->text[0] = '\0';
    for (size_t i = 0; i < 3; i++) {
        if (glob(patterns[i], 0, NULL, &found) != 0)
            continue;
        for (size_t j = 0; j < found.gl_pathc; j++) {
            bool usable = access(found.gl_pathv[j], R_OK | W_OK) == 0;
            refused += !usable;
            at += tsm_format(out->text + at, sizeof(out->text) - at, "%s%s%s", at ? ", " : "",
                             found.gl_pathv[j], usable ? "" : " (no permission)");
        }
        globfree(&found);
    }
    out->health = at == 0 || refused ? TSM_HEALTH_WARN : TSM_HEALTH_OK;
    if (at == 0)
        tsm_found(out, TSM_HEALTH_WARN, "only software GPUs can be used here",
                  "no GPU nodes (/dev/nvidia*, /dev/dri/renderD*, /dev/kfd)");
    else if (refused)
        tsm_format(out->remedy, sizeof(out->remedy), "join the groups 'render' and 'video'");
}

const struct tsm_check tsm_checks_gpu[] = {
    {"GPU nodes", "both", look_nodes},
    {"CUDA", "both", tsm_doctor_cuda},
    {"software GPU", "both", look_emu},
#ifdef TSM_VULKAN
    {"Vulkan", "both", tsm_doctor_vulkan},
#endif
#ifdef TSM_DRM
    {"DRM", "both", tsm_doctor_drm},
#endif
#ifdef TSM_HSA
    {"HSA", "both", tsm_doctor_hsa},
#endif
    {0},
};
