/* SPDX-License-Identifier: Apache-2.0
 *
 * State that the sandbox shares with the replaying process: which pages of the arena it has at
 * which addresses, which code objects, and the commands that change that.
 *
 * The process starts with the first code object or agent dispatch; a trace without them needs none.
 */
#include "emu/hsa/sandbox/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "api/hsa/sandbox.h"
#include "base/array.h"
#include "base/text.h"
#include "emu/hsa/runtime.h"

#define PAGE          4096u
#define CONSTANT_SIZE 64u
#define CONSTANT_PAGE 65536u /* bytes that are mapped at once for constants */

/* Addresses that the sandbox has, or will have when it starts. They do not overlap. */
struct view {
    uint64_t address, size, offset;
    int file;       /* SANDBOX_ARENA or SANDBOX_CONSTANTS */
    int protection; /* not PROT_NONE */
    bool owns;      /* its part of the arena goes with it */
};

struct constant {
    struct constant *next;
};

/* A part of the arena that was given back. They do not touch one another. */
struct hole {
    uint64_t offset, size;
};

static struct {
    pthread_mutex_t lock;
    bool is_used;
    int arena, constants, constants_to_read; /* descriptors; 0: not made */
    uint64_t arena_end, constants_end;
    struct view *views; /* by address */
    size_t view_count, view_capacity;
    struct constant *spare;
    struct hole *holes; /* by offset */
    size_t hole_count, hole_capacity;
} shared = {.lock = PTHREAD_MUTEX_INITIALIZER};

static uint64_t pages(uint64_t size)
{
    return (size + PAGE - 1) & ~(uint64_t)(PAGE - 1);
}

static void *pointer(uint64_t address)
{
    return (void *)(uintptr_t)address;
}

bool emu_hsa_sandbox_is_used(void)
{
    return __atomic_load_n(&shared.is_used, __ATOMIC_ACQUIRE);
}

EMU_HSA_EXPORT void tracesmith_hsa_sandbox(uint64_t timeout_ns)
{
    emu_hsa_sandbox_set_timeout(timeout_ns);
    __atomic_store_n(&shared.is_used, true, __ATOMIC_RELEASE);
}

/* ---- files; the lock is held -------------------------------------------------------------------
 */

static bool make_files(void)
{
    char path[64];

    if (shared.arena)
        return true;
    shared.arena = memfd_create("tracesmith-arena", MFD_CLOEXEC);
    shared.constants = memfd_create("tracesmith-constants", MFD_CLOEXEC);
    tsm_format(path, sizeof(path), "/proc/self/fd/%d", shared.constants);
    shared.constants_to_read = open(path, O_RDONLY | O_CLOEXEC);
    if (shared.arena > 0 && shared.constants > 0 && shared.constants_to_read > 0)
        return true;
    emu_hsa_sandbox_fail("no file for the GPU's memory: %s", tsm_errno_text(errno));
    if (shared.arena > 0)
        close(shared.arena);
    if (shared.constants > 0)
        close(shared.constants);
    shared.arena = 0;
    return false;
}

static void erase_hole(size_t at)
{
    shared.hole_count--;
    memmove(&shared.holes[at], &shared.holes[at + 1],
            (shared.hole_count - at) * sizeof(*shared.holes));
}

/* Returns false if there is no memory for it: its part of the file is not used again then. */
static bool insert_hole(size_t at, struct hole hole)
{
    return TSM_ARRAY_INSERT(shared.holes, shared.hole_count, shared.hole_capacity, at, hole);
}

/* Frees the pages of [offset, offset + size), and lets later parts lie there. The sandbox may have
 * kept a mapping and write there; so the file must not grow with each part that is freed, and is
 * cut where it can be. */
