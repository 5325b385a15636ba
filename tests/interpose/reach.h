/* SPDX-License-Identifier: Apache-2.0
 *
 * Whose function is at an address? Shared by reach.c and its plugins.
 */
#ifndef TESTS_INTERPOSE_REACH_H
#define TESTS_INTERPOSE_REACH_H

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

static inline const char *owner_of(void *function)
{
    Dl_info info;

    if (!function)
        return "absent";
    if (!dladdr(function, &info))
        return "unknown";
    return strstr(info.dli_fname, "libts_capture.so") ? "hooked" : "unhooked";
}

#endif
