/* SPDX-License-Identifier: Apache-2.0
 *
 * The HSA backend.
 */
#include "api/hsa/hsa_replay_calls.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/log.h"
#include "base/text.h"
#include "replay/region.h"

struct tsm_backend_state {
    struct hsa_replay replay;
};

/* ---- open and close ----------------------------------------------------------------------------
 */

static int backend_open(struct tsm_backend_state **out, struct sbt_reader *reader,
                        const struct tsm_replay_options *options)
{
    struct tsm_backend_state *state = calloc(1, sizeof(*state));

    if (!state)
        return tsm_fail(TSM_E_MEMORY, "no memory for the HSA backend");
    state->replay.reader = reader;
    state->replay.options = options;
    pthread_mutex_init(&state->replay.timing.lock, NULL);
    tsm_time_list_init(&state->replay.timing.done);
    *out = state;
    return 0;
}

static void backend_close(struct tsm_backend_state *state)
{
    struct hsa_replay *replay = &state->replay;

    if (replay->is_up) {
        hsa_streams_finish(replay);
    }
    hsa_timing_finish(replay);
    if (replay->is_up) {
        hsa_signals_finish(replay);
        hsa_virtual_finish(replay);
        hsa_replace_finish(replay);
        hsa_code_finish(replay);
    }
    hsa_memory_finish(replay);
    hsa_agents_close(replay);
    tsm_map_finish(&replay->objects);
    tsm_map_finish(&replay->queues);
    tsm_map_finish(&replay->images);
    free(replay->streams);
    free(state);
}

static int backend_plan(struct tsm_backend_state *state, const struct sbt_record *record,
                        const struct sbt_schema *schema)
{
    struct hsa_replay *replay = &state->replay;
    uint64_t made;
    bool is_new;

    if (record->type == SBT_TYPE(SBT_API_CORE, SBT_CORE_READBACK) && schema)
        replay->keeps_left |=
            tsm_map_find(&replay->queues, sbt_record_role(schema, record, SBT_ROLE_OF_STREAM,
                                                          SBT_STREAM_NONE)) != NULL;
    if (SBT_TYPE_API(record->type) != SBT_API_HSA || !schema)
        return 0;
    if ((record->type == TYPE_aql_kernel_dispatch || record->type == TYPE_aql_agent_dispatch) &&
        !tsm_map_insert(&replay->queues, record->stream, &is_new))
        return tsm_fail(TSM_E_MEMORY, "no memory for queues");
    made =
        record->type == TYPE_hsa_queue_create || record->type == TYPE_hsa_amd_queue_intercept_create
            ? hsa_slot(record, SLOT_hsa_queue_create_stream)
            : record->stream;
    if (made < SBT_STREAM_NONE && made >= replay->stream_count)
        replay->stream_count = (uint32_t)made + 1;
    if (record->flags & SBT_RECORD_FAILED)
        return 0;
    if (schema->kind == SBT_KIND_CREATE && record->type != TYPE_hsa_variable) {
        int error =
            hsa_memory_plan(&replay->memory, sbt_record_role(schema, record, SBT_ROLE_ADDRESS, 0),
                            sbt_record_role(schema, record, SBT_ROLE_SIZE, 0));
        if (error)
            return error;
    }
    return hsa_agents_plan(replay, record);
}

static int backend_prepare(struct tsm_backend_state *state)
{
    struct hsa_replay *replay = &state->replay;
    int error;

    replay->streams = calloc((size_t)replay->stream_count + 1, sizeof(*replay->streams));
    if (!replay->streams)
        return tsm_fail(TSM_E_MEMORY, "no memory for %u streams", replay->stream_count);
    tsm_address_space_keep(&replay->memory.space, PROT_NONE);
    error = hsa_agents_open(replay);
    if (!error)
        hsa_memory_reserve(replay);
    return error ? error : hsa_replace_open(replay);
}

static uint64_t backend_translated(struct tsm_backend_state *state)
{
    return state->replay.memory.moved_count;
}

static uint64_t backend_untranslated(struct tsm_backend_state *state, char *out, size_t size)
{
    const struct hsa_replay *replay = &state->replay;

    if (replay->untranslated_count)
        tsm_format(out, size, "byte %u of those of %.100s", replay->untranslated_offset,
                   replay->untranslated_kernel->info.name);
    return replay->untranslated_count;
}

/* ---- records -----------------------------------------------------------------------------------
 */

static int carry_out(struct hsa_replay *replay, const struct sbt_record *record)
{
    hsa_replay_function function = hsa_replay_find(record->type);

    return function ? function(replay, record) : 0;
}

