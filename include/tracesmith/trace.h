/* SPDX-License-Identifier: Apache-2.0
 *
 * The parts of a trace, in memory. docs/FORMAT.md says how it lies in a file; the writer
 * (tracesmith/writer.h) and the reader (tracesmith/reader.h) speak in these terms.
 *
 * A trace is self-describing: it carries a schema for each record type that occurs in it, so that a
 * reader can print, compare and search records of an API that it has never heard of. What it cannot
 * do without that API's backend is replay them.
 *
 * Every number in an enum here is in files: append only, never reuse.
 */
#ifndef TRACESMITH_TRACE_H
#define TRACESMITH_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SBT_VERSION_MAJOR 1
#define SBT_VERSION_MINOR 0

/* ---- record types ------------------------------------------------------------------------- */

/* A record type is (api << 16 | call). Calls are numbered by each API's description. */
enum sbt_api {
    SBT_API_CORE = 0, /* TraceSmith's own records: enum sbt_core_record */
    SBT_API_CUDA = 1,
    SBT_API_HSA = 2,
    SBT_API_HIP = 3,
    SBT_API_VULKAN = 4,
    SBT_API_DRM = 5,
};

#define SBT_TYPE(api, call) ((uint32_t)(api) << 16 | (uint32_t)(call))
#define SBT_TYPE_API(type)  ((type) >> 16)
#define SBT_TYPE_CALL(type) ((type)&0xffffu)

/* Core records. Their fields are in format/values/core_schema.c and in docs/FORMAT.md. */
enum sbt_core_record {
    SBT_CORE_HOST_WRITE = 1, /* the program changed host memory that the device can read */
    SBT_CORE_READBACK = 2,   /* bytes that the device gave back; what replay is compared with */
    SBT_CORE_CHECKSUM = 3,   /* a hash of device memory at a sync point */
    SBT_CORE_LOST = 4,       /* records are missing here: how many, which interval, why */
    SBT_CORE_STOPPED = 5,    /* capture was switched off here, and why */
    SBT_CORE_UNMODELLED =
        6,               /* something happened that no record describes; taints if it may matter */
    SBT_CORE_MARK = 7,   /* a named point or range of the program (NVTX, labels) */
    SBT_CORE_THREAD = 8, /* a thread's first record, with its name */
    SBT_CORE_FORK = 9,   /* the process forked; the child writes a trace of its own */
    SBT_CORE_EXEC = 10,
    SBT_CORE_FILTERED =
        11, /* records left out on request: filter, sampling, rate limit, ring mode */
    SBT_CORE_CHECKPOINT_BEGIN = 16, /* all calls stand still and the GPU is idle from here ... */
    SBT_CORE_MEMORY = 17, /* ... what memory holds then, one record for each part of it ... */
    SBT_CORE_CHECKPOINT_END = 18, /* ... up to here: the checkpoint is whole */
    SBT_CORE_STATE = 19,          /* part of a checkpoint: what commands left beside memory */
    SBT_CORE_GPU_TIME = 20,       /* when the GPU carried out a command, or a part of it */
    SBT_CORE_COMPLETE = 21,  /* the program could know that commands of a stream are complete */
    SBT_CORE_HOST_RUNS = 22, /* like HOST_WRITE, of scattered bytes */
    SBT_CORE_GPU_WORK = 23,  /* what the software GPU had to do for a command in virtual time */
    SBT_CORE_ACCESSES = 24,  /* which memory a command read and wrote, as the software GPU saw it */
    SBT_CORE_GPU_ORDER =
        25,       /* what a part of a command waited for in other commands and in memory */
    SBT_CORE_END, /* one more than the last */
};

/* Reason of a STOPPED record when recording ended because TS_STOP_CALL asked for it. With another
 * one, it ended because it could not go on. */
#define SBT_STOPPED_AS_ASKED "TS_STOP_CALL was reached"

/* COMPLETE: the slot that says how many parts (batches of a Vulkan submit) of the last command are
 * complete, if not all. Older traces do not have it. */
#define SBT_COMPLETE_PARTS 2u

/* HOST_RUNS: the slot that says which bytes are meant, and how many bytes there may be. */
#define SBT_HOST_RUNS_LIST 3u
#define SBT_HOST_RUNS_MAX  65536u

