/* SPDX-License-Identifier: Apache-2.0
 *
 * A trace for Perfetto (ui.perfetto.dev, trace_processor): calls of the host as slices of their
 * threads, commands as render stages of their queue, with arrows from the call and from what they
 * waited for, labels, memory as counters, stacks. Times are on CLOCK_MONOTONIC.
 */
#include "export/perfetto/perfetto.h"

#include "base/hash.h"
#include "base/text.h"
#include "export/perfetto/fields.h"
#include "export/protobuf.h"
#include "format/json.h"
#include "tracesmith/error.h"

#include <stdlib.h>
#include <string.h>

/* ---- events of the host --------------------------------------------------------------------- */

static void begin_event(struct tsm_perfetto *p, int type, uint64_t track)
{
    tsm_proto_u64(&p->event, EVENT_TYPE, (uint64_t)type);
    tsm_proto_u64(&p->event, EVENT_TRACK_UUID, track);
}

static void end_event(struct tsm_perfetto *p)
{
    tsm_proto_message(&p->packets.packet, PACKET_TRACK_EVENT, &p->event);
    tsm_packet_end(&p->packets);
}

static void put_category(struct tsm_perfetto *p, const char *category)
{
    tsm_proto_u64(&p->event, EVENT_CATEGORY_IIDS,
                  tsm_intern_text(&p->packets, TSM_INTERNED_CATEGORY, category));
}

static void put_api_category(struct tsm_perfetto *p, uint32_t api)
{
    char space[16];
    const char *name = sbt_api_name(api, space);

    if (api >= sizeof(p->known.categories) / sizeof(*p->known.categories))
        put_category(p, name);
    else
        tsm_proto_u64(&p->event, EVENT_CATEGORY_IIDS,
                      tsm_perfetto_text(p, &p->known.categories[api], TSM_INTERNED_CATEGORY, name));
}

static void put_seq(struct tsm_perfetto *p, uint64_t seq)
{
    tsm_proto_u64(&p->inner, ANNOTATION_NAME_IID,
                  tsm_perfetto_text(p, &p->known.seq, TSM_INTERNED_ANNOTATION, "seq"));
    tsm_proto_u64(&p->inner, ANNOTATION_UINT, seq);
    tsm_proto_message(&p->event, EVENT_ANNOTATIONS, &p->inner);
}

static void put_result(struct tsm_perfetto *p, int64_t result)
{
    tsm_proto_u64(&p->inner, ANNOTATION_NAME_IID,
                  tsm_intern_text(&p->packets, TSM_INTERNED_ANNOTATION, "result"));
    tsm_proto_u64(&p->inner, ANNOTATION_INT, (uint64_t)result);
    tsm_proto_message(&p->event, EVENT_ANNOTATIONS, &p->inner);
}

static void put_call(struct tsm_perfetto *p, const struct tsm_call_node *call, bool is_work)
{
    const struct sbt_record *record = call->record;
    const uint64_t track = tsm_perfetto_thread(p, record->thread);
    uint64_t stack;

    tsm_packet_begin(&p->packets, tsm_perfetto_at(p, (int64_t)record->time_ns));
    begin_event(p, TYPE_BEGIN, track);
    tsm_proto_u64(&p->event, EVENT_NAME_IID, tsm_perfetto_call(p, record->type, call->schema));
    put_api_category(p, SBT_TYPE_API(record->type));
    put_seq(p, record->seq);
    if (record->flags & SBT_RECORD_FAILED)
        put_result(p, record->result);
    stack = tsm_perfetto_stack(p, record->stack);
    if (stack)
        tsm_proto_u64(&p->event, EVENT_CALLSTACK_IID, stack);
    if (is_work) {
        tsm_proto_u64(&p->inner, CORRELATION_SUBMISSION_IDS, tsm_perfetto_event_id(record->seq));
        tsm_proto_message(&p->event, EVENT_GPU_CORRELATION, &p->inner);
    }
    end_event(p);
    tsm_packet_begin(&p->packets,
                     tsm_perfetto_at(p, (int64_t)(record->time_ns + record->duration_ns)));
    begin_event(p, TYPE_END, track);
    end_event(p);
}

static int visit_call(void *user, const struct tsm_call_node *call)
{
    struct tsm_perfetto *p = user;
    const bool is_work = call->is_command && call->work != TSM_WORK_ORDER;
    const int error = tsm_waits_note(&p->waits, call, is_work);

    p->counts->call_count++;
    if (!error)
        put_call(p, call, is_work);
    return error;
}

/* ---- labels, memory ------------------------------------------------------------------------- */

