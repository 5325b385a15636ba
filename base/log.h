/* SPDX-License-Identifier: Apache-2.0
 *
 * Log lines for people who debug TraceSmith itself. Results and errors for users do not come here:
 * tools print those.
 *
 * TS_LOG chooses what is written to stderr: a comma-separated list of LEVEL or DOMAIN:LEVEL. A
 * domain is a source file without its suffix, or a folder:
 * TS_LOG=warn,capture/lane/lane:debug,emu:info; of its path any part will do that consists of whole
 * names: lane/lane, capture. Default: warn.
 *
 * Safe inside a traced program: one write(2) a line, no malloc, no stdio, no lock, errno preserved.
 */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include <stdbool.h>

enum tsm_log_level {
    TSM_LOG_ERROR,
    TSM_LOG_WARN,
    TSM_LOG_INFO,
    TSM_LOG_DEBUG,
};

#define tsm_log(level, ...)                                                                        \
    do {                                                                                           \
        if ((level) <= TSM_LOG_WARN || tsm_log_wants((level), __FILE__))                           \
            tsm_log_write((level), __FILE__, __VA_ARGS__);                                         \
    } while (0)

/* Tests whether this is a value for TS_LOG. */
bool tsm_log_accepts(const char *setting);

/* Apply a TS_LOG value; NULL means the default. Call before other threads log. */
void tsm_log_configure(const char *setting);

bool tsm_log_wants(enum tsm_log_level level, const char *file);
void tsm_log_write(enum tsm_log_level level, const char *file, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
