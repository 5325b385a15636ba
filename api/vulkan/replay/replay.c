/* SPDX-License-Identifier: Apache-2.0
 *
 * The Vulkan backend.
 */
#include "api/vulkan/replay/replay.h"

#include <stdlib.h>
#include <string.h>

#include "api/vulkan/replay/carry_out.h"
#include "api/vulkan/replay/completed.h"
#include "api/vulkan/replay/device.h"
#include "api/vulkan/replay/inspect/inspect.h"
#include "api/vulkan/replay/inspect/present_window.h"
#include "api/vulkan/replay/loader.h"
#include "api/vulkan/replay/memory/address.h"
#include "api/vulkan/replay/memory/bind.h"
#include "api/vulkan/replay/memory/capture_replay_address.h"
#include "api/vulkan/replay/memory/fixed_address.h"
#include "api/vulkan/replay/memory/host_write.h"
#include "api/vulkan/replay/memory/memory.h"
#include "api/vulkan/replay/memory/write.h"
#include "api/vulkan/replay/object.h"
#include "api/vulkan/replay/physical_device_match.h"
#include "api/vulkan/replay/recorded_device.h"
#include "api/vulkan/replay/release.h"
#include "api/vulkan/replay/requirements.h"
#include "api/vulkan/replay/shader.h"
#include "api/vulkan/replay/share.h"
#include "api/vulkan/replay/state/loop_snapshot.h"
#include "api/vulkan/replay/state/restore.h"
#include "api/vulkan/replay/state/save.h"
#include "api/vulkan/replay/state/timestamp_bytes.h"
#include "api/vulkan/replay/stream.h"
#include "api/vulkan/replay/swapchain.h"
#include "api/vulkan/replay/sync.h"
#include "api/vulkan/tables/describe.h"
#include "base/text.h"

struct tsm_backend_state {
    struct vkr replay;
};

static void backend_close(struct tsm_backend_state *state)
{
    struct vkr *r = &state->replay;

    vkr_writes_finish(r);
    vkr_inspect_finish(r->inspect);
    vkr_shaders_finish(r);
    vkr_loop_snapshot_finish(r);
    vkr_close_all(r);
    vkr_objects_finish(r);
    vkr_present_window_finish(r);
    vkr_memories_finish(r);
    vkr_fixed_addresses_finish(r);
    vkr_share_finish(r);
    vkr_completed_finish(r);
    tsm_address_space_finish(&r->stamps);
    vkr_capture_replay_address_finish(r);
    vkr_addresses_finish(r);
    vkr_devices_finish(r);
    vkr_timing_finish(r);
    vkr_requirements_finish(r);
    vkr_loader_close(&r->loader);
    vk_arena_finish(&r->arena);
    free(r->texels.bytes);
    free(r->streams);
    vk_timelines_finish(&r->timelines);
    pthread_mutex_destroy(&r->lock);
    free(state);
}

/* Arms of --check that send in another order are there to show what does not wait. */
static bool waited_each(const struct sbt_reader *reader, const struct tsm_replay_options *options)
{
    const char *mode = sbt_reader_metadata_find(reader, "setting.TS_CHECKSUM");

    return mode && (strcmp(mode, "submit") == 0 || strcmp(mode, "command") == 0) &&
           !options->permute && !options->delay;
}

static int backend_open(struct tsm_backend_state **out, struct sbt_reader *reader,
                        const struct tsm_replay_options *options)
{
    struct tsm_backend_state *state = calloc(1, sizeof(*state));
    int error;

    if (!state)
        return tsm_fail(TSM_E_MEMORY, "no memory for the Vulkan backend");
    state->replay.reader = reader;
    state->replay.options = options;
    tsm_time_list_init(&state->replay.timing.done);
    state->replay.waits_each = waited_each(reader, options);
    pthread_mutex_init(&state->replay.lock, NULL);
    vk_arena_init(&state->replay.arena, VK_ARENA_LIMIT);
    vk_arena_init(&state->replay.needs.arena, VK_ARENA_LIMIT);
    error = vkr_inspect_init(&state->replay.inspect, options);
    if (!error)
        error = vkr_shaders_open(&state->replay);
    if (error)
        backend_close(state);
    else
        *out = state;
    return error;
}

