/* SPDX-License-Identifier: Apache-2.0
 *
 * Counts signals down. Each command takes 1 from its completion signal when it is complete; so a
 * signal has, when all that was sent is complete, a value that is known here. Whoever reads that
 * value, the program or the recorder, knows that these commands are complete, however the program
 * waits.
 *
 * The value is not known where other processes or the program, through a pointer, change it as
 * well, or where bits of it are changed while commands are under way.
 */
#include "api/hsa/source/source.h"

#include "api/hsa/condition.h"
#include "api/hsa/hsa_wrappers.h"
#include "api/hsa/source/encode.h"
#include "base/hash.h"
#include "capture/call/streams.h"
#include "capture/lock.h"

#include <string.h>

#define LATE_MAX 256u

/* State of a signal's handle, as `user`. */
struct hsa_count {
    struct hsa_count *next, **link; /* of those with commands under way */
    hsa_signal_t signal;
    int64_t expected;          /* the value when all of `first` are complete */
    bool is_known;             /* ... is that */
    bool has_copy;             /* a copy is among them */
    uint32_t changing;         /* changes by the program that are under way */
    struct hsa_landing *first; /* newest first; one per stream */
    /* The newest command that waits for the signal. */
    const struct tsm_stream *waiter;
    uint64_t waiter_position;
    bool waits_for_0; /* all that ever waited for it did so until it is 0 */
    struct pending_wait {
        const struct tsm_stream *stream; /* NULL: a free place */
        uint64_t position;
        struct hsa_wait wait;
    } waits[HSA_WAITS_MAX];
    bool has_more_waits;
};

/* State of a stream, as `user`: commands that are complete although an earlier one may not be; and
 * dispatches after a gate, whose arguments the program may still change. */
struct order {
    struct hsa_landing *landed; /* by position */
    uint64_t gate;              /* position of the newest packet that waits for a signal */
    struct hsa_wait gate_wait;  /* ... for this; without a signal: for one of several */
    struct order *next;         /* of those with late arguments */
    struct tsm_stream *stream;
    uint32_t late_count;
    struct late {
        uint64_t position, hash;
        const void *arguments;
        size_t size;
    } * late;
};

static struct tsm_lock lock;
static struct hsa_count *live, *unused_counts;
static struct hsa_landing *unused_landings;
static struct order *orders; /* with late arguments, ever */
static uint32_t live_count;  /* looked at without the lock */

bool hsa_count_any(void)
{
    return __atomic_load_n(&live_count, __ATOMIC_ACQUIRE) != 0;
}

void hsa_counts_forked(void)
{
    lock = (struct tsm_lock){0};
    live = unused_counts = NULL;
    unused_landings = NULL;
    orders = NULL;
    live_count = 0;
}

/* ---- the lock is held --------------------------------------------------------------------------
 */

static struct hsa_count *count_of(struct tsm_handle *handle)
{
    struct hsa_count *c = handle->user;

    if (c)
        return c;
    c = unused_counts;
    if (c)
        unused_counts = c->next;
    else
        c = hsa_keep(sizeof(*c));
    if (!c)
        return NULL;
    *c = (struct hsa_count){.signal = {handle->raw}, .waits_for_0 = true};
    handle->user = c;
    return c;
}

static struct hsa_landing *landing_take(void)
{
    struct hsa_landing *landing = unused_landings;

    if (!landing)
        return hsa_keep(sizeof(*landing));
    unused_landings = landing->next;
    return landing;
}

static void landing_give(struct hsa_landing *landing)
{
    landing->next = unused_landings;
    unused_landings = landing;
}

static struct order *order_of(struct tsm_stream *stream)
{
    struct order *order = stream->user;

    if (order || stream->number == SBT_STREAM_NONE)
        return order;
    order = hsa_keep(sizeof(*order));
    if (order)
        order->stream = stream;
    stream->user = order;
    return order;
}

static void make_live(struct hsa_count *c)
{
    c->next = live;
    c->link = &live;
    if (live)
        live->link = &c->next;
    live = c;
    __atomic_store_n(&live_count, live_count + 1, __ATOMIC_RELEASE);
}

/* Its commands, which are no longer its. */
static struct hsa_landing *take_all(struct hsa_count *c)
{
    struct hsa_landing *all = c->first;

    if (!all)
        return NULL;
    c->first = NULL;
    c->has_copy = false;
    *c->link = c->next;
    if (c->next)
        c->next->link = c->link;
    __atomic_store_n(&live_count, live_count - 1, __ATOMIC_RELEASE);
    return all;
}

