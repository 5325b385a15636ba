/* SPDX-License-Identifier: Apache-2.0
 *
 * The HSA source: what generated wrappers (hsa_wrappers.c) and hand-written hooks share. It runs
 * inside the traced program: the rules of capture/capture.h hold.
 *
 * Packets. A program writes packets into a queue's ring and rings its doorbell, a signal. It gets a
 * queue of ours, a "soft queue" of the runtime, whose packets we take when the doorbell rings,
 * record, and put into the runtime's own queue behind it, in the same places. So
 *
 *   - what is recorded is what is carried out: the GPU never reads the ring that the program
 * writes;
 *   - a packet that is written but not rung for waits, as it would on a GPU;
 *   - index functions and everything else that takes a queue work on ours, because to the runtime
 * it is a queue, too. Only the read index is the other queue's.
 *
 * (ROCr's own way, hsa_amd_queue_intercept_create, is not exported.) What this does not see is a
 * program that stores to a doorbell's memory by itself: a soft queue's doorbell has none, so that
 * such programs (AMD's clr) fall back on signal stores.
 *
 * Order. A command's record is written before the runtime can see the command, so that whatever
 * shows that it is complete comes later in the trace.
 */
#ifndef API_HSA_SOURCE_SOURCE_H
#define API_HSA_SOURCE_SOURCE_H

#include "capture/capture.h"
#include "interpose/interpose.h"

#include "api/hsa/hsa_calls.h"
#include "api/hsa/types.h"

extern const struct tsm_source hsa_source;

/* ---- the runtime (binding.c) -------------------------------------------------------------------
 */

/* Fill `hsa_runtime`. False: this process has no HSA runtime. */
bool hsa_bind(void);

/* Binds `hsa_runtime` to the functions of an opened runtime. */
void hsa_bind_library(void *handle);

/* Tests whether a name can be the runtime's. */
bool hsa_owns_name(const char *name);

/* Is the runtime in the process? */
bool hsa_is_loaded(void);

/* Implements tables() of struct tsm_source (table.c). */
bool hsa_tables(const char *name, void **tables, uint64_t count);
void hsa_opening(const char *path);
/* A runtime has brought its tables. */
extern bool hsa_has_tables;

/* Memory that lives as long as the process, zeroed; NULL when there is none. */
void *hsa_keep(size_t size);

/* ---- when the device ran what (gpu_time.c) ----------------------------------------------------
 */

/* TS_GPU_TIME: has the runtime note the times of the packets of `queue`, which was created just now
 * for `agent` and has that stream (NULL: none), and of copies. */
void hsa_gpu_time_begin(hsa_queue_t *queue, const struct tsm_stream *stream, hsa_agent_t agent);
/* Returns the time now if commands are timed, for hsa_gpu_time_end(); else 0. */
uint64_t hsa_gpu_time_sent(void);
/* Returns a completion signal of ours for `packet`, the newest one of `stream`; handle 0: it has
 * one, is no dispatch, or is not timed. The queue's lock is held. */
hsa_signal_t hsa_gpu_time_signal(const struct tsm_stream *stream, const void *packet);
/* Writes when the commands ran whose signals of ours say that they are complete. */
void hsa_gpu_time_collect(void);
/* Forgets the signals of ours: they are the parent's, or the runtime was shut down. */
void hsa_gpu_time_forget(void);
/* Writes when the command at `position` ran, sent at `sent_ns`, which alone has completed `signal`.
 * The program has not used the signal for another one since. */
void hsa_gpu_time_end(const struct tsm_stream *stream, uint64_t position, hsa_signal_t signal,
                      bool is_copy, uint64_t sent_ns);

/* ---- memory (memory.c) --------------------------------------------------------------
 */

enum hsa_memory_kind {
    HSA_MEMORY_NONE,    /* not memory that we know: the program's own */
    HSA_MEMORY_DEVICE,  /* the host cannot reach it */
    HSA_MEMORY_HOST,    /* of the host: changes are recorded before each command */
    HSA_MEMORY_KERNARG, /* the same, made for kernels' arguments: see hsa_memory_reveal() */
};

