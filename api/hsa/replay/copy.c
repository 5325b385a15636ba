/* SPDX-License-Identifier: Apache-2.0
 *
 * Copies. What went to or came from memory of the program that the GPU does not know goes to or
 * comes from memory of ours.
 */
#include "api/hsa/hsa_replay_calls.h"

#include <stdlib.h>
#include <string.h>

static void *pointer(uint64_t address)
{
    return (void *)(uintptr_t)address;
}

/* Returns the destination of a copy: a region's memory, or our memory for memory of the program.
 * The caller has checked that there are `size` bytes to copy. */
static int destination(struct hsa_replay *replay, const struct sbt_record *record, uint64_t address,
                       uint64_t size, uint8_t **out)
{
    struct hsa_stream *stream = hsa_stream_of(replay, record->stream);
    const struct tsm_region *region = hsa_memory_find(&replay->memory, address);

    if (!stream)
        return tsm_fail(TSM_E_FORMAT, "a copy on no stream");
    if (region && !hsa_memory_holds(&replay->memory, address, size))
        return tsm_fail(TSM_E_FORMAT, "a copy of %llu bytes to 0x%llx, where there are fewer",
                        (unsigned long long)size, (unsigned long long)address);
    *out = region ? pointer(hsa_memory_translate(&replay->memory, address)) : malloc(size + 1);
    if (!*out)
        return tsm_fail(TSM_E_MEMORY, "no memory for %llu bytes", (unsigned long long)size);
    if (!region || region->is_host)
        hsa_stream_receives(stream, record->position, *out, size, region ? NULL : *out);
    return 0;
}

int replay_hsa_memory_copy(struct hsa_replay *replay, const struct sbt_record *record)
{
    uint64_t src = hsa_slot(record, SLOT_hsa_memory_copy_src);
    uint64_t size = hsa_slot(record, SLOT_hsa_memory_copy_size), payload_size;
    hsa_status_t status = HSA_STATUS_SUCCESS;
    uint8_t *payload = NULL, *to;
    int error = hsa_blob_read(replay, record, SLOT_hsa_memory_copy_bytes, &payload, &payload_size);

    if (!error && size &&
        !(payload ? payload_size == size : hsa_memory_holds(&replay->memory, src, size)))
        error = tsm_fail(TSM_E_FORMAT, "a copy from memory that was never made");
    if (!error)
        error = destination(replay, record, hsa_slot(record, SLOT_hsa_memory_copy_dst), size, &to);
    if (!error && size)
        status = replay->calls.hsa_memory_copy(
            to, payload ? payload : pointer(hsa_memory_translate(&replay->memory, src)), size);
    free(payload);
    if (error)
        return error;
    return status == HSA_STATUS_SUCCESS ? 0 : hsa_fail(replay, "hsa_memory_copy", status);
}

/* Memory of the host may be pages of ours, which the runtime does not fill. */
static void fill_host(uint8_t *at, uint32_t value, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++)
        memcpy(at + i * sizeof(value), &value, sizeof(value));
}

int replay_hsa_amd_memory_fill(struct hsa_replay *replay, const struct sbt_record *record)
{
    uint64_t address = hsa_slot(record, SLOT_hsa_amd_memory_fill_ptr);
    uint32_t value = (uint32_t)hsa_slot(record, SLOT_hsa_amd_memory_fill_value);
    uint64_t count = hsa_slot(record, SLOT_hsa_amd_memory_fill_count);
    const struct tsm_region *region = hsa_memory_find(&replay->memory, address);
    void *at = pointer(hsa_memory_translate(&replay->memory, address));
    hsa_status_t status = HSA_STATUS_SUCCESS;

    if (!region || count > UINT64_MAX / sizeof(value) ||
        !hsa_memory_holds(&replay->memory, address, count * sizeof(value)))
        return tsm_fail(TSM_E_FORMAT, "fills memory that was never made");
    if (region->is_host)
        fill_host(at, value, count);
    else
        status = replay->calls.hsa_amd_memory_fill(at, value, count);
    return status == HSA_STATUS_SUCCESS ? 0 : hsa_fail(replay, "hsa_amd_memory_fill", status);
}

/* ---- asynchronous ------------------------------------------------------------------------------
 */

