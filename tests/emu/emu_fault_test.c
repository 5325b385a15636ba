/* SPDX-License-Identifier: Apache-2.0
 *
 * A kernel that fails spoils its context and no other, until that is destroyed; what was after it
 * does not run.
 */
#include <dlfcn.h>
#include <stdatomic.h>
#include <unistd.h>

#include "api/cuda/abi_outcomes.h"
#include "api/cuda/abi_times.h"
#include "tests/emu/emu_kernels.h"
#include "tests/emu/emu_test.h"

static atomic_int gate; /* holds the failure back until all is sent */
static int told;

static void wait_at_gate(void *data)
{
    while (!atomic_load(&gate))
        usleep(1000);
}

static void tell(CUstream stream, CUresult status, void *data)
{
    told = (int)status;
}

static void store(CUmodule m, CUdeviceptr where, unsigned value)
{
    void *params[] = {&where, &value};
    CUfunction f;

    OK(cuModuleGetFunction(&f, m, "store"));
    OK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
}

/* Two of three kernels have no times: the second one fails, and the third does not run. */
static void check_times(struct tsm_emu_ticket *const *tickets)
{
    const struct tsm_emu_times *times =
        ((tsm_emu_times_function)dlsym(RTLD_DEFAULT, TSM_EMU_TIMES_SYMBOL))();
    uint64_t start_ns, end_ns;

    for (int i = 0; i < 3; i++)
        CHECK_EQ_INT(times->read(tickets[i], &start_ns, &end_ns),
                     i ? TSM_EMU_TIMES_NONE : TSM_EMU_TIMES_KNOWN);
}

static struct tsm_emu_ticket *store_timed(CUmodule m, CUdeviceptr where, unsigned value)
{
    const struct tsm_emu_times *times =
        ((tsm_emu_times_function)dlsym(RTLD_DEFAULT, TSM_EMU_TIMES_SYMBOL))();
    const struct tsm_emu_outcomes *outcomes =
        ((tsm_emu_outcomes_function)dlsym(RTLD_DEFAULT, TSM_EMU_OUTCOMES_SYMBOL))();
    struct tsm_emu_ticket *ticket = times->begin();

    outcomes->mark(value);
    store(m, where, value);
    outcomes->mark(0);
    times->end(ticket);
    return ticket;
}

/* The device says which command failed, of the one context that has. */
static void check_failure(CUcontext good, CUcontext bad, unsigned marked)
{
    const struct tsm_emu_outcomes *outcomes =
        ((tsm_emu_outcomes_function)dlsym(RTLD_DEFAULT, TSM_EMU_OUTCOMES_SYMBOL))();
    uint64_t number = 0;
    int result = 0;

    CHECK(!outcomes->failure(good, &result, &number));
    CHECK(outcomes->failure(bad, &result, &number));
    CHECK_EQ_INT(result, CUDA_ERROR_ILLEGAL_ADDRESS);
    CHECK_EQ_INT(number, marked);
}

int main(void)
{
    struct tsm_emu_ticket *tickets[3];
    CUcontext good = test_context(), bad;
    CUdeviceptr p, freed;
    CUmodule m;
    CUstream s;
    int value = 0;

    OK(cuMemAllocManaged(&p, 4, CU_MEM_ATTACH_GLOBAL));
    OK(cuCtxCreate_v2(&bad, 0, 0));
    OK(cuModuleLoadData(&m, PTX_HEAD PTX_STORE));
    OK(cuMemAlloc_v2(&freed, 4));
    OK(cuMemFree_v2(freed));
    tickets[0] = store_timed(m, p, 1);
    OK(cuCtxSynchronize());
    OK(cuLaunchHostFunc(NULL, wait_at_gate, NULL));
    tickets[1] = store_timed(m, freed, 2);
    tickets[2] = store_timed(m, p, 3);
    OK(cuStreamAddCallback(NULL, tell, NULL, 0));
    atomic_store(&gate, 1);
    FAILS(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
    CHECK_EQ_INT(told, CUDA_ERROR_ILLEGAL_ADDRESS);
    check_times(tickets);
    check_failure(good, bad, 2);
    FAILS(cuMemAlloc_v2(&freed, 4), CUDA_ERROR_ILLEGAL_ADDRESS);
    FAILS(cuStreamCreate(&s, 0), CUDA_ERROR_ILLEGAL_ADDRESS);
    FAILS(cuStreamSynchronize(NULL), CUDA_ERROR_ILLEGAL_ADDRESS);
    OK(cuCtxDestroy_v2(bad));

    OK(cuCtxSynchronize());
    OK(cuMemcpyDtoH_v2(&value, p, 4));
    CHECK_EQ_INT(value, 1);
    OK(cuCtxDestroy_v2(good));
    return check_result();
}
