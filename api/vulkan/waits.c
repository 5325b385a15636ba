/* SPDX-License-Identifier: Apache-2.0
 *
 * Fences and semaphores. A fence is signalled when all that was sent to its queue until then has
 * ended; a semaphore, when its batch and all before it have, unless the batch says that some stages
 * are enough. What binds sparse memory, and presents, is not ordered with other batches. Values of
 * a timeline only grow, so one who has seen a value knows of all that are not above it; a binary
 * semaphore is waited for once each time that it is signalled.
 */
#include "api/waits_of.h"

#include <string.h>

#define SEMAPHORE       (1ull << 55) /* semaphores count apart from fences */
#define ALL_STAGES      0x10000u     /* all commands */
#define FIRST_STAGE     0x1u         /* top of pipe */
#define LAST_STAGE      0x2000u      /* bottom of pipe */
#define TIMELINE        1u           /* type of a semaphore */
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

/* A list of numbers that a walk stands in; a zeroed one is at its end. */
struct numbers {
    struct sbt_walk walk;
    bool is_open;
};

/* Returns the next number, or `absent`. */
static uint64_t next_number(struct numbers *n, uint64_t absent)
{
    uint64_t number;

    n->is_open = n->is_open && next_in_list(&n->walk, &number);
    return n->is_open ? number : absent;
}

/* A walk through batches. Of older structs lists stand side by side: values of the semaphores come
 * before these, stages behind. */
struct batches {
    const struct tsm_wait_visit *v;
    uint64_t at, count;
    bool is_apart;    /* batches are not ordered with others: sparse bindings */
    bool is_timeline; /* the struct in the chain is that of values */
    struct numbers wait_values, signal_values, waited;
    enum { NO_LIST, WAIT_LIST, SIGNAL_LIST } list; /* of semaphores, a struct each: */
    uint64_t semaphore, value, stages;
};

static int say_ends(const struct batches *b, uint64_t semaphore, uint64_t value, bool is_early)
{
    const struct tsm_wait_step step = {.kind = TSM_WAIT_ENDS,
                                       .object = semaphore_of(semaphore),
                                       .value = value,
                                       .parts = b->at + 1 < b->count ? (uint32_t)b->at + 1 : 0,
                                       .is_alone = b->is_apart,
                                       .is_early = is_early};

    return semaphore && b->at < UINT32_MAX ? b->v->visit(b->v->user, &step) : 0;
}

/* Batches before this one begin without; so do stages that are not asked to wait. */
static int say_for(const struct batches *b, uint64_t semaphore, uint64_t value, bool is_part)
{
    const struct tsm_wait_step step = {.kind = TSM_WAIT_FOR,
                                       .object = semaphore_of(semaphore),
                                       .value = value,
                                       .is_part = is_part || b->at};

    return semaphore ? b->v->visit(b->v->user, &step) : 0;
}

/* Goes through semaphores that are waited for, their values and `stages`, side by side. */
static int wait_lists(struct batches *b, struct numbers stages)
{
    uint64_t semaphore;
    int error = 0;

    while (!error && (semaphore = next_number(&b->waited, 0)))
        error = say_for(b, semaphore, next_number(&b->wait_values, 0),
                        !(next_number(&stages, ALL_STAGES) & (ALL_STAGES | FIRST_STAGE)));
    b->wait_values.is_open = b->waited.is_open = false;
    return error;
}

static int signal_list(struct batches *b, struct numbers signalled)
{
    uint64_t semaphore;
    int error = 0;

    while (!error && (semaphore = next_number(&signalled, 0)))
        error = say_ends(b, semaphore, next_number(&b->signal_values, 0), false);
    b->signal_values.is_open = false;
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
    if (MEMBER_IS(step, "items")) {
        b->at = step->index;
        b->wait_values.is_open = b->signal_values.is_open = false;
    } else if (step->structure)
        b->is_timeline = strcmp(step->structure->name, "VkTimelineSemaphoreSubmitInfo") == 0;
    b->semaphore = b->value = b->stages = 0;
}

