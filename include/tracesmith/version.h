/* SPDX-License-Identifier: Apache-2.0
 *
 * The version of TraceSmith's library and tools. The version of the trace format is separate: see
 * SBT_VERSION_MAJOR in tracesmith/trace.h.
 */
#ifndef TRACESMITH_VERSION_H
#define TRACESMITH_VERSION_H

#define TSM_VERSION_MAJOR 0
#define TSM_VERSION_MINOR 1
#define TSM_VERSION_PATCH 0
#define TSM_VERSION_STRING "0.1.0"

#endif
