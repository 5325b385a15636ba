/* SPDX-License-Identifier: Apache-2.0
 *
 * Packets: those that were recorded, with the objects of this replay in them. Arguments are put
 * into memory of ours, because the program's is used again as soon as it knows that it may be.
 */
#include "api/hsa/hsa_replay_calls.h"

#include <string.h>

static void set_head(void *packet, uint64_t header, uint64_t setup)
{
    const uint32_t head = (uint32_t)(header & 0xffff) | (uint32_t)(setup & 0xffff) << 16;

    memcpy(packet, &head, sizeof(head));
}

/* Addresses that lie elsewhere now; of what the code object says are addresses. */
static void translate(const struct hsa_replay *replay, const struct hsa_kernel_state *kernel,
                      uint8_t *arguments, size_t size)
{
    for (uint32_t i = 0; i < kernel->info.argument_count; i++) {
        const struct hsa_code_argument *argument = &kernel->info.arguments[i];
        uint64_t address;
        if (argument->kind != HSA_CODE_ARGUMENT_POINTER || argument->size != sizeof(address) ||
            argument->offset > size || size - argument->offset < sizeof(address))
            continue;
        memcpy(&address, arguments + argument->offset, sizeof(address));
        address = hsa_memory_translate(&replay->memory, address);
        memcpy(arguments + argument->offset, &address, sizeof(address));
    }
}

/* Addresses that the language's runtime put there belong to its own objects (a buffer for printf, a
 * heap, the queue): they mean nothing here. Sizes and offsets are kept. */
static void clear_hidden(const struct hsa_kernel_state *kernel, uint8_t *arguments, size_t size)
{
    static const char *const pointers[] = {
        "hidden_printf_buffer",     "hidden_hostcall_buffer",    "hidden_default_queue",
        "hidden_completion_action", "hidden_multigrid_sync_arg", "hidden_heap_v1",
        "hidden_queue_ptr",
    };

    for (uint32_t i = 0; i < kernel->info.argument_count; i++) {
        const struct hsa_code_argument *argument = &kernel->info.arguments[i];
        for (size_t k = 0; k < sizeof(pointers) / sizeof(pointers[0]); k++)
            if (!strcmp(argument->value_kind, pointers[k]) && argument->offset <= size &&
                argument->size <= size - argument->offset)
                memset(arguments + argument->offset, 0, argument->size);
    }
}

static int put_arguments(struct hsa_replay *replay, struct hsa_stream *stream,
                         const struct hsa_kernel_state *kernel, const struct sbt_record *record,
                         void **out)
{
    const uint8_t *bytes;
    size_t size;

    *out = NULL;
    if (!sbt_record_bytes(record, SLOT_aql_kernel_dispatch_arguments, &bytes, &size))
        return tsm_fail(TSM_E_FORMAT, "a dispatch without its arguments");
    if (!size)
        return 0;
    *out = hsa_stream_arguments(replay, stream, size);
    if (!*out)
        return tsm_fail(TSM_E_MEMORY, "no memory for a kernel's arguments");
    memcpy(*out, bytes, size);
    translate(replay, kernel, *out, size);
    clear_hidden(kernel, *out, size);
    return 0;
}

int replay_aql_kernel_dispatch(struct hsa_replay *replay, const struct sbt_record *record)
{
    const struct hsa_kernel_state *kernel =
        hsa_kernel_find(replay, hsa_slot(record, SLOT_aql_kernel_dispatch_kernel));
    struct hsa_stream *stream = hsa_stream_of(replay, record->stream);
    struct hsa_signal_state *completion =
        hsa_signal_find(replay, hsa_slot(record, SLOT_aql_kernel_dispatch_completion));
    hsa_kernel_dispatch_packet_t packet = {
        .workgroup_size_x = (uint16_t)hsa_slot(record, SLOT_aql_kernel_dispatch_group_x),
        .workgroup_size_y = (uint16_t)hsa_slot(record, SLOT_aql_kernel_dispatch_group_y),
        .workgroup_size_z = (uint16_t)hsa_slot(record, SLOT_aql_kernel_dispatch_group_z),
        .grid_size_x = (uint32_t)hsa_slot(record, SLOT_aql_kernel_dispatch_grid_x),
        .grid_size_y = (uint32_t)hsa_slot(record, SLOT_aql_kernel_dispatch_grid_y),
        .grid_size_z = (uint32_t)hsa_slot(record, SLOT_aql_kernel_dispatch_grid_z),
        .private_segment_size = (uint32_t)hsa_slot(record, SLOT_aql_kernel_dispatch_private_size),
        .group_segment_size = (uint32_t)hsa_slot(record, SLOT_aql_kernel_dispatch_group_size),
    };
    int error;

    if (!kernel || !stream)
        return tsm_fail(TSM_E_FORMAT, "a dispatch of a kernel that was never made");
    packet.kernel_object = kernel->object;
    packet.completion_signal = completion ? completion->raw : (hsa_signal_t){0};
    error = put_arguments(replay, stream, kernel, record, &packet.kernarg_address);
    if (error)
        return error;
    set_head(&packet, hsa_slot(record, SLOT_aql_kernel_dispatch_header),
             hsa_slot(record, SLOT_aql_kernel_dispatch_setup));
    hsa_signal_sent(completion);
    return hsa_stream_send(replay, stream, &packet);
}

int replay_aql_barrier_and(struct hsa_replay *replay, const struct sbt_record *record)
{
    struct hsa_stream *stream = hsa_stream_of(replay, record->stream);
    struct hsa_signal_state *completion =
        hsa_signal_find(replay, hsa_slot(record, SLOT_aql_barrier_and_completion));
    hsa_barrier_and_packet_t packet = {0};

    if (!stream)
        return tsm_fail(TSM_E_FORMAT, "a packet without a queue");
    for (uint32_t i = 0; i < 5; i++)
        packet.dep_signal[i] =
            hsa_signal_raw(replay, hsa_slot(record, SLOT_aql_barrier_and_dep0 + i));
    packet.completion_signal = completion ? completion->raw : (hsa_signal_t){0};
    set_head(&packet, hsa_slot(record, SLOT_aql_barrier_and_header), 0);
    hsa_signal_sent(completion);
    return hsa_stream_send(replay, stream, &packet);
}

int replay_aql_barrier_value(struct hsa_replay *replay, const struct sbt_record *record)
{
    struct hsa_stream *stream = hsa_stream_of(replay, record->stream);
    struct hsa_signal_state *completion =
        hsa_signal_find(replay, hsa_slot(record, SLOT_aql_barrier_value_completion));
    hsa_amd_barrier_value_packet_t packet = {
        .signal = hsa_signal_raw(replay, hsa_slot(record, SLOT_aql_barrier_value_signal)),
        .value = (int64_t)hsa_slot(record, SLOT_aql_barrier_value_value),
        .mask = (int64_t)hsa_slot(record, SLOT_aql_barrier_value_mask),
        .cond = (uint32_t)hsa_slot(record, SLOT_aql_barrier_value_condition),
    };

    if (!stream)
        return tsm_fail(TSM_E_FORMAT, "a packet without a queue");
    packet.completion_signal = completion ? completion->raw : (hsa_signal_t){0};
    set_head(&packet, hsa_slot(record, SLOT_aql_barrier_value_header),
             HSA_AMD_FORMAT_BARRIER_VALUE);
    hsa_signal_sent(completion);
    return hsa_stream_send(replay, stream, &packet);
}
