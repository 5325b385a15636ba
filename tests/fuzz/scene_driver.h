/* SPDX-License-Identifier: Apache-2.0
 *
 * The Vulkan driver that does nothing, which is linked into the program that replays.
 */
#ifndef TESTS_FUZZ_SCENE_DRIVER_H
#define TESTS_FUZZ_SCENE_DRIVER_H

#include <stdbool.h>
#include <stdint.h>

struct scene_driver {
    bool apart;     /* the host cannot map the device's memory */
    bool is_sorted; /* the driver's own */
    uint64_t calls; /* so far */
};

extern struct scene_driver scene_driver;

#endif
