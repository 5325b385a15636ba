/* SPDX-License-Identifier: Apache-2.0
 *
 * Programs on amdgpu and i915 that hang; each says "hangs" before, and is to be killed: drm_hangs
 * WAY. What a submit waits for is in its list, and what it signals.
 *
 *   points    submits of two contexts: one waits for a point that another one signals, a third one
 *             for that one's number, and one is behind it on its ring
 *   copied    a syncobj gets what another one holds; one whose submit has ended, one whose has not
 *   signalled the host signals a syncobj that a submit was to signal, and resets another one
 *   unseen    submits wait for what the trace has no submit of: a point, an imported syncobj, a
 *             number
 *   again     a syncobj is exported, and destroyed; another one gets its number
 *   lost      the context is lost: a submit is refused
 *   waits     the host waits for points, until they were sent, and until they are reached
 *   objects   i915: memory objects and rings
 *   goes_on   points, but the device goes on: it does not hang
 */
#include "tests/drm/drm_small.h"

#include <amdgpu_drm.h>
#include <i915_drm.h>
#include <stdbool.h>

enum { CONTEXTS = 3, SYNCOBJS = 4, ENDS = 2 };

/* A syncobj that a submit waits for, or signals; handle 0: none, point 0: it has none. */
struct end {
    uint32_t handle;
    uint64_t point;
};

static uint32_t contexts[CONTEXTS], syncobjs[SYNCOBJS];
static int fd;

/* Chunks of one amdgpu submit. */
struct chunks {
    struct drm_amdgpu_cs_chunk list[4];
    uint64_t addresses[4];
    uint32_t count;
};

static void add_chunk(struct chunks *c, uint32_t id, const void *data, size_t size)
{
    c->list[c->count] = (struct drm_amdgpu_cs_chunk){id, (uint32_t)size / 4, (uintptr_t)data};
    c->addresses[c->count] = (uintptr_t)&c->list[c->count];
    c->count++;
}

static void add_end(struct chunks *c, const struct end *end, bool is_signal)
{
    static struct drm_amdgpu_cs_chunk_sem plain[2];
    static struct drm_amdgpu_cs_chunk_syncobj points[2];

    plain[is_signal].handle = end->handle;
    points[is_signal] = (struct drm_amdgpu_cs_chunk_syncobj){end->handle, 0, end->point};
    if (end->handle && end->point)
        add_chunk(c,
                  is_signal ? AMDGPU_CHUNK_ID_SYNCOBJ_TIMELINE_SIGNAL
                            : AMDGPU_CHUNK_ID_SYNCOBJ_TIMELINE_WAIT,
                  &points[is_signal], sizeof(points[0]));
    else if (end->handle)
        add_chunk(c, is_signal ? AMDGPU_CHUNK_ID_SYNCOBJ_OUT : AMDGPU_CHUNK_ID_SYNCOBJ_IN,
                  &plain[is_signal], sizeof(plain[0]));
}

/* Sends a submit; its name is in the stacks that the test looks for. Returns its number. */
__attribute__((noinline)) static uint64_t send_submit(uint32_t context, struct end wait,
                                                      struct end signal, uint64_t after)
{
    const struct drm_amdgpu_cs_chunk_ib ib = {
        .va_start = 0x100000, .ib_bytes = 64, .ip_type = AMDGPU_HW_IP_COMPUTE};
    const struct drm_amdgpu_cs_chunk_dep dep = {
        .ip_type = AMDGPU_HW_IP_COMPUTE, .ctx_id = contexts[1], .handle = after};
    struct chunks c = {.count = 0};
    union drm_amdgpu_cs cs = {.in = {.ctx_id = contexts[context]}};

    add_chunk(&c, AMDGPU_CHUNK_ID_IB, &ib, sizeof(ib));
    if (after)
        add_chunk(&c, AMDGPU_CHUNK_ID_DEPENDENCIES, &dep, sizeof(dep));
    add_end(&c, &wait, false);
    add_end(&c, &signal, true);
    cs.in.num_chunks = c.count;
    cs.in.chunks = (uintptr_t)c.addresses;
    if (ioctl(fd, DRM_IOCTL_AMDGPU_CS, &cs) != 0)
        perror("DRM_IOCTL_AMDGPU_CS");
    return cs.out.handle;
}