static void give(uint64_t offset, uint64_t size)
{
    struct hole hole = {offset, size};
    size_t at;

    if (!size)
        return;
    fallocate(shared.arena, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)offset, (off_t)size);
    TSM_BISECT(at, shared.hole_count, shared.holes[at].offset > offset);
    if (at < shared.hole_count && shared.holes[at].offset == offset + size) {
        hole.size += shared.holes[at].size;
        erase_hole(at);
    }
    if (at && shared.holes[at - 1].offset + shared.holes[at - 1].size == offset) {
        hole.offset = shared.holes[at - 1].offset;
        hole.size += shared.holes[at - 1].size;
        erase_hole(--at);
    }
    if (hole.offset + hole.size != shared.arena_end)
        insert_hole(at, hole);
    else if (ftruncate(shared.arena, (off_t)hole.offset) == 0)
        shared.arena_end = hole.offset;
}

void emu_hsa_sandbox_give(uint64_t offset, uint64_t size)
{
    pthread_mutex_lock(&shared.lock);
    give(offset, size);
    pthread_mutex_unlock(&shared.lock);
}

/* Takes a part from the first hole that has room, without what was written there meanwhile. -1:
 * none has. */
static int64_t take_hole(uint64_t size)
{
    for (size_t i = 0; i < shared.hole_count; i++) {
        struct hole *hole = &shared.holes[i];
        uint64_t offset = hole->offset;
        if (hole->size < size)
            continue;
        hole->offset += size;
        hole->size -= size;
        if (!hole->size)
            erase_hole(i);
        fallocate(shared.arena, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)offset,
                  (off_t)size);
        return (int64_t)offset;
    }
    return -1;
}

/* -1: none. */
static int64_t take(uint64_t size)
{
    uint64_t offset = shared.arena_end;
    int64_t found = take_hole(size);

    if (found >= 0)
        return found;
    if (!make_files() || size > INT64_MAX - offset)
        return -1;
    if (ftruncate(shared.arena, (off_t)(offset + size)) != 0) {
        emu_hsa_sandbox_fail("no %llu bytes for the GPU's memory: %s", (unsigned long long)size,
                             tsm_errno_text(errno));
        return -1;
    }
    shared.arena_end += size;
    return (int64_t)offset;
}

int emu_hsa_sandbox_arena(void)
{
    pthread_mutex_lock(&shared.lock);
    int file = make_files() ? shared.arena : -1;
    pthread_mutex_unlock(&shared.lock);
    return file;
}

int64_t emu_hsa_sandbox_take(uint64_t size)
{
    pthread_mutex_lock(&shared.lock);
    int64_t offset = take(pages(size));
    pthread_mutex_unlock(&shared.lock);
    return offset;
}

/* ---- views; the lock is held -------------------------------------------------------------------
 */

static bool tell_map(const struct view *view)
{
    const uint64_t arguments[] = {view->address, view->size, view->offset,
                                  (uint64_t)view->protection, (uint64_t)view->file};
    uint32_t result = SANDBOX_OK;

    if (!emu_hsa_sandbox_call(false, SANDBOX_MAP, arguments, 5, "sharing memory", &result, NULL))
        return false;
    if (result != SANDBOX_OK)
        emu_hsa_sandbox_fail("the sandbox for code of the trace cannot have memory at 0x%llx%s",
                             (unsigned long long)view->address,
                             result == SANDBOX_TAKEN ? ", where it has something else: try again"
                                                     : "");
    return result == SANDBOX_OK;
}

static void tell_unmap(uint64_t address, uint64_t size)
{
    const uint64_t arguments[] = {address, size};
    uint32_t result;

    if (emu_hsa_sandbox_is_alive())
        emu_hsa_sandbox_call(false, SANDBOX_UNMAP, arguments, 2, "taking memory", &result, NULL);
}

/* The first view that ends after `address`. */
static size_t first_behind(uint64_t address)
{
    size_t at;

    TSM_BISECT(at, shared.view_count, shared.views[at].address + shared.views[at].size > address);
    return at;
}

static bool insert(size_t at, const struct view *view)
{
    return TSM_ARRAY_INSERT(shared.views, shared.view_count, shared.view_capacity, at, *view);
}

