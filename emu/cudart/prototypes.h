/* SPDX-License-Identifier: Apache-2.0
 *
 * The functions of the CUDA runtime API that this library exports: the calls of calls.inc, and
 * those that return something else. Included by abi.h alone.
 */
#ifndef EMU_CUDART_PROTOTYPES_H
#define EMU_CUDART_PROTOTYPES_H

#pragma GCC visibility push(default)

/* clang-format off */
#define CALL(name, parameters) cudaError_t name parameters;
#include "emu/cudart/calls.inc"
/* clang-format on */

const char *cudaGetErrorName(cudaError_t error);
const char *cudaGetErrorString(cudaError_t error);
cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w, cudaChannelFormatKind f);

/* ---- called by the code that nvcc makes for the host -------------------------------------------
 */

/* Announces an image of device code (a fat binary's wrapper). Returns its handle, which is never
 * NULL and stays valid until __cudaUnregisterFatBinary(). The image is loaded when something of it
 * is used first. */
void **__cudaRegisterFatBinary(void *fatCubin);
void __cudaRegisterFatBinaryEnd(void **fatCubinHandle);
void __cudaUnregisterFatBinary(void **fatCubinHandle);

/* `hostFun`, `hostVar`: addresses by which the program names the kernel, the variable. */
void __cudaRegisterFunction(void **fatCubinHandle, const char *hostFun, char *deviceFun,
                            const char *deviceName, int thread_limit, uint3 *tid, uint3 *bid,
                            dim3 *bDim, dim3 *gDim, int *wSize);
void __cudaRegisterVar(void **fatCubinHandle, char *hostVar, char *deviceAddress,
                       const char *deviceName, int ext, size_t size, int constant, int global);

/* *hostVarPtrAddress gets the variable's address, in __cudaInitModule(). */
void __cudaRegisterManagedVar(void **fatCubinHandle, void **hostVarPtrAddress, char *deviceAddress,
                              const char *deviceName, int ext, size_t size, int constant,
                              int global);
char __cudaInitModule(void **fatCubinHandle);

/* kernel<<<grid, block, shared, stream>>>: pushed by the caller, popped by the kernel's stub. A
 * result other than 0 of the push keeps the stub from being called. */
unsigned __cudaPushCallConfiguration(dim3 gridDim, dim3 blockDim, size_t sharedMem,
                                     struct CUstream_st *stream);
cudaError_t __cudaPopCallConfiguration(dim3 *gridDim, dim3 *blockDim, size_t *sharedMem,
                                       void *stream);
cudaError_t __cudaGetKernel(cudaKernel_t *kernel, const void *hostFun);
cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 gridDim, dim3 blockDim, void **args,
                               size_t sharedMem, cudaStream_t stream);
cudaError_t __cudaLaunchKernel_ptsz(cudaKernel_t kernel, dim3 gridDim, dim3 blockDim, void **args,
                                    size_t sharedMem, cudaStream_t stream);

#pragma GCC visibility pop

#endif
