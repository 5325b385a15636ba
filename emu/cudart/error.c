/* SPDX-License-Identifier: Apache-2.0
 *
 * Errors of the runtime: names, texts, and the last one of each thread. Their numbers are the
 * driver's where the driver has such an error, and those that it lacks lie below 100.
 */
#include "emu/cudart/cudart.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "base/text.h"

static const struct {
    int value;
    const char *name;
    const char *text; /* NULL: the driver's */
} errors[] = {
    {0, "cudaSuccess", "no error"},
    {1, "cudaErrorInvalidValue", "invalid argument"},
    {2, "cudaErrorMemoryAllocation", "out of memory"},
    {3, "cudaErrorInitializationError", "the driver could not be initialised in this process"},
    {4, "cudaErrorCudartUnloading", "the process ends"},
    {5, "cudaErrorProfilerDisabled", NULL},
    {6, "cudaErrorProfilerNotInitialized", NULL},
    {7, "cudaErrorProfilerAlreadyStarted", NULL},
    {8, "cudaErrorProfilerAlreadyStopped", NULL},
    {9, "cudaErrorInvalidConfiguration", "invalid launch configuration"},
    {12, "cudaErrorInvalidPitchValue", "the pitch is too large"},
    {13, "cudaErrorInvalidSymbol", "the symbol is no variable of the device"},
    {16, "cudaErrorInvalidHostPointer", "not an address of the host"},
    {17, "cudaErrorInvalidDevicePointer", "not an address of the device"},
    {18, "cudaErrorInvalidTexture", "not a texture"},
    {19, "cudaErrorInvalidTextureBinding", "the texture has no memory"},
    {20, "cudaErrorInvalidChannelDescriptor", "no such format of channels"},
    {21, "cudaErrorInvalidMemcpyDirection", "no such direction of a copy"},
    {22, "cudaErrorAddressOfConstant", NULL},
    {23, "cudaErrorTextureFetchFailed", NULL},
    {24, "cudaErrorTextureNotBound", NULL},
    {25, "cudaErrorSynchronizationError", NULL},
    {26, "cudaErrorInvalidFilterSetting", NULL},
    {27, "cudaErrorInvalidNormSetting", NULL},
    {28, "cudaErrorMixedDeviceExecution", NULL},
    {31, "cudaErrorNotYetImplemented", "not implemented"},
    {32, "cudaErrorMemoryValueTooLarge", NULL},
    {34, "cudaErrorStubLibrary", NULL},
    {35, "cudaErrorInsufficientDriver", "the driver is older than the runtime"},
    {36, "cudaErrorCallRequiresNewerDriver", NULL},
    {37, "cudaErrorInvalidSurface", "not a surface"},
    {43, "cudaErrorDuplicateVariableName", "two variables have one name"},
    {44, "cudaErrorDuplicateTextureName", NULL},
    {45, "cudaErrorDuplicateSurfaceName", NULL},
    {46, "cudaErrorDevicesUnavailable", "the devices are in use"},
    {49, "cudaErrorIncompatibleDriverContext", NULL},
    {52, "cudaErrorMissingConfiguration", "a kernel was launched without a configuration"},
    {53, "cudaErrorPriorLaunchFailure", NULL},
    {65, "cudaErrorLaunchMaxDepthExceeded", NULL},
    {66, "cudaErrorLaunchFileScopedTex", NULL},
    {67, "cudaErrorLaunchFileScopedSurf", NULL},
    {68, "cudaErrorSyncDepthExceeded", NULL},
    {69, "cudaErrorLaunchPendingCountExceeded", NULL},
    {98, "cudaErrorInvalidDeviceFunction", "not a kernel of the program"},
    {100, "cudaErrorNoDevice", NULL},
    {101, "cudaErrorInvalidDevice", NULL},
    {102, "cudaErrorDeviceNotLicensed", NULL},
    {103, "cudaErrorSoftwareValidityNotEstablished", NULL},
    {127, "cudaErrorStartupFailure", NULL},
    {200, "cudaErrorInvalidKernelImage", NULL},
    {201, "cudaErrorDeviceUninitialized", NULL},
    {205, "cudaErrorMapBufferObjectFailed", NULL},
    {206, "cudaErrorUnmapBufferObjectFailed", NULL},
    {207, "cudaErrorArrayIsMapped", NULL},
    {208, "cudaErrorAlreadyMapped", NULL},
    {209, "cudaErrorNoKernelImageForDevice", NULL},
    {210, "cudaErrorAlreadyAcquired", NULL},
    {211, "cudaErrorNotMapped", NULL},
    {212, "cudaErrorNotMappedAsArray", NULL},
    {213, "cudaErrorNotMappedAsPointer", NULL},
    {214, "cudaErrorECCUncorrectable", NULL},
    {215, "cudaErrorUnsupportedLimit", NULL},
    {216, "cudaErrorDeviceAlreadyInUse", NULL},
    {217, "cudaErrorPeerAccessUnsupported", NULL},
    {218, "cudaErrorInvalidPtx", NULL},
    {219, "cudaErrorInvalidGraphicsContext", NULL},
    {220, "cudaErrorNvlinkUncorrectable", NULL},
    {221, "cudaErrorJitCompilerNotFound", NULL},
    {222, "cudaErrorUnsupportedPtxVersion", NULL},
    {223, "cudaErrorJitCompilationDisabled", NULL},
    {224, "cudaErrorUnsupportedExecAffinity", NULL},
    {225, "cudaErrorUnsupportedDevSideSync", NULL},
    {226, "cudaErrorContained", NULL},
    {300, "cudaErrorInvalidSource", NULL},
    {301, "cudaErrorFileNotFound", NULL},
    {302, "cudaErrorSharedObjectSymbolNotFound", NULL},
    {303, "cudaErrorSharedObjectInitFailed", NULL},
    {304, "cudaErrorOperatingSystem", NULL},
    {400, "cudaErrorInvalidResourceHandle", NULL},
    {401, "cudaErrorIllegalState", NULL},
    {402, "cudaErrorLossyQuery", NULL},
    {500, "cudaErrorSymbolNotFound", NULL},
    {600, "cudaErrorNotReady", NULL},
    {700, "cudaErrorIllegalAddress", NULL},
    {701, "cudaErrorLaunchOutOfResources", NULL},
    {702, "cudaErrorLaunchTimeout", NULL},
    {703, "cudaErrorLaunchIncompatibleTexturing", NULL},
    {704, "cudaErrorPeerAccessAlreadyEnabled", NULL},
    {705, "cudaErrorPeerAccessNotEnabled", NULL},
    {708, "cudaErrorSetOnActiveProcess", NULL},
    {709, "cudaErrorContextIsDestroyed", NULL},
    {710, "cudaErrorAssert", NULL},
    {711, "cudaErrorTooManyPeers", NULL},
    {712, "cudaErrorHostMemoryAlreadyRegistered", NULL},
    {713, "cudaErrorHostMemoryNotRegistered", NULL},
    {714, "cudaErrorHardwareStackError", NULL},
    {715, "cudaErrorIllegalInstruction", NULL},
    {716, "cudaErrorMisalignedAddress", NULL},
    {717, "cudaErrorInvalidAddressSpace", NULL},
    {718, "cudaErrorInvalidPc", NULL},
    {719, "cudaErrorLaunchFailure", NULL},
    {720, "cudaErrorCooperativeLaunchTooLarge", NULL},
    {721, "cudaErrorTensorMemoryLeak", NULL},
    {800, "cudaErrorNotPermitted", NULL},
    {801, "cudaErrorNotSupported", NULL},
    {802, "cudaErrorSystemNotReady", NULL},
    {803, "cudaErrorSystemDriverMismatch", NULL},
    {804, "cudaErrorCompatNotSupportedOnDevice", NULL},
    {805, "cudaErrorMpsConnectionFailed", NULL},
    {806, "cudaErrorMpsRpcFailure", NULL},
    {807, "cudaErrorMpsServerNotReady", NULL},
    {808, "cudaErrorMpsMaxClientsReached", NULL},
    {809, "cudaErrorMpsMaxConnectionsReached", NULL},
    {810, "cudaErrorMpsClientTerminated", NULL},
    {811, "cudaErrorCdpNotSupported", NULL},
    {812, "cudaErrorCdpVersionMismatch", NULL},
    {900, "cudaErrorStreamCaptureUnsupported", NULL},
    {901, "cudaErrorStreamCaptureInvalidated", NULL},
    {902, "cudaErrorStreamCaptureMerge", NULL},
    {903, "cudaErrorStreamCaptureUnmatched", NULL},
    {904, "cudaErrorStreamCaptureUnjoined", NULL},
    {905, "cudaErrorStreamCaptureIsolation", NULL},
    {906, "cudaErrorStreamCaptureImplicit", NULL},
    {907, "cudaErrorCapturedEvent", NULL},
    {908, "cudaErrorStreamCaptureWrongThread", NULL},
    {909, "cudaErrorTimeout", NULL},
    {910, "cudaErrorGraphExecUpdateFailure", NULL},
    {911, "cudaErrorExternalDevice", NULL},
    {912, "cudaErrorInvalidClusterSize", NULL},
    {913, "cudaErrorFunctionNotLoaded", NULL},
    {914, "cudaErrorInvalidResourceType", NULL},
    {915, "cudaErrorInvalidResourceConfiguration", NULL},
    {999, "cudaErrorUnknown", NULL},
};

