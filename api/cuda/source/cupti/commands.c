/* SPDX-License-Identifier: Apache-2.0 */
#include "api/cuda/source/cupti/commands.h"

#include "api/cuda/cuda_calls.h"
#include "base/arena.h"
#include "base/clock.h"
#include "capture/lock.h"

#include <string.h>

#define COMMANDS_MAX     16384u /* powers of two */
#define CORRELATIONS_MAX 65536u
#define NODES_MAX        65536u
#define EARLY_MAX        1024u /* records of calls whose number is not known yet */
#define STREAMS_MAX      256u  /* that one flush asks about */
#define ASKED_MAX        16u
#define PATIENCE_NS      1000000000u /* after the last record of what is complete */

enum state { FREE, BEGUN, SENT };

struct command {
    uint64_t id, position, start_ns, end_ns, inner_ns;
    uint64_t seen_ns; /* when its last record came, or it was sent */
    const struct tsm_stream *stream;
    struct cupti_node *nodes;
    uint32_t stream_number, flush; /* flush: the one before which its last record came */
    enum state state;
    bool is_graph, is_complete, has_time, is_kernel;
};

struct correlation {
    uint64_t id;
    uint32_t number;
};

struct early {
    uint32_t correlation, type; /* correlation 0: free */
    uint64_t start_ns, end_ns;
};

static struct commands {
    struct tsm_lock lock; /* of all that follows */
    struct command *all;  /* by id */
    struct correlation *correlations;
    struct cupti_node *nodes, *free_nodes;
    struct early early[EARLY_MAX];
    uint32_t early_at, early_count;
    uint64_t newest, at; /* at: where cupti_command_next() goes on */
    uint32_t used, flush;
    bool is_last, is_idle; /* of the flush that is over: nothing was under way before it */
    struct cupti_losses losses;
} commands;

/* Memory of note_order(): stacks of the program's threads may be small. */
static struct {
    const struct tsm_stream *streams[STREAMS_MAX];
    bool has_run[STREAMS_MAX];
} order;

static struct tsm_arena arena;

static struct command *command_at(uint64_t id)
{
    return &commands.all[id % COMMANDS_MAX];
}

static uint64_t oldest(void)
{
    return commands.newest > COMMANDS_MAX ? commands.newest - COMMANDS_MAX + 1 : 1;
}

/* ---- memory -------------------------------------------------------------------------------- */

static void give_nodes(struct cupti_node *list)
{
    struct cupti_node *next;

    for (; list; list = next) {
        next = list->next;
        list->next = commands.free_nodes;
        commands.free_nodes = list;
    }
}

static bool take_memory(void)
{
    struct commands *c = &commands;

    if (!c->all)
        c->all = tsm_session_keep(&arena, COMMANDS_MAX * sizeof(*c->all));
    if (!c->correlations)
        c->correlations = tsm_session_keep(&arena, CORRELATIONS_MAX * sizeof(*c->correlations));
    if (!c->nodes)
        c->nodes = tsm_session_keep(&arena, NODES_MAX * sizeof(*c->nodes));
    return c->all && c->correlations && c->nodes;
}

bool cupti_commands_begin(void)
{
    if (!take_memory())
        return false;
    tsm_lock_take(&commands.lock);
    memset(commands.all, 0, COMMANDS_MAX * sizeof(*commands.all));
    commands.free_nodes = NULL;
    for (uint32_t i = 0; i < NODES_MAX; i++) {
        commands.nodes[i].next = commands.free_nodes;
        commands.free_nodes = &commands.nodes[i];
    }
    commands.used = 0;
    tsm_lock_give(&commands.lock);
    return true;
}

void cupti_commands_forked(void)
{
    commands.lock = (struct tsm_lock){0};
}

/* The lock is held. */
static void free_command(struct command *command)
{
    give_nodes(command->nodes);
    *command = (struct command){0};
    commands.used--;
}

/* ---- commands ------------------------------------------------------------------------------ */

uint64_t cupti_command_begin(const struct tsm_call *call, bool is_graph)
{
    struct command *command;
    uint64_t id;

    tsm_lock_take(&commands.lock);
    id = ++commands.newest;
    command = command_at(id);
    if (command->state == FREE) {
        *command = (struct command){.id = id,
                                    .position = call->position,
                                    .stream = call->stream,
                                    .stream_number = tsm_stream_number(call->stream),
                                    .state = BEGUN,
                                    .is_graph = is_graph};
        commands.used++;
    } else {
        commands.losses.commands++;
        id = 0;
    }
    tsm_lock_give(&commands.lock);
    return id;
}

void cupti_command_end(uint64_t id, bool ok)
{
    const uint64_t now = tsm_monotonic_ns();
    struct command *command;

    tsm_lock_take(&commands.lock);
    command = command_at(id);
    if (command->id == id && ok) {
        command->state = SENT;
        if (!command->seen_ns)
            command->seen_ns = now;
    } else if (command->id == id) {
        free_command(command);
    }
    tsm_lock_give(&commands.lock);
}

