/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads the workload of a trace for commands that simulate it, and says what it lacks.
 */
#ifndef TOOLS_SCHEDULE_LOAD_H
#define TOOLS_SCHEDULE_LOAD_H

#include "analysis/schedule/loose/loose.h"
#include "analysis/schedule/simulate.h"

/* Makes the workload, calibrated. TSM_E_NOT_FOUND: it has no commands. Finish it in any case. */
int tsm_workload_load(struct tsm_workload *out, struct sbt_reader *reader);

/* Makes the loose commands, with the times of the kernel's rings that the trace has. Finish them in
 * any case. */
int tsm_loose_load(struct tsm_loose *out, struct sbt_reader *reader, bool leaves_kernel);

/* Notes commands without a time, without their work, and of other APIs. */
void tsm_workload_note(const struct tsm_workload *w, struct sbt_reader *reader);

#endif
