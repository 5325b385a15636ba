/* SPDX-License-Identifier: Apache-2.0 */
#include "export/sqlite/nsys_forms.h"

#define WHEN "start INTEGER NOT NULL, end INTEGER NOT NULL, "
#define PLACE                                                                                      \
    "deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, greenContextId INTEGER, "              \
    "streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, "
#define LABELS "id INTEGER NOT NULL PRIMARY KEY, name TEXT, label TEXT"
#define PAIRS  "name TEXT NOT NULL, value TEXT"

const struct tsm_table_form tsm_nsys_forms[NSYS_TABLE_COUNT] = {
    [NSYS_STRINGS] = {"StringIds", "id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL"},
    [NSYS_RUNTIME] = {"CUPTI_ACTIVITY_KIND_RUNTIME",
                      WHEN "eventClass INTEGER NOT NULL, globalTid INTEGER, correlationId INTEGER, "
                           "nameId INTEGER NOT NULL, returnValue INTEGER NOT NULL, "
                           "callchainId INTEGER"},
    [NSYS_KERNEL] = {"CUPTI_ACTIVITY_KIND_KERNEL", WHEN PLACE
                     "demangledName INTEGER NOT NULL, shortName INTEGER NOT NULL, "
                     "mangledName INTEGER, launchType INTEGER, cacheConfig INTEGER, "
                     "registersPerThread INTEGER, gridX INTEGER NOT NULL, gridY INTEGER NOT NULL, "
                     "gridZ INTEGER NOT NULL, blockX INTEGER NOT NULL, blockY INTEGER NOT NULL, "
                     "blockZ INTEGER NOT NULL, staticSharedMemory INTEGER, "
                     "dynamicSharedMemory INTEGER NOT NULL, localMemoryPerThread INTEGER, "
                     "localMemoryTotal INTEGER, gridId INTEGER NOT NULL, "
                     "sharedMemoryExecuted INTEGER, graphNodeId INTEGER, "
                     "sharedMemoryLimitConfig INTEGER"},
    [NSYS_MEMCPY] = {"CUPTI_ACTIVITY_KIND_MEMCPY", WHEN PLACE
                     "bytes INTEGER NOT NULL, copyKind INTEGER NOT NULL, deprecatedSrcId INTEGER, "
                     "srcKind INTEGER, dstKind INTEGER, srcDeviceId INTEGER, srcContextId INTEGER, "
                     "dstDeviceId INTEGER, dstContextId INTEGER, migrationCause INTEGER, "
                     "graphNodeId INTEGER, virtualAddress INTEGER"},
    [NSYS_MEMSET] = {"CUPTI_ACTIVITY_KIND_MEMSET",
                     WHEN PLACE "value INTEGER, bytes INTEGER NOT NULL, graphNodeId INTEGER, "
                                "memKind INTEGER"},
    [NSYS_GRAPH_TRACE] = {"CUPTI_ACTIVITY_KIND_GRAPH_TRACE",
                          WHEN PLACE "graphId INTEGER, graphExecId INTEGER NOT NULL"},
    [NSYS_SYNCHRONIZATION] = {"CUPTI_ACTIVITY_KIND_SYNCHRONIZATION",
                              WHEN PLACE "syncType INTEGER NOT NULL, eventId INTEGER NOT NULL"},
    [NSYS_CUDA_EVENT] =
        {"CUPTI_ACTIVITY_KIND_CUDA_EVENT",
         "timestamp INTEGER, deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, "
         "greenContextId INTEGER, streamId INTEGER NOT NULL, correlationId INTEGER, "
         "globalPid INTEGER, eventId INTEGER NOT NULL"},
    [NSYS_MEMORY_USAGE] =
        {"CUDA_GPU_MEMORY_USAGE_EVENTS",
         "start INTEGER NOT NULL, globalPid INTEGER NOT NULL, "
         "deviceId INTEGER, contextId INTEGER, address INTEGER NOT NULL, "
         "pc INTEGER, bytes INTEGER NOT NULL, memKind INTEGER NOT NULL, "
         "memoryOperationType INTEGER NOT NULL, name TEXT, correlationId INTEGER, "
         "streamId INTEGER, localMemoryPoolAddress INTEGER, "
         "localMemoryPoolReleaseThreshold INTEGER, localMemoryPoolSize INTEGER, "
         "localMemoryPoolUtilizedSize INTEGER, importedMemoryPoolAddress INTEGER, "
         "importedMemoryPoolProcessId INTEGER"},
    [NSYS_CALLCHAINS] = {"CUDA_CALLCHAINS",
                         "id INTEGER NOT NULL, symbol INTEGER NOT NULL, module INTEGER NOT NULL, "
                         "unresolved INTEGER, originalIP INTEGER, stackDepth INTEGER NOT NULL"},
    [NSYS_NVTX] =
        {"NVTX_EVENTS",
         "start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL, rangeId INTEGER, "
         "category INTEGER, color INTEGER, text TEXT, globalTid INTEGER, "
         "endGlobalTid INTEGER, textId INTEGER, domainId INTEGER, uint64Value INTEGER, "
         "int64Value INTEGER, doubleValue REAL, uint32Value INTEGER, int32Value INTEGER, "
         "floatValue REAL, jsonTextId INTEGER, jsonText TEXT, binaryData TEXT"},
    [NSYS_THREADS] = {"ThreadNames",
                      "nameId INTEGER NOT NULL, priority INTEGER, globalTid INTEGER"},
    [NSYS_PROCESSES] = {"PROCESSES", "globalPid INTEGER, pid INTEGER, name TEXT"},
    [NSYS_GPU] =
        {"TARGET_INFO_GPU",
         "vmId INTEGER NOT NULL, id INTEGER NOT NULL, name TEXT, busLocation TEXT, "
         "isDiscrete INTEGER, l2CacheSize INTEGER, totalMemory INTEGER, "
         "memoryBandwidth INTEGER, clockRate INTEGER, smCount INTEGER, pwGpuId INTEGER, "
         "uuid TEXT, luid INTEGER, chipName TEXT, cuDevice INTEGER, ctxswDevPath TEXT, "
         "ctrlDevPath TEXT, revision INTEGER, nodeMask INTEGER, constantMemory INTEGER, "
         "maxIPC INTEGER, maxRegistersPerBlock INTEGER, maxShmemPerBlock INTEGER, "
         "maxShmemPerBlockOptin INTEGER, maxShmemPerSm INTEGER, maxRegistersPerSm INTEGER, "
         "threadsPerWarp INTEGER, asyncEngines INTEGER, maxWarpsPerSm INTEGER, "
         "maxBlocksPerSm INTEGER, maxThreadsPerBlock INTEGER, maxBlockDimX INTEGER, "
         "maxBlockDimY INTEGER, maxBlockDimZ INTEGER, maxGridDimX INTEGER, "
         "maxGridDimY INTEGER, maxGridDimZ INTEGER, computeMajor INTEGER, "
         "computeMinor INTEGER, smMajor INTEGER, smMinor INTEGER"},
    [NSYS_NVTX_DEVICE] = {"TARGET_INFO_NVTX_CUDA_DEVICE",
                          "name TEXT NOT NULL, hwId INTEGER NOT NULL, vmId INTEGER NOT NULL, "
                          "deviceId INTEGER NOT NULL"},
    [NSYS_STREAM] = {"TARGET_INFO_CUDA_STREAM",
                     "streamId INTEGER NOT NULL, hwId INTEGER NOT NULL, vmId INTEGER NOT NULL, "
                     "processId INTEGER NOT NULL, contextId INTEGER NOT NULL, priority INTEGER, "
                     "flag INTEGER"},
    [NSYS_CONTEXT] =
        {"TARGET_INFO_CUDA_CONTEXT_INFO",
         "nullStreamId INTEGER, hwId INTEGER NOT NULL, vmId INTEGER NOT NULL, "
         "processId INTEGER NOT NULL, deviceId INTEGER NOT NULL, "
         "contextId INTEGER NOT NULL, parentContextId INTEGER, isGreenContext INTEGER"},
    [NSYS_START] = {"TARGET_INFO_SESSION_START_TIME",
                    "utcEpochNs INTEGER, utcTime TEXT, localTime TEXT"},
    [NSYS_ANALYSIS] = {"ANALYSIS_DETAILS", "globalVid INTEGER NOT NULL, duration INTEGER NOT NULL, "
                                           "startTime INTEGER NOT NULL, stopTime INTEGER NOT NULL"},
    [NSYS_EXPORT] = {"META_DATA_EXPORT", PAIRS},
    [NSYS_CAPTURE] = {"META_DATA_CAPTURE", PAIRS},
    [NSYS_DIAGNOSTIC] = {"DIAGNOSTIC_EVENT",
                         "timestamp INTEGER NOT NULL, timestampType INTEGER NOT NULL, "
                         "source INTEGER NOT NULL, severity INTEGER NOT NULL, text TEXT NOT NULL, "
                         "globalPid INTEGER"},
    [NSYS_OWN_CALL] = {"TRACESMITH_CALL",
                       "seq INTEGER PRIMARY KEY, start INTEGER NOT NULL, end INTEGER NOT NULL, "
                       "api TEXT NOT NULL, globalTid INTEGER, nameId INTEGER NOT NULL, "
                       "returnValue INTEGER NOT NULL, callchainId INTEGER"},
    [NSYS_OWN_COMMAND] = {"TRACESMITH_COMMAND",
                          "seq INTEGER NOT NULL, part INTEGER NOT NULL, "
                          "start INTEGER, end INTEGER, api TEXT NOT NULL, work TEXT NOT NULL, "
                          "nameId INTEGER NOT NULL, device TEXT, streamId INTEGER NOT NULL, "
                          "position INTEGER NOT NULL, bytes INTEGER, labelId INTEGER"},
    [NSYS_OWN_TIME] = {"TRACESMITH_TIME",
                       "seq INTEGER NOT NULL, part INTEGER NOT NULL, "
                       "kind TEXT NOT NULL, clock TEXT NOT NULL, error INTEGER NOT NULL, "
                       "isAtMost INTEGER NOT NULL"},
    [NSYS_OWN_STATE] = {"TRACESMITH_STATE",
                        "start INTEGER NOT NULL, end INTEGER NOT NULL, subject TEXT NOT NULL, "
                        "state TEXT NOT NULL, reason TEXT, seq INTEGER, bySeq INTEGER"},
    [NSYS_ENUM_CLASS] = {"ENUM_NSYS_EVENT_CLASS", LABELS},
    [NSYS_ENUM_TYPE] = {"ENUM_NSYS_EVENT_TYPE", LABELS},
    [NSYS_ENUM_MEMCPY] = {"ENUM_CUDA_MEMCPY_OPER", LABELS},
    [NSYS_ENUM_MEM_KIND] = {"ENUM_CUDA_MEM_KIND", LABELS},
    [NSYS_ENUM_MEM_OPER] = {"ENUM_CUDA_DEV_MEM_EVENT_OPER", LABELS},
    [NSYS_ENUM_SYNC] = {"ENUM_CUPTI_SYNC_TYPE", LABELS},
    [NSYS_ENUM_LAUNCH] = {"ENUM_CUDA_KERNEL_LAUNCH_TYPE", LABELS},
    [NSYS_ENUM_STREAM] = {"ENUM_CUPTI_STREAM_TYPE", LABELS},
    [NSYS_ENUM_SEVERITY] = {"ENUM_DIAGNOSTIC_SEVERITY_LEVEL", LABELS},
};

