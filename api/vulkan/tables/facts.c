/* SPDX-License-Identifier: Apache-2.0
 *
 * Facts where nobody knows more than the structs say: see valid.h. Not in the file that uses it: a
 * compiler would take the zeros for granted.
 */
#include "api/vulkan/tables/valid.h"

__attribute__((weak)) const struct vk_facts vk_facts = {NULL, NULL, NULL, NULL};
