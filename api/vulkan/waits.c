/* SPDX-License-Identifier: Apache-2.0
 *
 * Fences and timeline semaphores. A fence is signalled when all that was sent to its queue until
 * then has ended; a semaphore, when its batch and all before it have, unless the batch says that
 * some stages are enough. Values of a timeline only grow, so one who has seen a value knows of all
 * that are not above it.
 */
#include "api/waits_of.h"

#include <string.h>

#define SEMAPHORE       (1ull << 55) /* semaphores count apart from fences */
#define ALL_STAGES      0x10000u     /* all commands */
#define LAST_STAGE      0x2000u      /* bottom of pipe */
#define WAIT_ANY        1u           /* of semaphores */
#define SYNC_FILE_BIT   8u           /* type of a fence's payload: a copy, not shared */
#define MEMBER_IS(s, n) ((s)->member && strcmp((s)->member->name, (n)) == 0)

static uint64_t semaphore_of(uint64_t id)
{
    return (id & (SEMAPHORE - 1)) | SEMAPHORE;
}

static uint64_t fence_of(uint64_t id)
{
    return id & (SEMAPHORE - 1);
}

/* Opens the structured value of a field. Returns false if there is none. */
static bool begin(const struct tsm_wait_visit *v, const char *field, struct sbt_value *value,
                  struct sbt_walk *walk)
{
    const int i = tsm_wait_field(v->schema, field);

    *value = (struct sbt_value){.data = NULL};
    return i >= 0 && sbt_reader_value(v->reader, v->record, (uint32_t)i, value) == 1 &&
           sbt_walk_begin(walk, v->reader, v->schema->fields[i].detail, value->data, value->size) ==
               0;
}

/* ---- lists of objects and their values --------------------------------------------------------
 */

/* Moves to the next number of the list that the walk is in. Returns false at its end. */
static bool next_in_list(struct sbt_walk *walk, uint64_t *number)
{
    struct sbt_step step;

    if (sbt_walk_next(walk, &step) != 1 || step.kind != SBT_STEP_VALUE)
        return false;
    *number = step.number;
    return true;
}

/* Says the same of each fence in a list. */
static int each_fence(const struct tsm_wait_visit *v, enum tsm_wait_kind kind)
{
    struct sbt_value value;
    struct sbt_walk walk;
    struct sbt_step step;
    uint64_t id;
    int error = 0;

    if (begin(v, "pFences", &value, &walk))
        while (!error && sbt_walk_next(&walk, &step) == 1)
            if (step.kind == SBT_STEP_OPEN && step.shape == SBT_SHAPE_LIST)
                while (!error && next_in_list(&walk, &id))
                    error = id ? tsm_wait_say(v, kind, fence_of(id), 0) : 0;
    sbt_value_finish(&value);
    return error;
}

/* ---- what is sent -----------------------------------------------------------------------------
 */

/* A walk through batches. Values come before the semaphores that they belong to. */
struct batches {
    const struct tsm_wait_visit *v;
    uint64_t at, count;
    bool is_timeline;       /* the struct in the chain is that of values */
    bool has_values;        /* `values` stands behind the begin of a list */
    struct sbt_walk values; /* of the semaphores that the batch signals */
    bool is_signal;         /* in the list of what is signalled, one struct each: */
    uint64_t semaphore, value, stages;
};

static int say_ends(const struct batches *b, uint64_t semaphore, uint64_t value)
{
    const struct tsm_wait_step step = {.kind = TSM_WAIT_ENDS,
                                       .object = semaphore_of(semaphore),
                                       .value = value,
                                       .parts = b->at + 1 < b->count ? (uint32_t)b->at + 1 : 0};

    /* A binary semaphore has no value; the host cannot wait for it. */
    return semaphore && value && b->at < UINT32_MAX ? b->v->visit(b->v->user, &step) : 0;
}

/* Goes through semaphores and their values side by side. */
static int signal_list(struct batches *b, struct sbt_walk *walk)
{
    uint64_t semaphore, value;
    int error = 0;

    while (!error && next_in_list(walk, &semaphore)) {
        b->has_values = b->has_values && next_in_list(&b->values, &value);
        if (b->has_values)
            error = say_ends(b, semaphore, value);
    }
    b->has_values = false;
    return error;
}

static void note_number(struct batches *b, const struct sbt_step *step)
{
    if (MEMBER_IS(step, "semaphore"))
        b->semaphore = step->number;
    else if (MEMBER_IS(step, "value"))
        b->value = step->number;
    else if (MEMBER_IS(step, "stageMask"))
        b->stages = step->number;
}

