/* SPDX-License-Identifier: Apache-2.0
 *
 * The state of the CUDA backend, and what its files do for each other. What generated functions use
 * is in replay.h.
 *
 * Threads: what host records change (objects, contexts, memory) is changed while no command is
 * being submitted, so that it needs no lock. What commands change is per stream; the table of
 * streams has a lock.
 */
#ifndef API_CUDA_REPLAY_STATE_H
#define API_CUDA_REPLAY_STATE_H

#include <pthread.h>

#include "api/cuda/abi_outcomes.h"
#include "api/cuda/abi_times.h"
#include "api/cuda/cuda_replay_calls.h"
#include "api/cuda/graph_parts.h"
#include "api/cuda/replay/replay.h"
#include "base/map.h"
#include "replay/address_space.h"
#include "replay/backend.h"
#include "replay/time_list.h"

#define CUDA_PAGE (2ull << 20) /* granularity of device memory that can be placed */

/* ---- the driver (driver.c) ---- */

struct cuda_library {
    void *handle;
    bool is_emu;
    char path[512];
    struct cuda_real calls;
};

/* Open the driver that `options` ask for. The software GPU takes the place of a driver or a device
 * that is not there, unless one was asked for; it is set up as the recording's machine. cuInit has
 * succeeded then. */
int cuda_library_open(struct cuda_library *out, const struct sbt_reader *reader,
                      const struct tsm_replay_options *options);
void cuda_library_close(struct cuda_library *library);

/* Gives the software GPU, where the library is that and was not initialised, the recorded machine's
 * settings (emu_setup.c). */
void cuda_emu_setup(void *library, const struct sbt_reader *reader);

/* TSM_E_DEVICE with the call's name and the driver's name for `result`. */
int cuda_fail(const struct cuda_real *driver, const char *call, CUresult result);

/* ---- memory (memory.c) ---- */

/* An address that could not be had, and what stands for it. */
struct cuda_moved {
    uint64_t recorded, size, actual;
    bool is_freed; /* its addresses may lie in memory until something else takes the place */
};

enum cuda_how {
    CUDA_HOW_PLACED,     /* pages of ours, mapped at the recorded address */
    CUDA_HOW_ALLOCATED,  /* by the driver, wherever it wanted */
    CUDA_HOW_REGISTERED, /* host memory at the recorded address */
    CUDA_HOW_VARIABLE,   /* managed memory of a module's */
};

struct cuda_memory {
    struct tsm_address_space device, host; /* recorded */
    pthread_mutex_t lock;                  /* of changes of the regions; for cuda_memory_shared() */
    struct tsm_region *regions;            /* live, by recorded address */
    enum cuda_how *how;                    /* of each region */
    CUcontext *contexts;                   /* of each region */
    size_t region_count, region_capacity;
    struct cuda_page_run *runs; /* mapped device pages, by address */
    size_t run_count, run_capacity;
    struct cuda_moved *moved; /* by recorded address */
    size_t moved_count, moved_capacity;
    uint64_t moved_ever;
    uint64_t translated_count; /* words in bytes that were translated (translate.c) */
    uint64_t doubtful_count;   /* what looks like a recorded address of moved memory, and was not
                                * translated; places of such that others took */
    bool can_place;            /* the driver has virtual memory management */
    const struct tsm_emu_place *place; /* of the software GPU; NULL: another driver */
    /* Variables that the program asks for, the first of each module: place + 1 in the list, by the
     * module's id, or the library's. */
    struct tsm_map modules, libraries;
    struct cuda_variable *variables;
    size_t variable_count, variable_capacity;
    bool has_managed;           /* kernels may use memory of the host that no argument names */
    struct cuda_moved *managed; /* variables, live, wherever they are */
    size_t managed_count, managed_capacity;
};

/* A variable of a module, and where it was when it was recorded. */
struct cuda_variable {
    uint32_t name; /* string id */
    uint64_t address;
};

/* Notes [start, start + size), rounded outwards to `granularity`, as addresses to reserve. */
int cuda_memory_plan_range(struct tsm_address_space *space, uint64_t start, uint64_t size,
                           uint64_t granularity);
/* Reserves in the driver what is kept of the device's addresses. */
void cuda_memory_reserve(struct cuda_replay *replay);
int cuda_memory_plan(struct cuda_memory *memory, const struct sbt_record *record,
                     const struct sbt_schema *schema);
/* Has variables of the module that the record loads be where they were, if the driver can. */
void cuda_memory_wish_module(struct cuda_replay *replay, const struct sbt_record *record);
/* Also where the library was not opened: then only what was planned is there. */
void cuda_memory_finish(struct cuda_replay *replay);

/* Device memory at a recorded address, filled. The context is current. */
int cuda_memory_allocate(struct cuda_replay *replay, uint64_t address, uint64_t size, uint64_t seq);
/* Host memory that the device can reach: `flags` of cuMemHostRegister. */
int cuda_memory_register(struct cuda_replay *replay, uint64_t address, uint64_t size,
                         unsigned flags, uint64_t seq);
