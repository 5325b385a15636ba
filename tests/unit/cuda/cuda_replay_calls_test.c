/* SPDX-License-Identifier: Apache-2.0
 *
 * Generated replay functions: which slot goes where, what is made and gone, and that the driver is
 * not called with arguments that could not be had. The backend is a fake one.
 */
#include "api/cuda/cuda_replay_calls.h"
#include "tests/unit/check.h"

#include "tracesmith/error.h"

_Static_assert(CU_GRAPH_NODE_TYPE_HOST == 3, "in analysis/graph_functions.c");
_Static_assert(CU_GRAPH_NODE_TYPE_GRAPH == 4, "in analysis/graph_functions.c");
_Static_assert(CU_GRAPH_NODE_TYPE_CONDITIONAL == 13, "in analysis/graph_functions.c");

static struct cuda_real driver;
static int fail_args;           /* error that reading arguments gives */
static uint64_t made, gone;     /* raw value made; slot of what is gone, + 1 */
static CUdeviceptr got_address; /* what the driver was called with */
static const void *got_bytes;
static size_t got_size;
static unsigned calls, sends;

static const uint64_t slots[] = {10, 11, 12, 13, 14, 15, 16, 17};
static const char bytes[16];

/* ---- the backend ---------------------------------------------------------------------------- */

void cuda_args_begin(struct cuda_args *args, struct cuda_replay *replay,
                     const struct sbt_record *record, uint32_t slot_count)
{
    *args = (struct cuda_args){.driver = &driver, .record = record, .error = fail_args};
}

void cuda_args_send(struct cuda_args *args)
{
    sends++;
    CHECK_EQ_INT(calls, 0); /* the driver's function comes next */
}

void cuda_args_place(struct cuda_args *args)
{
    CHECK_EQ_INT(args->error, 0);
    CHECK_EQ_INT(calls, 0);
}

int cuda_args_end(struct cuda_args *args, CUresult result)
{
    return result == CUDA_SUCCESS ? 0 : TSM_E_DEVICE;
}

uint64_t cuda_arg(struct cuda_args *args, uint32_t slot)
{
    return slots[slot];
}

float cuda_arg_f32(struct cuda_args *args, uint32_t slot)
{
    return 0.5f;
}

void *cuda_arg_handle(struct cuda_args *args, uint32_t slot, enum cuda_object object)
{
    return (void *)(size_t)(slots[slot] * 10);
}

CUdeviceptr cuda_arg_address(struct cuda_args *args, uint32_t slot)
{
    return slots[slot] + 0x1000;
}

CUdevice cuda_arg_device(struct cuda_args *args, uint32_t slot)
{
    return 0;
}

CUstream cuda_arg_stream(struct cuda_args *args)
{
    return NULL;
}

CUstream cuda_arg_stream_number(struct cuda_args *args, uint32_t slot)
{
    return NULL;
}

const char *cuda_arg_string(struct cuda_args *args, uint32_t slot)
{
    return "name";
}

const void *cuda_arg_bytes(struct cuda_args *args, uint32_t slot, size_t size)
{
    return bytes;
}

const void *cuda_arg_payload(struct cuda_args *args, uint32_t slot, size_t size)
{
    return cuda_arg_blob(args, slot + 1, size);
}

const void *cuda_arg_blob(struct cuda_args *args, uint32_t slot, size_t size)
{
    got_size = size;
    return bytes + slot;
}

void *cuda_arg_readback(struct cuda_args *args, size_t size)
{
    return NULL;
}

void cuda_arg_created(struct cuda_args *args, uint32_t slot, enum cuda_object object,
                      const void *raw)
{
    made = (uint64_t)(size_t)raw;
}

void cuda_arg_destroyed(struct cuda_args *args, uint32_t slot, enum cuda_object object)
{
    gone = slot + 1;
}

/* ---- the driver ----------------------------------------------------------------------------- */

static CUresult copy_to_device(CUdeviceptr dst, const void *src, size_t size, CUstream stream)
{
    calls++;
    got_address = dst;
    got_bytes = src;
    return CUDA_SUCCESS;
}

static CUresult event_create(CUevent *event, unsigned int flags)
{
    calls++;
    *event = (CUevent)(size_t)77;
    return CUDA_SUCCESS;
}

static CUresult event_destroy(CUevent event)
{
    got_address = (CUdeviceptr)(size_t)event;
    return CUDA_SUCCESS;
}

static void *no_symbol(void *library, const char *name)
{
    return NULL;
}

/* ---- tests ---------------------------------------------------------------------------------- */

static int replay(uint32_t type)
{
    const struct sbt_record record = {.type = type};

    calls = 0;
    return cuda_replay_find(type)(NULL, &record);
}

static void test_arguments(void)
{
    driver.cuMemcpyHtoDAsync_v2 = copy_to_device;
    CHECK_EQ_INT(replay(TYPE_cuMemcpyHtoDAsync_v2), 0);
    CHECK_EQ_INT(got_address, 10 + 0x1000);
    CHECK(got_bytes == bytes + 2);
    CHECK_EQ_INT(got_size, 13);
    CHECK_EQ_INT(sends, 1);
}

static void test_unreadable_arguments(void)
{
    fail_args = TSM_E_FORMAT;
    CHECK_EQ_INT(replay(TYPE_cuMemcpyHtoDAsync_v2), TSM_E_FORMAT);
    CHECK_EQ_INT(calls, 0);
    fail_args = 0;
}

static void test_objects(void)
{
    driver.cuEventCreate = event_create;
    driver.cuEventDestroy_v2 = event_destroy;
    CHECK_EQ_INT(replay(TYPE_cuEventCreate), 0);
    CHECK_EQ_INT(made, 77);
    CHECK_EQ_INT(replay(TYPE_cuEventDestroy_v2), 0);
    CHECK_EQ_INT(got_address, 100);
    CHECK_EQ_INT(gone, 1);
    CHECK_EQ_INT(sends, 1); /* that of the command */
}

static void test_missing_function(void)
{
    cuda_real_load(&driver, no_symbol, NULL);
    made = 0;
    CHECK_EQ_INT(replay(TYPE_cuEventCreate), TSM_E_DEVICE);
    CHECK_EQ_INT(made, 0);
}

static void test_what_is_not_replayed(void)
{
    CHECK(cuda_replay_find(TYPE_cuDriverGetVersion) == NULL);
    CHECK(cuda_replay_find(TYPE_cuGraphLaunch) == NULL);
    CHECK(cuda_replay_find(SBT_TYPE(SBT_API_HSA, 230)) == NULL);
    CHECK(cuda_replay_find(SBT_TYPE(SBT_API_CUDA, 0xffff)) == NULL);
    CHECK(cuda_replay_find(SBT_TYPE(SBT_API_CUDA, 0)) == NULL);
}

int main(void)
{
    test_arguments();
    test_unreadable_arguments();
    test_objects();
    test_missing_function();
    test_what_is_not_replayed();
    return check_result();
}
