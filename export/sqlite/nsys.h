/* SPDX-License-Identifier: Apache-2.0
 *
 * Inside export/sqlite/: the state of an export with the tables of Nsight Systems.
 */
#ifndef EXPORT_SQLITE_NSYS_H
#define EXPORT_SQLITE_NSYS_H

#include "export/events.h"
#include "export/sqlite/database.h"
#include "export/sqlite/nsys_forms.h"
#include "export/sqlite/nsys_nvtx.h"

struct tsm_nsys_kernel;

struct tsm_nsys {
    struct tsm_database *d;
    const struct tsm_event_source *source;
    struct tsm_event_counts *counts;
    struct tsm_rows rows[NSYS_TABLE_COUNT];
    struct tsm_numbering contexts; /* by owner */
    struct tsm_device_numbers devices;
    struct tsm_numbering streams, stacks, threads; /* those that have their rows */
    struct tsm_nsys_nvtx labels;
    struct tsm_map call_names;    /* record type -> number of the call's name */
    struct tsm_map kernel_places; /* a kernel's name, as a pointer -> place in `kernels` */
    struct tsm_nsys_kernel *kernels;
    size_t kernel_count, kernel_capacity;
    int64_t process; /* as globalPid */
    int error;
};

/* Writes the tables that say what is known of the machine, the process and the trace. */
void tsm_nsys_metadata(struct tsm_nsys *n);

#endif