static void erase(size_t at)
{
    shared.view_count--;
    memmove(&shared.views[at], &shared.views[at + 1],
            (shared.view_count - at) * sizeof(*shared.views));
}

/* Views, or the parts of them, in [address, end). */
static void hide(uint64_t address, uint64_t end)
{
    for (size_t at = first_behind(address);
         at < shared.view_count && shared.views[at].address < end;) {
        struct view *view = &shared.views[at], rest = *view;
        uint64_t start = view->address > address ? view->address : address;
        uint64_t view_end = view->address + view->size, stop = view_end < end ? view_end : end;
        tell_unmap(start, stop - start);
        if (view->owns)
            give(view->offset + (start - view->address), stop - start);
        rest.address = stop;
        rest.size = view_end - stop;
        rest.offset += stop - view->address;
        if (start > view->address) {
            view->size = start - view->address;
            at++;
            if (rest.size && !insert(at, &rest))
                return;
        } else if (rest.size) {
            *view = rest;
        } else {
            erase(at);
        }
        if (rest.size)
            return;
    }
}

static bool show(const struct view *view)
{
    hide(view->address, view->address + view->size);
    if (view->protection == PROT_NONE)
        return true;
    if (!insert(first_behind(view->address), view))
        return false;
    return !emu_hsa_sandbox_is_alive() || tell_map(view);
}

/* A part of the arena at addresses of this process, and of the sandbox. */
static bool back(uint64_t address, uint64_t size)
{
    struct view view = {.address = address,
                        .size = size,
                        .file = SANDBOX_ARENA,
                        .protection = PROT_READ | PROT_WRITE,
                        .owns = true};
    int64_t offset = take(size);

    view.offset = (uint64_t)offset;
    return offset >= 0 &&
           mmap(pointer(address), size, PROT_READ | PROT_WRITE,
                MAP_SHARED | MAP_NORESERVE | MAP_FIXED, shared.arena,
                (off_t)offset) == pointer(address) &&
           show(&view);
}

bool emu_hsa_sandbox_back(uint64_t address, uint64_t size)
{
    pthread_mutex_lock(&shared.lock);
    bool ok = back(address, pages(size));
    pthread_mutex_unlock(&shared.lock);
    return ok;
}

/* Pages that are not shared yet, with what they hold. */
static bool move(uint64_t address, uint64_t size)
{
    static const uint8_t zero[PAGE];
    int64_t offset = take(size);
    struct view view = {.address = address,
                        .size = size,
                        .offset = (uint64_t)offset,
                        .file = SANDBOX_ARENA,
                        .protection = PROT_READ | PROT_WRITE,
                        .owns = true};

    if (offset < 0)
        return false;
    for (uint64_t at = 0; at < size; at += PAGE)
        if (memcmp(pointer(address + at), zero, PAGE) != 0 &&
            pwrite(shared.arena, pointer(address + at), PAGE, (off_t)((uint64_t)offset + at)) !=
                (ssize_t)PAGE)
            return false;
    return mmap(pointer(address), size, PROT_READ | PROT_WRITE,
                MAP_SHARED | MAP_NORESERVE | MAP_FIXED, shared.arena, offset) == pointer(address) &&
           show(&view);
}

bool emu_hsa_sandbox_adopt(uint64_t address, uint64_t size)
{
    uint64_t at = address & ~(uint64_t)(PAGE - 1), end = pages(address + size);
    bool ok = true;

    pthread_mutex_lock(&shared.lock);
    while (at < end && ok) {
        size_t next = first_behind(at);
        bool is_there = next < shared.view_count && shared.views[next].address <= at;
        uint64_t until = end;
        if (next < shared.view_count && !is_there && shared.views[next].address < end)
            until = shared.views[next].address;
        if (is_there)
            until = shared.views[next].address + shared.views[next].size;
        else
            ok = move(at, until - at);
        at = until;
    }
    pthread_mutex_unlock(&shared.lock);
    return ok;
}