static struct hsa_count *known_count(hsa_signal_t signal)
{
    const struct tsm_handle *handle = hsa_find(HSA_OBJECT_SIGNAL, signal.handle);

    return handle ? handle->user : NULL;
}

static hsa_signal_value_t value_of(const struct hsa_count *c)
{
    return hsa_runtime.hsa_signal_load_scacquire(c->signal);
}

/* ---- sent --------------------------------------------------------------------------------------
 */

/* A signal holds the time of the command that completed it last: several would have one time. */
static uint64_t time_sent(struct hsa_count *c)
{
    for (struct hsa_landing *l = c->first; l; l = l->next)
        l->sent_ns = 0;
    return c->first ? 0 : hsa_gpu_time_sent();
}

static void add_landing(struct hsa_count *c, const struct tsm_call *call, bool in_order,
                        bool is_copy)
{
    const uint64_t sent_ns = time_sent(c);
    struct hsa_landing *landing = c->first;

    while (landing && landing->stream != call->stream)
        landing = landing->next;
    if (!landing || !landing->in_order || !in_order) {
        landing = landing_take();
        if (!landing) {
            c->is_known = false;
            return;
        }
        landing->next = c->first;
        c->first = landing;
    }
    landing->stream = call->stream;
    landing->position = call->position;
    landing->in_order = in_order;
    landing->is_late = false;
    landing->signal = c->signal;
    landing->sent_ns = sent_ns;
    landing->is_copy = is_copy;
}

void hsa_completes(const struct tsm_call *call, hsa_signal_t signal, bool in_order, bool is_copy)
{
    struct tsm_handle *handle = signal.handle ? hsa_find(HSA_OBJECT_SIGNAL, signal.handle) : NULL;
    struct hsa_count *c;

    if (!handle || !call->stream)
        return;
    tsm_lock_take(&lock);
    c = count_of(handle);
    if (c && !c->first) {
        c->expected = value_of(c);
        c->is_known = !c->changing;
        make_live(c);
    }
    if (c) {
        c->expected--;
        c->has_copy |= is_copy;
        add_landing(c, call, in_order, is_copy);
    }
    handle->stream = call->stream;
    handle->position = call->position;
    tsm_lock_give(&lock);
}

/* ---- complete ----------------------------------------------------------------------------------
 */

/* Positions that follow one another from what is complete on. The lock is held. */
static uint64_t contiguous(struct order *order, uint64_t completed)
{
    while (order->landed && order->landed->position <= completed + 1) {
        struct hsa_landing *first = order->landed;
        if (first->position > completed)
            completed = first->position;
        order->landed = first->next;
        landing_give(first);
    }
    return completed;
}

static void insert_landed(struct order *order, struct hsa_landing *landing)
{
    struct hsa_landing **link = &order->landed;

    while (*link && (*link)->position < landing->position)
        link = &(*link)->next;
    landing->next = *link;
    *link = landing;
}

void hsa_count_landed(struct hsa_landing *landing)
{
    struct tsm_stream *stream = landing->stream;
    uint64_t completed = __atomic_load_n(&stream->completed, __ATOMIC_ACQUIRE);
    struct order *order;

    if (landing->in_order && landing->position > completed)
        completed = landing->position;
    tsm_lock_take(&lock);
    order = order_of(stream);
    if (order && !landing->in_order)
        insert_landed(order, landing);
    else
        landing_give(landing);
    if (order)
        completed = contiguous(order, completed);
    tsm_lock_give(&lock);
    tsm_stream_complete(stream, completed);
}

struct hsa_landing *hsa_count_landing(struct tsm_stream *stream, uint64_t position)
{
    struct hsa_landing *landing;

    tsm_lock_take(&lock);
    landing = landing_take();
    tsm_lock_give(&lock);
    if (landing)
        *landing = (struct hsa_landing){.stream = stream, .position = position};
    return landing;
}

/* The lock is held. */
static struct hsa_landing *landed(struct hsa_count *c, hsa_signal_value_t value, bool is_late)
{
    struct hsa_landing *all;

    if (!c->first || !c->is_known || value > c->expected)
        return NULL;
    all = take_all(c);
    for (struct hsa_landing *l = all; l; l = l->next) {
        l->value = value;
        l->is_late = is_late;
    }
    return all;
}

/* A foreign signal's changes are not known: 0 ends all, as programs have it. */
static struct hsa_landing *landed_foreign(struct hsa_count *c, hsa_signal_value_t value)
{
    if (value > 0 && !(c->is_known && value <= c->expected))
        return NULL;
    c->is_known = true;
    c->expected = value;
    return landed(c, value, false);
}

