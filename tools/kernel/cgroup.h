/* SPDX-License-Identifier: Apache-2.0
 *
 * Cgroups by name. The kernel's events tell a number, which is that of the cgroup's folder.
 */
#ifndef TOOLS_KERNEL_CGROUP_H
#define TOOLS_KERNEL_CGROUP_H

#include <stdint.h>

/* `text` is a number, or a path below the folder of cgroups of version 2 ("user.slice"), or from the
 * root on. TSM_E_NOT_FOUND: there is no such. */
int tsm_cgroup_find(uint64_t *out, const char *text);

#endif
