/* SPDX-License-Identifier: Apache-2.0
 *
 * An ioctl on a GPU file: what goes in is kept before the call when the kernel is going to write
 * over it, everything else is read afterwards, when the kernel has accepted it.
 */
#include "api/drm/drm_source_run.h"

#include "api/drm/drm_encode.h"
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

/* ---- whether ------------------------------------------------------------------------------------
 */

static _Atomic uint64_t unrecorded, seen_only;

uint64_t drm_seen_only_count(void)
{
    return atomic_load(&seen_only);
}

uint64_t drm_unrecorded_count(void)
{
    return atomic_load(&unrecorded);
}

/* TS_DRM + 1; 0: nobody has looked. It does not change while the program runs. */
static _Atomic uint32_t known_mode;

bool drm_begin(struct tsm_call *call, uint32_t record)
{
    uint32_t mode = atomic_load_explicit(&known_mode, memory_order_relaxed);

    if (!tsm_call_begin(call, SBT_TYPE(SBT_API_DRM, record)))
        return false;
    if (!mode) {
        mode = 1 + (uint32_t)tsm_session_settings()->drm;
        atomic_store_explicit(&known_mode, mode, memory_order_relaxed);
    }
    if (mode > TSM_DRM_ALL || (mode == 1 + TSM_DRM_AUTO && !tsm_session_other(SBT_API_DRM)))
        return true;
    tsm_call_drop(call);
    atomic_fetch_add_explicit(&unrecorded, 1, memory_order_relaxed);
    return false;
}

/* ---- memory of the program
 * ------------------------------------------------------------------------
 */

/* What is kept of a thread's last call. */
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

/* Nearly all arguments are variables of a function that is running: those need no system call. */
static inline bool is_on_stack(struct local *l, uintptr_t address, size_t size)
{
    uintptr_t here = (uintptr_t)__builtin_frame_address(0);

    if (address < here || size > PAGE * 16 || address + size < address)
        return false;
    if (here >= l->low && address + size <= l->high && here < l->high)
        return true;
    return probe_stack(l, here, address + size);
}

/* False: it is not there, and the kernel is going to say so. */
static bool copy_in(struct local *l, void *out, const void *address, size_t size)
{
    if (!is_on_stack(l, (uintptr_t)address, size))
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

/* Most structs are a few numbers, and all of them are there. At most two a call, in and out. */
static inline bool is_small(const struct drm_run *r, const struct drm_struct *type)
{
    return type->flags & DRM_STRUCT_FLAT && type->count <= DRM_SMALL_MAX && r->size >= type->size;
}

static inline const uint8_t *encode_small(struct drm_run *r, const struct drm_struct *type,
                                          const void *bytes, size_t *size)
{
    uint8_t *start = r->room_at;

    r->room_at = drm_encode_flat(start, type, bytes);
    *size = (size_t)(r->room_at - start);
    return start;
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
static void put_large_struct(struct drm_run *r, uint32_t type, const uint8_t *bytes, bool is_out)
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

static inline void put_struct(struct drm_run *r, uint32_t type, const uint8_t *bytes, bool is_out)
{
    const uint8_t *value;
    size_t size;

    if (!is_small(r, &drm_structs[type])) {
        put_large_struct(r, type, bytes, is_out);
        return;
    }
    value = encode_small(r, &drm_structs[type], bytes, &size);
    tsm_call_struct(r->call, value, size);
}

/* What went in: the copy, or what is still there. */
static const uint8_t *bytes_in(struct drm_run *r)
{
    uint8_t *copy;

    if (r->before)
        return r->before;
    if (r->result >= 0)
        return r->argument;
    copy = tsm_call_scratch(r->call, r->size);
    return copy && copy_in(tsm_call_local(r->call), copy, r->argument, r->size) ? copy : NULL;
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

/* Behind what the tables know: an argument of a newer version. */
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
    struct local *l = tsm_call_local(r->call);

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
        return copy_in(tsm_call_local(r->call), out, r->argument, r->size);
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
    if (__builtin_expect(r->result < 0, 0) && (r->error == EINTR || r->error == EAGAIN)) {
        tsm_call_drop(r->call);
        remember_interrupted(r);
        return false;
    }
    put_slots(r, forget_interrupted(tsm_call_local(r->call)));
    return true;
}

static bool may_be_small(const struct drm_run *r)
{
    return r->row && r->row->flags & DRM_IOCTL_SMALL && r->row->request == r->request &&
           is_on_stack(tsm_call_local(r->call), (uintptr_t)r->argument, r->size);
}

/* Most calls: numbers in, numbers out, and nobody needs the bytes that went in, but their value. */
static void call_small(struct drm_run *r)
{
    const struct drm_ioctl *row = r->row;
    const struct drm_struct *type = &drm_structs[row->into - 1];
    uint8_t *end = drm_encode_flat(r->room, type, r->argument);

    if (!issue(r))
        return;
    tsm_call_struct(r->call, r->room, (size_t)(end - r->room));
    if (row->out && r->result >= 0) {
        uint8_t *last = drm_encode_flat(end, type, r->argument);
        tsm_call_struct(r->call, end, (size_t)(last - end));
    } else if (row->out) {
        tsm_call_slot(r->call, 0);
    }
    tsm_call_slot(r->call, 0); /* nothing more */
    tsm_call_commit(r->call);
}

static void call_large(struct drm_run *r)
{
    const struct drm_ioctl *row = r->row;

    prepare(r);
    if (row && row->kind == SBT_KIND_COMMAND) {
        drm_maps_publish();
        if (r->before)
            tsm_call_on_stream(r->call, drm_stream_of(row, r->file.id, r->before), TSM_ENQUEUES);
    }
    if (row && (row->kind == SBT_KIND_COMMAND || row->flags & DRM_IOCTL_EARLY))
        tsm_call_restart(r->call);
    if (!issue(r))
        return;
    if (row)
        put_known(r);
    else
        put_raw(r);
    tsm_call_commit(r->call);
}

static void call_and_record(struct drm_run *r)
{
    const struct drm_ioctl *row = r->row;

    r->size = row && row->flags & DRM_IOCTL_TEXT ? sizeof(r->argument) : SIZE_OF(r->request);
    if (may_be_small(r))
        call_small(r);
    else
        call_large(r);
    if (!row || r->result < 0)
        return;
    drm_run_effects(r);
    if (row->kind == SBT_KIND_SYNC)
        drm_maps_waited();
}

/* Begin the record of a call; before it comes that of one that was interrupted. */
static bool begin(struct drm_run *r)
{
    uint32_t type = r->row ? r->row->id : DRM_RECORD_IOCTL;
    struct local *l;

    if (!drm_begin(r->call, type))
        return false;
    l = tsm_call_local(r->call);
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
    r.before = NULL;
    r.in = NULL;
    r.unknown_count = r.shared_count = 0;
    r.parameters = (struct drm_parameters){0};
    r.room_at = r.room;
    if (!file.told)
        drm_file_tell(fd, file, DRM_HOW_FOUND);
    r.row = drm_ioctl_find((enum drm_node)file.node, file.family, request);
    if (r.row && r.row->gone.size)
        drm_run_closing(&r);
    if (!begin(&r)) {
        if ((request >> 8 & 0xff) == DRM_TYPE)
            atomic_fetch_add_explicit(&seen_only, 1, memory_order_relaxed);
        return drm_libc_ioctl(fd, request, argument, by_number);
    }
    call_and_record(&r);
    errno = r.error;
    return (int)r.result;
}
