/* SPDX-License-Identifier: Apache-2.0
 *
 * Commands: what they wait for and signal, by the lists of syncobjs and memory objects that they
 * are given.
 */
#include "api/drm/waits.h"

#include <string.h>

#define I915_WAIT     1u /* flags of a fence */
#define I915_SIGNAL   2u
#define XE_USER_FENCE 2u /* type of what xe signals: a number in memory */
#define XE_TIMELINE   1u

/* Structs that name a syncobj. Whether a command waits for it or signals it says the list that they
 * are in, or the flags. */
static const struct sync_row {
    const char *name;
    const char *waits, *signals;     /* lists, if these say it */
    uint64_t wait_flag, signal_flag; /* else; wait_flag 0: without the other one it waits */
    uint64_t reset_flag;             /* when it has waited, the syncobj is empty */
    uint64_t type_mask;              /* of the flags: 1 there says that the syncobj has points */
} sync_rows[] = {
    {"drm_i915_gem_exec_fence", NULL, NULL, I915_WAIT, I915_SIGNAL, 0, 0},
    {"drm_xe_sync", NULL, NULL, 0, 1, 0, 0},
    {"drm_nouveau_sync", "wait_ptr", "sig_ptr", 0, 0, 0, 0xf},
    {"drm_virtgpu_execbuffer_syncobj", "in_syncobjs", "out_syncobjs", 0, 0, 1, 0},
    {"drm_v3d_sem", "in_syncs", "out_syncs", 0, 0, 0, UINT64_MAX}, /* no points */
    {"drm_msm_gem_submit_syncobj", "in_syncobjs", "out_syncobjs", 0, 0, 1, 0},
    {"drm_panthor_sync_op", NULL, NULL, 0, 1ull << 31, 0, 0xff},
    {"drm_pvr_sync_op", NULL, NULL, 0, 1ull << 31, 0, 0xf},
};

/* Structs that name a memory object, with flags that say how it is used. */
static const struct {
    const char *name;
    uint64_t write_flag, free_flag; /* free: it waits for nobody */
} object_rows[] = {
    {"drm_amdgpu_bo_list_entry", 0, 0},   {"drm_i915_gem_exec_object2", 1u << 2, 1u << 6},
    {"drm_nouveau_gem_pushbuf_bo", 0, 0}, /* write_domains */
    {"drm_msm_gem_submit_bo", 2, 0},      {"drm_lima_gem_submit_bo", 2, 0},
    {"drm_etnaviv_gem_submit_bo", 2, 0},
};

/* Structs of amdgpu's chunks, and those that are parts of a submit. */
static const struct {
    const char *name;
    enum meaning { NOTHING, SYNC, OBJECT, IB, DEPENDENCY, SEMAPHORE, PART } meaning;
} other_rows[] = {
    {"drm_amdgpu_cs_chunk_ib", IB},         {"drm_amdgpu_cs_chunk_dep", DEPENDENCY},
    {"drm_amdgpu_cs_chunk_sem", SEMAPHORE}, {"drm_amdgpu_cs_chunk_syncobj", SEMAPHORE},
    {"drm_panthor_queue_submit", PART},     {"drm_pvr_job", PART},
};

#define COUNT_OF(rows) (sizeof(rows) / sizeof((rows)[0]))

/* Meaning of a struct. */
struct role {
    const struct sbt_struct *structure; /* NULL: of none */
    enum meaning meaning;
    size_t row; /* SYNC, OBJECT: of their rows */
};

static struct role role_of(const struct sbt_struct *structure)
{
    for (size_t i = 0; i < COUNT_OF(sync_rows); i++)
        if (strcmp(structure->name, sync_rows[i].name) == 0)
            return (struct role){structure, SYNC, i};
    for (size_t i = 0; i < COUNT_OF(object_rows); i++)
        if (strcmp(structure->name, object_rows[i].name) == 0)
            return (struct role){structure, OBJECT, i};
    for (size_t i = 0; i < COUNT_OF(other_rows); i++)
        if (strcmp(structure->name, other_rows[i].name) == 0)
            return (struct role){structure, other_rows[i].meaning, i};
    return (struct role){structure, NOTHING, 0};
}

/* Kinds of amdgpu's chunks. */
enum {
    CHUNK_IB = 1,
    CHUNK_DEPENDENCIES = 3,
    CHUNK_WAIT = 4,
    CHUNK_SIGNAL = 5,
    CHUNK_WAIT_POINT = 8,
    CHUNK_SIGNAL_POINT = 9
};

