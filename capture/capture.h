/* SPDX-License-Identifier: Apache-2.0
 *
 * Interface of capture to an API source, which records calls with it. Everything here runs inside
 * somebody else's program:
 *
 *   - no malloc, no stdio, no lock that the program may hold, errno preserved;
 *   - a failure of ours is counted, marks the trace, switches capture off, and is never seen by the
 *     program: every function here that can fail does so by recording less;
 *   - memory of the program is read only after the driver accepted the call that named it.
 *
 * A wrapper is always of this shape (api/gen writes most of them):
 *
 *     CUresult cuMemsetD32Async(CUdeviceptr dst, unsigned value, size_t count, CUstream stream)
 *     {
 *         struct tsm_call call;
 *         CUresult result;
 *
 *         if (!tsm_call_begin(&call, TYPE_cuMemsetD32Async))
 *             return real.cuMemsetD32Async(dst, value, count, stream);
 *         tsm_call_on_stream(&call, cuda_stream(stream), TSM_ENQUEUES);
 *         result = real.cuMemsetD32Async(dst, value, count, stream);
 *         tsm_call_returned(&call, result, result != CUDA_SUCCESS);
 *         tsm_call_slot(&call, dst);
 *         ...
 *         tsm_call_commit(&call);
 *         return result;
 *     }
 *
 * Order. The order on each stream is the order that the driver saw: an enqueueing call holds its
 * stream's lock across the real call. A call that can wait for the GPU takes its place on the
 * stream first and calls without the lock; who comes next waits until it returns, but not for ever,
 * so that we never add a deadlock (capture/call/turn.c). Records carry TSC stamps; merging lanes by
 * them gives the trace's total order: a call's place is its return, a destroying call's place is
 * its begin (the address that it frees may be given out again before it returns), and that of what
 * wakes other threads is where the real function is called.
 */
#ifndef CAPTURE_CAPTURE_H
#define CAPTURE_CAPTURE_H

#include "api/api.h"
#include "capture/settings.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tsm_lane; /* capture/lane/lane.h */
struct tsm_stream;

/* ---- a call ------------------------------------------------------------------------------- */

enum tsm_stream_use {
    TSM_ENQUEUES, /* returns without waiting for the GPU: the stream's lock is held across it */
    TSM_BLOCKS,   /* may wait for the GPU, and puts nothing on the stream */
    TSM_SENDS_AND_BLOCKS, /* may wait for the GPU when the driver has it: others of the stream wait
                             until it returns, for a limited time */
};

/* On the wrapper's stack; content is capture's own. Zero-initialisation is not needed. */
struct tsm_call {
    struct tsm_lane *lane;
    uint64_t *slots; /* of the record, which is being made at the lane's head, or beside it */
    struct tsm_stream *stream;
    uint64_t position;
    uint32_t flags; /* SBT_RECORD_* */
    uint32_t slot_count;
    /* Variable data: spans that commit copies into the lane. */
    uint32_t span_count;
    uint32_t data_size;
    uint8_t info;  /* of the type, TSM_TYPE_* in capture/session.h */
    uint8_t holds; /* of the stream; valid when there is one */
    struct tsm_span {
        const void *data;
        uint32_t size;
        bool tagged; /* a byte 0 comes before it */
    } spans[8];
};

/* True when this call is to be recorded: capture is on, this is not a call from inside another
 * intercepted call (or from our own threads), and the thread has a lane. The first call of a
 * process starts the session. After true, exactly one of commit or drop must follow, on this
 * thread. */
bool tsm_call_begin(struct tsm_call *call, uint32_t type);

/* The same for commands that a function of ours finds when the program calls another one: its stack
 * is that of the function that calls the one which TSM_ORIGIN_HERE stands in; that one must not be
 * inlined. */
struct tsm_origin {
    const void *return_address, *frame;
};
#define TSM_ORIGIN_HERE                                                                            \
    {                                                                                              \
        __builtin_return_address(0), __builtin_dwarf_cfa()                                         \
    }
bool tsm_call_begin_at(struct tsm_call *call, uint32_t type, const struct tsm_origin *origin);

/* Host stacks have no frames with code from `start` up to `end`: ours, where we are a library of
 * our own. Once, before the first call. */
void tsm_stack_leave_out(const void *start, const void *end);

/* The call is a command of `stream` (NULL: of none). Takes its place in the stream's order. */
void tsm_call_on_stream(struct tsm_call *call, struct tsm_stream *stream, enum tsm_stream_use use);