#define NO_END            ((struct end){0})
#define END(place, point) ((struct end){syncobjs[place], point})

static void wait_number(uint32_t context, uint64_t number)
{
    union drm_amdgpu_wait_cs wait = {.in = {.handle = number,
                                            .timeout = ~0ull,
                                            .ip_type = AMDGPU_HW_IP_COMPUTE,
                                            .ctx_id = contexts[context]}};

    MUST(fd, DRM_IOCTL_AMDGPU_WAIT_CS, &wait);
}

static void wait_point(uint32_t place, uint64_t point, uint32_t flags)
{
    struct drm_syncobj_timeline_wait wait = {.handles = (uintptr_t)&syncobjs[place],
                                             .points = (uintptr_t)&point,
                                             .timeout_nsec = INT64_MAX,
                                             .count_handles = 1,
                                             .flags = flags};

    MUST(fd, DRM_IOCTL_SYNCOBJ_TIMELINE_WAIT, &wait);
}

static void transfer(uint32_t to, uint64_t to_point, uint32_t from, uint64_t from_point)
{
    struct drm_syncobj_transfer t = {.src_handle = syncobjs[from],
                                     .dst_handle = syncobjs[to],
                                     .src_point = from_point,
                                     .dst_point = to_point};

    MUST(fd, DRM_IOCTL_SYNCOBJ_TRANSFER, &t);
}

static void change(uint32_t place, unsigned long request)
{
    struct drm_syncobj_array list = {.handles = (uintptr_t)&syncobjs[place], .count_handles = 1};

    MUST(fd, request, &list);
}

/* ---- ways -------------------------------------------------------------------------------------
 */

static void send_points(void)
{
    uint64_t number;

    send_submit(0, NO_END, END(0, 3), 0);
    number = send_submit(1, END(0, 2), END(1, 0), 0); /* 3 is beyond 2 */
    send_submit(2, NO_END, NO_END, number);
    send_submit(2, NO_END, NO_END, 0);
    send_submit(0, END(1, 0), NO_END, 0);
}

static void send_copied(void)
{
    wait_number(0, send_submit(0, NO_END, END(0, 0), 0));
    transfer(1, 7, 0, 0);
    send_submit(1, END(1, 7), NO_END, 0); /* waits for nothing that is left */
    send_submit(0, NO_END, END(2, 4), 0);
    transfer(3, 0, 2, 4);
    transfer(1, 9, 3, 0);
    send_submit(2, END(1, 9), NO_END, 0);
}

static void send_signalled(void)
{
    send_submit(0, NO_END, END(0, 0), 0);
    send_submit(0, NO_END, END(1, 0), 0);
    change(0, DRM_IOCTL_SYNCOBJ_SIGNAL);
    send_submit(1, END(0, 0), NO_END, 0); /* waits for nothing that is left */
    change(1, DRM_IOCTL_SYNCOBJ_RESET);
    send_submit(1, NO_END, END(1, 0), 0);
    send_submit(2, END(1, 0), NO_END, 0); /* the submit behind the reset */
}

static void send_unseen(void)
{
    struct drm_syncobj_handle h = {.handle = syncobjs[1]};

    send_submit(0, NO_END, END(0, 1), 0);
    send_submit(0, END(0, 4), NO_END, 0); /* nothing goes there */
    MUST(fd, DRM_IOCTL_SYNCOBJ_HANDLE_TO_FD, &h);
    send_submit(1, END(1, 0), NO_END, 0);
    send_submit(2, NO_END, NO_END, 77);
    send_submit(2, NO_END, NO_END, 0);
}

static void send_again(void)
{
    struct drm_syncobj_handle h = {.handle = syncobjs[SYNCOBJS - 1]};
    struct drm_syncobj_destroy destroy = {.handle = h.handle};
    struct drm_syncobj_create create = {0};

    MUST(fd, DRM_IOCTL_SYNCOBJ_HANDLE_TO_FD, &h);
    MUST(fd, DRM_IOCTL_SYNCOBJ_DESTROY, &destroy);
    MUST(fd, DRM_IOCTL_SYNCOBJ_CREATE, &create);
    if (create.handle != h.handle)
        exit(1);
    send_submit(0, NO_END, END(SYNCOBJS - 1, 0), 0);
    send_submit(1, END(SYNCOBJS - 1, 0), NO_END, 0);
}

