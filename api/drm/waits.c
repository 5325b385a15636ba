/* SPDX-License-Identifier: Apache-2.0
 *
 * Syncobjs, fences and memory objects. A syncobj holds what signals it: the last command that was
 * given it, or one for each point of a timeline, whose points only grow. amdgpu counts the commands
 * of each ring of a context, and a program waits for such a number. A memory object keeps who
 * writes and who reads it: some drivers have each command wait for earlier ones that it conflicts
 * with, and a program waits until an object is idle.
 */
#include "api/drm/waits.h"

#include <stddef.h>
#include <string.h>

/* ---- objects ----------------------------------------------------------------------------------
 *
 * Handles are numbers of one file. */

#define KIND_SHIFT  52
#define FILE_SHIFT  36
#define FILE_MAX    0xffffu
#define NUMBER_MASK ((1ull << FILE_SHIFT) - 1)
#define RING_SHIFT  16 /* of a context's number above those of its ring */

uint64_t drm_waits_object(const struct tsm_wait_visit *v, enum drm_waits_kind kind, uint64_t number)
{
    const uint64_t file = tsm_wait_slot(v, "file", 0);

    return number && file && file <= FILE_MAX && number <= NUMBER_MASK
               ? (uint64_t)kind << KIND_SHIFT | file << FILE_SHIFT | number
               : 0;
}

struct tsm_wait_object tsm_wait_object_drm(uint64_t object)
{
    const uint64_t kind = object >> KIND_SHIFT, number = object & NUMBER_MASK;

    return (struct tsm_wait_object){kind == DRM_WAIT_SYNCOBJ ? "syncobj"
                                    : kind == DRM_WAIT_RING  ? "ctx"
                                                             : "bo",
                                    kind == DRM_WAIT_RING ? number >> RING_SHIFT : number};
}

int drm_waits_say(const struct tsm_wait_visit *v, enum tsm_wait_kind kind, uint64_t object,
                  uint64_t value)
{
    return object ? tsm_wait_say(v, kind, object, value) : 0;
}

/* ---- members of structs -----------------------------------------------------------------------
 */

static const struct {
    const char *name;
    size_t place;
} names[] = {
    {"handle", offsetof(struct drm_waits_members, handle)},
    {"bo_handle", offsetof(struct drm_waits_members, handle)},
    {"point", offsetof(struct drm_waits_members, value)},
    {"timeline_value", offsetof(struct drm_waits_members, value)},
    {"value", offsetof(struct drm_waits_members, value)},
    {"seq_no", offsetof(struct drm_waits_members, value)},
    {"flags", offsetof(struct drm_waits_members, flags)},
    {"type", offsetof(struct drm_waits_members, type)},
    {"chunk_id", offsetof(struct drm_waits_members, chunk)},
    {"ctx_id", offsetof(struct drm_waits_members, context)},
    {"ip_type", offsetof(struct drm_waits_members, ip_type)},
    {"ip_instance", offsetof(struct drm_waits_members, ip_instance)},
    {"ring", offsetof(struct drm_waits_members, ring)},
    {"write_domains", offsetof(struct drm_waits_members, write)},
};

void drm_waits_note(struct drm_waits_members *m, const struct sbt_step *step)
{
    for (size_t i = 0; step->member && i < sizeof(names) / sizeof(names[0]); i++)
        if (drm_waits_is_same(step->member->name, names[i].name))
            memcpy((uint8_t *)m + names[i].place, &step->number, sizeof(step->number));
}

bool drm_waits_is_named(const struct sbt_step *step, const char *name)
{
    return name && step->member && drm_waits_is_same(step->member->name, name);
}

/* Opens the structured value of a field. Returns false if there is none. */
bool drm_waits_begin(const struct tsm_wait_visit *v, const char *field, struct sbt_value *value,
                     struct sbt_walk *walk)
{
    const int i = tsm_wait_field(v->schema, field);

    *value = (struct sbt_value){.data = NULL};
    return i >= 0 && sbt_reader_value(v->reader, v->record, (uint32_t)i, value) == 1 &&
           sbt_walk_begin(walk, v->reader, v->schema->fields[i].detail, value->data, value->size) ==
               0;
}