static void open_struct(struct batches *b, const struct sbt_step *step)
{
    if (MEMBER_IS(step, "items"))
        b->at = step->index;
    else if (step->structure)
        b->is_timeline = strcmp(step->structure->name, "VkTimelineSemaphoreSubmitInfo") == 0;
    b->semaphore = b->value = b->stages = 0;
}

static int open_list(struct batches *b, const struct sbt_step *step, struct sbt_walk *walk)
{
    if (MEMBER_IS(step, "items"))
        b->count = step->number;
    if (MEMBER_IS(step, "pSignalSemaphoreValues") && b->is_timeline) {
        b->values = *walk;
        b->has_values = true;
    }
    b->is_signal = MEMBER_IS(step, "pSignalSemaphoreInfos");
    return MEMBER_IS(step, "pSignalSemaphores") ? signal_list(b, walk) : 0;
}

static int batch_step(struct batches *b, const struct sbt_step *step, struct sbt_walk *walk)
{
    if (step->kind == SBT_STEP_VALUE)
        note_number(b, step);
    else if (step->kind == SBT_STEP_OPEN && step->shape == SBT_SHAPE_LIST)
        return open_list(b, step, walk);
    else if (step->kind == SBT_STEP_OPEN && step->shape == SBT_SHAPE_STRUCT)
        open_struct(b, step);
    else if (step->kind == SBT_STEP_CLOSE && step->shape == SBT_SHAPE_STRUCT && b->is_signal &&
             MEMBER_IS(step, "pSignalSemaphoreInfos") && b->stages & (ALL_STAGES | LAST_STAGE))
        return say_ends(b, b->semaphore, b->value);
    return 0;
}

/* A fence's signal comes last. */
static int each_submitted(const struct tsm_wait_visit *v, uint32_t detail)
{
    const uint64_t fence = tsm_wait_slot(v, "fence", 0);
    struct batches b = {.v = v};
    struct sbt_value value;
    struct sbt_walk walk;
    struct sbt_step step;
    int error = 0;

    (void)detail;
    if (begin(v, "pSubmits", &value, &walk))
        while (!error && sbt_walk_next(&walk, &step) == 1)
            error = batch_step(&b, &step, &walk);
    sbt_value_finish(&value);
    if (!error && fence)
        error = tsm_wait_say(v, TSM_WAIT_OVER, fence_of(fence), 0);
    return error || !fence ? error : tsm_wait_say(v, TSM_WAIT_ENDS, fence_of(fence), 0);
}

/* ---- what the host learns ---------------------------------------------------------------------
 */

/* Says nothing where one of several is enough: which one it was is not known. */
static int each_fences_waited(const struct tsm_wait_visit *v, uint32_t detail)
{
    (void)detail;
    if (v->record->result != 0 ||
        (tsm_wait_slot(v, "fenceCount", 2) > 1 && !tsm_wait_slot(v, "waitAll", 0)))
        return 0;
    return each_fence(v, TSM_WAIT_REACHED);
}

static int each_fence_asked(const struct tsm_wait_visit *v, uint32_t detail)
{
    const uint64_t fence = tsm_wait_slot(v, "fence", 0);

    (void)detail;
    return v->record->result == 0 && fence ? tsm_wait_say(v, TSM_WAIT_REACHED, fence_of(fence), 0)
                                           : 0;
}

static int each_fence_reset(const struct tsm_wait_visit *v, uint32_t detail)
{
    (void)detail;
    return each_fence(v, TSM_WAIT_OVER);
}

/* A wait for semaphores: they come before their values. */
struct semaphores {
    struct sbt_walk list;
    bool has_list, is_any;
    uint64_t count;
};

static int semaphore_values(const struct tsm_wait_visit *v, struct semaphores *s,
                            struct sbt_walk *values)
{
    uint64_t semaphore, value;
    int error = 0;

    if (!s->has_list || (s->is_any && s->count > 1))
        return 0;
    while (!error && next_in_list(values, &value) && next_in_list(&s->list, &semaphore))
        if (semaphore)
            error = tsm_wait_say(v, TSM_WAIT_REACHED, semaphore_of(semaphore), value);
    return error;
}

