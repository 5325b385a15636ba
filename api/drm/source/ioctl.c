/* SPDX-License-Identifier: Apache-2.0
 *
 * An ioctl on a GPU file: what goes in is kept before the call when the kernel is going to write
 * over it, everything else is read afterwards, when the kernel has accepted it.
 */
#include "api/drm/source/run.h"

#include "api/drm/source/encode.h"
#include "base/own_stack.h"
#include "capture/lock.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#define PAGE             4096u
#define ROOM_FIRST       2048u
#define DRM_TYPE         'd' /* of a request */
#define SIZE_OF(request) ((request) >> 16 & 0x3fff)
#define READS(request)   ((request) >> 30 & 1) /* the kernel reads the argument */
#define WRITES(request)  ((request) >> 31 & 1)

/* ---- memory of the program
 * ------------------------------------------------------------------------
 */

/* Facts kept from a thread's last call. */
struct local {
    /* Part of its stack that is known to be there: from a frame up. Frames of callers stay. */
    uintptr_t low, high;
    /* The last call ended with EINTR or EAGAIN, which programs answer by trying again: no record
     * was written of it so far. */
    const void *argument;
    int fd;
    uint32_t request, count, error;
    uint32_t node_and_family;
};

_Static_assert(sizeof(struct local) <= TSM_LOCAL_SIZE, "what is kept of a thread");

static bool probe_stack(struct local *l, uintptr_t here, uintptr_t end)
{
    uint8_t bytes[16];
    uintptr_t page = (here & ~(uintptr_t)(PAGE - 1)) + PAGE;

    if (end - here > sizeof(bytes) * PAGE)
        return false;
    for (; page < end; page += PAGE)
        if (!tsm_memory_read(bytes, page, 1))
            return false;
    l->low = here;
    l->high = page;
    return true;
}

/* Nearly all arguments are variables of a function that is running: those need no system call.
 * `here`: the program's stack from there up is in use. */
static inline bool is_on_stack(struct local *l, uintptr_t here, uintptr_t address, size_t size)
{
    if (address < here || size > PAGE * 16 || address + size < address)
        return false;
    if (here >= l->low && address + size <= l->high && here < l->high)
        return true;
    return probe_stack(l, here, address + size);
}

/* Copies from the program. Returns false if the memory is not there: the kernel is going to say
 * so. */
static bool copy_in(const struct drm_run *r, void *out, const void *address, size_t size)
{
    if (!is_on_stack(r->local, r->here, (uintptr_t)address, size))
        return tsm_memory_read(out, (uintptr_t)address, size);
    memcpy(out, address, size);
    return true;
}

/* ---- a call -------------------------------------------------------------------------------------
 */

static void *memory_for(struct drm_encoder *e, size_t size)
{
    return tsm_call_scratch(((struct drm_run *)e->user)->call, size);
}

static bool grow(struct sbt_out *out, size_t size)
{
    size_t used = sbt_out_size(out), wanted = 2 * (used + size);
    uint8_t *memory = tsm_call_scratch(out->user, wanted);

    if (!memory)
        return false;
    memcpy(memory, out->start, used);
    out->start = memory;
    out->at = memory + used;
    out->end = memory + wanted;
    return true;
}

/* The bytes of a struct of ours: those that the request has, and zeros. A driver takes them so,
 * too. */
static const uint8_t *whole(struct drm_run *r, const uint8_t *bytes, size_t wanted)
{
    uint8_t *copy;

    if (!bytes || r->size >= wanted)
        return bytes;
    copy = tsm_call_scratch(r->call, wanted);
    if (copy) {
        memcpy(copy, bytes, r->size);
        memset(copy + r->size, 0, wanted - r->size);
    }
    return copy;
}

static bool encode(struct drm_run *r, struct drm_encoder *e, uint32_t type, const uint8_t *bytes)
{
    uint8_t *room = tsm_call_scratch(r->call, ROOM_FIRST);

    bytes = whole(r, bytes, drm_structs[type].size);
    if (!bytes || !room)
        return false;
    sbt_out_init(&e->out, room, ROOM_FIRST, grow, r->call);
    e->memory = memory_for;
    e->read = tsm_memory_read;
    e->shared = drm_run_shared;
    e->user = r;
    e->address = (uintptr_t)r->argument;
    drm_encode(e, type, bytes);
    return !e->out.overflow;
}

