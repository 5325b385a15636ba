/* SPDX-License-Identifier: Apache-2.0 */
#include "export/perfetto/perfetto.h"

#include "base/hash.h"
#include "base/text.h"
#include "export/perfetto/fields.h"
#include "export/protobuf.h"
#include "format/json.h"

#include <string.h>

/* ---- times, texts, tracks ------------------------------------------------------------------- */

uint64_t tsm_perfetto_at(const struct tsm_perfetto *p, int64_t ns)
{
    return ns < 0 && (uint64_t)-ns > p->start_ns ? 0 : p->start_ns + (uint64_t)ns;
}

uint64_t tsm_perfetto_track(const struct tsm_perfetto *p, enum track_kind kind, uint64_t number)
{
    const uint64_t parts[] = {p->base, kind, number};

    return tsm_hash64(parts, sizeof(parts)) | 1;
}

/* Begins the descriptor of a track in p->event. */
static void begin_track(struct tsm_perfetto *p, enum track_kind kind, uint64_t number,
                        const char *name)
{
    tsm_proto_u64(&p->event, TRACK_UUID, tsm_perfetto_track(p, kind, number));
    if (name)
        tsm_proto_text(&p->event, TRACK_NAME, name);
}

static void end_track(struct tsm_perfetto *p)
{
    tsm_packet_begin(&p->packets, TSM_NO_TIME);
    tsm_proto_message(&p->packets.packet, PACKET_TRACK_DESCRIPTOR, &p->event);
    tsm_packet_end(&p->packets);
}

void tsm_perfetto_process(struct tsm_perfetto *p)
{
    begin_track(p, OF_PROCESS, 0, NULL);
    tsm_proto_u64(&p->inner, PROCESS_PID, p->process);
    tsm_proto_text(&p->inner, PROCESS_NAME, tsm_event_program(p->source));
    tsm_proto_message(&p->event, TRACK_PROCESS, &p->inner);
    end_track(p);
}

void tsm_perfetto_name_thread(struct tsm_perfetto *p, uint32_t thread, const char *name)
{
    begin_track(p, OF_THREAD, thread, NULL);
    tsm_proto_u64(&p->inner, THREAD_PID, p->process);
    tsm_proto_u64(&p->inner, THREAD_TID, thread);
    if (name)
        tsm_proto_text(&p->inner, THREAD_NAME, name);
    tsm_proto_message(&p->event, TRACK_THREAD, &p->inner);
    end_track(p);
}

void tsm_perfetto_child(struct tsm_perfetto *p, enum track_kind kind, uint64_t number,
                        const char *name)
{
    begin_track(p, kind, number, name);
    tsm_proto_u64(&p->event, TRACK_PARENT, tsm_perfetto_track(p, OF_PROCESS, 0));
    if (kind == OF_COUNTER) {
        tsm_proto_u64(&p->inner, COUNTER_UNIT, UNIT_BYTES);
        tsm_proto_message(&p->event, TRACK_COUNTER, &p->inner);
    }
    if (kind == OF_STATES)
        tsm_proto_bytes(&p->event, TRACK_STATE, NULL, 0);
    end_track(p);
}

uint64_t tsm_perfetto_thread(struct tsm_perfetto *p, uint32_t thread)
{
    bool added;

    tsm_number_of(&p->threads, thread, &added);
    if (added)
        tsm_perfetto_name_thread(p, thread, NULL);
    return tsm_perfetto_track(p, OF_THREAD, thread);
}

uint64_t tsm_perfetto_text(struct tsm_perfetto *p, uint64_t *known, enum tsm_interned table,
                           const char *text)
{
    if (!*known)
        *known = tsm_intern_text(&p->packets, table, text);
    return *known;
}

