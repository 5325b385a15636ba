/* SPDX-License-Identifier: Apache-2.0
 *
 * The HSA backend. A replay function carries out one record on the runtime of the replay; objects
 * are found by the ids of the recording, streams by their recorded numbers.
 *
 * Signals are real ones: packets and copies wait for each other as they did, by themselves. What
 * the host did to a signal is done again in its place, and what the host waited for is waited for.
 * Signals, readers and executables live until the end of the replay, because a recording does not
 * say of all that a program knew when it destroyed them.
 *
 * Threads: as replay/backend.h says: objects are made by one thread while nothing else runs, and
 * only looked up by others.
 */
#ifndef API_HSA_REPLAY_REPLAY_H
#define API_HSA_REPLAY_REPLAY_H

#include "api/hsa/code.h"
#include "api/hsa/hsa_calls.h"
#include "api/hsa/hsa_real.h"
#include "api/hsa/sandbox.h"
#include "base/map.h"
#include "replay/address_space.h"
#include "replay/backend.h"
#include "replay/time_list.h"

#define HSA_PAGE 4096u

struct hsa_replay;

typedef int (*hsa_replay_function)(struct hsa_replay *replay, const struct sbt_record *record);

/* NULL: nothing is to be done for that record. */
hsa_replay_function hsa_replay_find(uint32_t type);
void hsa_real_load(struct hsa_real *out, void *(*symbol)(void *library, const char *name),
                   void *library);

/* ---- the machine (agents.c) --------------------------------------------------------
 */

#define HSA_AGENT_MAX 64u
#define HSA_POOL_MAX  256u

/* An agent or a pool; a region is kept like a pool. Recorded ones have what was recorded. */
struct hsa_part {
    uint64_t id;    /* of the recording; 0: it is one of this machine */
    uint64_t raw;   /* here; 0: there is none like it */
    uint64_t agent; /* of a pool: id, or raw handle */
    uint32_t type, segment, flags;
    bool allocatable, host_access;
    bool is_used;     /* a record needs it */
    bool is_software; /* of an agent here: the software GPU */
    char isa[64];
};

struct hsa_machine_parts {
    struct hsa_part agents[HSA_AGENT_MAX], pools[HSA_POOL_MAX], regions[HSA_POOL_MAX];
    uint32_t agent_count, pool_count, region_count;
};

int hsa_agents_plan(struct hsa_replay *replay, const struct sbt_record *record);
/* Open a runtime that has everything that the trace needs. */
int hsa_agents_open(struct hsa_replay *replay);
void hsa_agents_close(struct hsa_replay *replay);
hsa_agent_t hsa_agents_agent(const struct hsa_replay *replay, uint64_t id);
/* Tests whether the agents here perform agent dispatch packets as recorded. */
bool hsa_agents_are_software(const struct hsa_replay *replay, hsa_agent_t agent);
/* The recorded pool or region, with its counterpart. NULL: there is none of this id. */
const struct hsa_part *hsa_agents_pool(const struct hsa_replay *replay, uint64_t id);
const struct hsa_part *hsa_agents_region(const struct hsa_replay *replay, uint64_t id);

/* ---- memory (memory.c) --------------------------------------------------------------
 */

enum hsa_how {
    HSA_HOW_VIRTUAL,  /* hsa_amd_vmem: at its recorded address */
    HSA_HOW_VIEW,     /* the same, of memory that others keep (virtual.c) */
    HSA_HOW_POOL,     /* where the runtime put it */
    HSA_HOW_HOST,     /* the process's own pages, locked; at its address if they could be had */
    HSA_HOW_VARIABLE, /* of an executable */
    HSA_HOW_CONSTANT, /* ... that nobody may write */
};

struct hsa_placed {
    enum hsa_how how;
    uint64_t handle; /* of HSA_HOW_VIRTUAL */
    uint64_t mapped; /* bytes */
    uint8_t *left;   /* what the program last left in the host's memory; NULL: nothing yet */
};

/* Memory of the program that is locked, or shared by its attributes: no unlock ends that. */
struct hsa_lock {
    uint64_t address, size;
    bool is_svm;
};

struct hsa_memory {
    struct hsa_lock *locks; /* of regions with HSA_HOW_HOST; oldest first */
    size_t lock_count, lock_capacity;
    struct tsm_address_space space; /* recorded, whole pages */
    struct tsm_region *regions;     /* by recorded address */
    struct hsa_placed *placed;      /* of each region */
    size_t region_count, region_capacity;
    uint64_t moved_count; /* ever */
    bool is_elsewhere;    /* anything was ever, variables too, at another address than recorded */
};

