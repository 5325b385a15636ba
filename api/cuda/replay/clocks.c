/* SPDX-License-Identifier: Apache-2.0
 *
 * Clocks and power of the device: what CUDA says of it, and what NVML says where it is there.
 */
#include "api/cuda/replay/state.h"

#include "base/text.h"

#include <dlfcn.h>
#include <string.h>

#define NVML_GRAPHICS 0u
#define NVML_MEMORY   2u

typedef struct nvml_device *nvml_device;

struct nvml {
    int (*init)(void);
    int (*shutdown)(void);
    int (*find)(const char *bus, nvml_device *out);
    int (*clock)(nvml_device device, unsigned type, unsigned *mhz);
    int (*power)(nvml_device device, unsigned *milliwatts);
    int (*limit)(nvml_device device, unsigned *milliwatts);
    int (*temperature)(nvml_device device, unsigned sensor, unsigned *degrees);
    int (*state)(nvml_device device, unsigned *state);
};

static bool find(void *library, const char *name, void *out)
{
    void *found = dlsym(library, name);

    memcpy(out, &found, sizeof(found));
    return found != NULL;
}

static bool load(struct nvml *n, void *library)
{
    return find(library, "nvmlInit_v2", &n->init) && find(library, "nvmlShutdown", &n->shutdown) &&
           find(library, "nvmlDeviceGetHandleByPciBusId_v2", &n->find) &&
           find(library, "nvmlDeviceGetClockInfo", &n->clock) &&
           find(library, "nvmlDeviceGetPowerUsage", &n->power) &&
           find(library, "nvmlDeviceGetEnforcedPowerLimit", &n->limit) &&
           find(library, "nvmlDeviceGetTemperature", &n->temperature) &&
           find(library, "nvmlDeviceGetPerformanceState", &n->state);
}

/* Appends the text that a value gives, if there is a value. */
static void add(char *out, size_t size, bool is_known, const char *format, unsigned value)
{
    const size_t used = strlen(out);

    if (!is_known)
        return;
    tsm_format(out + used, size - used, "%s", used ? ", " : "");
    tsm_format(out + strlen(out), size - strlen(out), format, value); /* NOLINT: our own formats */
}

static void ask_nvml(const struct nvml *n, const char *bus, char *out, size_t size)
{
    nvml_device device;
    unsigned value = 0;

    if (n->find(bus, &device) != 0)
        return;
    add(out, size, n->clock(device, NVML_GRAPHICS, &value) == 0, "now at %u MHz", value);
    add(out, size, n->clock(device, NVML_MEMORY, &value) == 0, "memory at %u MHz", value);
    add(out, size, n->state(device, &value) == 0, "performance state P%u", value);
    add(out, size, n->power(device, &value) == 0, "%u W", value / 1000);
    add(out, size, n->limit(device, &value) == 0, "limit %u W", value / 1000);
    add(out, size, n->temperature(device, 0, &value) == 0, "%u degrees Celsius", value);
}

static void describe_now(const char *bus, char *out, size_t size)
{
    void *library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    struct nvml n;

    if (library && load(&n, library) && n.init() == 0) {
        ask_nvml(&n, bus, out, size);
        n.shutdown();
    }
    if (library)
        dlclose(library);
}

static void add_attribute(const struct cuda_replay *replay, CUdevice_attribute attribute,
                          const char *format, char *out, size_t size)
{
    int khz = 0;
    const CUresult result =
        replay->library.calls.cuDeviceGetAttribute(&khz, attribute, cuda_device_main(replay));

    add(out, size, result == CUDA_SUCCESS && khz > 0, format, (unsigned)khz / 1000);
}

void cuda_clocks_describe(const struct cuda_replay *replay, char *out, size_t size)
{
    char bus[32] = "";

    *out = '\0';
    if (replay->library.is_emu)
        return; /* it has none */
    add_attribute(replay, CU_DEVICE_ATTRIBUTE_CLOCK_RATE, "at most %u MHz", out, size);
    add_attribute(replay, CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, "memory at most %u MHz", out,
                  size);
    if (replay->library.calls.cuDeviceGetPCIBusId(bus, sizeof(bus), cuda_device_main(replay)) ==
        CUDA_SUCCESS)
        describe_now(bus, out, size);
}