/* Owner of the bytes of a MEMORY record. */
enum sbt_memory {
    SBT_MEMORY_DEVICE = 1,         /* device memory, found by its address */
    SBT_MEMORY_HOST = 2,           /* host memory that the device can read, by its address */
    SBT_MEMORY_GLOBAL = 3,         /* a variable of a module: object and name */
    SBT_MEMORY_LIBRARY_GLOBAL = 4, /* of a library */
    SBT_MEMORY_ARRAY = 5, /* an array, by its object: rows without gaps, plane after plane */
    SBT_MEMORY_PHYSICAL =
        6, /* memory without an address, by the number that records name it with */
};

/* Property of an object that a STATE record has. Vulkan and, from SIGNAL on, HSA; the object's type
 * goes with the kind. */
enum sbt_state {
    SBT_STATE_FENCE = 1,     /* value 1: signalled */
    SBT_STATE_SEMAPHORE = 2, /* value 1: a binary semaphore is signalled */
    SBT_STATE_TIMELINE = 3,  /* value: the counter's */
    SBT_STATE_EVENT = 4,     /* value 1: set */
    SBT_STATE_QUERY = 5,     /* queries [first, first + count): value 0 reset, 1 available */
    SBT_STATE_LAYOUT = 6,    /* an image's levels [first, first + count), layers [layer, layer +
                                layers), aspects `part`: value, a VkImageLayout */
    SBT_STATE_SIGNAL = 7,    /* value: the signal's, modulo 2^64 */
};

/* flags of a checkpoint */
#define SBT_CHECKPOINT_START 1u /* recording of commands begins here: there are none before it */

/* flags of a GPU_TIME record */
#define SBT_GPU_TIME_CALIBRATED                                                                    \
    1u /* its start is on the trace's clock, else on one of the GPU's                              \
        */
#define SBT_GPU_TIME_AT_MOST                                                                       \
    2u /* the duration is an upper bound: the host had to return before the end was marked */
#define SBT_GPU_TIME_VIRTUAL                                                                       \
    4u /* start and duration are on the software GPU's virtual clock (docs/emu.md), exactly */

/* kind of a GPU_WORK record */
enum sbt_gpu_work {
    SBT_GPU_WORK_NONE = 0, /* takes no time: a mark, a wait */
    SBT_GPU_WORK_KERNEL = 1,
    SBT_GPU_WORK_TO_DEVICE = 2, /* a copy from the host */
    SBT_GPU_WORK_TO_HOST = 3,
    SBT_GPU_WORK_ON_DEVICE = 4, /* a copy inside the device, or a fill */
    SBT_GPU_WORK_HOST_FUNCTION = 5,
    SBT_GPU_WORK_COUNT
};

/* flags of a GPU_WORK record: NODE: it waits for its parents only, not for what its stream had
 * before; LAST: of the command's parts */
#define SBT_GPU_WORK_NODE  1u
#define SBT_GPU_WORK_LAST  2u
#define SBT_GPU_WORK_INNER 4u /* it ran inside of the part with its number, a conditional node */

/* access of a GPU_ORDER record: how a command uses a value in memory. A wait ends when the value
 * that is there, v, and its own, w, are so. */
enum sbt_value_access {
    SBT_VALUE_NONE = 0,
    SBT_VALUE_WRITE = 1,
    SBT_VALUE_AT_LEAST = 2, /* v - w, as a signed number of that size, is not negative */
    SBT_VALUE_EQUAL = 3,    /* v == w */
    SBT_VALUE_ANY_BIT = 4,  /* v & w is not 0 */
    SBT_VALUE_ZERO_BIT = 5, /* ~(v | w) is not 0 */
    SBT_VALUE_COUNT
};

/* payload_type of a MARK record: how its payload's bits are to be read; of types of 32 bits the low
 * half */
enum sbt_payload {
    SBT_PAYLOAD_NONE = 0,
    SBT_PAYLOAD_UINT64 = 1,
    SBT_PAYLOAD_INT64 = 2,
    SBT_PAYLOAD_DOUBLE = 3,
    SBT_PAYLOAD_UINT32 = 4,
    SBT_PAYLOAD_INT32 = 5,
    SBT_PAYLOAD_FLOAT = 6,
    SBT_PAYLOAD_COUNT
};

/* id of a MARK record: of this bit on, ranges that nest in one thread and domain */
#define SBT_MARK_NEST_SHIFT 52

