/* SPDX-License-Identifier: Apache-2.0
 *
 * The CUDA backend.
 */
#include "api/cuda/replay/state.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "api/cuda/abi_place.h"
#include "api/cuda/array_bytes.h"
#include "base/text.h"
#include "format/filter.h"

struct tsm_backend_state {
    struct cuda_replay replay;
};

/* ---- open and close ----------------------------------------------------------------------- */

static void backend_close(struct tsm_backend_state *state)
{
    struct cuda_replay *replay = &state->replay;

    cuda_memory_finish(replay);
    if (replay->library.handle)
        cuda_greens_finish(replay);
    cuda_contexts_finish(replay);
    cuda_resources_finish(replay);
    cuda_multi_launch_finish(replay);
    cuda_timing_finish(replay);
    cuda_graphs_finish(replay);
    cuda_program_finish(replay);
    cuda_streams_finish(replay);
    cuda_code_finish(replay);
    cuda_replace_finish(replay);
    cuda_functions_finish(&replay->functions);
    tsm_map_finish(&replay->reached);
    tsm_map_finish(&replay->left_contexts);
    cuda_place_finish(replay);
    tsm_map_finish(&replay->objects);
    tsm_map_finish(&replay->semaphores);
    cuda_textures_finish(replay);
    cuda_tensor_maps_finish(replay);
    cuda_arrays_finish(replay);
    cuda_library_close(&replay->library);
    pthread_mutex_destroy(&replay->streams_lock);
    pthread_mutex_destroy(&replay->memory.lock);
    free(state);
}

static int backend_open(struct tsm_backend_state **out, struct sbt_reader *reader,
                        const struct tsm_replay_options *options)
{
    struct tsm_backend_state *state = calloc(1, sizeof(*state));

    if (!state)
        return tsm_fail(TSM_E_MEMORY, "no memory for the CUDA backend");
    state->replay.reader = reader;
    state->replay.options = options;
    pthread_mutex_init(&state->replay.streams_lock, NULL);
    pthread_mutex_init(&state->replay.memory.lock, NULL);
    pthread_mutex_init(&state->replay.functions.lock, NULL);
    pthread_mutex_init(&state->replay.functions.written_lock, NULL);
    tsm_time_list_init(&state->replay.timing.done);
    *out = state;
    return 0;
}

static int backend_plan(struct tsm_backend_state *state, const struct sbt_record *record,
                        const struct sbt_schema *schema)
{
    int error;

    if (SBT_TYPE_API(record->type) != SBT_API_CUDA) {
        error = cuda_completed_plan(&state->replay, record, schema);
        return error ? error : cuda_functions_plan(&state->replay.functions, record, schema);
    }
    error = cuda_memory_plan(&state->replay.memory, record, schema);
    if (!error)
        error = cuda_program_plan(&state->replay.memory, record, schema);
    return error ? error : cuda_code_plan(&state->replay, record, schema);
}

/* Returns the software GPU's way to put memory where it was, or NULL. */
static const struct tsm_emu_place *find_place(const struct cuda_replay *replay)
{
    void *found = dlsym(replay->library.handle, TSM_EMU_PLACE_SYMBOL);
    tsm_emu_place_function function;

    if (!found || !replay->library.is_emu)
        return NULL;
    memcpy(&function, &found, sizeof(function));
    return function();
}

static void place_memory(struct cuda_replay *replay)
{
    const struct cuda_real *driver = &replay->library.calls;
    int has = 0;
    CUresult result = driver->cuDeviceGetAttribute(
        &has, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, cuda_device_main(replay));

    replay->memory.can_place = result == CUDA_SUCCESS && has;
    replay->memory.place = find_place(replay);
    if (replay->memory.can_place)
        cuda_memory_reserve(replay);
}

static int backend_prepare(struct tsm_backend_state *state)
{
    struct cuda_replay *replay = &state->replay;
    int error;

    cuda_functions_prepare(&replay->functions);
    tsm_address_space_keep(&replay->memory.device, PROT_NONE);
    tsm_address_space_keep(&replay->memory.host, PROT_NONE);
    error = cuda_library_open(&replay->library, replay->reader, replay->options);
    if (!error) {
        cuda_clock_open(replay);
        cuda_failure_open(replay);
    }
    if (!error)
        error = cuda_devices_choose(replay);
    if (!error)
        error = cuda_code_check(replay);
    if (!error)
        error = cuda_replace_open(replay);
    if (!error)
        place_memory(replay);
    return error;
}

