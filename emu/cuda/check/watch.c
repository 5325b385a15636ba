/* SPDX-License-Identifier: Apache-2.0 */
#include "emu/cuda/check/watch.h"

#include <pthread.h>
#include <string.h>

#include "base/text.h"
#include "emu/cuda/check/profile.h"
#include "emu/cuda/check/report.h"
#include "emu/cuda/core/emu.h"

#define TOLD_MAX 1024u
#define TEXT_MAX 512

/* ---- what was told already ---- */

struct told {
    const struct ptx_module *module;
    enum ptx_check check;
    uint32_t line;
    uint32_t other_line;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct told told[TOLD_MAX];
static unsigned told_count;

/* Once per line, and for races once per pair of lines, whichever came first. */
static bool is_new(const struct emu_watch *w, const struct ptx_finding *f)
{
    uint32_t line = f->place.depth ? f->place.stack[0].line : 0;
    uint32_t other = f->has_other ? f->other.stack[0].line : 0;
    struct told t = {w->module, f->check, line > other ? line : other, line > other ? other : line};
    bool is = true;

    pthread_mutex_lock(&lock);
    for (unsigned i = 0; i < told_count && is; i++)
        is = told[i].module != t.module || told[i].check != t.check || told[i].line != t.line ||
             told[i].other_line != t.other_line;
    if (is && told_count == TOLD_MAX)
        is = false;
    else if (is)
        told[told_count++] = t;
    pthread_mutex_unlock(&lock);
    return is;
}

void emu_watch_forget(const struct ptx_module *module)
{
    unsigned kept = 0;

    pthread_mutex_lock(&lock);
    for (unsigned i = 0; i < told_count; i++)
        if (told[i].module != module)
            told[kept++] = told[i];
    told_count = kept;
    pthread_mutex_unlock(&lock);
    emu_profile_forget(module);
}

/* ---- findings ---- */

static const char *verb(enum ptx_access access)
{
    return access == PTX_ACCESS_LOAD ? "load" : access == PTX_ACCESS_STORE ? "store" : "atomic";
}

static void describe(char *out, size_t size, const struct emu_watch *w, const struct ptx_finding *f)
{
    static const char *const names[] = {
        [PTX_CHECK_UNINIT] = "uninit", [PTX_CHECK_RACE] = "race", [PTX_CHECK_BLOCKS] = "blocks"};
    size_t at = tsm_format(out, size, "%s: kernel %s: %s of %u bytes at 0x%llx in %s memory",
                           names[f->check], w->kernel, verb(f->access), f->size,
                           (unsigned long long)f->address, f->space);

    if (f->check == PTX_CHECK_UNINIT)
        tsm_format(out + at, size - at, ", of which %u were never written", f->bad);
    else
        tsm_format(out + at, size - at, " and a%s by another %s, with nothing that orders them",
                   f->other_access == PTX_ACCESS_LOAD    ? " load"
                   : f->other_access == PTX_ACCESS_STORE ? " store"
                                                         : "n atomic",
                   f->check == PTX_CHECK_RACE ? "thread of the block" : "block");
}

static void found(void *user, const struct ptx_finding *finding)
{
    const struct emu_watch *w = user;
    char message[TEXT_MAX];
    char variable[TEXT_MAX];
    struct emu_near near;
    struct emu_report f = {.check = finding->check == PTX_CHECK_UNINIT ? "uninit"
                                    : finding->check == PTX_CHECK_RACE ? "race"
                                                                       : "blocks",
                           .message = message,
                           .module = w->module,
                           .kernel = w->kernel,
                           .place = &finding->place,
                           .access = finding->access,
                           .space = finding->space,
                           .address = finding->address,
                           .size = finding->size,
                           .launch_stack = w->stack};

    if (!is_new(w, finding))
        return;
    describe(message, sizeof(message), w, finding);
    if (finding->has_other) {
        f.other = &finding->other;
        f.other_access = finding->other_access;
    }
    if (finding->space[0] == 'g' && emu_memory_near(&near, finding->address))
        f.near = &near;
    if (ptx_module_variable_at(w->module, finding->space, finding->address, variable,
                               sizeof(variable)))
        f.variable = variable;
    emu_report_write(&f);
}

/* ---- launches ---- */

void emu_watch_begin(struct emu_watch *w, struct ptx_launch *launch, CUstream stream,
                     uint32_t stack, struct ptx_touched *touched)
{
    unsigned checks = (emu_settings.checks & EMU_CHECK_UNINIT ? PTX_CHECK_UNINIT : 0) |
                      (emu_settings.checks & EMU_CHECK_RACE ? PTX_CHECK_RACE : 0) |
                      (emu_settings.checks & EMU_CHECK_BLOCKS ? PTX_CHECK_BLOCKS : 0);

    if (!checks && !emu_settings.profile && !touched)
        return;
    *w =
        (struct emu_watch){.ptx = {.checks = checks, .touched = touched, .found = found, .user = w},
                           .module = launch->module,
                           .kernel = launch->function->name,
                           .stack = stack};
    if (emu_settings.profile)
        emu_profile_begin(w, launch, stream);
    launch->watch = &w->ptx;
}

void emu_watch_end(struct emu_watch *w)
{
    if (w->ptx.is_profiled)
        emu_profile_end(w);
}