/* Append a STRUCT field. */
static void put_struct(struct drm_run *r, uint32_t type, const uint8_t *bytes, bool is_out)
{
    struct drm_encoder e = {.is_out = is_out, .careful = r->result < 0};

    if (is_out && r->before && r->size >= drm_structs[type].size)
        e.before = r->before;
    if (!encode(r, &e, type, bytes)) {
        tsm_call_slot(r->call, 0);
        tsm_call_flag(r->call, SBT_RECORD_TRUNCATED);
        return;
    }
    if (e.missing && r->result >= 0)
        tsm_call_flag(r->call, SBT_RECORD_TRUNCATED);
    r->unknown_count += e.unknown;
    tsm_call_struct(r->call, e.out.start, sbt_out_size(&e.out));
}

/* Returns the bytes that went in: the copy, or the original if it is still there. */
static const uint8_t *bytes_in(struct drm_run *r)
{
    uint8_t *copy;

    if (r->before)
        return r->before;
    if (r->result >= 0)
        return r->argument;
    copy = tsm_call_scratch(r->call, r->size);
    return copy && copy_in(r, copy, r->argument, r->size) ? copy : NULL;
}

static void put_in(struct drm_run *r)
{
    const uint8_t *bytes;

    if (r->in) {
        if (r->in_missing && r->result >= 0)
            tsm_call_flag(r->call, SBT_RECORD_TRUNCATED);
        tsm_call_struct(r->call, r->in, r->in_size);
        return;
    }
    bytes = bytes_in(r);
    if (bytes && READS(r->request))
        put_struct(r, r->row->into - 1u, bytes, false);
    else
        tsm_call_slot(r->call, 0); /* the kernel could not read it, either */
}

/* After what the tables know: an argument of a newer version. */
static void put_more(struct drm_run *r, size_t known)
{
    const uint8_t *bytes = NULL;

    if (__builtin_expect(r->size > known && r->result >= 0, 0))
        bytes = READS(r->request) ? bytes_in(r) : r->argument;
    if (bytes)
        tsm_call_bytes(r->call, bytes + known, r->size - known);
    else
        tsm_call_slot(r->call, 0);
}

static void put_known(struct drm_run *r)
{
    const struct drm_ioctl *row = r->row;
    size_t known = 0;

    if (row->into) {
        known = drm_structs[row->into - 1].size;
        put_in(r);
    }
    if (row->out) {
        size_t size = drm_structs[row->out - 1].size;
        known = size > known ? size : known;
        if (r->result >= 0 && WRITES(r->request))
            put_struct(r, row->out - 1u, r->argument, true);
        else
            tsm_call_slot(r->call, 0);
    }
    put_more(r, known);
}

static void put_raw(struct drm_run *r)
{
    const uint8_t *in = READS(r->request) ? bytes_in(r) : NULL;
    bool wrote = WRITES(r->request) && r->result >= 0;

    tsm_call_bytes(r->call, in, in ? r->size : 0);
    tsm_call_bytes(r->call, wrote ? r->argument : NULL, wrote ? r->size : 0);
    drm_run_parameters_put(r);
}

static void put_slots(struct drm_run *r, uint32_t retries)
{
    uint64_t *slots = tsm_call_slots(r->call, DRM_SLOT_COMMON);

    slots[DRM_SLOT_FD] = (uint64_t)r->fd;
    slots[DRM_SLOT_FILE] = r->file.id;
    slots[DRM_SLOT_REQUEST] = r->request;
    slots[DRM_SLOT_RETRIES] = retries;
    slots[DRM_SLOT_ARGUMENT] = (uintptr_t)r->argument;
}

/* ---- calls that were interrupted
 * ------------------------------------------------------------------
 */

static _Atomic uint64_t interrupted_count; /* threads whose last call was */

uint64_t drm_interrupted_count(void)
{
    return atomic_load(&interrupted_count);
}

