/* SPDX-License-Identifier: Apache-2.0
 *
 * The types of the CUDA runtime API in our own declarations: nothing of NVIDIA's toolkit is needed
 * to build or to call this library. Include this instead of cuda_runtime_api.h, never with it.
 *
 * CUDART_MAJOR (12 or 13) chooses the interface: the two differ in some structs and calls. Names,
 * values and layouts are the ABI's; tests/emu/cudart_abi_test.py compares them with the headers of
 * a toolkit where one is installed. A type whose layout is that of a type of the driver API is that
 * type here, so that most calls hand their arguments on as they are.
 */
#ifndef EMU_CUDART_ABI_H
#define EMU_CUDART_ABI_H

#include "api/cuda/cuda_prototypes.h"

#ifndef CUDART_MAJOR
#define CUDART_MAJOR 13
#endif

/* ---- errors: the driver's numbers from 100 on, and these ------------------------------------- */

typedef enum cudaError {
    cudaSuccess = 0,
    cudaErrorInvalidValue = 1,
    cudaErrorMemoryAllocation = 2,
    cudaErrorInitializationError = 3,
    cudaErrorCudartUnloading = 4,
    cudaErrorInvalidConfiguration = 9,
    cudaErrorInvalidPitchValue = 12,
    cudaErrorInvalidSymbol = 13,
    cudaErrorInvalidChannelDescriptor = 20,
    cudaErrorInvalidMemcpyDirection = 21,
    cudaErrorMissingConfiguration = 52,
    cudaErrorInvalidDeviceFunction = 98,
    cudaErrorNoDevice = 100,
    cudaErrorInvalidDevice = 101,
    cudaErrorInvalidKernelImage = 200,
    cudaErrorNoKernelImageForDevice = 209,
    cudaErrorInvalidResourceHandle = 400,
    cudaErrorSymbolNotFound = 500,
    cudaErrorNotReady = 600,
    cudaErrorIllegalAddress = 700,
    cudaErrorSetOnActiveProcess = 708,
    cudaErrorLaunchFailure = 719,
    cudaErrorNotSupported = 801,
    cudaErrorStreamCaptureUnsupported = 900,
    cudaErrorUnknown = 999,
} cudaError_t;

/* ---- objects ----------------------------------------------------------------------------------
 */

typedef CUstream cudaStream_t;
typedef CUevent cudaEvent_t;
typedef CUarray cudaArray_t, cudaArray_const_t;
typedef CUmipmappedArray cudaMipmappedArray_t, cudaMipmappedArray_const_t;
typedef CUgraph cudaGraph_t;
typedef CUgraphNode cudaGraphNode_t;
typedef CUgraphExec cudaGraphExec_t;
typedef CUgraphConditionalHandle cudaGraphConditionalHandle;
typedef CUuserObject cudaUserObject_t;
typedef CUfunction cudaFunction_t;
typedef CUkernel cudaKernel_t;
typedef CUlibrary cudaLibrary_t;
typedef CUmemoryPool cudaMemPool_t;
typedef CUtexObject cudaTextureObject_t;
typedef CUsurfObject cudaSurfaceObject_t;
typedef CUexternalMemory cudaExternalMemory_t;
typedef CUexternalSemaphore cudaExternalSemaphore_t;
typedef CUgraphicsResource cudaGraphicsResource_t;
typedef CUasyncCallbackHandle cudaAsyncCallbackHandle_t;
typedef CUlogsCallbackHandle cudaLogsCallbackHandle;
typedef CUlogIterator cudaLogIterator;
typedef CUuuid cudaUUID_t;

#define cudaStreamLegacy    CU_STREAM_LEGACY
#define cudaStreamPerThread CU_STREAM_PER_THREAD

typedef CUhostFn cudaHostFn_t;
typedef void (*cudaStreamCallback_t)(cudaStream_t stream, cudaError_t status, void *userData);
typedef CUasyncCallback cudaAsyncCallback;
typedef CUlogsCallback cudaLogsCallback_t;

/* ---- enums that are the driver's under other names ---------------------------------------------
 */

