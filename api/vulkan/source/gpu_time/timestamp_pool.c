/* SPDX-License-Identifier: Apache-2.0
 *
 * Command buffers are recorded once: the first resets the queries and writes one timestamp, the
 * last writes the other and copies both into mapped memory. The driver is never asked for them:
 * some wait then for all that was sent to the device, which may wait for the program. Slots are
 * used again when their results were read.
 */
#include "api/vulkan/source/gpu_time/timestamp_pool.h"

#include "api/vulkan/source/source.h"
#include "api/vulkan/source/gpu_time/clock.h"
#include "api/vulkan/source/gpu_time/command_time.h"
#include "api/vulkan/source/gpu_time/time.h"
#include "api/vulkan/source/layer.h"
#include "base/arena.h"
#include "api/vulkan/source/lock.h"

#include <string.h>

#define PER_GROUP       32u
#define BUFFERS         4u   /* of a slot */
#define GROUP_MAX       128u /* of all devices: more batches under way are not timed */
#define READERS_WAIT_MS 2000u
#define LOOK_MAX        8u /* slots that are checked after each submit */

/* The slots of a family of queues. */
struct slot_group {
    struct vk_query_room room;
    uint64_t mask; /* valid bits of a timestamp */
    struct vk_timestamp_slot *free;
    struct vk_timestamp_slot slots[PER_GROUP];
};

static struct tsm_arena arena;
static struct tsm_lock lock; /* of all below */
static struct slot_group *groups[GROUP_MAX];
static uint32_t group_count;
static struct vk_timestamp_slot *oldest, **newest = &oldest;

/* Slot of this thread's last submit, until its place in the order is known. */
static __thread struct vk_timestamp_slot *pending __attribute__((tls_model("initial-exec")));

void vk_timestamp_pool_forget(void)
{
    lock = (struct tsm_lock){0};
    group_count = 0;
    oldest = pending = NULL;
    newest = &oldest;
}

/* ---- making --------------------------------------------------------------------------------- */

static bool begin_all(const struct vk_device_functions *f, const struct vk_timestamp_slot *s)
{
    /* A slot is used again when its results are there: nobody has waited for its fence by then. */
    const VkCommandBufferBeginInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                           .flags = VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT};

    return f->vkBeginCommandBuffer(s->first, &info) >= 0 &&
           f->vkBeginCommandBuffer(s->last, &info) >= 0 &&
           f->vkBeginCommandBuffer(s->end, &info) >= 0 &&
           f->vkBeginCommandBuffer(s->copy, &info) >= 0;
}

static void record_end(const struct slot_group *g, VkCommandBuffer commands, uint32_t query)
{
    g->room.device->below.vkCmdWriteTimestamp(commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT,
                                              g->room.queries, query);
}

/* The results go into memory when both are there, and are to be seen by the host then. */
static void record_copy(const struct slot_group *g, VkCommandBuffer commands, uint32_t query)
{
    vk_query_room_copy(&g->room, commands, query, 2);
    vk_query_room_show(&g->room, commands);
}

static bool record_slot(const struct slot_group *g, const struct vk_timestamp_slot *s)
{
    const struct vk_device_functions *f = &g->room.device->below;

    if (!begin_all(f, s))
        return false;
    f->vkCmdResetQueryPool(s->first, g->room.queries, s->query, 2);
    f->vkCmdWriteTimestamp(s->first, VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT, g->room.queries, s->query);
    record_end(g, s->last, s->query + 1);
    record_copy(g, s->last, s->query);
    record_end(g, s->end, s->query + 1);
    record_copy(g, s->copy, s->query);
    return f->vkEndCommandBuffer(s->first) >= 0 && f->vkEndCommandBuffer(s->last) >= 0 &&
           f->vkEndCommandBuffer(s->end) >= 0 && f->vkEndCommandBuffer(s->copy) >= 0;
}

