/* SPDX-License-Identifier: Apache-2.0
 *
 * Constants and types that all of the Vulkan backend uses.
 */
#ifndef API_VULKAN_REPLAY_COMMON_H
#define API_VULKAN_REPLAY_COMMON_H

#include "api/vulkan/tables/codec.h"
#include "api/vulkan/tables/dispatch.h"
#include "api/vulkan/tables/timeline.h"
#include "api/vulkan/vulkan_args.h"
#include "api/vulkan/vulkan_ids.h"
#include "base/map.h"
#include "replay/address_space.h"
#include "replay/backend.h"

#include <pthread.h>

#define VKR_ARGS_SIZE    256u         /* no command's arguments are larger */
#define VKR_PHYSICAL_MAX 32u          /* devices of a machine */
#define VKR_PLACE        (1ull << 63) /* an address that is a place in device memory, FORMAT.md 10 */
#define VKR_PLACE_WINDOW                                                                           \
    (1ull << 62)                        /* ... in that of an image of a window: our own, by its id \
                                         */
#define VKR_PLACE_TEXELS   (1ull << 39) /* ... with that: its texels, FORMAT.md 10 */
#define VKR_PLACE_ID_SHIFT 40
#define VKR_PLACE_ID_MAX   ((1ull << 22) - 1)
#define VKR_PLACE_OFFSET   ((1ull << VKR_PLACE_ID_SHIFT) - 1)

/* Any handle or pointer as a number. */
#define VKR_RAW(handle) ((uint64_t)(uintptr_t)(handle))

struct vkr;
struct vkr_call;

#endif