/* Works like tsm_call_on_stream(TSM_SENDS_AND_BLOCKS) for a call that waits for earlier commands of
 * its stream: settle() waits for these first, while other threads can send, so that the call itself
 * is short. settle() is called again if others have sent meanwhile, a few times at most. */
void tsm_call_on_synchronized_stream(struct tsm_call *call, struct tsm_stream *stream,
                                     void (*settle)(void *user), void *user);

/* The real function is about to be called: the time that was spent since the call began is ours.
 * Not for calls that destroy, whose place is their begin. */
void tsm_call_restart(struct tsm_call *call);

/* ... or was called before this call began, which has no part in it: it began at that time stamp
 * (base/clock.h). Not for calls that destroy. */
void tsm_call_since(struct tsm_call *call, uint64_t began);

/* ... or becomes part of a graph that is captured from `stream`: nothing runs, so it takes no place
 * there, no bytes are taken from the program, and none are owed to it. */
void tsm_call_captured(struct tsm_call *call, struct tsm_stream *stream);

/* After tsm_call_on_stream(TSM_ENQUEUES): `count` places more, after the call's own, for what it
 * makes the GPU do by itself. */
void tsm_call_more_places(struct tsm_call *call, uint32_t count);

/* The real function is about to be called, and other threads may see what it does before it returns
 * (they wait for what it sends or signals): the call of this thread, if it is in one, has its place
 * here and not where it returns. What it has written before is its own. */
void tsm_call_takes_effect(void);

/* Time stamp (base/clock.h) of before the real function was called: what was made later is
 * another's than what the call releases, also at the same address. */
uint64_t tsm_call_began(const struct tsm_call *call);

/* The real function came back. Unlocks the stream. `failed`: the call had no effect. */
void tsm_call_returned(struct tsm_call *call, int64_t result, bool failed);

/* Append the next field of the schema. */
static inline void tsm_call_slot(struct tsm_call *call, uint64_t value)
{
    if (call->slot_count < SBT_FIELD_COUNT_MAX)
        call->slots[call->slot_count++] = value;
}

/* Append `count` fields; all are to be filled in before anything else is done with the call. A
 * schema has no more than SBT_FIELD_COUNT_MAX. */
static inline uint64_t *tsm_call_slots(struct tsm_call *call, uint32_t count)
{
    uint64_t *first = call->slots + call->slot_count;

    call->slot_count += count;
    return first;
}

/* Append a BYTES field; the bytes are copied by commit, so they must live until then. Longer than
 * TSM_BYTES_MAX: cut, and the record is marked TRUNCATED. */
#define TSM_BYTES_MAX 65536u
void tsm_call_bytes(struct tsm_call *call, const void *data, size_t size);

/* `size` bytes for tsm_call_bytes() that live until the call is committed or dropped; content is
 * not defined. NULL: out of memory. */
void *tsm_call_scratch(struct tsm_call *call, size_t size);

/* TSM_LOCAL_SIZE bytes that the DRM source keeps from call to call of a thread, zeros at first.
 * Memory for threads is scarce where libraries are loaded late; a lane is a thread's for most of
 * its life, and then another's: what is there may be of a thread that has ended. */
#define TSM_LOCAL_SIZE 64u
void *tsm_call_local(const struct tsm_call *call);

/* Append a STRING field: interned, NULL is id 0. For texts that repeat: names, paths. */
void tsm_call_string(struct tsm_call *call, const char *text);

/* Append a BLOB field: `size` bytes at `data` are hashed and stored once, now. Any size; may wait
 * for the drain thread. The reference is kept in memory of the lane until commit. */
void tsm_call_blob(struct tsm_call *call, const void *data, uint64_t size);

/* The same for `height` rows of `width` bytes, `pitch` apart, `depth` planes `plane` apart: stored
 * packed, without the gaps. */
struct tsm_box {
    const void *data;
    uint64_t width, height, depth; /* bytes, rows, planes */
    uint64_t pitch, plane;         /* bytes */
};
/* Bytes from the first to the last one touched, gaps included. */
uint64_t tsm_box_extent(const struct tsm_box *box);
void tsm_call_blob_box(struct tsm_call *call, const struct tsm_box *box);

/* The same for what a command takes that may run later: where something that is sent but has not
 * run may still write those bytes, the record is marked LATE and has none. Bytes for which no
 * record has room go before it as HOST_WRITE records; it is LATE then, too. */
