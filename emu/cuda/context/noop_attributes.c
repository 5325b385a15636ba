/* SPDX-License-Identifier: Apache-2.0
 *
 * Settings that a driver keeps and that mean nothing here: core dumps of kernels, and attributes of
 * streams. They are checked, kept where they can be asked for, and given back.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "emu/cuda/core/context.h"
#include "emu/cuda/core/emu.h"
#include "emu/cuda/stream/stream.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* ---- core dumps ---- */

#define NAME_MAX_SIZE 1024

static bool core_flags[CU_COREDUMP_MAX];
static char core_names[CU_COREDUMP_MAX][NAME_MAX_SIZE];
static unsigned core_generation;

static bool is_name(CUcoredumpSettings attribute)
{
    return attribute == CU_COREDUMP_FILE || attribute == CU_COREDUMP_PIPE;
}

static size_t setting_size(CUcoredumpSettings attribute)
{
    return is_name(attribute)                          ? NAME_MAX_SIZE
           : attribute == CU_COREDUMP_GENERATION_FLAGS ? sizeof(core_generation)
                                                       : sizeof(bool);
}

static void *setting(CUcoredumpSettings attribute)
{
    return is_name(attribute)                          ? (void *)core_names[attribute]
           : attribute == CU_COREDUMP_GENERATION_FLAGS ? (void *)&core_generation
                                                       : (void *)&core_flags[attribute];
}

static bool is_setting(CUcoredumpSettings attribute)
{
    return attribute >= CU_COREDUMP_ENABLE_ON_EXCEPTION && attribute < CU_COREDUMP_MAX;
}

CUresult cuCoredumpGetAttributeGlobal(CUcoredumpSettings attrib, void *value, size_t *size)
{
    CUresult result = emu_ready();

    if (!result && (!is_setting(attrib) || !size))
        result = CUDA_ERROR_INVALID_VALUE;
    if (result)
        return result;
    pthread_mutex_lock(&lock);
    if (value && *size)
        memcpy(value, setting(attrib), *size < setting_size(attrib) ? *size : setting_size(attrib));
    *size = is_name(attrib) ? strlen(core_names[attrib]) + 1 : setting_size(attrib);
    pthread_mutex_unlock(&lock);
    return CUDA_SUCCESS;
}

CUresult cuCoredumpSetAttributeGlobal(CUcoredumpSettings attrib, void *value, size_t *size)
{
    CUresult result = emu_ready();

    if (!result && (!is_setting(attrib) || !value || !size || *size > setting_size(attrib) ||
                    (!is_name(attrib) && *size != setting_size(attrib))))
        result = CUDA_ERROR_INVALID_VALUE;
    if (result)
        return result;
    pthread_mutex_lock(&lock);
    memcpy(setting(attrib), value, *size);
    if (is_name(attrib))
        core_names[attrib][*size < NAME_MAX_SIZE ? *size : NAME_MAX_SIZE - 1] = 0;
    pthread_mutex_unlock(&lock);
    return CUDA_SUCCESS;
}

/* One set for all contexts. */
CUresult cuCoredumpGetAttribute(CUcoredumpSettings attrib, void *value, size_t *size)
{
    CUcontext context;
    CUresult result = emu_enter(&context);

    return result ? result : cuCoredumpGetAttributeGlobal(attrib, value, size);
}

CUresult cuCoredumpSetAttribute(CUcoredumpSettings attrib, void *value, size_t *size)
{
    CUcontext context;
    CUresult result = emu_enter(&context);

    return result ? result : cuCoredumpSetAttributeGlobal(attrib, value, size);
}

/* ---- attributes of streams ---- */

static CUresult get_attribute(CUstream handle, CUstreamAttrID attribute, CUstreamAttrValue *out,
                              bool per_thread)
{
    CUstream stream;
    CUresult result = emu_stream_enter(&stream, handle, per_thread);

    if (!result && !out)
        result = CUDA_ERROR_INVALID_VALUE;
    if (result)
        return result;
    memset(out, 0, sizeof(*out));
    switch ((int)attribute) {
    case CU_LAUNCH_ATTRIBUTE_PRIORITY:
        out->priority = stream->priority;
        return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY:
        out->syncPolicy = stream->sync_policy ? (CUsynchronizationPolicy)stream->sync_policy
                                              : CU_SYNC_POLICY_AUTO;
        return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
        return CUDA_SUCCESS;
    }
    return CUDA_ERROR_INVALID_VALUE;
}

static CUresult set_attribute(CUstream handle, CUstreamAttrID attribute,
                              const CUstreamAttrValue *value, bool per_thread)
{
    CUstreamAttrValue before;
    CUstream stream;
    CUresult result = emu_stream_enter(&stream, handle, per_thread);

    if (!result && !value)
        result = CUDA_ERROR_INVALID_VALUE;
    if (!result)
        result = get_attribute(handle, attribute, &before, per_thread);
    if (!result && attribute == CU_LAUNCH_ATTRIBUTE_PRIORITY)
        stream->priority = value->priority;
    if (!result && attribute == CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY)
        stream->sync_policy = (int)value->syncPolicy;
    return result;
}

static CUresult copy_attributes(CUstream to_handle, CUstream from_handle, bool per_thread)
{
    CUstream to, from;
    CUresult result = emu_stream_enter(&to, to_handle, per_thread);

    if (!result)
        result = emu_stream_enter(&from, from_handle, per_thread);
    if (result)
        return result;
    to->priority = from->priority;
    to->sync_policy = from->sync_policy;
    return CUDA_SUCCESS;
}

CUresult cuStreamGetAttribute(CUstream hStream, CUstreamAttrID attr, CUstreamAttrValue *value)
{
    return get_attribute(hStream, attr, value, false);
}

CUresult cuStreamGetAttribute_ptsz(CUstream hStream, CUstreamAttrID attr, CUstreamAttrValue *value)
{
    return get_attribute(hStream, attr, value, true);
}

CUresult cuStreamSetAttribute(CUstream hStream, CUstreamAttrID attr, const CUstreamAttrValue *param)
{
    return set_attribute(hStream, attr, param, false);
}

CUresult cuStreamSetAttribute_ptsz(CUstream hStream, CUstreamAttrID attr,
                                   const CUstreamAttrValue *param)
{
    return set_attribute(hStream, attr, param, true);
}

CUresult cuStreamCopyAttributes(CUstream dstStream, CUstream srcStream)
{
    return copy_attributes(dstStream, srcStream, false);
}

CUresult cuStreamCopyAttributes_ptsz(CUstream dstStream, CUstream srcStream)
{
    return copy_attributes(dstStream, srcStream, true);
}
