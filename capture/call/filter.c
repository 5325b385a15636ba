/* SPDX-License-Identifier: Apache-2.0
 *
 * Leaves out the commands that the user asked to leave out. Calls that create objects or memory
 * always stay: the rest of the trace must be replayable. Everything left out is counted by reason.
 */
#include "capture/session.h"

#include "capture/call/streams.h"
#include "capture/call/checkpoint.h"
#include "capture/call/filter.h"
#include "capture/call/intern.h"
#include "capture/call/place.h"
#include "capture/parts.h"

#include <fnmatch.h>
#include <string.h>

/* Shared by all threads; touched only when a filter is set. */
struct tsm_filter {
    uint64_t command_count; /* for TS_SAMPLE */
    uint64_t second;        /* for TS_RATE: start of the present one, in ns */
    uint64_t in_second;
    uint8_t matches[TSM_INTERN_COUNT_MAX + 1]; /* TS_KERNELS by name: 0 unknown, 1 no, 2 yes */
};

struct tsm_filter *tsm_filter_create(const struct tsm_settings *settings)
{
    return tsm_memory_map(sizeof(struct tsm_filter));
}

static bool stream_wanted(const struct tsm_settings *settings, const struct tsm_call *call)
{
    uint32_t number = tsm_stream_number(call->stream);

    if (settings->stream_count == 0)
        return true;
    for (unsigned i = 0; i < settings->stream_count; i++) {
        if (settings->streams[i] == number)
            return true;
    }
    return false;
}

static const struct sbt_schema *schema_of(uint32_t type)
{
    for (const struct tsm_source *const *source = tsm_sources; *source; source++) {
        const struct tsm_api_description *api = (*source)->description;
        for (size_t i = 0; (uint32_t)api->api == SBT_TYPE_API(type) && i < api->call_count; i++) {
            if (api->calls[i].schema->type == type)
                return api->calls[i].schema;
        }
    }
    return NULL;
}

/* Commands that run no named function are not launches: they stay. */
static bool kernel_wanted(struct tsm_session *s, const struct tsm_call *call)
{
    const struct sbt_schema *schema =
        s->settings.kernels[0] ? schema_of(tsm_call_record(call)->type) : NULL;
    uint32_t name = 0;

    for (uint32_t i = 0; schema && i < schema->field_count && i < call->slot_count; i++) {
        if (schema->fields[i].role == SBT_ROLE_FUNCTION_NAME)
            name = (uint32_t)call->slots[i];
    }
    if (name == 0 || name > TSM_INTERN_COUNT_MAX)
        return true;
    if (s->filter->matches[name] == 0) {
        bool match = fnmatch(s->settings.kernels, tsm_intern_text(s, name), 0) == 0;
        __atomic_store_n(&s->filter->matches[name], match ? 2 : 1, __ATOMIC_RELAXED);
    }
    return __atomic_load_n(&s->filter->matches[name], __ATOMIC_RELAXED) == 2;
}

static bool sampled(struct tsm_session *s)
{
    uint64_t n = s->settings.sample;

    return n <= 1 || __atomic_fetch_add(&s->filter->command_count, 1, __ATOMIC_RELAXED) % n == 0;
}

static bool within_rate(struct tsm_session *s)
{
    struct tsm_filter *f = s->filter;
    uint64_t now, second;

    if (!s->settings.rate_max)
        return true;
    now = tsm_monotonic_ns();
    second = __atomic_load_n(&f->second, __ATOMIC_RELAXED);
    if (now - second >= 1000000000u &&
        __atomic_compare_exchange_n(&f->second, &second, now, false, __ATOMIC_RELAXED,
                                    __ATOMIC_RELAXED))
        __atomic_store_n(&f->in_second, 0, __ATOMIC_RELAXED);
    return __atomic_fetch_add(&f->in_second, 1, __ATOMIC_RELAXED) < s->settings.rate_max;
}

/* TS_STOP_CALL: end after so many recorded calls. */
static void count_call(struct tsm_session *s)
{
    if (s->settings.stop_call && !tsm_session_waiting() &&
        __atomic_add_fetch(&s->call_count, 1, __ATOMIC_RELAXED) == s->settings.stop_call)
        tsm_session_stop(SBT_STOPPED_AS_ASKED);
}

static int reason_to_leave_out(struct tsm_lane *lane, const struct tsm_call *call)
{
    struct tsm_session *s = lane->session;

    if (lane->thread_filtered)
        return TSM_FILTERED_THREAD;
    if (!stream_wanted(&s->settings, call))
        return TSM_FILTERED_STREAM;
    if (!kernel_wanted(s, call))
        return TSM_FILTERED_KERNEL;
    if (!sampled(s))
        return TSM_FILTERED_SAMPLE;
    return within_rate(s) ? -1 : TSM_FILTERED_RATE;
}

bool tsm_filter_keeps(struct tsm_lane *lane, const struct tsm_call *call)
{
    int reason = -1;

    if ((call->info & TSM_TYPE_KIND) == SBT_KIND_COMMAND) {
        reason = reason_to_leave_out(lane, call);
        tsm_checkpoint_count(lane->session);
    }
    if (reason < 0)
        count_call(lane->session);
    else
        tsm_missing_add(&lane->header->filtered[reason], tsm_stream_number(call->stream),
                        tsm_call_record(call)->end);
    return reason < 0;
}