static hsa_signal_t *read_deps(const struct hsa_replay *replay, const struct sbt_record *record,
                               uint32_t slot, uint32_t *count)
{
    const uint8_t *bytes;
    hsa_signal_t *deps;
    size_t size;

    *count = 0;
    if (!sbt_record_bytes(record, slot, &bytes, &size))
        return NULL;
    deps = malloc(size + sizeof(*deps));
    for (size_t i = 0; deps && i < size / sizeof(uint64_t); i++) {
        uint64_t id;
        memcpy(&id, bytes + i * sizeof(id), sizeof(id));
        hsa_signal_wanted(hsa_signal_find(replay, id), 0);
        deps[*count] = hsa_signal_raw(replay, id);
        *count += deps[*count].handle != 0;
    }
    return deps;
}

/* Before a copy is sent, so that its end is not missed, and when it was. */
static void sending(struct hsa_replay *replay, const struct sbt_record *record,
                    struct hsa_stream *stream, struct hsa_signal_state *completion)
{
    hsa_timing_sending(replay, record, NULL, completion);
    hsa_signal_sent(completion);
    stream->flight[stream->flight_count++ % HSA_FLIGHT_MAX] = completion;
}

static int sent(const struct hsa_replay *replay, struct hsa_stream *stream,
                struct hsa_signal_state *completion, hsa_status_t status, const char *call)
{
    if (status == HSA_STATUS_SUCCESS)
        return 0;
    hsa_signal_not_sent(completion);
    stream->flight_count--;
    return hsa_fail(replay, call, status);
}

int replay_hsa_amd_memory_async_copy(struct hsa_replay *replay, const struct sbt_record *record)
{
    uint64_t dst = hsa_slot(record, SLOT_hsa_amd_memory_async_copy_dst);
    uint64_t src = hsa_slot(record, SLOT_hsa_amd_memory_async_copy_src);
    struct hsa_signal_state *completion =
        hsa_signal_find(replay, hsa_slot(record, SLOT_hsa_amd_memory_async_copy_completion_signal));
    hsa_status_t status;
    struct hsa_stream *stream = hsa_stream_of(replay, record->stream);
    uint64_t size = hsa_slot(record, SLOT_hsa_amd_memory_async_copy_size);
    uint32_t dep_count;
    hsa_signal_t *deps;
    uint8_t *to;
    int error;

    if (!hsa_memory_find(&replay->memory, dst) || !hsa_memory_holds(&replay->memory, src, size))
        return tsm_fail(TSM_E_FORMAT, "a copy of memory that was never made");
    if (!completion || !stream)
        return tsm_fail(TSM_E_FORMAT, "a copy without a signal");
    error = destination(replay, record, dst, size, &to);
    if (error)
        return error;
    deps = read_deps(replay, record, SLOT_hsa_amd_memory_async_copy_dep_signals, &dep_count);
    if (!deps)
        return tsm_fail(TSM_E_MEMORY, "no memory for a copy's signals");
    sending(replay, record, stream, completion);
    status = replay->calls.hsa_amd_memory_async_copy(
        to, hsa_agents_agent(replay, hsa_slot(record, SLOT_hsa_amd_memory_async_copy_dst_agent)),
        pointer(hsa_memory_translate(&replay->memory, src)),
        hsa_agents_agent(replay, hsa_slot(record, SLOT_hsa_amd_memory_async_copy_src_agent)), size,
        dep_count, dep_count ? deps : NULL, completion->raw);
    free(deps);
    return sent(replay, stream, completion, status, "hsa_amd_memory_async_copy");
}

/* ---- boxes -------------------------------------------------------------------------------------
 */

/* A side of the copy: `first` is the slot of its address, its pitches follow. False: it does not
 * lie in one piece of memory of the recording. */
static bool side(const struct hsa_replay *replay, const struct sbt_record *record, uint32_t first,
                 const hsa_dim3_t *range, hsa_pitched_ptr_t *out, const struct tsm_region **region)
{
    uint64_t address = hsa_slot(record, first);
    const uint64_t box[5] = {range->x, range->y, range->z, hsa_slot(record, first + 1),
                             hsa_slot(record, first + 2)};

    out->pitch = box[3];
    out->slice = box[4];
    *region = hsa_memory_find(&replay->memory, address);
    out->base = pointer(hsa_memory_translate(&replay->memory, address));
    return hsa_memory_holds_box(&replay->memory, address, box);
}

