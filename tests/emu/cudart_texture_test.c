/* SPDX-License-Identifier: Apache-2.0
 *
 * Textures and surfaces: every format of channels goes to the driver and comes back, and so does
 * what an object was made of.
 */
#include "tests/emu/cudart_test.h"

/* Tries the bits that each kind can have, and numbers of channels. */
static void formats(void)
{
    for (int kind = cudaChannelFormatKindSigned; kind <= cudaChannelFormatKindFloat; kind++)
        for (int bits = 8; bits <= 32; bits *= 2)
            for (int channels = 1; channels <= 4; channels *= 2) {
                cudaChannelFormatDesc wanted = {bits, channels > 1 ? bits : 0,
                                                channels > 2 ? bits : 0, channels > 3 ? bits : 0,
                                                (cudaChannelFormatKind)kind};
                cudaChannelFormatDesc found;
                cudaArray_t array;
                bool is_valid = kind != cudaChannelFormatKindFloat || bits > 8;
                cudaError_t error = cudaMallocArray(&array, &wanted, 8, 8, 0);
                CHECK_EQ_INT(error, is_valid ? cudaSuccess : cudaErrorInvalidChannelDescriptor);
                if (error)
                    continue;
                OK(cudaGetChannelDesc(&found, array));
                CHECK_EQ_MEM(&found, &wanted, sizeof(found));
                OK(cudaFreeArray(array));
            }
    CHECK_EQ_INT(cudaGetLastError(), cudaErrorInvalidChannelDescriptor);
}

static void special_formats(void)
{
    static const cudaChannelFormatDesc wanted[] = {
        {8, 8, 8, 8, cudaChannelFormatKindUnsignedNormalized8X1 + 2},
        {16, 0, 0, 0, cudaChannelFormatKindUnsignedNormalized8X1 + 3},
        {16, 16, 0, 0, cudaChannelFormatKindSignedNormalized8X1 + 4},
    };

    for (unsigned i = 0; i < sizeof(wanted) / sizeof(*wanted); i++) {
        cudaChannelFormatDesc found;
        cudaArray_t array;
        OK(cudaMallocArray(&array, &wanted[i], 8, 8, 0));
        OK(cudaGetChannelDesc(&found, array));
        CHECK_EQ_MEM(&found, &wanted[i], sizeof(found));
        OK(cudaFreeArray(array));
    }
}

static cudaTextureDesc sampling(void)
{
    return (cudaTextureDesc){.addressMode = {CU_TR_ADDRESS_MODE_WRAP, CU_TR_ADDRESS_MODE_CLAMP,
                                             CU_TR_ADDRESS_MODE_BORDER},
                             .filterMode = CU_TR_FILTER_MODE_LINEAR,
                             .readMode = 1,
                             .borderColor = {1, 2, 3, 4},
                             .normalizedCoords = 1,
                             .maxAnisotropy = 4};
}

static void check_object(const cudaResourceDesc *resource)
{
    cudaTextureDesc wanted = sampling(), has;
    cudaResourceDesc found;
    cudaTextureObject_t object;

    OK(cudaCreateTextureObject(&object, resource, &wanted, NULL));
    OK(cudaGetTextureObjectTextureDesc(&has, object));
    CHECK_EQ_MEM(&has, &wanted, sizeof(has));
    OK(cudaGetTextureObjectResourceDesc(&found, object));
    CHECK_EQ_MEM(&found, resource, sizeof(found));
    OK(cudaDestroyTextureObject(object));
}

/* The bytes after a view are the program's. */
static void check_view(const cudaResourceDesc *resource)
{
    struct {
        cudaResourceViewDesc view;
        unsigned char behind[64];
    } wanted = {.view = {.format = CU_RES_VIEW_FORMAT_UINT_1X8,
                         .width = 32,
                         .height = 32,
                         .firstMipmapLevel = 1,
                         .lastMipmapLevel = 2}},
      found;
    cudaTextureDesc how = sampling();
    cudaTextureObject_t object;

    memset(wanted.behind, 0xa5, sizeof(wanted.behind));
    found = wanted;
    memset(&found.view, 0, sizeof(found.view));
    OK(cudaCreateTextureObject(&object, resource, &how, &wanted.view));
    OK(cudaGetTextureObjectResourceViewDesc(&found.view, object));
    CHECK_EQ_MEM(&found, &wanted, sizeof(found));
    OK(cudaDestroyTextureObject(object));
}

static void objects(void)
{
    cudaChannelFormatDesc format = {8, 0, 0, 0, cudaChannelFormatKindUnsigned};
    cudaResourceDesc resource, found;
    cudaTextureDesc how = sampling();
    cudaTextureObject_t object;
    cudaSurfaceObject_t surface;
    cudaMipmappedArray_t mipmap;
    cudaArray_t array;
    void *memory;
    size_t pitch;

    memset(&resource, 0, sizeof(resource));
    OK(cudaMallocArray(&array, &format, 32, 32, CUDA_ARRAY3D_SURFACE_LDST));
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    check_object(&resource);
    OK(cudaCreateSurfaceObject(&surface, &resource));
    OK(cudaGetSurfaceObjectResourceDesc(&found, surface));
    CHECK(found.res.array.array == array);
    OK(cudaDestroySurfaceObject(surface));

    OK(cudaMallocPitch(&memory, &pitch, 32, 16));
    memset(&resource, 0, sizeof(resource));
    resource.resType = cudaResourceTypePitch2D;
    resource.res.pitch2D.devPtr = memory;
    resource.res.pitch2D.desc = format;
    resource.res.pitch2D.width = 32;
    resource.res.pitch2D.height = 16;
    resource.res.pitch2D.pitchInBytes = pitch;
    check_object(&resource);
    memset(&resource, 0, sizeof(resource));
    resource.resType = cudaResourceTypeLinear;
    resource.res.linear.devPtr = memory;
    resource.res.linear.desc = (cudaChannelFormatDesc){32, 32, 0, 0, cudaChannelFormatKindFloat};
    resource.res.linear.sizeInBytes = 256;
    OK(cudaCreateTextureObject(&object, &resource, &(cudaTextureDesc){0}, NULL));
    OK(cudaGetTextureObjectResourceDesc(&found, object));
    CHECK_EQ_MEM(&found, &resource, sizeof(found));
    OK(cudaDestroyTextureObject(object));

    OK(cudaMallocMipmappedArray(&mipmap, &format, (cudaExtent){32, 32, 0}, 3, 0));
    OK(cudaGetMipmappedArrayLevel(&array, mipmap, 1));
    memset(&resource, 0, sizeof(resource));
    resource.resType = cudaResourceTypeMipmappedArray;
    resource.res.mipmap.mipmap = mipmap;
    check_object(&resource);
    check_view(&resource);
    OK(cudaFreeMipmappedArray(mipmap));

    resource.resType = (cudaResourceType)9;
    FAILS(cudaCreateTextureObject(&object, &resource, &how, NULL), cudaErrorInvalidValue);
    FAILS(cudaCreateTextureObject(&object, NULL, &how, NULL), cudaErrorInvalidValue);
    FAILS(cudaCreateTextureObject(&object, &resource, NULL, NULL), cudaErrorInvalidValue);
    CHECK_EQ_INT(cudaGetLastError(), cudaErrorInvalidValue);
    OK(cudaFree(memory));
}

int main(void)
{
    formats();
    special_formats();
    objects();
    return check_result();
}
