/* SPDX-License-Identifier: Apache-2.0
 *
 * DRM devices and their kernel drivers, and whether the kernel counts ioctls for us.
 */
#include "tools/doctor/doctor.h"

#include "api/drm/tables.h"
#include "api/drm/version.h"
#include "base/text.h"
#include "api/drm/view/census.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static const char *how_known(const char *driver)
{
    return drm_family_of_driver(driver) < DRM_FAMILY_COUNT ? "" : ", its own ioctls shown raw";
}

/* "/dev/dri/renderD128 virtio_gpu 0.1.0", or why not. */
static size_t say_node(const char *path, char *out, size_t size)
{
    char name[64] = "";
    struct drm_driver_version v = {.name = name, .name_size = sizeof(name) - 1};
    int fd = open(path, O_RDWR | O_CLOEXEC);
    size_t used;

    if (fd < 0 || ioctl(fd, DRM_DRIVER_VERSION, &v) != 0)
        used = tsm_format(out, size, "%s (%s)", path, strerror(errno));
    else
        used = tsm_format(out, size, "%s %s %d.%d.%d%s", path, name, v.major, v.minor, v.patch,
                          how_known(name));
    if (fd >= 0)
        close(fd);
    return used;
}

/* "+" or "-", then all nodes. */
static void probe_nodes(const char *pattern, char *out, size_t size)
{
    glob_t found = {0};
    size_t used = tsm_format(out, size, "-");

    glob(pattern, 0, NULL, &found);
    for (size_t i = 0; i < found.gl_pathc && used < size; i++) {
        used += tsm_format(out + used, size - used, "%s", i ? "; " : "");
        used += say_node(found.gl_pathv[i], out + used, size - used);
        if (out[used - 1] != ')')
            out[0] = '+';
    }
    globfree(&found);
}

void tsm_doctor_drm(struct tsm_finding *out)
{
    struct tsm_ioctl_census census;
    char said[400];
    uint64_t count;
    bool usable = tsm_probe(probe_nodes, "/dev/dri/[cr]*[0-9]", said, sizeof(said));

    tsm_ioctl_census_begin(&census);
    const char *counted = census.fd >= 0 ? "the kernel counts what goes past libc"
                                         : "what goes past libc is not counted";
    tsm_ioctl_census_end(&census, &count);
    if (usable)
        tsm_found(out, TSM_HEALTH_OK, "", "%s; %s", said + 1, counted);
    else if (said[0] && said[1])
        tsm_found(out, TSM_HEALTH_WARN, "join the groups 'render' and 'video'", "%s; %s", said + 1,
                  counted);
    else
        tsm_found(out, TSM_HEALTH_WARN, "with a GPU: load its kernel driver", "no /dev/dri; %s",
                  counted);
}
