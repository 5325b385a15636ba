/* SPDX-License-Identifier: Apache-2.0
 *
 * CUDA has no clock that both sides can read. An anchor, an event of ours in a stream of ours,
 * gives one: the host notes the time before it records the anchor and after it has found it
 * complete, and the device's time of the anchor lies between. Starts are distances from the anchor.
 * The driver gives these as a float of milliseconds, so that anchors are renewed.
 *
 * The software GPU says by a private interface when it ran what a call sent (api/cuda/abi_times.h):
 * exactly, and without events. Its commands are kept in a pool of no context.
 */
#include "api/cuda/source/gpu_time.h"

#include "api/cuda/cuda_hooks.h"
#include "api/cuda/cuda_wrappers.h"
#include "api/cuda/source/cupti/cupti.h"
#include "api/cuda/source/emu_times.h"
#include "api/cuda/source/encode.h"
#include "api/cuda/source/source.h"
#include "base/arena.h"
#include "base/clock.h"
#include "capture/lock.h"
#include "capture/session.h"

#include <string.h>

#define TIMED_MAX       16384u /* pairs of one context */
#define PAIRS_AT_ONCE   64u
#define SOME            2u          /* pairs that one call asks for */
#define PAUSE           32u         /* calls that ask for none after one found nothing */
#define ANCHOR_TRIES    5u          /* the one with the smallest error counts */
#define ANCHOR_WAIT_NS  5000000u    /* for one anchor, so as not to wait for the program's work */
#define ANCHOR_RENEW_NS 1000000000u /* at this distance a float of milliseconds is 60 ns wide */
#define ANCHOR_AGAIN_NS 20000000u   /* after a failure */
#define RESOLUTION_NS   500u        /* of events, as the driver's documentation has it */
#define RESULTS_MAX     16u

struct cuda_timed {
    struct pool *pool;
    struct cuda_timed *next;       /* in flight: the next younger one; free: any */
    bool is_order;                 /* it only orders others, and has no time */
    struct tsm_emu_ticket *ticket; /* of the software GPU, in place of what follows */
    uint64_t cupti;                /* the command's number there, in place of what follows; or 0 */
    CUevent first, last;
    CUstream raw;
    uint64_t position;
    uint32_t stream;
    enum cuda_host_wait wait;
    uint64_t returned_ns; /* CUDA_HOST_WAITS: when the function returned, in place of `last` */
};

struct anchor {
    CUevent event;
    uint64_t host_ns, error_ns; /* the device reached it at host_ns, give or take error_ns */
};

/* Belongs to one context. Never freed; its events go with the context, which cuda_context_enter()
 * refuses then. */
struct pool {
    struct pool *next;
    const struct cuda_context *context;
    uint64_t session;
    struct tsm_lock lock; /* of what follows */
    struct cuda_timed *free, *oldest, **newest;
    uint32_t count, pause;
    CUstream stream; /* of anchors; NULL: not created yet */
    struct anchor anchor, spare;
    uint64_t anchor_tried_ns;
    bool has_anchor;
};

bool cuda_gpu_time_wanted;

static _Atomic(struct pool *) pools;
static struct tsm_arena arena;

/* ---- pools --------------------------------------------------------------------------------- */

/* Tells sessions apart, and so a process from its parent, whose contexts and locks are not ours. */
static uint64_t session_number(void)
{
    const struct tsm_session *session = tsm_session_current();

    return session ? session->start.monotonic_ns : 0;
}

static bool is_current(const struct pool *pool)
{
    return pool->session == session_number();
}

static struct pool *find_pool(const struct cuda_context *context)
{
    struct pool *pool = atomic_load(&pools);

    while (pool && (pool->context != context || !is_current(pool)))
        pool = pool->next;
    return pool;
}

static bool needs_events(void)
{
    return !cuda_emu_times && !__atomic_load_n(&cuda_cupti_is_on, __ATOMIC_ACQUIRE);
}

/* Two threads may create one at once; both are used. */
static struct pool *pool_of(const struct cuda_context *context)
{
    struct pool *pool = context || !needs_events() ? find_pool(context) : NULL;

    if (pool || (!context && needs_events()))
        return pool;
    pool = tsm_session_keep(&arena, sizeof(*pool));
    if (!pool)
        return NULL;
    pool->context = context;
    pool->session = session_number();
    pool->newest = &pool->oldest;
    pool->next = atomic_load(&pools);
    while (!atomic_compare_exchange_weak(&pools, &pool->next, pool))
        ;
    return pool;
}