/* Facts about a pool or region, kept as the `user` of its handle. */
#define HSA_POOL_KNOWN       1u
#define HSA_POOL_HOST_ACCESS 2u
#define HSA_POOL_KERNARG     4u
#define HSA_POOL_MAY_ALLOW   8u /* of a GPU: the host can reach what it is allowed to */

enum hsa_memory_kind hsa_memory_kind_of(uint64_t address);
/* Do all of those bytes lie in one allocation? */
bool hsa_memory_in_one(uint64_t start, uint64_t size);
/* The program's own memory can be used by agents now. */
void hsa_memory_add_hosts(uint64_t start, uint64_t size);
void hsa_locks_forked(void);
/* Memory of that pool or region is there. */
void hsa_memory_created(enum hsa_object object, uint64_t pool, const void *memory, size_t size);
/* It goes now: all who keep something about it forget it (free.c). */
void hsa_memory_destroyed(uint64_t address);
/* The same, and results that are pending there are taken before the memory goes. */
void hsa_memory_given_up(uint64_t address);
/* Removes an allocation from the table. Returns false if there was none. *vmem: the handle of a
 * mapping's memory, or 0. */
bool hsa_memory_remove(uint64_t address, uint64_t *vmem);
/* `size` bytes of a kernel's arguments: memory for arguments is not looked at before each command,
 * because the arguments themselves are recorded, unless something in it is pointed to. True: there
 * is memory now that was never looked at. */
bool hsa_memory_reveal(const void *arguments, size_t size);
/* The same bytes: what they point to may be written by the kernel that `call` sends. Of memory of
 * the host that is the kernel's until it is known to be complete. */
void hsa_memory_given(const void *arguments, size_t size, const struct tsm_call *call,
                      bool in_order);
/* Records what kernels that are complete by now have left in memory of the host that they were
 * given, as theirs. The program knows that they are. Outside of a call. */
void hsa_memory_results(void);
/* All commands are complete, and the program knows: what has changed in memory of the host of which
 * kernels were given any part is recorded as theirs. Outside of a call. */
void hsa_memory_written(void);
/* Each allocation that somebody can reach; HOST is what is tracked. False when `visit` gave false.
 */
bool hsa_memory_each(bool (*visit)(uint64_t start, uint64_t size, enum hsa_memory_kind kind));
void hsa_memory_forked(void);
/* A mapping is there, which nobody can reach yet; `vmem`: the handle of its memory. */
void hsa_memory_mapped(uint64_t start, uint64_t size, uint64_t vmem, uintptr_t pool_facts,
                       bool is_foreign);
/* Is there memory of a GPU that the host can reach when it is allowed to? It is, now. */
bool hsa_memory_may_be_hosts(uint64_t address);
void hsa_memory_allowed(uint64_t start, uint64_t size);
/* The next mapping in [*start, end) that waits: it can be reached now, and *start is after it. */
struct hsa_awake {
    uint64_t start, size;
    bool is_hosts, is_foreign;
};
bool hsa_memory_awake(uint64_t *start, uint64_t end, struct hsa_awake *out);
/* Returns the start of the allocation, 0 if there is none; *vmem: the handle of a mapping's
 * memory. */
uint64_t hsa_memory_start(uint64_t address, uint64_t *vmem);

/* Notes that a mapping was removed, or an allocation (vmem.c). */
void hsa_vmem_unmapped(uint64_t vmem);
void hsa_exported_forget(uint64_t address);
void hsa_exported_forked(void);
/* Is all memory without an address mapped, if it was ever? */
bool hsa_virtual_is_mapped(void);
/* An agent's pool of the memory there, as far as the runtime tells. */
hsa_amd_memory_pool_t hsa_memory_pool(const void *memory);
/* Outside of a call: what memory of others holds, as a command. */
void hsa_memory_found(const void *memory, size_t size);
/* A variable of an executable is there, as long as that is. Constant ones are in no memory_each().
 */
void hsa_memory_variable(uint64_t address, uint64_t size, hsa_executable_t executable,
                         bool is_constant);

/* ---- memory of the host that kernels were given (use.c) ----------------------------------------
 */

