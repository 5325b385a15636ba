/* SPDX-License-Identifier: Apache-2.0 */
#include "api/hip/source/source.h"

#include "api/hip/hip_calls.h"
#include "api/hip/hip_tables.inc"
#include "api/hip/hip_wrappers.h"
#include "base/log.h"
#include "interpose/real_library.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <string.h>

static _Atomic(void *) library;

/* ---- names of kernels --------------------------------------------------------------------------
 */

static const char *(*name_by_pointer)(const void *host_function, hipStream_t stream);
static const char *(*name_of_function)(hipFunction_t function);

const char *hip_kernel_name(const void *host_function)
{
    return host_function && name_by_pointer ? name_by_pointer(host_function, NULL) : NULL;
}

const char *hip_function_name(hipFunction_t function)
{
    return function && name_of_function ? name_of_function(function) : NULL;
}

uint64_t hip_text_size(const char *text)
{
    return text ? strlen(text) : 0;
}

/* ---- */

/* Newer versions have the runtime compiler in a library of its own. A program that has loaded that
 * means it, also where libamdhip64 has the names. */
static bool bind_rtc(void)
{
    void *handle = tsm_real_library_loaded(tsm_source_index(&hiprtc_source))
                       ? tsm_real_library(tsm_source_index(&hiprtc_source), NULL)
                       : NULL;

    if (handle)
        tsm_exports_bind(&hiprtc_exports, handle);
    return handle != NULL;
}

static void bind_library(void *handle)
{
    name_by_pointer = (const char *(*)(const void *, hipStream_t))tsm_real_symbol(
        handle, "hipKernelNameRefByPtr");
    name_of_function = (const char *(*)(hipFunction_t))tsm_real_symbol(handle, "hipKernelNameRef");
    tsm_exports_bind(&hip_exports, handle);
    bind_rtc();
    atomic_store(&library, handle);
}

/* Nobody calls HIP but who has opened it, in whatever version: none is opened here. */
bool hip_bind(void)
{
    void *handle = tsm_real_library_loaded(tsm_source_index(&hip_source))
                       ? tsm_real_library(tsm_source_index(&hip_source), NULL)
                       : NULL;

    if (handle && !atomic_load(&library))
        bind_library(handle); /* another thread has opened it and is binding */
    return handle != NULL;
}

bool hip_bind_rtc(void)
{
    bool hip = hip_bind();

    return bind_rtc() || hip;
}

/* Unknown names are no loss: the trace has the packets. */
static bool owns_name(const char *name)
{
    return false;
}

/* The dispatch table; it begins with its size. That of the compiler ("hip_compiler") has what
 * kernels' launches and registration are made of: no calls of the program's. */
static bool take_tables(const char *name, void **tables, uint64_t count)
{
    uint64_t size, there;

    if (strcmp(name, "hip") != 0)
        return strcmp(name, "hip_compiler") == 0;
    for (uint64_t i = 0; i < count; i++) {
        memcpy(&size, tables[i], sizeof(size));
        there = size > sizeof(size) ? (size - sizeof(size)) / sizeof(void *) : 0;
        tsm_log(TSM_LOG_INFO, "%zu of %zu functions in HIP's table",
                tsm_table_take(&hip_exports, &table_hip, (void **)tables[i] + 1, there),
                (size_t)there);
    }
    return true;
}

static void bind_rtc_library(void *handle)
{
    tsm_exports_bind(&hiprtc_exports, handle);
}

static const char *const sonames[] = {"libamdhip64.so", NULL};
static const char *const rtc_sonames[] = {"libhiprtc.so", NULL};

const struct tsm_source hip_source = {
    .description = &hip_description,
    .sonames = sonames,
    .exports = &hip_exports,
    .owns_name = owns_name,
    .bind = bind_library,
    .tables = take_tables,
};

const struct tsm_api_description hip_described = {.api = SBT_API_HIP, .name = "hip"};

const struct tsm_source hiprtc_source = {
    .description = &hip_described,
    .sonames = rtc_sonames,
    .exports = &hiprtc_exports,
    .owns_name = owns_name,
    .bind = bind_rtc_library,
};