typedef CUdevice_attribute cudaDeviceAttr;
typedef CUdevice_P2PAttribute cudaDeviceP2PAttr;
typedef CUlimit cudaLimit;
typedef CUfunc_cache cudaFuncCache;
typedef CUsharedconfig cudaSharedMemConfig;
typedef CUfunction_attribute cudaFuncAttribute;
typedef CUmem_advise cudaMemoryAdvise;
typedef CUmem_range_attribute cudaMemRangeAttribute;
typedef CUmemPool_attribute cudaMemPoolAttr;
typedef CUmemAllocationType cudaMemAllocationType;
typedef CUmemAllocationHandleType cudaMemAllocationHandleType;
typedef CUmemAccess_flags cudaMemAccessFlags;
typedef CUgraphMem_attribute cudaGraphMemAttributeType;
typedef CUgraphNodeType cudaGraphNodeType;
typedef CUstreamCaptureMode cudaStreamCaptureMode;
typedef CUstreamCaptureStatus cudaStreamCaptureStatus;
typedef CUdriverProcAddressQueryResult cudaDriverEntryPointQueryResult;
typedef CUjit_option cudaJitOption;
typedef CUlibraryOption cudaLibraryOption;
typedef CUatomicOperation cudaAtomicOperation;
typedef CUflushGPUDirectRDMAWritesTarget cudaFlushGPUDirectRDMAWritesTarget;
typedef CUflushGPUDirectRDMAWritesScope cudaFlushGPUDirectRDMAWritesScope;
typedef CUlaunchAttributeID cudaLaunchAttributeID, cudaStreamAttrID, cudaKernelNodeAttrID;

/* ---- structs that are the driver's under other names
 * --------------------------------------------- */

typedef CUlaunchAttributeValue cudaLaunchAttributeValue, cudaStreamAttrValue,
    cudaKernelNodeAttrValue;
typedef CUlaunchAttribute cudaLaunchAttribute;
typedef CUmemLocation cudaMemLocation;
typedef CUmemAccessDesc cudaMemAccessDesc;
typedef CUmemPoolProps cudaMemPoolProps;
typedef CUmemPoolPtrExportData cudaMemPoolPtrExportData;
typedef CUmemcpyAttributes cudaMemcpyAttributes;
typedef CUDA_MEMCPY3D_BATCH_OP cudaMemcpy3DBatchOp;
typedef CUipcMemHandle cudaIpcMemHandle_t;
typedef CUipcEventHandle cudaIpcEventHandle_t;
#if CUDART_MAJOR >= 13
typedef CUDA_EXTERNAL_MEMORY_HANDLE_DESC cudaExternalMemoryHandleDesc;
typedef CUDA_EXTERNAL_MEMORY_BUFFER_DESC cudaExternalMemoryBufferDesc;
typedef CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC cudaExternalSemaphoreHandleDesc;
#endif
typedef CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS cudaExternalSemaphoreSignalParams;
typedef CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS cudaExternalSemaphoreWaitParams;
typedef CUDA_EXT_SEM_SIGNAL_NODE_PARAMS cudaExternalSemaphoreSignalNodeParams;
typedef CUDA_EXT_SEM_WAIT_NODE_PARAMS cudaExternalSemaphoreWaitNodeParams;
typedef CUDA_MEMSET_NODE_PARAMS cudaMemsetParams;
typedef CUDA_HOST_NODE_PARAMS cudaHostNodeParams;
typedef CUDA_MEM_ALLOC_NODE_PARAMS cudaMemAllocNodeParams;
typedef CUDA_GRAPH_INSTANTIATE_PARAMS cudaGraphInstantiateParams;
typedef CUgraphExecUpdateResultInfo cudaGraphExecUpdateResultInfo;
typedef CUgraphEdgeData cudaGraphEdgeData;
typedef CUDA_ARRAY_SPARSE_PROPERTIES cudaArraySparseProperties;
typedef CUDA_ARRAY_MEMORY_REQUIREMENTS cudaArrayMemoryRequirements;

/* ---- launches ----------------------------------------------------------------------------------
 */

typedef struct dim3 {
    unsigned int x, y, z;
} dim3;

typedef dim3 uint3;

typedef struct cudaLaunchConfig_st {
    dim3 gridDim, blockDim;
    size_t dynamicSmemBytes; /* a block */
    cudaStream_t stream;
    cudaLaunchAttribute *attrs;
    unsigned int numAttrs;
} cudaLaunchConfig_t;