/* Notes a variable at `actual`, whose module owns it, if the driver has it as managed memory. */
int cuda_memory_variable(struct cuda_replay *replay, uint64_t recorded, uint64_t actual,
                         uint64_t size, uint64_t seq);
/* Forgets managed variables that the driver does not have any more. */
void cuda_memory_sweep(struct cuda_replay *replay);
/* Notes device memory at `actual` that the driver frees by its address: of another API. */
int cuda_memory_adopt(struct cuda_replay *replay, uint64_t address, uint64_t size, uint64_t actual,
                      uint64_t seq);
/* Memory of our own in the place of others', with the recorded bytes (ipc.c). */
int cuda_open_memory(struct cuda_replay *replay, const struct sbt_record *record,
                     uint32_t address_slot, uint32_t size_slot, uint32_t content_slot);
/* Either kind; unknown addresses are ignored. */
int cuda_memory_release(struct cuda_replay *replay, uint64_t address);
/* The live region that holds `address`, or NULL. */
const struct tsm_region *cuda_memory_find(const struct cuda_memory *memory, uint64_t address);
/* Implements tsm_backend.shared (replay/backend.h). */
bool cuda_memory_shared(struct cuda_memory *memory, uint64_t address, uint64_t size,
                        uint64_t *actual);
/* `actual` stands for a recorded address from now on. */
int cuda_memory_moved(struct cuda_memory *memory, uint64_t recorded, uint64_t size,
                      uint64_t actual);
/* The address that a call is given. */
uint64_t cuda_memory_translate(const struct cuda_memory *memory, uint64_t address);
/* A word in bytes or in a kernel's arguments, if it is an address, an end or an old address. */
uint64_t cuda_memory_translate_word(const struct cuda_memory *memory, uint64_t word);
/* Returns registered host memory at a recorded address; NULL when there is none. */
void *cuda_registered(const struct cuda_replay *replay, uint64_t address, uint64_t size);
/* Drop all regions of a destroyed context. */
void cuda_memory_forget(struct cuda_replay *replay, CUcontext context);

/* ---- streams, and bytes in flight (stream.c) ---- */

/* One recorded stream number. */
struct cuda_stream_state {
    uint32_t number;
    bool is_made;    /* `raw` and `context` are valid */
    bool is_default; /* a context's legacy stream */
    CUstream raw;
    CUevent mark;      /* legacy: what was on it when a stream that it waits for was captured */
    bool is_unmarked;  /* ... and more has come since that nobody waited for; atomic */
    CUstream captured; /* of a thread's own default stream: in its place while it is captured */
    CUcontext context;
    CUgreenCtx green;        /* that it was made in, NULL: in none */
    struct cuda_bytes *sent; /* until the stream has been waited for */
    uint64_t sent_size;
    pthread_mutex_t received_lock; /* the stream's thread adds while another one asks */
    struct cuda_bytes *received;   /* readbacks, oldest first */
    struct cuda_bytes *received_last;
    uint64_t received_size;
    bool is_unordered; /* `received` is not in order of position: of a schedule */
    /* Used by its thread: commands that are timed, oldest first; events for others (timing.c). */
    struct cuda_timed *timed, *timed_last, *timed_free;
    size_t timed_count;
    CUevent *lane_ends; /* of what it sent last to each stream of a schedule (place.c), or NULL */
    size_t lane_count, lane_capacity;
};

/* Made at first use. NULL: no memory. */
struct cuda_stream_state *cuda_stream_find(struct cuda_replay *replay, uint32_t number);
void cuda_streams_finish(struct cuda_replay *replay);
/* The stream is idle: what was sent can go. */
void cuda_stream_synchronized(struct cuda_stream_state *stream);
/* Memory that lives until the stream is idle. NULL: no memory. */
void *cuda_stream_send(struct cuda_replay *replay, struct cuda_stream_state *stream, uint64_t size);
/* Memory for bytes that the command at `position` gives back. `address`: where the recorded program
 * had them, 0 when the command gives no others. NULL: no memory. */
void *cuda_stream_receive(struct cuda_stream_state *stream, uint64_t position, uint64_t address,
                          uint64_t size);
/* Receives a box, packed, when the stream `raw`, that of `record`, has come this far: a function of
 * the stream reads it, so nothing waits. `address` as above. */
int cuda_stream_take(struct cuda_replay *replay, const struct sbt_record *record, CUstream raw,
                     uint64_t address, const struct cuda_host_box *box);
/* The same at once: the command has been waited for. */
int cuda_stream_take_now(struct cuda_replay *replay, const struct sbt_record *record,
                         const struct cuda_host_box *box);
