/* SPDX-License-Identifier: Apache-2.0
 *
 * Nodes of the model: the calls and commands of a trace, with their times. Times are in ns after
 * the session's start, as those of records are; one of a device may lie before it.
 */
#ifndef ANALYSIS_MODEL_NODE_H
#define ANALYSIS_MODEL_NODE_H

#include "tracesmith/columns.h"
#include "tracesmith/trace.h"

struct tsm_span {
    enum tsm_time_kind kind;
    enum tsm_time_axis axis;
    bool is_at_most; /* the end may have been earlier */
    int64_t start_ns, end_ns;
    uint64_t error_ns; /* of the start */
};

static inline uint64_t tsm_span_ns(const struct tsm_span *span)
{
    return (uint64_t)span->end_ns - (uint64_t)span->start_ns;
}

/* Returns a number for the command at a position of a stream, for maps. */
static inline uint64_t tsm_position_key(uint32_t stream, uint64_t position)
{
    return (uint64_t)stream << 40 ^ position;
}

/* Places that bytes come from and go to. */
enum tsm_place {
    TSM_PLACE_UNKNOWN, /* no allocation of the trace: mostly the program's pageable memory */
    TSM_PLACE_HOST,    /* memory of the host that the device can reach */
    TSM_PLACE_DEVICE,
    TSM_PLACE_ARRAY, /* texels, found by an object */
    TSM_PLACE_COUNT
};

/* A device that an API tells apart from others. */
struct tsm_device {
    uint32_t api;     /* enum sbt_api; 0: the device is not known */
    uint32_t kind;    /* enum sbt_field_type of the number */
    const char *type; /* of the object whose id the number is; NULL: it is no object's */
    uint64_t number;
};

struct tsm_memory;

/* One call of the host. */
struct tsm_call_node {
    const struct sbt_record *record; /* valid during the visit */
    const struct sbt_schema *schema;
    const char
        *label;      /* innermost open range of the thread; NULL: none. Lives as long as the pass */
    bool is_command; /* it is sent to a stream, and a tsm_command_node follows some time later */
    bool is_wait;    /* the host waited for the device */
    enum tsm_work work;              /* of a command */
    const struct tsm_memory *memory; /* what is allocated; the pass keeps it up to date */
    uint64_t owner; /* key of what its stream belongs to, or of what it waits for as a whole: a
                       context, a logical device; 0: not known */
};

/* One command, or one part of it that has a time of its own. */
struct tsm_command_node {
    const struct sbt_schema *schema; /* of the call that sent it; lives as long as the reader */
    const char
        *kernel; /* name; NULL: it launches none, or its name is unknown. As long as the pass */
    const char *label;
    uint64_t seq, position;
    uint32_t stream, part;    /* part: of a submit, from 0 */
    uint32_t run;             /* of a replay that was timed, from 0; of a recording 0 */
    struct tsm_device device; /* that the stream runs on */
    uint64_t owner;  /* key of what the stream belongs to, as in struct tsm_call_node; 0: unknown */
    uint64_t object; /* id that the call names: an event, an executable graph; 0: none */
    uint32_t thread, stack;
    enum tsm_work work;
    enum tsm_place from, to;       /* of a copy; of a fill, to */
    uint64_t bytes;                /* moved; 0 where it is not known */
    uint32_t grid[3], block[3];    /* of a kernel; 0: unknown */
    uint64_t shared_size;          /* bytes of a block's shared memory, as the launch asked for */
    uint64_t call_ns, returned_ns; /* the host's call */
    struct tsm_span gpu;
    uint64_t
        inner_ns; /* of `gpu`: sum of the times of commands inside of it, which are nodes, too */
};

/* A command inside of a command buffer, of a submit or a part of it. */
struct tsm_inner_node {
    const struct tsm_command_node *outer; /* without the part's time, which comes later */
    const struct sbt_schema *schema;      /* of the call that recorded it */
    const char *name;                     /* the call, what it ran; as long as the pass */
    enum tsm_work work;
    uint32_t buffer;  /* place among the command buffers of the submit, from 0 */
    uint32_t command; /* number in it, from 1 */
    struct tsm_span gpu;
};

/* One time of a command, or of a part of it. A command has one in each run. */
struct tsm_command_time {
    uint64_t position;
    uint32_t stream, part, run;
    struct tsm_span span;
    uint64_t inner_ns; /* as in struct tsm_command_node */
    /* Names of a command inside of the part; `command` is 0 where the time is the whole part's. */
    uint32_t buffer, command; /* as in struct tsm_inner_node */
    uint32_t type;            /* of the record that recorded it */
    uint64_t object;          /* id of what it ran; 0: not known */
};

/* Phases of a mark (docs/FORMAT.md 10). */
enum tsm_mark_phase { TSM_MARK_POINT, TSM_MARK_BEGIN, TSM_MARK_END };

/* A label of the program: a point in time, or one end of a range. */
struct tsm_mark_node {
    const char *name; /* NULL: none, as at an end. Lives as long as the reader */
    enum tsm_mark_phase phase;
    uint64_t id; /* of whose labels nest in one another; 0: the thread's */
    uint64_t seq, time_ns;
    uint32_t thread;
    /* Facts that labels of NVTX have, and ends have not. */
    const char *domain;        /* NULL: the one without a name. Lives as long as the reader */
    const char *category_name; /* NULL: none. Lives as long as the reader */
    uint32_t category, color;  /* color: alpha, red, green, blue; 0: none */
    uint32_t payload_type;     /* enum sbt_payload */
    uint64_t payload;          /* bits; of types of 32 bits the low half */
};

/* Tests whether it is of a range that nests in its thread, not one that ends wherever it likes. */
bool tsm_mark_is_nested(const struct tsm_mark_node *mark);

/* Changes of what a program has allocated. */
struct tsm_memory_node {
    uint64_t seq, time_ns;
    enum tsm_place place;
    bool is_free;
    uint64_t address, size;
    uint32_t stack;
};

/* "host", "device"...: words of JSON and tables. */
const char *tsm_place_name(enum tsm_place place);
const char *tsm_time_axis_name(enum tsm_time_axis axis);

bool tsm_device_is_same(const struct tsm_device *a, const struct tsm_device *b);
/* "cuda 0", "hsa agent#2": what people and programs read. NULL: the device is not known. */
#define TSM_DEVICE_NAME_MAX 96u
const char *tsm_device_name(char out[TSM_DEVICE_NAME_MAX], const struct tsm_device *device);

#endif