static bool is_retry(const struct local *l, const struct drm_run *r)
{
    return l->fd == r->fd && l->request == r->request && l->argument == r->argument;
}

static void remember_interrupted(const struct drm_run *r)
{
    struct local *l = r->local;

    if (!l->count)
        atomic_fetch_add(&interrupted_count, 1);
    l->fd = r->fd;
    l->request = r->request;
    l->argument = r->argument;
    l->error = (uint32_t)r->error;
    l->node_and_family = r->file.node | (uint32_t)r->file.family << 8;
    l->count++;
}

static uint32_t forget_interrupted(struct local *l)
{
    uint32_t count = l->count;

    if (count)
        atomic_fetch_sub(&interrupted_count, 1);
    l->count = 0;
    return count;
}

/* Nobody tried again: its record, without arguments, which may be gone. */
static void write_interrupted(struct local last)
{
    struct drm_file file = drm_file_known(last.fd);
    const struct drm_ioctl *row = drm_ioctl_find((enum drm_node)(last.node_and_family & 0xff),
                                                 last.node_and_family >> 8, last.request);
    struct tsm_call call;
    struct drm_run r = {.call = &call,
                        .fd = last.fd,
                        .file = file,
                        .request = last.request,
                        .argument = (void *)(uintptr_t)last.argument};

    if (!drm_begin(&call, row ? row->id : DRM_RECORD_IOCTL))
        return;
    tsm_call_returned(&call, -(int64_t)last.error, true);
    put_slots(&r, last.count - 1);
    tsm_call_slot(&call, 0);
    for (int i = 0; i < 3 && !row; i++)
        tsm_call_slot(&call, 0);
    if (row && row->into && row->out)
        tsm_call_slot(&call, 0);
    if (row && (row->into || row->out))
        tsm_call_slot(&call, 0);
    tsm_call_commit(&call);
}

/* ---- the call
 * -------------------------------------------------------------------------------------
 */

/* The `size` bytes that the kernel is going to read first: at the argument, or the argument itself.
 */
static bool copy_argument(const struct drm_run *r, void *out)
{
    if (!r->row || !(r->row->flags & DRM_IOCTL_TEXT))
        return copy_in(r, out, r->argument, r->size);
    memcpy(out, &r->argument, sizeof(r->argument));
    return true;
}

/* Keep what the kernel will write over, and what names the stream. */
static void prepare(struct drm_run *r)
{
    const struct drm_ioctl *row = r->row;
    size_t wanted = row && row->into ? drm_structs[row->into - 1].size : 0;
    bool is_wanted = row && (row->kind == SBT_KIND_COMMAND || row->flags & DRM_IOCTL_EARLY);

    if (!READS(r->request))
        return;
    if (!WRITES(r->request) && !is_wanted)
        return;
    if (wanted < r->size)
        wanted = r->size;
    r->before = tsm_call_scratch(r->call, wanted);
    if (r->before && !copy_argument(r, r->before))
        r->before = NULL;
    if (r->before)
        memset(r->before + r->size, 0, wanted - r->size);
    if (r->before && r->file.node == DRM_NODE_NVIDIA)
        drm_run_parameters_keep(r);
    if (r->before && row && row->flags & DRM_IOCTL_EARLY) {
        struct drm_encoder e = {.careful = true};
        if (encode(r, &e, row->into - 1u, r->before)) {
            r->in = e.out.start;
            r->in_size = sbt_out_size(&e.out);
            r->in_missing = e.missing;
            r->unknown_count = e.unknown;
        }
    }
}

/* The call itself. False: it was interrupted, and has no record so far. */
static inline bool issue(struct drm_run *r)
{
    r->result = drm_libc_ioctl(r->fd, r->request, r->argument, r->by_number);
    r->error = errno;
    tsm_call_returned(r->call, r->result < 0 ? -r->error : r->result, r->result < 0);
    if (__builtin_expect(r->result < 0, 0)) {
        if (r->error == EINTR || r->error == EAGAIN) {
            tsm_call_drop(r->call);
            remember_interrupted(r);
            return false;
        }
        if (r->error == EBADF || r->error == ENOTTY)
            drm_file_doubted(r->fd);
    }
    put_slots(r, forget_interrupted(r->local));
    return true;
}