void emu_hsa_sandbox_drop(uint64_t address, uint64_t size)
{
    pthread_mutex_lock(&shared.lock);
    hide(address, address + pages(size));
    pthread_mutex_unlock(&shared.lock);
}

bool emu_hsa_sandbox_show(uint64_t address, uint64_t size, uint64_t offset, int protection)
{
    const struct view view = {.address = address,
                              .size = size,
                              .offset = offset,
                              .file = SANDBOX_ARENA,
                              .protection = protection};

    pthread_mutex_lock(&shared.lock);
    bool ok = show(&view);
    pthread_mutex_unlock(&shared.lock);
    return ok;
}

/* ---- constants ---------------------------------------------------------------------------------
 */

static bool more_constants(void)
{
    struct view view = {.size = CONSTANT_PAGE,
                        .offset = shared.constants_end,
                        .file = SANDBOX_CONSTANTS,
                        .protection = PROT_READ};

    if (!make_files() ||
        ftruncate(shared.constants, (off_t)(shared.constants_end + CONSTANT_PAGE)) != 0)
        return false;
    view.address = emu_hsa_window_map(CONSTANT_PAGE);
    if (!view.address ||
        mmap(pointer(view.address), CONSTANT_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
             shared.constants, (off_t)view.offset) != pointer(view.address))
        return false;
    shared.constants_end += CONSTANT_PAGE;
    if (!show(&view))
        return false;
    for (uint64_t at = 0; at < CONSTANT_PAGE; at += CONSTANT_SIZE) {
        struct constant *spare = pointer(view.address + at);
        spare->next = shared.spare;
        shared.spare = spare;
    }
    return true;
}

void *emu_hsa_sandbox_constant(size_t size)
{
    struct constant *given = NULL;

    pthread_mutex_lock(&shared.lock);
    if (size <= CONSTANT_SIZE && (shared.spare || more_constants())) {
        given = shared.spare;
        shared.spare = given->next;
        memset(given, 0, CONSTANT_SIZE);
    }
    pthread_mutex_unlock(&shared.lock);
    return given;
}

void emu_hsa_sandbox_constant_free(void *constant)
{
    struct constant *given = constant;

    if (!given)
        return;
    pthread_mutex_lock(&shared.lock);
    given->next = shared.spare;
    shared.spare = given;
    pthread_mutex_unlock(&shared.lock);
}

/* ---- code --------------------------------------------------------------------------------------
 */

/* The lock is held. Starts the sandbox, and tells it what it has. */
static bool start(void)
{
    if (emu_hsa_sandbox_is_alive())
        return true;
    if (!make_files() || !emu_hsa_sandbox_start(shared.arena, shared.constants_to_read))
        return false;
    for (size_t i = 0; i < shared.view_count; i++)
        if (!tell_map(&shared.views[i]))
            return false;
    return true;
}

static bool ensure_started(void)
{
    pthread_mutex_lock(&shared.lock);
    bool ok = start();
    pthread_mutex_unlock(&shared.lock);
    return ok;
}

static uint64_t window(uint64_t size)
{
    uint64_t address = emu_hsa_window_map(pages(size));

    if (address && !emu_hsa_sandbox_back(address, size)) {
        munmap(pointer(address), pages(size));
        address = 0;
    }
    return address;
}

void emu_hsa_sandbox_unload(uint64_t base, uint64_t image_size)
{
    if (!base)
        return;
    emu_hsa_sandbox_drop(base, image_size);
    munmap(pointer(base), pages(image_size));
}

