/* SPDX-License-Identifier: Apache-2.0
 *
 * Chrome's trace events, which ui.perfetto.dev and chrome://tracing load: tracks are threads of
 * processes, and hold slices that must not overlap unless they nest.
 */
#ifndef TOOLS_TIMELINE_CHROME_OUT_H
#define TOOLS_TIMELINE_CHROME_OUT_H

#include "tools/text/json_out.h"

/* '{', head, '[' and their ends. */
void tsm_chrome_begin(struct tsm_json *j);
void tsm_chrome_end(struct tsm_json *j);

/* An object with phase, name and track is open; more members may be put into it before '}'. */
void tsm_chrome_open(struct tsm_json *j, const char *phase, const char *name, uint64_t process,
                     uint64_t thread);
/* A member with a time; theirs are microseconds. */
void tsm_chrome_time(struct tsm_json *j, const char *name, uint64_t ns);
/* A slice, open for "args". */
void tsm_chrome_slice(struct tsm_json *j, const char *name, uint64_t process, uint64_t thread,
                      uint64_t from_ns, uint64_t to_ns);
/* Names of tracks; `what` is "thread_name" or "process_name". */
void tsm_chrome_name(struct tsm_json *j, const char *what, uint64_t process, uint64_t thread,
                     const char *name);

#endif
