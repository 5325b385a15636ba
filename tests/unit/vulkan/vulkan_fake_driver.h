/* SPDX-License-Identifier: Apache-2.0
 *
 * A Vulkan "driver" of one device, as a shared library for --library: it keeps bytes of memory,
 * copies at once, and notes what it is called with. Loaded again, it is the same.
 */
#ifndef TESTS_UNIT_VULKAN_VULKAN_FAKE_DRIVER_H
#define TESTS_UNIT_VULKAN_VULKAN_FAKE_DRIVER_H

#include <stdbool.h>

struct fake {
    char log[16384];       /* "vkQueueSubmit 2 waits 1 signals\n" ... */
    bool is_lost;          /* submits give VK_ERROR_DEVICE_LOST */
    bool hangs;            /* fences never come */
    unsigned alignment;    /* of buffers; 0: 16 */
    unsigned address_base; /* of buffers' device addresses, in units of 4 GiB */
    int live;              /* objects and memory that were made and not destroyed */
};

/* Exported as "fake_state". */
typedef struct fake *fake_state_function(void);

#endif