static void send_lost(void)
{
    send_submit(0, NO_END, END(0, 0), 0);
    send_submit(1, END(0, 0), NO_END, 0); /* FAKE_DRM_LOST=2 */
}

static void send_waits(void)
{
    send_submit(0, NO_END, END(0, 1), 0);
    send_submit(1, NO_END, END(0, 5), 0);
    wait_point(0, 5, DRM_SYNCOBJ_WAIT_FLAGS_WAIT_AVAILABLE); /* says nothing of the device */
    send_submit(2, NO_END, END(1, 0), 0);
    wait_point(0, 1, DRM_SYNCOBJ_WAIT_FLAGS_WAIT_FOR_SUBMIT);
}

/* ---- i915 -------------------------------------------------------------------------------------
 */

static uint32_t batch, objects[2];

static void send_batch(uint32_t context, uint32_t object, uint64_t flags)
{
    struct drm_i915_gem_exec_object2 list[2] = {{.handle = object, .flags = flags},
                                                {.handle = batch}};
    struct drm_i915_gem_execbuffer2 e = {
        .buffers_ptr = (uintptr_t)list, .buffer_count = 2, .flags = 1, .rsvd1 = context};

    MUST(fd, DRM_IOCTL_I915_GEM_EXECBUFFER2, &e);
}

static void send_objects(void)
{
    void *memory;

    for (int i = 0; i < 2; i++)
        objects[i] = i915_object(fd, &memory);
    batch = i915_object(fd, &memory);
    *(uint32_t *)memory = 0x0a000000; /* its end */
    send_batch(0, objects[0], 0);
    send_batch(1, objects[0], EXEC_OBJECT_WRITE);
    send_batch(2, objects[0], EXEC_OBJECT_ASYNC); /* waits for nobody */
    send_batch(2, objects[1], 0);
    send_batch(3, objects[0], 0);
}

/* ---- all --------------------------------------------------------------------------------------
 */

static void make(void)
{
    uint64_t offset;

    for (uint32_t i = 0; i < CONTEXTS; i++) {
        union drm_amdgpu_ctx context = {.in = {.op = AMDGPU_CTX_OP_ALLOC_CTX}};

        MUST(fd, DRM_IOCTL_AMDGPU_CTX, &context);
        contexts[i] = context.out.alloc.ctx_id;
    }
    for (uint32_t i = 0; i < SYNCOBJS; i++) {
        struct drm_syncobj_create create = {0};

        MUST(fd, DRM_IOCTL_SYNCOBJ_CREATE, &create);
        syncobjs[i] = create.handle;
    }
    amdgpu_make(fd, 0x100000, &offset);
}

/* Waits for the device, which does not answer. */
static void hang(bool is_i915)
{
    struct drm_i915_gem_wait wait = {.bo_handle = objects[0], .timeout_ns = -1};

    puts("hangs");
    fflush(stdout);
    if (is_i915)
        MUST(fd, DRM_IOCTL_I915_GEM_WAIT, &wait);
    else
        wait_point(3, 1, DRM_SYNCOBJ_WAIT_FLAGS_WAIT_FOR_SUBMIT);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*send)(void);
    } ways[] = {{"points", send_points}, {"copied", send_copied},   {"signalled", send_signalled},
                {"unseen", send_unseen}, {"again", send_again},     {"lost", send_lost},
                {"waits", send_waits},   {"objects", send_objects}, {"goes_on", send_points}};
    size_t way = 0;
    bool is_i915;

    while (way < sizeof(ways) / sizeof(ways[0]) && (argc < 2 || strcmp(argv[1], ways[way].name)))
        way++;
    if (way == sizeof(ways) / sizeof(ways[0]))
        return 2;
    is_i915 = !strcmp(argv[1], "objects");
    fd = open_node();
    if (!is_i915)
        make();
    ways[way].send();
    if (strcmp(argv[1], "goes_on") != 0) {
        setenv("FAKE_DRM_HANGS", "1", 1);
        hang(is_i915);
    }
    for (uint32_t i = 0; i < CONTEXTS; i++)
        wait_number(i, ~0ull >> 1);
    return 0;
}
