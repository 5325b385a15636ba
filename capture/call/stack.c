/* SPDX-License-Identifier: Apache-2.0
 *
 * Host stacks.
 *
 * Unwinding costs microseconds; most stacks repeat. A cache per thread remembers, for a stack seen
 * once, where each of its return addresses was saved and what it was. The key is the innermost
 * return address and the stack pointer there; an entry is the present stack when all its slots
 * still hold what they held. That is sound by induction as long as frames have a fixed size: a
 * matched return address tells how large its caller's frame is, hence where the next one is saved.
 * Frames that grow (alloca) move the stack pointer of all callees, so in practice the key differs,
 * too.
 *
 * libunwind is opened on first use with RTLD_LOCAL and never linked: were it among the dependencies
 * of a preloaded library, the program's C++ exceptions would be unwound by it, twenty times slower.
 *
 * libunwind checks an address before it reads there by writing the byte into a pipe of its own. In
 * a program that closes all descriptors, that number may by now be a file of the program's. So its
 * initialisation, which opens the pipe, runs on the drain thread, whose descriptors are not the
 * program's, and reading memory is replaced by a function of ours.
 */
#include "capture/session.h"

#include "base/hash.h"
#include "base/log.h"
#include "base/own_stack.h"
#include "capture/call/intern.h"
#include "capture/call/stack.h"
#include "capture/lane/drain_thread.h"
#include "capture/parts.h"
#include "capture/process/mapping.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#define UNW_LOCAL_ONLY
#include <libunwind.h>

#define SET_COUNT   256u
#define WAY_COUNT   4u
#define SAVED_COUNT 65536u /* saved return addresses of all entries of a thread */
#define ID_MAX      (1u << 20)
#define SLOT_COUNT  (2 * ID_MAX)

struct saved {
    uint64_t address; /* where the return address is saved */
    uint64_t value;
};

struct entry {
    uint64_t return_address, sp;
    uint32_t id;
    uint32_t first, count; /* in saved[] */
};

#define PAGE          4096u
#define CHECKED_COUNT 64u

struct walk {
    unw_context_t context;
    unw_cursor_t cursor;
    uint64_t frames[SBT_STACK_DEPTH_MAX];
    struct saved saved[SBT_STACK_DEPTH_MAX];
    uint32_t count, frame_count;     /* of those saved, and of those that are the program's */
    bool cacheable;                  /* each return address was found where it was expected */
    uint64_t checked[CHECKED_COUNT]; /* pages that could be read during this walk */
};

struct tsm_stack_cache {
    struct walk walk; /* under way */
    struct entry entries[SET_COUNT][WAY_COUNT];
    uint8_t next_way[SET_COUNT];
    uint32_t saved_count;
    struct saved saved[SAVED_COUNT];
};

/* Ids by the hash of the return addresses; for all threads. */
struct tsm_stacks {
    uint32_t count;
    struct known {
        uint64_t key[2];
        uint32_t id; /* written last */
    } known[SLOT_COUNT];
};

struct unwinder {
    int (*context)(unw_context_t *context);
    int (*init)(unw_cursor_t *cursor, unw_context_t *context);
    int (*step)(unw_cursor_t *cursor);
    int (*reg)(unw_cursor_t *cursor, unw_regnum_t reg, unw_word_t *value);
    unw_accessors_t *(*accessors)(unw_addr_space_t space);
    unw_addr_space_t *space;
};

/* One per process, once it is there. */
static const struct unwinder *unwinder;
static uint32_t unwinder_missing;

struct tsm_stacks *tsm_stacks_create(void)
{
    return tsm_memory_map(sizeof(struct tsm_stacks));
}

const char *tsm_stack_method(void)
{
    return __atomic_load_n(&unwinder_missing, __ATOMIC_ACQUIRE) ? "none: libunwind.so.8 is missing"
                                                                : "libunwind";
}

/* ---- libunwind ------------------------------------------------------------------------------- */

static __thread struct walk *walking __attribute__((tls_model("initial-exec")));

#define OTHERS_COUNT 8u /* few: memory of this kind is short (base/error.c) */

