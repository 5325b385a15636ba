/* SPDX-License-Identifier: Apache-2.0 */
#include "emu/cudart/image.h"

#include <string.h>

#include "base/bytes.h"
#include "emu/cudart/cudart.h"

#define VERSION_LINKED 2

/* One line: the driver's log without its ends of lines. */
static void join_lines(char *log)
{
    size_t size = strlen(log);

    while (size && log[size - 1] == '\n')
        log[--size] = 0;
    for (size_t i = 0; i < size; i++)
        if (log[i] == '\n')
            log[i] = ' ';
}

/* A part of linked code without PTX is as a rule the device runtime, of which NVIDIA gives out
 * machine code alone. */
static void explain(CUresult result, char *log, bool is_linked)
{
    int major = 0, minor = 0;

    join_lines(log);
    if (!*log)
        return;
    if (result != CUDA_ERROR_NO_BINARY_FOR_GPU ||
        cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR,
                             cudart_device()) ||
        cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR,
                             cudart_device())) {
        cudart_warn("device code of the program cannot be loaded: %s", log);
        return;
    }
    cudart_warn("device code of the program cannot be loaded: %s. Build it with PTX "
                "(nvcc -gencode arch=compute_%d%d,code=compute_%d%d), or set TS_EMU_CC to the "
                "compute capability that it was built for%s",
                log, major, minor, major, minor,
                is_linked ? "; kernels that launch kernels are not supported" : "");
}

/* Options of the driver that have it write a log of errors; none: it writes none. */
struct options {
    unsigned count;
    CUjit_option names[2];
    void *values[2];
};

/* Bytes of a fat binary: its header says how long header and body are. */
static size_t fatbin_size(const void *fatbin)
{
    return tsm_get_u16((const uint8_t *)fatbin + 6) + tsm_get_u64((const uint8_t *)fatbin + 8);
}

/* nvlink has put machine code together; the PTX is still apart. */
static CUresult link_and_load(CUlibrary *out, const void **parts, struct options *options)
{
    void *image;
    size_t size;
    CUlinkState state;
    CUresult result = cuLinkCreate_v2(options->count, options->names, options->values, &state);

    if (result)
        return result;
    for (size_t i = 0; !result && parts[i]; i++)
        result = cuLinkAddData_v2(state, CU_JIT_INPUT_FATBINARY, (void *)(uintptr_t)parts[i],
                                  fatbin_size(parts[i]), "part of the program", 0, NULL, NULL);
    if (!result)
        result = cuLinkComplete(state, &image, &size);
    if (!result)
        result = cuLibraryLoadData(out, image, options->names, options->values, options->count,
                                   NULL, NULL, 0);
    cuLinkDestroy(state);
    return result;
}

static CUresult load(CUlibrary *out, const struct cudart_wrapper *wrapper, bool is_linked,
                     struct options *options)
{
    if (is_linked)
        return link_and_load(out, wrapper->linked, options);
    return cuLibraryLoadData(out, wrapper->fatbin, options->names, options->values, options->count,
                             NULL, NULL, 0);
}

/* Loads once more for the log of errors: its address would be in every recording. */
CUresult cudart_image_load(CUlibrary *out, const struct cudart_wrapper *wrapper)
{
    const bool is_linked =
        wrapper->version == VERSION_LINKED && wrapper->linked && wrapper->linked[0];
    char log[512] = "";
    struct options without = {0};
    struct options with = {2,
                           {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES},
                           {log, (void *)sizeof(log)}};
    CUresult result = load(out, wrapper, is_linked, &without);

    if (!result)
        return CUDA_SUCCESS;
    result = load(out, wrapper, is_linked, &with);
    if (result)
        explain(result, log, is_linked);
    return result;
}