void tsm_call_payload_box(struct tsm_call *call, const struct tsm_box *box);
/* ... for what a command has taken already. */
void tsm_call_payload_taken(struct tsm_call *call, const struct tsm_box *box);
/* Either, for a run of bytes. */
void tsm_call_payload(struct tsm_call *call, const void *data, uint64_t size, bool taken);
/* Records the bytes that a command takes from there, one of several places, in HOST_WRITE records
 * before the call, and marks this LATE. */
void tsm_call_takes(struct tsm_call *call, const struct tsm_box *box);

/* Append a STRUCT field: the `size` bytes of a structured value (format/values/struct_out.h makes
 * them; they must live until commit). NULL: none. Above TSM_BYTES_MAX it is stored like a blob;
 * above SBT_VALUE_MAX there is none, and the record is marked TRUNCATED. */
void tsm_call_struct(struct tsm_call *call, const void *value, size_t size);

/* For calls whose data is a few bytes: all of it at once, which may be written to where the record
 * is going to have it. */

/* Returns where the next argument bytes go, `size` at most, if the record gets `slot_count` fields
 * and nothing else is done with the call before its commit. NULL: no room this time; use any memory
 * that stays until the commit. */
uint8_t *tsm_call_room(struct tsm_call *call, uint32_t slot_count, size_t size);

/* A STRUCT field's content: a byte 0 and the value, `size` bytes together, from `offset` in the
 * data on. */
static inline uint64_t tsm_call_struct_at(uint32_t offset, uint32_t size)
{
    return (uint64_t)offset << 32 | size;
}

/* All of the record's data, when it has all of its fields. */
static inline void tsm_call_data(struct tsm_call *call, const uint8_t *data, uint32_t size)
{
    call->data_size = size;
    if (data != (const uint8_t *)(call->slots + call->slot_count)) {
        call->spans[0] = (struct tsm_span){data, size, false};
        call->span_count = 1;
    }
}

/* Mark the record: SBT_RECORD_TAINTS, SBT_RECORD_TRUNCATED. */
void tsm_call_flag(struct tsm_call *call, uint32_t flags);

void tsm_call_commit(struct tsm_call *call);
void tsm_call_drop(struct tsm_call *call);

/* ---- strings ------------------------------------------------------------------------------ */

/* Id of an interned string; 0 for NULL or when the table is full (counted). Any length up to 1 MiB.
 * The same text gives the same id for the whole session. */
uint32_t tsm_intern(const char *text, size_t size);

/* ---- handles ------------------------------------------------------------------------------ */

/* An API's object: the driver's value and our stable id. Ids count from 1 per object type, in order
 * of creation. Lookups are lock-free and cost a few nanoseconds; entries live until the handle is
 * removed and stay readable (stale) after that. */
struct tsm_handle {
    uint64_t raw;
    uint32_t id;
    uint16_t type;             /* the source's object type number, 1..63 */
    uint16_t incarnation;      /* of the stream of an event: see tsm_stream_at() */
    uint32_t name;             /* interned string, 0 none */
    uint32_t owner;            /* given to tsm_handle_add_again() */
    struct tsm_stream *stream; /* of a stream object, or where an event was last recorded */
    uint64_t position;         /* of an event: on that stream */
    void *user;                /* the source's own, e.g. a function's parameter layout */
    uint32_t version;          /* odd: an event's place is being changed */
};

/* An event stands for another place from now on: stream, position and user together. Several
 * threads may change, and read, an event's place at once. */
void tsm_handle_stands(struct tsm_handle *event, struct tsm_stream *stream, uint64_t position,
                       void *user);
/* Returns a copy with a place at which the event stood as a whole. */
struct tsm_handle tsm_handle_now(const struct tsm_handle *event);

/* Returns the handle `raw` of type `type`; NULL if unknown (created before capture began). */
struct tsm_handle *tsm_handle_find(enum sbt_api api, uint32_t type, uint64_t raw);

/* Make an entry; an entry with the same raw value is replaced (the driver reuses values). Never
 * NULL: when the table is full a shared overflow entry with id 0 is given and the trace is tainted.
 */
struct tsm_handle *tsm_handle_add(enum sbt_api api, uint32_t type, uint64_t raw);

/* Adds a handle of a driver that may give one value to several objects: objects of the same owner
 * stay, each removal ends the oldest, and lookups find the oldest. */
struct tsm_handle *tsm_handle_add_again(enum sbt_api api, uint32_t type, uint64_t raw,
                                        uint32_t owner);
/* Returns the id of what is gone; 0: it was not known. */
uint32_t tsm_handle_remove(enum sbt_api api, uint32_t type, uint64_t raw);