/* Carries out the program's writes to memory that the GPU can read. */
static int write_host(struct hsa_replay *replay, const struct sbt_record *record,
                      const struct sbt_schema *schema)
{
    uint64_t address = sbt_record_role(schema, record, SBT_ROLE_HOST_SRC, 0);
    int index = sbt_schema_role(schema, SBT_ROLE_PAYLOAD);
    struct hsa_region_part part = {0};
    struct sbt_blob blob;
    int got;

    if (index < 0 || !sbt_record_blob(record, (uint32_t)index, &blob))
        return tsm_fail(TSM_E_FORMAT, "has no bytes");
    got = hsa_arguments_written(replay, address, &blob);
    if (got)
        return got;
    if (address + blob.size < address)
        return tsm_fail(TSM_E_FORMAT, "has bytes behind the end of memory");
    while (got >= 0 && hsa_memory_next_part(&replay->memory, address, blob.size, &part)) {
        if (!part.region->is_host)
            continue;
        got = sbt_reader_blob(replay->reader, &blob, part.address - address,
                              (void *)(uintptr_t)part.actual, part.size);
        if (got >= 0)
            got = hsa_memory_leave(replay, part.address, part.size);
    }
    return got < 0 ? got : 0;
}

static int core(struct hsa_replay *replay, const struct sbt_record *record,
                const struct sbt_schema *schema)
{
    switch (SBT_TYPE_CALL(record->type)) {
    case SBT_CORE_HOST_WRITE:
        return write_host(replay, record, schema);
    case SBT_CORE_MEMORY:
        return hsa_checkpoint_memory(replay, record);
    case SBT_CORE_STATE:
        return hsa_checkpoint_state(replay, record);
    default:
        return 0;
    }
}

static int backend_host(struct tsm_backend_state *state, const struct sbt_record *record,
                        const struct sbt_schema *schema)
{
    if (SBT_TYPE_API(record->type) == SBT_API_CORE)
        return core(&state->replay, record, schema);
    return carry_out(&state->replay, record);
}

/* Commands leave nothing but memory and signals, of which the checkpoint tells. */
static int backend_fast_forward(struct tsm_backend_state *state, const struct sbt_record *record,
                                const struct sbt_schema *schema)
{
    return schema->kind == SBT_KIND_COMMAND ? 0 : backend_host(state, record, schema);
}

static int backend_submit(struct tsm_backend_state *state, const struct sbt_record *record,
                          const struct sbt_schema *schema)
{
    return carry_out(&state->replay, record);
}

/* ---- waiting -----------------------------------------------------------------------------------
 */

static int backend_wait(struct tsm_backend_state *state, uint32_t number)
{
    struct hsa_stream *stream = hsa_stream_of(&state->replay, number);

    /* The whole device has nothing but its streams. */
    return stream ? hsa_stream_wait(&state->replay, stream) : 0;
}

static bool backend_is_stuck(struct tsm_backend_state *state)
{
    return hsa_signals_stuck(&state->replay);
}

static int backend_unblock_waiters(struct tsm_backend_state *state)
{
    unsigned count = hsa_signals_unblock_waiters(&state->replay);

    if (count)
        tsm_log(
            TSM_LOG_WARN,
            "the recording ends while commands wait for %u signals of the program: they wait no "
            "more",
            count);
    return count > 0;
}

static unsigned backend_release(struct tsm_backend_state *state)
{
    return hsa_signals_unblock_waiters(&state->replay);
}

static bool is_load(uint32_t type)
{
    return type == TYPE_hsa_signal_load_scacquire || type == TYPE_hsa_signal_load_acquire ||
           type == TYPE_hsa_signal_load_relaxed;
}

static bool backend_owns_sync(struct tsm_backend_state *state, const struct sbt_record *record)
{
    return is_load(record->type) || hsa_replay_find(record->type) != NULL;
}

static int backend_sync(struct tsm_backend_state *state, const struct sbt_record *record,
                        const struct sbt_schema *schema)
{
    return carry_out(&state->replay, record);
}

/* Recorded where the GPU was idle, so nothing on the stream waits for what comes later. */
static int backend_reached(struct tsm_backend_state *state, const struct sbt_record *record,
                           const struct sbt_schema *schema)
{
    return backend_wait(
        state, (uint32_t)sbt_record_role(schema, record, SBT_ROLE_OF_STREAM, SBT_STREAM_NONE));
}

/* ---- what came out -----------------------------------------------------------------------------
 */