static void backend_meet(struct tsm_backend_state *state, const struct tsm_peers *peers)
{
    state->replay.peers = peers;
}

static uint64_t backend_translated_words(struct tsm_backend_state *state)
{
    return __atomic_load_n(&state->replay.memory.translated_count, __ATOMIC_RELAXED);
}

static uint64_t backend_doubtful(struct tsm_backend_state *state)
{
    return __atomic_load_n(&state->replay.memory.doubtful_count, __ATOMIC_RELAXED);
}

static uint64_t backend_match_moved(struct tsm_backend_state *state, const uint8_t *recorded,
                                    const uint8_t *actual, uint64_t size, bool has_more)
{
    const uint64_t equal =
        cuda_match_moved(&state->replay.memory, recorded, actual, size, has_more);

    if (equal + (has_more ? 7 : 0) < size)
        cuda_doubt_variable(&state->replay, actual, size, equal);
    return equal;
}

static uint64_t backend_translated(struct tsm_backend_state *state)
{
    return state->replay.memory.moved_ever;
}

/* ---- records ------------------------------------------------------------------------------ */

static int carry_out(struct cuda_replay *replay, const struct sbt_record *record)
{
    cuda_replay_function function = cuda_replay_find(record->type);
    int error;

    cuda_failure_mark(replay, record);
    error = function ? function(replay, record) : 0;
    cuda_failure_mark(replay, NULL);
    return error;
}

/* Puts the bytes of a HOST_WRITE there. Returns whether other bytes were there. */
static bool put_bytes(struct cuda_replay *replay, const struct sbt_record *record, void *to,
                      const uint8_t *bytes, uint64_t size)
{
    bool has_changed;

    if (replay->functions.count)
        return cuda_functions_write(&replay->functions, to, bytes, size, record->seq);
    has_changed = memcmp(to, bytes, size) != 0;
    if (has_changed)
        memcpy(to, bytes, size);
    return has_changed;
}

/* Writes what the program wrote into memory that the device can read. */
static int write_host(struct cuda_replay *replay, const struct sbt_record *record,
                      const struct sbt_schema *schema)
{
    uint64_t address = sbt_record_role(schema, record, SBT_ROLE_HOST_SRC, 0);
    int index = sbt_schema_role(schema, SBT_ROLE_PAYLOAD);
    struct sbt_blob blob;

    if (index < 0 || !sbt_record_blob(record, (uint32_t)index, &blob))
        return tsm_fail(TSM_E_FORMAT, "has no bytes");
    void *at = cuda_program_host(replay, address, blob.size);
    if (!at)
        return 0; /* released meanwhile */
    const bool is_shared = (record->flags & SBT_RECORD_DEVICE) != 0;
    uint8_t *bytes = replay->functions.count || is_shared ? malloc(blob.size + 1) : at;
    if (!bytes)
        return tsm_fail(TSM_E_MEMORY, "no memory for host memory");
    int error = sbt_reader_blob(replay->reader, &blob, 0, bytes, blob.size);
    if (error >= 0)
        cuda_translate_sent(replay, address, bytes, blob.size);
    if (bytes != at) {
        if (error >= 0 && put_bytes(replay, record, at, bytes, blob.size) && is_shared) {
            replay->taken_count += sbt_filter_in_range(&replay->options->filter, record);
            replay->mixed_count += (record->flags & SBT_RECORD_LATE) != 0;
        }
        free(bytes);
    }
    return error < 0 ? error : 0;
}

static int backend_host(struct tsm_backend_state *state, const struct sbt_record *record,
                        const struct sbt_schema *schema)
{
    int error;

    if (record->type == SBT_TYPE(SBT_API_CORE, SBT_CORE_HOST_WRITE))
        return write_host(&state->replay, record, schema);
    cuda_clock_aside(&state->replay, true);
    error = record->type == SBT_TYPE(SBT_API_CORE, SBT_CORE_MEMORY)
                ? cuda_checkpoint_load(&state->replay, record)
                : carry_out(&state->replay, record);
    cuda_clock_aside(&state->replay, false);
    return error;
}

/* Takes what a memset, or a copy between device addresses, has written into memory of the host: it
 * may have been recorded as given back. A copy to pageable memory would wait. */
