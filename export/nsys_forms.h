/* SPDX-License-Identifier: Apache-2.0
 *
 * Tables of an SQLite file of Nsight Systems, and those that we add. Columns are in the order of
 * NVIDIA's user guide, since scripts may select all of them. What a trace cannot know is NULL, also
 * where NVIDIA's files always have a value (registersPerThread).
 */
#ifndef EXPORT_NSYS_FORMS_H
#define EXPORT_NSYS_FORMS_H

#include "export/database.h"

enum nsys_table {
    NSYS_STRINGS,
    NSYS_RUNTIME,
    NSYS_KERNEL,
    NSYS_MEMCPY,
    NSYS_MEMSET,
    NSYS_GRAPH_TRACE,
    NSYS_SYNCHRONIZATION,
    NSYS_CUDA_EVENT,
    NSYS_MEMORY_USAGE,
    NSYS_CALLCHAINS,
    NSYS_NVTX,
    NSYS_THREADS,
    NSYS_PROCESSES,
    NSYS_GPU,
    NSYS_NVTX_DEVICE,
    NSYS_STREAM,
    NSYS_CONTEXT,
    NSYS_SYSTEM_ENV,
    NSYS_START,
    NSYS_ANALYSIS,
    NSYS_EXPORT,
    NSYS_CAPTURE,
    NSYS_DIAGNOSTIC,
    NSYS_OWN_CALL,
    NSYS_OWN_COMMAND,
    NSYS_OWN_TIME,
    NSYS_ENUM_CLASS,
    NSYS_ENUM_TYPE,
    NSYS_ENUM_MEMCPY,
    NSYS_ENUM_MEM_KIND,
    NSYS_ENUM_MEM_OPER,
    NSYS_ENUM_SYNC,
    NSYS_ENUM_LAUNCH,
    NSYS_ENUM_STREAM,
    NSYS_ENUM_SEVERITY,
    NSYS_TABLE_COUNT
};

/* Values of columns (CUPTI's, and Nsight Systems' own). */
enum { NSYS_CLASS_DRIVER = 1 };
enum {
    NSYS_TYPE_CATEGORY = 33,
    NSYS_TYPE_MARK = 34,
    NSYS_TYPE_PUSH_POP = 59,
    NSYS_TYPE_START_END = 60,
    NSYS_TYPE_DOMAIN = 75
};
enum {
    NSYS_KIND_PAGEABLE,
    NSYS_KIND_PINNED,
    NSYS_KIND_DEVICE,
    NSYS_KIND_ARRAY,
    NSYS_KIND_UNKNOWN = 7
};
enum { NSYS_SYNC_EVENT = 1, NSYS_SYNC_WAIT_EVENT, NSYS_SYNC_STREAM, NSYS_SYNC_CONTEXT };
enum { NSYS_LAUNCH_REGULAR = 1 };

/* Forms of the tables, and rows of those that hold names of numbers. */
extern const struct tsm_table_form nsys_forms[NSYS_TABLE_COUNT];
void nsys_forms_write(struct tsm_database *d, struct tsm_rows rows[NSYS_TABLE_COUNT]);

#endif