/* Tests whether the command at `position`, which was sent last, has received. */
bool cuda_stream_has_received(struct cuda_stream_state *stream, uint64_t position);
/* TSM_E_NOT_FOUND when that command gave none. They live until the next question. */
int cuda_stream_received(struct cuda_stream_state *stream, uint64_t position, uint64_t address,
                         const uint8_t **data, uint64_t *size);
/* While a stream is captured, waiting for it, or for all of its context, would end that; so would
 * waiting for the legacy stream, where the two wait for each other. */
bool cuda_stream_is_captured(const struct cuda_replay *replay, CUstream raw);
/* Before a capture begins, in its context: what is on the legacy stream can be waited for
 * meanwhile. */
CUresult cuda_legacy_mark(struct cuda_replay *replay);
/* A command was sent to the stream. */
void cuda_legacy_sent(struct cuda_stream_state *stream);
/* In the stream's context. Of what is captured there is nothing to wait for. */
CUresult cuda_stream_wait(struct cuda_replay *replay, struct cuda_stream_state *stream);
/* Everything that was sent in the current context is complete, but for what is captured. */
CUresult cuda_context_wait(struct cuda_replay *replay);

/* ---- contexts of the recorded threads (context.c) ---- */

/* The context that is current for a recorded thread, NULL for none. */
CUcontext cuda_context_of(struct cuda_replay *replay, uint32_t thread);
/* Any context that exists, NULL for none. */
CUcontext cuda_context_any(struct cuda_replay *replay);
int cuda_context_push(struct cuda_replay *replay, uint32_t thread, CUcontext context);
void cuda_context_pop(struct cuda_replay *replay, uint32_t thread);
int cuda_context_set(struct cuda_replay *replay, uint32_t thread, CUcontext context);
/* A stream of ours in the current context, ordered with no other: for filling memory. */
int cuda_context_own_stream(struct cuda_replay *replay, CUcontext context, CUstream *out);
void cuda_context_destroyed(struct cuda_replay *replay, CUcontext context);
/* A call made a context; its record's default stream is that context's. A call made a stream. */
int cuda_context_created(struct cuda_args *args, uint32_t slot, CUresult result, CUcontext context);
int cuda_stream_created(struct cuda_args *args, uint32_t slot, uint32_t number_slot,
                        CUresult result, CUstream raw);
/* A call is about to give up a device's primary context (returns it, NULL: there is none), and has:
 * it may be gone with all that was made in it. */
CUcontext cuda_primary_leaves(struct cuda_replay *replay, CUdevice device);
void cuda_primary_left(struct cuda_replay *replay, CUdevice device, CUcontext context);
/* Destroys those that the trace left. */
void cuda_greens_finish(struct cuda_replay *replay);
void cuda_resources_finish(struct cuda_replay *replay);
void cuda_contexts_finish(struct cuda_replay *replay);

/* ---- code (code.c) ---- */

/* Remember a code object that is loaded, and the names of functions taken from it. */
int cuda_code_plan(struct cuda_replay *replay, const struct sbt_record *record,
                   const struct sbt_schema *schema);
/* Can all of it run on the device? Else TSM_E_UNSUPPORTED, with names. */
int cuda_code_check(struct cuda_replay *replay);
/* Each code object that the trace loads, also those that are not loaded at the moment. */
int cuda_code_each(struct cuda_replay *replay,
                   int (*visit)(void *user, bool is_library, uint64_t id, const uint8_t *image,
                                uint64_t size),
                   void *user);
void cuda_code_finish(struct cuda_replay *replay);
/* Returns the compute capability of the device: 75 for 7.5; 0: not known. */
int cuda_code_capability(const struct cuda_replay *replay);

/* ---- kernels of files in the place of recorded ones (replace.c) ---- */

struct cuda_replacements {
    struct cuda_replacement *list; /* as options->kernels; NULL: there are none */
    size_t count;
    struct cuda_spliced *spliced;
    size_t spliced_count, spliced_capacity;
    struct cuda_stand_in *stand_ins;
    size_t stand_in_count, stand_in_capacity;
    uint64_t taken_count; /* kernels that the program got others for */
};

/* Reads the files and compares parameters. All code was planned, the library is open. */
int cuda_replace_open(struct cuda_replay *replay);
/* Returns what to load in the place of the image of a record. */
const void *cuda_replace_image(const struct cuda_replay *replay, const struct sbt_record *record,
                               const void *image);
/* The record could not be carried out: TSM_E_DEVICE and a message if it loads an image that another
 * one took the place of, else 0. */
int cuda_replace_failed(const struct cuda_replay *replay, const struct sbt_record *record,
                        CUresult result);
/* The record got a function: puts the one that takes its place into *function. */
int cuda_replace_function(struct cuda_replay *replay, const struct sbt_record *record,
                          const void **function);
/* The module or library of that number is another one from now on, or, with `unloads`, is unloaded:
 * so are files that were loaded for it. */
void cuda_replace_leave(struct cuda_replay *replay, enum cuda_object object, uint64_t id,
                        bool unloads);
