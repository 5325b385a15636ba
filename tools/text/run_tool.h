/* SPDX-License-Identifier: Apache-2.0
 *
 * Other people's programs that understand bytes of a trace.
 */
#ifndef TOOLS_TEXT_RUN_TOOL_H
#define TOOLS_TEXT_RUN_TOOL_H

#include <stddef.h>

/* Runs argv[0], which is looked for in PATH, with the bytes as its standard input (also a file,
 * /dev/stdin) and its output in the file `fd`. TSM_E_NOT_FOUND: there is no such program, without a
 * message; TSM_E_FORMAT: it fails. */
int tsm_run_tool(const char *const *argv, const void *bytes, size_t size, int fd);

#endif