/* Returns the first member of that name in what the program gave ("in") or the kernel ("out"). */
uint64_t drm_waits_member(const struct tsm_wait_visit *v, const char *field, const char *name,
                          uint64_t absent)
{
    struct sbt_value value;
    struct sbt_walk walk;
    struct sbt_step step;
    bool found = false;

    if (drm_waits_begin(v, field, &value, &walk))
        while (!found && sbt_walk_next(&walk, &step) == 1)
            found =
                step.kind == SBT_STEP_VALUE && step.depth == 1 && drm_waits_is_named(&step, name);
    sbt_value_finish(&value);
    return found ? step.number : absent;
}

/* A ring of a context, whose commands have numbers. */
uint64_t drm_waits_ring(const struct tsm_wait_visit *v, const struct drm_waits_members *m)
{
    return m->context && m->ip_type < 16 && m->ip_instance < 16 && m->ring < 256
               ? drm_waits_object(v, DRM_WAIT_RING,
                                  m->context << RING_SHIFT | m->ip_type << 12 |
                                      m->ip_instance << 8 | m->ring)
               : 0;
}

/* ---- what the host learns ---------------------------------------------------------------------
 */

/* Calls that wait for a memory object until nobody uses it, or, by the flags, writes it. */
#define WRITERS_ALONE        1u
#define WRITERS_UNLESS(flag) ((uint32_t)(flag) << 8) /* without this flag */

static int say_idle(const struct tsm_wait_visit *v, uint64_t handle, bool is_read)
{
    const int error = drm_waits_say(v, TSM_WAIT_REACHED,
                                    drm_waits_object(v, DRM_WAIT_WRITTEN, handle), TSM_WAIT_LATEST);

    return error || !is_read
               ? error
               : drm_waits_say(v, TSM_WAIT_REACHED, drm_waits_object(v, DRM_WAIT_READ, handle),
                               TSM_WAIT_LATEST);
}

static int each_idle(const struct tsm_wait_visit *v, uint32_t detail)
{
    const uint64_t handle = drm_waits_member(v, "in", "handle",
                                             drm_waits_member(v, "in", "bo_handle", 0)),
                   flags = drm_waits_member(v, "in", "flags", drm_waits_member(v, "in", "op", 0));

    return say_idle(v, handle,
                    !(detail & WRITERS_ALONE) && (!(detail >> 8) || flags & detail >> 8));
}

/* A query that says whether the object is in use; what it does not say is no answer. */
static int each_idle_asked(const struct tsm_wait_visit *v, uint32_t detail)
{
    const char *answer = detail ? "status" : "busy";

    return drm_waits_member(v, "out", answer, 1) ? 0 : each_idle(v, 0);
}

/* A wait for one number of a ring. */
static int each_number(const struct tsm_wait_visit *v, uint32_t detail)
{
    const struct drm_waits_members m = {.context = drm_waits_member(v, "in", "ctx_id", 0),
                                        .ip_type = drm_waits_member(v, "in", "ip_type", 0),
                                        .ip_instance = drm_waits_member(v, "in", "ip_instance", 0),
                                        .ring = drm_waits_member(v, "in", "ring", 0)};

    (void)detail;
    return drm_waits_member(v, "out", "status", 1)
               ? 0
               : drm_waits_say(v, TSM_WAIT_REACHED, drm_waits_ring(v, &m),
                               drm_waits_member(v, "in", "handle", 0));
}

/* A wait for numbers of several rings: all of them, or the one that the kernel names. */
static int each_numbers(const struct tsm_wait_visit *v, uint32_t detail)
{
    const uint64_t is_all = drm_waits_member(v, "in", "wait_all", 0),
                   first = drm_waits_member(v, "out", "first_signaled", UINT64_MAX);
    struct drm_waits_members m = {0};
    struct sbt_value value;
    struct sbt_walk walk;
    struct sbt_step step;
    int error = 0;

    (void)detail;
    if (drm_waits_member(v, "out", "status", 0) != 1)
        return 0;
    if (drm_waits_begin(v, "in", &value, &walk))
        while (!error && sbt_walk_next(&walk, &step) == 1) {
            if (step.kind == SBT_STEP_OPEN)
                m = (struct drm_waits_members){0};
            if (step.kind == SBT_STEP_VALUE)
                drm_waits_note(&m, &step);
            if (step.kind == SBT_STEP_CLOSE && step.structure &&
                strcmp(step.structure->name, "drm_amdgpu_fence") == 0 &&
                (is_all || step.index == first))
                error = drm_waits_say(v, TSM_WAIT_REACHED, drm_waits_ring(v, &m), m.value);
        }
    sbt_value_finish(&value);
    return error;
}