/* Returns the id, as tsm_handle_id(), of an object that a call is about to destroy: it stays what
 * it is, for the call may fail. Then left() says how the call ended; another thread may have been
 * given the same raw value for an object of its own by then, which stays. */
uint32_t tsm_handle_leaves(enum sbt_api api, uint32_t type, uint64_t raw);
void tsm_handle_left(enum sbt_api api, uint32_t type, uint64_t raw, uint32_t id, bool is_gone);
/* Tests whether a call that destroys it is under way: who is given the same value has another
 * object. */
bool tsm_handle_is_leaving(const struct tsm_handle *handle);

/* Id for a record: that of find, or of a new entry when the handle was made before capture began
 * (then an UNMODELLED record is written once: the trace cannot make that object). 0 for raw 0. */
uint32_t tsm_handle_id(enum sbt_api api, uint32_t type, uint64_t raw);

/* Each live object of a type; made and freed by no other thread meanwhile, so only from save() and
 * quiet(). False when `visit` gave false. */
bool tsm_handle_each(enum sbt_api api, uint32_t type,
                     bool (*visit)(void *user, const struct tsm_handle *handle), void *user);

/* ---- streams ------------------------------------------------------------------------------ */

/* Numbers are given in order of creation, from 0. Only where a session runs: between begin and
 * commit of some call. Elsewhere the result is a stream that is never recorded as one. */
struct tsm_stream *tsm_stream_create(enum sbt_api api);
uint32_t tsm_stream_number(const struct tsm_stream *stream);
/* Returns the position of the last command that the driver has accepted. */
uint64_t tsm_stream_accepted(const struct tsm_stream *stream);

/* The program has destroyed it: nothing more is sent there. What was sent may still run. Its memory
 * is used for another stream, long after that; so an event's handle must say by tsm_stream_at()
 * where it was recorded. */
void tsm_stream_forget(struct tsm_stream *stream);
/* Tests whether something is to be recorded when what was sent there is complete. */
bool tsm_stream_is_awaited(const struct tsm_stream *stream);
void tsm_stream_at(struct tsm_handle *handle, struct tsm_stream *stream, uint64_t position);
/* Tests whether the handle says `stream`, or one that is not forgotten if that is NULL. */
bool tsm_stream_is_at(const struct tsm_handle *handle, const struct tsm_stream *stream);

/* Order between streams, from the sources; it decides which readbacks are complete.
 * `joins_default`: synchronises implicitly with stream `legacy` (CUDA's legacy default stream). */
void tsm_stream_joins(struct tsm_stream *stream, struct tsm_stream *legacy);
void tsm_stream_waits(struct tsm_stream *stream, const struct tsm_handle *event);
/* The command at `position`, and those behind it unless `is_own`, run after that one of stream
 * `from`, which says nothing of those before it: streams on which commands overtake one another. */
void tsm_stream_follows(struct tsm_stream *stream, uint64_t position, struct tsm_stream *from,
                        uint64_t from_position, bool is_own);
/* The command at `position` may wait for the program: what is behind it does not follow, by that
 * alone, what is before it. */
void tsm_stream_holds(struct tsm_stream *stream, uint64_t position);

/* ---- bytes that the device gives back ------------------------------------------------------- */

/* The device writes `box` (in host memory) by the command `call`. For a call that has waited:
 * recorded now. Otherwise: remembered until a synchronisation shows that it is complete. */
void tsm_readback(struct tsm_call *call, const struct tsm_box *box, bool complete);

/* The device writes `box` by the command `call`, or may write anywhere in the tracked ranges of
 * host memory that an aligned word of these bytes points into; NULL: in all of them. Nothing where
 * no host memory is tracked. What a copy takes from there before `call` is complete is LATE. */
void tsm_device_writes(struct tsm_call *call, const struct tsm_box *box);
/* Works like tsm_device_writes() for a command whose replay puts the bytes into the same host
 * memory: as tsm_readback(), too, unless others may write there before the bytes are seen. */
void tsm_device_gives(struct tsm_call *call, const struct tsm_box *box);
void tsm_device_may_write(struct tsm_call *call, const void *words, size_t size);
/* The same of words in ascending order, of which there may be thousands. Where they point into many
 * ranges, what lies between these counts as well. */
void tsm_device_may_write_sorted(struct tsm_call *call, const uint64_t *words, size_t count);

/* The real function is about to be called: what was said so far of what the device writes by `call`
 * is true from now on, for other threads as well, and functions of the program that the command
 * runs. Only after tsm_call_on_stream(). ... but the call has failed: none of it. */