bool hsa_count_is_news(hsa_signal_t signal, hsa_signal_value_t value)
{
    const struct tsm_handle *handle =
        hsa_count_any() ? hsa_find(HSA_OBJECT_SIGNAL, signal.handle) : NULL;
    const struct hsa_count *c;
    bool is_news;

    if (!handle)
        return false;
    tsm_lock_take(&lock);
    c = handle->user;
    is_news =
        c && c->first && ((c->is_known && value <= c->expected) || (handle->owner && value <= 0));
    tsm_lock_give(&lock);
    return is_news;
}

struct hsa_landing *hsa_count_seen(hsa_signal_t signal, hsa_signal_value_t value)
{
    struct tsm_handle *handle = hsa_count_any() ? hsa_find(HSA_OBJECT_SIGNAL, signal.handle) : NULL;
    struct hsa_landing *all = NULL;
    struct hsa_count *c;

    if (!handle)
        return NULL;
    tsm_lock_take(&lock);
    c = handle->user;
    if (c && c->first)
        all = handle->owner ? landed_foreign(c, value) : landed(c, value, false);
    tsm_lock_give(&lock);
    return all;
}

/* The lock is held. A signal that the program can look at by itself tells too late. */
static struct hsa_landing *look(struct hsa_count *c)
{
    uint32_t how = hsa_signal_sharing(c->signal);

    return how ? how == HSA_SIGNAL_POINTED_TO ? landed(c, value_of(c), true) : NULL
               : landed(c, value_of(c), false);
}

static struct hsa_landing *append(struct hsa_landing *list, struct hsa_landing *more)
{
    struct hsa_landing *last = more;

    if (!more)
        return list;
    while (last->next)
        last = last->next;
    last->next = list;
    return more;
}

struct hsa_landing *hsa_count_look(const hsa_signal_t *only)
{
    struct hsa_landing *all = NULL;
    struct tsm_handle *handle;
    struct hsa_count *next;

    if (!hsa_count_any())
        return NULL;
    tsm_lock_take(&lock);
    if (only) {
        handle = hsa_find(HSA_OBJECT_SIGNAL, only->handle);
        all = handle && handle->user ? look(handle->user) : NULL;
    }
    for (struct hsa_count *c = only ? NULL : live; c; c = next) {
        next = c->next;
        all = append(all, look(c));
    }
    tsm_lock_give(&lock);
    return all;
}

void hsa_count_tell(const struct hsa_landing *landings,
                    void (*tell)(hsa_signal_t signal, hsa_signal_value_t value))
{
    hsa_signal_t last = {0};

    for (; landings; landings = landings->next) {
        if (landings->signal.handle != last.handle)
            tell(landings->signal, landings->value);
        last = landings->signal;
    }
}

bool hsa_count_rearmed(hsa_signal_t signal, hsa_signal_value_t *value)
{
    struct hsa_count *c = known_count(signal);
    bool is_other = false;

    if (!c)
        return false;
    tsm_lock_take(&lock);
    if (!c->first && c->is_known) {
        *value = value_of(c);
        is_other = *value != c->expected;
    }
    tsm_lock_give(&lock);
    return is_other;
}

/* ---- changed by the program --------------------------------------------------------------------
 */

struct hsa_turn hsa_count_turn(hsa_signal_t signal)
{
    struct hsa_turn turn = {.count = known_count(signal)};

    if (!turn.count)
        return turn;
    tsm_lock_take(&lock);
    turn.count->changing++;
    turn.was_known = turn.count->first && turn.count->is_known;
    if (turn.was_known)
        turn.outstanding = value_of(turn.count) - turn.count->expected;
    turn.count->is_known = false;
    tsm_lock_give(&lock);
    return turn;
}

struct hsa_landing *hsa_count_turned(struct hsa_turn *turn, enum hsa_change change, int64_t value,
                                     const hsa_signal_value_t *before)
{
    struct hsa_landing *all = NULL;
    struct hsa_count *c = turn->count;

    if (!c)
        return NULL;
    tsm_lock_take(&lock);
    c->changing--;
    c->is_known = turn->was_known && !c->changing;
    if (before)
        turn->outstanding = *before - c->expected;
    if (before && turn->outstanding <= 0)
        all = landed(c, *before, false);
    c->is_known &= change != HSA_CHANGES_BITS;
    if (change == HSA_CHANGES_ALL)
        c->expected = value - turn->outstanding;
    else if (change == HSA_CHANGES_BY)
        c->expected += value;
    tsm_lock_give(&lock);
    return all;
}