static int receive_written(struct cuda_replay *replay, const struct sbt_record *record,
                           const struct sbt_schema *schema)
{
    const uint64_t dst = sbt_record_role(schema, record, SBT_ROLE_DST, 0);
    const uint64_t size = sbt_record_role(schema, record, SBT_ROLE_SIZE, 0);
    const struct tsm_region *region = dst && size ? cuda_memory_find(&replay->memory, dst) : NULL;
    struct cuda_stream_state *stream;
    struct cuda_host_box box;

    if (!region || !region->is_host || size > region->size - (dst - region->address) ||
        record->flags & (SBT_RECORD_FAILED | SBT_RECORD_CAPTURED) ||
        sbt_schema_role(schema, SBT_ROLE_HOST_DST) >= 0)
        return 0;
    stream = cuda_stream_find(replay, record->stream);
    if (!stream || !stream->is_made || cuda_stream_has_received(stream, record->position) ||
        cuda_stream_is_captured(replay, stream->raw))
        return 0;
    box = (struct cuda_host_box){
        .from = (const uint8_t *)(uintptr_t)(region->actual + (dst - region->address)), /* NOLINT */
        .width = size,
        .height = 1,
        .depth = 1};
    return cuda_stream_take(replay, record, cuda_place_stream(replay, stream->raw), dst, &box);
}

/* NULL: it is not timed. */
static struct cuda_timed *begin_timed(struct cuda_replay *replay, const struct sbt_record *record,
                                      const struct sbt_schema *schema)
{
    struct cuda_args args;
    CUstream raw;

    if (!cuda_timing_wants(replay, record, schema))
        return NULL;
    cuda_args_begin(&args, replay, record, 0);
    raw = cuda_arg_stream(&args); /* makes a thread's own */
    return args.error ? NULL : cuda_timing_begin(replay, record, schema, raw);
}

/* The mark arrives with the command, not later: a call that the program did not make. */
static int mark_completed(struct cuda_replay *replay, const struct sbt_record *record)
{
    int error;

    cuda_clock_beside(replay);
    error = cuda_completed_mark(replay, record);
    cuda_clock_take(replay);
    return error;
}

static int end_placed(struct cuda_replay *replay, const struct sbt_record *record)
{
    const int error = cuda_place_end(replay, record);

    cuda_clock_take(replay);
    return error;
}

static int backend_submit(struct tsm_backend_state *state, const struct sbt_record *record,
                          const struct sbt_schema *schema)
{
    struct cuda_replay *replay = &state->replay;
    struct cuda_timed *timed;
    int error;

    cuda_value_before_submit(replay, record);
    error = cuda_place_begin(replay, record);
    if (error)
        return error;
    timed = begin_timed(replay, record, schema);
    replay->placed.is_used = false;
    cuda_clock_take(replay);
    cuda_clock_send(replay);
    error = carry_out(replay, record);
    cuda_legacy_sent(cuda_stream_find(replay, record->stream));
    if (timed)
        cuda_timing_end(replay, timed, !error);
    cuda_clock_sent(replay);
    cuda_clock_aside(replay, true);
    if (!error)
        error = receive_written(replay, record, schema);
    cuda_clock_aside(replay, false);
    if (!error)
        error = mark_completed(replay, record);
    return error ? error : end_placed(replay, record);
}

/* ---- waiting ------------------------------------------------------------------------------ */

static int wait_all(struct cuda_replay *replay)
{
    const struct cuda_real *driver = &replay->library.calls;
    CUcontext context = cuda_context_any(replay);

    /* Its streams have been waited for; this finds errors that belong to none. */
    if (!context || replay->capture_count || driver->cuCtxSetCurrent(context) != CUDA_SUCCESS)
        return 0;
    CUresult result = driver->cuCtxSynchronize();
    return result == CUDA_SUCCESS ? 0 : cuda_fail(driver, "cuCtxSynchronize", result);
}

static int wait_stream(struct cuda_replay *replay, uint32_t number)
{
    const struct cuda_real *driver = &replay->library.calls;
    struct cuda_stream_state *stream;
    bool is_captured;
    CUresult result;

    stream = cuda_stream_find(replay, number);
    if (!stream || !stream->is_made)
        return 0;
    result = driver->cuCtxSetCurrent(stream->context);
    is_captured = result == CUDA_SUCCESS && cuda_stream_is_captured(replay, stream->raw);
    if (result == CUDA_SUCCESS)
        result = cuda_stream_wait(replay, stream);
    if (result == CUDA_SUCCESS)
        result = cuda_place_wait(replay, stream);
    if (result != CUDA_SUCCESS)
        return cuda_fail(driver, "cuStreamSynchronize", result);
    if (!is_captured)
        cuda_stream_synchronized(stream);
    return 0;
}