void tsm_device_announced(struct tsm_call *call);
void tsm_device_failed(struct tsm_call *call);

/* Works like tsm_device_announced() for a call that announces the same again, exactly, after its
 * return. The first announcement holds until the commit; then only the second counts, and none if
 * the call failed. */
void tsm_device_foretold(struct tsm_call *call);

/* The host knows that everything up to now on `stream` is complete (NULL: on all streams of `api`);
 * with an event: everything up to where it was recorded. Writes READBACK records. Call it after the
 * synchronising call's own record is committed. */
void tsm_synchronised(enum sbt_api api, struct tsm_stream *stream);
void tsm_synchronised_event(const struct tsm_handle *event);

/* The program has learnt without a call that the commands of `stream` up to `position` are
 * complete: a COMPLETE record. Does nothing where nothing is recorded. */
void tsm_stream_completed(const struct tsm_stream *stream, uint64_t position);
/* Works like it, of the first `parts` parts of the last command (as in struct tsm_gpu_time); 0:
 * all. */
void tsm_stream_completed_parts(const struct tsm_stream *stream, uint64_t position, uint64_t parts);

/* When the device carried out a command: a GPU_TIME record (docs/FORMAT.md 10). */
struct tsm_gpu_time {
    uint32_t stream, part; /* part: a batch of a Vulkan submit, from 0 */
    uint64_t position;
    uint64_t start_ns; /* since the session began, modulo 2^64; not calibrated: by a clock of the
                          device */
    uint64_t duration_ns, error_ns;
    uint32_t flags; /* SBT_GPU_TIME_* */
    /* A command inside of a part; all 0: the whole part. */
    uint32_t buffer, command, of_type; /* place of the command buffer among those of the submit, the
                                          command's number in it from 1, type of its record */
    uint64_t object;                   /* the pipeline's id */
    uint64_t inner_ns;                 /* of a whole part: sum of such times of what is in it */
};

/* Writes the record on this thread's lane, inside of a call or outside. Does nothing where nothing
 * is recorded. */
void tsm_gpu_time_write(const struct tsm_gpu_time *time);

/* Work that a command meant for the device: a GPU_WORK record (docs/FORMAT.md 10). */
struct tsm_gpu_work {
    uint32_t stream;
    uint64_t position;
    uint32_t number; /* of the parts that the command consists of, from 0 */
    uint32_t kind;   /* enum sbt_gpu_work */
    uint64_t bytes, blocks, instructions;
    uint64_t sent_ns, queue;
    int32_t priority;
    uint32_t flags;          /* SBT_GPU_WORK_* */
    const uint32_t *parents; /* numbers of earlier parts */
    uint32_t parent_count;
    uint64_t id; /* of the part, in the process */
};

/* Writes the record like tsm_gpu_time_write(). */
void tsm_gpu_work_write(const struct tsm_gpu_work *work);

/* Order of such a part beyond its stream and its command: a GPU_ORDER record. */
struct tsm_gpu_order {
    uint32_t stream;
    uint64_t position;
    uint32_t number; /* of the part */
    uint32_t event;  /* id of the event that it records as a node of a graph; 0: none */
    uint32_t access; /* enum sbt_value_access; of these bytes: */
    uint32_t size;
    uint64_t address, value;
    uint64_t brought_by, host_ns;
    const uint64_t *awaited; /* ids of parts */
    uint32_t awaited_count;
};

/* Writes the record like tsm_gpu_time_write(). */
void tsm_gpu_order_write(const struct tsm_gpu_order *order);

/* Writes an ACCESSES record (docs/FORMAT.md 10) like tsm_gpu_time_write(). `ranges`: of each one
 * its address, size and flags (SBT_ACCESS_*). Of more than 4096 ranges it writes none. */
void tsm_accesses_write(uint32_t stream, uint64_t position, const uint64_t (*ranges)[3],
                        size_t count);

/* The context of `stream` was destroyed: nothing that was sent runs any more, and of memory that
 * went with it nothing can be seen. A COMPLETE record, and what a synchronisation writes. */
void tsm_stream_ended(struct tsm_stream *stream);

/* For APIs whose commands can be complete before those that stand before them: the command at
 * `position` of `stream` is complete. tsm_readbacks_write() writes its READBACK record. */
void tsm_readback_landed(const struct tsm_stream *stream, uint64_t position);
/* ... but the program may have known for long, and changed the bytes: they are not compared, and
 * the trace says so. */