/* A walk through what a command was given. First it says all that the command waits for, then what
 * it signals. */
struct sending {
    const struct tsm_wait_visit *v;
    uint32_t traits;
    bool is_end;    /* the second time */
    uint64_t parts; /* of the command, that queues take each; so far */
    struct drm_waits_members m[SBT_VALUE_DEPTH_MAX]; /* of the structs that the walk is in */
    uint32_t depth;                                  /* of them; the innermost is m[depth - 1] */
    struct drm_waits_members ib;                     /* the last one of amdgpu's */
    struct role role;       /* of the struct that was closed last: many are of one type */
    struct sbt_walk fences; /* i915's, whose points come in a list behind them */
    bool has_fences;
};

static int say_for(const struct sending *s, uint64_t object, uint64_t value, bool is_any)
{
    const struct tsm_wait_step step = {.kind = TSM_WAIT_FOR,
                                       .object = object,
                                       .value = value,
                                       .is_part = (s->traits & DRM_SENT_LATER) != 0,
                                       .is_sent = true,
                                       .is_any = is_any};

    return object ? s->v->visit(s->v->user, &step) : 0;
}

static int say_ends_of(const struct sending *s, uint64_t object, uint64_t value, bool is_latest)
{
    const struct tsm_wait_step step = {.kind = TSM_WAIT_ENDS,
                                       .object = object,
                                       .value = value,
                                       .is_alone = (s->traits & DRM_SENT_PARTS) != 0,
                                       .is_early = s->parts > 1,
                                       .is_latest = is_latest && s->parts <= 1};

    return object ? s->v->visit(s->v->user, &step) : 0;
}

static int say_ends(const struct sending *s, uint64_t object, uint64_t value)
{
    return say_ends_of(s, object, value, false);
}

/* Says that the command waits for a syncobj, or signals it. `point` 0: it has no points. */
static int say_syncobj(const struct sending *s, uint64_t handle, uint64_t point, bool is_signal)
{
    const uint64_t syncobj = drm_waits_object(s->v, DRM_WAIT_SYNCOBJ, handle);
    int error;

    if (is_signal != s->is_end)
        return 0;
    if (!is_signal)
        return say_for(s, syncobj, point ? point : TSM_WAIT_LATEST, false);
    error = point ? 0 : drm_waits_say(s->v, TSM_WAIT_OVER, syncobj, 0);
    return error ? error : say_ends(s, syncobj, point ? point : DRM_WAIT_SIGNALLED);
}

/* Returns the point of a timeline; 0: the syncobj has none. */
static uint64_t point_of(const struct drm_waits_members *m, const struct sync_row *row)
{
    if (strcmp(row->name, "drm_xe_sync") == 0)
        return m->type == XE_TIMELINE ? m->value : 0;
    return !row->type_mask || (m->flags & row->type_mask) == 1 ? m->value : 0;
}

static int say_sync(const struct sending *s, const struct sbt_step *step,
                    const struct sync_row *row)
{
    const struct drm_waits_members *m = &s->m[s->depth - 1];
    const bool is_signal = row->signals ? drm_waits_is_named(step, row->signals)
                                        : (m->flags & row->signal_flag) != 0,
               is_wait = row->waits       ? drm_waits_is_named(step, row->waits)
                         : row->wait_flag ? (m->flags & row->wait_flag) != 0
                                          : !is_signal;
    const uint64_t point = point_of(m, row);
    int error = 0;

    if (is_wait)
        error = say_syncobj(s, m->handle, point, false);
    if (!error && is_wait && !s->is_end && m->flags & row->reset_flag)
        error = drm_waits_say(s->v, TSM_WAIT_OVER,
                              drm_waits_object(s->v, DRM_WAIT_SYNCOBJ, m->handle), 0);
    return error || !is_signal ? error : say_syncobj(s, m->handle, point, true);
}

/* Says how the command uses a memory object. The later one that is known has the larger value, so
 * that the latest stay known. */
