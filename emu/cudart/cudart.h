/* SPDX-License-Identifier: Apache-2.0
 *
 * Declares what the files of the runtime library share: the calling thread's context and last
 * error, and names of the program that stand for kernels and variables.
 *
 * An entry point calls cudart_enter(), then the driver API, and returns cudart_result() of that.
 * Out-parameters are untouched on failure. Everything may be called by any thread; no lock is held
 * while the driver runs, but for the loading of an image.
 */
#ifndef EMU_CUDART_CUDART_H
#define EMU_CUDART_CUDART_H

#include <stdbool.h>

#include "emu/cudart/abi.h"

/* ---- errors (error.c)
 * ---------------------------------------------------------------------------- */

/* Makes a runtime error of a driver's, keeps it as the thread's last one unless it is 0, returns
 * it. */
cudaError_t cudart_result(CUresult result);

/* Keeps an error that the driver knows nothing of, and returns it. */
cudaError_t cudart_fail(cudaError_t error);

/* Returns the thread's last error, and leaves it. */
cudaError_t cudart_last(void);

/* Forgets the thread's last error, whatever it is. */
void cudart_forget(void);

/* Writes one line to stderr: "tracesmith emu: ...". */
void cudart_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* ---- contexts (context.c)
 * -------------------------------------------------------------------------- */

/* Initialises the driver. */
cudaError_t cudart_init(void);

/* Initialises the driver and, unless the thread has a context, makes the primary context of its
 * device current. */
cudaError_t cudart_enter(void);

/* Tests whether the process ends, and the driver with it. */
bool cudart_is_ending(void);

/* Returns the thread's device: that of its current context, else the one that it has chosen. */
int cudart_device(void);

/* Finds a device's primary context, which exists from then on. */
cudaError_t cudart_primary(CUcontext *out, int device);

/* Runs one call of the driver in the thread's context. */
#define CUDART_DRIVER(call) (cudart_enter() ? cudart_last() : cudart_result(call))

/* A pointer of the program as the driver takes it. */
#define ADDRESS(pointer) ((CUdeviceptr)(uintptr_t)(pointer))

/* ---- the program's names (module.c)
 * ------------------------------------------------------------------ */

/* Finds the kernel that `name` stands for: the address of its stub in the program, a cudaKernel_t
 * or a cudaFunction_t. Loads its image when that is needed. cudaErrorInvalidDeviceFunction: it is
 * none. */
cudaError_t cudart_kernel(CUkernel *out, const void *name);

/* The same, as a function of the current context. */
cudaError_t cudart_function(CUfunction *out, const void *name);

/* Returns the program's name of a function of the driver, and `function` itself if it has none. */
void *cudart_name_of(CUfunction function);

/* Finds a variable's address and size in bytes in the current context. cudaErrorInvalidSymbol: it
 * is none. */
cudaError_t cudart_variable(CUdeviceptr *address, size_t *size, const void *name);

/* Makes the driver's description of a launch; fields of attributes are the program's own. */
void cudart_config(CUlaunchConfig *out, const cudaLaunchConfig_t *config);

/* Returns why the latest image could not be loaded: cudaSuccess, all could. */
cudaError_t cudart_image_error(void);

/* ---- arrays (array.c)
 * --------------------------------------------------------------------------------- */

/* Says which driver format a channel description is. cudaErrorInvalidChannelDescriptor: none. */
cudaError_t cudart_format(CUarray_format *format, unsigned *channels,
                          const cudaChannelFormatDesc *desc);
cudaChannelFormatDesc cudart_channels(CUarray_format format, unsigned channels);

/* Says how large an element of an array is, in bytes (one block, for block-compressed formats), and
 * how many of them are in a row. */
cudaError_t cudart_array_row(size_t *element, size_t *columns, CUarray array);

/* ---- copies (box.c)
 * ---------------------------------------------------------------------------------- */

/* One side of a copy: an array, with x in elements, or linear memory, with x and the pitch in
 * bytes. */
struct cudart_side {
    CUarray array; /* NULL: linear memory */
    const void *pointer;
    size_t pitch, height; /* of linear memory; height in rows of one slice */
    size_t x, y, z;
};

/* Makes the driver's description of a copy. `extent`: width in elements if a side is an array, else
 * in bytes. */
cudaError_t cudart_box(CUDA_MEMCPY3D *out, const struct cudart_side *to,
                       const struct cudart_side *from, cudaExtent extent, cudaMemcpyKind kind);

/* The same of cudaMemcpy3D()'s parameters. */
cudaError_t cudart_box_of(CUDA_MEMCPY3D *out, const cudaMemcpy3DParms *p);

/* The way back, for parameters that the program asks for. */
cudaError_t cudart_parms_of(cudaMemcpy3DParms *out, const CUDA_MEMCPY3D *box);

/* Makes the driver's parameters of a kernel node (graph.c). Those of version 3 have the same
 * layout. */
cudaError_t cudart_kernel_node(CUDA_KERNEL_NODE_PARAMS *out, const cudaKernelNodeParams *p);

/* ---- calls with a default stream
 * ------------------------------------------------------------------------ */

/* Files that are compiled twice name such calls, of this library and of the driver, by these. With
 * CUDART_PER_THREAD they are the variants whose default stream is the thread's own. */
#ifdef CUDART_PER_THREAD
#define PTSZ(name) name##_ptsz
#define PTDS(name) name##_ptds
#else
#define PTSZ(name) name
#define PTDS(name) name
#endif

#endif
