/* SPDX-License-Identifier: Apache-2.0
 *
 * Submits made of a number, on two contexts with two rings each: they wait for syncobjs and points
 * of timelines, signal others, and use memory objects; between them the host waits, asks, signals,
 * resets and transfers. usage: drm_order amdgpu|i915 NUMBER [STEPS]
 */
#include "tests/drm/drm_small.h"

#include <amdgpu_drm.h>
#include <i915_drm.h>
#include <stdbool.h>

enum { CONTEXTS = 2, RINGS = 2, PLAIN = 5, TIMELINES = 3, OBJECTS = 4, USES = 2 };

/* A syncobj: plain ones hold a command, or nothing; timelines have come, or will come, to `point`.
 */
struct syncobj {
    uint32_t handle;
    bool is_timeline, is_held;
    uint64_t point;
};

/* A syncobj that a submit waits for, or signals; point 0: it has none. */
struct use {
    uint32_t handle;
    uint64_t point;
    bool is_signal;
};

static struct syncobj syncobjs[PLAIN + TIMELINES];
static uint32_t contexts[CONTEXTS], objects[OBJECTS], batch;
static uint64_t numbers[CONTEXTS][RINGS]; /* amdgpu's last one of each ring */
static uint64_t seed;
static bool is_i915;
static int fd;

static uint32_t draw(uint32_t count)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(seed >> 33) % count;
}

/* ---- submits ----------------------------------------------------------------------------------
 */

/* Draws what to wait for; returns how many. */
static uint32_t draw_waits(struct use *uses)
{
    const uint32_t count = draw(USES + 1);
    uint32_t found = 0;

    for (uint32_t i = 0; i < count; i++) {
        const struct syncobj *s = &syncobjs[draw(PLAIN + TIMELINES)];

        if (s->is_timeline && s->point)
            uses[found++] = (struct use){s->handle, 1 + draw((uint32_t)s->point), false};
        else if (!s->is_timeline && s->is_held)
            uses[found++] = (struct use){s->handle, 0, false};
    }
    return found;
}

static uint32_t draw_signals(struct use *uses)
{
    const uint32_t count = draw(USES + 1), first = draw(PLAIN + TIMELINES);

    for (uint32_t i = 0; i < count; i++) {
        struct syncobj *s = &syncobjs[(first + i) % (PLAIN + TIMELINES)];

        s->point += s->is_timeline ? 1 + draw(2) : 0;
        s->is_held = true;
        uses[i] = (struct use){s->handle, s->point, true};
    }
    return count;
}

static void submit_i915(uint32_t context, uint32_t ring, const struct use *uses, uint32_t count)
{
    struct drm_i915_gem_exec_fence fences[2 * USES];
    uint64_t values[2 * USES];
    struct drm_i915_gem_execbuffer_ext_timeline_fences points = {
        .base = {.name = DRM_I915_GEM_EXECBUFFER_EXT_TIMELINE_FENCES},
        .fence_count = count,
        .handles_ptr = (uintptr_t)fences,
        .values_ptr = (uintptr_t)values};
    struct drm_i915_gem_exec_object2 list[3] = {{.handle = objects[draw(OBJECTS / 2)]},
                                                {.handle = objects[2 + draw(OBJECTS / 2)]},
                                                {.handle = batch}};
    struct drm_i915_gem_execbuffer2 e = {.buffers_ptr = (uintptr_t)list,
                                         .buffer_count = 3,
                                         .flags = ring + 1,
                                         .rsvd1 = contexts[context],
                                         .num_cliprects = count,
                                         .cliprects_ptr = (uintptr_t)fences};
    bool has_points = false;

    for (uint32_t i = 0; i < 2; i++)
        list[i].flags = (draw(3) ? 0 : EXEC_OBJECT_WRITE) | (draw(4) ? 0 : EXEC_OBJECT_ASYNC);
    for (uint32_t i = 0; i < count; i++) {
        fences[i] = (struct drm_i915_gem_exec_fence){
            uses[i].handle, uses[i].is_signal ? I915_EXEC_FENCE_SIGNAL : I915_EXEC_FENCE_WAIT};
        values[i] = uses[i].point;
        has_points |= values[i] != 0;
    }
    if (has_points || draw(2)) {
        e.flags |= I915_EXEC_USE_EXTENSIONS;
        e.num_cliprects = 0;
        e.cliprects_ptr = (uintptr_t)&points;
    } else
        e.flags |= I915_EXEC_FENCE_ARRAY;
    MUST(fd, DRM_IOCTL_I915_GEM_EXECBUFFER2, &e);
}