/* The lock is held. */
static void give(struct cuda_timed *timed)
{
    timed->next = timed->pool->free;
    timed->pool->free = timed;
}

/* The lock is held. For commands without events. */
static void add_tickets(struct pool *pool)
{
    struct cuda_timed *list = tsm_session_keep(&arena, PAIRS_AT_ONCE * sizeof(*list));

    for (uint32_t i = 0; list && i < PAIRS_AT_ONCE; i++) {
        list[i].pool = pool;
        give(&list[i]);
        pool->count++;
    }
}

/* The lock is held, the context is current. */
static void add_pairs(struct pool *pool)
{
    struct cuda_timed *list = tsm_session_keep(&arena, PAIRS_AT_ONCE * sizeof(*list));

    for (uint32_t i = 0; list && i < PAIRS_AT_ONCE; i++) {
        list[i].pool = pool;
        if (real.cuEventCreate(&list[i].first, CU_EVENT_DEFAULT) != CUDA_SUCCESS)
            return;
        if (real.cuEventCreate(&list[i].last, CU_EVENT_DEFAULT) != CUDA_SUCCESS) {
            real.cuEventDestroy_v2(list[i].first);
            return;
        }
        give(&list[i]);
        pool->count++;
    }
}

static struct cuda_timed *take(struct pool *pool)
{
    struct cuda_timed *timed;

    tsm_lock_take(&pool->lock);
    if (!pool->free && pool->count < TIMED_MAX && !pool->context) {
        add_tickets(pool);
    } else if (!pool->free && pool->count < TIMED_MAX && cuda_context_enter(pool->context)) {
        add_pairs(pool);
        cuda_context_leave();
    }
    timed = pool->free;
    if (timed) {
        pool->free = timed->next;
        timed->ticket = NULL;
        timed->cupti = 0;
        timed->is_order = false;
    }
    tsm_lock_give(&pool->lock);
    return timed;
}

/* ---- commands ------------------------------------------------------------------------------ */

/* Marks where the command begins. */
static bool begin(struct cuda_timed *timed, const struct tsm_call *call, bool is_graph)
{
    if (!timed->pool->context && __atomic_load_n(&cuda_cupti_is_on, __ATOMIC_ACQUIRE)) {
        timed->cupti = cuda_cupti_begin(call, is_graph);
        return timed->cupti != 0;
    }
    if (timed->pool->context)
        return real.cuEventRecord(timed->first, timed->raw) == CUDA_SUCCESS;
    timed->ticket = cuda_emu_times ? cuda_emu_times->begin() : NULL;
    if (timed->ticket && tsm_session_settings()->accesses)
        cuda_emu_times->observe(timed->ticket);
    return timed->ticket != NULL;
}

/* Says that a node of the graph records the event, now that this has its name. */
static void write_event(void *user, unsigned number, void *event)
{
    const struct cuda_timed *timed = user;
    const struct tsm_handle *handle =
        tsm_handle_find(SBT_API_CUDA, CUDA_OBJECT_EVENT, CUDA_SLOT(event));

    if (handle)
        tsm_gpu_order_write(&(struct tsm_gpu_order){.stream = timed->stream,
                                                    .position = timed->position,
                                                    .number = number,
                                                    .event = handle->id});
}

/* Marks where it ends, if there is anything to mark. False: there is nothing to ask for here. */
static bool end(struct cuda_timed *timed, bool ok, enum cuda_host_wait wait)
{
    if (timed->cupti) {
        cuda_cupti_end(timed->cupti, ok);
        return false; /* its time comes from there */
    }
    if (timed->pool->context)
        return ok && (wait == CUDA_HOST_WAITS ||
                      real.cuEventRecord(timed->last, timed->raw) == CUDA_SUCCESS);
    if (!timed->ticket)
        return false;
    cuda_emu_times->end(timed->ticket);
    if (!ok)
        cuda_emu_times->drop(timed->ticket);
    else if (cuda_emu_times->is_virtual && tsm_session_settings()->gpu_time)
        cuda_emu_times->events(timed->ticket, write_event, timed);
    return ok;
}

