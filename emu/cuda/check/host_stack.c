/* SPDX-License-Identifier: Apache-2.0
 *
 * The compiler's unwinder and not libunwind: it checks no addresses through a pipe that a program
 * which closes all its files would give another meaning.
 *
 * Programs launch from the same place again and again, and unwinding is most of what a launch costs
 * its thread. So a thread remembers where on its stack the return addresses of its latest walks
 * lay: while the innermost frame is where it was and these words are what they were, so is the
 * stack.
 */
#include "emu/cuda/check/host_stack.h"

#include <dlfcn.h>
#include <elfutils/libdwfl.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <unwind.h>

#include "base/array.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/text.h"
#include "emu/cuda/core/emu.h"

#define OWN_DEPTH_MAX 16

struct stack {
    uint32_t next; /* an older one of the same hash; 0: none */
    unsigned depth;
    void *frames[];
};

/* Set by the linker: where this library begins and ends. */
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char _end[] __attribute__((visibility("hidden")));

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct stack **stacks; /* stack n is stacks[n - 1] */
static size_t count;
static size_t capacity;
static struct tsm_map newest; /* by hash: the newest stack's number */

/* ---- taking ---- */

static bool is_own(const void *frame)
{
    return (const char *)frame >= __ehdr_start && (const char *)frame < _end;
}

static uint32_t intern(void *const *frames, unsigned depth)
{
    size_t size = depth * sizeof(*frames);
    bool added;
    uint64_t *number = tsm_map_insert(&newest, tsm_hash64(frames, size), &added);

    for (uint32_t n = number ? (uint32_t)*number : 0; n; n = stacks[n - 1]->next)
        if (stacks[n - 1]->depth == depth && memcmp(stacks[n - 1]->frames, frames, size) == 0)
            return n;
    struct stack *s = number ? malloc(sizeof(*s) + size) : NULL;
    if (!s || !TSM_ARRAY_PUSH(stacks, count, capacity, s)) {
        free(s);
        return 0;
    }
    s->next = (uint32_t)*number;
    s->depth = depth;
    memcpy(s->frames, frames, size);
    return (uint32_t)(*number = count);
}

/* A walk through the frames, innermost first; slots[i] holds the return address frames[i]. Of frame
 * 0, which is the walker's caller, there is none. */
struct walk {
    unsigned depth;
    bool is_interrupted; /* a frame was not called: a signal's. It has no slot */
    void *frames[OWN_DEPTH_MAX + EMU_STACK_DEPTH_MAX];
    void *const *slots[OWN_DEPTH_MAX + EMU_STACK_DEPTH_MAX];
};

static _Unwind_Reason_Code step(struct _Unwind_Context *context, void *user)
{
    struct walk *walk = user;
    int interrupted = 0;
    uintptr_t ip = _Unwind_GetIPInfo(context, &interrupted);

    if (!ip || walk->depth == OWN_DEPTH_MAX + EMU_STACK_DEPTH_MAX)
        return _URC_END_OF_STACK;
    walk->is_interrupted |= interrupted != 0;
    walk->frames[walk->depth] = (void *)ip;
    walk->slots[walk->depth++] = (void *const *)_Unwind_GetCFA(context) - 1;
    return _URC_NO_REASON;
}

#define KNOWN_COUNT 4
#define KNOWN_DEPTH 32

/* A walk that is remembered. depth 0: none. */
struct known {
    const void *top; /* the frame of emu_stack_take() */
    uint32_t stack;
    uint32_t depth;
    void *frames[KNOWN_DEPTH];
    void *const *slots[KNOWN_DEPTH];
};
static __thread struct known known[KNOWN_COUNT];

static struct known *known_at(const void *top, const void *caller)
{
    return &known[((uintptr_t)top / 16 ^ (uintptr_t)caller) % KNOWN_COUNT];
}

/* The words further out are looked at only while those further in are right, so that none is read
 * which is not on this stack. */
static bool is_known(const struct known *k, const void *top)
{
    if (k->top != top || !k->depth)
        return false;
    for (uint32_t i = 0; i < k->depth; i++)
        if (*k->slots[i] != k->frames[i])
            return false;
    return true;
}

/* Remembers a walk, unless a frame keeps its return address elsewhere. */
static void remember(struct known *k, const void *top, const struct walk *walk, uint32_t stack)
{
    k->depth = 0;
    if (walk->is_interrupted || walk->depth < 2 || walk->depth > KNOWN_DEPTH + 1)
        return;
    for (unsigned i = 1; i < walk->depth; i++) {
        if (*walk->slots[i] != walk->frames[i])
            return;
        k->frames[i - 1] = walk->frames[i];
        k->slots[i - 1] = walk->slots[i];
    }
    k->top = top;
    k->stack = stack;
    k->depth = walk->depth - 1;
}

static uint32_t intern_walk(const struct walk *walk)
{
    unsigned first = 0;

    while (first < walk->depth && is_own(walk->frames[first]))
        first++;
    unsigned kept = walk->depth - first;
    kept = kept < EMU_STACK_DEPTH_MAX ? kept : EMU_STACK_DEPTH_MAX;
    pthread_mutex_lock(&lock);
    uint32_t stack = kept ? intern(walk->frames + first, kept) : 0;
    pthread_mutex_unlock(&lock);
    return stack;
}

