/* SPDX-License-Identifier: Apache-2.0
 *
 * All of libtracesmith. docs/c.md begins with five small programs.
 */
#ifndef TRACESMITH_TRACESMITH_H
#define TRACESMITH_TRACESMITH_H

#include "tracesmith/analysis.h"
#include "tracesmith/columns.h"
#include "tracesmith/error.h"
#include "tracesmith/reader.h"
#include "tracesmith/replay.h"
#include "tracesmith/symbols.h"
#include "tracesmith/trace.h"
#include "tracesmith/version.h"
#include "tracesmith/writer.h"

#endif
