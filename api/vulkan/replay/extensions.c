/* SPDX-License-Identifier: Apache-2.0
 *
 * Extensions that a replay can do without, and those that it leaves out.
 */
#include "api/vulkan/replay/extensions.h"

#include <string.h>

#include "api/vulkan/replay/call.h"

/* Tests whether a name contains the word. In names of extensions '_' separates words, in names of
 * structs each begins with a capital letter. */
static bool has_word(const char *name, const char *word)
{
    size_t length = strlen(word);
    bool is_lower = word[0] >= 'a';

    for (const char *at = name; (at = strstr(at, word)); at++) {
        char before = at == name ? '_' : at[-1], after = at[length];
        if (is_lower ? before == '_' && (after == '_' || !after) : !(after >= 'a' && after <= 'z'))
            return true;
    }
    return false;
}

/* One rule for instances, devices and their features, also for those that are newer than this
 * build. */
bool vkr_is_of_windows(const char *name)
{
    static const char *const words[] = {
        "surface", "surfaceless", "swapchain", "display", "present",     "presentable",
        "Surface", "Swapchain",   "Display",   "Present", "Presentable",
    };
    static const char *const names[] = {
        "VK_EXT_full_screen_exclusive", "VK_EXT_hdr_metadata", "VK_GGP_frame_token",
        "VK_NV_low_latency2", /* of swapchains */
    };

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (has_word(name, words[i]))
            return true;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

/* Tests for an extension of layers or windows: replay has neither, unless they are there anyhow. */
bool vkr_is_dispensable(const char *name)
{
    static const char *const names[] = {
        "VK_EXT_debug_marker",
        "VK_EXT_debug_report",
        "VK_EXT_debug_utils",
        "VK_EXT_device_memory_report",
        "VK_EXT_layer_settings",
        "VK_EXT_tooling_info",
        "VK_EXT_validation_cache",
        "VK_EXT_validation_features",
        "VK_EXT_validation_flags",
        "VK_KHR_portability_enumeration",
        "VK_LUNARG_direct_driver_loading",
    };

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return vkr_is_of_windows(name);
}

int vkr_filter_extensions(struct vkr_call *c, const char *const **names, uint32_t *count,
                          const char *more, bool (*has)(struct vkr_call *, const char *))
{
    const char **kept = vkr_call_take(c, (*count + 1) * sizeof(*kept));
    uint32_t used = 0;

    if (!kept)
        return tsm_fail(TSM_E_MEMORY, "no memory for names of extensions");
    for (uint32_t i = 0; i < *count; i++) {
        if (!(*names)[i])
            return tsm_fail(TSM_E_FORMAT, "an extension has no name");
        if (more && strcmp((*names)[i], more) == 0)
            continue;
        if (has(c, (*names)[i]))
            kept[used++] = (*names)[i];
        else if (!vkr_is_dispensable((*names)[i]))
            return tsm_fail(TSM_E_UNSUPPORTED, "there is no %s here", (*names)[i]);
    }
    if (more)
        kept[used++] = more;
    *names = kept;
    *count = used;
    return 0;
}
