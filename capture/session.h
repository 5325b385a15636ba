/* SPDX-License-Identifier: Apache-2.0
 *
 * The state of a capture session, seen by all of capture/ and nobody else.
 *
 * A session belongs to one process. It is reached through `tsm_live`, a page that the kernel zeroes
 * in the child of a fork (MADV_WIPEONFORK): there the first call finds state 0 and starts a session
 * of its own, with memory, locks and lanes of its own; the parent's are never touched. The child of
 * vfork shares the page; what it may call before exec (flush, finish) compares process ids first.
 *
 * Who may wait for whom: threads of the program wait for the drain thread (space, a lane, the end)
 * and for short locks among each other. The drain thread waits for nobody and takes no lock that
 * the program can hold, the dynamic linker's included. Nobody holds a lock of ours while calling
 * something that takes the dynamic linker's.
 */
#ifndef CAPTURE_SESSION_H
#define CAPTURE_SESSION_H

#include "capture/capture.h"
#include "capture/lane/lane.h"
#include "capture/lock.h"

#include <signal.h>
#include <sys/types.h>

enum tsm_live_state {
    TSM_LIVE_NONE = 0, /* before the first call, and in the child of a fork */
    TSM_LIVE_ON,
    TSM_LIVE_PAUSED,
    TSM_LIVE_WAITING, /* for the start: what makes objects is recorded, commands are not */
    TSM_LIVE_STARTING,
    TSM_LIVE_OFF,
    TSM_LIVE_HELD, /* a checkpoint is being taken: calls wait until it is over */
};

struct tsm_live {
    uint32_t state; /* enum tsm_live_state; also a futex while STARTING and HELD */
    struct tsm_session *session;
};

extern struct tsm_live *tsm_live;

/* What capture knows of a thread. */
struct tsm_thread {
    struct tsm_session *session; /* `lane` belongs to this one */
    struct tsm_lane *lane;
    struct tsm_call *call; /* begun and not committed or dropped, NULL none */
    uint32_t inside;       /* code of ours that calls must not be recorded from */
    int cancel_state;      /* the program's, while `inside` */
};

/* Initial-exec: the default model may call malloc from a thread's first access. */
extern __thread struct tsm_thread tsm_thread __attribute__((tls_model("initial-exec")));

enum tsm_drain_state {
    TSM_DRAIN_STARTING = 0,
    TSM_DRAIN_RUNNING,
    TSM_DRAIN_FAILED, /* the trace cannot be written (any more); nothing is recorded */
    TSM_DRAIN_DONE,   /* the trace is complete */
};

/* What the call path needs to know of a record type; an entry of session->types. */
#define TSM_TYPE_KIND  0x0fu /* enum sbt_kind */
#define TSM_TYPE_NEW   0x10u /* the trace lacks its API's description: see tsm_api_used() */
#define TSM_TYPE_STACK 0x20u /* carries a host stack under the present settings */
#define TSM_TYPE_OFF   0x40u /* API excluded by TS_APIS */
#define TSM_TYPE_EARLY 0x80u /* recorded while WAITING, too: objects cannot be made without it */

struct tsm_session {
    /* Read on every call. */
    uint8_t *types;    /* [api * TSM_TYPE_CALL_COUNT + call] */
    bool filtering;    /* some filter is set: see capture/call/filter.c */
    uint8_t apis_used; /* a bit for each enum sbt_api of which a call has begun */
    pid_t pid;

    struct tsm_settings settings;
    char path[TSM_PATH_MAX];       /* absolute */
    char lanes_path[TSM_PATH_MAX]; /* path + ".lanes" */
    uint8_t id[16];
    struct tsm_clock_pair start;
    uint64_t start_realtime_ns;