/* Prepares a call of a large argument, on a stack of ours: structs lie in structs. after_large()
 * completes its record there, too. The call itself is made on the program's stack. */
static void before_large(void *argument)
{
    struct drm_run *r = argument;
    const struct drm_ioctl *row = r->row;

    prepare(r);
    if (row && row->kind == SBT_KIND_COMMAND) {
        drm_maps_publish();
        if (r->before)
            tsm_call_on_stream(r->call, drm_stream_of(row, r->file.id, r->before), TSM_ENQUEUES);
    }
    if (row && (row->kind == SBT_KIND_COMMAND || row->flags & DRM_IOCTL_EARLY))
        tsm_call_restart(r->call);
}

/* Begin the record of a call; before it comes that of one that was interrupted. */
static inline bool begin(struct drm_run *r)
{
    uint32_t type = r->row ? r->row->id : DRM_RECORD_IOCTL;
    struct local *l;

    if (!drm_begin(r->call, type))
        return false;
    l = r->local = tsm_call_local(r->call);
    if (__builtin_expect(l->count == 0, 1) || is_retry(l, r))
        return true;
    tsm_call_drop(r->call);
    write_interrupted((struct local){.fd = l->fd,
                                     .request = l->request,
                                     .argument = l->argument,
                                     .error = l->error,
                                     .node_and_family = l->node_and_family,
                                     .count = forget_interrupted(l)});
    return drm_begin(r->call, type);
}

static _Atomic uint64_t seen_only;

uint64_t drm_seen_only_count(void)
{
    return atomic_load(&seen_only);
}

int drm_ioctl_passed(int fd, uint32_t request, void *argument, bool by_number)
{
    if ((request >> 8 & 0xff) == DRM_TYPE)
        atomic_fetch_add_explicit(&seen_only, 1, memory_order_relaxed);
    return drm_libc_ioctl(fd, request, argument, by_number);
}

static int pass(const struct drm_run *r)
{
    return drm_ioctl_passed(r->fd, r->request, r->argument, r->by_number);
}

/* Has the program learnt that the device is done? Points that were reached are seen without hashes:
 * nobody knows which the program meant. */
static inline void learn(const struct drm_run *r)
{
    const struct drm_ioctl *row = r->row;

    if (r->result < 0 || !drm_tells_done(row, r->argument, SIZE_OF(r->request)))
        return;
    if (row->kind == SBT_KIND_SYNC || row->done != DRM_TELLS_POINTS)
        drm_maps_waited();
    else
        drm_maps_publish();
}

static void after_large(void *argument)
{
    struct drm_shared shared[DRM_SHARED_MAX];
    struct drm_run *r = argument;
    const struct drm_ioctl *row = r->row;

    if (row)
        put_known(r);
    else
        put_raw(r);
    if (r->shared) /* in scratch memory, until the commit */
        r->shared = memcpy(shared, r->shared, sizeof(shared));
    tsm_call_commit(r->call);
    if (row && r->result >= 0) {
        drm_run_effects(r);
        if (row->kind == SBT_KIND_SYNC || row->tells.size)
            learn(r);
    }
}

static __attribute__((noinline)) int record_large(struct drm_run *r)
{
    const struct drm_ioctl *row = r->row;

    if (!begin(r))
        return pass(r);
    r->before = NULL;
    r->shared = NULL;
    r->in = NULL;
    r->unknown_count = r->shared_count = 0;
    r->parameters = (struct drm_parameters){0};
    r->size = row && row->flags & DRM_IOCTL_TEXT ? sizeof(r->argument) : SIZE_OF(r->request);
    tsm_own_stack_run(before_large, r);
    if (issue(r))
        tsm_own_stack_run(after_large, r);
    errno = r->error;
    return (int)r->result;
}

/* ---- small calls: numbers in, numbers out, and no effects. Most are
 * ------------------------------
 */