void tsm_readback_lost(const struct tsm_stream *stream, uint64_t position);
void tsm_readbacks_write(void);
/* `call` may write over bytes in [from, to) that are not known to be there: what of them is not
 * read by then is not compared, and the trace says so. */
void tsm_readback_overwritten(const struct tsm_call *call, uint64_t from, uint64_t to);
/* How many wait to be known as complete. */
uint32_t tsm_readbacks_pending(void);

/* ---- host memory that the device can read --------------------------------------------------- */

/* From now on changes of [start, start + size) are recorded as HOST_WRITE before every command that
 * could see them. Its present content counts as a change unless all zero. Never changes protection
 * and never installs a signal handler: PAGEMAP_SCAN where the kernel has it, hashing otherwise. */
void tsm_hostmem_track(uint64_t start, uint64_t size);
/* ... of a mapping of memory that is written through others, too: the kernel tells of no page
 * there. */
void tsm_hostmem_track_alias(uint64_t start, uint64_t size);
void tsm_hostmem_untrack(uint64_t start);
/* A call is about to give it up: it is not looked at until left() says how the call ended, and is
 * not tracked after that if it is gone. Another thread may track what was given to it there. Return
 * the end of the memory, 0: it is not tracked. */
uint64_t tsm_hostmem_leaves(uint64_t start);
uint64_t tsm_hostmem_left(uint64_t start, bool is_gone);
/* The same, with the results that are pending there: what is complete is recorded before the call,
 * and nothing after it if the memory is gone, which the trace says. */
void tsm_memory_leaves(uint64_t start);
void tsm_memory_left(uint64_t start, bool is_gone);
/* The same memory may be of interest to several objects, and be tracked for the program as well: it
 * is tracked until each share() has its unshare(). False: no room, and the trace is tainted. */
bool tsm_hostmem_share(uint64_t start, uint64_t size);
void tsm_hostmem_unshare(uint64_t start, uint64_t size);
/* Tests whether a tracked range holds the byte there. */
bool tsm_hostmem_is_tracked(uint64_t address);
/* Is any tracked? */
bool tsm_hostmem_any(void);
/* Marks changes in [start, start + size) as possibly written by a command that is complete by now:
 * the next tsm_hostmem_publish_held() records them with SBT_RECORD_HELD. */
void tsm_hostmem_hold(uint64_t start, uint64_t size);
void tsm_hostmem_publish_held(void);

/* Called before a command that can make the device read host memory. Cheap when nothing is tracked
 * or nothing changed. Returns whether anything is tracked. */
bool tsm_hostmem_publish(void);

/* The same, of the range that begins at `start` alone. */
void tsm_hostmem_publish_range(uint64_t start);

/* The device is idle, and the program knows: what has changed in a tracked range that began at
 * `start` is bytes that the command which `by` names gave back (READBACK), if it names one, and
 * HOST_WRITE. With a lock held: `by` calls nothing of ours. */
typedef bool (*tsm_hostmem_by)(uint64_t start, uint32_t *stream, uint64_t *position);
void tsm_hostmem_written(tsm_hostmem_by by);

/* Memory that a command of the device may have written, which is complete, as the program knows.
 * Records what has changed there as bytes that the command gave back (READBACK) and as HOST_WRITE,
 * and then a hash of all of it (CHECKSUM). Calls next() until it is false, with a lock held, as
 * above. `is_late`: the program may have changed it since: nothing is recorded but that, if it has
 * changed. */
struct tsm_given {
    uint64_t start, end;
    uint64_t read_end; /* after it only what the operating system says was written is looked at */
    uint32_t stream;
    uint64_t position;
    bool is_late;
};
void tsm_hostmem_given(bool (*next)(struct tsm_given *out));

/* Sets a function that finds bytes in [from, to) which commands under way may write, at most `room`
 * parts: they are not the program's. With a lock held, as above. */
struct tsm_gap {
    uint64_t start, end;
};
typedef uint32_t tsm_device_gaps(uint64_t from, uint64_t to, struct tsm_gap *gaps, uint32_t room);
void tsm_hostmem_device(tsm_device_gaps *find);

/* May a command that is under way write into the tracked range that began at `start`? Then it
 * cannot be told who has changed what is published, and the trace says so. With a lock held, as
 * above. */
void tsm_hostmem_shared(bool (*is_shared)(uint64_t start));

/* Records the present content of `box` as HOST_WRITE, in whole rows with the gaps between them: a
 * command that follows reads it there. For memory that is not tracked. */
void tsm_hostmem_write(const struct tsm_box *box);

/* ---- values that the device waits for -------------------------------------------------------- */