    /* lanes: made by the drain thread, handed out and taken back by capture/process/thread.c */
    struct tsm_lanes_header *lanes_header;
    struct tsm_lane *lanes; /* [TSM_LANE_COUNT_MAX] */
    uint32_t lane_count;
    struct tsm_lock lanes_lock;
    struct tsm_lane *free_lanes;
    uint32_t lanes_wanted; /* by threads that wait */
    uint32_t lanes_made;   /* futex: a request was answered */

    /* the drain thread */
    uint32_t drain_state;    /* enum tsm_drain_state; futex */
    struct tsm_drain *drain; /* its own state */
    uint32_t drain_signal;   /* futex: somebody wants something */
    uint32_t drain_sleeping;
    uint32_t flush_wanted; /* serial number of the last request ... */
    uint32_t flush_done;   /* ... and of the last one answered; futex */
    uint32_t finish_wanted;
    pid_t drain_thread;
    uint32_t lanes_cut; /* the lanes file was made shorter: what is in lanes is lost */
    bool lanes_guarded; /* SIGBUS comes to us */
    uint32_t last_thread; /* futex: see capture/process/last_thread.c */
    sigset_t last_mask;
    bool end_at_once; /* no thread of the program is left, and libc knows it not */
    struct tsm_lock favour_lock;
    void (*favour)(void *argument); /* to be called by the drain thread; NULL when done */
    void *favour_argument;
    uint32_t favour_done;    /* futex */
    char drain_message[512]; /* why it failed */

    struct tsm_lock define_lock; /* lane 0 */
    struct tsm_intern *intern;
    struct tsm_stacks *stacks;
    struct tsm_pieces *pieces;
    struct tsm_handles *handles;
    struct tsm_streams *streams;
    struct tsm_readbacks *readbacks;
    struct tsm_hostmem *hostmem;
    struct tsm_values *values;
    struct tsm_filter *filter;
    struct tsm_notes *notes;
    struct tsm_mappings *mappings;

    uint64_t call_count;  /* when TS_STOP_CALL is set */
    uint64_t start_count; /* while WAITING, when TS_START_CALL is set */
    uint32_t mapping_busy;
    const char *stop_text; /* asked from outside; for the metadata */

    /* checkpoints */
    uint64_t command_count; /* when TS_CHECKPOINT is set */
    uint64_t checkpoint_due_command, checkpoint_due_ns;
    uint64_t checkpoint_retry_ns; /* after a failure not before */
    uint32_t checkpoint_failures; /* since the last one; changed while the state is HELD */
    uint32_t checkpoint_number;   /* of the last one begun ... */
    uint32_t checkpoint_count;    /* ... and how many are whole */
    struct tsm_checkpoint_run *checkpoint_run;
};

/* Start the session of this process, or wait until another thread has. Returns the new state. */
uint32_t tsm_session_start(void);

/* Nudge the drain thread. */
void tsm_session_nudge(struct tsm_session *session);

/* The session that this thread's process captures in, NULL when there is none. */
struct tsm_session *tsm_session_current(void);
/* That of this thread's call, also when it has been stopped since: the call is still recorded.
 * Outside of calls the current one. */
struct tsm_session *tsm_session_of_call(void);

/* This thread's lane in `session`; takes one when it has none. NULL: none to be had, counted. */
struct tsm_lane *tsm_thread_lane(struct tsm_session *session);

/* ---- definitions, in lane 0 ----------------------------------------------------------------- */

/* Take the lock, get room for an entry; publish, give the lock. NULL: the lock is not held. */
void *tsm_define_begin(struct tsm_session *session, uint64_t size, uint16_t kind);
void tsm_define_end(struct tsm_session *session, const void *entry);

/* ---- the drain thread (capture/lane/drain.c) ----------------------------------------------------- */

/* Create the thread; it opens the output and sets drain_state. Waits for that. */
bool tsm_drain_start(struct tsm_session *session);

/* capture/process/sandbox.c: the program has forbidden system calls of ours on pain of death. */
extern bool tsm_sandboxed;

/* capture/process/thread_limit.c: threads that RLIMIT_NPROC still allows; UINT64_MAX: it does not matter.
 * Below TSM_THREADS_LEFT_MIN we start none: the last ones are the program's. */
