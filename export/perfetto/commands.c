/* SPDX-License-Identifier: Apache-2.0 */
#include "export/perfetto/perfetto.h"

#include "base/hash.h"
#include "base/text.h"
#include "export/perfetto/fields.h"
#include "export/protobuf.h"
#include "tracesmith/error.h"

#include <stdlib.h>
#include <string.h>

static uint64_t context_of(struct tsm_perfetto *p, const struct tsm_command_node *c)
{
    bool added;
    const uint64_t iid =
        tsm_intern_key(&p->packets, TSM_INTERNED_CONTEXT,
                       c->owner ^ (uint64_t)SBT_TYPE_API(c->schema->type) << 56, &added);

    if (added) {
        tsm_proto_u64(&p->inner, CONTEXT_IID, iid);
        tsm_proto_u64(&p->inner, CONTEXT_PID, p->process);
        tsm_proto_u64(&p->inner, CONTEXT_API, (uint64_t)tsm_perfetto_api(c->schema->type));
        tsm_intern_message(&p->packets, TSM_INTERNED_CONTEXT, &p->inner);
    }
    return iid;
}

/* Returns the number of a queue, or of a stage. */
static uint64_t specification_of(struct tsm_perfetto *p, const char *name, int category)
{
    bool added;
    const uint64_t iid = tsm_intern_key(&p->packets, TSM_INTERNED_SPECIFICATION,
                                        tsm_hash64(name, strlen(name)), &added);

    if (added) {
        tsm_proto_u64(&p->inner, SPECIFICATION_IID, iid);
        tsm_proto_text(&p->inner, SPECIFICATION_NAME, name);
        tsm_proto_u64(&p->inner, SPECIFICATION_CATEGORY, (uint64_t)category);
        tsm_intern_message(&p->packets, TSM_INTERNED_SPECIFICATION, &p->inner);
    }
    return iid;
}

/* Returns the number of a stream's queue, or of what is inside of its submits. */
static uint64_t queue_of(struct tsm_perfetto *p, uint32_t stream, bool is_inside)
{
    bool added = false;
    uint64_t *place = tsm_map_insert(&p->queues, (uint64_t)is_inside << 32 | stream, &added);
    char name[64];

    if (place && !added)
        return *place;
    tsm_format(name, sizeof(name), "stream %u%s", stream, is_inside ? ": inside of submits" : "");
    if (!place)
        return specification_of(p, name, CATEGORY_OTHER);
    *place = specification_of(p, name, CATEGORY_OTHER);
    return *place;
}

static int category_of(enum tsm_work work)
{
    return work == TSM_WORK_KERNEL || work == TSM_WORK_GRAPH ? CATEGORY_COMPUTE
           : work == TSM_WORK_SUBMIT                         ? CATEGORY_GRAPHICS
                                                             : CATEGORY_OTHER;
}

static const char *architecture(const struct tsm_perfetto *p, char out[32],
                                const struct tsm_device *device)
{
    const char *major, *minor;

    if (device->type || !device->api)
        return NULL;
    major = tsm_event_device_fact(p->source, device->number, "compute_capability_major");
    minor = tsm_event_device_fact(p->source, device->number, "compute_capability_minor");
    if (!major || !minor)
        return NULL;
    tsm_format(out, 32, "sm_%lu%lu", strtoul(major, NULL, 10), strtoul(minor, NULL, 10));
    return out;
}

/* Numbers of a kernel: of itself, and of its name among those of events. */
struct kernel_number {
    uint64_t kernel, name;
};

static void put_kernel_names(struct tsm_perfetto *p, const struct tsm_command_node *c, uint64_t iid)
{
    struct tsm_kernel_names names;
    const char *arch;
    char space[32];

    if (!tsm_kernel_names_make(&names, p->source, c->kernel)) {
        if (!p->error)
            p->error = tsm_fail(TSM_E_MEMORY, "out of memory for names of kernels");
    } else {
        arch = architecture(p, space, &c->device);
        tsm_proto_u64(&p->inner, KERNEL_IID, iid);
        tsm_proto_text(&p->inner, KERNEL_NAME, names.mangled);
        tsm_proto_text(&p->inner, KERNEL_DEMANGLED, names.plain);
        if (arch)
            tsm_proto_text(&p->inner, KERNEL_ARCH, arch);
        tsm_intern_message(&p->packets, TSM_INTERNED_KERNEL, &p->inner);
        tsm_map_set(&p->kernels, iid,
                    tsm_intern_text(&p->packets, TSM_INTERNED_EVENT_NAME, names.own));
    }
    tsm_kernel_names_finish(&names);
}

