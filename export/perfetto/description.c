/* SPDX-License-Identifier: Apache-2.0 */
#include "export/perfetto/perfetto.h"

#include "base/text.h"
#include "export/perfetto/fields.h"
#include "export/protobuf.h"

#include <stdlib.h>

static void put_clock(struct tsm_perfetto *p, uint64_t id, uint64_t ns)
{
    tsm_proto_u64(&p->inner, CLOCK_OF_ID, id);
    tsm_proto_u64(&p->inner, CLOCK_TIMESTAMP, ns);
    tsm_proto_message(&p->event, SNAPSHOT_CLOCKS, &p->inner);
}

void tsm_perfetto_clocks(struct tsm_perfetto *p)
{
    const struct sbt_session *session = sbt_reader_session(p->source->reader);

    put_clock(p, CLOCK_ID_MONOTONIC, session->start_monotonic_ns);
    put_clock(p, CLOCK_ID_REALTIME, session->start_realtime_ns);
    tsm_proto_u64(&p->event, SNAPSHOT_PRIMARY, CLOCK_ID_MONOTONIC);
    tsm_packet_begin(&p->packets, TSM_NO_TIME);
    tsm_proto_message(&p->packets.packet, PACKET_CLOCK_SNAPSHOT, &p->event);
    tsm_proto_u64(&p->event, DEFAULTS_CLOCK_ID, CLOCK_ID_MONOTONIC);
    tsm_proto_message(&p->packets.packet, PACKET_DEFAULTS, &p->event);
    tsm_packet_end(&p->packets);
}

static void put_gpu(struct tsm_perfetto *p, unsigned device)
{
    static const char *const facts[] = {"memory", "multiprocessor_count",
                                        "compute_capability_major", "compute_capability_minor"};
    const char *name = tsm_event_device_fact(p->source, device, "name");

    tsm_proto_text(&p->inner, GPU_NAME, name ? name : "");
    for (size_t i = 0; i < sizeof(facts) / sizeof(*facts); i++) {
        const char *value = tsm_event_device_fact(p->source, device, facts[i]);

        if (!value)
            continue;
        tsm_proto_text(&p->deep, GPU_EXTRA_KEY, facts[i]);
        tsm_proto_text(&p->deep, GPU_EXTRA_VALUE, value);
        tsm_proto_message(&p->inner, GPU_EXTRA, &p->deep);
    }
    tsm_proto_message(&p->event, GPU_INFO_GPUS, &p->inner);
}

void tsm_perfetto_gpus(struct tsm_perfetto *p)
{
    const unsigned count = tsm_event_device_count(p->source);

    if (!count)
        return;
    for (unsigned i = 0; i < count; i++)
        put_gpu(p, i);
    tsm_packet_begin(&p->packets, TSM_NO_TIME);
    tsm_proto_message(&p->packets.packet, PACKET_GPU_INFO, &p->event);
    tsm_packet_end(&p->packets);
}

/* ---- our own fields ------------------------------------------------------------------------- */

static void begin_field(struct tsm_perfetto *p, const char *name, uint64_t number, uint64_t type)
{
    tsm_proto_text(&p->deep, FIELD_NAME, name);
    tsm_proto_u64(&p->deep, FIELD_NUMBER, number);
    tsm_proto_u64(&p->deep, FIELD_LABEL, LABEL_OPTIONAL);
    tsm_proto_u64(&p->deep, FIELD_TYPE, type);
}

static void put_field(struct tsm_perfetto *p, const char *name, uint64_t number, uint64_t type)
{
    begin_field(p, name, number, type);
    tsm_proto_message(&p->inner, MESSAGE_FIELD, &p->deep);
}

void tsm_perfetto_extension(struct tsm_perfetto *p)
{
    struct tsm_buffer file = {0};

    tsm_proto_text(&p->inner, MESSAGE_NAME, "TraceSmithEvent");
    put_field(p, "seq", OURS_SEQ, FIELD_IS_UINT64);
    put_field(p, "by_seq", OURS_BY, FIELD_IS_UINT64);
    put_field(p, "reason", OURS_REASON, FIELD_IS_STRING);
    begin_field(p, "tracesmith", EVENT_OURS, FIELD_IS_MESSAGE);
    tsm_proto_text(&p->deep, FIELD_EXTENDEE, ".perfetto.protos.TrackEvent");
    tsm_proto_text(&p->deep, FIELD_TYPE_NAME, ".perfetto.protos.TraceSmithEvent");
    tsm_proto_message(&p->inner, MESSAGE_EXTENSION, &p->deep);
    tsm_proto_text(&file, FILE_NAME, "tracesmith_event.proto");
    tsm_proto_text(&file, FILE_PACKAGE, "perfetto.protos");
    tsm_proto_message(&file, FILE_MESSAGE, &p->inner);
    tsm_proto_message(&p->deep, SET_FILE, &file);
    tsm_proto_message(&p->event, EXTENSION_SET, &p->deep);
    tsm_packet_begin(&p->packets, TSM_NO_TIME);
    tsm_proto_message(&p->packets.packet, PACKET_EXTENSION_DESCRIPTOR, &p->event);
    tsm_packet_end(&p->packets);
    tsm_buffer_finish(&file);
}