#define TSM_THREADS_LEFT_MIN 8u
uint64_t tsm_threads_left(void);

/* capture/lane/guard.c: from now on the program survives when its lanes file is made shorter, and
 * `session->lanes_cut` is set. False: the program handles SIGBUS itself. */
bool tsm_lanes_guard(struct tsm_session *session);
/* Puts zeroed memory in place of all lanes. The drain thread only. */
void tsm_lanes_detach(struct tsm_session *session);

/* A key for this lane's next record: `ticks`, or a little later. The processor may read the TSC
 * before what precedes it is done (it orders memory, not rdtsc), so stamps are made to rise where
 * order depends on them: within a lane, and on a stream. */
static inline uint64_t tsm_lane_key(struct tsm_lane *lane, uint64_t ticks)
{
    if (ticks < lane->last_key)
        ticks = lane->last_key;
    lane->last_key = ticks;
    return ticks;
}

/* The record of a call that has begun is made in place, at its lane's head. Before anything else is
 * reserved there, it has to make way. */
void tsm_call_make_way(const struct tsm_lane *lane);

static inline struct tsm_record_entry *tsm_call_record(const struct tsm_call *call)
{
    return (struct tsm_record_entry *)(void *)call->slots - 1;
}

/* Have `favour` called on the drain thread, whose table of descriptors is its own; waits for it.
 * False: the thread has ended before. */
bool tsm_drain_ask(struct tsm_session *session, void (*favour)(void *argument), void *argument);

/* The first call of an API is about to begin: have the drain thread write what describes its
 * records (value tables, structs, schemas) to the trace file, and wait until it is there. So a
 * trace carries only what it uses, and whatever is committed can be salvaged by who knows no API.
 */
void tsm_api_used(struct tsm_session *session, uint32_t api);

/* ---- records of ours (capture/call/note.c) ------------------------------------------------------- */

/* Write a core record on this thread's lane, now. `data` is copied. Returns false when it is lost.
 */
struct tsm_note {
    uint32_t call;  /* enum sbt_core_record */
    uint32_t flags; /* SBT_RECORD_* */
    uint32_t stream;
    uint64_t position;
    uint64_t slots[9];
    uint32_t slot_count;
    const void *data;
    uint32_t data_size;
};
bool tsm_note_write(struct tsm_lane *lane, const struct tsm_note *note);
/* All notes of this thread until the end have the same place, which is now. No more than half of a lane
 * may be written meanwhile: nothing behind that place is drained. */
bool tsm_notes_begin(struct tsm_lane *lane);
void tsm_notes_end(struct tsm_lane *lane, bool taken);

/* Tell of records lost on this lane since the last time, when there are any. */
void tsm_note_lost(struct tsm_lane *lane);

/* This thread is inside a call, and makes another one, `call`, which has no record. Counts it as lost where a jump
 * out of a signal handler or a callback has left the first one: nobody will end that. */
void tsm_note_left(const struct tsm_call *call);

/* ---- checkpoints (capture/call/checkpoint.c) ------------------------------------------------------ */

/* WAITING: has the start come? Then take the checkpoint from which the trace can be replayed, and
 * go ON. When the GPU is not idle in time the state stays, and the next call tries again. */
void tsm_checkpoint_start(struct tsm_session *session);

/* Take one as soon as can be. */
void tsm_checkpoint_ask(void);

/* A command was recorded: is a checkpoint due? */
void tsm_checkpoint_count(struct tsm_session *session);

/* ---- being told from outside (capture/process/control.c) --------------------------------------------- */

/* The session's lanes file is there: take orders through its header, and from TS_START_SIGNAL. */
void tsm_control_begin(struct tsm_session *session);

/* Has somebody asked for the start? */
bool tsm_control_start(const struct tsm_session *session);

/* The drain thread, now and then: carry out the other orders, show what goes on. */
void tsm_control_poll(struct tsm_session *session);