/* An element of cudaLaunchCooperativeKernelMultiDevice's list; until CUDA 12 */
typedef struct cudaLaunchParams {
    void *func;
    dim3 gridDim, blockDim;
    void **args;
    size_t sharedMem;
    cudaStream_t stream;
} cudaLaunchParams;

typedef struct cudaFuncAttributes {
    size_t sharedSizeBytes, constSizeBytes, localSizeBytes;
    int maxThreadsPerBlock, numRegs, ptxVersion, binaryVersion, cacheModeCA;
    int maxDynamicSharedSizeBytes, preferredShmemCarveout, clusterDimMustBeSet;
    int requiredClusterWidth, requiredClusterHeight, requiredClusterDepth;
    int clusterSchedulingPolicyPreference, nonPortableClusterSizeAllowed;
    int reserved[16];
} cudaFuncAttributes;

typedef struct cudaKernelNodeParams {
    void *func; /* a function of the host, or a cudaKernel_t, a cudaFunction_t */
    dim3 gridDim, blockDim;
    unsigned int sharedMemBytes;
    void **kernelParams;
    void **extra;
} cudaKernelNodeParams;

/* ---- copies ------------------------------------------------------------------------------------
 */

typedef enum cudaMemcpyKind {
    cudaMemcpyHostToHost = 0,
    cudaMemcpyHostToDevice = 1,
    cudaMemcpyDeviceToHost = 2,
    cudaMemcpyDeviceToDevice = 3,
    cudaMemcpyDefault = 4, /* the addresses say it */
} cudaMemcpyKind;

typedef enum cudaMemoryType {
    cudaMemoryTypeUnregistered = 0,
    cudaMemoryTypeHost = 1,
    cudaMemoryTypeDevice = 2,
    cudaMemoryTypeManaged = 3,
} cudaMemoryType;

typedef struct cudaPitchedPtr {
    void *ptr;
    size_t pitch, xsize, ysize; /* pitch in bytes; xsize, ysize in elements */
} cudaPitchedPtr;

/* width in elements for arrays, in bytes for linear memory */
typedef struct cudaExtent {
    size_t width, height, depth;
} cudaExtent;

typedef struct cudaPos {
    size_t x, y, z;
} cudaPos;

typedef struct cudaMemcpy3DParms {
    cudaArray_t srcArray;
    cudaPos srcPos;
    cudaPitchedPtr srcPtr;
    cudaArray_t dstArray;
    cudaPos dstPos;
    cudaPitchedPtr dstPtr;
    cudaExtent extent;
    cudaMemcpyKind kind;
} cudaMemcpy3DParms;

typedef struct cudaMemcpy3DPeerParms {
    cudaArray_t srcArray;
    cudaPos srcPos;
    cudaPitchedPtr srcPtr;
    int srcDevice;
    cudaArray_t dstArray;
    cudaPos dstPos;
    cudaPitchedPtr dstPtr;
    int dstDevice;
    cudaExtent extent;
} cudaMemcpy3DPeerParms;

typedef struct cudaPointerAttributes {
    cudaMemoryType type;
    int device;
    void *devicePointer, *hostPointer;
#if CUDART_MAJOR >= 13
    long reserved[8];
#endif
} cudaPointerAttributes;

/* ---- arrays, textures, surfaces
 * ------------------------------------------------------------------ */

typedef enum cudaChannelFormatKind {
    cudaChannelFormatKindSigned = 0,
    cudaChannelFormatKindUnsigned = 1,
    cudaChannelFormatKindFloat = 2,
    cudaChannelFormatKindNone = 3,
    cudaChannelFormatKindNV12 = 4,
    cudaChannelFormatKindUnsignedNormalized8X1 = 5,     /* ... and 8X2, 8X4, 16X1, 16X2, 16X4 */
    cudaChannelFormatKindSignedNormalized8X1 = 11,      /* ... the same */
    cudaChannelFormatKindUnsignedBlockCompressed1 = 17, /* ... 1SRGB, 2, 2SRGB, 3, 3SRGB, 4 */
    cudaChannelFormatKindUnsignedBlockCompressed7SRGB = 30,
    cudaChannelFormatKindUnsignedNormalized1010102 = 31,
} cudaChannelFormatKind;

/* x, y, z, w: bits of each channel */
typedef struct cudaChannelFormatDesc {
    int x, y, z, w;
    cudaChannelFormatKind f;
} cudaChannelFormatDesc;

