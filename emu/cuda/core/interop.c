/* SPDX-License-Identifier: Apache-2.0
 *
 * Exports for OpenGL, EGL and VDPAU. They are not in the driver API's own header, and there is
 * nothing here that they could work with, but some loaders refuse a driver that lacks one of them.
 * Arguments are not looked at, so one prototype serves all.
 */
#include "emu/cuda/core/emu.h"

#define INTEROP_CALLS(call)                                                                        \
    call(cuGLCtxCreate) call(cuGLCtxCreate_v2) call(cuGLGetDevices) call(cuGLGetDevices_v2)        \
    call(cuGLInit) call(cuGLMapBufferObject) call(cuGLMapBufferObject_v2)                          \
    call(cuGLMapBufferObject_v2_ptds) call(cuGLMapBufferObjectAsync)                               \
    call(cuGLMapBufferObjectAsync_v2) call(cuGLMapBufferObjectAsync_v2_ptsz)                       \
    call(cuGLRegisterBufferObject) call(cuGLSetBufferObjectMapFlags)                               \
    call(cuGLUnmapBufferObject) call(cuGLUnmapBufferObjectAsync)                                   \
    call(cuGLUnregisterBufferObject) call(cuGraphicsGLRegisterBuffer)                              \
    call(cuGraphicsGLRegisterImage) call(cuEGLStreamConsumerConnect)                               \
    call(cuEGLStreamConsumerConnectWithFlags) call(cuEGLStreamConsumerDisconnect)                  \
    call(cuEGLStreamConsumerAcquireFrame) call(cuEGLStreamConsumerReleaseFrame)                    \
    call(cuEGLStreamProducerConnect) call(cuEGLStreamProducerDisconnect)                           \
    call(cuEGLStreamProducerPresentFrame) call(cuEGLStreamProducerReturnFrame)                     \
    call(cuGraphicsEGLRegisterImage) call(cuGraphicsResourceGetMappedEglFrame)                     \
    call(cuEventCreateFromEGLSync) call(cuGraphicsVDPAURegisterOutputSurface)                      \
    call(cuGraphicsVDPAURegisterVideoSurface) call(cuVDPAUCtxCreate)                               \
    call(cuVDPAUCtxCreate_v2) call(cuVDPAUGetDevice)

#define DEFINE(name)                                                                               \
    __attribute__((visibility("default"))) CUresult name(void);                                    \
    CUresult name(void)                                                                            \
    {                                                                                              \
        CUresult result = emu_ready();                                                             \
        return result ? result : CUDA_ERROR_NOT_SUPPORTED;                                         \
    }

INTEROP_CALLS(DEFINE)