static void put_label_event(struct tsm_perfetto *p, int type, uint64_t track, uint64_t ns,
                            const char *name, uint64_t seq)
{
    tsm_packet_begin(&p->packets, tsm_perfetto_at(p, (int64_t)ns));
    begin_event(p, type, track);
    if (type != TYPE_END) {
        tsm_proto_u64(&p->event, EVENT_NAME_IID,
                      tsm_intern_text(&p->packets, TSM_INTERNED_EVENT_NAME,
                                      tsm_event_clean(p->source, name)));
        put_category(p, "label");
        put_seq(p, seq);
    }
    end_event(p);
}

/* Returns a track of labels that is free then. */
static uint64_t lane_of(struct tsm_perfetto *p, const struct tsm_range_event *range)
{
    uint32_t lane = 0;

    while (lane < LANE_MAX - 1 && lane < p->lane_count && p->lane_end_ns[lane] > range->start_ns)
        lane++;
    if (lane >= p->lane_count) {
        p->lane_count = lane + 1;
        tsm_perfetto_child(p, OF_LABELS, lane, "labels");
    }
    p->lane_end_ns[lane] = range->end_ns;
    return tsm_perfetto_track(p, OF_LABELS, lane);
}

static void put_range(struct tsm_perfetto *p, const struct tsm_range_event *range)
{
    const uint64_t track = lane_of(p, range);

    p->counts->mark_count++;
    put_label_event(p, TYPE_BEGIN, track, range->start_ns, range->name, range->seq);
    if (!range->is_open)
        put_label_event(p, TYPE_END, track, range->end_ns, NULL, 0);
}

/* Labels of a thread are slices of its track, as its calls are. */
static int visit_mark(void *user, const struct tsm_mark_node *mark)
{
    static const int types[] = {
        [TSM_MARK_POINT] = TYPE_INSTANT, [TSM_MARK_BEGIN] = TYPE_BEGIN, [TSM_MARK_END] = TYPE_END};
    struct tsm_perfetto *p = user;
    struct tsm_range_event range;
    int result;

    if (mark->phase == TSM_MARK_POINT || !mark->id) {
        p->counts->mark_count += mark->phase != TSM_MARK_END;
        put_label_event(p, types[mark->phase], tsm_perfetto_thread(p, mark->thread), mark->time_ns,
                        mark->name, mark->seq);
        return 0;
    }
    result = tsm_ranges_note(&p->ranges, &range, mark);
    if (result == 1)
        put_range(p, &range);
    return result < 0 ? result : 0;
}

static int visit_memory(void *user, const struct tsm_memory_node *change)
{
    struct tsm_perfetto *p = user;
    uint64_t *held = &p->held[change->place];
    char name[64];

    if (!(p->counters & 1u << change->place)) {
        p->counters |= 1u << change->place;
        tsm_format(name, sizeof(name), "memory: %s", tsm_place_name(change->place));
        tsm_perfetto_child(p, OF_COUNTER, change->place, name);
    }
    p->counts->memory_count++;
    *held = !change->is_free       ? *held + change->size
            : *held > change->size ? *held - change->size
                                   : 0;
    tsm_packet_begin(&p->packets, tsm_perfetto_at(p, (int64_t)change->time_ns));
    begin_event(p, TYPE_COUNTER, tsm_perfetto_track(p, OF_COUNTER, change->place));
    tsm_proto_u64(&p->event, EVENT_COUNTER_VALUE, *held);
    end_event(p);
    return 0;
}

/* ---- records of the recorder ---------------------------------------------------------------- */

static void put_finding(struct tsm_perfetto *p, uint64_t ns, const char *text)
{
    if (!p->has_findings)
        tsm_perfetto_child(p, OF_FINDINGS, 0, "findings");
    p->has_findings = true;
    put_label_event(p, TYPE_INSTANT, tsm_perfetto_track(p, OF_FINDINGS, 0), ns, text, 0);
}

static int visit_core(void *user, const struct sbt_record *record)
{
    struct tsm_perfetto *p = user;
    const uint32_t call = SBT_TYPE_CALL(record->type);
    char text[128];

    if (call == SBT_CORE_THREAD && record->slot_count) {
        tsm_number_of(&p->threads, record->thread, NULL);
        tsm_perfetto_name_thread(
            p, record->thread,
            tsm_event_clean(p->source,
                            sbt_reader_string(p->source->reader, (uint32_t)record->slots[0])));
    } else if (call == SBT_CORE_LOST && record->slot_count) {
        tsm_format(text, sizeof(text), "%llu records were lost",
                   (unsigned long long)record->slots[0]);
        put_finding(p, record->time_ns, text);
    } else if (call == SBT_CORE_STOPPED) {
        put_finding(p, record->time_ns, "recording was stopped here");
    }
    return tsm_waits_note_core(&p->waits, record);
}

