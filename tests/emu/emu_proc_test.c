/* SPDX-License-Identifier: Apache-2.0
 *
 * cuGetProcAddress gives the export of the asked version and kind of default stream.
 */
#include <dlfcn.h>

#include "tests/emu/emu_test.h"

static void expect(const char *name, int version, cuuint64_t flags, const char *export)
{
    void *got = NULL, *wanted = dlsym(RTLD_DEFAULT, export);
    CUdriverProcAddressQueryResult status = 99;

    OK(cuGetProcAddress_v2(name, &got, version, flags, &status));
    CHECK_EQ_INT(status, CU_GET_PROC_ADDRESS_SUCCESS);
    if (!CHECK(wanted && got == wanted))
        fprintf(stderr, "%s %d %llu is not %s\n", name, version, (unsigned long long)flags, export);
}

int main(void)
{
    CUdriverProcAddressQueryResult status;
    const void *table;
    CUuuid id = {{0}};
    void *p;

    expect("cuInit", 2000, 0, "cuInit");
    expect("cuMemAlloc", 3010, 0, "cuMemAlloc");
    expect("cuMemAlloc", 3020, 0, "cuMemAlloc_v2");
    expect("cuMemAlloc", 13000, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, "cuMemAlloc_v2");
    expect("cuMemcpyHtoD", 12000, CU_GET_PROC_ADDRESS_LEGACY_STREAM, "cuMemcpyHtoD_v2");
    expect("cuMemcpyHtoD", 12000, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM,
           "cuMemcpyHtoD_v2_ptds");
    expect("cuLaunchKernel", 12000, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM,
           "cuLaunchKernel_ptsz");
    expect("cuCtxCreate", 13000, 0, "cuCtxCreate_v4");
    expect("cuGetProcAddress", 12000, 0, "cuGetProcAddress_v2");
    expect("cuGetProcAddress", 11030, 0, "cuGetProcAddress");

    OK(cuGetProcAddress_v2("cuMemAllocAsync", &p, 11010, 0, &status));
    CHECK_EQ_INT(status, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
    CHECK(!p);
    OK(cuGetProcAddress_v2("cuNothing", &p, 13000, 0, &status));
    CHECK_EQ_INT(status, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
    FAILS(cuGetProcAddress("cuNothing", &p, 13000, 0), CUDA_ERROR_NOT_FOUND);
    FAILS(cuGetProcAddress_v2("cuInit", &p, 99000, 0, NULL), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuGetExportTable(&table, &id), CUDA_ERROR_NOT_FOUND);
    return check_result();
}
