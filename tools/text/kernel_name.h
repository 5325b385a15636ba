/* SPDX-License-Identifier: Apache-2.0
 *
 * Names of kernels as users give them: as the code has it ("_Z3addPfi"), as people write it
 * ("void n::add<float>(float*, int)", or "add" alone), or a pattern of a shell for either
 * ("*add*").
 */
#ifndef TOOLS_TEXT_KERNEL_NAME_H
#define TOOLS_TEXT_KERNEL_NAME_H

#include <stdbool.h>

/* Tests whether `wanted` means the kernel `name`. One thread. */
bool tsm_kernel_name_matches(const char *wanted, const char *name);

#endif
