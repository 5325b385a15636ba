/* SPDX-License-Identifier: Apache-2.0
 *
 * Facts for the trace.
 */
#ifndef API_VULKAN_SOURCE_FACTS_H
#define API_VULKAN_SOURCE_FACTS_H

#include "api/vulkan/source/layer.h"

void vk_describe_device(const struct vk_device_state *device);

#endif