/* flags of a range of an ACCESSES record: the command has read its bytes, written them; SOME: not
 * each of them, perhaps, or not in each of these ways; ARRAY: texels of an array are among them */
#define SBT_ACCESS_READ    1u
#define SBT_ACCESS_WRITTEN 2u
#define SBT_ACCESS_SOME    4u
#define SBT_ACCESS_ARRAY   8u
#define SBT_ACCESS_OWN     16u /* what it has read of them, it had written before */

/* GPU_TIME: slots that say which command inside of a part it is, by the place of the command buffer
 * and its number there; 0: the whole part. Then how much of that such records have. Older traces do
 * not have them. */
#define SBT_GPU_TIME_BUFFER  8u
#define SBT_GPU_TIME_COMMAND 9u
#define SBT_GPU_TIME_INNER   12u

/* Effect of a record. Analysis and replay order by this, for any API. */
enum sbt_kind {
    SBT_KIND_OTHER = 0,
    SBT_KIND_INIT = 1,
    SBT_KIND_QUERY = 2,  /* changes nothing */
    SBT_KIND_CREATE = 3, /* makes an object or memory */
    SBT_KIND_DESTROY = 4,
    SBT_KIND_COMMAND = 5, /* makes the GPU do something, in its stream's order */
    SBT_KIND_SYNC = 6,    /* the host waited for the GPU */
    SBT_KIND_STATE = 7,   /* changes state of the API on the host side: current context, limits */
    SBT_KIND_SIGNAL = 8,  /* a command that others can wait for: event record */
    SBT_KIND_WAIT = 9,    /* a command that makes its stream wait: stream wait event */
    SBT_KIND_META = 10,   /* core records that describe the trace itself */
};

/* How a field's 64-bit slot is to be read. `detail` in struct sbt_field refines it. */
enum sbt_field_type {
    SBT_FIELD_UINT = 1, /* detail: SBT_DETAIL_STREAM, or none */
    SBT_FIELD_INT = 2,  /* detail: SBT_DETAIL_FD, or none */
    SBT_FIELD_HEX = 3,  /* unsigned, printed in hexadecimal; detail: SBT_DETAIL_NEW, or none */
    SBT_FIELD_BOOL = 4,
    SBT_FIELD_F32 = 5, /* IEEE bits in the low half */
    SBT_FIELD_F64 = 6,
    SBT_FIELD_HANDLE = 7,  /* stable id of an object; 0 none; detail: its type, e.g. "event" */
    SBT_FIELD_DEVPTR = 8,  /* an address of device memory */
    SBT_FIELD_HOSTPTR = 9, /* an address of the program's memory */
    SBT_FIELD_SIZE = 10,   /* bytes */
    SBT_FIELD_ENUM = 11,   /* detail: name of a value table */
    SBT_FIELD_FLAGS = 12,  /* detail: name of a value table; bits */
    SBT_FIELD_STRING = 13, /* id of an interned string; 0 none */
    SBT_FIELD_BYTES = 14,  /* variable: small bytes kept in the record. Detail: none, or
                              "signal/8": a list of elements of 8 bytes, each of which begins
                              with the id (u32) of such an object. Slot: offset << 32 | size */
    SBT_FIELD_BLOB = 15,   /* variable: reference to stored bytes. Detail: as of BYTES. Slot:
                              offset << 32 | size, of an
                              encoded blob reference, see struct sbt_blob */
    SBT_FIELD_STRUCT = 16, /* variable: a structured value. Detail: name of a struct sbt_struct.
                              Slot: offset << 32 | size; the bytes are as docs/FORMAT.md 8.1 says */
};

/* Detail of a UINT that is the number of a stream. */
#define SBT_DETAIL_STREAM "stream"

/* Detail of an INT that is the number of a file descriptor: no two runs need to have the same. */
#define SBT_DETAIL_FD "fd"

/* Detail of a HEX that a driver drew up for an object: the object's type, as in "CUmemoryPool";
 * where the call gives it to the program, after this. No two runs need to have the same. */
#define SBT_DETAIL_NEW "new "

/* Meaning of a field for its record. At most one field of each role except NONE; analysis, replay
 * and diff find their way by role, not by name. */