int hsa_memory_plan(struct hsa_memory *m, uint64_t address, uint64_t size);
/* Reserves the recorded addresses as virtual memory. */
void hsa_memory_reserve(struct hsa_replay *replay);
int hsa_memory_place(struct hsa_replay *replay, const struct hsa_part *pool, uint64_t address,
                     uint64_t size, uint64_t seq);
/* Memory without an address as memory at one, which may be its second. */
struct hsa_view {
    const struct hsa_part *pool;
    uint64_t handle, offset; /* here; in it */
    uint64_t address, size;  /* recorded */
    bool is_fresh;           /* it holds nothing yet */
};
int hsa_memory_map(struct hsa_replay *replay, const struct hsa_view *view, uint64_t seq);
/* Is the region a mapping, whose memory can have another one? */
bool hsa_memory_is_mapped(const struct hsa_memory *m, const struct tsm_region *region);
int hsa_memory_lock(struct hsa_replay *replay, uint64_t address, uint64_t size, uint64_t seq);
int hsa_memory_variable(struct hsa_replay *replay, uint64_t address, uint64_t actual, uint64_t size,
                        bool is_const, uint64_t seq);
/* The host may reach the regions there: what it does to them is its own. */
void hsa_memory_allow_host(struct hsa_memory *m, uint64_t address, uint64_t size);
int hsa_memory_release(struct hsa_replay *replay, uint64_t address);
/* NULL: nothing of the recording is there. */
const struct tsm_region *hsa_memory_find(const struct hsa_memory *m, uint64_t address);
/* Gives what a region holds of [address, address + size), which does not wrap around: of the first
 * region, or (`part` is the one before) of the next. Locks that overlap were recorded as one; in a
 * replay some of them may be gone, or be there without the others. False: there is no more. */
struct hsa_region_part {
    const struct tsm_region *region; /* NULL: begin */
    uint64_t address, actual, size;
};
bool hsa_memory_next_part(const struct hsa_memory *m, uint64_t address, uint64_t size,
                          struct hsa_region_part *part);
/* Tests whether all of those bytes are memory of the recording, in one piece. */
bool hsa_memory_holds(const struct hsa_memory *m, uint64_t address, uint64_t size);
/* The same for a box that is not empty: width in bytes, height, depth, bytes from row to row and
 * from plane to plane. */
bool hsa_memory_holds_box(const struct hsa_memory *m, uint64_t address, const uint64_t box[5]);
/* Returns the present address for a recorded one; the same address when nothing was there. */
uint64_t hsa_memory_translate(const struct hsa_memory *m, uint64_t address);
/* May the region not be written? */
bool hsa_memory_is_constant(const struct hsa_memory *m, const struct tsm_region *region);
/* The program, or a copy that it knows of, has left that in memory of the host. */
int hsa_memory_leave(struct hsa_replay *replay, uint64_t address, uint64_t size);
/* Returns the former content of those bytes; NULL: nothing yet. */
const uint8_t *hsa_memory_left(const struct hsa_memory *m, uint64_t address, uint64_t size);
/* `size` bytes of the region that `address`, as recorded, lies in. */
int hsa_memory_read(struct hsa_replay *replay, uint64_t address, void *out, uint64_t size);
void hsa_memory_finish(struct hsa_replay *replay);

void hsa_virtual_finish(struct hsa_replay *replay);

/* ---- signals (signal.c) -------------------------------------------------------------
 */

struct hsa_signal_state {
    struct hsa_signal_state *next; /* of all; none goes before the end */
    hsa_signal_t raw;
    /* The value that it will have when everything that was sent is complete; `is_known`: the host
     * did nothing to it that makes this a guess. */
    int64_t expected;
    bool is_known;  /* atomic */
    int64_t wanted; /* a value that lets the last one go on that waits for it, if any does */
    bool is_wanted;
    struct hsa_timed
        *timed; /* the last command that completes it (timing.c); NULL: none was timed */
};

int hsa_signal_make(struct hsa_replay *replay, uint64_t id, int64_t value);
/* NULL for id 0, and when none was made. */
struct hsa_signal_state *hsa_signal_find(const struct hsa_replay *replay, uint64_t id);
hsa_signal_t hsa_signal_raw(const struct hsa_replay *replay, uint64_t id);
/* A command was sent that will count it down. */
void hsa_signal_sent(struct hsa_signal_state *signal);
/* It was not, after all. */
void hsa_signal_not_sent(struct hsa_signal_state *signal);
/* A command is sent that waits for this value. NULL: it waits for nothing. */
void hsa_signal_wanted(struct hsa_signal_state *signal, int64_t value);
/* Stores the values that commands wait for, that only the program could have stored and that it has
 * not. Returns the number of signals. Any thread may call it at any time. */