/* For the program's own use of the same libunwind, whose check remembers good pages for ever, too.
 */
static __thread uint64_t checked_for_others[OTHERS_COUNT]
    __attribute__((tls_model("initial-exec")));

static bool can_read(uint64_t page)
{
    uint64_t *checked = walking ? &walking->checked[page / PAGE % CHECKED_COUNT]
                                : &checked_for_others[page / PAGE % OTHERS_COUNT];
    uint8_t byte;

    if (page == 0) /* what `checked` holds at first */
        return false;
    if (*checked == page)
        return true;
    if (!tsm_memory_read(&byte, page, 1))
        return false;
    *checked = page;
    return true;
}

/* Takes the place of libunwind's own. The program may use the same libunwind: writing works, too.
 */
__attribute__((no_sanitize("address"))) static int access_memory(unw_addr_space_t space,
                                                                 unw_word_t address,
                                                                 unw_word_t *value, int write,
                                                                 void *argument)
{
    if (!can_read(address & ~(uint64_t)(PAGE - 1)) ||
        !can_read((address + 7) & ~(uint64_t)(PAGE - 1)))
        return -UNW_EUNSPEC;
    if (write)
        *(unw_word_t *)(uintptr_t)address = *value;
    else
        *value = *(const unw_word_t *)(uintptr_t)address;
    return 0;
}

/* On the drain thread. */
static void init_unwinder(void *argument)
{
    const struct unwinder *u = argument;

    u->accessors(*u->space)->access_mem = access_memory;
}

static bool find_symbol(void *function, void *library, const char *name)
{
    void *found = dlsym(library, name);

    memcpy(function, &found, sizeof(found));
    return found != NULL;
}

static bool find_symbols(struct unwinder *u, void *library)
{
    return library && find_symbol(&u->context, library, "_Ux86_64_getcontext") &&
           find_symbol(&u->init, library, "_ULx86_64_init_local") &&
           find_symbol(&u->step, library, "_ULx86_64_step") &&
           find_symbol(&u->reg, library, "_ULx86_64_get_reg") &&
           find_symbol(&u->accessors, library, "_Ux86_64_get_accessors") &&
           find_symbol(&u->space, library, "_ULx86_64_local_addr_space");
}

/* No lock: dlopen takes the dynamic linker's. Several threads may do it all at once; the first
 * one's result is kept. */
static const struct unwinder *open_unwinder(struct tsm_session *s)
{
    const struct unwinder *first = NULL;
    struct unwinder *u = tsm_memory_map(sizeof(*u));

    if (u && find_symbols(u, dlopen("libunwind.so.8", RTLD_NOW | RTLD_LOCAL))) {
        if (!tsm_drain_ask(s, init_unwinder, u))
            return NULL;
        if (__atomic_compare_exchange_n(&unwinder, &first, u, false, __ATOMIC_ACQ_REL,
                                        __ATOMIC_ACQUIRE))
            return u;
        tsm_memory_unmap(u, sizeof(*u));
        return first;
    }
    tsm_memory_unmap(u, sizeof(*u));
    if (__atomic_exchange_n(&unwinder_missing, 1, __ATOMIC_ACQ_REL) == 0) {
        tsm_log(TSM_LOG_WARN, "libunwind.so.8 cannot be opened: the trace has no host stacks");
        tsm_session_metadata("capture.stacks", tsm_stack_method());
    }
    return NULL;
}

static const struct unwinder *find_unwinder(struct tsm_session *s)
{
    const struct unwinder *u = __atomic_load_n(&unwinder, __ATOMIC_ACQUIRE);

    if (u || __atomic_load_n(&unwinder_missing, __ATOMIC_ACQUIRE))
        return u;
    return open_unwinder(s);
}

/* ---- ids --------------------------------------------------------------------------------------
 */

static uint32_t find_known(const struct tsm_stacks *t, const uint64_t key[2], uint32_t *at)
{
    *at = (uint32_t)(key[0] % SLOT_COUNT);
    for (;; *at = (*at + 1) % SLOT_COUNT) {
        uint32_t id = __atomic_load_n(&t->known[*at].id, __ATOMIC_ACQUIRE);
        if (id == 0 || (t->known[*at].key[0] == key[0] && t->known[*at].key[1] == key[1]))
            return id;
    }
}