static struct cuda_timed *start(const struct tsm_call *call, CUstream stream, bool per_thread,
                                bool is_graph)
{
    CUstream raw = stream ? stream : per_thread ? CU_STREAM_PER_THREAD : CU_STREAM_LEGACY;
    struct cuda_timed *timed;
    struct pool *pool;

    if (!call->stream || cuda_is_captured(call) || (needs_events() && cuda_capture_runs()))
        return NULL;
    pool = pool_of(needs_events() ? cuda_stream_context(stream) : NULL);
    timed = pool ? take(pool) : NULL;
    if (!timed) {
        tsm_session_unmodelled("TS_GPU_TIME: too many commands under way, some are not timed",
                               false);
        return NULL;
    }
    timed->raw = raw;
    timed->stream = tsm_stream_number(call->stream);
    timed->position = call->position;
    if (begin(timed, call, is_graph))
        return timed;
    cuda_gpu_time_end(timed, false, CUDA_HOST_GOES_ON);
    return NULL;
}

struct cuda_timed *cuda_gpu_time_start(const struct tsm_call *call, CUstream stream,
                                       bool per_thread)
{
    return start(call, stream, per_thread, false);
}

struct cuda_timed *cuda_gpu_time_start_graph(const struct tsm_call *call, CUstream stream,
                                             bool per_thread)
{
    return start(call, stream, per_thread, true);
}

struct cuda_timed *cuda_gpu_time_start_order(const struct tsm_call *call, CUstream stream,
                                             bool per_thread)
{
    const bool is_exact = cuda_emu_times && cuda_emu_times->is_virtual;
    struct cuda_timed *timed = is_exact && tsm_session_settings()->gpu_time
                                   ? start(call, stream, per_thread, false)
                                   : NULL;

    if (timed)
        timed->is_order = true;
    return timed;
}

void cuda_gpu_time_end(struct cuda_timed *timed, bool ok, enum cuda_host_wait wait)
{
    struct pool *pool = timed->pool;
    const uint64_t returned_ns = wait == CUDA_HOST_WAITS ? tsm_monotonic_ns() : 0;
    const bool is_sent = end(timed, ok, wait);

    tsm_lock_take(&pool->lock);
    timed->next = NULL;
    timed->wait = wait;
    timed->returned_ns = returned_ns;
    if (is_sent) {
        *pool->newest = timed;
        pool->newest = &timed->next;
    } else {
        give(timed);
    }
    tsm_lock_give(&pool->lock);
}

/* ---- the clock ----------------------------------------------------------------------------- */