static int semaphores_step(const struct tsm_wait_visit *v, struct semaphores *s,
                           const struct sbt_step *step, struct sbt_walk *walk)
{
    if (step->kind == SBT_STEP_VALUE && MEMBER_IS(step, "flags"))
        s->is_any = step->number & WAIT_ANY;
    if (step->kind != SBT_STEP_OPEN || step->shape != SBT_SHAPE_LIST)
        return 0;
    if (MEMBER_IS(step, "pSemaphores")) {
        s->list = *walk;
        s->has_list = true;
        s->count = step->number;
    }
    return MEMBER_IS(step, "pValues") ? semaphore_values(v, s, walk) : 0;
}

static int each_semaphores_waited(const struct tsm_wait_visit *v, uint32_t detail)
{
    struct semaphores s = {.has_list = false};
    struct sbt_value value;
    struct sbt_walk walk;
    struct sbt_step step;
    int error = 0;

    (void)detail;
    if (v->record->result != 0)
        return 0;
    if (begin(v, "pWaitInfo", &value, &walk))
        while (!error && sbt_walk_next(&walk, &step) == 1)
            error = semaphores_step(v, &s, &step, &walk);
    sbt_value_finish(&value);
    return error;
}

static int each_semaphore_asked(const struct tsm_wait_visit *v, uint32_t detail)
{
    const uint64_t semaphore = tsm_wait_slot(v, "semaphore", 0);

    (void)detail;
    return v->record->result == 0 && semaphore
               ? tsm_wait_say(v, TSM_WAIT_REACHED, semaphore_of(semaphore),
                              tsm_wait_slot(v, "pValue", 0))
               : 0;
}

/* ---- what else happens to fences --------------------------------------------------------------
 */

static int each_fence_over(const struct tsm_wait_visit *v, uint32_t detail)
{
    const uint64_t fence = tsm_wait_slot(v, "fence", 0);

    (void)detail;
    return fence ? tsm_wait_say(v, TSM_WAIT_OVER, fence_of(fence), 0) : 0;
}

static int each_semaphore_over(const struct tsm_wait_visit *v, uint32_t detail)
{
    const uint64_t semaphore = tsm_wait_slot(v, "semaphore", 0);

    (void)detail;
    return semaphore ? tsm_wait_say(v, TSM_WAIT_OVER, semaphore_of(semaphore), 0) : 0;
}

/* Exports or imports a fence. A sync file is a copy, and with it the fence begins again; anything
 * else is shared with others. Of semaphores only binary ones have another meaning then. */
static int each_fence_shared(const struct tsm_wait_visit *v, uint32_t detail)
{
    uint64_t fence = 0, type = 0;
    struct sbt_value value;
    struct sbt_walk walk;
    struct sbt_step step;

    (void)detail;
    if (begin(v, strncmp(v->schema->name, "vkGet", 5) == 0 ? "pGetFdInfo" : "pImportFenceFdInfo",
              &value, &walk))
        while (sbt_walk_next(&walk, &step) == 1) {
            if (step.kind == SBT_STEP_VALUE && MEMBER_IS(&step, "fence"))
                fence = step.number;
            else if (step.kind == SBT_STEP_VALUE && MEMBER_IS(&step, "handleType"))
                type = step.number;
        }
    sbt_value_finish(&value);
    return fence ? tsm_wait_say(v, type == SYNC_FILE_BIT ? TSM_WAIT_OVER : TSM_WAIT_FOREIGN,
                                fence_of(fence), 0)
                 : 0;
}

static const struct tsm_wait_call calls[] = {
    {"vkQueueSubmit", each_submitted, 0},
    {"vkQueueSubmit2", each_submitted, 0},
    {"vkQueueSubmit2KHR", each_submitted, 0},
    {"vkQueueBindSparse", each_fence_over, 0}, /* it is not ordered with submits */
    {"vkWaitForFences", each_fences_waited, 0},
    {"vkGetFenceStatus", each_fence_asked, 0},
    {"vkResetFences", each_fence_reset, 0},
    {"vkDestroyFence", each_fence_over, 0},
    {"vkAcquireNextImageKHR", each_fence_over, 0},
    {"vkGetFenceFdKHR", each_fence_shared, 0},
    {"vkImportFenceFdKHR", each_fence_shared, 0},
    {"vkWaitSemaphores", each_semaphores_waited, 0},
    {"vkWaitSemaphoresKHR", each_semaphores_waited, 0},
    {"vkGetSemaphoreCounterValue", each_semaphore_asked, 0},
    {"vkGetSemaphoreCounterValueKHR", each_semaphore_asked, 0},
    {"vkDestroySemaphore", each_semaphore_over, 0},
};

struct tsm_wait_calls tsm_wait_calls_vulkan(void)
{
    return (struct tsm_wait_calls){calls, sizeof(calls) / sizeof(calls[0])};
}
