/* SPDX-License-Identifier: Apache-2.0
 *
 * Nothing works before cuInit(); devices say what they are.
 */
#include "tests/emu/emu_test.h"

int main(void)
{
    int count, version, major, minor, value;
    char name[64], bus[32];
    CUdevice device;
    CUuuid uuid;
    size_t size;

    FAILS(cuDeviceGetCount(&count), CUDA_ERROR_NOT_INITIALIZED);
    OK(cuDriverGetVersion(&version));
    CHECK_EQ_INT(version, 13000);
    FAILS(cuInit(1), CUDA_ERROR_INVALID_VALUE);
    OK(cuInit(0));
    OK(cuInit(0));

    OK(cuDeviceGetCount(&count));
    CHECK_EQ_INT(count, 1);
    OK(cuDeviceGet(&device, 0));
    FAILS(cuDeviceGet(&device, 1), CUDA_ERROR_INVALID_DEVICE);
    OK(cuDeviceGetName(name, sizeof(name), device));
    CHECK_EQ_STR(name, "TraceSmith software GPU");
    OK(cuDeviceComputeCapability(&major, &minor, device));
    CHECK_EQ_INT(major * 10 + minor, 75);
    OK(cuDeviceTotalMem_v2(&size, device));
    CHECK_EQ_INT(size, 4ll << 30);
    OK(cuDeviceGetUuid_v2(&uuid, device));
    OK(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_WARP_SIZE, device));
    CHECK_EQ_INT(value, 32);
    FAILS(cuDeviceGetAttribute(&value, 100000, device), CUDA_ERROR_INVALID_VALUE);
    OK(cuDeviceGetPCIBusId(bus, sizeof(bus), device));
    CHECK_EQ_STR(bus, "0000:01:00.0");
    device = -1;
    OK(cuDeviceGetByPCIBusId(&device, bus));
    CHECK_EQ_INT(device, 0);
    FAILS(cuDeviceGetByPCIBusId(&device, "0000:77:00.0"), CUDA_ERROR_INVALID_DEVICE);
    return check_result();
}
