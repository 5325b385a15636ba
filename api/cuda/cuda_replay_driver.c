/* SPDX-License-Identifier: Apache-2.0
 *
 * Finding a driver. It is opened, never linked: a replayer without any CUDA must still read traces.
 */
#include "api/cuda/cuda_replay_state.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/text.h"

#ifndef TSM_LIBDIR
#define TSM_LIBDIR        "/usr/local/lib"
#define TSM_WAY_TO_LIBDIR "../lib"
#endif

int cuda_fail(const struct cuda_real *driver, const char *call, CUresult result)
{
    const char *name = NULL;

    if (driver->cuGetErrorName(result, &name) != CUDA_SUCCESS || !name)
        name = "unknown error";
    return tsm_fail(TSM_E_DEVICE, "%s: %s (%d)", call, name, (int)result);
}

static void *find_symbol(void *library, const char *name)
{
    return dlsym(library, name);
}

static int open_library(struct cuda_library *out, const char *path)
{
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);

    if (!handle)
        return tsm_fail(TSM_E_NOT_FOUND, "%s", dlerror());
    if (!dlsym(handle, "cuInit")) {
        dlclose(handle);
        return tsm_fail(TSM_E_NOT_FOUND, "%s is no CUDA driver", path);
    }
    out->handle = handle;
    tsm_format(out->path, sizeof(out->path), "%s", path);
    cuda_real_load(&out->calls, find_symbol, handle);
    return 0;
}

/* However it was found: by name, by path, or in place of the real one. */
static bool is_software_gpu(const struct cuda_real *driver)
{
    static const char ours[] = "TraceSmith software GPU";
    char name[64] = "";

    return driver->cuDeviceGetName(name, sizeof(name), 0) == CUDA_SUCCESS &&
           !strncmp(name, ours, sizeof(ours) - 1);
}

static int init_library(struct cuda_library *library)
{
    CUresult result = library->calls.cuInit(0);
    int count = 0;

    if (result == CUDA_SUCCESS)
        result = library->calls.cuDeviceGetCount(&count);
    if (result != CUDA_SUCCESS)
        return cuda_fail(&library->calls, "cuInit", result);
    if (!count)
        return tsm_fail(TSM_E_DEVICE, "%s: there is no CUDA device", library->path);
    library->is_emu = is_software_gpu(&library->calls);
    return 0;
}

static int open_and_init(struct cuda_library *out, const char *path)
{
    int error = open_library(out, path);

    if (!error)
        error = init_library(out);
    if (error)
        cuda_library_close(out);
    return error;
}

/* Where the software GPU may be, seen from the folder of the program, or of the library that this
 * code is in: in a build folder, where it was installed, wherever that was moved to. */
static const char *const emu_places[] = {
    "../emu/libcuda.so.1",
    "tracesmith/emu/libcuda.so.1",
    TSM_WAY_TO_LIBDIR "/tracesmith/emu/libcuda.so.1",
};

static bool emu_near(char *out, size_t size, const char *file)
{
    char folder[PATH_MAX];

    if (!file || !realpath(file, folder))
        return false;
    *strrchr(folder, '/') = '\0';
    for (size_t i = 0; i < sizeof(emu_places) / sizeof(emu_places[0]); i++) {
        tsm_format(out, size, "%s/%s", folder, emu_places[i]);
        if (access(out, R_OK) == 0)
            return true;
    }
    return false;
}

static int open_emu(struct cuda_library *out)
{
    const char *path = getenv("TS_EMU_LIBRARY");
    char near[2 * PATH_MAX];
    Dl_info own;

    if (path)
        return open_and_init(out, path);
    if (emu_near(near, sizeof(near), "/proc/self/exe") ||
        (dladdr(emu_places, &own) && emu_near(near, sizeof(near), own.dli_fname)))
        return open_and_init(out, near);
    return open_and_init(out, TSM_LIBDIR "/tracesmith/emu/libcuda.so.1");
}

int cuda_library_open(struct cuda_library *out, const struct tsm_replay_options *options)
{
    char why[256];
    int error;

    if (options->library)
        return open_and_init(out, options->library);
    if (options->device && !strcmp(options->device, "emu"))
        return open_emu(out);
    error = open_and_init(out, "libcuda.so.1");
    if (!error || options->device)
        return error;
    tsm_format(why, sizeof(why), "%s", tsm_error_message());
    tsm_log(TSM_LOG_INFO, "no GPU (%s): using the software GPU", why);
    if (open_emu(out) == 0)
        return 0;
    return tsm_fail(error,
                    "no CUDA driver or device (%s), and no software GPU (%s): install TraceSmith "
                    "whole, or say where it is by TS_EMU_LIBRARY",
                    why, tsm_error_message());
}

void cuda_library_close(struct cuda_library *library)
{
    if (library->handle)
        dlclose(library->handle);
    memset(library, 0, sizeof(*library));
}