void hsa_count_forget(hsa_signal_t signal)
{
    struct tsm_handle *handle = hsa_find(HSA_OBJECT_SIGNAL, signal.handle);
    struct hsa_count *c = handle ? handle->user : NULL;

    if (!c)
        return;
    tsm_lock_take(&lock);
    for (struct hsa_landing *l = take_all(c), *next; l; l = next) {
        next = l->next;
        landing_give(l); /* nobody will ever see it */
    }
    handle->user = NULL;
    c->next = unused_counts;
    unused_counts = c;
    tsm_lock_give(&lock);
}

void hsa_counts_forget(void)
{
    tsm_lock_take(&lock);
    while (live)
        take_all(live);
    tsm_lock_give(&lock);
}

/* ---- what waits for signals --------------------------------------------------------------------
 */

static bool is_complete(const struct tsm_stream *stream, uint64_t position)
{
    return __atomic_load_n(&stream->completed, __ATOMIC_ACQUIRE) >= position;
}

static bool waits_alike(const struct hsa_wait *a, const struct hsa_wait *b)
{
    return a->condition == b->condition && a->compare == b->compare && a->mask == b->mask;
}

/* One place for all commands of a stream that wait alike. The lock is held. */
static void keep_wait(struct hsa_count *c, const struct tsm_call *call, const struct hsa_wait *wait)
{
    struct pending_wait *place = NULL;

    for (uint32_t i = 0; i < HSA_WAITS_MAX; i++) {
        struct pending_wait *w = &c->waits[i];
        bool is_free = !w->stream || is_complete(w->stream, w->position);
        if (w->stream == call->stream && waits_alike(&w->wait, wait)) {
            place = w;
            break;
        }
        place = is_free && !place ? w : place;
    }
    if (place)
        *place = (struct pending_wait){call->stream, call->position, *wait};
    else
        c->has_more_waits = true;
}

uint32_t hsa_count_waits(hsa_signal_t signal, struct hsa_wait *out, bool *has_more)
{
    const struct hsa_count *c = known_count(signal);
    uint32_t count = 0;

    *has_more = false;
    if (!c)
        return 0;
    tsm_lock_take(&lock);
    for (uint32_t i = 0; i < HSA_WAITS_MAX; i++) {
        const struct pending_wait *w = &c->waits[i];
        if (w->stream && !is_complete(w->stream, w->position))
            out[count++] = w->wait;
    }
    *has_more = c->has_more_waits && count;
    tsm_lock_give(&lock);
    return count;
}

void hsa_count_awaits(const struct tsm_call *call, const struct hsa_wait *wait, bool is_gate)
{
    hsa_signal_t signal = wait->signal;
    struct tsm_handle *handle = signal.handle ? hsa_find(HSA_OBJECT_SIGNAL, signal.handle) : NULL;
    struct order *order;
    struct hsa_count *c;

    if (!handle || !call->stream)
        return;
    tsm_lock_take(&lock);
    c = count_of(handle);
    if (c) {
        c->waiter = call->stream;
        c->waiter_position = call->position;
        c->waits_for_0 &= is_gate && wait->condition == HSA_SIGNAL_CONDITION_EQ && !wait->compare;
        keep_wait(c, call, wait);
    }
    order = order_of(call->stream);
    if (order) {
        order->gate = call->position;
        order->gate_wait = is_gate ? *wait : (struct hsa_wait){0};
    }
    tsm_lock_give(&lock);
}

/* The lock is held. NULL: the program has a hand in it that the signal comes to 0. */
static const struct hsa_count *counted_to_0(hsa_signal_t signal)
{
    const struct hsa_count *c = known_count(signal);

    return c && c->is_known && !c->changing && c->expected == 0 && !hsa_signal_sharing(signal)
               ? c
               : NULL;
}

void hsa_count_follows(const struct tsm_call *call, uint32_t count, const hsa_signal_t *deps,
                       bool is_own)
{
    bool is_free = true;

    if (!call->stream)
        return;
    tsm_lock_take(&lock);
    for (uint32_t i = 0; i < count && is_free; i++)
        is_free = !deps[i].handle || counted_to_0(deps[i]);
    if (!is_free && !is_own)
        tsm_stream_holds(call->stream, call->position);
    for (uint32_t i = 0; i < count && is_free; i++) {
        const struct hsa_count *c = deps[i].handle ? counted_to_0(deps[i]) : NULL;
        for (const struct hsa_landing *l = c ? c->first : NULL; l; l = l->next)
            tsm_stream_follows(call->stream, call->position, l->stream, l->position, is_own);
    }
    tsm_lock_give(&lock);
}

