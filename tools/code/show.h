/* SPDX-License-Identifier: Apache-2.0
 *
 * A list of code as text and as JSON, schema "tscode/1". One thread.
 */
#ifndef TOOLS_CODE_SHOW_H
#define TOOLS_CODE_SHOW_H

#include "base/json.h"
#include "tools/code/list.h"

/* Tests whether the kernel is wanted: `pattern` as in tools/text/kernel_name.h; NULL: all are. */
bool tsm_code_kernel_is_wanted(const struct tsm_code_kernel *kernel, const char *pattern);

/* Tests whether the code has a kernel that is wanted; all code has without a pattern. */
bool tsm_code_is_wanted(const struct tsm_code *code, const char *pattern);

void tsm_code_print_head(const struct tsm_code *code);
void tsm_code_print_member(const struct tsm_code *code, const struct tsm_code_member *member,
                           const char *pattern);
void tsm_code_json(struct tsm_json *j, const struct tsm_code *code, const char *pattern);

#endif
