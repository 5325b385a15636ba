/* SPDX-License-Identifier: Apache-2.0
 *
 * Which of this machine's devices stands for which of the recording: the one that the user asks
 * for, else one that has what the trace needs, of the recorded name if there is one.
 */
#include "api/vulkan/replay/physical_device_match.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "api/vulkan/replay/recorded_device.h"
#include "api/vulkan/replay/replay.h"
#include "api/vulkan/replay/requirements.h"
#include "base/text.h"

static void properties(const struct vkr *r, uint32_t place, VkPhysicalDeviceProperties *out,
                       char uuid[2 * VK_UUID_SIZE + 1])
{
    VkPhysicalDeviceIDProperties id = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES};
    VkPhysicalDeviceProperties2 all = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2,
                                       .pNext = &id};
    const struct vk_instance_functions *f = &r->probe->dispatch.f;

    if (f->vkGetPhysicalDeviceProperties2)
        f->vkGetPhysicalDeviceProperties2(r->probe->physicals[place], &all);
    else
        f->vkGetPhysicalDeviceProperties(r->probe->physicals[place], &all.properties);
    *out = all.properties;
    for (uint32_t i = 0; i < VK_UUID_SIZE; i++)
        tsm_format(uuid + 2 * i, 3, "%02x", id.deviceUUID[i]);
}

/* ---- asked for --------------------------------------------------------------------------- */

/* Hexadecimal digits, with or without dashes. */
static bool is_uuid(const char *text, const char *uuid)
{
    while (*text && *uuid) {
        if (*text != '-' && strncasecmp(text, uuid++, 1) != 0)
            return false;
        text++;
    }
    return !*text && !*uuid;
}

/* How well `text` names the device: 0 not at all, then a part of its name, its name, its UUID. */
static int fit_of(const struct vkr *r, uint32_t place, const char *text)
{
    VkPhysicalDeviceProperties p;
    char uuid[2 * VK_UUID_SIZE + 1];

    properties(r, place, &p, uuid);
    if (is_uuid(text, uuid))
        return 3;
    if (strcmp(p.deviceName, text) == 0)
        return 2;
    return strcasestr(p.deviceName, text) != NULL;
}

static int not_here(const struct vkr *r, const char *text)
{
    char list[300] = "";
    size_t used = 0;

    for (uint32_t i = 0; i < r->probe->physical_count && used + 1 < sizeof(list); i++) {
        VkPhysicalDeviceProperties p;
        char uuid[2 * VK_UUID_SIZE + 1];
        properties(r, i, &p, uuid);
        used += tsm_format(list + used, sizeof(list) - used, "%s%u: \"%s\", UUID %s", i ? "; " : "",
                           i, p.deviceName, uuid);
    }
    return tsm_fail(TSM_E_NOT_FOUND, "no device %s; %s has %s", text, r->loader.path, list);
}

int vkr_choose_device(struct vkr *r, const char *text)
{
    char *end = NULL;
    unsigned long number = strtoul(text, &end, 10);
    bool is_number = *text >= '0' && *text <= '9' && !*end;
    int best = 0;

    if (is_number && number < r->probe->physical_count) {
        r->chosen = (uint32_t)number;
        r->is_chosen = true;
    }
    for (uint32_t i = 0; *text && !is_number && i < r->probe->physical_count; i++) {
        int fit = fit_of(r, i, text);
        if (fit > best)
            r->chosen = i;
        best = fit > best ? fit : best;
    }
    r->is_chosen |= best > 0;
    return r->is_chosen ? 0 : not_here(r, *text ? text : "\"\"");
}

/* ---- not asked for ----------------------------------------------------------------------- */

static uint32_t misses_of(struct vkr *r, uint64_t physical, uint32_t place)
{
    uint32_t count = 0;

    for (const struct vkr_required_device *d = r->needs.devices; d; d = d->next)
        count += d->physical == physical ? vkr_requirements_misses(r, d, place) : 0;
    return count;
}

static bool is_taken(const struct vkr *r, uint64_t physical, uint32_t place)
{
    for (const struct vkr_required_device *d = r->needs.devices; d; d = d->next)
        if (d->is_placed && d->physical != physical && d->place == place)
            return true;
    return false;
}

static bool has_name(const struct vkr *r, const struct vkr_required_device *d, uint32_t place)
{
    const char *name = vkr_recorded_fact(r, d->id, "name");
    VkPhysicalDeviceProperties p;

    r->probe->dispatch.f.vkGetPhysicalDeviceProperties(r->probe->physicals[place], &p);
    return name && strcmp(p.deviceName, name) == 0;
}

/* Returns the reasons against a device, the weightiest first. */
static uint32_t against(struct vkr *r, const struct vkr_required_device *d, uint32_t place)
{
    return (misses_of(r, d->physical, place) > 0 ? 4 : 0) + (has_name(r, d, place) ? 0 : 2) +
           is_taken(r, d->physical, place);
}

void vkr_choose_devices(struct vkr *r)
{
    for (struct vkr_required_device *d = r->needs.devices; d; d = d->next) {
        uint32_t least = UINT32_MAX;
        d->place = r->chosen;
        for (uint32_t i = 0; i < r->probe->physical_count && !r->is_chosen; i++) {
            uint32_t weight = r->probe->physical_count > 1 ? against(r, d, i) : 0;
            if (weight < least)
                d->place = i;
            least = weight < least ? weight : least;
        }
        d->is_placed = true;
    }
}