static int backend_plan(struct tsm_backend_state *state, const struct sbt_record *record,
                        const struct sbt_schema *schema)
{
    struct vkr *r = &state->replay;
    int error = vkr_completed_plan(r, record, schema);

    if (!error)
        error = vkr_requirements_plan(r, record);
    return error || !r->inspect ? error : vkr_inspect_plan(r, record);
}

static int backend_prepare(struct tsm_backend_state *state)
{
    struct vkr *r = &state->replay;
    int error = r->inspect ? vkr_inspect_check(r) : 0;

    if (error)
        return error;
    vkr_fixed_address_take(r);
    vkr_writes_prepare(r);
    error = vkr_loader_open(&r->loader, r->options->library);
    if (!error)
        error = vkr_devices_prepare(r);
    if (error)
        return error;
    vkr_choose_devices(r);
    return vkr_requirements_check(r);
}

static uint64_t backend_translated(struct tsm_backend_state *state)
{
    return state->replay.addresses.moved_ever;
}

static uint64_t backend_validation(struct tsm_backend_state *state)
{
    return state->replay.validation_count;
}

static int backend_give(struct tsm_backend_state *state, enum tsm_shared kind, uint64_t id, int *fd)
{
    struct vkr *r = &state->replay;
    int error;

    pthread_mutex_lock(&r->lock);
    error = vkr_share_give(r, kind, id, fd);
    pthread_mutex_unlock(&r->lock);
    return error;
}

static int backend_use(struct tsm_backend_state *state, const struct tsm_semaphore_use *use)
{
    struct vkr *r = &state->replay;
    int error;

    pthread_mutex_lock(&r->lock);
    error = vkr_share_use(r, use);
    pthread_mutex_unlock(&r->lock);
    return error;
}

/* ---- records ----------------------------------------------------------------------------- */

static int carry_out(struct vkr *r, const struct sbt_record *record)
{
    int error = vkr_writes_wait(r);

    if (error)
        return error;
    pthread_mutex_lock(&r->lock);
    error = vkr_carry_out(r, record);
    pthread_mutex_unlock(&r->lock);
    return error;
}

static int backend_host(struct tsm_backend_state *state, const struct sbt_record *record,
                        const struct sbt_schema *schema)
{
    int error;

    if (record->type == SBT_TYPE(SBT_API_CORE, SBT_CORE_HOST_WRITE))
        return vkr_host_write(&state->replay, record, schema);
    if (record->type == SBT_TYPE(SBT_API_CORE, SBT_CORE_HOST_RUNS))
        return vkr_host_runs(&state->replay, record, schema);
    if (SBT_TYPE_API(record->type) != SBT_API_CORE)
        return carry_out(&state->replay, record);
    error = vkr_writes_wait(&state->replay);
    return error ? error : vkr_checkpoint(&state->replay, record);
}

static int backend_fast_forward(struct tsm_backend_state *state, const struct sbt_record *record,
                                const struct sbt_schema *schema)
{
    int error;

    state->replay.is_early = true;
    error = carry_out(&state->replay, record);
    state->replay.is_early = false;
    return error;
}

static int backend_submit(struct tsm_backend_state *state, const struct sbt_record *record,
                          const struct sbt_schema *schema)
{
    return carry_out(&state->replay, record);
}

static int backend_submit_sync_only(struct tsm_backend_state *state,
                                    const struct sbt_record *record,
                                    const struct sbt_schema *schema)
{
    struct vkr *r = &state->replay;
    int error = vkr_writes_wait(r);

    if (error)
        return error;
    pthread_mutex_lock(&r->lock);
    r->is_hollow = r->has_hollow = true;
    error = vkr_carry_out(r, record);
    r->is_hollow = false;
    pthread_mutex_unlock(&r->lock);
    return error;
}

