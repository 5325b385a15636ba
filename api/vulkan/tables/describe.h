/* SPDX-License-Identifier: Apache-2.0
 *
 * Describes Vulkan's records for a trace: schemas, structs, names of values. Computed from the
 * tables at the first use, so that nothing of it is in the file that is loaded into each process.
 */
#ifndef API_VULKAN_TABLES_DESCRIBE_H
#define API_VULKAN_TABLES_DESCRIBE_H

#include "api/api.h"

/* Calls in the order of vk_commands, which is that of their ids. Filled in by vulkan_describe(). */
extern struct tsm_api_description vulkan_description;

/* Fill it in. Not to be called by two threads at once; a second time it does nothing. */
void vulkan_describe(void);

/* A struct (place in vk_structs) is in a chain that is recorded: see tsm_api_description.used. Any
 * thread. */
void vk_struct_use(uint32_t place);

#endif