/* Adds a use of host memory [address, end) by the kernel that `call` sends, and removes uses that
 * begin in a range. */
void hsa_use_add(uint64_t address, uint64_t end, const struct tsm_call *call, bool in_order);
void hsa_uses_forget(uint64_t from, uint64_t to);
void hsa_uses_forked(void);
/* Tests whether kernels that were given memory of the host may be under way. */
bool hsa_uses_any(void);
/* Tests whether a command that is about to be sent has among these words an address in memory of
 * the host that kernels under way may write, where something of its own begins: that is the
 * program's, and to be recorded now. */
bool hsa_uses_begin(const void *words, size_t size);
/* Implements hsa_memory_results(). takes_turn(): there is one more result in the allocation there
 * that is too large to be read each time; is it its turn? */
void hsa_uses_results(bool (*takes_turn)(uint64_t address));
/* The command is complete. `is_late`: the program may have known for long: what it left is not
 * compared, and if it changed anything the trace says so. */
void hsa_use_landed(const struct tsm_stream *stream, uint64_t position, bool in_order,
                    bool is_late);
/* The queue has been destroyed, with the kernels that were on it: hsa_memory_results() comes next.
 */
void hsa_uses_queue_destroyed(const struct tsm_stream *stream);
/* Kernels that are not known to be complete never will be. If they have changed memory of the host,
 * the trace says so. Does not call the runtime. */
void hsa_uses_ending(void);
/* The program has set the signal past all calls. If memory that kernels after it were given has
 * changed, the trace says so: it was the program, before, or they were, since. Outside of a call.
 */
void hsa_uses_opened(hsa_signal_t signal);

/* ---- signals and completion (completion.c, pointer.c, sharing.c) -------------------------------
 */

/* `call` is a command that will count `signal` down when it is complete. `in_order`: everything
 * before it on its stream is complete then, too. */
void hsa_completes(const struct tsm_call *call, hsa_signal_t signal, bool in_order, bool is_copy);
/* A command that the call has waited for is complete. */
void hsa_landed(struct tsm_stream *stream, uint64_t position);
/* The program knows that the signal has this value. Outside of a call. */
void hsa_seen(hsa_signal_t signal, hsa_signal_value_t value);
/* The program may know that commands are complete: looks at their signals. Outside of a call. */
void hsa_look_around(void);
void hsa_look_at(hsa_signal_t signal);
struct hsa_landing;
/* Publishes what a change of a signal has shown (`seen`), and what the recorder has read
 * (`looked`). */
void hsa_take_note(struct hsa_landing *seen, struct hsa_landing *looked);
/* Waits until other threads have recorded what they have seen to be complete. */
void hsa_await_lookers(void);
void hsa_completion_forked(void);
/* A packet or copy goes on when the signal's bits of `mask` meet the condition. */
struct hsa_wait {
    hsa_signal_t signal;
    uint32_t condition;
    hsa_signal_value_t compare, mask;
};
#define HSA_WAIT_FOR_0(signal) ((struct hsa_wait){signal, HSA_SIGNAL_CONDITION_EQ, 0, -1})
/* Outside of a call, before the record of what follows (pointer.c): the program has seen
 * that value; a packet or copy is about to wait. */
void hsa_signal_observed(hsa_signal_t signal, hsa_signal_value_t value);
void hsa_signal_awaited(const struct hsa_wait *wait);
/* ... the program changes it. */
void hsa_signal_changed(hsa_signal_t signal);
/* A command is about to be sent that counts it down: what the program did to it through a pointer
 * gets a record. */
void hsa_signal_counted(hsa_signal_t signal);
/* Records the program's stores through pointers to signals that commands wait for. `is_late`: the
 * program has waited meanwhile. */
void hsa_pointers_look(bool is_late);
/* Does any command wait for such a signal? */
bool hsa_pointers_any(void);
void hsa_pointers_forget(hsa_signal_t signal);
void hsa_pointers_forked(void);
/* Who else may change it. Of the last two nothing tells when. */
enum hsa_sharing { HSA_SIGNAL_OWN, HSA_SIGNAL_GIVEN, HSA_SIGNAL_ATTACHED, HSA_SIGNAL_POINTED_TO };
enum hsa_sharing hsa_signal_sharing(hsa_signal_t signal);
void hsa_signal_share(struct tsm_handle *handle, enum hsa_sharing how);
/* May another process change it, or the program, through a pointer? */
bool hsa_signal_is_foreign(hsa_signal_t signal);
/* TS_CHECKSUM: hashes memory if the GPU is idle. Outside of a call (checksum.c). */
void hsa_checksum_sync(void);

