/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory and copies: sizes of nothing, every kind and form of a copy, fills, variables, whose an
 * address is. A plain loop over bytes says what each should give.
 */
#include "tests/emu/cudart_test.h"

#define WIDTH  64u
#define HEIGHT 8u
#define DEPTH  3u
#define SIZE   (WIDTH * HEIGHT * DEPTH)

static uint8_t source[SIZE], target[SIZE];

static void fill_source(void)
{
    for (unsigned i = 0; i < SIZE; i++)
        source[i] = (uint8_t)(i * 7 + i / 251);
    memset(target, 0, SIZE);
}

static void nothing(void)
{
    void *p = &p;
    size_t pitch = 1;

    OK(cudaMalloc(&p, 0));
    CHECK(!p);
    p = &p;
    OK(cudaMallocHost(&p, 0));
    CHECK(!p);
    p = &p;
    OK(cudaMallocPitch(&p, &pitch, 0, 5));
    CHECK(!p && !pitch);
    OK(cudaFree(NULL));
    OK(cudaFreeHost(NULL));
    OK(cudaFreeArray(NULL));
    OK(cudaMemcpy(NULL, NULL, 0, cudaMemcpyHostToDevice));
    OK(cudaMemset(NULL, 0, 0));
    FAILS(cudaMalloc(NULL, 4), cudaErrorInvalidValue);
    FAILS(cudaMallocManaged(&p, 0, CU_MEM_ATTACH_GLOBAL), cudaErrorInvalidValue);
    FAILS(cudaMalloc(&p, (size_t)1 << 50), cudaErrorMemoryAllocation);
    FAILS(cudaHostAlloc(&p, 4, 0x100), cudaErrorInvalidValue);
    CHECK_EQ_INT(cudaGetLastError(), cudaErrorInvalidValue);
}

