/* SPDX-License-Identifier: Apache-2.0
 *
 * A libcupti of the tests' own, for the software GPU: what we use of CUPTI's Activity API, and
 * nothing of NVIDIA's. Times come from the software GPU's private interface (api/cuda/abi_times.h),
 * and are told on a clock that is off and drifts. Records come from a thread of its own: in small
 * buffers, a call's number often behind its records, the last one first.
 *
 * TS_TEST_CUPTI_FAIL: functions that fail, comma-separated, each from its Nth call on with NAME:N.
 * TS_TEST_CUPTI_TAKEN: another tool has subscribed. TS_TEST_CUPTI_VERSION: says that it is that
 * one. TS_TEST_CUPTI_LOG: file for a line per piece of work: kind, start and end on
 * CLOCK_MONOTONIC.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "api/cuda/abi.h"
#include "api/cuda/abi_cupti.h"
#include "api/cuda/abi_times.h"

#define EXPORT       __attribute__((visibility("default")))
#define AHEAD_NS     1000000000000000u /* the clock, and by how many millionths it is fast */
#define FAST         40u
#define RECORDS_MAX  5u /* of a buffer */
#define LATE_NS      3000000L
#define NUMBER_ERROR 999
#define NOT_NOW      7

/* A piece of work of a call; times on CLOCK_MONOTONIC, 0: it has not ended. */
struct work {
    struct work *next;
    uint64_t id, start_ns, end_ns;
    uint32_t correlation;
    int kind;
};

struct call {
    struct call *next;
    struct tsm_emu_ticket *ticket;
    uint64_t id;
    uint32_t correlation;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct work *done;  /* the last one first */
static struct call *calls; /* that were sent */
static uint32_t correlations, flush_wanted, flush_done;
static bool flush_forced, is_enabled[64];
static size_t dropped;
static tsm_cupti_requested requested;
static tsm_cupti_completed completed;
static void *subscriber;

static _Thread_local struct call *current;

/* ---- failing ------------------------------------------------------------------------------- */

/* Is the call of that function to fail? */
static bool is_failing(const char *name)
{
    static struct {
        const char *name;
        long count;
    } counts[16];
    const char *list = getenv("TS_TEST_CUPTI_FAIL"), *at = list ? strstr(list, name) : NULL;
    const size_t length = strlen(name);
    unsigned i = 0;
    long from;

    if (!at || (at[length] && at[length] != ',' && at[length] != ':'))
        return false;
    from = at[length] == ':' ? atol(at + length + 1) : 1;
    while (counts[i].name && strcmp(counts[i].name, name) != 0)
        i++;
    counts[i].name = name;
    if (++counts[i].count == from)
        fprintf(stderr, "failed: %s\n", name);
    return counts[i].count >= from;
}

#define MAY_FAIL                                                                                   \
    do {                                                                                           \
        if (is_failing(__func__))                                                                  \
            return NUMBER_ERROR;                                                                   \
    } while (0)

static uint32_t version(void)
{
    const char *text = getenv("TS_TEST_CUPTI_VERSION");

    return text ? (uint32_t)atol(text) : 130001;
}

/* ---- the device ---------------------------------------------------------------------------- */

static const struct tsm_emu_times *emu(void)
{
    static tsm_emu_times_function ask;
    void *library = ask ? NULL : dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);

    if (library)
        ask = (tsm_emu_times_function)dlsym(library, TSM_EMU_TIMES_SYMBOL);
    return ask ? ask() : NULL;
}

static uint64_t monotonic_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint64_t on_our_clock(uint64_t ns)
{
    return ns ? ns + ns / (1000000u / FAST) + AHEAD_NS : 0;
}

static int kind_of(int node)
{
    return node == CU_GRAPH_NODE_TYPE_KERNEL   ? TSM_CUPTI_KERNEL
           : node == CU_GRAPH_NODE_TYPE_MEMCPY ? TSM_CUPTI_COPY
           : node == CU_GRAPH_NODE_TYPE_MEMSET ? TSM_CUPTI_FILL
                                               : 0;
}

static void log_work(const struct work *work)
{
    const char *path = getenv("TS_TEST_CUPTI_LOG");
    FILE *file = path ? fopen(path, "a") : NULL;

    if (!file)
        return;
    fprintf(file, "%d %llu %llu\n", work->kind, (unsigned long long)work->start_ns,
            (unsigned long long)work->end_ns);
    fclose(file);
}

static void add_work(const struct call *call, int kind, uint64_t start_ns, uint64_t end_ns)
{
    struct work *work = malloc(sizeof(*work));

    if (!work)
        abort();
    *work = (struct work){done, call->id, start_ns, end_ns, call->correlation, kind};
    if (kind == TSM_CUPTI_COPY && call->correlation % 2)
        work->kind = TSM_CUPTI_PEER_COPY;
    done = work;
}