static int backend_wait(struct tsm_backend_state *state, uint32_t number)
{
    struct cuda_replay *replay = &state->replay;
    int error;

    cuda_clock_take(replay);
    error = number == SBT_STREAM_NONE ? wait_all(replay) : wait_stream(replay, number);
    cuda_clock_give(replay);
    return error;
}

static int backend_reached(struct tsm_backend_state *state, const struct sbt_record *record,
                           const struct sbt_schema *schema)
{
    int error;

    cuda_clock_take(&state->replay);
    error = cuda_completed_await(&state->replay, record, schema);
    cuda_clock_give(&state->replay);
    return error;
}

static int backend_unblock_waiters(struct tsm_backend_state *state)
{
    return cuda_awaited_unblock(&state->replay);
}

static int backend_sync(struct tsm_backend_state *state, const struct sbt_record *record,
                        const struct sbt_schema *schema)
{
    struct cuda_replay *replay = &state->replay;
    struct cuda_args args;
    uint64_t id = sbt_record_role(schema, record, SBT_ROLE_OBJECT, 0);
    CUevent event = cuda_object_find(replay, CUDA_OBJECT_EVENT, id);

    if (!event)
        return 0;
    cuda_args_begin(&args, replay, record, 0);
    if (args.error)
        return args.error;
    cuda_clock_take(replay);
    cuda_args_end(&args, args.driver->cuEventSynchronize(event));
    cuda_clock_give(replay);
    return args.error;
}

/* ---- what came out ------------------------------------------------------------------------ */

static int backend_readback(struct tsm_backend_state *state, uint32_t stream, uint64_t position,
                            uint64_t address, const uint8_t **data, uint64_t *size)
{
    struct cuda_stream_state *found = cuda_stream_find(&state->replay, stream);

    return found ? cuda_stream_received(found, position, address, data, size) : TSM_E_NOT_FOUND;
}

static int backend_regions(struct tsm_backend_state *state, const struct tsm_region **regions,
                           size_t *count)
{
    /* Reading them would end a capture. */
    if (state->replay.capture_count) {
        *count = 0;
        return 0;
    }
    return cuda_arrays_regions(&state->replay, regions, count);
}

static bool backend_shared(struct tsm_backend_state *state, uint64_t address, uint64_t size,
                           uint64_t *actual)
{
    return cuda_memory_shared(&state->replay.memory, address, size, actual);
}

static int backend_read(struct tsm_backend_state *state, uint64_t address, void *out, uint64_t size)
{
    return cuda_read(&state->replay, address, out, size);
}

static uint64_t backend_uncompared(struct tsm_backend_state *state)
{
    const struct cuda_replay *replay = &state->replay;

    return replay->taken_count + __atomic_load_n(&replay->functions.taken_count, __ATOMIC_RELAXED);
}

static int backend_save(struct tsm_backend_state *state, const struct tsm_saver *saver)
{
    return cuda_save(&state->replay, saver);
}

static void backend_describe(struct tsm_backend_state *state, char *out, size_t size)
{
    struct cuda_replay *replay = &state->replay;
    const struct cuda_real *driver = &replay->library.calls;
    char name[96] = "unknown device";
    int version = 0;

    driver->cuDeviceGetName(name, sizeof(name), cuda_device_main(replay));
    driver->cuDriverGetVersion(&version);
    tsm_format(out, size, "%s, CUDA %d.%d%s", name, version / 1000, version % 1000 / 10,
               replay->library.is_emu && !replay->options->device ? " (there is no GPU here)" : "");
}

static bool backend_is_software(struct tsm_backend_state *state)
{
    return state->replay.library.is_emu;
}

static int backend_each_event(struct tsm_backend_state *state, const struct sbt_record *record,
                              tsm_event_user report, void *user)
{
    if ((record->type != TYPE_cuGraphLaunch && record->type != TYPE_cuGraphLaunch_ptsz) ||
        record->slot_count <= SLOT_cuGraphLaunch_hGraph)
        return 0;
    return cuda_exec_each_event(&state->replay, record->slots[SLOT_cuGraphLaunch_hGraph], report,
                                user);
}

static bool backend_may_stay(struct tsm_backend_state *state, const struct sbt_record *record)
{
    return cuda_may_stay(&state->replay, record);
}

static const struct tsm_backend_sync sync_table = {
    .sync = backend_sync,
    .reached = backend_reached,
};

