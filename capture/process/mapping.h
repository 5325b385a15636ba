/* SPDX-License-Identifier: Apache-2.0
 *
 * Files that the program has mapped (capture/process/mapping.c).
 */
#ifndef CAPTURE_PROCESS_MAPPING_H
#define CAPTURE_PROCESS_MAPPING_H

#include "capture/session.h"

/* Record what files are mapped, when that may have changed. Takes the dynamic linker's lock. */
void tsm_mapping_update(struct tsm_session *session);

#endif