uint64_t tsm_perfetto_call(struct tsm_perfetto *p, uint32_t type, const struct sbt_schema *schema)
{
    bool added = false;
    uint64_t *place = tsm_map_insert(&p->call_names, type, &added);

    if (place && !added)
        return *place;
    if (!place)
        return tsm_intern_text(&p->packets, TSM_INTERNED_EVENT_NAME, "call");
    *place = tsm_intern_text(&p->packets, TSM_INTERNED_EVENT_NAME,
                             tsm_event_clean(p->source, schema ? schema->name : "unknown call"));
    return *place;
}

uint64_t tsm_perfetto_event_id(uint64_t seq)
{
    return seq + 1;
}

int tsm_perfetto_api(uint32_t type)
{
    char space[16];
    const char *name = sbt_api_name(SBT_TYPE_API(type), space);

    return strcmp(name, "cuda") == 0     ? GPU_API_CUDA
           : strcmp(name, "vulkan") == 0 ? GPU_API_VULKAN
           : strcmp(name, "hip") == 0    ? GPU_API_HIP
                                         : 0;
}

/* ---- stacks --------------------------------------------------------------------------------- */

static uint64_t mapping_of(struct tsm_perfetto *p, const char *module)
{
    bool added;
    const uint64_t iid = tsm_intern_key(&p->packets, TSM_INTERNED_MAPPING,
                                        tsm_hash64(module, strlen(module)), &added);

    if (added) {
        tsm_proto_u64(&p->deep, MAPPING_IID, iid);
        tsm_proto_u64(&p->deep, MAPPING_PATH_IDS,
                      tsm_intern_text(&p->packets, TSM_INTERNED_PATH, module));
        tsm_intern_message(&p->packets, TSM_INTERNED_MAPPING, &p->deep);
    }
    return iid;
}

static uint64_t frame_of(struct tsm_perfetto *p, uint64_t address)
{
    bool added;
    const uint64_t iid = tsm_intern_key(&p->packets, TSM_INTERNED_FRAME, address, &added);
    struct tsm_frame_text text = {0};
    uint64_t function, mapping, source;
    char unknown[32];

    if (!added)
        return iid;
    p->source->names->find(p->source->names->user, address, &text);
    tsm_format(unknown, sizeof(unknown), "0x%llx", (unsigned long long)address);
    function = tsm_intern_text(&p->packets, TSM_INTERNED_FUNCTION,
                               text.function ? text.function : unknown);
    mapping = text.module ? mapping_of(p, text.module) : 0;
    source = text.file ? tsm_intern_text(&p->packets, TSM_INTERNED_SOURCE, text.file) : 0;
    tsm_proto_u64(&p->deep, FRAME_IID, iid);
    tsm_proto_u64(&p->deep, FRAME_FUNCTION, function);
    if (mapping) {
        tsm_proto_u64(&p->deep, FRAME_MAPPING, mapping);
        tsm_proto_u64(&p->deep, FRAME_REL_PC, text.offset);
    }
    if (source) {
        tsm_proto_u64(&p->deep, FRAME_SOURCE, source);
        tsm_proto_u64(&p->deep, FRAME_LINE, text.line);
    }
    tsm_intern_message(&p->packets, TSM_INTERNED_FRAME, &p->deep);
    return iid;
}

uint64_t tsm_perfetto_stack(struct tsm_perfetto *p, uint32_t stack)
{
    const uint64_t *frames;
    bool added = false;
    uint64_t iid;
    int count = stack ? sbt_reader_stack(p->source->reader, stack, &frames) : 0;

    if (count <= 0)
        return 0;
    iid = tsm_intern_key(&p->packets, TSM_INTERNED_CALLSTACK, stack, &added);
    if (!added)
        return iid;
    tsm_proto_u64(&p->inner, CALLSTACK_IID, iid);
    for (int i = count; i-- > 0;)
        tsm_proto_u64(&p->inner, CALLSTACK_FRAMES, frame_of(p, frames[i]));
    tsm_intern_message(&p->packets, TSM_INTERNED_CALLSTACK, &p->inner);
    return iid;
}