void cuda_replace_finish(struct cuda_replay *replay);

/* ---- checkpoints (checkpoint.c) ---- */

/* Carry out a MEMORY record. Nothing else runs. */
int cuda_checkpoint_load(struct cuda_replay *replay, const struct sbt_record *record);

/* ---- what a checkpoint would hold (save.c) ---- */

int cuda_save(struct cuda_replay *replay, const struct tsm_saver *saver);
/* Bytes of a region, or of an array by its place. */
int cuda_read(struct cuda_replay *replay, uint64_t address, void *out, uint64_t size);

/* ---- virtual memory (virtual.c) ---- */

/* Is there physical memory that can be mapped? */
bool cuda_physical_any(const struct cuda_replay *replay);

/* The physical memory that the trace knows by the number `recorded`. */
int cuda_physical_find(struct cuda_replay *replay, uint64_t recorded,
                       CUmemGenericAllocationHandle *out);

/* ---- arrays (array.c) ---- */

/* Live ones, by id. A zeroed struct is empty. */
struct cuda_arrays {
    struct cuda_array *list;
    size_t count, capacity;
    struct tsm_region *regions; /* of the last cuda_arrays_regions() */
};

/* An object of that type was made by the record, or is gone. */
int cuda_array_created(struct cuda_args *args, uint64_t id, CUarray raw);
void cuda_array_destroyed(struct cuda_replay *replay, uint64_t id);
void cuda_mipmap_destroyed(struct cuda_replay *replay, uint64_t id);
/* All arrays of a destroyed context. */
void cuda_arrays_forget(struct cuda_replay *replay, CUcontext context);
void cuda_arrays_finish(struct cuda_replay *replay);
/* Memory's regions with the arrays after them; and bytes of one of the latter by its place. */
int cuda_arrays_regions(struct cuda_replay *replay, const struct tsm_region **regions,
                        size_t *count);
int cuda_array_read(struct cuda_replay *replay, uint64_t place, void *out, uint64_t size);
int cuda_array_write(struct cuda_replay *replay, uint64_t id, uint64_t offset, void *bytes,
                     uint64_t size);

/* ---- texture and surface objects (texture.c) ---- */

struct cuda_textures {
    struct tsm_map textures; /* recorded handle -> the replay's, 0: gone */
    struct tsm_map surfaces;
    struct tsm_map recorded; /* object type << 56 | id -> recorded handle */
    bool differs;            /* some handle is not the recorded one */
};

/* Put the replay's handles in the place of recorded ones in a block of arguments. */
int cuda_textures_translate(struct cuda_replay *replay, CUfunction function, uint8_t *block,
                            size_t size);
void cuda_textures_finish(struct cuda_replay *replay);

/* ---- tensor maps (tensor_map.c) ---- */

#define CUDA_TENSOR_MAP_SIZE 128u

struct cuda_tensor_map {
    uint8_t recorded[CUDA_TENSOR_MAP_SIZE], actual[CUDA_TENSOR_MAP_SIZE];
};

/* Maps that are not the recorded ones. */
struct cuda_tensor_maps {
    struct tsm_map places; /* hash of the recorded bytes -> place in the list */
    struct cuda_tensor_map *list;
    size_t count, capacity;
};

/* Put the replay's maps where a block of arguments was recorded with others. */
void cuda_tensor_maps_translate(const struct cuda_replay *replay, const uint8_t *recorded,
                                uint8_t *block, size_t size);
void cuda_tensor_maps_finish(struct cuda_replay *replay);

/* ---- functions of the program that the GPU called (function.c) ---- */

struct cuda_functions {
    struct cuda_function_write *writes; /* by command, once prepared */
    size_t count, capacity;
    bool is_prepared;
    pthread_mutex_t lock; /* of the cursor */
    struct sbt_cursor *cursor;
    pthread_mutex_t written_lock; /* of the map */
    uint64_t taken_count;   /* of bytes that others than the functions wrote: as in cuda_replay */
    struct tsm_map written; /* page of host memory -> the record that it is from */
    /* Bytes that a function was seen to write beside the program is in the trace twice. */
    struct cuda_function_seen {
        uint64_t seq_first, seq; /* of the records of functions that have the same bytes */
        uint64_t hash;           /* of those */
    } seen;                      /* the last one of the plan */
    struct tsm_map same;         /* record of the program -> the first one with its bytes, + 1 */
    struct tsm_map found;        /* page -> the last record of it, + 1, if that is of the device */
};

/* Remember a record that such a function wrote, or the program beside it. */
int cuda_functions_plan(struct cuda_functions *functions, const struct sbt_record *record,
                        const struct sbt_schema *schema);
