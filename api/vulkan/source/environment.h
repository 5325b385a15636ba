/* SPDX-License-Identifier: Apache-2.0
 *
 * The environment, by which the loader finds the layer.
 */
#ifndef API_VULKAN_SOURCE_ENVIRONMENT_H
#define API_VULKAN_SOURCE_ENVIRONMENT_H

#include "api/vulkan/source/layer.h"

/* Sets our variables again if the program has removed them, for when the loader reads them next. */
void vk_environment_restore(void);
/* Tests whether the environment says that this process is to be recorded. */
bool vk_environment_wants(void);

#endif