bool cupti_commands_crowded(void)
{
    return __atomic_load_n(&commands.used, __ATOMIC_RELAXED) > COMMANDS_MAX / 2;
}

/* ---- records ------------------------------------------------------------------------------- */

/* The lock is held. */
static void add_node(struct command *command, uint32_t type, uint64_t start_ns, uint64_t end_ns)
{
    struct cupti_node *node = commands.free_nodes;

    if (!node) {
        commands.losses.nodes++;
        return;
    }
    commands.free_nodes = node->next;
    *node = (struct cupti_node){command->nodes, start_ns, end_ns, type};
    command->nodes = node;
}

/* The lock is held. */
static void add(struct command *command, uint32_t type, uint64_t start_ns, uint64_t end_ns)
{
    command->seen_ns = tsm_monotonic_ns();
    command->flush = commands.flush;
    if (!start_ns || end_ns < start_ns) {
        commands.losses.unknown++;
        return;
    }
    if (!command->has_time || start_ns < command->start_ns)
        command->start_ns = start_ns;
    if (!command->has_time || end_ns > command->end_ns)
        command->end_ns = end_ns;
    command->has_time = true;
    command->is_kernel = type == TYPE_cuLaunchKernel;
    if (command->is_graph) {
        command->inner_ns += end_ns - start_ns;
        add_node(command, type, start_ns, end_ns);
    }
}

/* The lock is held. Returns the command of that number, if its time is yet to come. */
static struct command *find(uint64_t id)
{
    struct command *command = id ? command_at(id) : NULL;

    if (!command || command->id == id)
        return command;
    commands.losses.late++;
    return NULL;
}

/* The lock is held. Keeps what belongs to a call that is not known yet, in place of the oldest. */
static void keep_early(uint32_t correlation, uint32_t type, uint64_t start_ns, uint64_t end_ns)
{
    struct early *early = &commands.early[commands.early_at++ % EARLY_MAX];

    commands.early_count += early->correlation == 0;
    *early = (struct early){correlation, type, start_ns, end_ns};
}

void cupti_command_ran(uint32_t correlation, uint32_t type, uint64_t start_ns, uint64_t end_ns)
{
    const struct correlation *known;
    struct command *command;

    tsm_lock_take(&commands.lock);
    known = &commands.correlations[correlation % CORRELATIONS_MAX];
    command = known->number == correlation ? find(known->id) : NULL;
    if (command)
        add(command, type, start_ns, end_ns);
    else if (known->number != correlation && correlation)
        keep_early(correlation, type, start_ns, end_ns);
    tsm_lock_give(&commands.lock);
}

/* The lock is held. */
static void take_early(struct command *command, uint32_t correlation)
{
    for (uint32_t i = 0; commands.early_count && i < EARLY_MAX; i++) {
        struct early *early = &commands.early[i];

        if (early->correlation != correlation)
            continue;
        add(command, early->type, early->start_ns, early->end_ns);
        *early = (struct early){0};
        commands.early_count--;
    }
}

void cupti_command_named(uint64_t id, uint32_t correlation)
{
    struct command *command;

    if (!id || !correlation)
        return;
    tsm_lock_take(&commands.lock);
    commands.correlations[correlation % CORRELATIONS_MAX] = (struct correlation){id, correlation};
    command = command_at(id);
    if (command->id == id)
        take_early(command, correlation);
    tsm_lock_give(&commands.lock);
}

/* ---- what is complete ---------------------------------------------------------------------- */

/* The lock is held. Streams with commands that are not known to be complete. */
static uint32_t streams_to_ask(const struct tsm_stream **out)
{
    uint32_t count = 0;

    for (uint64_t id = oldest(); id <= commands.newest && count < ASKED_MAX; id++) {
        const struct command *command = command_at(id);
        uint32_t i = 0;

        if (command->id != id || command->state != SENT || command->is_complete)
            continue;
        while (i < count && out[i] != command->stream)
            i++;
        if (i == count)
            out[count++] = command->stream;
    }
    return count;
}

static void note_complete(const struct tsm_stream *stream, uint64_t newest)
{
    tsm_lock_take(&commands.lock);
    for (uint64_t id = oldest(); id <= newest; id++)
        if (command_at(id)->id == id && command_at(id)->stream == stream)
            command_at(id)->is_complete |= command_at(id)->state == SENT;
    tsm_lock_give(&commands.lock);
}