/* ---- syncobjs ---------------------------------------------------------------------------------
 */

/* Walks through the handles of a call, with the points beside them. */
struct listed {
    struct sbt_value value, out; /* of the fields that the walks are in */
    struct sbt_walk handles, points;
    bool has_points;
    uint64_t handle, point; /* of the one that it stands at; point 0: none */
};

/* Opens the list of that name. Returns false if it is not there. */
static bool find_list(const struct tsm_wait_visit *v, const char *field, const char *name,
                      struct sbt_value *value, struct sbt_walk *walk)
{
    struct sbt_step step;

    if (!drm_waits_begin(v, field, value, walk))
        return false;
    while (sbt_walk_next(walk, &step) == 1)
        if (step.kind == SBT_STEP_OPEN && step.shape == SBT_SHAPE_LIST &&
            drm_waits_is_named(&step, name))
            return true;
    return false;
}

static bool next_listed(struct listed *l)
{
    struct sbt_step step;

    if (sbt_walk_next(&l->handles, &step) != 1 || step.kind != SBT_STEP_VALUE)
        return false;
    l->handle = step.number;
    l->has_points =
        l->has_points && sbt_walk_next(&l->points, &step) == 1 && step.kind == SBT_STEP_VALUE;
    l->point = l->has_points ? step.number : 0;
    return true;
}

/* Calls `each` for all syncobjs that the call lists, or the one at the place `only`. `field`: that
 * has the points. */
static int each_listed(const struct tsm_wait_visit *v, const char *field, uint64_t only,
                       int (*each)(const struct tsm_wait_visit *v, const struct listed *l))
{
    struct listed l = {.has_points = false};
    uint64_t place = 0;
    int error = 0;

    if (find_list(v, "in", "handles", &l.value, &l.handles)) {
        l.has_points = find_list(v, field, "points", &l.out, &l.points);
        for (; !error && next_listed(&l); place++)
            if (only == TSM_WAIT_LATEST || only == place)
                error = each(v, &l);
    }
    sbt_value_finish(&l.value);
    sbt_value_finish(&l.out);
    return error;
}

static int say_over(const struct tsm_wait_visit *v, const struct listed *l)
{
    return drm_waits_say(v, TSM_WAIT_OVER, drm_waits_object(v, DRM_WAIT_SYNCOBJ, l->handle), 0);
}

static int say_raised(const struct tsm_wait_visit *v, const struct listed *l)
{
    const int error = l->point ? 0 : say_over(v, l);

    return error
               ? error
               : drm_waits_say(v, TSM_WAIT_RAISE, drm_waits_object(v, DRM_WAIT_SYNCOBJ, l->handle),
                               l->point ? l->point : DRM_WAIT_SIGNALLED);
}

static int say_reached(const struct tsm_wait_visit *v, const struct listed *l)
{
    return drm_waits_say(v, TSM_WAIT_REACHED, drm_waits_object(v, DRM_WAIT_SYNCOBJ, l->handle),
                         l->point ? l->point : TSM_WAIT_LATEST);
}

/* Values that were asked for: 0 is what it was at first. */
static int say_asked(const struct tsm_wait_visit *v, const struct listed *l)
{
    return l->point ? say_reached(v, l) : 0;
}

#define WAIT_ALL        1u /* flags of waits: for all that are listed */
#define WAIT_AVAILABLE  4u /* until a command was sent that signals it */
#define LAST_SUBMITTED  1u /* of queries */
#define CREATE_SIGNALED 1u
#define SYNC_FILE       1u /* of a descriptor: a copy */

static int each_reset(const struct tsm_wait_visit *v, uint32_t detail)
{
    (void)detail;
    return each_listed(v, "in", TSM_WAIT_LATEST, say_over);
}

static int each_signalled(const struct tsm_wait_visit *v, uint32_t detail)
{
    (void)detail;
    return each_listed(v, "in", TSM_WAIT_LATEST, say_raised);
}

static int each_waited(const struct tsm_wait_visit *v, uint32_t detail)
{
    const uint64_t flags = drm_waits_member(v, "in", "flags", WAIT_AVAILABLE),
                   first = drm_waits_member(v, "out", "first_signaled", TSM_WAIT_LATEST - 1);
    const bool is_all = flags & WAIT_ALL || drm_waits_member(v, "in", "count_handles", 0) == 1;

    (void)detail;
    return flags & WAIT_AVAILABLE
               ? 0
               : each_listed(v, "in", is_all ? TSM_WAIT_LATEST : first, say_reached);
}