/* ---- what counts signals down (count.c) ----------------------------------------------
 */

/* Commands that are complete: a list that one thread has taken, until hsa_count_landed(). */
struct hsa_landing {
    struct hsa_landing *next;
    struct tsm_stream *stream;
    uint64_t position;
    bool in_order; /* everything before it on its stream is complete then, too */
    bool is_late;  /* the program may have known for long */
    hsa_signal_t signal;
    hsa_signal_value_t value; /* that showed it */
    uint64_t sent_ns;         /* 0: not timed */
    bool is_copy;
};

/* Is any command under way that counts a signal down? Cheap. */
bool hsa_count_any(void);
/* Would hsa_count_seen() give anything? */
bool hsa_count_is_news(hsa_signal_t signal, hsa_signal_value_t value);
/* Returns the commands that the program knows to be complete after it has seen that value. */
struct hsa_landing *hsa_count_seen(hsa_signal_t signal, hsa_signal_value_t value);
/* Returns the commands that are complete by the present values of one signal, or of all. */
struct hsa_landing *hsa_count_look(const hsa_signal_t *only);
/* Calls tell() once for each signal of the list. */
void hsa_count_tell(const struct hsa_landing *landings,
                    void (*tell)(hsa_signal_t signal, hsa_signal_value_t value));
/* Returns a landing of a command that counts no signal down. NULL: no memory. */
struct hsa_landing *hsa_count_landing(struct tsm_stream *stream, uint64_t position);
/* Takes one back: its command is complete, and with it those before it on the stream, as far as
 * they are known to be. */
void hsa_count_landed(struct hsa_landing *landing);
/* Has a signal that nothing counts down another value than it was left with? */
bool hsa_count_rearmed(hsa_signal_t signal, hsa_signal_value_t *value);

/* Around a change by the program. `before`: what the signal held, where that is known; NULL. */
struct hsa_count;
enum hsa_change { HSA_CHANGES_NOTHING, HSA_CHANGES_ALL, HSA_CHANGES_BY, HSA_CHANGES_BITS };
struct hsa_turn {
    struct hsa_count *count;
    bool was_known;
    int64_t outstanding; /* commands that are to count it down */
};
struct hsa_turn hsa_count_turn(hsa_signal_t signal);
struct hsa_landing *hsa_count_turned(struct hsa_turn *turn, enum hsa_change change, int64_t value,
                                     const hsa_signal_value_t *before);
/* The signal goes; all go. */
void hsa_count_forget(hsa_signal_t signal);
void hsa_counts_forget(void);
void hsa_counts_forked(void);

/* The call's command, and those behind it on its stream unless `is_own`, run after the commands
 * that count these signals down to 0. Nothing where the program does so, too: it may do something
 * before it lets them begin. */
void hsa_count_follows(const struct tsm_call *call, uint32_t count, const hsa_signal_t *deps,
                       bool is_own);

/* `call` waits before it runs. `is_gate`: nothing else lets it go on. */
void hsa_count_awaits(const struct tsm_call *call, const struct hsa_wait *wait, bool is_gate);
/* Copies the waits for the signal whose commands are not known to be complete to `out`, which has
 * room for HSA_WAITS_MAX. *has_more: there were more than are kept. Returns their number. */