static bool fill_group(struct slot_group *g, struct vk_device_state *device, uint32_t family)
{
    VkCommandBuffer list[BUFFERS * PER_GROUP];
    bool done =
        vk_query_room_make(&g->room, device, family, 2 * PER_GROUP, list, BUFFERS * PER_GROUP);

    g->free = NULL;
    for (uint32_t i = 0; i < PER_GROUP && done; i++) {
        struct vk_timestamp_slot *s = &g->slots[i];
        const VkCommandBuffer *own = &list[BUFFERS * (size_t)i];
        *s = (struct vk_timestamp_slot){.group = g,
                                        .next = g->free,
                                        .first = own[0],
                                        .last = own[1],
                                        .end = own[2],
                                        .copy = own[3],
                                        .query = 2 * i,
                                        .results = &g->room.results[2 * (size_t)i]};
        g->free = s;
        done = record_slot(g, s);
    }
    return done;
}

/* The lock is held. One with a free slot; a new one where there is none. NULL: not timed. */
static struct slot_group *find_group(struct vk_device_state *device, uint32_t family, uint64_t mask)
{
    struct slot_group *empty = NULL;

    for (uint32_t i = 0; i < group_count; i++) {
        if (groups[i]->room.device == device && groups[i]->room.family == family && groups[i]->free)
            return groups[i];
        if (!groups[i]->room.device)
            empty = groups[i];
    }
    if (!empty && group_count < GROUP_MAX) {
        empty = tsm_session_keep(&arena, sizeof(*empty));
        if (empty)
            groups[group_count++] = empty;
    }
    if (!empty)
        return NULL;
    empty->mask = mask;
    if (fill_group(empty, device, family))
        return empty;
    vk_query_room_free(&empty->room);
    empty->free = NULL;
    return NULL;
}

struct vk_timestamp_slot *vk_timestamp_pool_take(struct vk_device_state *device, uint32_t family,
                                                 uint64_t mask, uint32_t part)
{
    struct vk_timestamp_slot *s = NULL;
    struct slot_group *g;

    vk_lock_take(&lock);
    g = find_group(device, family, mask);
    if (g) {
        s = g->free;
        g->free = s->next;
        s->part = part;
        s->uses = NULL;
        s->state = VK_TIMESTAMP_SLOT_SENT;
        s->results[0] = s->results[1] = (struct vk_query_result){VK_QUERY_NOT_YET, 0};
        s->next = pending;
        pending = s;
    }
    vk_lock_give(&lock);
    if (!s)
        tsm_session_unmodelled("TS_GPU_TIME: too many batches under way, some are not timed",
                               false);
    return s;
}

/* The lock is held. */
static void give_slot(struct vk_timestamp_slot *s)
{
    s->state = VK_TIMESTAMP_SLOT_FREE;
    s->next = s->group->free;
    s->group->free = s;
}

/* The lock is held. Results will come. */
static void queue_slot(struct vk_timestamp_slot *s, enum vk_timestamp_slot_state state)
{
    s->state = state;
    s->next = NULL;
    *newest = s;
    newest = &s->next;
}

/* Marks this thread's slots as under way in this state, or as not sent. */
void vk_timestamp_pool_queue(enum vk_timestamp_slot_state state, const struct tsm_call *call)
{
    struct vk_timestamp_slot *s, *next;

    if (!pending)
        return;
    vk_lock_take(&lock);
    for (s = pending; s; s = next) {
        next = s->next;
        if (call) {
            s->stream = tsm_stream_number(call->stream);
            s->position = call->position;
        }
        if (state == VK_TIMESTAMP_SLOT_FREE) {
            vk_commands_done(s->uses);
            give_slot(s);
        } else {
            queue_slot(s, state);
        }
    }
    pending = NULL;
    vk_lock_give(&lock);
}

/* ---- results ------------------------------------------------------------------------------- */

/* Reads both timestamps. False: the device has not written both yet. */
static bool read_slot(const struct vk_timestamp_slot *s, uint64_t ticks[2])
{
    for (uint32_t i = 0; i < 2; i++) {
        if (!__atomic_load_n(&s->results[i].available, __ATOMIC_ACQUIRE))
            return false;
        ticks[i] = __atomic_load_n(&s->results[i].ticks, __ATOMIC_RELAXED);
        if (ticks[i] == VK_QUERY_NOT_YET)
            return false;
    }
    return true;
}

