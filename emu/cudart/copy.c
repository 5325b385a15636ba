/* SPDX-License-Identifier: Apache-2.0
 *
 * Copies of bytes, rows and boxes. Compiled twice: see PTSZ() in cudart.h.
 *
 * Copies inside the host, and those whose addresses say where they lie, are copies in the unified
 * address space.
 */
#include "emu/cudart/cudart.h"

static CUresult copy(void *to, const void *from, size_t size, cudaMemcpyKind kind)
{
    switch (kind) {
    case cudaMemcpyHostToDevice:
        return PTDS(cuMemcpyHtoD_v2)(ADDRESS(to), from, size);
    case cudaMemcpyDeviceToHost:
        return PTDS(cuMemcpyDtoH_v2)(to, ADDRESS(from), size);
    case cudaMemcpyDeviceToDevice:
        return PTDS(cuMemcpyDtoD_v2)(ADDRESS(to), ADDRESS(from), size);
    case cudaMemcpyHostToHost:
    case cudaMemcpyDefault:
        return PTDS(cuMemcpy)(ADDRESS(to), ADDRESS(from), size);
    }
    return (CUresult)cudaErrorInvalidMemcpyDirection;
}

static CUresult copy_async(void *to, const void *from, size_t size, cudaMemcpyKind kind,
                           cudaStream_t stream)
{
    switch (kind) {
    case cudaMemcpyHostToDevice:
        return PTSZ(cuMemcpyHtoDAsync_v2)(ADDRESS(to), from, size, stream);
    case cudaMemcpyDeviceToHost:
        return PTSZ(cuMemcpyDtoHAsync_v2)(to, ADDRESS(from), size, stream);
    case cudaMemcpyDeviceToDevice:
        return PTSZ(cuMemcpyDtoDAsync_v2)(ADDRESS(to), ADDRESS(from), size, stream);
    case cudaMemcpyHostToHost:
    case cudaMemcpyDefault:
        return PTSZ(cuMemcpyAsync)(ADDRESS(to), ADDRESS(from), size, stream);
    }
    return (CUresult)cudaErrorInvalidMemcpyDirection;
}

cudaError_t PTDS(cudaMemcpy)(void *dst, const void *src, size_t count, cudaMemcpyKind kind)
{
    return count ? CUDART_DRIVER(copy(dst, src, count, kind)) : cudart_enter();
}

cudaError_t PTSZ(cudaMemcpyAsync)(void *dst, const void *src, size_t count, cudaMemcpyKind kind,
                                  cudaStream_t stream)
{
    return count ? CUDART_DRIVER(copy_async(dst, src, count, kind, stream)) : cudart_enter();
}

/* ---- variables ---- */

/* The place in the variable, if there is room for `size` bytes. */
static cudaError_t place_in(void **out, const void *symbol, size_t size, size_t offset)
{
    CUdeviceptr address;
    size_t room;

    if (cudart_enter() || cudart_variable(&address, &room, symbol))
        return cudart_last();
    if (offset > room || size > room - offset)
        return cudart_fail(cudaErrorInvalidValue);
    *out = (void *)(uintptr_t)(address + offset);
    return cudaSuccess;
}

cudaError_t PTDS(cudaMemcpyToSymbol)(const void *symbol, const void *src, size_t count,
                                     size_t offset, cudaMemcpyKind kind)
{
    void *place = NULL;

    if (kind == cudaMemcpyHostToHost || kind == cudaMemcpyDeviceToHost)
        return cudart_fail(cudaErrorInvalidMemcpyDirection);
    return place_in(&place, symbol, count, offset) ? cudart_last()
                                                   : PTDS(cudaMemcpy)(place, src, count, kind);
}

cudaError_t PTSZ(cudaMemcpyToSymbolAsync)(const void *symbol, const void *src, size_t count,
                                          size_t offset, cudaMemcpyKind kind, cudaStream_t stream)
{
    void *place = NULL;

    if (kind == cudaMemcpyHostToHost || kind == cudaMemcpyDeviceToHost)
        return cudart_fail(cudaErrorInvalidMemcpyDirection);
    return place_in(&place, symbol, count, offset)
               ? cudart_last()
               : PTSZ(cudaMemcpyAsync)(place, src, count, kind, stream);
}

cudaError_t PTDS(cudaMemcpyFromSymbol)(void *dst, const void *symbol, size_t count, size_t offset,
                                       cudaMemcpyKind kind)
{
    void *place = NULL;

    if (kind == cudaMemcpyHostToHost || kind == cudaMemcpyHostToDevice)
        return cudart_fail(cudaErrorInvalidMemcpyDirection);
    return place_in(&place, symbol, count, offset) ? cudart_last()
                                                   : PTDS(cudaMemcpy)(dst, place, count, kind);
}

cudaError_t PTSZ(cudaMemcpyFromSymbolAsync)(void *dst, const void *symbol, size_t count,
                                            size_t offset, cudaMemcpyKind kind, cudaStream_t stream)
{
    void *place = NULL;

    if (kind == cudaMemcpyHostToHost || kind == cudaMemcpyHostToDevice)
        return cudart_fail(cudaErrorInvalidMemcpyDirection);
    return place_in(&place, symbol, count, offset)
               ? cudart_last()
               : PTSZ(cudaMemcpyAsync)(dst, place, count, kind, stream);
}

