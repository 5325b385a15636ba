/* SPDX-License-Identifier: Apache-2.0
 *
 * A packet as a record. Its memory is ours by now: the program has rung for it.
 */
#include "api/hsa/source/source.h"

#include "api/hsa/source/encode.h"

#include <string.h>

#define PACKET_SIZE 64u

static uint32_t type_of(uint16_t header)
{
    return header >> HSA_PACKET_HEADER_TYPE & ((1u << HSA_PACKET_HEADER_WIDTH_TYPE) - 1);
}

static bool is_in_order(uint16_t header)
{
    return header >> HSA_PACKET_HEADER_BARRIER & 1;
}

/* Arguments of a kernel. */
struct given {
    const void *words;
    size_t size;
    bool in_order;
};

/* Others who look at memory must know what is given before the command has its place: a result that
 * has its own after that is of a time when they do. */
static bool begin_with(struct tsm_call *call, uint32_t type, struct tsm_stream *stream,
                       const struct tsm_origin *origin, const struct given *given)
{
    if (!tsm_call_begin_at(call, type, origin))
        return false;
    tsm_call_on_stream(call, stream, TSM_ENQUEUES);
    if (given)
        hsa_memory_given(given->words, given->size, call, given->in_order);
    tsm_call_returned(call, 0, false);
    return true;
}

static bool begin(struct tsm_call *call, uint32_t type, struct tsm_stream *stream,
                  const struct tsm_origin *origin)
{
    return begin_with(call, type, stream, origin, NULL);
}

static void record_dispatch(struct tsm_stream *stream, const struct tsm_origin *origin,
                            const hsa_kernel_dispatch_packet_t *packet)
{
    const struct tsm_handle *kernel = hsa_find(HSA_OBJECT_KERNEL, packet->kernel_object);
    size_t size = kernel && packet->kernarg_address ? (size_t)(uintptr_t)kernel->user : 0;
    const struct given given = {packet->kernarg_address, size, is_in_order(packet->header)};
    struct tsm_call call;
    uint64_t *slots;
    bool has_news;

    has_news = hsa_memory_reveal(packet->kernarg_address, size);
    has_news |= hsa_uses_begin(packet->kernarg_address, size);
    if (has_news)
        tsm_hostmem_publish();
    hsa_signal_counted(packet->completion_signal);
    if (!begin_with(&call, TYPE_aql_kernel_dispatch, stream, origin, &given))
        return;
    slots = tsm_call_slots(&call, 11);
    slots[0] = kernel ? kernel->id : 0;
    slots[1] = kernel ? kernel->name : 0;
    slots[2] = packet->grid_size_x;
    slots[3] = packet->grid_size_y;
    slots[4] = packet->grid_size_z;
    slots[5] = packet->workgroup_size_x;
    slots[6] = packet->workgroup_size_y;
    slots[7] = packet->workgroup_size_z;
    slots[8] = packet->group_segment_size;
    slots[9] = packet->private_segment_size;
    slots[10] = HSA_SLOT(packet->kernarg_address);
    tsm_call_bytes(&call, packet->kernarg_address, size);
    tsm_call_slot(&call, hsa_signal_id(packet->completion_signal));
    tsm_call_slot(&call, packet->header);
    tsm_call_slot(&call, packet->setup);
    if (!kernel)
        tsm_call_flag(&call, SBT_RECORD_TRUNCATED | SBT_RECORD_TAINTS);
    hsa_completes(&call, packet->completion_signal, given.in_order, false);
    hsa_count_arguments(&call, packet->kernarg_address, size);
    tsm_call_commit(&call);
}

static unsigned dep_count(const hsa_barrier_and_packet_t *packet)
{
    unsigned count = 0;

    for (unsigned i = 0; i < 5; i++)
        count += packet->dep_signal[i].handle != 0;
    return count;
}

static void record_barrier(struct tsm_stream *stream, const struct tsm_origin *origin,
                           uint32_t type, const hsa_barrier_and_packet_t *packet)
{
    struct tsm_call call;

    for (unsigned i = 0; i < 5; i++)
        hsa_signal_awaited(&HSA_WAIT_FOR_0(packet->dep_signal[i]));
    hsa_signal_counted(packet->completion_signal);
    if (!begin(&call, type, stream, origin))
        return;
    for (unsigned i = 0; i < 5; i++)
        tsm_call_slot(&call, hsa_signal_id(packet->dep_signal[i]));
    /* Any one of several signals lets it go on: none is the gate. */
    for (unsigned i = 0; i < 5; i++)
        hsa_count_awaits(&call, &HSA_WAIT_FOR_0(packet->dep_signal[i]),
                         type == TYPE_aql_barrier_and || dep_count(packet) < 2);
    if (type == TYPE_aql_barrier_and)
        hsa_count_follows(&call, 5, packet->dep_signal, false);
    else
        tsm_stream_holds(call.stream, call.position);
    tsm_call_slot(&call, hsa_signal_id(packet->completion_signal));
    tsm_call_slot(&call, packet->header);
    hsa_completes(&call, packet->completion_signal, is_in_order(packet->header), false);
    tsm_call_commit(&call);
}