enum tsm_value_test {
    TSM_VALUE_GEQ, /* cyclic: the difference as a signed number is not negative */
    TSM_VALUE_EQ,
    TSM_VALUE_AND, /* a bit in common */
    TSM_VALUE_NOR, /* a bit that both lack */
};
struct tsm_value {
    uint64_t address;
    uint64_t value;
    uint32_t size; /* 4 or 8 */
    enum tsm_value_test test;
};

/* `call` makes its stream wait until tracked host memory passes the test. When the stream is known
 * to be complete and no record says how such a value came there, it was the program: a HOST_WRITE
 * is recorded then. Nothing for other memory. */
void tsm_value_awaited(const struct tsm_call *call, const struct tsm_value *value);

/* `call` writes the value when its turn comes: until then the bytes are the device's, and what
 * waits for it waits for no host. */
void tsm_value_written(struct tsm_call *call, const struct tsm_value *value);

/* The program is about to wait for the GPU, which may wait for what the program has written:
 * records changes of host memory, if any value is awaited. */
void tsm_values_publish(void);

/* Publishes the values of commands sent to `stream` (NULL: to all) up to `position`, which are
 * complete. Call it before the record of the call that shows this takes its place in the trace. */
void tsm_values_publish_completed(const struct tsm_stream *stream, uint64_t position);

/* Writes a CHECKSUM record, also while calls are held. `stream` SBT_STREAM_NONE, `position` 0: of
 * all that was sent. `flags`: SBT_RECORD_SPOT or 0. */
void tsm_checksum_write(uint32_t flags, uint32_t stream, uint64_t position, uint64_t address,
                        uint64_t size, const struct sbt_key *key);

/* ---- checkpoints ---------------------------------------------------------------------------- */

/* Does the program run, but its commands are not recorded yet? The next call may take the
 * checkpoint with which recording begins: no lock may be held there that save() takes. */
bool tsm_session_waiting(void);

/* Holds back the calls of all other threads, so that the GPU gets nothing more, and waits until
 * those that have begun are over. False: they are not within `patience_ns`, or nothing is recorded
 * now; then all go on. While it holds them the caller must not wait for the GPU without a limit,
 * which may wait for one of them, and must not make a call that is recorded. */
bool tsm_calls_hold(uint64_t patience_ns);
void tsm_calls_release(void);

/* A checkpoint is due; set and cleared by capture/call/checkpoint.c. */
extern uint32_t tsm_checkpoint_due;
void tsm_checkpoint_try(bool quiet);

/* Outside of a call, after a record was committed. `quiet`: the program itself has just waited for
 * the GPU. Takes a checkpoint when one is due; costs a load when none is. */
static inline void tsm_checkpoint_point(bool quiet)
{
    if (__builtin_expect(__atomic_load_n(&tsm_checkpoint_due, __ATOMIC_RELAXED) != 0, 0))
        tsm_checkpoint_try(quiet);
}

/* Will this session ever save memory? Then a source keeps in mind what it needs for that. */
bool tsm_checkpoint_possible(void);

/* Memory that a source saves: `size` bytes that read() gives, part by part, in rising order. */
struct tsm_memory {
    enum sbt_memory kind;
    uint32_t object;  /* stable id, where the kind has one */
    uint32_t name;    /* interned, where the kind has one */
    uint64_t address; /* where the kind has one */
    uint64_t size;
    bool (*read)(const struct tsm_memory *memory, uint64_t offset, void *out, size_t size);
    const void *user;
};

/* From a source's save(): false when it could not be read or kept; then save() gives up. */
bool tsm_checkpoint_memory(const struct tsm_memory *memory);
/* The same for what is no memory: `kind` says what `value` means of the object. Before all memory.
 */
bool tsm_checkpoint_state(enum sbt_state kind, uint32_t object, uint64_t value);

/* ---- functions of the program that the GPU calls --------------------------------------------- */

/* `call` sent one to its stream. */
void tsm_function_sent(const struct tsm_call *call);

/* Around it, on the thread that runs it, outside of a call: what it writes into host memory that
 * the device can read is recorded as done by the command at `position` of `stream`. The commands of
 * that stream up to `done` are complete: what they gave the program is recorded before it changes
 * that. */
void tsm_function_enter(uint32_t stream, uint64_t position, uint64_t done);
void tsm_function_left(uint32_t stream, uint64_t position);

/* ---- objects that pass through file descriptors --------------------------------------------- */

/* An object that another API of this program has given away. */
struct tsm_handed {
    uint32_t api; /* enum sbt_api */
    uint64_t id;  /* 0: a call of this program gave no such descriptor */
};