static struct kernel_number kernel_of(struct tsm_perfetto *p, const struct tsm_command_node *c)
{
    struct kernel_number number;
    bool added;

    number.kernel =
        tsm_intern_key(&p->packets, TSM_INTERNED_KERNEL, (uint64_t)(uintptr_t)c->kernel, &added);
    if (added)
        put_kernel_names(p, c, number.kernel);
    number.name = tsm_map_get(&p->kernels, number.kernel, 0);
    return number;
}

static void put_dimensions(struct tsm_perfetto *p, uint32_t field, const uint32_t size[3])
{
    for (uint32_t i = 0; i < 3; i++)
        tsm_proto_u64(&p->deep, DIM_X + i, size[i]);
    tsm_proto_message(&p->inner, field, &p->deep);
}

static void put_argument(struct tsm_perfetto *p, uint64_t *known, const char *name, uint64_t value)
{
    tsm_proto_u64(&p->deep, ARGUMENT_NAME_IID,
                  tsm_perfetto_text(p, known, TSM_INTERNED_ARGUMENT, name));
    tsm_proto_u64(&p->deep, ARGUMENT_UINT, value);
    tsm_proto_message(&p->inner, LAUNCH_ARGUMENTS, &p->deep);
}

static void put_launch(struct tsm_perfetto *p, const struct tsm_command_node *c)
{
    put_dimensions(p, LAUNCH_GRID, c->grid);
    put_dimensions(p, LAUNCH_WORKGROUP, c->block);
    put_argument(p, &p->known.device, "device", tsm_device_number(&p->devices, &c->device));
    put_argument(p, &p->known.stream, "stream", c->stream);
    put_argument(p, &p->known.shared, "shared_mem_dynamic", c->shared_size);
    put_argument(p, &p->known.arg_seq, "seq", c->seq);
    tsm_proto_message(&p->event, STAGE_LAUNCH, &p->inner);
}

static void put_extra(struct tsm_perfetto *p, const char *name, const char *value)
{
    tsm_proto_text(&p->inner, EXTRA_NAME, name);
    tsm_proto_text(&p->inner, EXTRA_VALUE, value);
    tsm_proto_message(&p->event, STAGE_EXTRA, &p->inner);
}

static void put_extra_number(struct tsm_perfetto *p, const char *name, uint64_t value)
{
    char text[32];

    tsm_format(text, sizeof(text), "%llu", (unsigned long long)value);
    put_extra(p, name, text);
}

/* Says how a time is known, unless it is measured on the host's clock. */
static void put_certainty(struct tsm_perfetto *p, const struct tsm_span *span)
{
    if (span->kind != TSM_TIME_MEASURED)
        put_extra(p, "time", tsm_time_kind_name(span->kind));
    if (span->axis != TSM_AXIS_HOST)
        put_extra(p, "clock", tsm_time_axis_name(span->axis));
    if (span->is_at_most)
        put_extra(p, "duration", "at most");
    if (span->error_ns)
        put_extra_number(p, "error_ns", span->error_ns);
}

static void put_moved(struct tsm_perfetto *p, const struct tsm_command_node *c)
{
    put_extra_number(p, "bytes", c->bytes);
    if (c->work == TSM_WORK_COPY)
        put_extra(p, "from", tsm_place_name(c->from));
    put_extra(p, "to", tsm_place_name(c->to));
}

static void put_waits(struct tsm_perfetto *p, uint64_t seq)
{
    uint64_t waited;

    while (tsm_waits_take(&p->waits, seq, &waited))
        tsm_proto_u64(&p->event, STAGE_WAIT_IDS, tsm_perfetto_event_id(waited));
}

