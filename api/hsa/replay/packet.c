/* SPDX-License-Identifier: Apache-2.0
 *
 * Packets: those that were recorded, with the objects of this replay in them. Arguments are put
 * into memory of ours, because the program's is used again as soon as it knows that it may be.
 */
#include "api/hsa/hsa_replay_calls.h"

#include <hsa/amd_hsa_queue.h>
#include <stdlib.h>
#include <string.h>

#include "api/hsa/replay/hidden_args.h"
#include "base/log.h"

#define PRINTF_SIZE      64u
#define HEADER_TYPE_MASK ((1u << HSA_PACKET_HEADER_WIDTH_TYPE) - 1)

/* Sets the first 4 bytes of a packet. The rest was filled as one of `types` (bits, by
 * HSA_PACKET_TYPE_*) has it: a queue that took it for another one would use sizes for signals. */
static int set_head(void *packet, uint32_t types, uint64_t header, uint64_t setup)
{
    const uint32_t head = (uint32_t)(header & 0xffff) | (uint32_t)(setup & 0xffff) << 16;
    const uint32_t type = head & HEADER_TYPE_MASK;

    if (type > 31 || !(types >> type & 1))
        return tsm_fail(TSM_E_FORMAT, "a packet whose header says that it is of type %u", type);
    memcpy(packet, &head, sizeof(head));
    return 0;
}

/* Addresses that lie elsewhere now, and handles; of what the code object says are such. */
static void translate(const struct hsa_replay *replay, const struct hsa_kernel_state *kernel,
                      uint8_t *arguments, size_t size)
{
    for (uint32_t i = 0; i < kernel->info.argument_count; i++) {
        const struct hsa_code_argument *argument = &kernel->info.arguments[i];
        uint64_t address;
        bool is_image = argument->kind == HSA_CODE_ARGUMENT_IMAGE;
        if ((argument->kind != HSA_CODE_ARGUMENT_POINTER && !is_image) ||
            argument->size != sizeof(address) || argument->offset > size ||
            size - argument->offset < sizeof(address))
            continue;
        memcpy(&address, arguments + argument->offset, sizeof(address));
        address = is_image ? hsa_image_translate(replay, address)
                           : hsa_memory_translate(&replay->memory, address);
        memcpy(arguments + argument->offset, &address, sizeof(address));
    }
}

/* Words that are recorded addresses of what lies elsewhere now, in bytes that may be anything: a
 * struct, or arguments that the code object does not tell of. */
static void look_for_addresses(struct hsa_replay *replay, const struct hsa_kernel_state *kernel,
                               const uint8_t *arguments, uint32_t start, uint32_t end)
{
    for (uint32_t at = (start + 7) & ~7u; at + 8 <= end; at += 8) {
        uint64_t word;
        memcpy(&word, arguments + at, sizeof(word));
        if (hsa_memory_translate(&replay->memory, word) == word ||
            __atomic_fetch_add(&replay->untranslated_count, 1, __ATOMIC_RELAXED))
            continue;
        replay->untranslated_kernel = kernel;
        replay->untranslated_offset = at;
    }
}

static void look_at_values(struct hsa_replay *replay, const struct hsa_kernel_state *kernel,
                           const uint8_t *arguments, size_t size)
{
    if (!replay->memory.is_elsewhere || size > UINT32_MAX)
        return;
    if (!kernel->info.has_arguments)
        look_for_addresses(replay, kernel, arguments, 0, (uint32_t)size);
    for (uint32_t i = 0; i < kernel->info.argument_count; i++) {
        const struct hsa_code_argument *argument = &kernel->info.arguments[i];
        if (argument->kind == HSA_CODE_ARGUMENT_VALUE && argument->offset <= size &&
            argument->size <= size - argument->offset)
            look_for_addresses(replay, kernel, arguments, argument->offset,
                               argument->offset + argument->size);
    }
}

/* Arguments that the language's runtime has put there, for this dispatch. False: no memory. */
static bool make_hidden(struct hsa_replay *replay, struct hsa_stream *stream,
                        struct hsa_kernel_state *kernel, const hsa_kernel_dispatch_packet_t *packet,
                        uint8_t *arguments, size_t size)
{
    const amd_queue_t *queue = (const void *)stream->queue;
    struct hsa_hidden_args here = {
        .grid = {packet->grid_size_x, packet->grid_size_y, packet->grid_size_z},
        .group = {packet->workgroup_size_x, packet->workgroup_size_y, packet->workgroup_size_z},
        .dimensions =
            packet->setup & ((1u << HSA_KERNEL_DISPATCH_PACKET_SETUP_WIDTH_DIMENSIONS) - 1),
        .queue = (uintptr_t)queue,
        .private_base = queue ? queue->private_segment_aperture_base_hi : 0,
        .shared_base = queue ? queue->group_segment_aperture_base_hi : 0};
    const char *missing;

    for (unsigned i = 0; i < 3; i++)
        here.group[i] += !here.group[i];
    if (packet->group_segment_size > kernel->info.group_size)
        here.dynamic_size = packet->group_segment_size - kernel->info.group_size;
    if (hsa_hidden_args_has(&kernel->info, "hidden_printf_buffer")) {
        void *buffer = hsa_stream_arguments(replay, stream, PRINTF_SIZE);
        if (!buffer)
            return false;
        memset(buffer, 0, PRINTF_SIZE);
        here.printf_buffer = (uintptr_t)buffer;
    }
    missing = hsa_hidden_args_fill(&kernel->info, &here, arguments, size);
    if (missing && !kernel->was_told)
        tsm_log(TSM_LOG_WARN, "%s was given a %s, which a replay cannot make: 0 in its place",
                kernel->info.name, missing);
    kernel->was_told |= missing != NULL;
    return true;
}