/* One copy to the device, one inside of it, one back, each of any kind that says so. */
static void kinds(void)
{
    static const cudaMemcpyKind to[] = {cudaMemcpyHostToDevice, cudaMemcpyDefault};
    static const cudaMemcpyKind in[] = {cudaMemcpyDeviceToDevice, cudaMemcpyDefault};
    static const cudaMemcpyKind back[] = {cudaMemcpyDeviceToHost, cudaMemcpyDefault};
    uint8_t *a, *b, *pinned;

    OK(cudaMalloc((void **)&a, SIZE));
    OK(cudaMalloc((void **)&b, SIZE));
    OK(cudaMallocHost((void **)&pinned, SIZE));
    for (unsigned i = 0; i < 8; i++) {
        memset(target, 0, SIZE);
        OK(cudaMemset(a, 0, SIZE));
        OK(cudaMemset(b, 0, SIZE));
        OK(cudaMemcpy(a, source, SIZE, to[i & 1]));
        OK(cudaMemcpy(b, a, SIZE, in[i >> 1 & 1]));
        OK(cudaMemcpy(target, b, SIZE, back[i >> 2 & 1]));
        CHECK_EQ_MEM(target, source, SIZE);
    }
    for (unsigned i = 0; i < 8; i++) {
        memset(pinned, 0, SIZE);
        OK(cudaMemcpyAsync(a, source, SIZE, to[i & 1], NULL));
        OK(cudaMemcpyAsync_ptsz(b, a, SIZE, in[i >> 1 & 1], cudaStreamLegacy));
        OK(cudaMemcpyAsync(pinned, b, SIZE, back[i >> 2 & 1], NULL));
        OK(cudaDeviceSynchronize());
        CHECK_EQ_MEM(pinned, source, SIZE);
    }
    memset(target, 0, SIZE);
    OK(cudaMemcpy(target, source, SIZE, cudaMemcpyHostToHost));
    CHECK_EQ_MEM(target, source, SIZE);
    OK(cudaMemcpy_ptds(target, a, SIZE, cudaMemcpyDeviceToHost));
    FAILS(cudaMemcpy(a, source, SIZE, (cudaMemcpyKind)5), cudaErrorInvalidMemcpyDirection);
    FAILS(cudaMemcpyAsync(a, source, SIZE, (cudaMemcpyKind)-1, NULL),
          cudaErrorInvalidMemcpyDirection);
    FAILS(cudaMemcpy(target, source, SIZE, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
    CHECK_EQ_INT(cudaGetLastError(), cudaErrorInvalidValue);
    OK(cudaFree(a));
    OK(cudaFree(b));
    OK(cudaFreeHost(pinned));
}

/* Rows of `width` bytes from one pitch to another. */
static void copy_rows(uint8_t *to, size_t to_pitch, const uint8_t *from, size_t from_pitch,
                      size_t width, size_t height)
{
    for (size_t y = 0; y < height; y++)
        memcpy(to + y * to_pitch, from + y * from_pitch, width);
}

static void rows(void)
{
    uint8_t *a, wanted[SIZE] = {0};
    size_t pitch;

    memset(target, 0, SIZE);
    OK(cudaMallocPitch((void **)&a, &pitch, 40, HEIGHT));
    CHECK(pitch >= 40);
    OK(cudaMemset2D(a, pitch, 0x5a, 40, HEIGHT));
    OK(cudaMemcpy2D(a + 3, pitch, source, WIDTH, 20, 5, cudaMemcpyHostToDevice));
    OK(cudaMemcpy2D(target, 50, a, pitch, 40, HEIGHT, cudaMemcpyDeviceToHost));
    for (unsigned y = 0; y < HEIGHT; y++)
        memset(wanted + y * 50, 0x5a, 40);
    copy_rows(wanted + 3, 50, source, WIDTH, 20, 5);
    CHECK_EQ_MEM(target, wanted, SIZE);
    memset(target, 0, SIZE);
    OK(cudaMemcpy2DAsync(target, 50, a, pitch, 40, HEIGHT, cudaMemcpyDefault, NULL));
    OK(cudaStreamSynchronize(NULL));
    CHECK_EQ_MEM(target, wanted, SIZE);
    FAILS(cudaMemcpy2D(a, 10, source, WIDTH, 20, 5, cudaMemcpyHostToDevice),
          cudaErrorInvalidPitchValue);
    FAILS(cudaMemcpy2D(a, 40, source, 19, 20, 1, cudaMemcpyHostToDevice),
          cudaErrorInvalidPitchValue);
    CHECK_EQ_INT(cudaGetLastError(), cudaErrorInvalidPitchValue);
    OK(cudaMemcpy2D(a, 10, source, WIDTH, 20, 0, cudaMemcpyHostToDevice));
    OK(cudaFree(a));
}

static void boxes(void)
{
    cudaPitchedPtr a = {0};
    cudaExtent extent = {WIDTH, HEIGHT, DEPTH}, small = {10, 3, 2};
    cudaMemcpy3DParms p = {
        .srcPtr = {source, WIDTH, WIDTH, HEIGHT}, .extent = extent, .kind = cudaMemcpyHostToDevice};
    uint8_t wanted[SIZE];

    memset(target, 0, SIZE);
    OK(cudaMalloc3D(&a, extent));
    CHECK(a.ptr && a.pitch >= WIDTH && a.xsize == WIDTH && a.ysize == HEIGHT);
    p.dstPtr = a;
    OK(cudaMemcpy3D(&p));
    OK(cudaMemset3D((cudaPitchedPtr){(char *)a.ptr + 2, a.pitch, WIDTH, HEIGHT}, 0xee, small));
    p = (cudaMemcpy3DParms){.srcPtr = a,
                            .dstPtr = {target, WIDTH, WIDTH, HEIGHT},
                            .extent = extent,
                            .kind = cudaMemcpyDeviceToHost};
    OK(cudaMemcpy3DAsync(&p, NULL));
    OK(cudaDeviceSynchronize());
    memcpy(wanted, source, SIZE);
    for (unsigned z = 0; z < 2; z++)
        for (unsigned y = 0; y < 3; y++)
            memset(wanted + (z * HEIGHT + y) * WIDTH + 2, 0xee, 10);
    CHECK_EQ_MEM(target, wanted, SIZE);
    OK(cudaMemset3D(a, 0x11, extent));
    OK(cudaMemcpy3D(&p));
    for (unsigned i = 0; i < SIZE; i += 97)
        CHECK_EQ_INT(target[i], 0x11);
    FAILS(cudaMemcpy3D(NULL), cudaErrorInvalidValue);
    p.srcPtr.ptr = NULL;
    FAILS(cudaMemcpy3D(&p), cudaErrorInvalidValue);
    OK(cudaFree(a.ptr));
}

/* An array of 16 x 8 elements of 4 bytes. */
static void arrays(void)
{
    cudaChannelFormatDesc format = cudaCreateChannelDesc(8, 8, 8, 8, cudaChannelFormatKindUnsigned);
    cudaChannelFormatDesc found;
    cudaExtent extent;
    cudaArray_t a, b;
    unsigned flags;

    OK(cudaMallocArray(&a, &format, 16, HEIGHT, 0));
    OK(cudaMallocArray(&b, &format, 16, HEIGHT, 0));
    OK(cudaArrayGetInfo(&found, &extent, &flags, a));
    CHECK_EQ_MEM(&found, &format, sizeof(format));
    CHECK(extent.width == 16 && extent.height == HEIGHT && !extent.depth && !flags);
    OK(cudaMemcpy2DToArray(a, 0, 0, source, WIDTH, WIDTH, HEIGHT, cudaMemcpyHostToDevice));
    OK(cudaMemcpy2DArrayToArray(b, 0, 0, a, 0, 0, WIDTH, HEIGHT, cudaMemcpyDeviceToDevice));
    memset(target, 0, SIZE);
    OK(cudaMemcpy2DFromArray(target, WIDTH, b, 8, 1, 12, 3, cudaMemcpyDeviceToHost));
    for (unsigned y = 0; y < 3; y++)
        CHECK_EQ_MEM(target + y * WIDTH, source + (y + 1) * WIDTH + 8, 12);
    /* A run that begins in the midst of a row and ends in another. */
    OK(cudaMemcpyToArray(a, 48, 1, source, 200, cudaMemcpyHostToDevice));
    memset(target, 0, SIZE);
    OK(cudaMemcpyFromArray(target, a, 48, 1, 200, cudaMemcpyDeviceToHost));
    CHECK_EQ_MEM(target, source, 200);
    OK(cudaMemcpyArrayToArray(b, 0, 0, a, 48, 1, 200, cudaMemcpyDeviceToDevice));
    memset(target, 0, SIZE);
    OK(cudaMemcpyFromArrayAsync(target, b, 0, 0, 200, cudaMemcpyDefault, NULL));
    OK(cudaDeviceSynchronize());
    CHECK_EQ_MEM(target, source, 200);
    FAILS(cudaMemcpy2DToArray(a, 2, 0, source, WIDTH, 8, 1, cudaMemcpyHostToDevice),
          cudaErrorInvalidValue);
    format.x = 24;
    FAILS(cudaMallocArray(&a, &format, 16, HEIGHT, 0), cudaErrorInvalidChannelDescriptor);
    OK(cudaFreeArray(a));
    OK(cudaFreeArray(b));
}

/* Parts of an array in three dimensions: offsets and widths in elements. */
static void array_boxes(void)
{
    cudaChannelFormatDesc format = {32, 0, 0, 0, cudaChannelFormatKindFloat};
    cudaMemcpy3DParms p = {.srcPtr = {source, WIDTH, 16, HEIGHT},
                           .extent = {16, HEIGHT, DEPTH},
                           .kind = cudaMemcpyHostToDevice};
    cudaArray_t a;

    OK(cudaMalloc3DArray(&a, &format, p.extent, 0));
    p.dstArray = a;
    OK(cudaMemcpy3D(&p));
    memset(target, 0, SIZE);
    p = (cudaMemcpy3DParms){.srcArray = a,
                            .srcPos = {2, 1, 1},
                            .dstPtr = {target, 20, 5, 2},
                            .extent = {5, 2, 2},
                            .kind = cudaMemcpyDeviceToHost};
    OK(cudaMemcpy3D(&p));
    for (unsigned z = 0; z < 2; z++)
        for (unsigned y = 0; y < 2; y++)
            CHECK_EQ_MEM(target + (z * 2 + y) * 20, source + ((z + 1) * HEIGHT + y + 1) * WIDTH + 8,
                         20);
    OK(cudaFreeArray(a));
}

static char table_name, other_name;

static void variables(void)
{
    static const char text[] = PTX_HEAD ".visible .const .align 4 .b8 table[64];\n";
    struct test_image image = {0};
    void *address;
    size_t size;

    test_register_ptx(&image, 70, text);
    __cudaRegisterVar(image.handle, &table_name, &table_name, "table", 0, 64, 1, 0);
    OK(cudaGetSymbolSize(&size, &table_name));
    CHECK_EQ_INT(size, 64);
    OK(cudaMemcpyToSymbol(&table_name, source, 60, 4, cudaMemcpyHostToDevice));
    OK(cudaGetSymbolAddress(&address, &table_name));
    memset(target, 0, SIZE);
    OK(cudaMemcpy(target, address, 64, cudaMemcpyDeviceToHost));
    CHECK_EQ_MEM(target + 4, source, 60);
    OK(cudaMemcpyToSymbolAsync(&table_name, target + 4, 10, 0, cudaMemcpyDefault, NULL));
    memset(target, 0, SIZE);
    OK(cudaMemcpyFromSymbolAsync(target, &table_name, 10, 0, cudaMemcpyDeviceToHost, NULL));
    OK(cudaDeviceSynchronize());
    CHECK_EQ_MEM(target, source, 10);
    OK(cudaMemcpyFromSymbol(target, &table_name, 8, 40, cudaMemcpyDeviceToHost));
    CHECK_EQ_MEM(target, source + 36, 8);
    FAILS(cudaMemcpyToSymbol(&table_name, source, 61, 4, cudaMemcpyHostToDevice),
          cudaErrorInvalidValue);
    FAILS(cudaMemcpyToSymbol(&table_name, source, 4, SIZE_MAX, cudaMemcpyHostToDevice),
          cudaErrorInvalidValue);
    FAILS(cudaMemcpyToSymbol(&other_name, source, 4, 0, cudaMemcpyHostToDevice),
          cudaErrorInvalidSymbol);
    FAILS(cudaMemcpyToSymbol(&table_name, source, 4, 0, cudaMemcpyDeviceToHost),
          cudaErrorInvalidMemcpyDirection);
    FAILS(cudaGetSymbolAddress(&address, &other_name), cudaErrorInvalidSymbol);
    CHECK_EQ_INT(cudaGetLastError(), cudaErrorInvalidSymbol);
    test_finish(&image);
}

/* __managed__ unsigned shared = 5: the program's code names it by a pointer, and by what that
 * holds. */
static void managed(void)
{
    static const char text[] = PTX_HEAD ".visible .global .align 4 .u32 plain = 6;\n"
                                        ".visible .global .attribute(.managed) .align 4 .u32 "
                                        "shared = 5;\n";
    static void *shared, *plain;
    struct test_image image = {0}, wrong = {0};
    unsigned value = 0;
    CUlibrary library;
    CUdeviceptr address;
    size_t size;

    test_register_ptx(&image, 70, text);
    __cudaRegisterManagedVar(image.handle, &shared, NULL, "shared", 0, 4, 0, 0);
    CHECK(!shared && __cudaInitModule(image.handle));
    if (!CHECK(shared != NULL))
        return;
    CHECK_EQ_INT(*(unsigned *)shared, 5);
    *(unsigned *)shared = 11;
    OK(cudaMemcpyFromSymbol(&value, shared, 4, 0, cudaMemcpyDeviceToHost));
    CHECK_EQ_INT(value, 11);
    value = 12;
    OK(cudaMemcpyToSymbol(shared, &value, 4, 0, cudaMemcpyHostToDevice));
    OK(cudaDeviceSynchronize());
    CHECK_EQ_INT(*(unsigned *)shared, 12);
    test_finish(&image);

    test_register_ptx(&wrong, 70, text);
    __cudaRegisterManagedVar(wrong.handle, &plain, NULL, "plain", 0, 4, 0, 0);
    CHECK(!__cudaInitModule(wrong.handle) && !plain);
    CHECK(cudaGetLastError() != cudaSuccess);
    test_finish(&wrong);

    OK(cudaLibraryLoadData(&library, text, NULL, NULL, 0, NULL, NULL, 0));
    CHECK_EQ_INT(cuLibraryGetManaged(&address, &size, library, "shared"), CUDA_SUCCESS);
    CHECK_EQ_INT(size, 4);
    CHECK_EQ_INT(cuLibraryGetManaged(&address, &size, library, "plain"), CUDA_ERROR_NOT_FOUND);
    CHECK_EQ_INT(cuLibraryGetManaged(&address, &size, library, NULL), CUDA_ERROR_INVALID_VALUE);
    OK(cudaLibraryUnload(library));
}

static void pointers(void)
{
    cudaPointerAttributes is;
    void *memory[4];
    cudaMemoryType types[] = {cudaMemoryTypeDevice, cudaMemoryTypeHost, cudaMemoryTypeManaged,
                              cudaMemoryTypeHost};

    OK(cudaMalloc(&memory[0], 100));
    OK(cudaMallocHost(&memory[1], 100));
    OK(cudaMallocManaged(&memory[2], 100, CU_MEM_ATTACH_GLOBAL));
    memory[3] = aligned_alloc(4096, 4096);
    OK(cudaHostRegister(memory[3], 4096, 0));
    for (unsigned i = 0; i < 4; i++) {
        OK(cudaPointerGetAttributes(&is, memory[i]));
        CHECK_EQ_INT(is.type, types[i]);
        CHECK_EQ_INT(is.device, 0);
        CHECK(is.devicePointer == memory[i]);
        CHECK(is.hostPointer == (i ? memory[i] : NULL));
    }
    OK(cudaPointerGetAttributes(&is, source));
    CHECK_EQ_INT(is.type, cudaMemoryTypeUnregistered);
    CHECK(is.device == -2 && !is.devicePointer && is.hostPointer == source);
    FAILS(cudaPointerGetAttributes(NULL, source), cudaErrorInvalidValue);
    OK(cudaHostUnregister(memory[3]));
    free(memory[3]);
    OK(cudaFree(memory[2]));
    OK(cudaFreeHost(memory[1]));
    OK(cudaFree(memory[0]));
    FAILS(cudaFree(memory[0]), cudaErrorInvalidValue);
    CHECK_EQ_INT(cudaGetLastError(), cudaErrorInvalidValue);
}

int main(void)
{
    fill_source();
    nothing();
    kinds();
    rows();
    boxes();
    arrays();
    array_boxes();
    variables();
    managed();
    pointers();
    CHECK_EQ_INT(cudaPeekAtLastError(), cudaSuccess);
    return check_result();
}