struct result {
    struct vk_clock_span span;
    struct vk_command_batch batch;
    struct vk_command_use *uses;
    bool is_known; /* else it has uses alone, which are over */
};

/* Commands come before the batch that they are in, which has their sum. */
static void record_result(const struct result *r)
{
    const struct tsm_gpu_time time = {.stream = r->batch.stream,
                                      .part = r->batch.part,
                                      .position = r->batch.position,
                                      .start_ns = r->span.start_ns,
                                      .duration_ns = r->span.duration_ns,
                                      .error_ns = r->span.error_ns,
                                      .flags = r->span.is_calibrated ? SBT_GPU_TIME_CALIBRATED : 0,
                                      .inner_ns =
                                          r->is_known ? vk_commands_record(r->uses, &r->batch) : 0};

    if (r->is_known)
        tsm_gpu_time_write(&time);
    if (!r->uses)
        return;
    vk_commands_done(r->uses);
    __atomic_sub_fetch(&r->batch.device->times_read, 1, __ATOMIC_RELEASE);
}

/* The lock is held. Takes the first result out of the list, among the `*look` slots after `*at`.
 * False: no more. */
static bool take_result(struct vk_timestamp_slot ***at, uint32_t *look, struct result *out)
{
    while (**at && *look) {
        struct vk_timestamp_slot *s = **at;
        bool is_known = s->state == VK_TIMESTAMP_SLOT_KNOWN;
        uint64_t ticks[2];
        --*look;
        if (!read_slot(s, ticks)) {
            *at = &s->next;
            continue;
        }
        if (is_known)
            out->span = vk_clock_span(s->group->room.device, ticks[0], ticks[1], s->group->mask);
        out->batch = (struct vk_command_batch){s->group->room.device, s->group->mask, s->position,
                                               s->stream, s->part};
        out->uses = s->uses;
        if (s->uses)
            __atomic_add_fetch(&s->group->room.device->times_read, 1, __ATOMIC_RELAXED);
        out->is_known = is_known;
        **at = s->next;
        if (newest == &s->next)
            newest = *at;
        give_slot(s);
        if (is_known || out->uses)
            return true;
    }
    return false;
}

static void collect(uint32_t look)
{
    struct result results[LOOK_MAX];
    uint32_t count;

    do { /* recording takes locks of its own */
        struct vk_timestamp_slot **at = &oldest;
        count = 0;
        vk_lock_take(&lock);
        while (count < LOOK_MAX && take_result(&at, &look, &results[count]))
            count++;
        vk_lock_give(&lock);
        for (uint32_t i = 0; i < count; i++)
            record_result(&results[i]);
    } while (count == LOOK_MAX && look);
}

void vk_time_collect(void)
{
    if (__atomic_load_n(&oldest, __ATOMIC_RELAXED))
        collect(UINT32_MAX);
}

void vk_time_collect_some(void)
{
    if (__atomic_load_n(&oldest, __ATOMIC_RELAXED))
        collect(LOOK_MAX);
}

/* Waits for other threads that read results of commands, which takes them a moment; not for those
 * that a fork has left behind. */
static void wait_for_readers(struct vk_device_state *device)
{
    uint32_t count = 1;

    for (uint32_t i = 0; i < READERS_WAIT_MS && count; i++) {
        count = __atomic_load_n(&device->times_read, __ATOMIC_ACQUIRE);
        if (count)
            tsm_futex_wait(&device->times_read, count, 1000000);
    }
}

void vk_timestamp_pool_device_destroyed(struct vk_device_state *device)
{
    struct vk_timestamp_slot **at = &oldest;

    wait_for_readers(device);
    vk_lock_take(&lock);
    while (*at) {
        struct vk_timestamp_slot *s = *at;
        if (s->group->room.device == device) {
            vk_commands_done(s->uses);
            *at = s->next;
            if (newest == &s->next)
                newest = at;
        } else {
            at = &s->next;
        }
    }
    for (uint32_t i = 0; i < group_count; i++)
        if (groups[i]->room.device == device) {
            vk_query_room_free(&groups[i]->room);
            groups[i]->free = NULL;
        }
    vk_lock_give(&lock);
}