void cuda_functions_prepare(struct cuda_functions *functions);
/* Tests whether functions wrote in the place of a command, or behind it. All were planned. */
bool cuda_functions_wrote(struct cuda_functions *functions, uint32_t stream, uint64_t position);
/* Bytes of record `seq`. Functions that ran at once, or beside a thread of the program, are all
 * said to have written what any of them did: in whatever order they run now, what was recorded last
 * stays, page by page. What the program is said to have written, with the same bytes as a function
 * that has run, is there already, and the device may have changed it since. Returns whether other
 * bytes were there. Any thread. */
bool cuda_functions_write(struct cuda_functions *functions, uint8_t *to, const uint8_t *bytes,
                          uint64_t size, uint64_t seq);
void cuda_functions_finish(struct cuda_functions *functions);

/* The same for functions in graphs, which run in each launch: what the one at `position` of
 * `stream` wrote, for cuda_functions_run(), once. */
int cuda_functions_take(struct cuda_replay *replay, uint32_t stream, uint64_t position, void **out);
void cuda_functions_run(void *written);
/* ... it says there that it has run. */
void cuda_functions_tell(void *written, uint64_t *told);

/* ---- memory of the program that graphs use (api/cuda/replay/graph/host_memory.c) ---- */

int cuda_program_plan(struct cuda_memory *memory, const struct sbt_record *record,
                      const struct sbt_schema *schema);
/* Memory that stands for the program's at a recorded address: registered memory, or plain memory of
 * ours, there if it can be had. NULL: no memory. */
void *cuda_program_memory(struct cuda_replay *replay, uint64_t address, uint64_t size);
/* The same when there is some already; registered memory is left out, ... */
void *cuda_program_find(const struct cuda_replay *replay, uint64_t address, uint64_t size);
/* ... or comes first; and it is made now where a record to come takes bytes from there. */
void *cuda_program_host(struct cuda_replay *replay, uint64_t address, uint64_t size);
/* ... or a device's, which a copy from or to the program may have been given. */
void *cuda_program_late(struct cuda_replay *replay, uint64_t address, uint64_t size);
/* Visits what there is of such memory, but for what is registered. An error ends it. */
int cuda_program_each(struct cuda_replay *replay,
                      int (*visit)(void *user, uint64_t address, const uint8_t *bytes,
                                   uint64_t size),
                      void *user);
/* The recorded address of such memory. */
uint64_t cuda_program_recorded(const struct cuda_replay *replay, const void *memory);
void cuda_program_finish(struct cuda_replay *replay);
/* A copy between sides of which the program's are its own memory, not bytes in the record:
 * addresses become those of the replay. Array handles are the replay's already. */
int cuda_program_copy(struct cuda_replay *replay, CUDA_MEMCPY3D *copy);

/* ---- addresses in bytes (api/cuda/replay/translate.c) ---- */

/* Puts the replay's addresses in place of recorded ones, where they differ, in bytes that are sent
 * to `address`, which a recorded command or the program writes. Any thread. */
void cuda_translate_sent(struct cuda_replay *replay, uint64_t address, void *bytes, uint64_t size);
/* Notes a doubt where one of the actual words around a difference is the address of a variable that
 * the program never asked for: it may have lain elsewhere. */
void cuda_doubt_variable(struct cuda_replay *replay, const uint8_t *actual, uint64_t size,
                         uint64_t difference);
/* Implements tsm_backend_compare.match_moved (replay/backend.h). */
uint64_t cuda_match_moved(const struct cuda_memory *memory, const uint8_t *recorded,
                          const uint8_t *actual, uint64_t size, bool has_more);

/* ---- devices (api/cuda/replay/device.c) ---- */

#define CUDA_DEVICE_PAIRS_MAX 64u

struct cuda_device_map {
    int first; /* without pairs: stands for recorded device 0, the next one for 1, ... */
    struct cuda_device_pair {
        int recorded, device;
    } pairs[CUDA_DEVICE_PAIRS_MAX];
    size_t count; /* of pairs */
};

/* Reads the options that choose devices. The driver is initialised. */
int cuda_devices_choose(struct cuda_replay *replay);
/* Returns the device that stands for a recorded one, -1 where there is none. */
int cuda_device_of(const struct cuda_replay *replay, int64_t recorded);
/* Returns the device that the replay is described by: of recorded device 0, or of the first pair.
 */
int cuda_device_main(const struct cuda_replay *replay);
/* Returns the error of a record that names a device which none stands for. */
int cuda_device_missing(const struct cuda_replay *replay, int64_t recorded);

/* ---- batches of copies (api/cuda/replay/copy_batch.c) ---- */

bool cuda_is_copy_batch(uint32_t type);
/* Calls plan() for the sides of the copies that a record of such a type sends. */
int cuda_copy_batch_plan(struct cuda_memory *memory, const struct sbt_record *record,
                         const struct sbt_schema *schema,
                         int (*plan)(struct cuda_memory *memory, const CUDA_MEMCPY3D *copy));
/* Reads the copy that a record of any copying call describes: addresses and array ids as recorded.
 * Returns false if it describes none. */
