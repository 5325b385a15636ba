/* SPDX-License-Identifier: Apache-2.0
 *
 * A trace as columns: arrays with one value for each record, each command with its time on the
 * device, or each edge between commands. NumPy, Arrow and the like take them as they are.
 *
 * Tables belong to the caller and hold all that they point to: they may outlive the reader. Newer
 * libraries append members, so a table is only ever made by a function here.
 *
 * Threads: several may read tables of one reader at once, and use one table at once.
 */
#ifndef TRACESMITH_COLUMNS_H
#define TRACESMITH_COLUMNS_H

#include "tracesmith/reader.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- records ------------------------------------------------------------------------------- */

/* Columns with the members of struct sbt_record. */
struct tsm_records {
    size_t count;
    const uint64_t *seq;
    const uint64_t *time_ns, *duration_ns;
    const uint32_t *type; /* sbt_reader_schema() tells its name */
    const uint32_t *thread, *stream, *stack;
    const uint64_t *position;
    const int64_t *result;
    const uint32_t *flags; /* SBT_RECORD_* */
};

/* Reads the records that `filter` selects (NULL: all): 60 bytes each. */
int tsm_records_read(struct tsm_records **out, struct sbt_reader *reader,
                     const struct sbt_filter *filter);
void tsm_records_destroy(struct tsm_records *table);

/* Returns the name of the kernel that a record launches; NULL: it launches none, or its name is not
 * known. The text lives as long as the reader. */
const char *tsm_record_kernel(struct sbt_reader *reader, const struct sbt_record *record);

/* ---- commands ------------------------------------------------------------------------------ */

/* How a time is known. */
enum tsm_time_kind {
    TSM_TIME_UNKNOWN,  /* start and end mean nothing */
    TSM_TIME_DERIVED,  /* from the call: the device worked at some time between start and end */
    TSM_TIME_MEASURED, /* by the device, or by events before and after the command */
};

/* Clocks that a start is on. */
enum tsm_time_axis {
    TSM_AXIS_DEVICE,  /* the device's own */
    TSM_AXIS_HOST,    /* that of the host's calls */
    TSM_AXIS_VIRTUAL, /* a machine description's, the same in each run (TS_EMU_TIME=virtual) */
};

/* Kinds of work of a command. */
enum tsm_work {
    TSM_WORK_OTHER,
    TSM_WORK_KERNEL,
    TSM_WORK_COPY,
    TSM_WORK_FILL,
    TSM_WORK_GRAPH,         /* a launch of a graph of nodes */
    TSM_WORK_HOST_FUNCTION, /* a function of the program */
    TSM_WORK_SUBMIT, /* carries out what was recorded before: command buffers, jobs of rings */
    TSM_WORK_ORDER,  /* events, waits, barriers: no work of its own */
    TSM_WORK_COUNT
};

/* Columns with one value for each command, or each part of a submit that has a time of its own, in
 * order of seq. */
struct tsm_commands {
    size_t count;
    const uint64_t *seq;
    const uint64_t *position; /* on its stream, from 1 */
    const uint32_t *type;     /* of the call that sent it */
    const uint32_t *stream, *thread, *stack;
    const uint32_t *part;   /* of a submit, from 0 */
    const uint32_t *work;   /* enum tsm_work */
    const uint32_t *kernel; /* place in `names`; 0: no kernel, or its name is unknown */
    const uint64_t *bytes;  /* that a copy or fill moves; 0: none, or not known */
    const uint64_t *call_ns, *returned_ns; /* the host's call, after the session's start */
    const uint32_t *time_kind;             /* enum tsm_time_kind */
    const uint32_t *time_axis;             /* enum tsm_time_axis */
    const int64_t *start_ns, *end_ns;      /* on the device, on that axis; 0 when not known */
    const uint64_t *error_ns;              /* of the start */
    size_t name_count;                     /* at least 1: names[0] is "" */
    const char *const *names;              /* of kernels, each once */
};

/* Reads the commands that `filter` selects (NULL: all), with their times on the device. */
int tsm_commands_read(struct tsm_commands **out, struct sbt_reader *reader,
                      const struct sbt_filter *filter);
void tsm_commands_destroy(struct tsm_commands *table);

/* "kernel", "copy"...; "measured", "derived", "unknown". NULL when there is no such work. */
const char *tsm_work_name(enum tsm_work work);
const char *tsm_time_kind_name(enum tsm_time_kind kind);

/* ---- edges --------------------------------------------------------------------------------- */

/* Why something had to wait. */
enum tsm_dependency_reason {
    TSM_DEPENDS_STREAM,  /* for the command before it on its stream */
    TSM_DEPENDS_DEFAULT, /* the default stream waits for the others of its context, they for it */
    TSM_DEPENDS_EVENT,   /* for an event that was recorded there */
    TSM_DEPENDS_SIGNAL,  /* for a semaphore, or signal, that a command brings to a value */
    TSM_DEPENDS_BARRIER, /* a barrier was recorded between its work and that of earlier ones */
    TSM_DEPENDS_HOST,    /* a wait of the host, for what it names */
    TSM_DEPENDS_THREAD,  /* for what its thread waited for last, before it went on */
    TSM_DEPENDS_UNKNOWN, /* a call of which it is not known what it waits for, or what for it */
    /* Conflicts in memory, whether anything waits for them or not: */
    TSM_DEPENDS_READ_AFTER_WRITE,
    TSM_DEPENDS_WRITE_AFTER_WRITE,
    TSM_DEPENDS_WRITE_AFTER_READ,
    TSM_DEPENDS_COUNT
};

/* Columns with one value for each edge of the dependency graph: record `to`, a command or a wait of
 * the host, had to wait for record `from`. Ordered by `to`. */
struct tsm_edges {
    size_t count;
    const uint64_t *from, *to;   /* seq */
    const uint64_t *object;      /* id of the event, or of what else tells; 0: none */
    const uint32_t *reason;      /* enum tsm_dependency_reason */
    const uint8_t *is_redundant; /* 1: other edges say as much */
    const uint8_t *is_unordered; /* 1: a conflict in memory between commands without an order */
};

/* Reads the graph of the whole trace; `has_memory`: with edges of conflicts in memory. */
int tsm_edges_read(struct tsm_edges **out, struct sbt_reader *reader, bool has_memory);
void tsm_edges_destroy(struct tsm_edges *table);

/* "stream", "default stream", "event"...; NULL when there is no such reason. */
const char *tsm_dependency_reason_name(enum tsm_dependency_reason reason);

#ifdef __cplusplus
}
#endif
#endif
