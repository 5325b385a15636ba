/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds TraceSmith's own files, relative to the running program, so that a build folder, an
 * installation and a moved bundle all work without settings.
 */
#ifndef TOOLS_LOCATE_H
#define TOOLS_LOCATE_H

#include <stdbool.h>
#include <stddef.h>

enum tsm_place {
    TSM_PLACE_CAPTURE, /* libts_capture.so */
    TSM_PLACE_AUDIT,   /* libts_audit.so */
    TSM_PLACE_EMU,     /* libcuda.so.1 of the software GPU */
};

/* The absolute path into out. TSM_E_NOT_FOUND when this installation has no such file. */
int tsm_locate(char *out, size_t size, enum tsm_place place);

/* Put `entry` before the value of a list variable such as LD_LIBRARY_PATH. */
int tsm_environment_prepend(const char *name, const char *entry);

/* Make programs started from here find the software GPU as libcuda.so.1. */
int tsm_environment_emu(void);

#endif