bool cuda_program_read_copy(const struct sbt_record *record, const struct sbt_schema *schema,
                            CUDA_MEMCPY3D *out);

/* ---- graphs (api/cuda/replay/graph/graph.c, api/cuda/replay/graph/node.c,
 * api/cuda/replay/graph/exec.c) ---- */

struct cuda_node_block {
    size_t size;
    uint8_t bytes[65536];
};

/* A node's parameters as a record has them, with everything in them the replay's. */
struct cuda_node {
    CUgraphNodeParams params; /* EMPTY: stands for a kind that replay does without */
    void *extra[5];
    struct cuda_node_block block;
    CUstreamBatchMemOpParams *values; /* of a node of these; to be freed */
};

/* From the slots that begin at `slot`. Large: to be kept on the heap. */
void cuda_node_read(struct cuda_args *args, uint32_t slot, struct cuda_node *out);

/* Ids (u32 each) as handles; to be freed. NULL when there are none, or args->error. */
CUgraphNode *cuda_nodes_read(struct cuda_args *args, uint32_t slot, size_t *count);

/* Memory that a graph allocates: there from now on, as long as the replay. */
int cuda_graph_memory_make(struct cuda_replay *replay, uint64_t address, uint64_t size,
                           uint64_t seq);
bool cuda_graph_memory_is(const struct cuda_replay *replay, uint64_t address);

/* Creates the replacement of a program's function in a graph: user data of
 * cuda_node_function_run(). NULL: no memory. */
void *cuda_node_function_make(struct cuda_replay *replay);
void cuda_node_function_run(void *function);

/* A stand-in for a node of the graph that `stream` is captured into. */
int cuda_capture_empty(struct cuda_args *args, CUstream stream);

/* Adds the program's writes that followed the completion of this command: they are written after
 * it. */
int cuda_functions_behind(struct cuda_args *args, CUstream stream);

/* Values in memory: `count` operations of a BYTES field, with the addresses of this replay; to be
 * freed. Returns args->error. */
int cuda_values_read(struct cuda_args *args, uint32_t slot, size_t count,
                     CUstreamBatchMemOpParams **out);
bool cuda_values_wait(const CUstreamBatchMemOpParams *params, size_t count);
/* Note what a record that is about to be submitted waits for. */
void cuda_value_before_submit(struct cuda_replay *replay, const struct sbt_record *record);
/* A wait, of a record or of operations with addresses of this replay, is sent to the stream. */
void cuda_awaited_note(struct cuda_replay *replay, const struct sbt_record *record);
void cuda_awaited_note_values(struct cuda_replay *replay, uint32_t stream,
                              const CUstreamBatchMemOpParams *params, size_t count);
/* A COMPLETE record is ahead; one of the commands that they name was submitted; tsm_backend_sync's
 * reached. */
int cuda_completed_plan(struct cuda_replay *replay, const struct sbt_record *record,
                        const struct sbt_schema *schema);
int cuda_completed_mark(struct cuda_replay *replay, const struct sbt_record *record);
/* States of a function in a graph, which has a place on the stream and no record; they stand where
 * others have their event. */
#define CUDA_REACHED_SENT 2u
#define CUDA_REACHED_DONE 3u
/* NULL: nobody waits for it. */
uint64_t *cuda_completed_by_function(struct cuda_replay *replay, uint32_t stream,
                                     uint64_t position);
int cuda_completed_await(struct cuda_replay *replay, const struct sbt_record *record,
                         const struct sbt_schema *schema);
/* Tests whether the stream waits for a value that is not there yet. */
bool cuda_awaited_on(struct cuda_replay *replay, CUstream raw);
/* tsm_backend_waits' unblock. */
int cuda_awaited_unblock(struct cuda_replay *replay);

/* tsm_backend_waits' may_stay. */
bool cuda_may_stay(struct cuda_replay *replay, const struct sbt_record *record);
/* Does an executable graph wait for a value? */
bool cuda_exec_waits(const struct cuda_replay *replay, uint64_t exec);
/* tsm_backend_waits' each_event, of the nodes of a graph that is launched. */
int cuda_exec_each_event(struct cuda_replay *replay, uint64_t id, tsm_event_user report,
                         void *user);
/* Note what waits in it for a value, when it is launched on the stream. */
void cuda_exec_note_awaited(struct cuda_replay *replay, uint64_t id, uint32_t stream);

/* An executable graph's node has been given parameters. */
int cuda_exec_set_node(struct cuda_args *args, uint64_t exec, CUgraphNode node,
                       const CUgraphNodeParams *params);
void cuda_graphs_finish(struct cuda_replay *replay);

/* Attributes that name an event or an address would have to be translated: they change when, not
 * what. */
bool cuda_attribute_is_plain(CUlaunchAttributeID id);
/* The argument block in a slot, translated. */
void cuda_read_block(struct cuda_args *args, uint32_t slot, CUfunction function,
                     struct cuda_node_block *out);