/* Tests whether a command waits for 0: it has gone on if the value is 0, and may then write where
 * the program does. */
bool hsa_count_is_awaited(hsa_signal_t signal)
{
    const struct hsa_count *c = known_count(signal);
    bool is_awaited;

    if (!c)
        return false;
    tsm_lock_take(&lock);
    is_awaited = c->waiter && !is_complete(c->waiter, c->waiter_position) &&
                 !(c->waits_for_0 && value_of(c) == 0);
    tsm_lock_give(&lock);
    return is_awaited;
}

static bool is_open(const struct hsa_wait *gate)
{
    return hsa_condition_holds(hsa_runtime.hsa_signal_load_scacquire(gate->signal) & gate->mask,
                               gate->condition, gate->compare);
}

bool hsa_count_may_run(const struct tsm_stream *stream, uint64_t position)
{
    const struct order *order = stream->user;

    if (is_complete(stream, position))
        return false;
    return !order || order->gate > position || is_complete(stream, order->gate) ||
           !known_count(order->gate_wait.signal) || is_open(&order->gate_wait);
}

bool hsa_count_is_behind(const struct tsm_stream *stream, uint64_t position, hsa_signal_t signal)
{
    const struct order *order = stream->user;

    return order && order->gate_wait.signal.handle == signal.handle && order->gate <= position &&
           !is_complete(stream, position);
}

bool hsa_count_is_held(const struct tsm_stream *stream, uint64_t position)
{
    const struct order *order = stream->user;
    const struct hsa_count *c =
        order && order->gate_wait.signal.handle ? known_count(order->gate_wait.signal) : NULL;

    return c && order->gate <= position && !is_complete(stream, order->gate) && !c->first &&
           !hsa_signal_sharing(c->signal) && !is_open(&order->gate_wait);
}

/* ---- arguments behind a gate -------------------------------------------------------------------
 */

/* The lock is held. NULL: no room. */
static struct late *late_place(struct order *order)
{
    uint32_t kept = 0;

    if (!order->late) {
        order->late = hsa_keep(LATE_MAX * sizeof(*order->late));
        order->next = orders;
        orders = order;
    }
    if (order->late_count == LATE_MAX) {
        for (uint32_t i = 0; i < LATE_MAX; i++)
            if (!is_complete(order->stream, order->late[i].position))
                order->late[kept++] = order->late[i];
        order->late_count = kept;
    }
    return order->late && order->late_count < LATE_MAX ? &order->late[order->late_count++] : NULL;
}

void hsa_count_arguments(const struct tsm_call *call, const void *arguments, size_t size)
{
    struct order *order = call->stream ? call->stream->user : NULL;
    struct late *late;

    if (!order || !size || is_complete(order->stream, order->gate))
        return;
    tsm_lock_take(&lock);
    late = late_place(order);
    if (late)
        *late = (struct late){call->position, tsm_hash64(arguments, size), arguments, size};
    tsm_lock_give(&lock);
    if (!late)
        tsm_session_unmodelled("arguments of more than 256 dispatches that wait for a signal",
                               true);
}

/* The next one from *order and *at on that changed. */
static bool next_late(struct order **order, uint32_t *at, struct tsm_box *out)
{
    for (; *order; *order = (*order)->next, *at = 0)
        for (; *at < (*order)->late_count; (*at)++) {
            struct late *late = &(*order)->late[*at];
            uint64_t hash;
            if (is_complete((*order)->stream, late->position))
                continue;
            hash = tsm_hash64(late->arguments, late->size);
            if (hash == late->hash)
                continue;
            late->hash = hash;
            *out = (struct tsm_box){late->arguments, late->size, 1, 1, late->size, late->size};
            return true;
        }
    return false;
}

void hsa_count_publish_arguments(void)
{
    struct order *order = __atomic_load_n(&orders, __ATOMIC_ACQUIRE);
    uint32_t at = 0;
    struct tsm_box box;

    while (order) {
        bool found;
        tsm_lock_take(&lock);
        found = next_late(&order, &at, &box);
        tsm_lock_give(&lock);
        if (found)
            tsm_hostmem_write(&box);
    }
}

/* ---- checkpoints -------------------------------------------------------------------------------
 */

bool hsa_count_any_copy(void)
{
    bool found = false;

    tsm_lock_take(&lock);
    for (const struct hsa_count *c = live; c && !found; c = c->next)
        found = c->has_copy && value_of(c) > (c->is_known ? c->expected : 0);
    tsm_lock_give(&lock);
    return found;
}