/* The definition's lock is held, `e` is its place. */
static uint32_t define(struct tsm_session *s, struct tsm_stack_entry *e, const uint64_t *frames,
                       uint32_t count, const uint64_t key[2], uint32_t at)
{
    struct known *known = &s->stacks->known[at];

    e->id = s->stacks->count + 1;
    __atomic_store_n(&s->stacks->count, e->id, __ATOMIC_RELAXED);
    e->frame_count = count;
    memcpy(e + 1, frames, count * sizeof(*frames));
    memcpy(known->key, key, sizeof(known->key));
    tsm_lane_publish(&s->lanes[0], e->entry.size);
    __atomic_store_n(&known->id, e->id, __ATOMIC_RELEASE);
    return e->id;
}

static uint32_t id_of(struct tsm_session *s, const uint64_t *frames, uint32_t count)
{
    struct sbt_key hash = tsm_hash_key(frames, count * sizeof(*frames));
    struct tsm_stack_entry *e;
    uint64_t key[2];
    uint32_t at, id;

    memcpy(key, hash.bytes, sizeof(key));
    id = find_known(s->stacks, key, &at);
    if (id)
        return id;
    e = tsm_define_begin(s, sizeof(*e) + count * sizeof(*frames), TSM_ENTRY_STACK);
    if (!e)
        return 0;
    id = find_known(s->stacks, key, &at); /* another thread may have been quicker */
    if (!id && s->stacks->count < ID_MAX)
        id = define(s, e, frames, count, key, at);
    tsm_lock_give(&s->define_lock);
    return id;
}

/* ---- unwinding --------------------------------------------------------------------------------
 */

static bool read_frame(const struct unwinder *u, unw_cursor_t *cursor, uint64_t *ip, uint64_t *sp)
{
    unw_word_t i, s;

    if (u->reg(cursor, UNW_REG_IP, &i) != 0 || u->reg(cursor, UNW_REG_SP, &s) != 0)
        return false;
    *ip = i;
    *sp = s;
    return i != 0;
}

/* Our own code, which is no part of the program: a wrapper of HIP's that the program called, when
 * HIP has called HSA. */
static uint64_t own_start, own_size;

void tsm_stack_leave_out(const void *start, const void *end)
{
    own_start = (uint64_t)(uintptr_t)start;
    own_size = (uint64_t)(uintptr_t)end - own_start;
}

/* Frames above the one whose stack pointer is `sp`: that one is the wrapper. */
static void walk_stack(const struct unwinder *u, struct walk *w, uint64_t sp)
{
    unw_cursor_t *cursor = &w->cursor;
    uint64_t ip, at = 0;

    w->count = 0;
    w->frame_count = 0;
    w->cacheable = true;
    if (u->init(cursor, &w->context) != 0)
        return;
    while (at < sp) {
        if (u->step(cursor) <= 0 || !read_frame(u, cursor, &ip, &at))
            return;
    }
    while (w->count < SBT_STACK_DEPTH_MAX && u->step(cursor) > 0 &&
           read_frame(u, cursor, &ip, &at)) {
        unw_word_t saved;
        w->cacheable = w->cacheable && at > sp &&
                       access_memory(NULL, at - 8, &saved, 0, NULL) == 0 && saved == ip;
        w->saved[w->count++] = (struct saved){at - 8, ip};
        if (ip - own_start >= own_size)
            w->frames[w->frame_count++] = ip;
    }
}

/* ---- the cache --------------------------------------------------------------------------------
 */

static uint32_t set_of(uint64_t return_address, uint64_t sp)
{
    return (uint32_t)(((return_address ^ (sp << 20)) * 0x9e3779b97f4a7c15u) >> 56);
}

_Static_assert(SET_COUNT == 256, "set_of gives 8 bits");

static bool still_there(const struct tsm_stack_cache *c, const struct entry *e)
{
    const struct saved *saved = &c->saved[e->first];

    for (uint32_t i = 0; i < e->count; i++) {
        if (*(const uint64_t *)(uintptr_t)saved[i].address != saved[i].value)
            return false;
    }
    return true;
}