/* The lock is held. Finds the stream's place in a table, or NULL when that is full. */
static bool *place_of(const struct tsm_stream *stream)
{
    uint32_t at = (uint32_t)((uintptr_t)stream >> 4) % STREAMS_MAX;

    for (uint32_t i = 0; i < STREAMS_MAX; i++, at = (at + 1) % STREAMS_MAX) {
        if (order.streams[at] && order.streams[at] != stream)
            continue;
        order.streams[at] = stream;
        return &order.has_run[at];
    }
    return NULL;
}

/* The lock is held. Before a command that has run its stream's earlier ones are complete. */
static void note_order(void)
{
    bool is_idle = true;

    memset(&order, 0, sizeof(order));
    for (uint64_t id = commands.newest; id >= oldest() && id; id--) {
        struct command *command = command_at(id);
        bool *place;

        if (command->id != id)
            continue;
        place = place_of(command->stream);
        command->is_complete |= place && *place && command->state == SENT;
        if (place)
            *place |= command->has_time;
        is_idle &= command->is_complete;
    }
    commands.is_idle = is_idle;
}

void cupti_flush_begins(bool (*is_complete)(const struct tsm_stream *stream))
{
    const struct tsm_stream *streams[ASKED_MAX];
    uint64_t newest;
    uint32_t count;

    tsm_lock_take(&commands.lock);
    count = streams_to_ask(streams);
    newest = commands.newest;
    tsm_lock_give(&commands.lock);
    for (uint32_t i = 0; i < count; i++)
        if (is_complete(streams[i]))
            note_complete(streams[i], newest);
    tsm_lock_take(&commands.lock);
    note_order();
    commands.flush++;
    tsm_lock_give(&commands.lock);
}

void cupti_flush_ended(bool is_last)
{
    tsm_lock_take(&commands.lock);
    commands.is_last = is_last;
    commands.at = oldest();
    tsm_lock_give(&commands.lock);
}

/* ---- what is settled ----------------------------------------------------------------------- */

/* The lock is held. Will no more records come? */
static bool is_settled(const struct command *command, uint64_t now)
{
    const bool was_delivered = command->has_time && command->flush != commands.flush;

    if (command->state != SENT)
        return false;
    if (commands.is_last || (command->has_time && command->is_kernel && !command->is_graph))
        return true;
    if (command->is_complete && (commands.is_idle || now - command->seen_ns > PATIENCE_NS))
        return true;
    return !command->is_graph && was_delivered;
}

/* Merges two lists that are sorted. */
static struct cupti_node *merge(struct cupti_node *a, struct cupti_node *b)
{
    struct cupti_node *list = NULL, **end = &list;

    while (a && b) {
        struct cupti_node **from = b->start_ns < a->start_ns ? &b : &a;

        *end = *from;
        end = &(*from)->next;
        *from = (*from)->next;
    }
    *end = a ? a : b;
    return list;
}

/* Sorts a list of any length with no memory: runs[i] is a sorted list of 2 to the power of i nodes.
 */
static struct cupti_node *sorted(struct cupti_node *list)
{
    struct cupti_node *runs[32] = {0}, *all = NULL;

    while (list) {
        struct cupti_node *run = list;
        uint32_t i = 0;

        list = list->next;
        run->next = NULL;
        for (; runs[i]; i++) {
            run = merge(runs[i], run);
            runs[i] = NULL;
        }
        runs[i] = run;
    }
    for (uint32_t i = 0; i < 32; i++)
        all = merge(runs[i], all);
    return all;
}

/* The lock is held. */
static void take_out(struct command *command, struct cupti_settled *out)
{
    *out = (struct cupti_settled){.nodes = command->nodes,
                                  .position = command->position,
                                  .start_ns = command->start_ns,
                                  .end_ns = command->end_ns,
                                  .inner_ns = command->inner_ns,
                                  .stream = command->stream_number};
    command->nodes = NULL;
    free_command(command);
}

bool cupti_command_next(struct cupti_settled *out)
{
    const uint64_t now = tsm_monotonic_ns();
    bool found = false;

    tsm_lock_take(&commands.lock);
    for (; !found && commands.at <= commands.newest; commands.at++) {
        struct command *command = command_at(commands.at);

        if (command->id != commands.at || !is_settled(command, now))
            continue;
        found = command->has_time;
        if (found)
            take_out(command, out);
        else /* the device had nothing to do for it that CUPTI tells of */
            free_command(command);
    }
    tsm_lock_give(&commands.lock);
    if (found)
        out->nodes = sorted(out->nodes);
    return found;
}

void cupti_command_written(struct cupti_settled *settled)
{
    tsm_lock_take(&commands.lock);
    give_nodes(settled->nodes);
    tsm_lock_give(&commands.lock);
}

struct cupti_losses cupti_commands_losses(void)
{
    struct cupti_losses losses;

    tsm_lock_take(&commands.lock);
    losses = commands.losses;
    commands.losses = (struct cupti_losses){0};
    tsm_lock_give(&commands.lock);
    return losses;
}