/* ---- times of commands on the device (timing.c) ---- */

struct cuda_timed; /* a command between two events of ours */

struct cuda_timing {
    bool is_on;
    uint64_t seq_first;
    uint64_t start_ns;                /* of the run, on the host's clock */
    struct cuda_time_origin *origins; /* one for each context */
    struct tsm_time_list done;
};

/* Tests whether a command is to be timed: not where it was not asked for, nor while a stream is
 * being captured. */
bool cuda_timing_wants(const struct cuda_replay *replay, const struct sbt_record *record,
                       const struct sbt_schema *schema);
/* This thread is about to submit the command to the stream `raw`: cuda_args_send() and _sent() mark
 * its time. Returns NULL where it cannot be timed. */
struct cuda_timed *cuda_timing_begin(struct cuda_replay *replay, const struct sbt_record *record,
                                     const struct sbt_schema *schema, CUstream raw);
/* It has, or has not: `is_sent`. */
void cuda_timing_end(struct cuda_replay *replay, struct cuda_timed *timed, bool is_sent);
/* Waits for the last command of the stream that is timed. Its context is current. */
void cuda_timing_await(struct cuda_replay *replay, const struct cuda_stream_state *stream);
/* Reads the times of what is complete in a context, before it goes. Nothing else runs. */
void cuda_timing_leave(struct cuda_replay *replay, CUcontext context);
/* Implement tsm_backend_timing. */
int cuda_timing_start(struct cuda_replay *replay, uint64_t seq_first);
int cuda_timing_report(struct cuda_replay *replay, tsm_time_user report, void *user);
void cuda_timing_finish(struct cuda_replay *replay);
/* ... clocks and power (clocks.c). */
void cuda_clocks_describe(const struct cuda_replay *replay, char *out, size_t size);

/* ---- a schedule, and virtual time (schedule.c) ---- */

struct cuda_clock {
    const struct tsm_emu_times *times; /* NULL: time is real, or not known exactly */
    bool is_shared;                    /* by all threads, of which one at a time does something */
    bool has_at;                       /* the next command is sent at_ns after the run's begin */
    uint64_t at_ns;
    uint64_t begin_ns, now_ns; /* of the run; of the host that sends */
    uint64_t sent_ns;          /* when it called what sent the last command */
};

/* Commands that a schedule sends to streams of the replay's own, one at a time (place.c). */
struct cuda_seq_list {
    uint64_t *list;
    size_t count, capacity;
};

struct cuda_lane {
    CUstream raw; /* NULL: not made yet */
    CUcontext context;
};

/* An event behind a command, which lives as its context does; then NULL. */
struct cuda_placed_end {
    CUevent event;
    CUcontext context;
};

struct cuda_placed {
    struct cuda_lane *lanes;
    size_t lane_capacity;
    struct cuda_placed_end *ends;
    size_t end_count, end_capacity;
    struct tsm_map end_places; /* seq + 1 of the command -> place + 1 */
    struct cuda_seq_list after, awaited;
    bool has_failed; /* to keep `awaited` */
    /* The next command, or the one that is being sent: */
    bool is_next, is_begun;
    bool has_waited; /* for those that come before */
    bool is_used;    /* its call takes a stream */
    uint32_t on;
    CUstream raw;
};

/* Implement tsm_backend_schedule. */
int cuda_place_next(struct cuda_replay *replay, uint32_t on, const uint64_t *after, size_t count);
void cuda_place_await_next(struct cuda_replay *replay, const uint64_t *after, size_t count);
int cuda_place_await(struct cuda_replay *replay);
/* Around a command: before its arguments are read; right before the driver's call; after it. They
 * do nothing for one that goes to its own stream. */
int cuda_place_begin(struct cuda_replay *replay, const struct sbt_record *record);
int cuda_place_send(struct cuda_replay *replay);
int cuda_place_end(struct cuda_replay *replay, const struct sbt_record *record);
/* Returns the stream that the command which is being sent goes to: `raw`, or another one. */
CUstream cuda_place_stream(struct cuda_replay *replay, CUstream raw);
/* Waits for what the recorded stream sent to such streams. */
CUresult cuda_place_wait(struct cuda_replay *replay, const struct cuda_stream_state *stream);
/* The context is destroyed, with its streams and events. */
void cuda_place_leave(struct cuda_replay *replay, CUcontext context);
void cuda_place_finish(struct cuda_replay *replay);

/* The library is open. */
void cuda_clock_open(struct cuda_replay *replay);
/* Between these two the calling thread does what the program did; they do nothing but where a
 * schedule is followed in virtual time. */
void cuda_clock_take(const struct cuda_replay *replay);
void cuda_clock_give(struct cuda_replay *replay);
/* Between these two calls are none of the program's that take time. take() follows. */
void cuda_clock_aside(const struct cuda_replay *replay, bool begins);
/* Right before the driver's call that sends a command: the clock is what the schedule says. And
 * after it: what follows up to the next take() is not the program's. */