static uint64_t backend_executed(struct tsm_backend_state *state)
{
    return state->replay.outcomes ? state->replay.outcomes->progress() : 0;
}

static const struct tsm_backend_waits waits_table = {
    .unblock = backend_unblock_waiters,
    .may_stay = backend_may_stay,
    .each_event = backend_each_event,
    .executed = backend_executed,
};

static bool backend_failed_here(struct tsm_backend_state *state, uint32_t stream)
{
    return cuda_failure_here(&state->replay, stream);
}

static bool backend_find_failure(struct tsm_backend_state *state, uint32_t stream,
                                 struct tsm_device_failure *out)
{
    return cuda_failure_find(&state->replay, stream, out);
}

static const struct tsm_backend_failures failures_table = {
    .is_here = backend_failed_here,
    .find = backend_find_failure,
};

static const struct tsm_backend_checkpoint checkpoint_table = {
    .save = backend_save,
};

static uint64_t backend_mixed(struct tsm_backend_state *state)
{
    return state->replay.mixed_count;
}

static int backend_timing_start(struct tsm_backend_state *state, uint64_t seq_first)
{
    return cuda_timing_start(&state->replay, seq_first);
}

static int backend_timing_report(struct tsm_backend_state *state, tsm_time_user report, void *user)
{
    return cuda_timing_report(&state->replay, report, user);
}

static void backend_clocks(struct tsm_backend_state *state, char *out, size_t size)
{
    cuda_clocks_describe(&state->replay, out, size);
}

static bool backend_send_at(struct tsm_backend_state *state, uint64_t ns)
{
    return cuda_schedule_send_at(&state->replay, ns);
}

static int backend_place(struct tsm_backend_state *state, uint32_t on, const uint64_t *after,
                         size_t count)
{
    return cuda_place_next(&state->replay, on, after, count);
}

static void backend_await_next(struct tsm_backend_state *state, const uint64_t *after, size_t count)
{
    cuda_place_await_next(&state->replay, after, count);
}

static int backend_await(struct tsm_backend_state *state)
{
    int error;

    cuda_clock_take(&state->replay);
    error = cuda_place_await(&state->replay);
    cuda_clock_give(&state->replay);
    return error;
}

static int backend_leave(struct tsm_backend_state *state, const struct sbt_record *record)
{
    return cuda_schedule_leave(&state->replay, record);
}

static bool backend_commutes(struct tsm_backend_state *state, const struct sbt_record *record)
{
    (void)state;
    return cuda_schedule_commutes(record);
}

static enum tsm_host_use backend_host_use(struct tsm_backend_state *state,
                                          const struct sbt_record *record,
                                          const struct sbt_schema *schema,
                                          struct tsm_host_span *span)
{
    return cuda_schedule_host_use(&state->replay, record, schema, span);
}

static const struct tsm_backend_schedule schedule_table = {
    .send_at = backend_send_at,
    .place = backend_place,
    .await_next = backend_await_next,
    .await = backend_await,
    .leave = backend_leave,
    .commutes = backend_commutes,
    .host_use = backend_host_use,
};

static const struct tsm_backend_timing timing_table = {
    .start = backend_timing_start,
    .report = backend_timing_report,
    .clocks = backend_clocks,
};

static const struct tsm_backend_compare compare_table = {
    .match_moved = backend_match_moved,
    .uncompared = backend_uncompared,
    .mixed = backend_mixed,
};

static uint64_t backend_replaced(struct tsm_backend_state *state)
{
    return state->replay.replacements.taken_count;
}

static const struct tsm_backend_report report_table = {
    .translated = backend_translated,
    .translated_words = backend_translated_words,
    .doubtful = backend_doubtful,
    .replaced = backend_replaced,
};

const struct tsm_backend cuda_backend = {
    .description = &cuda_description,
    .open = backend_open,
    .close = backend_close,
    .plan = backend_plan,
    .prepare = backend_prepare,
    .meet = backend_meet,
    .host = backend_host,
    .submit = backend_submit,
    .wait = backend_wait,
    .readback = backend_readback,
    .regions = backend_regions,
    .read = backend_read,
    .shared = backend_shared,
    .is_software = backend_is_software,
    .describe = backend_describe,
    .sync = &sync_table,
    .waits = &waits_table,
    .failures = &failures_table,
    .checkpoint = &checkpoint_table,
    .timing = &timing_table,
    .schedule = &schedule_table,
    .compare = &compare_table,
    .report = &report_table,
};