/* ---- states --------------------------------------------------------------------------------- */

static void put_state(struct tsm_perfetto *p, uint64_t track, const struct tsm_state_event *state)
{
    char name[96];

    tsm_format(name, sizeof(name), "%s%s%s", state->state, state->reason ? ": " : "",
               state->reason ? state->reason : "");
    tsm_packet_begin(&p->packets, tsm_perfetto_at(p, (int64_t)state->begin_ns));
    begin_event(p, TYPE_STATE, track);
    tsm_proto_u64(&p->event, EVENT_NAME_IID,
                  tsm_intern_text(&p->packets, TSM_INTERNED_EVENT_NAME, name));
    put_category(p, "state");
    if (state->has_command)
        tsm_proto_u64(&p->inner, OURS_SEQ, state->command);
    if (state->has_by)
        tsm_proto_u64(&p->inner, OURS_BY, state->by);
    if (state->reason)
        tsm_proto_text(&p->inner, OURS_REASON, state->reason);
    tsm_proto_message(&p->event, EVENT_OURS, &p->inner);
    end_event(p);
}

static void put_states(struct tsm_perfetto *p)
{
    const struct tsm_state_source *states = p->source->states;
    struct tsm_finding_event finding;
    struct tsm_state_event state;
    uint64_t subject, last = 0;

    while (states->next_state(states->user, &state)) {
        subject = tsm_hash64(state.subject, strlen(state.subject));
        if (subject != last) {
            char name[128];

            tsm_format(name, sizeof(name), "state of %s", state.subject);
            tsm_perfetto_child(p, OF_STATES, subject, name);
        }
        last = subject;
        p->counts->state_count++;
        put_state(p, tsm_perfetto_track(p, OF_STATES, subject), &state);
    }
    while (states->next_finding(states->user, &finding))
        put_finding(p, finding.ns, finding.text);
}

/* ---- the whole ------------------------------------------------------------------------------ */

static void put_end(struct tsm_perfetto *p)
{
    const uint64_t last_ns = p->counts->model.last_ns > 0 ? (uint64_t)p->counts->model.last_ns : 0;
    struct sbt_reader *reader = p->source->reader;
    struct tsm_range_event range;
    struct sbt_missing missing;

    while (tsm_ranges_take_open(&p->ranges, &range, last_ns))
        put_range(p, &range);
    if (p->source->states)
        put_states(p);
    for (size_t i = 0; i < sbt_reader_damage_count(reader); i++)
        put_finding(p, 0, tsm_event_clean(p->source, sbt_reader_damage(reader, i)));
    sbt_reader_missing(reader, 0, &missing);
    if (missing.end)
        put_finding(p, last_ns, "the trace has no end: what was recorded last may be missing");
}

static int finish(struct tsm_perfetto *p, int error)
{
    const int failed = tsm_packets_finish(&p->packets);

    tsm_waits_finish(&p->waits);
    tsm_ranges_finish(&p->ranges);
    tsm_map_finish(&p->call_names);
    tsm_map_finish(&p->kernels);
    tsm_map_finish(&p->queues);
    tsm_map_finish(&p->threads.numbers);
    tsm_buffer_finish(&p->event);
    tsm_buffer_finish(&p->inner);
    tsm_buffer_finish(&p->deep);
    return error ? error : failed;
}

int tsm_export_perfetto(struct tsm_event_counts *out, FILE *file,
                        const struct tsm_event_source *source)
{
    const struct sbt_session *session = sbt_reader_session(source->reader);
    struct tsm_perfetto p = {.source = source,
                             .counts = out,
                             .packets = {.out = file, .is_plain = source->is_plain},
                             .waits = {.dependencies = {.reader = source->reader}},
                             .base = tsm_hash64(session->id, sizeof(session->id)),
                             .start_ns = session->start_monotonic_ns,
                             .process = tsm_event_process(source)};
    const struct tsm_model_visitor visitor = {.user = &p,
                                              .call = visit_call,
                                              .core = visit_core,
                                              .mark = visit_mark,
                                              .command = tsm_perfetto_command,
                                              .inner = tsm_perfetto_inner,
                                              .memory = visit_memory};
    int error;

    *out = (struct tsm_event_counts){0};
    tsm_perfetto_clocks(&p);
    tsm_perfetto_extension(&p);
    tsm_perfetto_process(&p);
    tsm_perfetto_gpus(&p);
    error = tsm_model_pass(&out->model, source->reader, source->filter, &visitor);
    if (!error)
        put_end(&p);
    return finish(&p, error);
}