static int open_list(struct batches *b, const struct sbt_step *step, const struct sbt_walk *walk)
{
    const struct numbers here = {*walk, true};

    b->list = NO_LIST;
    if (MEMBER_IS(step, "items"))
        b->count = step->number;
    else if (MEMBER_IS(step, "pWaitSemaphoreValues") && b->is_timeline)
        b->wait_values = here;
    else if (MEMBER_IS(step, "pSignalSemaphoreValues") && b->is_timeline)
        b->signal_values = here;
    else if (MEMBER_IS(step, "pWaitSemaphoreInfos"))
        b->list = WAIT_LIST;
    else if (MEMBER_IS(step, "pSignalSemaphoreInfos"))
        b->list = SIGNAL_LIST;
    else if (MEMBER_IS(step, "pSignalSemaphores"))
        return signal_list(b, here);
    else if (MEMBER_IS(step, "pWaitSemaphores")) {
        b->waited = here;
        return b->is_apart ? wait_lists(b, (struct numbers){.is_open = false}) : 0;
    } else if (MEMBER_IS(step, "pWaitDstStageMask"))
        return wait_lists(b, here);
    return 0;
}

static int close_struct(struct batches *b, const struct sbt_step *step)
{
    if (b->list == WAIT_LIST && MEMBER_IS(step, "pWaitSemaphoreInfos"))
        return say_for(b, b->semaphore, b->value, !(b->stages & (ALL_STAGES | FIRST_STAGE)));
    if (b->list == SIGNAL_LIST && MEMBER_IS(step, "pSignalSemaphoreInfos"))
        return say_ends(b, b->semaphore, b->value, !(b->stages & (ALL_STAGES | LAST_STAGE)));
    return 0;
}

static int batch_step(struct batches *b, const struct sbt_step *step, const struct sbt_walk *walk)
{
    if (step->kind == SBT_STEP_VALUE)
        note_number(b, step);
    else if (step->kind == SBT_STEP_OPEN && step->shape == SBT_SHAPE_LIST)
        return open_list(b, step, walk);
    else if (step->kind == SBT_STEP_OPEN && step->shape == SBT_SHAPE_STRUCT)
        open_struct(b, step);
    else if (step->kind == SBT_STEP_CLOSE && step->shape == SBT_SHAPE_STRUCT)
        return close_struct(b, step);
    return 0;
}

static int each_batch(const struct tsm_wait_visit *v, const char *field, bool is_apart)
{
    struct batches b = {.v = v, .is_apart = is_apart};
    struct sbt_value value;
    struct sbt_walk walk;
    struct sbt_step step;
    int error = 0;

    if (begin(v, field, &value, &walk))
        while (!error && sbt_walk_next(&walk, &step) == 1)
            error = batch_step(&b, &step, &walk);
    sbt_value_finish(&value);
    return error;
}

/* A fence's signal comes last. */
static int say_fence(const struct tsm_wait_visit *v, bool is_alone)
{
    const struct tsm_wait_step step = {.kind = TSM_WAIT_ENDS,
                                       .object = fence_of(tsm_wait_slot(v, "fence", 0)),
                                       .is_alone = is_alone};
    const int error = step.object ? tsm_wait_say(v, TSM_WAIT_OVER, step.object, 0) : 0;

    return error || !step.object ? error : v->visit(v->user, &step);
}

static int each_submitted(const struct tsm_wait_visit *v, uint32_t detail)
{
    const int error = each_batch(v, "pSubmits", false);

    (void)detail;
    return error ? error : say_fence(v, false);
}

static int each_bound(const struct tsm_wait_visit *v, uint32_t detail)
{
    const int error = each_batch(v, "pBindInfo", true);

    (void)detail;
    return error ? error : say_fence(v, true);
}