static bool backend_owns_sync(struct tsm_backend_state *state, const struct sbt_record *record)
{
    return vkr_owns_sync(record);
}

static int backend_sync(struct tsm_backend_state *state, const struct sbt_record *record,
                        const struct sbt_schema *schema)
{
    return carry_out(&state->replay, record);
}

static int backend_reached(struct tsm_backend_state *state, const struct sbt_record *record,
                           const struct sbt_schema *schema)
{
    int error = vkr_writes_wait(&state->replay);

    return error ? error : vkr_completed_await(&state->replay, record, schema);
}

static int backend_unblock_waiters(struct tsm_backend_state *state)
{
    struct vkr *r = &state->replay;
    int result = vkr_writes_wait(r);

    if (result)
        return result;
    pthread_mutex_lock(&r->lock);
    result = vkr_unblock_waiters(r);
    pthread_mutex_unlock(&r->lock);
    return result;
}

static int backend_wait(struct tsm_backend_state *state, uint32_t stream)
{
    struct vkr *r = &state->replay;
    int error = vkr_writes_wait(r);
    bool is_wanted = false;
    struct vkr_stream one;

    if (error)
        return error;
    pthread_mutex_lock(&r->lock);
    if (stream == SBT_STREAM_NONE)
        error = vkr_wait_all(r);
    else
        is_wanted = vkr_wait_wanted(r, stream, &one);
    pthread_mutex_unlock(&r->lock); /* others may send meanwhile */
    return is_wanted ? vkr_wait_queue(r, &one) : error;
}

/* ---- what came out ----------------------------------------------------------------------- */

/* Results come back through memory, and memory is compared: FORMAT.md 10, checksums. */
static int backend_readback(struct tsm_backend_state *state, uint32_t stream, uint64_t position,
                            uint64_t address, const uint8_t **data, uint64_t *size)
{
    return TSM_E_NOT_FOUND;
}

static int backend_regions(struct tsm_backend_state *state, const struct tsm_region **regions,
                           size_t *count)
{
    return vkr_regions(&state->replay, regions, count);
}

static int backend_read(struct tsm_backend_state *state, uint64_t address, void *out, uint64_t size)
{
    bool is_texels = (address & VKR_PLACE_WINDOW) && (address & VKR_PLACE_TEXELS);

    return is_texels ? vkr_swapchain_read(&state->replay, address, out, size)
                     : vkr_read(&state->replay, address, out, size);
}

static bool backend_ignore_timestamps(struct tsm_backend_state *state, uint64_t address,
                                      uint8_t *bytes, uint64_t size, uint64_t *times)
{
    return vkr_ignore_timestamps(&state->replay, address, bytes, size, times);
}

static uint64_t backend_uncompared(struct tsm_backend_state *state)
{
    return state->replay.ambiguous_count;
}

static uint64_t backend_mixed(struct tsm_backend_state *state)
{
    return state->replay.mixed_count;
}

static int backend_save(struct tsm_backend_state *state, const struct tsm_saver *saver)
{
    return vkr_save(&state->replay, saver);
}

static bool backend_can_repeat(struct tsm_backend_state *state, const struct sbt_record *record)
{
    return vkr_loop_snapshot_allows(&state->replay, record);
}

static int backend_loop_snapshot(struct tsm_backend_state *state)
{
    return vkr_loop_snapshot_take(&state->replay);
}

static int backend_loop_restore(struct tsm_backend_state *state)
{
    return vkr_loop_snapshot_restore(&state->replay);
}

static void backend_describe_address(struct tsm_backend_state *state, uint64_t address, char *out,
                                     size_t size)
{
    vkr_describe_address(&state->replay, address, out, size);
}

/* ---- looking ----------------------------------------------------------------------------- */

