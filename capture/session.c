/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/live.h"

#include "base/own_stack.h"
#include "base/log.h"
#include "capture/lane/drain.h"
#include "capture/process/family.h"
#include "capture/memory/shadow.h"
#include "capture/lane/drain_thread.h"
#include "capture/parts.h"
#include "capture/process/control.h"
#include "capture/process/mapping.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Process of the first session; in the child of a fork it differs. */
static pid_t first_pid;

/* ---- start ---------------------------------------------------------------------------------- */

static const char *environment(const char *name)
{
    return getenv(name);
}

/* HIP's calls stand for commands, which its own threads may send. */
static bool stack_wanted(enum tsm_stack_mode mode, const struct sbt_schema *schema)
{
    enum sbt_kind kind = schema->kind;

    if (mode != TSM_STACKS_COMMANDS)
        return mode == TSM_STACKS_ALL;
    return kind == SBT_KIND_COMMAND || kind == SBT_KIND_CREATE || kind == SBT_KIND_DESTROY ||
           kind == SBT_KIND_SIGNAL || kind == SBT_KIND_WAIT ||
           SBT_TYPE_API(schema->type) == SBT_API_HIP;
}

/* Is a record of this call needed to have the program's objects, even if its commands before are
 * not wanted? What is not modelled and may matter counts, too: the trace must say that it was
 * there.
 */
static bool is_early(const struct tsm_source *source, const struct tsm_call_description *call)
{
    const struct sbt_schema *schema = call->schema;

    switch (schema->kind) {
    case SBT_KIND_COMMAND:
    case SBT_KIND_SIGNAL:
    case SBT_KIND_WAIT:
        if (source->commands_are_followed)
            return true;
        __attribute__((fallthrough));
    case SBT_KIND_SYNC:
        return call->status == TSM_CALL_UNMODELLED && (schema->flags & SBT_SCHEMA_TAINTS);
    case SBT_KIND_QUERY: /* one that tells an address is asked again in a replay */
        return sbt_schema_role(schema, SBT_ROLE_ADDRESS) >= 0;
    default:
        return true;
    }
}

static void learn_types(struct tsm_session *s, const struct tsm_source *source)
{
    const struct tsm_api_description *api = source->description;
    bool excluded = !tsm_settings_want_api(s->settings.apis, api->name);

    for (size_t i = 0; i < api->call_count; i++) {
        const struct sbt_schema *schema = api->calls[i].schema;
        uint32_t at =
            SBT_TYPE_API(schema->type) * TSM_TYPE_CALL_COUNT + SBT_TYPE_CALL(schema->type);

        if (SBT_TYPE_API(schema->type) >= TSM_TYPE_API_COUNT ||
            SBT_TYPE_CALL(schema->type) >= TSM_TYPE_CALL_COUNT)
            continue;
        s->types[at] = (uint8_t)((schema->kind & TSM_TYPE_KIND) | TSM_TYPE_NEW |
                                 (is_early(source, &api->calls[i]) ? TSM_TYPE_EARLY : 0) |
                                 (excluded ? TSM_TYPE_OFF : 0) |
                                 (stack_wanted(s->settings.stacks, schema) ? TSM_TYPE_STACK : 0));
    }
}

static void make_id(struct tsm_session *s)
{
    if (getrandom(s->id, sizeof(s->id), GRND_NONBLOCK) != (ssize_t)sizeof(s->id)) {
        uint64_t seed[2] = {s->start.ticks, s->start_realtime_ns ^ ((uint64_t)s->pid << 32)};
        memcpy(s->id, seed, sizeof(s->id));
    }
    s->id[6] = (uint8_t)((s->id[6] & 0x0f) | 0x40); /* RFC 4122, version 4 */
    s->id[8] = (uint8_t)((s->id[8] & 0x3f) | 0x80);
}

static bool make_tables(struct tsm_session *s)
{
    s->types = tsm_memory_map(TSM_TYPE_API_COUNT * TSM_TYPE_CALL_COUNT);
    s->lanes = tsm_memory_map(TSM_LANE_COUNT_MAX * sizeof(*s->lanes));
    s->intern = tsm_intern_create();
    s->stacks = tsm_stacks_create();
    s->pieces = tsm_pieces_create();
    s->handles = tsm_handles_create();
    s->streams = tsm_streams_create();
    s->readbacks = tsm_readbacks_create();
    s->hostmem = tsm_hostmem_create();
    s->values = tsm_values_create();
    s->filter = tsm_filter_create(&s->settings);
    s->notes = tsm_notes_create();
    s->mappings = tsm_mappings_create();
    return s->types && s->lanes && s->intern && s->stacks && s->pieces && s->handles &&
           s->streams && s->readbacks && s->hostmem && s->values && s->filter && s->notes &&
           s->mappings;
}

