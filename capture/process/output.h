/* SPDX-License-Identifier: Apache-2.0
 *
 * The trace and the lanes file (capture/process/output.c). The drain thread only.
 */
#ifndef CAPTURE_PROCESS_OUTPUT_H
#define CAPTURE_PROCESS_OUTPUT_H

#include "capture/session.h"

/* ---- output (capture/process/output.c), the drain thread only
 * --------------------------------------- */

/* Choose `session->path`; open the lanes file, locked, and the trace, which does not have its name
 * yet. Negative error on failure, then nothing of them is left. */
int tsm_output_open(struct tsm_session *session, int *trace_fd, int *lanes_fd);

/* The trace is begun: give it its name. */
int tsm_output_show(struct tsm_session *session);

/* ... or it could not be: take both files away. */
void tsm_output_remove(const struct tsm_session *session);

/* One line on the program's stderr, from a thread that has no descriptors of the program. */
void tsm_output_warn(const struct tsm_session *session, const char *text);

#endif