static bool create_anchors(struct pool *pool)
{
    return pool->stream ||
           (real.cuEventCreate(&pool->anchor.event, CU_EVENT_DEFAULT) == CUDA_SUCCESS &&
            real.cuEventCreate(&pool->spare.event, CU_EVENT_DEFAULT) == CUDA_SUCCESS &&
            real.cuStreamCreate(&pool->stream, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS);
}

/* Waits until the device reaches an anchor and notes when. Returns false if it takes too long. */
static bool reach(struct anchor *anchor, CUstream stream)
{
    const uint64_t before = tsm_monotonic_ns();
    uint64_t after = before;
    CUresult result = real.cuEventRecord(anchor->event, stream);

    if (result != CUDA_SUCCESS)
        return false;
    while ((result = real.cuEventQuery(anchor->event)) == CUDA_ERROR_NOT_READY &&
           after - before < ANCHOR_WAIT_NS)
        after = tsm_monotonic_ns();
    after = tsm_monotonic_ns();
    anchor->host_ns = before + (after - before) / 2;
    anchor->error_ns = (after - before + 1) / 2;
    return result == CUDA_SUCCESS;
}

/* The lock is held, the context is current. */
static void renew_anchor(struct pool *pool, uint64_t now)
{
    bool is_new = false;

    pool->anchor_tried_ns = now;
    if (!create_anchors(pool))
        return;
    for (uint32_t i = 0; i < ANCHOR_TRIES; i++) {
        struct anchor reached = pool->spare;

        if (!reach(&reached, pool->stream) || (is_new && reached.error_ns >= pool->anchor.error_ns))
            continue;
        pool->spare = pool->anchor;
        pool->anchor = reached;
        is_new = true;
    }
    pool->has_anchor |= is_new;
}

static void keep_anchor(struct pool *pool)
{
    const uint64_t now = tsm_monotonic_ns();

    if (pool->has_anchor && now - pool->anchor.host_ns < ANCHOR_RENEW_NS)
        return;
    if (!pool->anchor_tried_ns || now - pool->anchor_tried_ns >= ANCHOR_AGAIN_NS)
        renew_anchor(pool, now);
}

/* ---- results ------------------------------------------------------------------------------- */

/* Distance of a float of milliseconds, and how wide its last bit is. */
static int64_t nanoseconds(float ms, uint64_t *error_ns)
{
    const double ns = (double)ms * 1e6;

    *error_ns += RESOLUTION_NS + (uint64_t)((ns < 0 ? -ns : ns) / (1 << 24));
    return (int64_t)ns;
}

/* Returns CUDA_ERROR_NOT_READY while the command is not complete. `from_ns`: when it began. */
static CUresult read_length(const struct cuda_timed *timed, uint64_t from_ns, uint64_t *length_ns)
{
    uint64_t unused = 0;
    CUresult result;
    float ms;

    if (timed->wait == CUDA_HOST_WAITS) {
        *length_ns = timed->returned_ns > from_ns ? timed->returned_ns - from_ns : 0;
        return CUDA_SUCCESS;
    }
    result = real.cuEventElapsedTime(&ms, timed->first, timed->last);
    if (result == CUDA_SUCCESS)
        *length_ns = ms > 0 ? (uint64_t)nanoseconds(ms, &unused) : 0;
    return result;
}

/* Reads a ticket that is over. Returns false where it has no time. */
static bool read_exact(struct tsm_emu_ticket *ticket, struct tsm_gpu_time *time)
{
    uint64_t start_ns = 0, end_ns = 0;

    if (cuda_emu_times->read(ticket, &start_ns, &end_ns) != TSM_EMU_TIMES_KNOWN)
        return false;
    time->start_ns = cuda_emu_times->is_virtual ? start_ns : start_ns - session_number();
    time->duration_ns = end_ns - start_ns;
    time->flags = cuda_emu_times->is_virtual ? SBT_GPU_TIME_VIRTUAL : SBT_GPU_TIME_CALIBRATED;
    return true;
}

static CUresult read_times(const struct cuda_timed *timed, struct tsm_gpu_time *out)
{
    const struct anchor *anchor = &timed->pool->anchor;
    uint64_t start_ns;
    float ms;
    CUresult result = real.cuEventElapsedTime(&ms, anchor->event, timed->first);

    if (result != CUDA_SUCCESS)
        return result;
    *out = (struct tsm_gpu_time){.position = timed->position,
                                 .stream = timed->stream,
                                 .error_ns = anchor->error_ns,
                                 .flags = SBT_GPU_TIME_CALIBRATED};
    if (timed->wait)
        out->flags |= SBT_GPU_TIME_AT_MOST;
    start_ns = anchor->host_ns + (uint64_t)nanoseconds(ms, &out->error_ns);
    out->start_ns = start_ns - session_number();
    return read_length(timed, start_ns, &out->duration_ns);
}

/* A command whose time is known. Of the software GPU what its ticket says is read later, without
 * the lock. */
struct result {
    struct tsm_gpu_time time;
    struct tsm_emu_ticket *ticket;
    bool is_order;
};

/* Tells whether the ticket is over. Its place is kept in *out. */
static CUresult take_ticket(const struct cuda_timed *timed, struct result *out)
{
    if (!cuda_emu_times->is_over(timed->ticket))
        return CUDA_ERROR_NOT_READY;
    out->ticket = timed->ticket;
    out->is_order = timed->is_order;
    out->time = (struct tsm_gpu_time){.stream = timed->stream, .position = timed->position};
    return CUDA_SUCCESS;
}

/* The lock is held. Takes results out of the list, asking for `*left` pairs at most. */
static uint32_t take_results(struct pool *pool, struct cuda_timed ***at, uint32_t *left,
                             struct result *results)
{
    uint32_t count = 0;

    while (**at && *left && count < RESULTS_MAX) {
        struct cuda_timed *timed = **at;
        CUresult result = cuda_emu_times ? take_ticket(timed, &results[count])
                                         : read_times(timed, &results[count].time);

        --*left;
        if (result == CUDA_ERROR_NOT_READY) {
            *at = &timed->next;
            continue;
        }
        **at = timed->next;
        if (pool->newest == &timed->next)
            pool->newest = *at;
        give(timed);
        count += result == CUDA_SUCCESS;
    }
    return count;
}

static void write_work(void *user, unsigned number, const struct tsm_emu_work *work)
{
    const struct tsm_gpu_time *time = user;

    tsm_gpu_work_write(&(struct tsm_gpu_work){.stream = time->stream,
                                              .position = time->position,
                                              .number = number,
                                              .kind = work->kind,
                                              .bytes = work->bytes,
                                              .blocks = work->blocks,
                                              .instructions = work->instructions,
                                              .sent_ns = work->sent_ns,
                                              .queue = work->queue,
                                              .priority = work->priority,
                                              .flags = (work->is_node ? SBT_GPU_WORK_NODE : 0) |
                                                       (work->is_last ? SBT_GPU_WORK_LAST : 0) |
                                                       (work->is_inner ? SBT_GPU_WORK_INNER : 0),
                                              .parents = work->parents,
                                              .parent_count = work->parent_count,
                                              .id = work->id});
    if (work->access || work->awaited_count || work->brought_by || work->host_ns)
        tsm_gpu_order_write(&(struct tsm_gpu_order){.stream = time->stream,
                                                    .position = time->position,
                                                    .number = number,
                                                    .access = work->access,
                                                    .size = work->size,
                                                    .address = work->address,
                                                    .value = work->value,
                                                    .brought_by = work->brought_by,
                                                    .host_ns = work->host_ns,
                                                    .awaited = work->awaited,
                                                    .awaited_count = work->awaited_count});
}

static void write_accesses(const struct result *result)
{
    const uint64_t(*ranges)[3];
    size_t count;

    if (cuda_emu_times->accesses(result->ticket, &ranges, &count))
        tsm_accesses_write(result->time.stream, result->time.position, ranges, count);
}

/* Writes what the software GPU says of a command, but for its time. Returns false where that is not
 * known, or not wanted. */
static bool write_exact(struct result *result)
{
    const struct tsm_settings *settings = tsm_session_settings();

    if (settings->accesses && !result->is_order)
        write_accesses(result);
    if (cuda_emu_times->is_virtual && settings->gpu_time)
        cuda_emu_times->works(result->ticket, write_work, &result->time);
    return read_exact(result->ticket, &result->time) && settings->gpu_time && !result->is_order;
}

static void write_result(struct result *result)
{
    if (!cuda_emu_times || write_exact(result))
        tsm_gpu_time_write(&result->time);
}

static void collect(struct pool *pool, uint32_t left)
{
    struct result results[RESULTS_MAX];
    uint32_t count;

    if (!cuda_emu_times && !cuda_asking_begin())
        return;
    do { /* recording takes locks of its own */
        struct cuda_timed **at = &pool->oldest;

        tsm_inside_enter();
        tsm_lock_take(&pool->lock);
        count = 0;
        if (cuda_emu_times) {
            count = take_results(pool, &at, &left, results);
        } else if (cuda_context_enter(pool->context)) {
            keep_anchor(pool);
            count = pool->has_anchor ? take_results(pool, &at, &left, results) : 0;
            cuda_context_leave();
        }
        pool->pause = count ? 0 : PAUSE;
        tsm_lock_give(&pool->lock);
        tsm_inside_leave();
        for (uint32_t i = 0; i < count; i++)
            write_result(&results[i]);
    } while (count == RESULTS_MAX && left);
    if (!cuda_emu_times)
        cuda_asking_end();
}

void cuda_gpu_time_collect(void)
{
    if (__atomic_load_n(&cuda_cupti_is_on, __ATOMIC_ACQUIRE))
        cuda_cupti_collect(true);
    for (struct pool *pool = atomic_load(&pools); pool && !tsm_inside(); pool = pool->next)
        if (__atomic_load_n(&pool->oldest, __ATOMIC_RELAXED) && is_current(pool))
            collect(pool, UINT32_MAX);
}

void cuda_gpu_time_collect_some(void)
{
    if (__atomic_load_n(&cuda_cupti_is_on, __ATOMIC_ACQUIRE))
        cuda_cupti_collect(false);
    for (struct pool *pool = atomic_load(&pools); pool && !tsm_inside(); pool = pool->next) {
        if (!__atomic_load_n(&pool->oldest, __ATOMIC_RELAXED) || !is_current(pool))
            continue;
        if (__atomic_load_n(&pool->pause, __ATOMIC_RELAXED))
            __atomic_sub_fetch(&pool->pause, 1, __ATOMIC_RELAXED);
        else
            collect(pool, SOME);
    }
}