static int say_object(const struct sending *s, uint64_t handle, bool is_write, bool is_free)
{
    const uint64_t written = drm_waits_object(s->v, DRM_WAIT_WRITTEN, handle),
                   read = drm_waits_object(s->v, DRM_WAIT_READ, handle),
                   value = s->v->record->seq + 1;
    const bool is_ordered = s->traits & DRM_SENT_ORDERED && !is_free;
    int error = 0;

    if (!s->is_end) {
        if (is_ordered)
            error = say_for(s, written, TSM_WAIT_LATEST, true);
        return error || !is_ordered || !is_write ? error : say_for(s, read, TSM_WAIT_LATEST, true);
    }
    if (is_ordered && is_write) { /* it has waited for all of them */
        error = drm_waits_say(s->v, TSM_WAIT_OVER, read, 0);
        if (!error)
            error = drm_waits_say(s->v, TSM_WAIT_OVER, written, 0);
    }
    return error ? error : say_ends_of(s, is_write ? written : read, value, true);
}

/* ---- amdgpu -----------------------------------------------------------------------------------
 */

static int say_semaphore(const struct sending *s, const struct drm_waits_members *m)
{
    switch (m->chunk) {
    case CHUNK_WAIT:
        return say_syncobj(s, m->handle, 0, false);
    case CHUNK_SIGNAL:
        return say_syncobj(s, m->handle, 0, true);
    case CHUNK_WAIT_POINT:
        return say_syncobj(s, m->handle, m->value, false);
    case CHUNK_SIGNAL_POINT:
        return say_syncobj(s, m->handle, m->value, true);
    default:
        return 0;
    }
}

static int say_dependency(const struct sending *s, const struct drm_waits_members *m)
{
    return s->is_end || m->chunk != CHUNK_DEPENDENCIES
               ? 0
               : say_for(s, drm_waits_ring(s->v, m), m->handle, false);
}

/* The number that a command got, on the ring of its last buffer. */
static int say_number(struct sending *s)
{
    const uint64_t number = drm_waits_member(s->v, "out", "handle", 0);

    s->ib.context = drm_waits_member(s->v, "in", "ctx_id", 0);
    return number ? say_ends(s, drm_waits_ring(s->v, &s->ib), number) : 0;
}

/* ---- i915 -------------------------------------------------------------------------------------
 */

/* Moves to the next fence of the list. Returns false at its end. */
static bool next_fence(struct sbt_walk *walk, struct drm_waits_members *m)
{
    struct sbt_step step;

    *m = (struct drm_waits_members){0};
    while (sbt_walk_next(walk, &step) == 1 && step.shape == SBT_SHAPE_STRUCT) {
        drm_waits_note(m, &step);
        if (step.kind == SBT_STEP_CLOSE)
            return true;
    }
    return false;
}

/* Says of the fences in a list what they have points for; NULL: none has one. */
static int say_fences(struct sending *s, struct sbt_walk *points)
{
    struct sbt_step point = {0};
    struct drm_waits_members m;
    int error = 0;

    while (s->has_fences && !error && next_fence(&s->fences, &m)) {
        if (points && (sbt_walk_next(points, &point) != 1 || point.kind != SBT_STEP_VALUE))
            break;
        if (m.flags & I915_WAIT)
            error = say_syncobj(s, m.handle, point.number, false);
        if (!error && m.flags & I915_SIGNAL)
            error = say_syncobj(s, m.handle, point.number, true);
    }
    s->has_fences = false;
    return error;
}

/* ---- all that is sent -------------------------------------------------------------------------
 */

static int close_struct(struct sending *s, const struct sbt_step *step)
{
    const struct drm_waits_members *m = &s->m[s->depth - 1];

    if (s->role.structure != step->structure)
        s->role = role_of(step->structure);
    if (s->has_fences)
        return 0;
    switch (s->role.meaning) {
    case SYNC:
        return m->type == XE_USER_FENCE ? 0 : say_sync(s, step, &sync_rows[s->role.row]);
    case OBJECT:
        return say_object(s, m->handle, m->write || m->flags & object_rows[s->role.row].write_flag,
                          m->flags & object_rows[s->role.row].free_flag);
    case IB:
        s->ib = *m;
        return 0;
    case DEPENDENCY:
        return say_dependency(s, m);
    case SEMAPHORE:
        return say_semaphore(s, m);
    case PART:
        s->parts += !s->is_end;
        return 0;
    case NOTHING:
        break;
    }
    return 0;
}

