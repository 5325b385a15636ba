/* SPDX-License-Identifier: Apache-2.0
 *
 * How far cursors have come, for those who show it.
 */
#ifndef FORMAT_READER_PROGRESS_H
#define FORMAT_READER_PROGRESS_H

#include "tracesmith/reader.h"

/* Lets every cursor of the reader that goes forward call `progress` when it is through with a
 * chunk: `done` of `total`. It is called by the thread that moves the cursor. NULL: no more. */
void sbt_reader_show_progress(struct sbt_reader *reader,
                              void (*progress)(void *user, uint64_t done, uint64_t total),
                              void *user);

#endif