static bool tell_load(uint32_t result, const char *text)
{
    static const char *const reasons[] = {
        [SANDBOX_OK] = "",
        [SANDBOX_NO_MEMORY] = "no memory for it",
        [SANDBOX_FORMAT] = "it is damaged",
        [SANDBOX_TLS] = "it has thread-local variables, which the sandbox does not support",
        [SANDBOX_LIBRARY] = "it needs a library that the sandbox does not have: ",
        [SANDBOX_SYMBOL] = "it needs a symbol that nothing there has: ",
        [SANDBOX_RELOCATION] = "it has a relocation that is not supported: type ",
    };
    bool is_known = result < sizeof(reasons) / sizeof(reasons[0]) && reasons[result];

    if (result == SANDBOX_OK)
        return true;
    emu_hsa_sandbox_fail("a code object does not load: %s%s", is_known ? reasons[result] : "?",
                         text);
    return false;
}

bool emu_hsa_sandbox_load(const void *data, size_t size, uint64_t *base, uint64_t *image_size)
{
    uint64_t staging = 0;
    char text[SANDBOX_TEXT_SIZE];
    uint32_t result = SANDBOX_OK;
    bool ok = *image_size && ensure_started();

    *base = ok ? window(*image_size) : 0;
    staging = *base ? window(size) : 0;
    ok = ok && staging;
    if (ok) {
        const uint64_t arguments[] = {staging, size, *base, *image_size};
        memcpy(pointer(staging), data, size);
        ok = emu_hsa_sandbox_call(false, SANDBOX_LOAD, arguments, 4, "loading a code object",
                                  &result, text) &&
             tell_load(result, text);
    }
    emu_hsa_sandbox_unload(staging, size);
    if (!ok)
        emu_hsa_sandbox_unload(*base, *image_size);
    return ok;
}

/* ---- kernels -----------------------------------------------------------------------------------
 */

static hsa_status_t status_of(bool ok, uint32_t result, const char *name)
{
    if (!ok)
        return (hsa_status_t)HSA_STATUS_ERROR_MEMORY_FAULT;
    if (result == SANDBOX_OK)
        return HSA_STATUS_SUCCESS;
    if (result == SANDBOX_BARRIER)
        emu_hsa_sandbox_fail("%s: a kernel called a barrier that was not made with "
                             "TRACESMITH_HSA_BARRIER_KERNEL",
                             name);
    return result == SANDBOX_BARRIER ? HSA_STATUS_ERROR_INVALID_CODE_OBJECT
                                     : HSA_STATUS_ERROR_OUT_OF_RESOURCES;
}

uint32_t emu_hsa_sandbox_run(const struct emu_hsa_remote_kernel *kernel,
                             const struct emu_hsa_remote_grid *grid)
{
    uint64_t arguments[9] = {kernel->descriptor, grid->arguments};
    uint32_t result = SANDBOX_OK;
    bool ok;

    for (unsigned i = 0; i < 3; i++) {
        arguments[2 + i] = grid->grid_size[i];
        arguments[5 + i] = grid->group_size[i];
    }
    arguments[8] = grid->group_memory;
    ok = emu_hsa_sandbox_call(true, SANDBOX_RUN, arguments, 9, kernel->name, &result, NULL);
    return status_of(ok, result, kernel->name);
}

uint32_t emu_hsa_sandbox_perform(const void *packet)
{
    uint64_t arguments[8];
    uint32_t result = SANDBOX_OK;
    bool ok;

    memcpy(arguments, packet, sizeof(arguments));
    ok = ensure_started() && emu_hsa_sandbox_call(true, SANDBOX_PERFORM, arguments, 8,
                                                  "an agent dispatch", &result, NULL);
    return status_of(ok, result, "an agent dispatch");
}

void emu_hsa_sandbox_end(void)
{
    emu_hsa_sandbox_stop();
    pthread_mutex_lock(&shared.lock);
    for (size_t i = 0; i < shared.view_count; i++)
        if (shared.views[i].owns)
            give(shared.views[i].offset, shared.views[i].size);
    free(shared.views);
    shared.views = NULL;
    shared.view_count = shared.view_capacity = 0;
    shared.spare = NULL;
    shared.is_used = false;
    pthread_mutex_unlock(&shared.lock);
}
