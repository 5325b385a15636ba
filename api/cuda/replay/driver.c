/* SPDX-License-Identifier: Apache-2.0
 *
 * Finding a driver. It is opened, never linked: a replayer without any CUDA must still read traces.
 */
#include "api/cuda/replay/state.h"

#include <dlfcn.h>
#include <limits.h>
#include <string.h>

#include "base/log.h"
#include "base/text.h"
#include "replay/find_emu.h"

/* However it was found: by name, by path, or in place of the real one. */
static bool is_software_gpu(const struct cuda_real *driver)
{
    static const char ours[] = "TraceSmith software GPU";
    char name[64] = "";

    return driver->cuDeviceGetName(name, sizeof(name), 0) == CUDA_SUCCESS &&
           !strncmp(name, ours, sizeof(ours) - 1);
}

/* Names the setting of the software GPU that can be the reason for an error. */
static const char *hint_for(const struct cuda_real *driver, CUresult result)
{
    if (!is_software_gpu(driver))
        return "";
    switch (result) {
    case CUDA_ERROR_OUT_OF_MEMORY:
        return "; TS_EMU_MEMORY sets how much the software GPU has";
    case CUDA_ERROR_NO_BINARY_FOR_GPU:
    case CUDA_ERROR_INVALID_PTX:
        return "; TS_EMU_CC sets the compute capability of the software GPU";
    case CUDA_ERROR_INVALID_DEVICE:
        return "; TS_EMU_DEVICES sets how many the software GPU has";
    default:
        return "";
    }
}

int cuda_fail(const struct cuda_real *driver, const char *call, CUresult result)
{
    const char *name = NULL;

    if (driver->cuGetErrorName(result, &name) != CUDA_SUCCESS || !name)
        name = "unknown error";
    return tsm_fail(TSM_E_DEVICE, "%s: %s (%d)%s", call, name, (int)result,
                    hint_for(driver, result));
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

static int open_and_init(struct cuda_library *out, const char *path,
                         const struct sbt_reader *reader)
{
    int error = open_library(out, path);

    if (!error)
        cuda_emu_setup(out->handle, reader);
    if (!error)
        error = init_library(out);
    if (error)
        cuda_library_close(out);
    return error;
}

static int open_emu(struct cuda_library *out, const struct sbt_reader *reader)
{
    char path[2 * PATH_MAX];

    tsm_find_emu(path, sizeof(path), "libcuda.so.1", "TS_EMU_LIBRARY");
    return open_and_init(out, path, reader);
}

int cuda_library_open(struct cuda_library *out, const struct sbt_reader *reader,
                      const struct tsm_replay_options *options)
{
    char why[256];
    int error;

    if (options->library)
        return open_and_init(out, options->library, reader);
    if (options->device && !strcmp(options->device, "emu"))
        return open_emu(out, reader);
    error = open_and_init(out, "libcuda.so.1", reader);
    if (!error || options->device)
        return error;
    tsm_format(why, sizeof(why), "%s", tsm_error_message());
    tsm_log(TSM_LOG_INFO, "no GPU (%s): using the software GPU", why);
    if (open_emu(out, reader) == 0)
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