static void receive_box(struct hsa_stream *stream, uint64_t position, const hsa_pitched_ptr_t *to,
                        const hsa_dim3_t *range)
{
    const struct hsa_received box = {.position = position,
                                     .size = (uint64_t)range->x * range->y * range->z,
                                     .data = to->base,
                                     .width = range->x,
                                     .height = range->y,
                                     .depth = range->z,
                                     .pitch = to->pitch,
                                     .plane = to->slice};

    hsa_stream_receives_box(stream, &box);
}

int replay_hsa_amd_memory_async_copy_rect(struct hsa_replay *replay,
                                          const struct sbt_record *record)
{
    const hsa_dim3_t none = {0, 0, 0},
                     range = {
                         (uint32_t)hsa_slot(record, SLOT_hsa_amd_memory_async_copy_rect_width),
                         (uint32_t)hsa_slot(record, SLOT_hsa_amd_memory_async_copy_rect_height),
                         (uint32_t)hsa_slot(record, SLOT_hsa_amd_memory_async_copy_rect_depth)};
    struct hsa_signal_state *completion = hsa_signal_find(
        replay, hsa_slot(record, SLOT_hsa_amd_memory_async_copy_rect_completion_signal));
    struct hsa_stream *stream = hsa_stream_of(replay, record->stream);
    const struct tsm_region *to_region, *from_region;
    hsa_pitched_ptr_t to, from;
    hsa_signal_t *deps;
    hsa_status_t status;
    uint32_t dep_count;

    if (!stream || !completion ||
        !side(replay, record, SLOT_hsa_amd_memory_async_copy_rect_dst, &range, &to, &to_region) ||
        !side(replay, record, SLOT_hsa_amd_memory_async_copy_rect_src, &range, &from, &from_region))
        return tsm_fail(TSM_E_FORMAT, "a copy of memory that was never made, or without a signal");
    if (to_region->is_host)
        receive_box(stream, record->position, &to, &range);
    deps = read_deps(replay, record, SLOT_hsa_amd_memory_async_copy_rect_dep_signals, &dep_count);
    if (!deps)
        return tsm_fail(TSM_E_MEMORY, "no memory for a copy's signals");
    sending(replay, record, stream, completion);
    status = replay->calls.hsa_amd_memory_async_copy_rect(
        &to, &none, &from, &none, &range,
        hsa_agents_agent(replay, hsa_slot(record, SLOT_hsa_amd_memory_async_copy_rect_copy_agent)),
        (hsa_amd_copy_direction_t)hsa_slot(record, SLOT_hsa_amd_memory_async_copy_rect_dir),
        dep_count, dep_count ? deps : NULL, completion->raw);
    free(deps);
    return sent(replay, stream, completion, status, "hsa_amd_memory_async_copy_rect");
}

/* Memory that was shared is locked here, and nothing is to be moved: a copy of nobody's bytes waits
 * for the same signals, and counts down the same. Without a signal nobody knows of it. */
int replay_hsa_amd_svm_prefetch_async(struct hsa_replay *replay, const struct sbt_record *record)
{
    struct hsa_signal_state *completion = hsa_signal_find(
        replay, hsa_slot(record, SLOT_hsa_amd_svm_prefetch_async_completion_signal));
    hsa_agent_t agent =
        hsa_agents_agent(replay, hsa_slot(record, SLOT_hsa_amd_svm_prefetch_async_agent));
    struct hsa_stream *stream = hsa_stream_of(replay, record->stream);
    uint8_t *bytes = stream && completion ? hsa_stream_arguments(replay, stream, 128) : NULL;
    hsa_signal_t *deps;
    hsa_status_t status;
    uint32_t dep_count;

    if (!completion)
        return 0;
    deps = bytes
               ? read_deps(replay, record, SLOT_hsa_amd_svm_prefetch_async_dep_signals, &dep_count)
               : NULL;
    if (!deps)
        return tsm_fail(TSM_E_MEMORY, "no memory for a prefetch");
    sending(replay, record, stream, completion);
    status = replay->calls.hsa_amd_memory_async_copy(bytes, agent, bytes + 64, agent, 4, dep_count,
                                                     dep_count ? deps : NULL, completion->raw);
    free(deps);
    return sent(replay, stream, completion, status, "hsa_amd_memory_async_copy");
}