/* A dispatch whose arguments the program may still change. */
struct hsa_dispatched {
    uint64_t address, size; /* recorded */
    uint8_t *arguments;     /* here */
    struct hsa_kernel_state *kernel;
    hsa_kernel_dispatch_packet_t packet;
};

static int fill_arguments(struct hsa_replay *replay, struct hsa_stream *stream,
                          const struct hsa_dispatched *to, const uint8_t *bytes)
{
    memcpy(to->arguments, bytes, to->size);
    look_at_values(replay, to->kernel, to->arguments, to->size);
    translate(replay, to->kernel, to->arguments, to->size);
    if (!make_hidden(replay, stream, to->kernel, &to->packet, to->arguments, to->size))
        return tsm_fail(TSM_E_MEMORY, "no memory for a kernel's hidden arguments");
    return 0;
}

static void remember(struct hsa_stream *stream, const struct hsa_dispatched *dispatched)
{
    if (!stream->dispatched)
        stream->dispatched = calloc(HSA_DISPATCHED_MAX, sizeof(*dispatched));
    if (stream->dispatched)
        stream->dispatched[stream->dispatched_count++ % HSA_DISPATCHED_MAX] = *dispatched;
}

static int put_arguments(struct hsa_replay *replay, struct hsa_stream *stream,
                         struct hsa_kernel_state *kernel, const struct sbt_record *record,
                         hsa_kernel_dispatch_packet_t *packet)
{
    struct hsa_dispatched dispatched = {.kernel = kernel, .packet = *packet};
    const uint8_t *bytes;
    size_t size;

    if (!sbt_record_bytes(record, SLOT_aql_kernel_dispatch_arguments, &bytes, &size))
        return tsm_fail(TSM_E_FORMAT, "a dispatch without its arguments");
    if (!size)
        return 0;
    dispatched.address = hsa_slot(record, SLOT_aql_kernel_dispatch_kernarg);
    dispatched.size = size;
    dispatched.arguments = hsa_stream_arguments(replay, stream, size);
    if (!dispatched.arguments)
        return tsm_fail(TSM_E_MEMORY, "no memory for a kernel's arguments");
    remember(stream, &dispatched);
    packet->kernarg_address = dispatched.arguments;
    return fill_arguments(replay, stream, &dispatched, bytes);
}

static bool is_like(const struct hsa_stream *stream, uint64_t at, uint64_t address, uint64_t size)
{
    const struct hsa_dispatched *d = &stream->dispatched[at % HSA_DISPATCHED_MAX];

    return d->address == address && d->size == size;
}

int hsa_arguments_written(struct hsa_replay *replay, uint64_t address, const struct sbt_blob *blob)
{
    uint8_t *bytes = NULL;
    int error = 0;

    for (uint32_t i = 0; i < replay->stream_count && error >= 0; i++) {
        struct hsa_stream *stream = &replay->streams[i];
        uint64_t end = stream->dispatched_count;
        uint64_t at = end > HSA_DISPATCHED_MAX ? end - HSA_DISPATCHED_MAX : 0;
        for (; at < end && error >= 0; at++) {
            if (!is_like(stream, at, address, blob->size))
                continue;
            if (!bytes) {
                bytes = malloc(blob->size);
                error = bytes ? sbt_reader_blob(replay->reader, blob, 0, bytes, blob->size)
                              : tsm_fail(TSM_E_MEMORY, "no memory for a kernel's arguments");
            }
            if (error >= 0)
                error = fill_arguments(replay, stream, &stream->dispatched[at % HSA_DISPATCHED_MAX],
                                       bytes);
        }
    }
    free(bytes);
    return error < 0 ? error : 0;
}

int replay_aql_kernel_dispatch(struct hsa_replay *replay, const struct sbt_record *record)
{
    struct hsa_kernel_state *kernel =
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
    error = set_head(&packet, 1u << HSA_PACKET_TYPE_KERNEL_DISPATCH,
                     hsa_slot(record, SLOT_aql_kernel_dispatch_header),
                     hsa_slot(record, SLOT_aql_kernel_dispatch_setup));
    if (!error)
        error = put_arguments(replay, stream, kernel, record, &packet);
    if (error)
        return error;
    packet.completion_signal = hsa_timing_sending(replay, record, stream, completion);
    hsa_signal_sent(completion);
    return hsa_stream_send(replay, stream, &packet);
}

