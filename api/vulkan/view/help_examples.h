/* SPDX-License-Identifier: Apache-2.0
 *
 * Patterns of Vulkan calls for help pages of commands that know no API.
 */
#ifndef API_VULKAN_VIEW_HELP_EXAMPLES_H
#define API_VULKAN_VIEW_HELP_EXAMPLES_H

#define VULKAN_EXAMPLE_COMMANDS "vkCmd*" /* recorded into command buffers */

#endif