/* End the session from a thread that records nothing. */
void tsm_session_stop_quietly(struct tsm_session *session, const char *text);

/* ---- payloads (capture/call/payload.c) ----------------------------------------------------------- */

struct tsm_pieces *tsm_pieces_create(void);

/* How payload bytes are fetched. */
enum tsm_fetch {
    TSM_FETCH_DIRECT, /* the driver has just accepted the address */
    TSM_FETCH_SAFE,   /* the program may have unmapped it */
};

/* Keep the bytes of `box`; the encoded reference goes to `out`, which takes
 * SBT_BLOB_ENCODED_SIZE(total size) bytes. False: memory could not be read, or pieces were lost. */
bool tsm_payload_store(struct tsm_lane *lane, const struct tsm_box *box, enum tsm_fetch fetch,
                       uint8_t *out);

/* Hash the pieces of `box`, and store them (when `store`); their keys, 16 bytes each, go to `out`.
 */
bool tsm_payload_pieces(struct tsm_lane *lane, const struct tsm_box *box, enum tsm_fetch fetch,
                        bool store, uint8_t *out);

uint64_t tsm_box_size(const struct tsm_box *box);

/* Tests whether a record of this lane has room for a reference of `encoded` bytes. */
static inline bool tsm_payload_fits(const struct tsm_lane *lane, uint64_t encoded)
{
    return encoded < lane->size / 4;
}

/* Returns how many bytes one record's reference may name here: whole pieces. */
uint64_t tsm_payload_part(const struct tsm_lane *lane);

/* Returns the address of the box's byte at `offset`, as if it were packed. */
uint64_t tsm_box_address(const struct tsm_box *box, uint64_t offset);

/* As tsm_payload_store(), for the bytes [offset, offset + size) of the packed box; `offset` is a
 * multiple of a piece. Not stored: their keys alone are kept. */
bool tsm_payload_store_part(struct tsm_lane *lane, const struct tsm_box *box, uint64_t offset,
                            uint64_t size, enum tsm_fetch fetch, bool store, uint8_t *out);

/* A lane's memory for encoded references, for readbacks that wait for the call's commit, and for
 * its record where that had to make way. */
#define TSM_SCRATCH_DEFERRED_MAX 65 /* 64 parts of a call, and TSM_FORETOLD */
#define TSM_SCRATCH_LARGE_MAX    8
struct tsm_scratch {
    uint32_t used; /* of bytes[] */
    uint32_t large_count;
    uint32_t deferred_count; /* of deferred[] */
    bool is_announced;       /* what is deferred counts already */
    struct tsm_scratch_large {
        void *memory;
        uint64_t size;
    } large[TSM_SCRATCH_LARGE_MAX];
    struct tsm_deferred {
        struct tsm_box box;
        uint32_t stream;
        uint64_t position;
        bool complete;
        bool is_weak; /* TSM_OWES_BYTES: only as long as nobody else may have written there */
        enum tsm_owes {
            TSM_OWES_BYTES,  /* they are recorded when the call is complete */
            TSM_WRITES,      /* the bytes are the device's until then */
            TSM_MAY_WRITE,   /* the same from `from` on: where else it writes is not known */
            TSM_MIGHT_WRITE, /* nothing says that it has the address: others write there, too */
            TSM_FORETOLD,    /* nothing: the call's commit ends what was announced before it */
        } owes;
        uint64_t from;
    } deferred[TSM_SCRATCH_DEFERRED_MAX];
    struct tsm_record_entry record;
    uint64_t slots[SBT_FIELD_COUNT_MAX]; /* directly behind it */
    uint8_t bytes[12288];
};

/* `size` bytes that live until the call is committed. NULL: out of memory. */
uint8_t *tsm_scratch_take(struct tsm_lane *lane, uint64_t size);
void tsm_scratch_clear(struct tsm_lane *lane);

