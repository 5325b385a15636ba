/* SPDX-License-Identifier: Apache-2.0
 *
 * Asks a CUDA driver, NVIDIA's or the software GPU's, for its devices. Runs in a child process.
 */
#include "tools/doctor/doctor.h"

#include "base/text.h"

#include <dlfcn.h>

void tsm_probe_cuda(const char *library, char *out, size_t size)
{
    void *driver = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    int count = 0, version = 0, error;
    char name[128] = "";

    if (!driver) {
        tsm_format(out, size, "-%s", dlerror());
        return;
    }
    int (*init)(unsigned) = (int (*)(unsigned))dlsym(driver, "cuInit");
    int (*get_version)(int *) = (int (*)(int *))dlsym(driver, "cuDriverGetVersion");
    int (*get_count)(int *) = (int (*)(int *))dlsym(driver, "cuDeviceGetCount");
    int (*get_name)(char *, int, int) = (int (*)(char *, int, int))dlsym(driver, "cuDeviceGetName");
    if (!init || !get_version || !get_count || !get_name) {
        tsm_format(out, size, "-%s is no CUDA driver", library);
        return;
    }
    error = init(0);
    if (error == 0)
        error = get_count(&count);
    get_version(&version);
    if (error || count == 0) {
        tsm_format(out, size, "-driver for CUDA %d.%d, but cuInit gave error %d, %d devices",
                   version / 1000, version % 1000 / 10, error, count);
        return;
    }
    size_t at = tsm_format(out, size, "+driver for CUDA %d.%d, %d device%s", version / 1000,
                           version % 1000 / 10, count, count == 1 ? "" : "s");
    /* a device's number is its handle */
    for (int i = 0; i < count && i < 4 && get_name(name, sizeof(name), i) == 0; i++)
        at += tsm_format(out + at, size - at, "%s %s", i ? "," : ":", name);
}

void tsm_doctor_cuda(struct tsm_finding *out)
{
    char said[400];

    if (tsm_probe(tsm_probe_cuda, "libcuda.so.1", said, sizeof(said)))
        tsm_found(out, TSM_HEALTH_OK, "", "%s", said + 1);
    else
        tsm_found(out, TSM_HEALTH_WARN,
                  "with an NVIDIA GPU: install its driver; without: use the software GPU",
                  "no CUDA device: %s", said[0] ? said + 1 : "no answer");
}