unsigned hsa_signals_unblock_waiters(const struct hsa_replay *replay);
/* Tests whether a command waits for a value that only the program can store. */
bool hsa_signals_stuck(const struct hsa_replay *replay);
/* It has this value, and nothing is under way that changes it. */
void hsa_signal_set(const struct hsa_replay *replay, struct hsa_signal_state *signal,
                    int64_t value);
/* Wait until what was sent is complete, as far as that is known. */
int hsa_signal_wait_complete(const struct hsa_replay *replay,
                             const struct hsa_signal_state *signal);
void hsa_signals_finish(struct hsa_replay *replay);

/* ---- streams (queue.c) --------------------------------------------------------------
 */

#define HSA_FLIGHT_MAX     64u
#define HSA_DISPATCHED_MAX 256u

struct hsa_stream {
    hsa_queue_t *queue; /* NULL: of copies */
    hsa_agent_t agent;  /* of the queue */
    bool is_software;   /* of the software GPU */
    uint64_t sent;      /* packets */
    hsa_signal_t fence;
    hsa_status_t error; /* that has ended the queue; written by a thread of the runtime */
    /* Memory for arguments: given out until the stream has been waited for. */
    struct hsa_arguments *arguments;
    struct hsa_dispatched *dispatched; /* HSA_DISPATCHED_MAX places; NULL: none was sent */
    uint64_t dispatched_count;         /* since then; the newest ones are kept */
    /* Signals that the newest copies count down. */
    struct hsa_signal_state *flight[HSA_FLIGHT_MAX];
    uint64_t flight_count;
    /* Bytes for the host: where the newest ones went. */
    struct hsa_received {
        uint64_t position, size;
        const uint8_t *data;
        /* `height` rows in each of `depth` planes; 0: the bytes lie one after the other */
        uint64_t width, height, depth, pitch, plane;
    } received[HSA_FLIGHT_MAX];
    uint64_t received_count;
    uint8_t *own;    /* the newest one's, when it is memory of ours */
    uint8_t *packed; /* rows of the one that was asked for last */
};

struct hsa_stream *hsa_stream_of(struct hsa_replay *replay, uint32_t number);
/* `size` bytes that a kernel can read, aligned to 64. NULL: no memory. */
void *hsa_stream_arguments(struct hsa_replay *replay, struct hsa_stream *stream, size_t size);
/* Put a packet of 64 bytes into the stream's queue. */
int hsa_stream_send(struct hsa_replay *replay, struct hsa_stream *stream, const void *packet);
int hsa_stream_wait(struct hsa_replay *replay, struct hsa_stream *stream);
/* The program wrote these bytes at a recorded address: dispatches that were sent with arguments
 * there, as many bytes, and may wait behind a gate, get them (packet.c). */
int hsa_arguments_written(struct hsa_replay *replay, uint64_t address, const struct sbt_blob *blob);
/* The command at `position` writes `size` bytes at `data`. With `own` that is from malloc(), and is
 * the stream's until the next of that kind. */
void hsa_stream_receives(struct hsa_stream *stream, uint64_t position, const uint8_t *data,
                         uint64_t size, uint8_t *own);
/* ... and writes a box, into memory that is not the stream's. */
void hsa_stream_receives_box(struct hsa_stream *stream, const struct hsa_received *box);
/* TSM_E_NOT_FOUND: that command gives no bytes back. */
int hsa_stream_received(struct hsa_stream *stream, uint64_t position, const uint8_t **data,
                        uint64_t *size);
/* Fails when a queue has, because of the sandbox. */
int hsa_streams_check(const struct hsa_replay *replay);
void hsa_streams_finish(struct hsa_replay *replay);

/* ---- times of commands on the device (timing.c) --------------------------------------------
 */

struct hsa_timing {
    bool is_on;
    uint64_t seq_first;
    uint64_t frequency, start_ticks;    /* of the runtime's clock; when the run began */
    pthread_mutex_t lock;               /* of what signals complete, and of the rest */
    struct hsa_timed *under_way, *free; /* dispatches with a signal of ours */
    size_t under_way_count, look_count; /* so many, and one looks for complete ones */
    struct tsm_time_list done;
};

/* A packet on a queue, or a copy (`queue` NULL), that completes a signal (NULL: none) is sent
 * next. Returns the signal that it is to complete. */
hsa_signal_t hsa_timing_sending(struct hsa_replay *replay, const struct sbt_record *record,
                                const struct hsa_stream *queue,
                                struct hsa_signal_state *completion);