void cuda_clock_send(struct cuda_replay *replay);
void cuda_clock_sent(struct cuda_replay *replay);
/* Between these two, behind the driver's call that sent a command, calls are none of the program's
 * that take time; then it goes on. */
void cuda_clock_behind(struct cuda_replay *replay, bool begins);
/* Has what is sent now arrive with the last command. take() follows. */
void cuda_clock_beside(const struct cuda_replay *replay);

/* Implement tsm_backend_schedule. */
bool cuda_schedule_send_at(struct cuda_replay *replay, uint64_t ns);
int cuda_schedule_leave(struct cuda_replay *replay, const struct sbt_record *record);
bool cuda_schedule_commutes(const struct sbt_record *record);
/* ... (host_use.c) */
enum tsm_host_use cuda_schedule_host_use(struct cuda_replay *replay,
                                         const struct sbt_record *record,
                                         const struct sbt_schema *schema,
                                         struct tsm_host_span *span);
/* Returns the context that is current for a record, also if it is carried out later. */
CUcontext cuda_schedule_context(struct cuda_replay *replay, const struct sbt_record *record);

/* Drops launches whose call's other records have not come (launch.c). */
void cuda_multi_launch_finish(struct cuda_replay *replay);

/* ---- all of it ---- */

/* A value that a stream waits for. */
struct cuda_awaited {
    CUdeviceptr address; /* in this replay */
    uint64_t value;
    unsigned flags, size;
    uint32_t stream;
};

#define CUDA_MULTI_MAX   64u  /* launches of one call */
#define CUDA_AWAITED_MAX 256u /* the newest ones are kept */

struct cuda_replay {
    struct sbt_reader *reader;
    const struct tsm_replay_options *options;
    const struct tsm_peers *peers; /* NULL: it is replayed alone */
    struct cuda_library library;
    const struct tsm_emu_outcomes *outcomes; /* NULL: it is not the software GPU */
    struct cuda_device_map devices;
    int device_count; /* of the replay */
    struct cuda_memory memory;
    struct cuda_functions functions;

    struct tsm_map objects;   /* object type << 56 | id -> raw value, 0: gone */
    struct tsm_map resources; /* id of a part of a device -> CUdevResource * of the replay's */
    struct cuda_textures textures;
    struct cuda_tensor_maps tensor_maps;
    struct cuda_arrays arrays;
    struct tsm_map semaphores;   /* id -> API << 48 | id there, of those of other APIs */
    struct tsm_map execs;        /* id -> struct cuda_exec *, of those that concern the program */
    struct tsm_map graph_memory; /* address -> size */
    struct cuda_node_function *node_functions;
    uint64_t node_function_serials;
    struct cuda_program_block *program_blocks;
    struct cuda_awaited awaited[CUDA_AWAITED_MAX]; /* streams_lock */
    size_t awaited_count;                          /* that were sent */
    struct tsm_map
        reached;          /* commands that COMPLETE records name -> event after them, 0: none yet */
    uint64_t taken_count; /* implements tsm_backend.uncompared */
    uint64_t mixed_count; /* ... those that commands may have used before: tsm_backend.mixed */
    unsigned capture_count; /* streams that a record began to capture, and none ended */

    pthread_mutex_t streams_lock;
    struct cuda_stream_state **streams; /* by number */
    size_t stream_capacity;

    struct cuda_thread *threads; /* recorded threads */
    struct cuda_own_stream *own_streams;
    struct cuda_code *codes;
    struct cuda_replacements replacements;
    struct cuda_timing timing;
    struct cuda_clock clock;
    struct tsm_map left_contexts; /* seq + 1 of a command that is sent later -> its context */
    struct cuda_placed placed;
    struct cuda_multi_launch *multi[CUDA_MULTI_MAX]; /* of a call on several devices (launch.c) */
    unsigned multi_count;
};

/* ---- commands that failed (failure.c) ---- */

/* The library is open. */
void cuda_failure_open(struct cuda_replay *replay);
/* Marks what this thread sends as that of a record; NULL: of none. */
void cuda_failure_mark(const struct cuda_replay *replay, const struct sbt_record *record);
/* Implement tsm_backend_failures. */
bool cuda_failure_here(struct cuda_replay *replay, uint32_t number);
bool cuda_failure_find(struct cuda_replay *replay, uint32_t number, struct tsm_device_failure *out);

/* ---- what records name (lookup.c) ---- */

/* Returns the object behind a recorded id, NULL when there is none. */
void *cuda_object_find(const struct cuda_replay *replay, enum cuda_object object, uint64_t id);
int cuda_object_set(struct cuda_replay *replay, enum cuda_object object, uint64_t id,
                    const void *raw);

/* The backend's schema of a record type. */
const struct sbt_schema *cuda_schema(uint32_t type);

#endif