enum sbt_role {
    SBT_ROLE_NONE = 0,
    SBT_ROLE_OBJECT = 1,   /* the handle made, destroyed, signalled or waited for */
    SBT_ROLE_DST = 2,      /* device address written, start */
    SBT_ROLE_SRC = 3,      /* device address read, start */
    SBT_ROLE_SIZE = 4,     /* bytes moved or allocated */
    SBT_ROLE_PAYLOAD = 5,  /* blob: bytes sent to the device */
    SBT_ROLE_HOST_DST = 6, /* host address written by the device */
    SBT_ROLE_HOST_SRC = 7,
    SBT_ROLE_FUNCTION = 8,      /* handle of the GPU function launched */
    SBT_ROLE_FUNCTION_NAME = 9, /* string */
    SBT_ROLE_GRID_X = 10,
    SBT_ROLE_GRID_Y = 11,
    SBT_ROLE_GRID_Z = 12,
    SBT_ROLE_BLOCK_X = 13,
    SBT_ROLE_BLOCK_Y = 14,
    SBT_ROLE_BLOCK_Z = 15,
    SBT_ROLE_SHARED_SIZE = 16,
    SBT_ROLE_ARGUMENTS = 17,   /* bytes: the launch's argument block, in the device's layout */
    SBT_ROLE_OF_STREAM = 18,   /* core records: the stream of the command they speak of */
    SBT_ROLE_OF_POSITION = 19, /* ... and its position */
    SBT_ROLE_PARENT = 20,      /* handle: context of a stream, module of a function, ... */
    SBT_ROLE_NAME = 21,        /* string: name of the object made */
    SBT_ROLE_ADDRESS = 22, /* memory made or destroyed: its address (device, or host if HOSTPTR) */
    SBT_ROLE_CODE = 23,    /* blob: the code object loaded */
    SBT_ROLE_STREAM_MADE = 24, /* stream number given to the stream that this record makes */
};

struct sbt_field {
    const char *name;
    enum sbt_field_type type;
    enum sbt_role role;
    const char *detail; /* "" when the type needs none */
};

#define SBT_FIELD_COUNT_MAX 64 /* fields of one record type */

/* How often a member of a struct is there. */
enum sbt_form {
    SBT_FORM_ONE = 0,
    SBT_FORM_LIST = 1,  /* any number of values, or none at all (a null pointer) */
    SBT_FORM_CHAIN = 2, /* structs of any kind, one after the other: Vulkan's pNext */
};

struct sbt_member {
    const char *name;
    enum sbt_field_type type; /* not BLOB; STRING is the text itself, not an id */
    enum sbt_form form;
    const char *detail; /* as a field's; of a STRUCT its name; "" when the type needs none */
};

#define SBT_STRUCT_UNION 1u /* one member, or none, is there */

#define SBT_VALUE_MAX       (32u << 20) /* bytes of a structured value */
#define SBT_VALUE_DEPTH_MAX 32          /* structs, lists and chains in each other */

/* Layout of the values of a STRUCT field or member. */
struct sbt_struct {
    uint32_t id; /* SBT_TYPE(api, number), number from 1; names it in chains. Per session: readers
                    go by name */
    uint32_t flags; /* SBT_STRUCT_* */
    const char *name;
    uint32_t member_count;
    const struct sbt_member *members;
};

/* flags of a schema */
#define SBT_SCHEMA_TAINTS      1u /* a record of this type changes device state that is not modelled */
#define SBT_SCHEMA_RESULT_ENUM 2u /* result_enum names the table of the result column */
#define SBT_SCHEMA_BLOCKS                                                                          \
    4u /* a command whose call returns when the GPU has carried it out: for the                    \
          host it is a synchronisation with its stream, too */

struct sbt_schema {
    uint32_t type;
    const char *name; /* the call's name, e.g. "cuLaunchKernel" */
    enum sbt_kind kind;
    uint32_t flags;          /* SBT_SCHEMA_* */
    const char *result_enum; /* value table of the result, "" for none */
    uint32_t field_count;
    const struct sbt_field *fields;
};

struct sbt_enum_value {
    const char *name;
    int64_t value;
};

/* A table of names for numbers. */
struct sbt_enum {
    const char *name;
    uint32_t value_count;
    const struct sbt_enum_value *values;
};

/* ---- records ------------------------------------------------------------------------------ */

#define SBT_STREAM_NONE 0xffffffffu