/* Another agent than the recorded one gets a packet that does nothing, for the signal's sake: what
 * is missing then taints the trace already. */
int replay_aql_agent_dispatch(struct hsa_replay *replay, const struct sbt_record *record)
{
    struct hsa_stream *stream = hsa_stream_of(replay, record->stream);
    struct hsa_signal_state *completion =
        hsa_signal_find(replay, hsa_slot(record, SLOT_aql_agent_dispatch_completion));
    bool performs = stream && stream->is_software && !(record->flags & SBT_RECORD_TAINTS);
    hsa_agent_dispatch_packet_t packet = {0};
    uint64_t header = hsa_slot(record, SLOT_aql_agent_dispatch_header);
    int error;

    if (!stream)
        return tsm_fail(TSM_E_FORMAT, "a packet without a queue");
    if (!stream->is_software && !(record->flags & SBT_RECORD_TAINTS))
        return tsm_fail(TSM_E_UNSUPPORTED, "an agent dispatch that only the software GPU performs");
    if (performs) {
        packet.return_address = (void *)(uintptr_t)hsa_memory_translate(
            &replay->memory, hsa_slot(record, SLOT_aql_agent_dispatch_return_address));
        for (uint32_t i = 0; i < 4; i++)
            packet.arg[i] = hsa_slot(record, SLOT_aql_agent_dispatch_arg0 + i);
    } else {
        header = (header & ~(uint64_t)HEADER_TYPE_MASK) | HSA_PACKET_TYPE_BARRIER_AND;
    }
    packet.completion_signal = completion ? completion->raw : (hsa_signal_t){0};
    error = set_head(
        &packet, 1u << (performs ? HSA_PACKET_TYPE_AGENT_DISPATCH : HSA_PACKET_TYPE_BARRIER_AND),
        header, performs ? hsa_slot(record, SLOT_aql_agent_dispatch_type) : 0);
    if (error)
        return error;
    if (completion)
        hsa_timing_sending(replay, record, stream, completion);
    hsa_signal_sent(completion);
    return hsa_stream_send(replay, stream, &packet);
}

int replay_aql_barrier_and(struct hsa_replay *replay, const struct sbt_record *record)
{
    struct hsa_stream *stream = hsa_stream_of(replay, record->stream);
    struct hsa_signal_state *completion =
        hsa_signal_find(replay, hsa_slot(record, SLOT_aql_barrier_and_completion));
    hsa_barrier_and_packet_t packet = {0};
    int error;

    if (!stream)
        return tsm_fail(TSM_E_FORMAT, "a packet without a queue");
    for (uint32_t i = 0; i < 5; i++) {
        uint64_t id = hsa_slot(record, SLOT_aql_barrier_and_dep0 + i);
        packet.dep_signal[i] = hsa_signal_raw(replay, id);
        hsa_signal_wanted(hsa_signal_find(replay, id), 0);
    }
    packet.completion_signal = completion ? completion->raw : (hsa_signal_t){0};
    error = set_head(&packet, 1u << HSA_PACKET_TYPE_BARRIER_AND | 1u << HSA_PACKET_TYPE_BARRIER_OR,
                     hsa_slot(record, SLOT_aql_barrier_and_header), 0);
    if (error)
        return error;
    if (completion)
        hsa_timing_sending(replay, record, stream, completion);
    hsa_signal_sent(completion);
    return hsa_stream_send(replay, stream, &packet);
}

/* A value with which it does not wait. */
static int64_t passing_value(const hsa_amd_barrier_value_packet_t *packet)
{
    switch (packet->cond) {
    case HSA_SIGNAL_CONDITION_NE:
        return ~packet->value;
    case HSA_SIGNAL_CONDITION_LT:
        return packet->value - 1;
    default:
        return packet->value;
    }
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
    int error;

    if (!stream)
        return tsm_fail(TSM_E_FORMAT, "a packet without a queue");
    hsa_signal_wanted(hsa_signal_find(replay, hsa_slot(record, SLOT_aql_barrier_value_signal)),
                      passing_value(&packet));
    packet.completion_signal = completion ? completion->raw : (hsa_signal_t){0};
    error = set_head(&packet, 1u << HSA_PACKET_TYPE_VENDOR_SPECIFIC,
                     hsa_slot(record, SLOT_aql_barrier_value_header), HSA_AMD_FORMAT_BARRIER_VALUE);
    if (error)
        return error;
    if (completion)
        hsa_timing_sending(replay, record, stream, completion);
    hsa_signal_sent(completion);
    return hsa_stream_send(replay, stream, &packet);
}
