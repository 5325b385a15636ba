/* SPDX-License-Identifier: GPL-2.0 */
/* Test results as TAP, one line each, as kselftest prints them. */
#ifndef GRTRACE_TESTS_TAP_H
#define GRTRACE_TESTS_TAP_H

#include <stdbool.h>

/* "ok N - text" or "not ok N - text". Returns `good`. */
__attribute__((format(printf, 2, 3))) bool tap_ok(bool good, const char *format, ...);
__attribute__((format(printf, 1, 2))) void tap_note(const char *format, ...);
/* The plan; exit status. */
int tap_finish(void);

#endif