static void remember(struct tsm_stack_cache *c, const struct walk *w, uint64_t return_address,
                     uint64_t sp, uint32_t id)
{
    uint32_t set = set_of(return_address, sp);
    struct entry *e;

    if (c->saved_count + w->count > SAVED_COUNT) { /* full: start again */
        memset(c->entries, 0, sizeof(c->entries));
        c->saved_count = 0;
    }
    e = &c->entries[set][c->next_way[set]++ % WAY_COUNT];
    *e = (struct entry){return_address, sp, id, c->saved_count, w->count};
    memcpy(&c->saved[c->saved_count], w->saved, w->count * sizeof(*w->saved));
    c->saved_count += w->count;
}

struct unwinding {
    struct tsm_session *session;
    struct tsm_lane *lane;
    const struct unwinder *unwinder;
    uint64_t return_address, sp;
    uint32_t id;
};

static void open_on_own_stack(void *argument)
{
    struct unwinding *w = argument;

    if (!w->lane->stacks)
        w->lane->stacks = tsm_memory_map(sizeof(*w->lane->stacks));
    w->unwinder = w->lane->stacks ? find_unwinder(w->session) : NULL;
}

static void unwind_on_own_stack(void *argument)
{
    struct unwinding *a = argument;
    struct tsm_session *s = a->session;
    struct walk *w = &a->lane->stacks->walk;
    uint32_t before = __atomic_load_n(&s->stacks->count, __ATOMIC_RELAXED);

    memset(w->checked, 0, sizeof(w->checked));
    walking = w;
    walk_stack(a->unwinder, w, a->sp);
    walking = NULL;
    if (w->frame_count > 0)
        a->id = id_of(s, w->frames, w->frame_count);
    if (a->id && w->cacheable)
        remember(a->lane->stacks, w, a->return_address, a->sp, a->id);
    if (a->id > before)
        tsm_mapping_update(s);
}

/* libunwind and what else is needed want several KiB of stack, which the program may not have. It
 * sees the program's stack from this function's frame on, which stays as it is meanwhile. */
static __attribute__((noinline)) uint32_t unwind(struct tsm_session *s, struct tsm_lane *lane,
                                                 uint64_t return_address, uint64_t sp)
{
    struct unwinding a = {s,  lane, __atomic_load_n(&unwinder, __ATOMIC_ACQUIRE), return_address,
                          sp, 0};
    int saved_errno = errno;

    tsm_inside_enter(); /* libunwind and the dynamic linker may call what we intercept */
    if (!lane->stacks || !a.unwinder)
        tsm_own_stack_run(open_on_own_stack, &a);
    if (a.unwinder) {
        a.unwinder->context(&lane->stacks->walk.context);
        tsm_own_stack_run(unwind_on_own_stack, &a);
    }
    tsm_inside_leave();
    errno = saved_errno;
    return a.id;
}

/* Reads other frames' slots, which AddressSanitizer would not like. */
__attribute__((no_sanitize("address"))) uint32_t tsm_stack_capture(struct tsm_session *s,
                                                                   struct tsm_lane *lane,
                                                                   const void *return_address,
                                                                   const void *sp)
{
    const struct tsm_stack_cache *c = lane->stacks;
    uint64_t ra = (uint64_t)(uintptr_t)return_address, stack = (uint64_t)(uintptr_t)sp;
    const struct entry *set = c ? c->entries[set_of(ra, stack)] : NULL;

    for (uint32_t i = 0; set && i < WAY_COUNT; i++) {
        if (set[i].sp == stack && set[i].return_address == ra && still_there(c, &set[i]))
            return set[i].id;
    }
    return unwind(s, lane, ra, stack);
}

void tsm_stack_forget(struct tsm_lane *lane)
{
    int saved_errno = errno;

    /* The next thread's stack may lie elsewhere, and this one's may be gone. */
    if (lane->stacks)
        madvise(lane->stacks, sizeof(*lane->stacks), MADV_DONTNEED);
    errno = saved_errno;
}