typedef enum cudaResourceType {
    cudaResourceTypeArray = 0,
    cudaResourceTypeMipmappedArray = 1,
    cudaResourceTypeLinear = 2,
    cudaResourceTypePitch2D = 3,
} cudaResourceType;

typedef struct cudaResourceDesc {
    cudaResourceType resType;
    union {
        struct {
            cudaArray_t array;
        } array;
        struct {
            cudaMipmappedArray_t mipmap;
        } mipmap;
        struct {
            void *devPtr;
            cudaChannelFormatDesc desc;
            size_t sizeInBytes;
        } linear;
        struct {
            void *devPtr;
            cudaChannelFormatDesc desc;
            size_t width, height, pitchInBytes;
        } pitch2D;
#if CUDART_MAJOR >= 13
        struct {
            int reserved[32];
        } reserved;
#endif
    } res;
#if CUDART_MAJOR >= 13
    unsigned int flags;
#endif
} cudaResourceDesc;

/* CUDA 12's is shorter than the driver's. */
typedef struct cudaResourceViewDesc {
    CUresourceViewFormat format;
    size_t width, height, depth;
    unsigned int firstMipmapLevel, lastMipmapLevel, firstLayer, lastLayer;
#if CUDART_MAJOR >= 13
    unsigned int reserved[16];
#endif
} cudaResourceViewDesc;

typedef struct cudaTextureDesc {
    CUaddress_mode addressMode[3];
    CUfilter_mode filterMode;
    int readMode; /* 0: the element's type, 1: normalized floats */
    int sRGB;
    float borderColor[4];
    int normalizedCoords;
    unsigned int maxAnisotropy;
    CUfilter_mode mipmapFilterMode;
    float mipmapLevelBias, minMipmapLevelClamp, maxMipmapLevelClamp;
    int disableTrilinearOptimization, seamlessCubemap;
} cudaTextureDesc;

#if CUDART_MAJOR < 13
/* Shorter than the driver's: without members for later. */
typedef struct cudaExternalMemoryHandleDesc {
    CUexternalMemoryHandleType type;
    union {
        int fd;
        struct {
            void *handle;
            const void *name;
        } win32;
        const void *nvSciBufObject;
    } handle;
    unsigned long long size;
    unsigned int flags;
} cudaExternalMemoryHandleDesc;

typedef struct cudaExternalMemoryBufferDesc {
    unsigned long long offset, size;
    unsigned int flags;
} cudaExternalMemoryBufferDesc;

typedef struct cudaExternalSemaphoreHandleDesc {
    CUexternalSemaphoreHandleType type;
    union {
        int fd;
        struct {
            void *handle;
            const void *name;
        } win32;
        const void *nvSciSyncObj;
    } handle;
    unsigned int flags;
} cudaExternalSemaphoreHandleDesc;
#endif

typedef struct cudaExternalMemoryMipmappedArrayDesc {
    unsigned long long offset;
    cudaChannelFormatDesc formatDesc;
    cudaExtent extent;
    unsigned int flags, numLevels;
#if CUDART_MAJOR >= 13
    unsigned int reserved[16];
#endif
} cudaExternalMemoryMipmappedArrayDesc;

/* ---- graphs
 * -------------------------------------------------------------------------------------- */

typedef struct cudaMemcpyNodeParams {
    int flags;
    int reserved[3];
    cudaMemcpy3DParms copyParams;
} cudaMemcpyNodeParams;

typedef struct cudaConditionalNodeParams {
    cudaGraphConditionalHandle handle;
    CUgraphConditionalNodeType type;
    unsigned int size;
    cudaGraph_t *phGraph_out;
} cudaConditionalNodeParams;

typedef struct cudaGraphNodeParams {
    cudaGraphNodeType type;
    int reserved0[3];
    union {
        long long reserved1[29];
        cudaKernelNodeParams kernel;
        cudaMemcpyNodeParams memcpy;
        cudaMemsetParams memset;
        cudaHostNodeParams host;
        CUDA_CHILD_GRAPH_NODE_PARAMS graph;
        CUDA_EVENT_WAIT_NODE_PARAMS eventWait;
        CUDA_EVENT_RECORD_NODE_PARAMS eventRecord;
        cudaExternalSemaphoreSignalNodeParams extSemSignal;
        cudaExternalSemaphoreWaitNodeParams extSemWait;
        cudaMemAllocNodeParams alloc;
        CUDA_MEM_FREE_NODE_PARAMS free;
        cudaConditionalNodeParams conditional;
    };
    long long reserved2;
} cudaGraphNodeParams;