/* The device holds its lock; ours is taken inside of it, never the other way round. */
static void has_ended(void *user, int node, uint64_t start_ns, uint64_t end_ns)
{
    const int kind = kind_of(node);

    if (!kind || !is_enabled[kind])
        return;
    pthread_mutex_lock(&lock);
    add_work(user, kind, start_ns, end_ns);
    log_work(done);
    pthread_mutex_unlock(&lock);
}

/* ---- buffers ------------------------------------------------------------------------------- */

static size_t size_of(int kind)
{
    const size_t more = version() >= 130000 ? 8 : 0;

    return kind == TSM_CUPTI_OUTER    ? sizeof(struct tsm_cupti_outer)
           : kind == TSM_CUPTI_KERNEL ? 208 + more
           : kind == TSM_CUPTI_FILL   ? 80 + more
                                      : 88 + more;
}

struct buffer {
    uint8_t *bytes;
    size_t size, used;
    unsigned count;
};

static void give_back(struct buffer *buffer)
{
    if (buffer->bytes)
        completed(NULL, 0, buffer->bytes, buffer->size, buffer->used);
    *buffer = (struct buffer){0};
}

static void put(struct buffer *buffer, const void *record, size_t size, int kind)
{
    size_t record_max;

    if (buffer->count == RECORDS_MAX || buffer->size - buffer->used < size_of(kind))
        give_back(buffer);
    if (!buffer->bytes)
        requested(&buffer->bytes, &buffer->size, &record_max);
    if (!buffer->bytes) {
        dropped++;
        return;
    }
    memset(buffer->bytes + buffer->used, 0xa5, size_of(kind));
    memcpy(buffer->bytes + buffer->used, record, size);
    buffer->used += size_of(kind);
    buffer->count++;
}

static void put_work(struct buffer *buffer, const struct work *work)
{
    const uint64_t start_ns = on_our_clock(work->start_ns), end_ns = on_our_clock(work->end_ns);
    const uint32_t kind = (uint32_t)work->kind;

    if (kind == TSM_CUPTI_KERNEL)
        put(buffer,
            &(struct tsm_cupti_kernel){kind, .start_ns = start_ns, .end_ns = end_ns,
                                       .correlation = work->correlation},
            sizeof(struct tsm_cupti_kernel), work->kind);
    else if (kind == TSM_CUPTI_PEER_COPY)
        put(buffer,
            &(struct tsm_cupti_peer_copy){kind, .start_ns = start_ns, .end_ns = end_ns,
                                          .correlation = work->correlation},
            sizeof(struct tsm_cupti_peer_copy), work->kind);
    else
        put(buffer,
            &(struct tsm_cupti_copy){kind, .start_ns = start_ns, .end_ns = end_ns,
                                     .correlation = work->correlation},
            sizeof(struct tsm_cupti_copy), work->kind);
}

/* The number comes before the record, or behind it. */
static void put_both(struct buffer *buffer, const struct work *work)
{
    const struct tsm_cupti_outer outer = {TSM_CUPTI_OUTER, TSM_CUPTI_OUTER_KIND, work->id,
                                          work->correlation, 0};
    const bool is_behind = work->correlation % 3 == 0;

    if (!is_behind)
        put(buffer, &outer, sizeof(outer), TSM_CUPTI_OUTER);
    put_work(buffer, work);
    if (is_behind)
        put(buffer, &outer, sizeof(outer), TSM_CUPTI_OUTER);
}

/* ---- the thread ---------------------------------------------------------------------------- */

/* Forgets calls that are complete. `forced`: the others have work without
 * times. */
static void look_at_calls(bool forced)
{
    const struct tsm_emu_times *times = emu();
    struct call *list, *next, *kept = NULL, **end = &kept;
    uint64_t start_ns, end_ns;

    pthread_mutex_lock(&lock);
    list = calls;
    calls = NULL;
    pthread_mutex_unlock(&lock);
    for (; list; list = next) {
        next = list->next;
        if (!times || times->read(list->ticket, &start_ns, &end_ns) != TSM_EMU_TIMES_NOT_YET) {
            free(list);
            continue;
        }
        *end = list;
        end = &list->next;
    }
    *end = NULL;
    pthread_mutex_lock(&lock);
    for (struct call *call = kept; forced && call; call = call->next)
        add_work(call, TSM_CUPTI_KERNEL, 0, 0);
    *end = calls;
    calls = kept;
    pthread_mutex_unlock(&lock);
}

static void deliver(bool forced)
{
    struct buffer buffer = {0};
    struct work *list, *next;

    look_at_calls(forced);
    pthread_mutex_lock(&lock);
    list = done;
    done = NULL;
    pthread_mutex_unlock(&lock);
    for (; list; list = next) {
        next = list->next;
        put_both(&buffer, list);
        free(list);
    }
    give_back(&buffer);
}