static int each_asked(const struct tsm_wait_visit *v, uint32_t detail)
{
    (void)detail;
    return drm_waits_member(v, "in", "flags", 0) & LAST_SUBMITTED
               ? 0
               : each_listed(v, "out", TSM_WAIT_LATEST, say_asked);
}

static int each_created(const struct tsm_wait_visit *v, uint32_t detail)
{
    const uint64_t syncobj =
        drm_waits_object(v, DRM_WAIT_SYNCOBJ, drm_waits_member(v, "out", "handle", 0));
    const int error = drm_waits_say(v, TSM_WAIT_NEW, syncobj, 0);

    (void)detail;
    return error || !(drm_waits_member(v, "in", "flags", 0) & CREATE_SIGNALED)
               ? error
               : drm_waits_say(v, TSM_WAIT_RAISE, syncobj, DRM_WAIT_SIGNALLED);
}

static int each_destroyed(const struct tsm_wait_visit *v, uint32_t detail)
{
    (void)detail;
    return drm_waits_say(
        v, TSM_WAIT_OVER,
        drm_waits_object(v, DRM_WAIT_SYNCOBJ, drm_waits_member(v, "in", "handle", 0)), 0);
}

/* Gives a syncobj, or a point of one, what another stands for. */
static int each_transferred(const struct tsm_wait_visit *v, uint32_t detail)
{
    const uint64_t to = drm_waits_member(v, "in", "dst_point", 0),
                   from = drm_waits_member(v, "in", "src_point", 0);
    const struct tsm_wait_step step = {
        .kind = TSM_WAIT_COPY,
        .object = drm_waits_object(v, DRM_WAIT_SYNCOBJ, drm_waits_member(v, "in", "dst_handle", 0)),
        .value = to ? to : DRM_WAIT_SIGNALLED,
        .from = drm_waits_object(v, DRM_WAIT_SYNCOBJ, drm_waits_member(v, "in", "src_handle", 0)),
        .before = from ? from : TSM_WAIT_LATEST};
    int error = 0;

    (void)detail;
    if (!step.object || !step.from || step.object == step.from)
        return 0;
    if (!to)
        error = drm_waits_say(v, TSM_WAIT_OVER, step.object, 0);
    return error ? error : v->visit(v->user, &step);
}

/* A descriptor is the syncobj itself, for others too, or a sync file: a copy of what it holds. What
 * comes of a sync file is not known. */
static int each_shared(const struct tsm_wait_visit *v, uint32_t is_import)
{
    const uint64_t given = drm_waits_member(v, "in", "handle", 0);

    if (drm_waits_member(v, "in", "flags", 0) & SYNC_FILE)
        return is_import ? drm_waits_say(v, TSM_WAIT_OVER,
                                         drm_waits_object(v, DRM_WAIT_SYNCOBJ, given), 0)
                         : 0;
    return drm_waits_say(
        v, TSM_WAIT_FOREIGN,
        drm_waits_object(v, DRM_WAIT_SYNCOBJ,
                         is_import ? drm_waits_member(v, "out", "handle", 0) : given),
        0);
}

/* ---- memory objects that go -------------------------------------------------------------------
 */

static int each_closed(const struct tsm_wait_visit *v, uint32_t detail)
{
    const uint64_t handle = drm_waits_member(v, "in", "handle", 0);
    const int error =
        drm_waits_say(v, TSM_WAIT_OVER, drm_waits_object(v, DRM_WAIT_WRITTEN, handle), 0);

    (void)detail;
    return error ? error
                 : drm_waits_say(v, TSM_WAIT_OVER, drm_waits_object(v, DRM_WAIT_READ, handle), 0);
}

/* ---- all --------------------------------------------------------------------------------------
 */

