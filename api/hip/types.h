/* SPDX-License-Identifier: Apache-2.0
 *
 * HIP's C types, as far as calls pass them by value; the same in all versions since 4.2. Its own headers
 * are not needed.
 */
#ifndef API_HIP_TYPES_H
#define API_HIP_TYPES_H

#include <stddef.h>
#include <stdint.h>

typedef unsigned int hipError_t;
typedef int hiprtcResult;
typedef void **hip_modules_t;
typedef unsigned int hipMemcpyKind;
typedef void *hipDeviceptr_t;

/* Objects: only their values are recorded. */
typedef void *hipStream_t;
typedef void *hipEvent_t;
typedef void *hipGraph_t;
typedef void *hipGraphExec_t;
typedef void *hipGraphNode_t;
typedef void *hipModule_t;
typedef void *hipFunction_t;
typedef void *hipArray_t;
typedef void *hipMipmappedArray_t;
typedef void *hipCtx_t;
typedef void *hipMemPool_t;
typedef void *hipUserObject_t;
typedef void *hipExternalMemory_t;
typedef void *hipExternalSemaphore_t;
typedef void *hipGraphicsResource_t;
typedef void *hipTextureObject_t;
typedef void *hipSurfaceObject_t;
typedef void *hipMemGenericAllocationHandle_t;
typedef void *hiprtcProgram;
typedef void *hiprtcLinkState;

/* Structs by value: how they are passed depends on their size and members (x86-64 psABI). */
typedef struct dim3 {
    uint32_t x, y, z;
} dim3;

typedef struct hipExtent {
    size_t width, height, depth;
} hipExtent;

typedef struct hipPitchedPtr {
    void *ptr;
    size_t pitch, xsize, ysize;
} hipPitchedPtr;

typedef struct hipMemLocation {
    int type, id;
} hipMemLocation;

typedef struct hipIpcMemHandle_t {
    char reserved[64];
} hipIpcMemHandle_t;

typedef struct hipIpcEventHandle_t {
    char reserved[64];
} hipIpcEventHandle_t;

#endif