/* Chunks of one amdgpu submit. */
struct chunks {
    struct drm_amdgpu_cs_chunk list[8];
    uint64_t addresses[8];
    uint32_t count;
};

static void add_chunk(struct chunks *c, uint32_t id, const void *data, size_t size)
{
    if (!size)
        return;
    c->list[c->count] = (struct drm_amdgpu_cs_chunk){id, (uint32_t)size / 4, (uintptr_t)data};
    c->addresses[c->count] = (uintptr_t)&c->list[c->count];
    c->count++;
}

static void submit_amdgpu(uint32_t context, uint32_t ring, const struct use *uses, uint32_t count)
{
    struct drm_amdgpu_cs_chunk_ib ib = {
        .va_start = 0x100000, .ib_bytes = 64, .ip_type = AMDGPU_HW_IP_COMPUTE, .ring = ring};
    struct drm_amdgpu_cs_chunk_sem plain[2][2 * USES];
    struct drm_amdgpu_cs_chunk_syncobj points[2][2 * USES];
    struct drm_amdgpu_bo_list_entry used = {objects[draw(OBJECTS)], 0};
    struct drm_amdgpu_bo_list_in list = {
        .bo_number = 1, .bo_info_size = sizeof(used), .bo_info_ptr = (uintptr_t)&used};
    const uint32_t other = draw(CONTEXTS), other_ring = draw(RINGS);
    struct drm_amdgpu_cs_chunk_dep dep = {.ip_type = AMDGPU_HW_IP_COMPUTE,
                                          .ring = other_ring,
                                          .ctx_id = contexts[other],
                                          .handle = numbers[other][other_ring]};
    uint32_t plain_count[2] = {0}, point_count[2] = {0};
    struct chunks c = {.count = 0};
    union drm_amdgpu_cs cs = {.in = {.ctx_id = contexts[context]}};

    for (uint32_t i = 0; i < count; i++) {
        const uint32_t way = uses[i].is_signal;

        if (uses[i].point)
            points[way][point_count[way]++] =
                (struct drm_amdgpu_cs_chunk_syncobj){uses[i].handle, 0, uses[i].point};
        else
            plain[way][plain_count[way]++].handle = uses[i].handle;
    }
    add_chunk(&c, AMDGPU_CHUNK_ID_IB, &ib, sizeof(ib));
    add_chunk(&c, AMDGPU_CHUNK_ID_DEPENDENCIES, &dep, dep.handle && !draw(3) ? sizeof(dep) : 0);
    add_chunk(&c, AMDGPU_CHUNK_ID_BO_HANDLES, &list, draw(2) ? sizeof(list) : 0);
    add_chunk(&c, AMDGPU_CHUNK_ID_SYNCOBJ_IN, plain[0], plain_count[0] * sizeof(plain[0][0]));
    add_chunk(&c, AMDGPU_CHUNK_ID_SYNCOBJ_OUT, plain[1], plain_count[1] * sizeof(plain[0][0]));
    add_chunk(&c, AMDGPU_CHUNK_ID_SYNCOBJ_TIMELINE_WAIT, points[0],
              point_count[0] * sizeof(points[0][0]));
    add_chunk(&c, AMDGPU_CHUNK_ID_SYNCOBJ_TIMELINE_SIGNAL, points[1],
              point_count[1] * sizeof(points[0][0]));
    cs.in.num_chunks = c.count;
    cs.in.chunks = (uintptr_t)c.addresses;
    MUST(fd, DRM_IOCTL_AMDGPU_CS, &cs);
    numbers[context][ring] = cs.out.handle;
}

static void submit(void)
{
    struct use uses[2 * USES];
    uint32_t count = draw_waits(uses);

    count += draw_signals(uses + count);
    (is_i915 ? submit_i915 : submit_amdgpu)(draw(CONTEXTS), draw(RINGS), uses, count);
}

/* ---- waits for objects of the drivers ---------------------------------------------------------
 */

static void wait_i915(void)
{
    const uint32_t object = objects[draw(OBJECTS)];
    struct drm_i915_gem_wait wait = {.bo_handle = object, .timeout_ns = -1};
    struct drm_i915_gem_busy busy = {.handle = object};
    struct drm_i915_gem_set_domain domain = {.handle = object, .read_domains = I915_GEM_DOMAIN_CPU};

    switch (draw(3)) {
    case 0:
        MUST(fd, DRM_IOCTL_I915_GEM_WAIT, &wait);
        break;
    case 1:
        MUST(fd, DRM_IOCTL_I915_GEM_BUSY, &busy);
        break;
    default:
        MUST(fd, DRM_IOCTL_I915_GEM_SET_DOMAIN, &domain);
    }
}