/* Members of a struct in a struct begin with nothing, but for the kind of the chunk. */
static void enter_struct(struct sending *s)
{
    const uint64_t chunk = s->depth ? s->m[s->depth - 1].chunk : 0;

    if (s->depth < SBT_VALUE_DEPTH_MAX)
        s->m[s->depth++] = (struct drm_waits_members){.chunk = chunk};
}

/* Gives the struct around a union the members of the union. */
static void leave_struct(struct sending *s, const struct sbt_step *step)
{
    if (s->depth > 1 && step->index == SBT_STEP_MEMBER && s->m[s->depth - 1].handle)
        s->m[s->depth - 2].handle = s->m[s->depth - 1].handle;
    s->depth -= s->depth != 0;
}

/* A value: a member, or a handle that stands in no struct. */
static int sent_value(struct sending *s, const struct sbt_step *step)
{
    if (s->depth)
        drm_waits_note(&s->m[s->depth - 1], step);
    if (drm_waits_is_named(step, "in_sync") || drm_waits_is_named(step, "in_syncs") ||
        drm_waits_is_named(step, "in_sync_bcl") || drm_waits_is_named(step, "in_sync_rcl"))
        return say_syncobj(s, step->number, 0, false);
    if (drm_waits_is_named(step, "out_sync"))
        return say_syncobj(s, step->number, 0, true);
    if (drm_waits_is_named(step, "bo_handles"))
        return say_object(s, step->number, (s->traits & DRM_SENT_ORDERED) != 0, false);
    return drm_waits_is_named(step, "values_ptr") && step->none ? say_fences(s, NULL) : 0;
}

static int open_list(struct sending *s, const struct sbt_step *step, struct sbt_walk *walk)
{
    struct sbt_walk points = *walk;

    if (drm_waits_is_named(step, "handles_ptr")) {
        s->fences = *walk;
        s->has_fences = true;
    }
    return drm_waits_is_named(step, "values_ptr") ? say_fences(s, &points) : 0;
}

static int sent_step(struct sending *s, const struct sbt_step *step, struct sbt_walk *walk)
{
    int error = 0;

    if (step->kind == SBT_STEP_VALUE)
        return sent_value(s, step);
    if (step->kind == SBT_STEP_OPEN && step->shape == SBT_SHAPE_LIST)
        return open_list(s, step, walk);
    if (step->kind == SBT_STEP_OPEN && step->structure)
        enter_struct(s);
    else if (step->kind == SBT_STEP_CLOSE && step->structure) {
        error = s->depth ? close_struct(s, step) : 0;
        leave_struct(s, step);
    }
    return error;
}

static int walk_sent(struct sending *s)
{
    struct sbt_value value;
    struct sbt_walk walk;
    struct sbt_step step;
    int error = 0;

    s->depth = 0;
    s->has_fences = false;
    if (drm_waits_begin(s->v, "in", &value, &walk))
        while (!error && sbt_walk_next(&walk, &step) == 1)
            error = sent_step(s, &step, &walk);
    sbt_value_finish(&value);
    return error;
}

int drm_waits_each_sent(const struct tsm_wait_visit *v, uint32_t traits)
{
    struct sending s;
    int error = traits & DRM_SENT_IN_TURN ? tsm_wait_say(v, TSM_WAIT_IN_TURN, 0, 0) : 0;

    s.v = v;
    s.traits = traits & (DRM_SENT_UNLESS(0) - 1);
    if (traits >= DRM_SENT_UNLESS(0) &&
        !(drm_waits_member(v, "in", "flags", 0) >> ((traits >> 8) - 1) & 1))
        s.traits |= DRM_SENT_ORDERED;
    s.parts = 0;
    s.role = (struct role){NULL, NOTHING, 0};
    s.ib = (struct drm_waits_members){0};
    s.is_end = false;
    if (!error)
        error = walk_sent(&s);
    s.is_end = true;
    if (!error)
        error = walk_sent(&s);
    if (!error && s.ib.chunk)
        error = say_number(&s);
    return error;
}

/* Bytes of one object that are moved, in the order of the file's other such moves. */
int drm_waits_each_moved(const struct tsm_wait_visit *v, uint32_t detail)
{
    const struct tsm_wait_step step = {
        .kind = TSM_WAIT_ENDS,
        .object = drm_waits_object(v, DRM_WAIT_READ, drm_waits_member(v, "in", "bo_handle", 0)),
        .value = v->record->seq + 1,
        .is_latest = true};

    (void)detail;
    return step.object ? v->visit(v->user, &step) : 0;
}