/* Begins a stage in p->event: when it ran, and where. */
static void begin_stage(struct tsm_perfetto *p, const struct tsm_command_node *c,
                        const struct tsm_span *span, uint64_t id)
{
    tsm_packet_begin(&p->packets, tsm_perfetto_at(p, span->start_ns));
    tsm_proto_u64(&p->event, STAGE_EVENT_ID, id);
    tsm_proto_u64(&p->event, STAGE_DURATION, tsm_span_ns(span));
    tsm_proto_u64(&p->event, STAGE_CONTEXT, context_of(p, c));
    tsm_proto_u64(&p->event, STAGE_SUBMISSION_ID, (uint32_t)c->seq);
    tsm_proto_u64(&p->event, STAGE_GPU_ID, tsm_device_number(&p->devices, &c->device));
}

static void end_stage(struct tsm_perfetto *p)
{
    tsm_proto_message(&p->packets.packet, PACKET_RENDER_STAGE, &p->event);
    tsm_packet_end(&p->packets);
}

static void put_stage(struct tsm_perfetto *p, const struct tsm_command_node *c)
{
    const uint64_t id = tsm_perfetto_event_id(c->seq) | (uint64_t)c->part << 40;
    const struct kernel_number kernel =
        c->work == TSM_WORK_KERNEL ? kernel_of(p, c) : (struct kernel_number){0};

    begin_stage(p, c, &c->gpu, id);
    tsm_proto_u64(&p->event, STAGE_QUEUE_IID, queue_of(p, c->stream, false));
    if (!p->known.stages[c->work])
        p->known.stages[c->work] =
            specification_of(p, tsm_work_name(c->work), category_of(c->work));
    tsm_proto_u64(&p->event, STAGE_STAGE_IID, p->known.stages[c->work]);
    tsm_proto_u64(&p->event, STAGE_NAME_IID,
                  kernel.name ? kernel.name : tsm_perfetto_call(p, c->schema->type, c->schema));
    if (!c->part)
        put_waits(p, c->seq);
    if (kernel.kernel) {
        tsm_proto_u64(&p->event, STAGE_KERNEL_IID, kernel.kernel);
        put_launch(p, c);
    } else {
        put_extra_number(p, "seq", c->seq);
    }
    if (c->work == TSM_WORK_COPY || c->work == TSM_WORK_FILL)
        put_moved(p, c);
    if (c->label)
        put_extra(p, "label", tsm_event_clean(p->source, c->label));
    put_certainty(p, &c->gpu);
    end_stage(p);
}

int tsm_perfetto_command(void *user, const struct tsm_command_node *c)
{
    struct tsm_perfetto *p = user;
    uint64_t waited;

    if (c->run) {
        p->counts->rerun_count++;
        return 0;
    }
    if (c->work == TSM_WORK_ORDER)
        return 0;
    if (c->gpu.kind == TSM_TIME_UNKNOWN) {
        p->counts->untimed_count++;
        while (tsm_waits_take(&p->waits, c->seq, &waited))
            continue;
        return 0;
    }
    p->counts->command_count++;
    p->counts->displaced_count += c->gpu.axis != TSM_AXIS_HOST;
    put_stage(p, c);
    return p->error;
}

/* Ids of commands inside of submits: above all others. */
#define INNER_ID (UINT64_C(1) << 60)

int tsm_perfetto_inner(void *user, const struct tsm_inner_node *inner)
{
    struct tsm_perfetto *p = user;

    if (inner->outer->run || inner->gpu.kind == TSM_TIME_UNKNOWN)
        return 0;
    begin_stage(p, inner->outer, &inner->gpu, INNER_ID + p->inner_count++);
    tsm_proto_u64(&p->event, STAGE_QUEUE_IID, queue_of(p, inner->outer->stream, true));
    tsm_proto_u64(&p->event, STAGE_STAGE_IID,
                  specification_of(p, tsm_work_name(inner->work), CATEGORY_GRAPHICS));
    tsm_proto_u64(&p->event, STAGE_NAME_IID,
                  tsm_intern_text(&p->packets, TSM_INTERNED_EVENT_NAME,
                                  tsm_event_clean(p->source, inner->name)));
    put_extra_number(p, "seq", inner->outer->seq);
    put_extra_number(p, "buffer", inner->buffer);
    put_extra_number(p, "command", inner->command);
    put_certainty(p, &inner->gpu);
    end_stage(p);
    return 0;
}