static _Thread_local cudaError_t last;

static bool is_error(unsigned at, cudaError_t error)
{
    return at < sizeof(errors) / sizeof(*errors) && errors[at].value == (int)error;
}

static unsigned find(cudaError_t error)
{
    unsigned at = 0;

    while (at < sizeof(errors) / sizeof(*errors) && errors[at].value != (int)error)
        at++;
    return at;
}

cudaError_t cudart_fail(cudaError_t error)
{
    if (error)
        last = error;
    return error;
}

cudaError_t cudart_result(CUresult result)
{
    return cudart_fail((cudaError_t)result);
}

cudaError_t cudart_last(void)
{
    return last;
}

void cudart_forget(void)
{
    last = cudaSuccess;
}

void cudart_warn(const char *format, ...)
{
    char line[1024] = "tracesmith emu: ";
    size_t used = 16;
    va_list ap;

    va_start(ap, format);
    used += tsm_vformat(line + used, sizeof(line) - used - 1, format, ap);
    va_end(ap);
    line[used++] = '\n';
    if (write(STDERR_FILENO, line, used) < 0)
        return;
}

/* ---- entry points ---- */

/* Errors after which a context is of no use: they stay until cudaDeviceReset(). */
static bool is_sticky(cudaError_t error)
{
    CUresult result = (CUresult)error;

    return result == CUDA_ERROR_ILLEGAL_ADDRESS || result == CUDA_ERROR_LAUNCH_TIMEOUT ||
           result == CUDA_ERROR_ASSERT ||
           (result >= CUDA_ERROR_HARDWARE_STACK_ERROR && result <= CUDA_ERROR_LAUNCH_FAILED);
}

cudaError_t cudaPeekAtLastError(void)
{
    return last;
}

cudaError_t cudaGetLastError(void)
{
    cudaError_t error = last;

    if (!is_sticky(error))
        last = cudaSuccess;
    return error;
}

const char *cudaGetErrorName(cudaError_t error)
{
    unsigned at = find(error);

    return is_error(at, error) ? errors[at].name : "unrecognized error code";
}

const char *cudaGetErrorString(cudaError_t error)
{
    unsigned at = find(error);
    const char *text = NULL;

    if (is_error(at, error) && errors[at].text)
        return errors[at].text;
    if (!is_error(at, error) || cuGetErrorString((CUresult)error, &text) || !text)
        return "unrecognized error code";
    return text;
}