/* flags of a record */
#define SBT_RECORD_FAILED     1u  /* the API returned an error; the call had no effect */
#define SBT_RECORD_TAINTS     2u  /* this one changed something that is not modelled */
#define SBT_RECORD_TRUNCATED  4u  /* some argument was too long to keep: not replayable */
#define SBT_RECORD_UNFINISHED 8u  /* the process ended inside this call; result is unknown */
#define SBT_RECORD_LATE       16u /* its payload is what memory holds when the command runs */
#define SBT_RECORD_CAPTURED                                                                        \
    32u /* it became part of a graph and nothing ran: it names its stream, but                     \
           has no place there */
#define SBT_RECORD_ORDERED 64u /* its place among the commands of all streams matters */
#define SBT_RECORD_HELD                                                                            \
    128u /* HOST_WRITE: commands may have found it there, or written a part of it;                 \
           READBACK: others may have changed the bytes */
#define SBT_RECORD_DEVICE                                                                          \
    256u /* HOST_WRITE: a command that is complete may have written the bytes */
#define SBT_RECORD_SPOT                                                                            \
    512u /* CHECKSUM: a spot check, which the recorder took by itself where it cost no wait */

struct sbt_record {
    uint64_t seq;         /* place in the trace's total order, from 0, without gaps */
    uint64_t time_ns;     /* begin of the call, after the session's start */
    uint64_t duration_ns; /* until the call returned */
    uint32_t type;
    uint32_t thread;   /* kernel's thread id */
    uint32_t stream;   /* or SBT_STREAM_NONE */
    uint32_t stack;    /* id of a stack; 0 none */
    uint64_t position; /* on its stream, from 1; 0 when on none */
    int64_t result;
    uint32_t flags;      /* SBT_RECORD_* */
    uint32_t slot_count; /* may be more or fewer than this build's schema knows */
    const uint64_t *slots;
    const uint8_t *data; /* what BYTES and BLOB slots point into */
    size_t data_size;
};

/* ---- blobs -------------------------------------------------------------------------------- */

#define SBT_PIECE_SIZE 65536u

/* The name of a piece: XXH3-128 (seed 0, canonical order) of its bytes. All zero bits: a piece of
 * zero bytes, which is not stored. */
struct sbt_key {
    uint8_t bytes[16];
};

/* Bytes that are no more than this stand in the record themselves. */
#define SBT_INLINE_MAX 256u

/* `size` bytes, cut into pieces of SBT_PIECE_SIZE (the last one shorter). In a record's data area
 * it is encoded as size (u64), then 16 bytes a piece; or, of few bytes, as size with its highest
 * bit set, then the bytes. */
struct sbt_blob {
    uint64_t size;
    uint64_t piece_count; /* of pieces to look for: ceil(size / SBT_PIECE_SIZE), 0 with `bytes` */
    const uint8_t *keys;  /* 16 bytes each; points into the record */
    const uint8_t *bytes; /* all of them, in the record; NULL: they are in pieces */
};

/* Bytes of a reference by keys, and of the one that sbt_writer_blob() makes. */
#define SBT_BLOB_KEYED_SIZE(size)                                                                  \
    (8 + 16 * (((uint64_t)(size) + SBT_PIECE_SIZE - 1) / SBT_PIECE_SIZE))
#define SBT_BLOB_ENCODED_SIZE(size)                                                                \
    ((size) <= SBT_INLINE_MAX ? 8 + (uint64_t)(size) : SBT_BLOB_KEYED_SIZE(size))

/* No blob of at most `size` bytes takes more. */
#define SBT_BLOB_ENCODED_MAX(size)                                                                 \
    (SBT_BLOB_KEYED_SIZE(size) > 8 + SBT_INLINE_MAX ? SBT_BLOB_KEYED_SIZE(size)                    \
                                                    : 8 + SBT_INLINE_MAX)

/* Key of the blob's bytes [i * SBT_PIECE_SIZE, ...), whether they are in a piece or in the record.
 */
struct sbt_key sbt_blob_key(const struct sbt_blob *blob, uint64_t i);

/* Decode slot `index` of a record as BYTES / BLOB. False when it is out of bounds or malformed. */
bool sbt_record_bytes(const struct sbt_record *record, uint32_t index, const uint8_t **data,
                      size_t *size);
