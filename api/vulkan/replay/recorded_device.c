/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds what the trace says of the devices that it was recorded with.
 */
#include "api/vulkan/replay/recorded_device.h"

#include <stdlib.h>
#include <string.h>

#include "api/vulkan/replay/replay.h"
#include "api/vulkan/replay/requirements.h"
#include "base/text.h"

const char *vkr_recorded_fact(const struct vkr *r, uint64_t device, const char *name)
{
    char full[96];

    tsm_format(full, sizeof(full), "vulkan.device.%llu.%s", (unsigned long long)device, name);
    return sbt_reader_metadata_find(r->reader, full);
}

static bool is_fact(const struct vkr *r, uint64_t device, const char *name, uint32_t number)
{
    const char *fact = vkr_recorded_fact(r, device, name);

    return fact && strtoul(fact, NULL, 0) == number;
}

bool vkr_is_recorded(const struct vkr *r, uint64_t device, const VkPhysicalDeviceProperties *here)
{
    const char *name = vkr_recorded_fact(r, device, "name");

    return name && strcmp(name, here->deviceName) == 0 &&
           is_fact(r, device, "driver_version", here->driverVersion) &&
           is_fact(r, device, "vendor", here->vendorID) &&
           is_fact(r, device, "device", here->deviceID) &&
           is_fact(r, device, "type", (uint32_t)here->deviceType);
}

uint32_t vkr_physical_device_index(const struct vkr *r, uint64_t id)
{
    for (const struct vkr_required_device *d = r->needs.devices; d; d = d->next)
        if (d->physical == id)
            return d->place;
    return r->chosen;
}