/* ---- devices
 * --------------------------------------------------------------------------------------- */

/* Members that CUDA 13 removed are in the middle: the two layouts differ. */
typedef struct cudaDeviceProp {
    char name[256];
    cudaUUID_t uuid;
    char luid[8];
    unsigned int luidDeviceNodeMask;
    size_t totalGlobalMem, sharedMemPerBlock;
    int regsPerBlock, warpSize;
    size_t memPitch;
    int maxThreadsPerBlock, maxThreadsDim[3], maxGridSize[3];
#if CUDART_MAJOR < 13
    int clockRate;
#endif
    size_t totalConstMem;
    int major, minor;
    size_t textureAlignment, texturePitchAlignment;
#if CUDART_MAJOR < 13
    int deviceOverlap;
#endif
    int multiProcessorCount;
#if CUDART_MAJOR < 13
    int kernelExecTimeoutEnabled;
#endif
    int integrated, canMapHostMemory;
#if CUDART_MAJOR < 13
    int computeMode;
#endif
    int maxTexture1D, maxTexture1DMipmap;
#if CUDART_MAJOR < 13
    int maxTexture1DLinear;
#endif
    int maxTexture2D[2], maxTexture2DMipmap[2], maxTexture2DLinear[3], maxTexture2DGather[2];
    int maxTexture3D[3], maxTexture3DAlt[3], maxTextureCubemap;
    int maxTexture1DLayered[2], maxTexture2DLayered[3], maxTextureCubemapLayered[2];
    int maxSurface1D, maxSurface2D[2], maxSurface3D[3];
    int maxSurface1DLayered[2], maxSurface2DLayered[3];
    int maxSurfaceCubemap, maxSurfaceCubemapLayered[2];
    size_t surfaceAlignment;
    int concurrentKernels, ECCEnabled, pciBusID, pciDeviceID, pciDomainID, tccDriver;
    int asyncEngineCount, unifiedAddressing;
#if CUDART_MAJOR < 13
    int memoryClockRate;
#endif
    int memoryBusWidth, l2CacheSize, persistingL2CacheMaxSize, maxThreadsPerMultiProcessor;
    int streamPrioritiesSupported, globalL1CacheSupported, localL1CacheSupported;
    size_t sharedMemPerMultiprocessor;
    int regsPerMultiprocessor, managedMemory, isMultiGpuBoard, multiGpuBoardGroupID;
    int hostNativeAtomicSupported;
#if CUDART_MAJOR < 13
    int singleToDoublePrecisionPerfRatio;
#endif
    int pageableMemoryAccess, concurrentManagedAccess, computePreemptionSupported;
    int canUseHostPointerForRegisteredMem, cooperativeLaunch;
#if CUDART_MAJOR < 13
    int cooperativeMultiDeviceLaunch;
#endif
    size_t sharedMemPerBlockOptin;
    int pageableMemoryAccessUsesHostPageTables, directManagedMemAccessFromHost;
    int maxBlocksPerMultiProcessor, accessPolicyMaxWindowSize;
    size_t reservedSharedMemPerBlock;
    int hostRegisterSupported, sparseCudaArraySupported, hostRegisterReadOnlySupported;
    int timelineSemaphoreInteropSupported, memoryPoolsSupported, gpuDirectRDMASupported;
    unsigned int gpuDirectRDMAFlushWritesOptions;
    int gpuDirectRDMAWritesOrdering;
    unsigned int memoryPoolSupportedHandleTypes;
    int deferredMappingCudaArraySupported, ipcEventSupported, clusterLaunch;
    int unifiedFunctionPointers;
#if CUDART_MAJOR < 13
    int reserved2[2], reserved1[1], reserved[60];
#else
    int deviceNumaConfig, deviceNumaId, mpsEnabled, hostNumaId;
    unsigned int gpuPciDeviceID, gpuPciSubsystemID;
    int hostNumaMultinodeIpcSupported;
    int reserved[56];
#endif
} cudaDeviceProp;

#include "emu/cudart/prototypes.h"

#endif