#define HSA_WAITS_MAX 4u
uint32_t hsa_count_waits(hsa_signal_t signal, struct hsa_wait *out, bool *has_more);
/* Does anything wait for it, as far as is known? */
bool hsa_count_is_awaited(hsa_signal_t signal);
/* Is the command under way, and nothing known that it waits for? */
bool hsa_count_may_run(const struct tsm_stream *stream, uint64_t position);
/* Does the command wait until the program changes a signal, which nothing counts down? */
bool hsa_count_is_held(const struct tsm_stream *stream, uint64_t position);
/* Does the command wait for this signal, as far as is known? */
bool hsa_count_is_behind(const struct tsm_stream *stream, uint64_t position, hsa_signal_t signal);
/* `call` has these arguments: if it waits behind a gate, they may still change. */
void hsa_count_arguments(const struct tsm_call *call, const void *arguments, size_t size);
/* Records those that have. Outside of a call. */
void hsa_count_publish_arguments(void);
/* Tests whether a copy is under way, by the values of its signals. */
bool hsa_count_any_copy(void);

/* ---- checkpoints (checkpoint.c): what struct tsm_source says
 * --------------------------
 */

bool hsa_checkpoint_quiet(uint64_t until_ns);
bool hsa_checkpoint_save(void);

/* ---- queues ------------------------------------------------------------------------------------
 */

struct hsa_queue_state;

/* The queue that this signal is the doorbell of, NULL: none of ours. */
struct hsa_queue_state *hsa_queue_by_doorbell(hsa_signal_t signal);
/* The program has stored `value` to its doorbell. */
void hsa_queue_ring(struct hsa_queue_state *queue, hsa_signal_value_t value);
/* Functions that packets pass through (intercept.c); `next`: the one registered before.
 */
struct hsa_interceptor {
    const struct hsa_interceptor *next;
    hsa_intercept_handler_t handler;
    void *data;
};
/* Destination of the packets that remain in the end: `count` packets. */
struct hsa_sender {
    void (*send)(const struct hsa_sender *sender, const void *packets, uint64_t count);
    struct hsa_queue_state *queue;
    const struct tsm_origin *origin;
};
void hsa_intercept_pass(const struct hsa_queue_state *queue, const struct hsa_interceptor *newest,
                        const void *packet, uint64_t index, const struct hsa_sender *sender);
/* Is this thread in a function that a packet of the queue passes through? */
bool hsa_intercept_is_passing(const struct hsa_queue_state *queue);
void hsa_intercept_forked(void);
/* Before the program changes a signal: is it that of a soft queue of its own, record what is new
 * there. */
void hsa_soft_ring(hsa_signal_t signal);
/* The queue goes. */
void hsa_soft_queue_destroyed(const hsa_queue_t *queue);
/* Everything rung for is known to be complete. */
bool hsa_queues_idle(void);
void hsa_queue_list_forked(void);
/* For checkpoints: the same, but asked of the runtime; false when it takes until `until_ns`. */
bool hsa_queues_quiet(uint64_t until_ns);
void hsa_queues_forked(void);

/* The agent performs what agent dispatch packets ask for in the same way when it is asked again: it
 * is the software GPU. */
bool hsa_agent_is_software(hsa_agent_t agent);
/* It is a processor of the host. */
bool hsa_agent_is_host(hsa_agent_t agent);

/* Record a packet of `stream`, for such an agent or for another one. */
void hsa_packet_record(struct tsm_stream *stream, bool is_software, const struct tsm_origin *origin,
                       const void *packet);

/* The fields of an agent dispatch, from `type` on. */
void hsa_packet_append_function(struct tsm_call *call, const hsa_agent_dispatch_packet_t *packet);

/* Return a stream for a copy, in a call that has begun (copy_stream.c): one that completes a
 * signal, and one that the call waits for. */
struct tsm_stream *hsa_copy_stream(hsa_signal_t completion);
struct tsm_stream *hsa_waiting_copy_stream(void);
/* Tests whether all copies are known to be complete. */
bool hsa_copy_streams_idle(void);
void hsa_copy_streams_forked(void);
/* Bytes that a call has brought to memory of the program, or of the host: complete when the call
 * is. */
void hsa_gives_back(struct tsm_call *call, const struct tsm_box *box);
/* The call is about to write there: others, who look for changes meanwhile, take it for the
 * program's no more. The same is said again when it has returned. */
void hsa_foretell(struct tsm_call *call, const struct tsm_box *box);

/* Memory of the host that soft queues are made in. */
hsa_region_t hsa_queue_region(void);

#endif
