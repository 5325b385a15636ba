/* SPDX-License-Identifier: Apache-2.0 */
#include "api/cuda/source/cupti/library.h"

#include "base/text.h"
#include "interpose/interpose.h"
#include "interpose/real_library.h"

#include <dlfcn.h>
#include <string.h>

static const char *const names[] = {"libcupti.so.13", "libcupti.so.12", "libcupti.so"};

static void *open_mode(const char *path, int mode)
{
    void *handle = NULL;

    if (*path)
        return tsm_libc_dlopen()(path, mode);
    for (size_t i = 0; !handle && i < sizeof(names) / sizeof(names[0]); i++)
        handle = tsm_libc_dlopen()(names[i], mode);
    return handle;
}

static bool is_known(uint32_t version)
{
    return (version >= TSM_CUPTI_VERSION_FIRST && version <= TSM_CUPTI_VERSION_LAST_OLD) ||
           (version >= TSM_CUPTI_VERSION_FIRST_NEW && version <= TSM_CUPTI_VERSION_LAST);
}

/* Returns the name of one that is missing, or NULL. */
static const char *find_functions(struct cupti_library *out, void *handle)
{
#define FIND(name, arguments)                                                                      \
    out->name = (int(*) arguments)tsm_real_symbol(handle, "cupti" #name);                          \
    if (!out->name)                                                                                \
        return "cupti" #name;
    TSM_CUPTI_FUNCTIONS(FIND)
#undef FIND
    return NULL;
}

bool cupti_library_is(const char *path)
{
    const char *slash = strrchr(path, '/');

    return strncmp(slash ? slash + 1 : path, "libcupti.so", 11) == 0;
}

bool cupti_library_open(struct cupti_library *out, const char *path, char reason[CUPTI_REASON_SIZE])
{
    const char *missing;
    void *handle;
    int result;

    if (open_mode("", RTLD_LAZY | RTLD_NOLOAD) ||
        (*path && open_mode(path, RTLD_LAZY | RTLD_NOLOAD))) {
        tsm_format(reason, CUPTI_REASON_SIZE,
                   "the program has libcupti itself, which serves one tool at a time; record it "
                   "with --gpu-time=events");
        return false;
    }
    handle = open_mode(path, RTLD_LAZY | RTLD_LOCAL);
    if (!handle) {
        tsm_format(reason, CUPTI_REASON_SIZE,
                   "cannot open %s: install CUDA's profiling interface (CUPTI), or name the file "
                   "with TS_CUPTI=PATH",
                   *path ? path : "libcupti.so.13, .12 or libcupti.so");
        return false;
    }
    missing = find_functions(out, handle);
    if (missing) {
        tsm_format(reason, CUPTI_REASON_SIZE,
                   "libcupti has no %s: name that of CUDA 12 or 13 with TS_CUPTI=PATH", missing);
        return false;
    }
    result = out->GetVersion(&out->version);
    if (result != TSM_CUPTI_DONE) {
        cupti_library_reason(out, "cuptiGetVersion", result, reason);
        return false;
    }
    if (!is_known(out->version))
        tsm_format(reason, CUPTI_REASON_SIZE,
                   "version %u of libcupti is not known: name that of CUDA 12 or 13 with "
                   "TS_CUPTI=PATH",
                   out->version);
    return is_known(out->version);
}

void cupti_library_reason(const struct cupti_library *library, const char *function, int result,
                          char reason[CUPTI_REASON_SIZE])
{
    const char *text = NULL;

    if (result == TSM_CUPTI_OTHER_SUBSCRIBER)
        tsm_format(reason, CUPTI_REASON_SIZE,
                   "another tool uses CUPTI, which serves one at a time; end that one, or record "
                   "with --gpu-time=events");
    else if (library->GetResultString(result, &text) == TSM_CUPTI_DONE && text)
        tsm_format(reason, CUPTI_REASON_SIZE, "%s: %s (%d); record with --gpu-time=events",
                   function, text, result);
    else
        tsm_format(reason, CUPTI_REASON_SIZE, "%s: error %d; record with --gpu-time=events",
                   function, result);
}