/* A present waits for binary semaphores. */
static int each_presented(const struct tsm_wait_visit *v, uint32_t detail)
{
    (void)detail;
    return each_batch(v, "pPresentInfo", true);
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

/* ---- objects that are made, shared, or changed by the host -------------------------------------
 */

/* Members of a struct that tells of an object; 0 where they are not there. */
struct told {
    uint64_t object, type, value;
};

static struct told read_struct(const struct tsm_wait_visit *v, const char *field,
                               const char *object, const char *type, const char *number)
{
    struct told told = {0};
    struct sbt_value value;
    struct sbt_walk walk;
    struct sbt_step step;

    if (begin(v, field, &value, &walk))
        while (sbt_walk_next(&walk, &step) == 1) {
            if (step.kind != SBT_STEP_VALUE)
                continue;
            if (MEMBER_IS(&step, object))
                told.object = step.number;
            else if (MEMBER_IS(&step, type))
                told.type = step.number;
            else if (MEMBER_IS(&step, number))
                told.value = step.number;
        }
    sbt_value_finish(&value);
    return told;
}

/* Exports or imports a fence. A sync file is a copy, and with it the fence begins again; anything
 * else is shared with others. */
static int each_fence_shared(const struct tsm_wait_visit *v, uint32_t is_export)
{
    const struct told told =
        read_struct(v, is_export ? "pGetFdInfo" : "pImportFenceFdInfo", "fence", "handleType", "");

    return told.object
               ? tsm_wait_say(v, told.type == SYNC_FILE_BIT ? TSM_WAIT_OVER : TSM_WAIT_FOREIGN,
                              fence_of(told.object), 0)
               : 0;
}

/* Others signal a semaphore that is shared, or may wait for what it was signalled with. */
static int each_semaphore_shared(const struct tsm_wait_visit *v, uint32_t is_export)
{
    const struct told told = read_struct(v, is_export ? "pGetFdInfo" : "pImportSemaphoreFdInfo",
                                         "semaphore", "handleType", "");

    return told.object ? tsm_wait_say(v, TSM_WAIT_FOREIGN, semaphore_of(told.object), 0) : 0;
}

static int each_semaphore_made(const struct tsm_wait_visit *v, uint32_t detail)
{
    const struct told told = read_struct(v, "pCreateInfo", "", "semaphoreType", "initialValue");
    const uint64_t semaphore = semaphore_of(tsm_wait_slot(v, "pSemaphore", 0));

    (void)detail;
    return told.type == TIMELINE ? tsm_wait_say(v, TSM_WAIT_RAISE, semaphore, told.value)
                                 : tsm_wait_say(v, TSM_WAIT_BINARY, semaphore, 0);
}

static int each_semaphore_signalled(const struct tsm_wait_visit *v, uint32_t detail)
{
    const struct told told = read_struct(v, "pSignalInfo", "semaphore", "", "value");

    (void)detail;
    return told.object ? tsm_wait_say(v, TSM_WAIT_RAISE, semaphore_of(told.object), told.value) : 0;
}

/* The one who presents signals them when an image is free. */
static int each_acquired(const struct tsm_wait_visit *v, uint32_t detail)
{
    const int error = each_fence_over(v, detail);

    return error ? error : each_semaphore_over(v, detail);
}

static int each_acquired2(const struct tsm_wait_visit *v, uint32_t detail)
{
    const struct told told = read_struct(v, "pAcquireInfo", "fence", "", "semaphore");
    int error = 0;

    (void)detail;
    if (told.object)
        error = tsm_wait_say(v, TSM_WAIT_OVER, fence_of(told.object), 0);
    return error || !told.value ? error
                                : tsm_wait_say(v, TSM_WAIT_OVER, semaphore_of(told.value), 0);
}

static const struct tsm_wait_call calls[] = {
    {"vkQueueSubmit", each_submitted, 0},
    {"vkQueueSubmit2", each_submitted, 0},
    {"vkQueueSubmit2KHR", each_submitted, 0},
    {"vkQueueBindSparse", each_bound, 0},
    {"vkQueuePresentKHR", each_presented, 0},
    {"vkWaitForFences", each_fences_waited, 0},
    {"vkGetFenceStatus", each_fence_asked, 0},
    {"vkResetFences", each_fence_reset, 0},
    {"vkDestroyFence", each_fence_over, 0},
    {"vkAcquireNextImageKHR", each_acquired, 0},
    {"vkAcquireNextImage2KHR", each_acquired2, 0},
    {"vkGetFenceFdKHR", each_fence_shared, 1},
    {"vkImportFenceFdKHR", each_fence_shared, 0},
    {"vkCreateSemaphore", each_semaphore_made, 0},
    {"vkSignalSemaphore", each_semaphore_signalled, 0},
    {"vkSignalSemaphoreKHR", each_semaphore_signalled, 0},
    {"vkGetSemaphoreFdKHR", each_semaphore_shared, 1},
    {"vkImportSemaphoreFdKHR", each_semaphore_shared, 0},
    {"vkWaitSemaphores", each_semaphores_waited, 0},
    {"vkWaitSemaphoresKHR", each_semaphores_waited, 0},
    {"vkGetSemaphoreCounterValue", each_semaphore_asked, 0},
    {"vkGetSemaphoreCounterValueKHR", each_semaphore_asked, 0},
    {"vkDestroySemaphore", each_semaphore_over, 0},
};

struct tsm_wait_object tsm_wait_object_vulkan(uint64_t object)
{
    return (struct tsm_wait_object){object & SEMAPHORE ? "VkSemaphore" : "VkFence",
                                    object & (SEMAPHORE - 1)};
}

struct tsm_wait_calls tsm_wait_calls_vulkan(void)
{
    return (struct tsm_wait_calls){calls, sizeof(calls) / sizeof(calls[0])};
}