/* Returns what the descriptor stands for, and says in the trace that its API and `to` share
 * objects: then they are replayed together. Call it before the driver takes the descriptor over. */
struct tsm_handed tsm_handed_to(enum sbt_api to, int fd, enum tsm_shared kind);

extern bool tsm_handed_any; /* it has found something; atomic */
void tsm_handed_tell_send(enum sbt_api api);
void tsm_handed_tell_waited(enum sbt_api api, const struct tsm_stream *stream);

/* Tells the sources of other APIs that this one is about to send work, which may use what they have
 * given away. */
static inline void tsm_handed_send(enum sbt_api api)
{
    if (__atomic_load_n(&tsm_handed_any, __ATOMIC_ACQUIRE))
        tsm_handed_tell_send(api);
}

/* Tells them that the program knows what was sent to the stream to be complete; NULL: to any.
 * Outside of a call. */
static inline void tsm_handed_waited(enum sbt_api api, const struct tsm_stream *stream)
{
    if (__atomic_load_n(&tsm_handed_any, __ATOMIC_ACQUIRE))
        tsm_handed_tell_waited(api, stream);
}

/* ---- the session ---------------------------------------------------------------------------- */

/* A fact for the METADATA chunk; copied. */
void tsm_session_metadata(const char *name, const char *value);

/* Something happened that no record describes; `taints`: it may change device state. `name` is what
 * happened, e.g. a call's name. Written once per name and session, counted each time. */
void tsm_session_unmodelled(const char *name, bool taints);

/* Takes memory that lives as long as the process, for what a source knows of the program's objects.
 * NULL: there is none, and the trace says so. */
struct tsm_arena;
void *tsm_session_keep(struct tsm_arena *arena, size_t size);

/* Capture ends now, for good, with this reason in the trace. The program goes on. */
void tsm_session_stop(const char *reason);

const struct tsm_settings *tsm_session_settings(void);

/* Has the session of this call recorded one of an API other than `api`? */
bool tsm_call_other_api_in_use(const struct tsm_call *call, enum sbt_api api);

/* Sources of this build, NULL-terminated (interpose/sources.c). */
extern const struct tsm_source *const tsm_sources[];

/* True between begin and commit/drop on this thread, and on our own threads: calls pass through. */
bool tsm_inside(void);
/* ... on our own threads, or in code of ours: what happens to descriptors is no concern of the
 * program's. */
bool tsm_inside_own(void);
/* For code of ours that calls the real API outside a wrapper (describe, checksums), or functions of
 * libc in which a thread can be cancelled. */
void tsm_inside_enter(void);
void tsm_inside_leave(void);

/* The program is about to set a seccomp filter (struct sock_fprog), or strict mode:
 * capture/process/sandbox.c. True: recording is over for that; if the kernel then refuses it, tell
 * failed(), and the next call starts a session. `for_all`: it is for all threads. */
bool tsm_sandbox_comes(unsigned mode, const void *program, bool for_all);
void tsm_sandbox_failed(void);
/* This process has forbidden itself, on pain of death, system calls that the program itself may
 * never make: recording is over, and what a source still does for the program it does without. */
bool tsm_sandboxed(void);
/* The calling thread is about to forbid itself to read the time stamp counter: the end of
 * recording. */
void tsm_clock_forbidden(void);

/* Flush: what was committed so far is in the trace file when this returns. Finish: the same, then
 * the trace's end is written and capture is over; for destructors, _exit and exec. Both do nothing
 * in the child of vfork, whose memory is its parent's. */
void tsm_session_flush(void);
void tsm_session_finish(void);

/* exec failed after finish: the next call starts a second session (TS_OUTPUT with ".1", ".2"...).
 */
void tsm_session_exec_failed(void);

/* unshare() or setns() with these flags failed, `tries` being 0: was it for our threads alone? Some
 * namespaces are only for processes of one thread. Then recording ends here. True: try again; they
 * may still be on their way out. */
bool tsm_namespace_again(int flags, unsigned *tries);

/* When this library has been loaded, and in the child of fork(): whose memory this is from now on.
 */
void tsm_process_begins(void);

/* Once, by the program's first thread, before it can end: capture/process/last_thread.c. */
void tsm_follow_main_thread(void);

/* In the parent, after fork: writes a FORK record. */
void tsm_session_forked(int child);

/* Calls pass through unrecorded until resumed. The trace does not know of objects made meanwhile.
 */
void tsm_session_pause(bool paused);

#endif