static bool is_unwanted_child(const struct tsm_settings *settings, bool forked)
{
    struct tsm_family family;

    if (settings->follow_children || forked)
        return !settings->follow_children;
    tsm_family_find(&family);
    return family.is_child;
}

/* A session without a trace yet; NULL when capture is switched off or memory is refused. */
static struct tsm_session *create(bool forked)
{
    struct tsm_session *s = tsm_memory_map(sizeof(*s));

    if (!s) {
        tsm_log(TSM_LOG_WARN, TSM_LIVE_NO_MEMORY);
        return NULL;
    }
    s->pid = tsm_own_pid();
    tsm_settings_parse(&s->settings, environment);
    tsm_log_configure(s->settings.log);
    if (!s->settings.enabled || is_unwanted_child(&s->settings, forked)) {
        tsm_memory_unmap(s, sizeof(*s));
        return NULL;
    }
    s->start = tsm_clock_pair_read();
    s->start_realtime_ns = tsm_clock_ns(CLOCK_REALTIME);
    make_id(s);
    tsm_memory_together();
    if (!make_tables(s)) {
        tsm_memory_together_end(false);
        tsm_memory_unmap(s, sizeof(*s));
        tsm_log(TSM_LOG_WARN, TSM_LIVE_NO_MEMORY);
        return NULL;
    }
    tsm_memory_together_end(true);
    for (const struct tsm_source *const *source = tsm_sources; *source; source++) {
        tsm_description_fill((*source)->description);
        learn_types(s, *source);
    }
    s->filtering = s->settings.stream_count || s->settings.kernels[0] ||
                   s->settings.threads_only[0] || s->settings.sample > 1 || s->settings.rate_max ||
                   s->settings.stop_call || s->settings.checkpoint_commands ||
                   s->settings.checkpoint_ns;
    s->checkpoint_due_command = s->settings.checkpoint_commands;
    s->checkpoint_due_ns = s->start.monotonic_ns + s->settings.checkpoint_ns;
    tsm_checkpoint_due = 0; /* in the child of a fork: the parent's is not ours */
    return s;
}

static uint32_t first_state(const struct tsm_settings *settings)
{
    bool later = settings->start_paused || settings->start_call > 1 || settings->start_signal;

    return later ? TSM_LIVE_WAITING : TSM_LIVE_ON;
}

static void tell_sources_of_fork(void)
{
    tsm_shadow_forked();
    for (const struct tsm_source *const *source = tsm_sources; *source; source++) {
        if ((*source)->forked)
            (*source)->forked();
    }
}

static uint32_t start(struct tsm_live *live)
{
    bool forked = first_pid != 0 && first_pid != tsm_own_pid();
    struct tsm_session *s;

    tsm_thread.session = NULL;
    tsm_thread.lane = NULL;
    if (forked)
        tell_sources_of_fork();
    first_pid = tsm_own_pid();
    s = create(forked);
    if (!s || !tsm_drain_start(s)) {
        if (s)
            tsm_log(TSM_LOG_WARN, "%s; capture is off", s->drain_message);
        tsm_live_set_state(TSM_LIVE_OFF);
        return TSM_LIVE_OFF;
    }
    live->session = s;
    tsm_last_thread_begin(s);
    tsm_control_begin(s);
    tsm_live_set_state(first_state(&s->settings));
    /* Only now, when nobody waits for us: this takes the dynamic linker's lock. */
    tsm_mapping_update(s);
    return tsm_live_state_now();
}

struct starting {
    struct tsm_live *live;
    uint32_t state;
};

static void start_on_own_stack(void *argument)
{
    struct starting *s = argument;

    s->state = start(s->live);
}

uint32_t tsm_session_start(void)
{
    uint32_t state = TSM_LIVE_NONE;
    int saved_errno = errno;
    struct tsm_live *live;

    if (tsm_sandboxed())
        return TSM_LIVE_OFF;
    live = tsm_live_page();
    if (!live)
        return tsm_live_give_up();
    if (__atomic_compare_exchange_n(&live->state, &state, TSM_LIVE_STARTING, false,
                                    __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
        struct starting starting = {live, TSM_LIVE_OFF};
        if (tsm_sandbox_is_coming()) { /* whoever brings it waits for those who start */
            tsm_live_set_state(TSM_LIVE_NONE);
            errno = saved_errno;
            return TSM_LIVE_OFF;
        }
        tsm_inside_enter();
        tsm_own_stack_run(start_on_own_stack, &starting);
        tsm_inside_leave();
        state = starting.state;
    }
    while (state == TSM_LIVE_STARTING) {
        tsm_futex_wait(&live->state, state, 0);
        state = __atomic_load_n(&live->state, __ATOMIC_ACQUIRE);
    }
    errno = saved_errno;
    return state;
}