static void *thread_main(void *unused)
{
    struct timespec until;
    uint32_t wanted;
    bool forced;

    for (;;) {
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += LATE_NS;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        pthread_mutex_lock(&lock);
        if (flush_wanted == flush_done)
            pthread_cond_timedwait(&changed, &lock, &until);
        wanted = flush_wanted;
        forced = flush_forced;
        flush_forced = false;
        pthread_mutex_unlock(&lock);
        deliver(forced);
        pthread_mutex_lock(&lock);
        flush_done = wanted;
        pthread_cond_broadcast(&changed);
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}

/* ---- functions ----------------------------------------------------------------------------- */

#define DECLARE(name, arguments) EXPORT int cupti##name arguments;
TSM_CUPTI_FUNCTIONS(DECLARE)

int cuptiGetVersion(uint32_t *out)
{
    MAY_FAIL;
    *out = version();
    return TSM_CUPTI_DONE;
}

int cuptiGetResultString(int result, const char **text)
{
    MAY_FAIL;
    *text = "an error of the tests";
    return TSM_CUPTI_DONE;
}

int cuptiSubscribe(void **out, tsm_cupti_callback callback, void *user)
{
    MAY_FAIL;
    if (subscriber || getenv("TS_TEST_CUPTI_TAKEN"))
        return TSM_CUPTI_OTHER_SUBSCRIBER;
    *out = subscriber = &subscriber;
    return TSM_CUPTI_DONE;
}

int cuptiUnsubscribe(void *which)
{
    MAY_FAIL;
    subscriber = NULL;
    return TSM_CUPTI_DONE;
}

int cuptiGetTimestamp(uint64_t *ns)
{
    MAY_FAIL;
    *ns = on_our_clock(monotonic_ns());
    return TSM_CUPTI_DONE;
}

int cuptiActivityRegisterCallbacks(tsm_cupti_requested request, tsm_cupti_completed complete)
{
    static bool is_started;
    pthread_t thread;

    MAY_FAIL;
    requested = request;
    completed = complete;
    if (!is_started && pthread_create(&thread, NULL, thread_main, NULL) != 0)
        return NUMBER_ERROR;
    is_started = true;
    return TSM_CUPTI_DONE;
}

int cuptiActivityEnable(int kind)
{
    MAY_FAIL;
    is_enabled[kind] = true;
    return TSM_CUPTI_DONE;
}

int cuptiActivityDisable(int kind)
{
    MAY_FAIL;
    is_enabled[kind] = false;
    return TSM_CUPTI_DONE;
}

int cuptiActivityFlushAll(uint32_t flags)
{
    uint32_t wanted;

    MAY_FAIL;
    if (!completed)
        return NOT_NOW;
    pthread_mutex_lock(&lock);
    flush_forced |= flags & TSM_CUPTI_FLUSH_FORCED;
    wanted = ++flush_wanted;
    pthread_cond_broadcast(&changed);
    while ((int32_t)(flush_done - wanted) < 0)
        pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
    return TSM_CUPTI_DONE;
}

int cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid_size, void **record)
{
    uint8_t *at = *record;
    uint32_t kind;

    MAY_FAIL;
    if (at) {
        memcpy(&kind, at, sizeof(kind));
        at += size_of((int)kind);
    } else {
        at = buffer;
    }
    if (at >= buffer + valid_size)
        return TSM_CUPTI_NO_MORE;
    *record = at;
    return TSM_CUPTI_DONE;
}

int cuptiActivityGetNumDroppedRecords(void *context, uint32_t stream, size_t *count)
{
    MAY_FAIL;
    *count = dropped;
    dropped = 0;
    return TSM_CUPTI_DONE;
}

int cuptiActivityPushExternalCorrelationId(int kind, uint64_t id)
{
    const struct tsm_emu_times *times = emu();
    struct call *call;

    MAY_FAIL;
    call = times ? calloc(1, sizeof(*call)) : NULL;
    current = call;
    if (!call)
        return TSM_CUPTI_DONE; /* the driver is not initialised: nothing can be sent */
    call->id = id;
    call->correlation = __atomic_add_fetch(&correlations, 1, __ATOMIC_RELAXED);
    call->ticket = times->begin();
    if (!call->ticket)
        abort();
    times->watch(call->ticket, has_ended, call);
    return TSM_CUPTI_DONE;
}

int cuptiActivityPopExternalCorrelationId(int kind, uint64_t *id)
{
    struct call *call = current;

    MAY_FAIL;
    if (!call)
        return TSM_CUPTI_DONE;
    *id = call->id;
    current = NULL;
    emu()->end(call->ticket);
    pthread_mutex_lock(&lock);
    call->next = calls;
    calls = call;
    pthread_mutex_unlock(&lock);
    return TSM_CUPTI_DONE;
}