const struct tsm_nsys_label tsm_nsys_labels[] = {
    {NSYS_ENUM_CLASS, 0, "TRACE_PROCESS_EVENT_CUDA_RUNTIME", "CUDA runtime"},
    {NSYS_ENUM_CLASS, 1, "TRACE_PROCESS_EVENT_CUDA_DRIVER", "CUDA driver"},
    {NSYS_ENUM_TYPE, 33, "NvtxCategory", "NvtxCategory"},
    {NSYS_ENUM_TYPE, 34, "NvtxMark", "NvtxMark"},
    {NSYS_ENUM_TYPE, 59, "NvtxPushPopRange", "NvtxPushPopRange"},
    {NSYS_ENUM_TYPE, 60, "NvtxStartEndRange", "NvtxStartEndRange"},
    {NSYS_ENUM_TYPE, 75, "NvtxDomainCreate", "NvtxDomainCreate"},
    {NSYS_ENUM_MEMCPY, 0, "CUDA_MEMCPY_KIND_UNKNOWN", "Unknown"},
    {NSYS_ENUM_MEMCPY, 1, "CUDA_MEMCPY_KIND_HTOD", "Host-to-Device"},
    {NSYS_ENUM_MEMCPY, 2, "CUDA_MEMCPY_KIND_DTOH", "Device-to-Host"},
    {NSYS_ENUM_MEMCPY, 3, "CUDA_MEMCPY_KIND_HTOA", "Host-to-Array"},
    {NSYS_ENUM_MEMCPY, 4, "CUDA_MEMCPY_KIND_ATOH", "Array-to-Host"},
    {NSYS_ENUM_MEMCPY, 5, "CUDA_MEMCPY_KIND_ATOA", "Array-to-Array"},
    {NSYS_ENUM_MEMCPY, 6, "CUDA_MEMCPY_KIND_ATOD", "Array-to-Device"},
    {NSYS_ENUM_MEMCPY, 7, "CUDA_MEMCPY_KIND_DTOA", "Device-to-Array"},
    {NSYS_ENUM_MEMCPY, 8, "CUDA_MEMCPY_KIND_DTOD", "Device-to-Device"},
    {NSYS_ENUM_MEMCPY, 9, "CUDA_MEMCPY_KIND_HTOH", "Host-to-Host"},
    {NSYS_ENUM_MEMCPY, 10, "CUDA_MEMCPY_KIND_PTOP", "Peer-to-Peer"},
    {NSYS_ENUM_MEM_KIND, 0, "CUDA_MEMOPR_MEMORY_KIND_PAGEABLE", "Pageable"},
    {NSYS_ENUM_MEM_KIND, 1, "CUDA_MEMOPR_MEMORY_KIND_PINNED", "Pinned"},
    {NSYS_ENUM_MEM_KIND, 2, "CUDA_MEMOPR_MEMORY_KIND_DEVICE", "Device"},
    {NSYS_ENUM_MEM_KIND, 3, "CUDA_MEMOPR_MEMORY_KIND_ARRAY", "Array"},
    {NSYS_ENUM_MEM_KIND, 4, "CUDA_MEMOPR_MEMORY_KIND_MANAGED", "Managed"},
    {NSYS_ENUM_MEM_KIND, 5, "CUDA_MEMOPR_MEMORY_KIND_DEVICE_STATIC", "Device Static"},
    {NSYS_ENUM_MEM_KIND, 6, "CUDA_MEMOPR_MEMORY_KIND_MANAGED_STATIC", "Managed Static"},
    {NSYS_ENUM_MEM_KIND, 7, "CUDA_MEMOPR_MEMORY_KIND_UNKNOWN", "Unknown"},
    {NSYS_ENUM_MEM_OPER, 0, "CUDA_DEV_MEM_EVENT_OPR_ALLOCATION", "Allocation"},
    {NSYS_ENUM_MEM_OPER, 1, "CUDA_DEV_MEM_EVENT_OPR_DEALLOCATION", "Deallocation"},
    {NSYS_ENUM_SYNC, 0, "CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_UNKNOWN", "Unknown"},
    {NSYS_ENUM_SYNC, 1, "CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_EVENT_SYNCHRONIZE", "Event sync"},
    {NSYS_ENUM_SYNC, 2, "CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT",
     "Stream wait sync"},
    {NSYS_ENUM_SYNC, 3, "CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE", "Stream sync"},
    {NSYS_ENUM_SYNC, 4, "CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE", "Context sync"},
    {NSYS_ENUM_LAUNCH, 0, "CUDA_KERNEL_LAUNCH_TYPE_UNKNOWN", "Unknown"},
    {NSYS_ENUM_LAUNCH, 1, "CUDA_KERNEL_LAUNCH_TYPE_REGULAR", "Regular"},
    {NSYS_ENUM_STREAM, 0, "CUPTI_ACTIVITY_STREAM_CREATE_FLAG_UNKNOWN", "Unknown stream"},
    {NSYS_ENUM_STREAM, 1, "CUPTI_ACTIVITY_STREAM_CREATE_FLAG_DEFAULT", "Default stream"},
    {NSYS_ENUM_STREAM, 2, "CUPTI_ACTIVITY_STREAM_CREATE_FLAG_NON_BLOCKING", "Non-blocking stream"},
    {NSYS_ENUM_STREAM, 3, "CUPTI_ACTIVITY_STREAM_CREATE_FLAG_NULL", "Null stream"},
    {NSYS_ENUM_SEVERITY, 0, "INFORMATION", "Information"},
    {NSYS_ENUM_SEVERITY, 1, "WARNING", "Warning"},
    {NSYS_ENUM_SEVERITY, 2, "ERROR", "Error"},
};

const size_t tsm_nsys_label_count = sizeof(tsm_nsys_labels) / sizeof(*tsm_nsys_labels);
