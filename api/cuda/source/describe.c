/* SPDX-License-Identifier: Apache-2.0
 *
 * Facts about the driver and its devices, for the trace's metadata: a replayer compares them with
 * what it finds.
 */
#include "api/cuda/source/source.h"

#include "base/text.h"
#include "api/cuda/source/cupti/cupti.h"
#include "api/cuda/source/emu_times.h"
#include "api/cuda/source/encode.h"
#include "api/cuda/cuda_hooks.h"
#include "api/cuda/cuda_wrappers.h"

#include <stdatomic.h>
#include <string.h>

#define DEVICE_MAX 64

static atomic_bool described; /* in this session */

static void say(int index, const char *what, const char *value)
{
    char name[64];

    tsm_format(name, sizeof(name), "cuda.device.%d.%s", index, what);
    tsm_session_metadata(name, value);
}

static void say_attribute(int index, CUdevice device, const char *what,
                          CUdevice_attribute attribute)
{
    char text[32];
    int value;

    if (real.cuDeviceGetAttribute(&value, attribute, device) != CUDA_SUCCESS)
        return;
    tsm_format(text, sizeof(text), "%d", value);
    say(index, what, text);
}

static void say_uuid(int index, CUdevice device)
{
    char text[sizeof(CUuuid) * 2 + 1];
    CUuuid uuid;

    if (real.cuDeviceGetUuid_v2(&uuid, device) != CUDA_SUCCESS &&
        real.cuDeviceGetUuid(&uuid, device) != CUDA_SUCCESS)
        return;
    for (size_t i = 0; i < sizeof(uuid.bytes); i++)
        tsm_format(text + 2 * i, 3, "%02x", (unsigned char)uuid.bytes[i]);
    say(index, "uuid", text);
}

static void say_device(int index)
{
    char text[256];
    size_t memory;
    CUdevice device;

    if (real.cuDeviceGet(&device, index) != CUDA_SUCCESS)
        return;
    if (real.cuDeviceGetName(text, sizeof(text), device) == CUDA_SUCCESS)
        say(index, "name", text);
    if (real.cuDeviceTotalMem_v2(&memory, device) == CUDA_SUCCESS) {
        tsm_format(text, sizeof(text), "%zu", memory);
        say(index, "memory", text);
    }
    say_attribute(index, device, "compute_capability_major",
                  CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
    say_attribute(index, device, "compute_capability_minor",
                  CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
    say_attribute(index, device, "multiprocessor_count", CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
    say_uuid(index, device);
}

void cuda_describe(void)
{
    int version, count = 0;
    char text[32];

    if (atomic_exchange(&described, true))
        return;
    cuda_emu_times_bind();
    cuda_gpu_time_wanted =
        tsm_session_settings()->gpu_time || (tsm_session_settings()->accesses && cuda_emu_times);
    tsm_inside_enter();
    if (tsm_session_settings()->gpu_time && cuda_emu_times && cuda_emu_times->machine)
        tsm_session_metadata("cuda.machine_description", cuda_emu_times->machine);
    if (tsm_session_settings()->gpu_time_cupti)
        cuda_cupti_begin_session();
    if (real.cuDriverGetVersion(&version) == CUDA_SUCCESS) {
        tsm_format(text, sizeof(text), "%d", version);
        tsm_session_metadata("cuda.driver_version", text);
    }
    if (real.cuDeviceGetCount(&count) == CUDA_SUCCESS) {
        tsm_format(text, sizeof(text), "%d", count);
        tsm_session_metadata("cuda.device_count", text);
    }
    for (int i = 0; i < count && i < DEVICE_MAX; i++)
        say_device(i);
    tsm_inside_leave();
}

void cuda_describe_again(void)
{
    atomic_store(&described, false);
}

void cuda_after_init(struct tsm_call *call, bool ok, unsigned int flags)
{
    if (!ok)
        return;
    cuda_emu_times_bind();
    cuda_describe();
}