/* The stream's queue was created. */
void hsa_timing_queue(struct hsa_replay *replay, struct hsa_stream *stream, hsa_agent_t agent);
/* Implement tsm_backend_timing. */
int hsa_timing_start(struct hsa_replay *replay, uint64_t seq_first);
int hsa_timing_report(struct hsa_replay *replay, tsm_time_user report, void *user);
/* Before the signals go. */
void hsa_timing_finish(struct hsa_replay *replay);

/* ---- images and samplers (image.c) --------------------------------------------------
 */

/* The handle of the image or sampler whose handle was `value` when it was recorded; itself when
 * there is none: the program may give a kernel any number. */
uint64_t hsa_image_translate(const struct hsa_replay *replay, uint64_t value);

/* ---- code (code.c) ------------------------------------------------------------------
 */

struct hsa_kernel_state {
    uint64_t object;
    bool has_info;
    bool was_told; /* of a hidden argument that cannot be made */
    struct hsa_code_kernel info;
};

struct hsa_kernel_state *hsa_kernel_find(const struct hsa_replay *replay, uint64_t id);
void hsa_code_finish(struct hsa_replay *replay);

/* ---- kernels of files in the place of recorded ones (replace.c) --------------------------------
 */

struct hsa_replacement;

struct hsa_replacements {
    struct hsa_replacement *list; /* as options->kernels; NULL: there are none */
    size_t count;
    uint64_t taken_count; /* kernels that the program got others for */
};

/* Reads the files. The runtime is up. */
int hsa_replace_open(struct hsa_replay *replay);
/* Returns what replaces the kernel of that name; NULL: it stays. */
struct hsa_replacement *hsa_replace_find(const struct hsa_replay *replay, const char *name);
/* Fails if the file has a variable that the recorded code, data[size], has. */
int hsa_replace_check(const struct hsa_replacement *r, const uint8_t *data, uint64_t size);
/* Makes `kernel`, a recorded one with all that is known of it, the file's for the agent. Fails if
 * it does not fit the recorded packets. */
int hsa_replace_take(struct hsa_replay *replay, struct hsa_replacement *r, hsa_agent_t agent,
                     struct hsa_kernel_state *kernel);
void hsa_replace_finish(struct hsa_replay *replay);

/* ---- checkpoints (checkpoint.c) -----------------------------------------------------
 */

/* Make what a checkpoint's MEMORY or STATE record says. */
int hsa_checkpoint_memory(struct hsa_replay *replay, const struct sbt_record *record);
int hsa_checkpoint_state(struct hsa_replay *replay, const struct sbt_record *record);
/* Implements checkpoint saving of struct tsm_backend. */
int hsa_checkpoint_save(struct hsa_replay *replay, const struct tsm_saver *saver);

/* ---- all ---------------------------------------------------------------------------------------
 */

struct hsa_replay {
    struct sbt_reader *reader;
    const struct tsm_replay_options *options;
    struct hsa_real calls;
    void *library;
    char path[512];
    bool is_emu, is_up, has_virtual;
    bool has_sandbox;                     /* code of the trace runs in one */
    hsa_sandbox_why_function sandbox_why; /* NULL: there is none */
    struct hsa_machine_parts recorded, here;
    struct hsa_memory memory;
    struct tsm_map queues; /* streams that are queues */
    struct tsm_map images; /* recorded handles of images and samplers -> those here */
    bool keeps_left; /* kernels gave bytes back in memory of the host: what was there before counts
                      */
    struct hsa_stream *streams;
    uint32_t stream_count;
    struct hsa_signal_state *signals; /* the newest first */
    struct tsm_map objects;           /* type << 32 | id -> state, or the raw handle */
    /* Values in arguments that look like addresses which are others here; the first one's place. */
    uint64_t untranslated_count;
    const struct hsa_kernel_state *untranslated_kernel;
    uint32_t untranslated_offset;
    struct hsa_timing timing;
    struct hsa_replacements replacements;
};

int hsa_fail(const struct hsa_replay *replay, const char *call, hsa_status_t status);
/* 0 when the record has no such slot. */
uint64_t hsa_slot(const struct sbt_record *record, uint32_t slot);
uint64_t hsa_object_find(const struct hsa_replay *replay, enum hsa_object object, uint64_t id);
int hsa_object_add(struct hsa_replay *replay, enum hsa_object object, uint64_t id, uint64_t value);
/* The bytes of a BLOB field, malloc()ed; *size 0 and NULL for none. */
int hsa_blob_read(struct hsa_replay *replay, const struct sbt_record *record, uint32_t slot,
                  uint8_t **out, uint64_t *size);

#endif