/* ---- the rest of capture/ -------------------------------------------------------------------- */

#define TSM_INTERN_COUNT_MAX (1u << 20)
struct tsm_intern *tsm_intern_create(void);
uint32_t tsm_intern_count(const struct tsm_session *session); /* ids are 1..count */
const char *tsm_intern_text(const struct tsm_session *session, uint32_t id);
uint32_t tsm_intern_in(struct tsm_session *session, const char *text, size_t size);

struct tsm_stacks *tsm_stacks_create(void);
uint32_t tsm_stack_capture(struct tsm_session *session, struct tsm_lane *lane,
                           const void *return_address, const void *sp);
void tsm_stack_forget(struct tsm_lane *lane);
const char *tsm_stack_method(void);

/* Record what files are mapped, when that may have changed. Takes the dynamic linker's lock. */
void tsm_mapping_update(struct tsm_session *session);
struct tsm_mappings *tsm_mappings_create(void);

struct tsm_handles *tsm_handles_create(void);
struct tsm_streams *tsm_streams_create(void);
struct tsm_readbacks *tsm_readbacks_create(void);
struct tsm_hostmem *tsm_hostmem_create(void);

/* capture/call/readback.c: the device writes `box` by this call, with bytes that are known: until it is
 * complete they are not the program's. */
void tsm_readback_silent(struct tsm_call *call, const struct tsm_box *box);
/* As tsm_readback() while nobody else may write there, and then as tsm_readback_silent(). */
void tsm_readback_weak(struct tsm_call *call, const struct tsm_box *box);
/* ... may write in `box`, most likely from `from` on; 0: not likely. */
void tsm_readback_perhaps(struct tsm_call *call, const struct tsm_box *box, uint64_t from);
/* Tests whether a command that is not known to be complete writes there, or may. */
bool tsm_readback_is_open(const struct tsm_call *call, const struct tsm_box *box);

/* Says of values that commands wrote, and that are there now, that the program can know it. */
void tsm_values_reached(struct tsm_lane *lane);
/* tsm_values_publish_completed() by the stream's number; SBT_STREAM_NONE: all streams. */
void tsm_values_publish_completed_number(uint32_t stream, uint64_t position);
/* Writes a COMPLETE record, and before it what the program must have written, so that it could be:
 * no lock is held. */
void tsm_hostmem_complete(struct tsm_lane *lane, uint32_t stream, uint64_t position);
/* A function of the program is about to run: it may tell other threads that commands up to `done`
 * are complete, which may then overwrite what those have read. */
void tsm_function_reached(uint32_t stream, uint64_t done);

/* capture/call/value.c: the host memory [from, from + size) is recorded as holding `bytes`. */
void tsm_values_seen(struct tsm_session *session, uint64_t from, const uint8_t *bytes,
                     uint64_t size);
struct tsm_values *tsm_values_create(void);
/* Tests whether a value is awaited, or was written, by a command of the stream. */
bool tsm_values_await(struct tsm_session *session, const struct tsm_stream *stream);

/* Each range of tracked host memory; false when `visit` gave false. */
bool tsm_hostmem_each(struct tsm_session *session,
                      bool (*visit)(void *user, uint64_t start, uint64_t size), void *user);

/* Every command of `api` so far is complete: write the READBACK records that wait for that. */
void tsm_readbacks_all_complete(struct tsm_session *session, enum sbt_api api);
/* Says of streams of which something may write host memory that they are complete, where the
 * program may have seen that, and writes the READBACK records that waited for it. Asks, and does
 * not wait. */
void tsm_readbacks_ask(struct tsm_lane *lane);
/* The program can see in its memory that the command is complete, and change what those before it
 * gave back. */
void tsm_readbacks_observed(const struct tsm_stream *stream, uint64_t position);
/* Tests whether a readback of the stream is not recorded yet. */
bool tsm_readbacks_await(struct tsm_session *session, const struct tsm_stream *stream);

