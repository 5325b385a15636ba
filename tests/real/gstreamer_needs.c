/* SPDX-License-Identifier: Apache-2.0
 *
 * Needs of GStreamer's plugin for CUDA beside a driver, in one library: NVIDIA's video decoder,
 * which need not decode anything here, and an NVRTC that knows sm_52, the GPU that the plugin
 * compiles for. Newer ones do not: they are asked for sm_75 in its place.
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#define NOT_SUPPORTED 801
#define DECODER(name)                                                                              \
    int name(void)                                                                                 \
    {                                                                                              \
        return NOT_SUPPORTED;                                                                      \
    }
DECODER(cuvidCtxLockCreate)
DECODER(cuvidCtxLockDestroy)
DECODER(cuvidCtxLock)
DECODER(cuvidCtxUnlock)
DECODER(cuvidCreateDecoder)
DECODER(cuvidDestroyDecoder)
DECODER(cuvidDecodePicture)
DECODER(cuvidCreateVideoParser)
DECODER(cuvidParseVideoData)
DECODER(cuvidDestroyVideoParser)
DECODER(cuvidMapVideoFrame64)
DECODER(cuvidUnmapVideoFrame64)
DECODER(cuvidMapVideoFrame)
DECODER(cuvidUnmapVideoFrame)
DECODER(cuvidGetDecoderCaps)

static void *nvrtc(const char *name)
{
    void *library = dlopen("libnvrtc.so", RTLD_NOW);
    void *function = library ? dlsym(library, name) : NULL;

    if (!function)
        abort();
    return function;
}

int nvrtcCompileProgram(void *program, int count, const char **options)
{
    int (*compile)(void *, int, const char **) = nvrtc("nvrtcCompileProgram");
    const char *changed[16];

    for (int i = 0; i < count && i < 16; i++)
        changed[i] = strstr(options[i], "gpu-architecture") ? "-arch=compute_75" : options[i];
    return compile(program, count, changed);
}

int nvrtcCreateProgram(void **program, const char *source, const char *name, int count,
                       const char **headers, const char **names)
{
    int (*create)(void **, const char *, const char *, int, const char **, const char **) =
        nvrtc("nvrtcCreateProgram");

    return create(program, source, name, count, headers, names);
}

#define FORWARD(name)                                                                              \
    int name(void *program, void *out)                                                             \
    {                                                                                              \
        int (*function)(void *, void *) = nvrtc(#name);                                            \
        return function(program, out);                                                             \
    }
FORWARD(nvrtcDestroyProgram)
FORWARD(nvrtcGetPTX)
FORWARD(nvrtcGetPTXSize)
FORWARD(nvrtcGetProgramLog)
FORWARD(nvrtcGetProgramLogSize)