static void record_value(struct tsm_stream *stream, const struct tsm_origin *origin,
                         const hsa_amd_barrier_value_packet_t *packet)
{
    const struct hsa_wait wait = {packet->signal, packet->cond, packet->value, packet->mask};
    struct tsm_call call;
    uint16_t header;

    memcpy(&header, packet, sizeof(header));
    hsa_signal_awaited(&wait);
    hsa_signal_counted(packet->completion_signal);
    if (!begin(&call, TYPE_aql_barrier_value, stream, origin))
        return;
    tsm_call_slot(&call, hsa_signal_id(packet->signal));
    tsm_call_slot(&call, (uint64_t)packet->value);
    tsm_call_slot(&call, (uint64_t)packet->mask);
    tsm_call_slot(&call, packet->cond);
    hsa_count_awaits(&call, &wait, true);
    tsm_stream_holds(call.stream, call.position);
    tsm_call_slot(&call, hsa_signal_id(packet->completion_signal));
    tsm_call_slot(&call, header);
    hsa_completes(&call, packet->completion_signal, is_in_order(header), false);
    tsm_call_commit(&call);
}

void hsa_packet_append_function(struct tsm_call *call, const hsa_agent_dispatch_packet_t *packet)
{
    tsm_call_slot(call, packet->type);
    tsm_call_slot(call, HSA_SLOT(packet->return_address));
    for (unsigned i = 0; i < 4; i++)
        tsm_call_slot(call, packet->arg[i]);
    tsm_call_slot(call, hsa_signal_id(packet->completion_signal));
    tsm_call_slot(call, packet->header);
}

/* Any of its words may be an address that it reads or writes. */
static void record_agent_dispatch(struct tsm_stream *stream, bool is_software,
                                  const struct tsm_origin *origin,
                                  const hsa_agent_dispatch_packet_t *packet)
{
    const uint8_t *words =
        (const uint8_t *)packet + offsetof(hsa_agent_dispatch_packet_t, return_address);
    size_t size = sizeof(packet->return_address) + sizeof(packet->arg);
    const struct given given = {words, size, is_in_order(packet->header)};
    struct tsm_call call;
    bool has_news;

    has_news = hsa_memory_reveal(words, size);
    has_news |= hsa_uses_begin(words, size);
    if (has_news)
        tsm_hostmem_publish();
    hsa_signal_counted(packet->completion_signal);
    if (!begin_with(&call, TYPE_aql_agent_dispatch, stream, origin, &given))
        return;
    hsa_packet_append_function(&call, packet);
    tsm_stream_holds(call.stream, call.position);
    if (!is_software)
        tsm_call_flag(&call, SBT_RECORD_TAINTS);
    hsa_completes(&call, packet->completion_signal, given.in_order, false);
    tsm_call_commit(&call);
}

/* Packets of vendors: what they do is not known. */
static void record_other(struct tsm_stream *stream, const struct tsm_origin *origin,
                         uint16_t header, const void *packet)
{
    struct tsm_call call;

    if (!begin(&call, TYPE_aql_other, stream, origin))
        return;
    tsm_call_slot(&call, header);
    tsm_call_bytes(&call, packet, PACKET_SIZE);
    tsm_call_flag(&call, SBT_RECORD_TAINTS);
    tsm_call_commit(&call);
}

void hsa_packet_record(struct tsm_stream *stream, bool is_software, const struct tsm_origin *origin,
                       const void *packet)
{
    const hsa_amd_barrier_value_packet_t *value = packet;
    uint16_t header;

    memcpy(&header, packet, sizeof(header));
    switch (type_of(header)) {
    case HSA_PACKET_TYPE_KERNEL_DISPATCH:
        record_dispatch(stream, origin, packet);
        break;
    case HSA_PACKET_TYPE_BARRIER_AND:
        record_barrier(stream, origin, TYPE_aql_barrier_and, packet);
        break;
    case HSA_PACKET_TYPE_BARRIER_OR:
        record_barrier(stream, origin, TYPE_aql_barrier_or, packet);
        break;
    case HSA_PACKET_TYPE_AGENT_DISPATCH:
        record_agent_dispatch(stream, is_software, origin, packet);
        break;
    default:
        if (type_of(header) == HSA_PACKET_TYPE_VENDOR_SPECIFIC &&
            value->header.AmdFormat == HSA_AMD_FORMAT_BARRIER_VALUE)
            record_value(stream, origin, value);
        else
            record_other(stream, origin, header, packet);
        break;
    }
}