/* Is all of [start, start + size) host memory that the device can read? */
bool tsm_hostmem_holds(struct tsm_session *session, uint64_t start, uint64_t size);
/* A command that may have written into [start, end) is complete: what has changed there may be
 * older than that, and its HOST_WRITE records say so (SBT_RECORD_HELD). settled() writes them. */
void tsm_hostmem_held(struct tsm_session *session, uint64_t start, uint64_t end);
void tsm_hostmem_write_held(void);
/* The device has written [from, to), nothing else is going to, and the bytes are about to be
 * recorded as what it gave back: they are no change of the program's. */
void tsm_hostmem_known(struct tsm_lane *lane, uint64_t from, uint64_t to);
/* Few, and nearly sorted already. */
void tsm_gaps_sort(struct tsm_gap *gaps, uint32_t count);
/* The device has written there: whatever is there when it is looked at the next time counts as a
 * change, also what was recorded last. */
void tsm_hostmem_unknown(struct tsm_session *session, uint64_t start, uint64_t end);
/* Marks what is recorded of those ranges the next time as held: a copy wrote between bytes of the
 * program. */
void tsm_hostmem_mixed(struct tsm_session *session, uint64_t start, uint64_t end);

/* The session ends: what is still under way is not compared, and the trace says so. */
void tsm_readbacks_end(struct tsm_session *session);
/* Commit of the call `call` is over: write or remember its readbacks. */
void tsm_readback_committed(struct tsm_lane *lane, const struct tsm_call *call);

/* Parts of [from, to) into which an asynchronous copy from the device may still be writing, in
 * order of address; they may overlap. Returns their number. */
#define TSM_GAP_COUNT_MAX 64u
/* ... but not by commands of a stream on which a function of the program runs now: they have ended
 * or not begun. */
struct tsm_running {
    uint32_t stream; /* SBT_STREAM_NONE: a thread of the program, none */
    uint64_t position;
};

/* capture/memory/host_memory.c: the program wrote that value; when the command `after` had run, or
 * (SBT_STREAM_NONE) at any time before now. */
void tsm_hostmem_value(const struct tsm_value *value, struct tsm_running after);
uint32_t tsm_readback_gaps(struct tsm_session *s, uint64_t from, uint64_t to,
                           const struct tsm_running *running, uint32_t running_count,
                           struct tsm_gap gaps[TSM_GAP_COUNT_MAX]);

/* A copy of the bytes that the command wrote at `address` of the program. */
void tsm_readback_copied(struct tsm_lane *lane, const struct tsm_box *box, uint64_t address,
                         struct tsm_running by);
#define TSM_NOT_SEEN "bytes given back, of which it was not seen when they were there"

/* The commands of that stream up to `position` are complete: write their READBACK records. */
void tsm_readbacks_before(uint32_t stream, uint64_t position);

/* Filters: false when the call is to be left out; counts it then. */
struct tsm_filter *tsm_filter_create(const struct tsm_settings *settings);
bool tsm_filter_keeps(struct tsm_lane *lane, const struct tsm_call *call);
bool tsm_filter_thread(struct tsm_session *session, const char *name);

/* UNMODELLED: how often each interned text was said. */
struct tsm_notes *tsm_notes_create(void);
uint32_t tsm_notes_count(const struct tsm_session *session, uint32_t text);

/* ---- output (capture/process/output.c), the drain thread only --------------------------------------- */

/* Choose `session->path`; open the lanes file, locked, and the trace, which does not have its name
 * yet. Negative error on failure, then nothing of them is left. */
int tsm_output_open(struct tsm_session *session, int *trace_fd, int *lanes_fd);

/* The trace is begun: give it its name. */
int tsm_output_show(struct tsm_session *session);

/* ... or it could not be: take both files away. */
void tsm_output_remove(const struct tsm_session *session);

/* One line on the program's stderr, from a thread that has no descriptors of the program. */
void tsm_output_warn(const struct tsm_session *session, const char *text);

#endif