#define SMALL_ROOM                                                                                 \
    (2 * (1 + DRM_VALUE_SIZE_MAX * DRM_SMALL_MAX)) /* both values, each with its tag */

/* A struct of numbers: a word or a few. */
static inline void copy_words(uint64_t *out, const uint8_t *from, size_t size)
{
    for (; size >= 8; size -= 8, from += 8)
        memcpy(out++, from, 8);
    if (size)
        memcpy(out, from, size);
}

/* Copies a number from the program. Returns false if the memory is not there: the kernel is going
 * to say so. */
static inline bool copy_small(const struct drm_run *r, uint64_t *out)
{
    size_t size = SIZE_OF(r->request);

    if (__builtin_expect(!is_on_stack(r->local, r->here, (uintptr_t)r->argument, size), 0))
        return tsm_memory_read(out, (uintptr_t)r->argument, size);
    copy_words(out, r->argument, size);
    return true;
}

/* The values of in and out, at `start`, and where they are. NULL `before`: there is none. */
static inline void put_small(const struct drm_run *r, uint8_t *start, const void *before)
{
    const struct drm_struct *type = &drm_structs[r->row->into - 1];
    uint32_t slot_count = r->row->out ? 3 : 2;
    uint64_t *slots = tsm_call_slots(r->call, slot_count);
    uint8_t *middle = start, *end;

    slots[0] = slots[1] = 0;
    if (before) {
        *start = 0;
        middle = drm_encode_flat(start + 1, type, before);
        slots[0] = tsm_call_struct_at(0, (uint32_t)(middle - start));
    }
    end = middle;
    if (r->row->out && r->result >= 0) {
        *middle = 0;
        end = drm_encode_flat(middle + 1, type, r->argument);
        slots[1] = tsm_call_struct_at((uint32_t)(middle - start), (uint32_t)(end - middle));
    }
    slots[slot_count - 1] = 0; /* nothing more */
    tsm_call_data(r->call, start, (uint32_t)(end - start));
}

/* There is no memory for its values. */
static void put_nothing(const struct drm_run *r)
{
    uint32_t slot_count = r->row->out ? 3 : 2;

    memset(tsm_call_slots(r->call, slot_count), 0, slot_count * sizeof(uint64_t));
    tsm_call_flag(r->call, SBT_RECORD_TRUNCATED);
}

static void learn_on_own_stack(void *run)
{
    learn(run);
}

static __attribute__((noinline)) int record_small(struct drm_run *r)
{
    uint8_t *room;
    uint64_t before[DRM_SMALL_MAX];
    bool there;

    if (!begin(r))
        return pass(r);
    there = copy_small(r, before);
    if (issue(r)) {
        room = tsm_call_room(r->call, DRM_SLOT_COMMON + (r->row->out ? 3 : 2), SMALL_ROOM);
        if (!room)
            room = tsm_call_scratch(r->call, SMALL_ROOM);
        if (room)
            put_small(r, room, there ? before : NULL);
        else
            put_nothing(r);
        tsm_call_commit(r->call);
        if (r->row->kind == SBT_KIND_SYNC || r->row->tells.size)
            tsm_own_stack_run(learn_on_own_stack, r);
    }
    errno = r->error;
    return (int)r->result;
}

static void close_on_own_stack(void *run)
{
    drm_run_closing(run);
}

int drm_ioctl_recorded(int fd, struct drm_file file, uint32_t request, void *argument,
                       bool by_number)
{
    struct tsm_call call;
    struct drm_run r;

    r.call = &call;
    r.fd = fd;
    r.file = file;
    r.request = request;
    r.argument = argument;
    r.by_number = by_number;
    r.here = (uintptr_t)__builtin_frame_address(0);
    if (!file.told)
        drm_file_tell(fd, file, DRM_HOW_FOUND);
    r.row = drm_ioctl_find((enum drm_node)file.node, file.family, request);
    if (r.row && r.row->gone.size)
        tsm_own_stack_run(close_on_own_stack, &r);
    return r.row && r.row->flags & DRM_IOCTL_SMALL && r.row->request == request ? record_small(&r)
                                                                                : record_large(&r);
}