static const struct tsm_wait_call calls[] = {
    {"DRM_IOCTL_AMDGPU_CS", drm_waits_each_sent, 0},
    {"DRM_IOCTL_I915_GEM_EXECBUFFER2*", drm_waits_each_sent, DRM_SENT_IN_TURN | DRM_SENT_ORDERED},
    {"DRM_IOCTL_XE_EXEC", drm_waits_each_sent, DRM_SENT_IN_TURN},
    {"DRM_IOCTL_NOUVEAU_EXEC", drm_waits_each_sent, 0},
    {"DRM_IOCTL_NOUVEAU_GEM_PUSHBUF", drm_waits_each_sent, DRM_SENT_ORDERED},
    {"DRM_IOCTL_VIRTGPU_EXECBUFFER", drm_waits_each_sent, 0},
    {"DRM_IOCTL_VIRTGPU_TRANSFER_*", drm_waits_each_moved, 0},
    {"DRM_IOCTL_VC4_SUBMIT_CL", drm_waits_each_sent, 0},
    {"DRM_IOCTL_V3D_SUBMIT_CL", drm_waits_each_sent, DRM_SENT_LATER},
    {"DRM_IOCTL_V3D_SUBMIT_*", drm_waits_each_sent, DRM_SENT_ORDERED},
    {"DRM_IOCTL_MSM_GEM_SUBMIT", drm_waits_each_sent, DRM_SENT_UNLESS(31)},
    {"DRM_IOCTL_PANFROST_SUBMIT", drm_waits_each_sent, DRM_SENT_ORDERED},
    {"DRM_IOCTL_PANTHOR_GROUP_SUBMIT", drm_waits_each_sent, DRM_SENT_PARTS | DRM_SENT_LATER},
    {"DRM_IOCTL_LIMA_GEM_SUBMIT", drm_waits_each_sent, DRM_SENT_UNLESS(0)},
    {"DRM_IOCTL_ETNAVIV_GEM_SUBMIT", drm_waits_each_sent, DRM_SENT_UNLESS(0)},
    {"DRM_IOCTL_PVR_SUBMIT_JOBS", drm_waits_each_sent, DRM_SENT_PARTS | DRM_SENT_LATER},
    {"DRM_IOCTL_AMDGPU_WAIT_CS", each_number, 0},
    {"DRM_IOCTL_AMDGPU_WAIT_FENCES", each_numbers, 0},
    {"DRM_IOCTL_AMDGPU_GEM_WAIT_IDLE", each_idle_asked, 1},
    {"DRM_IOCTL_I915_GEM_WAIT", each_idle, 0},
    {"DRM_IOCTL_I915_GEM_BUSY", each_idle_asked, 0},
    {"DRM_IOCTL_I915_GEM_SET_DOMAIN", each_idle, WRITERS_ALONE},
    {"DRM_IOCTL_NOUVEAU_GEM_CPU_PREP", each_idle, WRITERS_UNLESS(4)},
    {"DRM_IOCTL_VIRTGPU_WAIT", each_idle, 0},
    {"DRM_IOCTL_V3D_WAIT_BO", each_idle, 0},
    {"DRM_IOCTL_PANFROST_WAIT_BO", each_idle, 0},
    {"DRM_IOCTL_LIMA_GEM_WAIT", each_idle, WRITERS_UNLESS(2)},
    {"DRM_IOCTL_MSM_GEM_CPU_PREP", each_idle, WRITERS_UNLESS(2)},
    {"DRM_IOCTL_ETNAVIV_GEM_CPU_PREP", each_idle, WRITERS_UNLESS(2)},
    {"DRM_IOCTL_GEM_CLOSE", each_closed, 0},
    {"DRM_IOCTL_MODE_DESTROY_DUMB", each_closed, 0},
    {"DRM_IOCTL_SYNCOBJ_CREATE", each_created, 0},
    {"DRM_IOCTL_SYNCOBJ_DESTROY", each_destroyed, 0},
    {"DRM_IOCTL_SYNCOBJ_RESET", each_reset, 0},
    {"DRM_IOCTL_SYNCOBJ_SIGNAL", each_signalled, 0},
    {"DRM_IOCTL_SYNCOBJ_TIMELINE_SIGNAL", each_signalled, 0},
    {"DRM_IOCTL_SYNCOBJ_TRANSFER", each_transferred, 0},
    {"DRM_IOCTL_SYNCOBJ_WAIT", each_waited, 0},
    {"DRM_IOCTL_SYNCOBJ_TIMELINE_WAIT", each_waited, 0},
    {"DRM_IOCTL_SYNCOBJ_QUERY", each_asked, 0},
    {"DRM_IOCTL_SYNCOBJ_HANDLE_TO_FD", each_shared, 0},
    {"DRM_IOCTL_SYNCOBJ_FD_TO_HANDLE", each_shared, 1},
};

struct tsm_wait_calls tsm_wait_calls_drm(void)
{
    return (struct tsm_wait_calls){calls, sizeof(calls) / sizeof(calls[0])};
}
