/* SPDX-License-Identifier: Apache-2.0
 *
 * A function's own name: "add" of "void n::add<float>(float*, int)".
 */
#ifndef EXPORT_SHORT_NAME_H
#define EXPORT_SHORT_NAME_H

#include <stddef.h>

/* Writes what stands before the parameters and the template's arguments, without the scopes around
 * it, cut to `size`. A name that is no function's stays as it is. */
void tsm_short_name(char *out, size_t size, const char *name);

#endif