/* ---- boxes ---- */

static cudaError_t send(const CUDA_MEMCPY3D *box, bool is_async, cudaStream_t stream)
{
    if (!box->WidthInBytes || !box->Height || !box->Depth)
        return cudaSuccess;
    return cudart_result(is_async ? PTSZ(cuMemcpy3DAsync_v2)(box, stream)
                                  : PTDS(cuMemcpy3D_v2)(box));
}

static cudaError_t copy_rows(struct cudart_side to, struct cudart_side from, size_t width,
                             size_t height, cudaMemcpyKind kind, bool is_async, cudaStream_t stream)
{
    CUDA_MEMCPY3D box;
    cudaExtent extent = {width, height, 1};
    size_t element = 1, columns;

    if (cudart_enter())
        return cudart_last();
    /* Calls in two dimensions count bytes, of arrays as well. */
    if ((to.array || from.array) &&
        cudart_array_row(&element, &columns, to.array ? to.array : from.array))
        return cudart_last();
    if (height && ((!to.array && width > to.pitch) || (!from.array && width > from.pitch)))
        return cudart_fail(cudaErrorInvalidPitchValue);
    if (width % element || (to.array && to.x % element) || (from.array && from.x % element))
        return cudart_fail(cudaErrorInvalidValue);
    extent.width /= element;
    if (to.array)
        to.x /= element;
    if (from.array)
        from.x /= element;
    return cudart_box(&box, &to, &from, extent, kind) ? cudart_last()
                                                      : send(&box, is_async, stream);
}

static struct cudart_side linear(const void *pointer, size_t pitch)
{
    return (struct cudart_side){.pointer = pointer, .pitch = pitch};
}

static struct cudart_side in_array(CUarray array, size_t x, size_t y)
{
    return (struct cudart_side){.array = array, .x = x, .y = y};
}

cudaError_t PTDS(cudaMemcpy2D)(void *dst, size_t dpitch, const void *src, size_t spitch,
                               size_t width, size_t height, cudaMemcpyKind kind)
{
    return copy_rows(linear(dst, dpitch), linear(src, spitch), width, height, kind, false, NULL);
}

cudaError_t PTSZ(cudaMemcpy2DAsync)(void *dst, size_t dpitch, const void *src, size_t spitch,
                                    size_t width, size_t height, cudaMemcpyKind kind,
                                    cudaStream_t stream)
{
    return copy_rows(linear(dst, dpitch), linear(src, spitch), width, height, kind, true, stream);
}

cudaError_t PTDS(cudaMemcpy2DToArray)(cudaArray_t dst, size_t wOffset, size_t hOffset,
                                      const void *src, size_t spitch, size_t width, size_t height,
                                      cudaMemcpyKind kind)
{
    return copy_rows(in_array(dst, wOffset, hOffset), linear(src, spitch), width, height, kind,
                     false, NULL);
}

cudaError_t PTSZ(cudaMemcpy2DToArrayAsync)(cudaArray_t dst, size_t wOffset, size_t hOffset,
                                           const void *src, size_t spitch, size_t width,
                                           size_t height, cudaMemcpyKind kind, cudaStream_t stream)
{
    return copy_rows(in_array(dst, wOffset, hOffset), linear(src, spitch), width, height, kind,
                     true, stream);
}

cudaError_t PTDS(cudaMemcpy2DFromArray)(void *dst, size_t dpitch, cudaArray_const_t src,
                                        size_t wOffset, size_t hOffset, size_t width, size_t height,
                                        cudaMemcpyKind kind)
{
    return copy_rows(linear(dst, dpitch), in_array(src, wOffset, hOffset), width, height, kind,
                     false, NULL);
}

cudaError_t PTSZ(cudaMemcpy2DFromArrayAsync)(void *dst, size_t dpitch, cudaArray_const_t src,
                                             size_t wOffset, size_t hOffset, size_t width,
                                             size_t height, cudaMemcpyKind kind,
                                             cudaStream_t stream)
{
    return copy_rows(linear(dst, dpitch), in_array(src, wOffset, hOffset), width, height, kind,
                     true, stream);
}

cudaError_t PTDS(cudaMemcpy2DArrayToArray)(cudaArray_t dst, size_t wOffsetDst, size_t hOffsetDst,
                                           cudaArray_const_t src, size_t wOffsetSrc,
                                           size_t hOffsetSrc, size_t width, size_t height,
                                           cudaMemcpyKind kind)
{
    return copy_rows(in_array(dst, wOffsetDst, hOffsetDst), in_array(src, wOffsetSrc, hOffsetSrc),
                     width, height, kind, false, NULL);
}

static cudaError_t copy_box(const cudaMemcpy3DParms *p, bool is_async, cudaStream_t stream)
{
    CUDA_MEMCPY3D box;

    if (cudart_enter() || cudart_box_of(&box, p))
        return cudart_last();
    return send(&box, is_async, stream);
}

