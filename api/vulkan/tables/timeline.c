/* SPDX-License-Identifier: Apache-2.0 */
#include "api/vulkan/tables/timeline.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

void vk_timelines_finish(struct vk_timelines *t)
{
    for (size_t i = 0; i < t->queue_count; i++)
        free(t->queues[i].steps);
    free(t->queues);
    free(t->values);
    memset(t, 0, sizeof(*t));
}

/* ---- semaphores -------------------------------------------------------------------------- */

static struct vk_timeline_value *find_value(const struct vk_timelines *t, uint64_t semaphore)
{
    for (size_t i = 0; i < t->value_count; i++)
        if (t->values[i].semaphore == semaphore)
            return &t->values[i];
    return NULL;
}

static struct vk_timeline_value *make_value(struct vk_timelines *t, uint64_t semaphore)
{
    struct vk_timeline_value *list = find_value(t, semaphore);

    if (list)
        return list;
    if (!TSM_ARRAY_RESERVE(t->values, t->value_capacity, t->value_count + 1))
        return NULL;
    t->values[t->value_count].semaphore = semaphore;
    return &t->values[t->value_count++];
}

/* ---- queues ------------------------------------------------------------------------------ */

static struct vk_timeline_queue *find_queue(const struct vk_timelines *t, uint64_t queue)
{
    for (size_t i = 0; i < t->queue_count; i++)
        if (t->queues[i].queue == queue)
            return &t->queues[i];
    return NULL;
}

static struct vk_timeline_queue *make_queue(struct vk_timelines *t, uint64_t queue)
{
    struct vk_timeline_queue *list = find_queue(t, queue);

    if (list)
        return list;
    if (!TSM_ARRAY_RESIZE(t->queues, t->queue_count + 1))
        return NULL;
    t->queues[t->queue_count] = (struct vk_timeline_queue){.queue = queue};
    return &t->queues[t->queue_count++];
}

/* Frees the places of entries that were carried out. */
static bool make_room(struct vk_timeline_queue *q)
{
    if (q->first > 0) {
        memmove(q->steps, q->steps + q->first, (q->count - q->first) * sizeof(*q->steps));
        q->count -= q->first;
        q->first = 0;
    }
    return TSM_ARRAY_RESERVE(q->steps, q->capacity, q->count + 1);
}

/* ---- going on ---------------------------------------------------------------------------- */

static bool is_met(const struct vk_timelines *t, const struct vk_timeline_step *wait)
{
    const struct vk_timeline_value *v = find_value(t, wait->semaphore);

    return !v || v->reached >= wait->value;
}

static void raise_to(struct vk_timelines *t, uint64_t semaphore, uint64_t value)
{
    struct vk_timeline_value *v = find_value(t, semaphore);

    if (v && v->reached < value)
        v->reached = value;
}

/* Carries out entries as far as possible now. Returns true if one has signalled anything. */
static bool advance(struct vk_timelines *t, struct vk_timeline_queue *q)
{
    bool has_signalled = false;

    for (; q->first < q->count; q->first++) {
        const struct vk_timeline_step *step = &q->steps[q->first];
        if (!step->is_signal && !is_met(t, step))
            break;
        if (step->is_signal)
            raise_to(t, step->semaphore, step->value);
        has_signalled |= step->is_signal;
    }
    return has_signalled;
}

static void settle(struct vk_timelines *t)
{
    bool again = true;

    while (again) {
        again = false;
        for (size_t i = 0; i < t->queue_count; i++)
            again |= advance(t, &t->queues[i]);
    }
}

static bool add(struct vk_timelines *t, uint64_t queue, struct vk_timeline_step step)
{
    struct vk_timeline_queue *q;

    if (!find_value(t, step.semaphore))
        return true;
    q = make_queue(t, queue);
    if (!q || (q->count == q->capacity && !make_room(q)))
        return false;
    q->steps[q->count++] = step;
    settle(t);
    return true;
}

/* ---- what happens ------------------------------------------------------------------------ */

bool vk_timelines_set(struct vk_timelines *t, uint64_t semaphore, uint64_t value)
{
    struct vk_timeline_value *v = make_value(t, semaphore);

    if (!v)
        return false;
    v->reached = value;
    settle(t);
    return true;
}

void vk_timelines_forget(struct vk_timelines *t, uint64_t semaphore)
{
    struct vk_timeline_value *v = find_value(t, semaphore);

    if (v)
        *v = t->values[--t->value_count];
    settle(t);
}

void vk_timelines_host(struct vk_timelines *t, uint64_t semaphore, uint64_t value)
{
    raise_to(t, semaphore, value);
    settle(t);
}

bool vk_timelines_wait(struct vk_timelines *t, uint64_t queue, uint64_t semaphore, uint64_t value)
{
    return add(t, queue, (struct vk_timeline_step){semaphore, value, false});
}

bool vk_timelines_signal(struct vk_timelines *t, uint64_t queue, uint64_t semaphore, uint64_t value)
{
    return add(t, queue, (struct vk_timeline_step){semaphore, value, true});
}

/* ---- asking ------------------------------------------------------------------------------ */

static bool is_stuck(const struct vk_timeline_queue *q)
{
    return q->first < q->count;
}

bool vk_timelines_is_stuck(const struct vk_timelines *t, uint64_t queue, uint64_t *semaphore)
{
    const struct vk_timeline_queue *q = find_queue(t, queue);

    if (!q || !is_stuck(q))
        return false;
    if (semaphore)
        *semaphore = q->steps[q->first].semaphore;
    return true;
}

bool vk_timelines_any_stuck(const struct vk_timelines *t)
{
    for (size_t i = 0; i < t->queue_count; i++)
        if (is_stuck(&t->queues[i]))
            return true;
    return false;
}

bool vk_timelines_first_stuck(const struct vk_timelines *t, uint64_t *semaphore, uint64_t *value)
{
    for (size_t i = 0; i < t->queue_count; i++) {
        const struct vk_timeline_queue *q = &t->queues[i];
        if (!is_stuck(q))
            continue;
        *semaphore = q->steps[q->first].semaphore;
        *value = q->steps[q->first].value;
        return true;
    }
    return false;
}

uint64_t vk_timelines_value(const struct vk_timelines *t, uint64_t semaphore)
{
    const struct vk_timeline_value *v = find_value(t, semaphore);

    return v ? v->reached : 0;
}

void vk_timelines_drop(struct vk_timelines *t, uint64_t queue)
{
    struct vk_timeline_queue *q = find_queue(t, queue);

    if (!q)
        return;
    free(q->steps);
    *q = t->queues[--t->queue_count];
}