__attribute__((noinline)) uint32_t emu_stack_take(void)
{
    const void *top = __builtin_frame_address(0);
    struct walk walk;
    int saved = errno;

    if (!emu_settings.has_stacks)
        return 0;
    struct known *k = known_at(top, __builtin_return_address(0));
    if (is_known(k, top))
        return k->stack;
    walk.depth = 0;
    walk.is_interrupted = false;
    _Unwind_Backtrace(step, &walk);
    uint32_t stack = intern_walk(&walk);
    remember(k, top, &walk, stack);
    errno = saved;
    return stack;
}

unsigned emu_stack_depth(uint32_t stack)
{
    pthread_mutex_lock(&lock);
    unsigned depth = stack && stack <= count ? stacks[stack - 1]->depth : 0;
    pthread_mutex_unlock(&lock);
    return depth;
}

/* ---- names ---- */

/* The functions of libdw that are used, opened when the first frame is printed. */
#define LIBDW(X)                                                                                   \
    X(dwfl_begin)                                                                                  \
    X(dwfl_report_begin)                                                                           \
    X(dwfl_linux_proc_report)                                                                      \
    X(dwfl_report_end)                                                                             \
    X(dwfl_addrmodule)                                                                             \
    X(dwfl_module_addrname)                                                                        \
    X(dwfl_module_getsrc)                                                                          \
    X(dwfl_lineinfo)                                                                               \
    X(dwfl_linux_proc_find_elf)                                                                    \
    X(dwfl_build_id_find_debuginfo)

static struct {
#define X(name) __typeof__(&name) name;
    LIBDW(X)
#undef X
} dw;

static pthread_mutex_t names_lock = PTHREAD_MUTEX_INITIALIZER;
static Dwfl *dwfl;
static bool tried;
static char *(*demangle)(const char *name, char *out, size_t *size, int *status);
static char *no_path;

static bool open_libdw(void)
{
    void *library = dlopen("libdw.so.1", RTLD_NOW | RTLD_LOCAL);
    bool ok = library != NULL;

#define X(name)                                                                                    \
    if (ok) {                                                                                      \
        void *symbol = dlsym(library, #name);                                                      \
        memcpy(&dw.name, &symbol, sizeof(symbol));                                                 \
        ok = symbol != NULL;                                                                       \
    }
    LIBDW(X)
#undef X
    return ok;
}

static void open_names(void)
{
    static Dwfl_Callbacks callbacks;
    void *symbol = dlsym(RTLD_DEFAULT, "__cxa_demangle");

    tried = true;
    memcpy(&demangle, &symbol, sizeof(symbol));
    if (!open_libdw())
        return;
    callbacks.find_elf = dw.dwfl_linux_proc_find_elf;
    callbacks.find_debuginfo = dw.dwfl_build_id_find_debuginfo;
    callbacks.debuginfo_path = &no_path;
    dwfl = dw.dwfl_begin(&callbacks);
}

/* Libraries come and go; the map is read again for an address that it does not know. */
static Dwfl_Module *module_of(uint64_t address)
{
    Dwfl_Module *module = dwfl ? dw.dwfl_addrmodule(dwfl, address) : NULL;

    if (module || !dwfl)
        return module;
    dw.dwfl_report_begin(dwfl);
    if (dw.dwfl_linux_proc_report(dwfl, getpid()) != 0 || dw.dwfl_report_end(dwfl, NULL, NULL) != 0)
        return NULL;
    return dw.dwfl_addrmodule(dwfl, address);
}

static const char *file_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

static size_t add_function(char *out, size_t size, const char *name)
{
    int status = 0;
    char *plain =
        demangle && strncmp(name, "_Z", 2) == 0 ? demangle(name, NULL, NULL, &status) : NULL;
    size_t used = tsm_format(out, size, "%s", plain ? plain : name);

    free(plain);
    return used;
}

static void name_frame(uint64_t address, char *out, size_t size)
{
    Dwfl_Module *module = module_of(address);
    const char *name = module ? dw.dwfl_module_addrname(module, address) : NULL;
    Dwfl_Line *source = module ? dw.dwfl_module_getsrc(module, address) : NULL;
    int line = 0;
    const char *path = source ? dw.dwfl_lineinfo(source, NULL, &line, NULL, NULL, NULL) : NULL;
    Dl_info info = {0};
    bool is_known = dladdr((void *)(uintptr_t)address, &info) && info.dli_fname;
    size_t used = 0;

    out[0] = 0;
    if (!name && is_known)
        name = info.dli_sname;
    if (name)
        used = add_function(out, size, name);
    if (path)
        used += tsm_format(out + used, size - used, " at %s:%d", file_name(path), line);
    if (is_known)
        tsm_format(out + used, size - used, used ? " (%s+0x%llx)" : "%s+0x%llx",
                   file_name(info.dli_fname),
                   (unsigned long long)(address + 1 - (uintptr_t)info.dli_fbase));
    else if (!used)
        tsm_format(out, size, "0x%llx", (unsigned long long)address + 1);
}

void emu_stack_frame(uint32_t stack, unsigned frame, char *out, size_t size)
{
    pthread_mutex_lock(&lock);
    const struct stack *s = stack && stack <= count ? stacks[stack - 1] : NULL;
    uint64_t address = s && frame < s->depth ? (uintptr_t)s->frames[frame] : 0;
    pthread_mutex_unlock(&lock);
    out[0] = 0;
    if (!address)
        return;
    pthread_mutex_lock(&names_lock);
    if (!tried)
        open_names();
    name_frame(address - 1, out, size); /* inside the call, not after it */
    pthread_mutex_unlock(&names_lock);
}
