/* SPDX-License-Identifier: Apache-2.0
 *
 * Extensions of instances and devices.
 */
#ifndef API_VULKAN_REPLAY_EXTENSIONS_H
#define API_VULKAN_REPLAY_EXTENSIONS_H

#include "api/vulkan/replay/common.h"

/* Tests whether replay can do without an extension: of layers, of windows. */
bool vkr_is_dispensable(const char *extension);
/* Tests whether an extension, or a struct of features, concerns windows and screens only. */
bool vkr_is_of_windows(const char *name);
/* Leaves out names that are not here (`has`) and dispensable; refuses others. `more`: one more, or
 * NULL. The new list lives as long as the call. */
int vkr_filter_extensions(struct vkr_call *c, const char *const **names, uint32_t *count,
                          const char *more, bool (*has)(struct vkr_call *, const char *));

#endif
