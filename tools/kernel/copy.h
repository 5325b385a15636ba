/* SPDX-License-Identifier: Apache-2.0
 *
 * Copies what the kernel saw during a part of a trace.
 */
#ifndef TOOLS_KERNEL_COPY_H
#define TOOLS_KERNEL_COPY_H

#include "tracesmith/reader.h"
#include "tracesmith/writer.h"

#include <stdint.h>

/* Copy the kernel records of `reader` that lie within [from_ns, to_ns] of the session, both
 * included, and what says what they are about (names of devices and rings). What is left out does
 * not look lost: the numbers of those after it are counted down. Returns a tsm_error. */
int tsm_kernel_copy(struct sbt_writer *writer, struct sbt_reader *reader, uint64_t from_ns,
                    uint64_t to_ns);

#endif
