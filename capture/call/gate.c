/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/call/gate.h"

#include "capture/call/streams.h"
#include "capture/call/value.h"

#include <string.h>

#define CLEAN_EVERY 32u /* a power of two */

static bool is_closed(const struct tsm_gate *gate)
{
    const struct tsm_stream *stream = gate->stream;

    if (stream->incarnation != gate->incarnation ||
        gate->position <= __atomic_load_n(&stream->completed, __ATOMIC_ACQUIRE))
        return false;
    return gate->is_value ? !tsm_value_is_there(&gate->value)
                          : gate->position > __atomic_load_n(&stream->left, __ATOMIC_ACQUIRE);
}

static void remove_open(struct tsm_gates *g)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < g->count; i++)
        if (is_closed(&g->all[i]))
            g->all[kept++] = g->all[i];
    g->count = kept;
}

static void add(struct tsm_gates *g, const struct tsm_gate *gate)
{
    if (g->count && g->count % CLEAN_EVERY == 0)
        remove_open(g);
    if (g->count == TSM_GATE_COUNT_MAX) {
        memmove(g->all, g->all + 1, (g->count - 1) * sizeof(*g->all));
        g->count--;
    }
    g->all[g->count++] = *gate;
}

/* Tests whether the command at `position` comes after the gate. */
static bool is_behind(const struct tsm_stream *stream, uint64_t position,
                      const struct tsm_gate *gate)
{
    return stream == gate->stream
               ? position > gate->position
               : tsm_stream_is_behind(stream, position, gate->stream->number, gate->position);
}

bool tsm_gates_hold(const struct tsm_gates *g, const struct tsm_stream *stream, uint64_t position,
                    const struct tsm_stream *after, uint64_t after_position)
{
    for (uint32_t i = 0; i < g->count; i++) {
        const struct tsm_gate *gate = &g->all[i];
        if (!(gate->stream == after && gate->position <= after_position) &&
            is_behind(stream, position, gate) && is_closed(gate))
            return true;
    }
    return false;
}

void tsm_gates_add(struct tsm_gates *g, const struct tsm_call *call, const struct tsm_value *value)
{
    struct tsm_gate gate = {.stream = call->stream, .position = call->position};

    if (!call->stream || call->flags & SBT_RECORD_CAPTURED ||
        (value && value->test != TSM_VALUE_GEQ))
        return;
    gate.incarnation = call->stream->incarnation;
    if (value) {
        gate.is_value = true;
        gate.value = *value;
    }
    add(g, &gate);
}