static bool backend_wants_inspection(struct tsm_backend_state *state,
                                     const struct sbt_record *record)
{
    return vkr_inspect_wanted(&state->replay, record);
}

static int backend_inspect_write(struct tsm_backend_state *state, const struct sbt_record *record)
{
    return vkr_inspect(&state->replay, record);
}

static uint64_t backend_inspect_file_count(struct tsm_backend_state *state)
{
    return state->replay.inspect ? state->replay.inspect->files : 0;
}

static int backend_inspect_finish(struct tsm_backend_state *state)
{
    vkr_present_window_linger(&state->replay);
    return vkr_shaders_check(&state->replay);
}

static void backend_describe_last(struct tsm_backend_state *state, char *out, size_t size)
{
    vkr_describe_last(&state->replay, out, size);
}

static void backend_describe(struct tsm_backend_state *state, char *out, size_t size)
{
    struct vkr *r = &state->replay;
    uint32_t place =
        r->needs.devices ? vkr_physical_device_index(r, r->needs.devices->physical) : r->chosen;
    VkPhysicalDeviceProperties p;

    r->probe->dispatch.f.vkGetPhysicalDeviceProperties(r->probe->physicals[place], &p);
    tsm_format(out, size, "%s, Vulkan %u.%u.%u", p.deviceName, VK_API_VERSION_MAJOR(p.apiVersion),
               VK_API_VERSION_MINOR(p.apiVersion), VK_API_VERSION_PATCH(p.apiVersion));
}

static const struct tsm_backend_sync sync_table = {
    .sync = backend_sync,
    .owns = backend_owns_sync,
    .reached = backend_reached,
};

static const struct tsm_backend_waits waits_table = {
    .unblock = backend_unblock_waiters,
    .describe_last = backend_describe_last,
};

static const struct tsm_backend_checkpoint checkpoint_table = {
    .save = backend_save,
    .fast_forward = backend_fast_forward,
};

static const struct tsm_backend_loop loop_table = {
    .can_repeat = backend_can_repeat,
    .snapshot = backend_loop_snapshot,
    .restore = backend_loop_restore,
};

static int backend_timing_start(struct tsm_backend_state *state, uint64_t seq_first)
{
    return vkr_timing_start(&state->replay, seq_first);
}

static int backend_timing_report(struct tsm_backend_state *state, tsm_time_user report, void *user)
{
    return vkr_timing_report(&state->replay, report, user);
}

static const struct tsm_backend_timing timing_table = {
    .start = backend_timing_start,
    .report = backend_timing_report,
};

static const struct tsm_backend_inspect inspect_table = {
    .wants = backend_wants_inspection,
    .write = backend_inspect_write,
    .file_count = backend_inspect_file_count,
    .finish = backend_inspect_finish,
};

static const struct tsm_backend_compare compare_table = {
    .ignore_timestamps = backend_ignore_timestamps,
    .uncompared = backend_uncompared,
    .mixed = backend_mixed,
    .describe_address = backend_describe_address,
};

static const struct tsm_backend_report report_table = {
    .translated = backend_translated,
    .validation = backend_validation,
};

extern const struct tsm_backend vulkan_backend; /* replay/backends.c */

const struct tsm_backend vulkan_backend = {
    .description = &vulkan_description,
    .host_runs_behind = true,
    .open = backend_open,
    .close = backend_close,
    .plan = backend_plan,
    .prepare = backend_prepare,
    .give = backend_give,
    .use = backend_use,
    .host = backend_host,
    .submit = backend_submit,
    .submit_sync_only = backend_submit_sync_only,
    .wait = backend_wait,
    .readback = backend_readback,
    .regions = backend_regions,
    .read = backend_read,
    .describe = backend_describe,
    .sync = &sync_table,
    .waits = &waits_table,
    .checkpoint = &checkpoint_table,
    .loop = &loop_table,
    .timing = &timing_table,
    .inspect = &inspect_table,
    .compare = &compare_table,
    .report = &report_table,
};