bool sbt_record_blob(const struct sbt_record *record, uint32_t index, struct sbt_blob *out);

/* Decode slot `index` of a record as STRUCT. 0: there is no value. 1: it is the `size` bytes at
 * `data`. 2: it is kept in *blob (sbt_reader_value() fetches it). TSM_E_FORMAT: malformed. */
int sbt_record_struct(const struct sbt_record *record, uint32_t index, const uint8_t **data,
                      size_t *size, struct sbt_blob *blob);

/* Index of the field with `role`, or -1. A `schema` of NULL, as of a type that a damaged trace does
 * not describe, has no fields. */
int sbt_schema_role(const struct sbt_schema *schema, enum sbt_role role);

/* Value of the field with `role`, or `absent`, also where that is a list. `schema` may be NULL
 * here, too. */
uint64_t sbt_record_role(const struct sbt_schema *schema, const struct sbt_record *record,
                         enum sbt_role role, uint64_t absent);

/* Returns the values of the field with `role` where it is a list: a BYTES field of one u64 (little-
 * endian, not aligned) for each thing that the call names. NULL, and *count 0: there is none. */
const uint8_t *sbt_record_role_list(const struct sbt_schema *schema,
                                    const struct sbt_record *record, enum sbt_role role,
                                    size_t *count);

/* The schema of a core record, NULL if `call` is none. */
const struct sbt_schema *sbt_core_schema(uint32_t call);

/* The value tables that they name, from index 0 on; NULL after the last. */
const struct sbt_enum *sbt_core_enum(uint32_t index);

/* ---- everything else ---------------------------------------------------------------------- */

/* A file mapped into the program, for symbolising stacks later. */
struct sbt_mapping {
    uint64_t start;
    uint64_t end;
    uint64_t file_offset;
    const char *path;
    const uint8_t *build_id; /* NULL when the file has none */
    uint32_t build_id_size;  /* at most 64 */
};

/* Return addresses, innermost first. */
#define SBT_STACK_DEPTH_MAX 256

/* Records are packed more densely, and may hold small blobs. */
#define SBT_FEATURE_COMPACT 1ull

/* An optional feature: pieces that records name need not be there. They were taken out, or never
 * recorded; their hashes tell what is equal. Nothing of it can be replayed. */
#define SBT_OPTIONAL_NO_CONTENTS 1ull

/* An optional feature: pieces that READBACK records name need not be there (TS_READBACK=hash). A
 * replay compares their hashes. */
#define SBT_OPTIONAL_NO_READBACKS 2ull

/* Metadata of such a trace: what was taken out of it, separated by commas, "contents" included. */
#define SBT_METADATA_REDACTED "redacted"

/* Who wrote the trace, and when. */
struct sbt_session {
    uint8_t id[16]; /* random, RFC 4122 version 4 */
    uint64_t start_monotonic_ns;
    uint64_t start_realtime_ns;
    uint64_t required_features; /* SBT_FEATURE_*: a reader that does not know one must refuse; a
                                   writer adds what it uses */
    uint64_t optional_features; /* SBT_OPTIONAL_*: a reader may ignore any of them */
    const char *clock;          /* "monotonic" */
};

/* Completeness, from the trailer (or from scanning when there is none). */
struct sbt_totals {
    uint64_t record_count;
    uint64_t lost_count;     /* records dropped by capture */
    uint64_t filtered_count; /* left out on request */
    uint64_t tainted_count;  /* records that changed unmodelled state */
    uint32_t stream_count;
};

/* State from which the records after it can be replayed without the commands before it. */
struct sbt_checkpoint {
    uint32_t number; /* the one in its records */
    uint32_t flags;  /* SBT_CHECKPOINT_* */
    uint64_t seq;    /* of its CHECKPOINT_END record */
    uint64_t time_ns;
    uint64_t item_count; /* MEMORY records */
    uint64_t size;       /* bytes that they hold, repeated ones included */
};

/* How a session ended. */
enum sbt_end {
    SBT_END_NONE = 0,      /* no trailer: the writer was cut off */
    SBT_END_FINISHED = 1,  /* the program ended and everything was written */
    SBT_END_RECOVERED = 2, /* drained from lanes after a crash: everything was written */
    SBT_END_CUT = 3,       /* a repair wrote it: what was recorded last may be missing */
};

#ifdef __cplusplus
}
#endif
#endif
