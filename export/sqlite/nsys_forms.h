/* SPDX-License-Identifier: Apache-2.0
 *
 * Tables of an SQLite file of Nsight Systems, and those that we add. Columns are in the order of
 * NVIDIA's user guide, since scripts may select all of them. What a trace cannot know is NULL, also
 * where NVIDIA's files always have a value (registersPerThread).
 */
#ifndef EXPORT_SQLITE_NSYS_FORMS_H
#define EXPORT_SQLITE_NSYS_FORMS_H

#include "export/sqlite/database.h"

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
    NSYS_START,
    NSYS_ANALYSIS,
    NSYS_EXPORT,
    NSYS_CAPTURE,
    NSYS_DIAGNOSTIC,
    NSYS_OWN_CALL,
    NSYS_OWN_COMMAND,
    NSYS_OWN_TIME,
    NSYS_OWN_STATE,
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
enum { NSYS_KIND_PAGEABLE, NSYS_KIND_PINNED, NSYS_KIND_DEVICE, NSYS_KIND_ARRAY };
enum { NSYS_SYNC_EVENT = 1, NSYS_SYNC_WAIT_EVENT, NSYS_SYNC_STREAM, NSYS_SYNC_CONTEXT };
enum { NSYS_LAUNCH_REGULAR = 1 };

extern const struct tsm_table_form tsm_nsys_forms[NSYS_TABLE_COUNT];

/* Values of the tables of names. */
struct tsm_nsys_label {
    enum nsys_table table;
    int id;
    const char *name, *label;
};
extern const struct tsm_nsys_label tsm_nsys_labels[];
extern const size_t tsm_nsys_label_count;

#endif