static int backend_readback(struct tsm_backend_state *state, uint32_t stream, uint64_t position,
                            uint64_t address, const uint8_t **data, uint64_t *size)
{
    struct hsa_stream *found = hsa_stream_of(&state->replay, stream);
    const struct tsm_region *region = hsa_memory_find(&state->replay.memory, address);
    int error = found ? hsa_stream_received(found, position, data, size) : TSM_E_NOT_FOUND;

    if (error != TSM_E_NOT_FOUND)
        return error ? error : hsa_memory_leave(&state->replay, address, *size);
    /* Returns a kernel's results in memory that the host can read. */
    if (!found || !found->queue || !region || !region->is_host ||
        !tsm_range_holds(region->address, region->size, address, *size))
        return TSM_E_NOT_FOUND;
    *data = (const void *)(uintptr_t)hsa_memory_translate(&state->replay.memory, address);
    return 0;
}

static const uint8_t *backend_last_host_bytes(struct tsm_backend_state *state, uint64_t address,
                                              uint64_t size)
{
    return hsa_memory_left(&state->replay.memory, address, size);
}

static int backend_regions(struct tsm_backend_state *state, const struct tsm_region **regions,
                           size_t *count)
{
    *regions = state->replay.memory.regions;
    *count = state->replay.memory.region_count;
    return 0;
}

static int backend_read(struct tsm_backend_state *state, uint64_t address, void *out, uint64_t size)
{
    return hsa_memory_read(&state->replay, address, out, size);
}

static int backend_save(struct tsm_backend_state *state, const struct tsm_saver *saver)
{
    return hsa_checkpoint_save(&state->replay, saver);
}

static void backend_describe(struct tsm_backend_state *state, char *out, size_t size)
{
    struct hsa_replay *replay = &state->replay;
    char name[65] = "no agent", product[65] = "";

    for (uint32_t i = 0; i < replay->here.agent_count; i++) {
        const struct hsa_part *agent = &replay->here.agents[i];
        if (i && agent->type != HSA_DEVICE_TYPE_GPU)
            continue;
        replay->calls.hsa_agent_get_info((hsa_agent_t){agent->raw}, HSA_AGENT_INFO_NAME, name);
        replay->calls.hsa_agent_get_info(
            (hsa_agent_t){agent->raw}, (hsa_agent_info_t)HSA_AMD_AGENT_INFO_PRODUCT_NAME, product);
    }
    tsm_format(out, size, "%s%s%s, HSA%s", name, strcmp(name, product) && *product ? " " : "",
               strcmp(name, product) ? product : "",
               replay->is_emu && !replay->options->device ? " (there is no GPU here)" : "");
}

static bool backend_is_software(struct tsm_backend_state *state)
{
    return state->replay.is_emu;
}

static const struct tsm_backend_sync sync_table = {
    .sync = backend_sync,
    .reached = backend_reached,
    .owns = backend_owns_sync,
};

static const struct tsm_backend_waits waits_table = {
    .unblock = backend_unblock_waiters,
    .is_stuck = backend_is_stuck,
    .release = backend_release,
};

static const struct tsm_backend_checkpoint checkpoint_table = {
    .save = backend_save,
    .fast_forward = backend_fast_forward,
};

static int backend_timing_start(struct tsm_backend_state *state, uint64_t seq_first)
{
    return hsa_timing_start(&state->replay, seq_first);
}

static int backend_timing_report(struct tsm_backend_state *state, tsm_time_user report, void *user)
{
    return hsa_timing_report(&state->replay, report, user);
}

static const struct tsm_backend_timing timing_table = {
    .start = backend_timing_start,
    .report = backend_timing_report,
};

static const struct tsm_backend_compare compare_table = {
    .last_host_bytes = backend_last_host_bytes,
};

static uint64_t backend_replaced(struct tsm_backend_state *state)
{
    return state->replay.replacements.taken_count;
}

static const struct tsm_backend_report report_table = {
    .replaced = backend_replaced,
    .translated = backend_translated,
    .untranslated = backend_untranslated,
};

const struct tsm_backend hsa_backend = {
    .description = &hsa_description,
    .host_runs_behind = true,
    .waits_show_results = true,
    .open = backend_open,
    .close = backend_close,
    .plan = backend_plan,
    .prepare = backend_prepare,
    .host = backend_host,
    .submit = backend_submit,
    .wait = backend_wait,
    .readback = backend_readback,
    .regions = backend_regions,
    .read = backend_read,
    .is_software = backend_is_software,
    .describe = backend_describe,
    .sync = &sync_table,
    .waits = &waits_table,
    .checkpoint = &checkpoint_table,
    .timing = &timing_table,
    .compare = &compare_table,
    .report = &report_table,
};
