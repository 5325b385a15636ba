/* SPDX-License-Identifier: Apache-2.0
 *
 * Polls by which the program learned that the GPU is done, as waits: results of queries, events.
 */
#include "api/vulkan/replay/poll.h"

#include <string.h>
#include <time.h>

#include "api/vulkan/replay/call.h"
#include "api/vulkan/replay/loader.h"
#include "api/vulkan/replay/object.h"
#include "api/vulkan/replay/state/tracker.h"

#define QUERY_SIZE_MAX 512u /* bytes of one query's results */
#define SLICE_NS       50000
#define SLICES_MAX     20000u /* one second, for an event of which it is not known who sets it */

static const struct vkr_fact_queries *find_queries(const struct vkr_call *c, VkQueryPool pool)
{
    const struct vkr_object *o = vkr_object_of(c->r, VK_OBJECT_VkQueryPool, VKR_RAW(pool));

    return o ? o->fact : NULL;
}

/* ---- queries ------------------------------------------------------------------------------ */

/* Tests whether commands that were sent make all of them available. Those of a submit that was
 * hollow never are. */
static bool will_come(const struct vkr_call *c, const struct vk_args_vkGetQueryPoolResults *a)
{
    const struct vkr_fact_queries *fact = find_queries(c, a->queryPool);

    for (uint32_t i = 0; fact && i < a->queryCount && (uint64_t)a->firstQuery + i < fact->count;
         i++)
        if (fact->states[a->firstQuery + i] != VKR_QUERY_AVAILABLE)
            return false;
    return fact != NULL;
}

/* Returns how many words come before the one that says whether a query is available; 0: not known.
 */
static uint32_t count_words(const struct vkr_fact_queries *fact)
{
    if (fact->type == VK_QUERY_TYPE_PIPELINE_STATISTICS)
        return (uint32_t)__builtin_popcount(fact->statistics);
    return fact->type == VK_QUERY_TYPE_OCCLUSION || fact->type == VK_QUERY_TYPE_TIMESTAMP;
}

/* Tests what the recorded bytes say of one query. */
static bool was_available(const struct vk_args_vkGetQueryPoolResults *a,
                          const struct vkr_fact_queries *fact, uint32_t i, const uint8_t *bytes,
                          size_t size)
{
    size_t word = a->flags & VK_QUERY_RESULT_64_BIT ? 8 : 4;
    uint64_t at = i * a->stride + count_words(fact) * word;
    uint64_t value = 0;

    if (!count_words(fact) || at > size || size - at < word)
        return false;
    memcpy(&value, bytes + at, word);
    return value != 0;
}

static int await_query(struct vkr_call *c, const struct vk_args_vkGetQueryPoolResults *a,
                       uint32_t query)
{
    const struct vk_device_dispatch *d = &c->owner->device->dispatch;
    const VkQueryResultFlags flags = VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT;
    uint8_t bytes[QUERY_SIZE_MAX];
    VkResult result = d->f.vkGetQueryPoolResults(d->device, a->queryPool, query, 1, sizeof(bytes),
                                                 bytes, sizeof(bytes), flags);

    return result >= 0
               ? 0
               : tsm_fail(TSM_E_DEVICE, "vkGetQueryPoolResults gave %s", vkr_result_name(result));
}

/* Partial results are success, whatever is there: the word after each says what the program saw.
 */
static int await_partial(struct vkr_call *c, const struct vk_args_vkGetQueryPoolResults *a)
{
    const struct vkr_fact_queries *fact = find_queries(c, a->queryPool);
    const uint8_t *bytes = NULL;
    size_t size = 0;
    int error = 0;

    if (!(a->flags & VK_QUERY_RESULT_WITH_AVAILABILITY_BIT) || !fact ||
        !sbt_record_bytes(c->record, 5, &bytes, &size))
        return 0;
    for (uint32_t i = 0; i < a->queryCount && !error; i++)
        if (was_available(a, fact, i, bytes, size))
            error = await_query(c, a, a->firstQuery + i);
    return error;
}

int vkr_poll_queries(struct vkr_call *c)
{
    struct vk_args_vkGetQueryPoolResults *a = (void *)c->args;

    if (c->r->has_hollow && !will_come(c, a))
        return 0;
    if ((a->flags & VK_QUERY_RESULT_PARTIAL_BIT) && !(a->flags & VK_QUERY_RESULT_WAIT_BIT))
        return await_partial(c, a);
    a->flags |= VK_QUERY_RESULT_WAIT_BIT;
    return vkr_call_driver(c);
}

/* ---- events ------------------------------------------------------------------------------- */

int vkr_poll_event(struct vkr_call *c)
{
    const struct vk_args_vkGetEventStatus *a = (const void *)c->args;
    const struct vk_device_dispatch *d = &c->owner->device->dispatch;
    const struct vkr_object *o = vkr_object_of(c->r, VK_OBJECT_VkEvent, VKR_RAW(a->event));
    const struct vkr_fact_flag *fact = o ? o->fact : NULL;
    bool comes = fact && fact->is_set;

    if (c->r->has_hollow && !comes)
        return 0;
    for (unsigned i = 0; comes || i < SLICES_MAX; i++) {
        VkResult result = d->f.vkGetEventStatus(d->device, a->event);
        if (result < 0)
            return tsm_fail(TSM_E_DEVICE, "vkGetEventStatus gave %s", vkr_result_name(result));
        if (result == VK_EVENT_SET)
            return 0;
        nanosleep(&(struct timespec){0, SLICE_NS}, NULL);
    }
    return 0;
}