cudaError_t PTDS(cudaMemcpy3D)(const cudaMemcpy3DParms *p)
{
    return copy_box(p, false, NULL);
}

cudaError_t PTSZ(cudaMemcpy3DAsync)(const cudaMemcpy3DParms *p, cudaStream_t stream)
{
    return copy_box(p, true, stream);
}

/* Devices share one address space: where a side lies says its address. */
static cudaError_t copy_peers(const cudaMemcpy3DPeerParms *p, bool is_async, cudaStream_t stream)
{
    cudaMemcpy3DParms same;

    if (!p)
        return cudart_fail(cudaErrorInvalidValue);
    same = (cudaMemcpy3DParms){p->srcArray, p->srcPos, p->srcPtr, p->dstArray,
                               p->dstPos,   p->dstPtr, p->extent, cudaMemcpyDefault};
    return copy_box(&same, is_async, stream);
}

cudaError_t PTDS(cudaMemcpy3DPeer)(const cudaMemcpy3DPeerParms *p)
{
    return copy_peers(p, false, NULL);
}

cudaError_t PTSZ(cudaMemcpy3DPeerAsync)(const cudaMemcpy3DPeerParms *p, cudaStream_t stream)
{
    return copy_peers(p, true, stream);
}

/* ---- a run of bytes that goes on in the array's next row ---- */

/* Copies up to the end of a row, then whole rows, then the rest. */
static cudaError_t copy_run(CUarray array, size_t x, size_t y, const void *memory, size_t size,
                            bool to_array, cudaMemcpyKind kind, bool is_async, cudaStream_t stream)
{
    size_t element, columns, row;

    if (cudart_enter() || cudart_array_row(&element, &columns, array))
        return cudart_last();
    row = element * columns;
    if (x >= row)
        return size ? cudart_fail(cudaErrorInvalidValue) : cudaSuccess;
    while (size) {
        size_t width = size < row - x ? size : row - x;
        size_t height = width == row ? size / row : 1;
        struct cudart_side there = in_array(array, x, y), here = linear(memory, width);
        if (copy_rows(to_array ? there : here, to_array ? here : there, width, height, kind,
                      is_async, stream))
            return cudart_last();
        memory = (const char *)memory + width * height;
        size -= width * height;
        y += height;
        x = 0;
    }
    return cudaSuccess;
}

cudaError_t PTDS(cudaMemcpyToArray)(cudaArray_t dst, size_t wOffset, size_t hOffset,
                                    const void *src, size_t count, cudaMemcpyKind kind)
{
    return copy_run(dst, wOffset, hOffset, src, count, true, kind, false, NULL);
}

cudaError_t PTSZ(cudaMemcpyToArrayAsync)(cudaArray_t dst, size_t wOffset, size_t hOffset,
                                         const void *src, size_t count, cudaMemcpyKind kind,
                                         cudaStream_t stream)
{
    return copy_run(dst, wOffset, hOffset, src, count, true, kind, true, stream);
}

cudaError_t PTDS(cudaMemcpyFromArray)(void *dst, cudaArray_const_t src, size_t wOffset,
                                      size_t hOffset, size_t count, cudaMemcpyKind kind)
{
    return copy_run(src, wOffset, hOffset, dst, count, false, kind, false, NULL);
}

cudaError_t PTSZ(cudaMemcpyFromArrayAsync)(void *dst, cudaArray_const_t src, size_t wOffset,
                                           size_t hOffset, size_t count, cudaMemcpyKind kind,
                                           cudaStream_t stream)
{
    return copy_run(src, wOffset, hOffset, dst, count, false, kind, true, stream);
}

cudaError_t PTDS(cudaMemcpyArrayToArray)(cudaArray_t dst, size_t wOffsetDst, size_t hOffsetDst,
                                         cudaArray_const_t src, size_t wOffsetSrc,
                                         size_t hOffsetSrc, size_t count, cudaMemcpyKind kind)
{
    struct cudart_side to = in_array(dst, wOffsetDst, hOffsetDst);
    struct cudart_side from = in_array(src, wOffsetSrc, hOffsetSrc);
    size_t element, columns, to_row, from_row;

    if (cudart_enter() || cudart_array_row(&element, &columns, dst))
        return cudart_last();
    to_row = element * columns;
    if (cudart_array_row(&element, &columns, src))
        return cudart_last();
    from_row = element * columns;
    while (count) {
        size_t to_left = to_row - to.x, from_left = from_row - from.x;
        size_t width = to_left < from_left ? to_left : from_left;
        width = count < width ? count : width;
        if (to.x >= to_row || from.x >= from_row)
            return cudart_fail(cudaErrorInvalidValue);
        if (copy_rows(to, from, width, 1, kind, false, NULL))
            return cudart_last();
        to.y += to.x + width == to_row;
        to.x = (to.x + width) % to_row;
        from.y += from.x + width == from_row;
        from.x = (from.x + width) % from_row;
        count -= width;
    }
    return cudaSuccess;
}