static void wait_amdgpu(void)
{
    const uint32_t context = draw(CONTEXTS), ring = draw(RINGS);
    struct drm_amdgpu_fence fences[2] = {{.ctx_id = contexts[context],
                                          .ip_type = AMDGPU_HW_IP_COMPUTE,
                                          .ring = ring,
                                          .seq_no = numbers[context][ring]},
                                         {.ctx_id = contexts[!context],
                                          .ip_type = AMDGPU_HW_IP_COMPUTE,
                                          .ring = ring,
                                          .seq_no = numbers[!context][ring]}};
    union drm_amdgpu_wait_cs one = {.in = {.handle = numbers[context][ring],
                                           .timeout = ~0ull,
                                           .ip_type = AMDGPU_HW_IP_COMPUTE,
                                           .ring = ring,
                                           .ctx_id = contexts[context]}};
    union drm_amdgpu_wait_fences several = {.in = {.fences = (uintptr_t)fences,
                                                   .fence_count = 2,
                                                   .wait_all = draw(2),
                                                   .timeout_ns = ~0ull}};
    union drm_amdgpu_gem_wait_idle idle = {
        .in = {.handle = objects[draw(OBJECTS)], .timeout = ~0ull}};

    switch (draw(3)) {
    case 0:
        if (one.in.handle)
            MUST(fd, DRM_IOCTL_AMDGPU_WAIT_CS, &one);
        break;
    case 1:
        if (fences[0].seq_no && fences[1].seq_no)
            MUST(fd, DRM_IOCTL_AMDGPU_WAIT_FENCES, &several);
        break;
    default:
        MUST(fd, DRM_IOCTL_AMDGPU_GEM_WAIT_IDLE, &idle);
    }
}

/* ---- what the host does with syncobjs ---------------------------------------------------------
 */

static void wait_plain(void)
{
    const struct syncobj *a = &syncobjs[draw(PLAIN)], *b = &syncobjs[draw(PLAIN)];
    uint32_t handles[2] = {a->handle, b->handle};
    struct drm_syncobj_wait wait = {.handles = (uintptr_t)handles,
                                    .timeout_nsec = INT64_MAX,
                                    .count_handles = 1 + draw(2),
                                    .flags = draw(2) ? DRM_SYNCOBJ_WAIT_FLAGS_WAIT_ALL : 0};

    if (a->is_held && b->is_held)
        MUST(fd, DRM_IOCTL_SYNCOBJ_WAIT, &wait);
}

static void wait_points(void)
{
    const struct syncobj *a = &syncobjs[PLAIN + draw(TIMELINES)],
                         *b = &syncobjs[PLAIN + draw(TIMELINES)];
    uint32_t handles[2] = {a->handle, b->handle};
    uint64_t points[2] = {a->point ? 1 + draw((uint32_t)a->point) : 0,
                          b->point ? 1 + draw((uint32_t)b->point) : 0};
    struct drm_syncobj_timeline_wait wait = {.handles = (uintptr_t)handles,
                                             .points = (uintptr_t)points,
                                             .timeout_nsec = INT64_MAX,
                                             .count_handles = 2,
                                             .flags =
                                                 draw(2) ? DRM_SYNCOBJ_WAIT_FLAGS_WAIT_ALL : 0};

    if (!draw(4))
        wait.flags |= DRM_SYNCOBJ_WAIT_FLAGS_WAIT_AVAILABLE; /* for nothing but submits */
    if (points[0] && points[1])
        MUST(fd, DRM_IOCTL_SYNCOBJ_TIMELINE_WAIT, &wait);
}

static void ask_point(void)
{
    const struct syncobj *s = &syncobjs[PLAIN + draw(TIMELINES)];
    uint64_t point = 0;
    struct drm_syncobj_timeline_array array = {
        .handles = (uintptr_t)&s->handle, .points = (uintptr_t)&point, .count_handles = 1};

    MUST(fd, DRM_IOCTL_SYNCOBJ_QUERY, &array);
}

static void change(void)
{
    struct syncobj *s = &syncobjs[draw(PLAIN)], *t = &syncobjs[PLAIN + draw(TIMELINES)];
    struct drm_syncobj_array plain = {.handles = (uintptr_t)&s->handle, .count_handles = 1};
    uint64_t point = t->point + 1;
    struct drm_syncobj_timeline_array points = {
        .handles = (uintptr_t)&t->handle, .points = (uintptr_t)&point, .count_handles = 1};

    switch (draw(3)) {
    case 0:
        MUST(fd, DRM_IOCTL_SYNCOBJ_RESET, &plain);
        s->is_held = false;
        break;
    case 1:
        MUST(fd, DRM_IOCTL_SYNCOBJ_SIGNAL, &plain);
        s->is_held = true;
        break;
    default:
        MUST(fd, DRM_IOCTL_SYNCOBJ_TIMELINE_SIGNAL, &points);
        t->point = point;
    }
}

/* From plain ones and points to others. */
static void transfer(void)
{
    const struct syncobj *from = &syncobjs[draw(PLAIN + TIMELINES)];
    struct syncobj *to = &syncobjs[draw(PLAIN + TIMELINES)];
    struct drm_syncobj_transfer t = {.src_handle = from->handle, .dst_handle = to->handle};

    if (from == to || (from->is_timeline ? !from->point : !from->is_held))
        return;
    t.src_point = from->is_timeline ? 1 + draw((uint32_t)from->point) : 0;
    if (from->is_timeline && !draw(3))
        t.src_point = 0; /* its latest */
    t.dst_point = to->is_timeline ? to->point + 1 : 0;
    MUST(fd, DRM_IOCTL_SYNCOBJ_TRANSFER, &t);
    to->point = t.dst_point;
    to->is_held = true;
}

/* A copy, which changes nothing; and a descriptor of the syncobj itself, of which nothing is known
 * from then on. */
static void share(bool is_copy)
{
    const struct syncobj *s = &syncobjs[draw(PLAIN)];
    struct drm_syncobj_handle h = {
        .handle = s->handle,
        .flags = is_copy ? DRM_SYNCOBJ_HANDLE_TO_FD_FLAGS_EXPORT_SYNC_FILE : 0};

    if (!s->is_held)
        return;
    MUST(fd, DRM_IOCTL_SYNCOBJ_HANDLE_TO_FD, &h);
    close(h.fd);
}

/* ---- all --------------------------------------------------------------------------------------
 */

static void make_i915(void)
{
    void *memory;

    for (uint32_t i = 0; i < CONTEXTS; i++)
        contexts[i] = i; /* numbers that the device here does not look at */
    for (uint32_t i = 0; i < OBJECTS; i++)
        objects[i] = i915_object(fd, &memory);
    batch = i915_object(fd, &memory);
    *(uint32_t *)memory = 0x0a000000; /* its end */
}

static void make_amdgpu(void)
{
    union drm_amdgpu_ctx context;
    uint64_t offset;

    for (uint32_t i = 0; i < CONTEXTS; i++) {
        context = (union drm_amdgpu_ctx){.in = {.op = AMDGPU_CTX_OP_ALLOC_CTX}};
        MUST(fd, DRM_IOCTL_AMDGPU_CTX, &context);
        contexts[i] = context.out.alloc.ctx_id;
    }
    amdgpu_make(fd, 0x100000, &offset);
    for (uint32_t i = 0; i < OBJECTS; i++)
        objects[i] = amdgpu_make(fd, 0x200000 + 0x10000ull * i, &offset);
}

static void step(void)
{
    switch (draw(12)) {
    case 0:
        wait_plain();
        break;
    case 1:
        wait_points();
        break;
    case 2:
        (is_i915 ? wait_i915 : wait_amdgpu)();
        break;
    case 3:
        change();
        break;
    case 4:
    case 5:
        transfer();
        break;
    case 6:
        if (!draw(3))
            ask_point();
        else
            share(draw(4) != 0);
        break;
    default:
        submit();
    }
}

int main(int argc, char **argv)
{
    const unsigned long steps = argc > 3 ? strtoul(argv[3], NULL, 10) : 60;

    if (argc < 3)
        return 2;
    is_i915 = !strcmp(argv[1], "i915");
    seed = strtoull(argv[2], NULL, 10);
    fd = open_node();
    (is_i915 ? make_i915 : make_amdgpu)();
    for (uint32_t i = 0; i < PLAIN + TIMELINES; i++) {
        struct drm_syncobj_create create = {
            .flags = i < PLAIN && !draw(3) ? DRM_SYNCOBJ_CREATE_SIGNALED : 0};

        MUST(fd, DRM_IOCTL_SYNCOBJ_CREATE, &create);
        syncobjs[i] = (struct syncobj){
            .handle = create.handle, .is_timeline = i >= PLAIN, .is_held = create.flags != 0};
    }
    for (unsigned long i = 0; i < steps; i++)
        step();
    return 0;
}
