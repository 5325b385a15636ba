/* SPDX-License-Identifier: Apache-2.0
 *
 * The CUDA backend on the software GPU, with a trace made by hand: a module, two buffers at
 * addresses of our choice, one launch. Needs TS_EMU_LIBRARY and TS_TEST_PTX.
 */
#include "tests/unit/check.h"

#include <stdlib.h>
#include <unistd.h>

#include "api/cuda/cuda_replay_calls.h"
#include "base/bytes.h"
#include "tracesmith/replay.h"
#include "tracesmith/writer.h"

#define COUNT 1000u
/* Addresses that the sanitizers leave to the program: each has another map. */
#ifdef __SANITIZE_THREAD__
#define PLACE 0x1000000000ull
#else
#define PLACE 0x210000000000ull
#endif
#define X    (PLACE + 0x123000000ull)
#define Y    (X + 4096) /* in the same page of the device */
#define HOST (PLACE + 0x22000000ull)

static struct sbt_writer *w;
static char path[64];
static uint64_t seq, position;
static struct tsm_replay_result result;

static void must(int error)
{
    if (error < 0) {
        fprintf(stderr, "%s\n", tsm_error_message());
        exit(1);
    }
}

/* ---- the trace ---------------------------------------------------------------------------- */

static const struct sbt_schema *schema_of(uint32_t type)
{
    tsm_description_fill(&cuda_description);
    for (size_t i = 0; i < cuda_description.call_count; i++)
        if (cuda_description.calls[i].schema->type == type)
            return cuda_description.calls[i].schema;
    return sbt_core_schema(SBT_TYPE_CALL(type));
}

struct record {
    uint64_t slots[SBT_FIELD_COUNT_MAX];
    uint8_t data[8192];
    size_t data_size;
};

static struct record record; /* all zero between two of them */

static void set(uint32_t type, enum sbt_role role, uint64_t value)
{
    int index = sbt_schema_role(schema_of(type), role);

    if (index < 0) {
        fprintf(stderr, "%s has no role %d\n", schema_of(type)->name, role);
        exit(1);
    }
    record.slots[index] = value;
}

static void set_bytes(uint32_t type, enum sbt_role role, const void *bytes, size_t size)
{
    set(type, role, (uint64_t)record.data_size << 32 | size);
    memcpy(record.data + record.data_size, bytes, size);
    record.data_size += size;
}

static void set_blob(uint32_t type, enum sbt_role role, const void *bytes, size_t size)
{
    uint8_t blob[4096];

    must(sbt_writer_blob(w, bytes, size, blob));
    set_bytes(type, role, blob, SBT_BLOB_ENCODED_SIZE(size));
}

static uint64_t put(uint32_t type, uint32_t stream)
{
    struct sbt_record r = {.seq = seq,
                           .time_ns = seq * 1000 + 1000,
                           .type = type,
                           .thread = 7,
                           .stream = stream,
                           .slots = record.slots,
                           .slot_count = schema_of(type)->field_count,
                           .data = record.data,
                           .data_size = record.data_size};

    if (stream != SBT_STREAM_NONE)
        r.position = ++position;
    seq++;
    must(sbt_writer_schema(w, schema_of(type)));
    must(sbt_writer_record(w, &r));
    memset(&record, 0, sizeof(record));
    return r.position;
}

static void begin(void)
{
    static const struct sbt_session session = {.id = {1}, .clock = "monotonic"};

    seq = position = 0;
    snprintf(path, sizeof(path), "/tmp/replay_cuda_%d.sbt", (int)getpid());
    unlink(path);
    must(sbt_writer_create(&w, path, &session, NULL));
    must(sbt_writer_metadata(w, "process.pid", "1"));
    must(sbt_writer_string(w, 1, "saxpy", 5));
    put(TYPE_cuInit, SBT_STREAM_NONE);
    set(TYPE_cuCtxCreate_v2, SBT_ROLE_OBJECT, 1);
    if (sbt_schema_role(schema_of(TYPE_cuCtxCreate_v2), SBT_ROLE_STREAM_MADE) >= 0)
        set(TYPE_cuCtxCreate_v2, SBT_ROLE_STREAM_MADE, 0);
    put(TYPE_cuCtxCreate_v2, SBT_STREAM_NONE);
}

static void load_module(void)
{
    static char ptx[1 << 20];
    const char *file = getenv("TS_TEST_PTX");
    FILE *f = file ? fopen(file, "r") : NULL;
    size_t size = f ? fread(ptx, 1, sizeof(ptx) - 1, f) : 0;

    if (!size)
        exit(77);
    fclose(f);
    set(TYPE_cuModuleLoadData, SBT_ROLE_OBJECT, 1);
    set_blob(TYPE_cuModuleLoadData, SBT_ROLE_CODE, ptx, size + 1);
    put(TYPE_cuModuleLoadData, SBT_STREAM_NONE);
    set(TYPE_cuModuleGetFunction, SBT_ROLE_OBJECT, 1);
    set(TYPE_cuModuleGetFunction, SBT_ROLE_PARENT, 1);
    set(TYPE_cuModuleGetFunction, SBT_ROLE_NAME, 1);
    put(TYPE_cuModuleGetFunction, SBT_STREAM_NONE);
}

static void allocate(uint64_t address)
{
    set(TYPE_cuMemAlloc_v2, SBT_ROLE_ADDRESS, address);
    set(TYPE_cuMemAlloc_v2, SBT_ROLE_SIZE, COUNT * 4);
    put(TYPE_cuMemAlloc_v2, SBT_STREAM_NONE);
}

static void copy_to(uint64_t address, const float *bytes)
{
    set(TYPE_cuMemcpyHtoD_v2, SBT_ROLE_DST, address);
    set(TYPE_cuMemcpyHtoD_v2, SBT_ROLE_SIZE, COUNT * 4);
    set_blob(TYPE_cuMemcpyHtoD_v2, SBT_ROLE_PAYLOAD, bytes, COUNT * 4);
    put(TYPE_cuMemcpyHtoD_v2, 0);
}

static void launch(void)
{
    uint8_t block[24];
    float a = 2;
    uint32_t bits;

    memcpy(&bits, &a, 4);
    tsm_put_u32(block, COUNT);
    tsm_put_u32(block + 4, bits);
    tsm_put_u64(block + 8, X);
    tsm_put_u64(block + 16, Y);
    set(TYPE_cuLaunchKernel, SBT_ROLE_FUNCTION, 1);
    set(TYPE_cuLaunchKernel, SBT_ROLE_FUNCTION_NAME, 1);
    set(TYPE_cuLaunchKernel, SBT_ROLE_GRID_X, 4);
    set(TYPE_cuLaunchKernel, SBT_ROLE_GRID_Y, 1);
    set(TYPE_cuLaunchKernel, SBT_ROLE_GRID_Z, 1);
    set(TYPE_cuLaunchKernel, SBT_ROLE_BLOCK_X, 256);
    set(TYPE_cuLaunchKernel, SBT_ROLE_BLOCK_Y, 1);
    set(TYPE_cuLaunchKernel, SBT_ROLE_BLOCK_Z, 1);
    set_bytes(TYPE_cuLaunchKernel, SBT_ROLE_ARGUMENTS, block, sizeof(block));
    put(TYPE_cuLaunchKernel, 0);
}

static void copy_back(uint64_t address, uint64_t host, const float *expected)
{
    const uint32_t readback = SBT_TYPE(SBT_API_CORE, SBT_CORE_READBACK);

    set(TYPE_cuMemcpyDtoH_v2, SBT_ROLE_SRC, address);
    set(TYPE_cuMemcpyDtoH_v2, SBT_ROLE_SIZE, COUNT * 4);
    set(TYPE_cuMemcpyDtoH_v2, SBT_ROLE_HOST_DST, host);
    uint64_t of = put(TYPE_cuMemcpyDtoH_v2, 0);
    set(readback, SBT_ROLE_OF_STREAM, 0);
    set(readback, SBT_ROLE_OF_POSITION, of);
    set_blob(readback, SBT_ROLE_PAYLOAD, expected, COUNT * 4);
    put(readback, SBT_STREAM_NONE);
}

static int replay(const struct tsm_replay_options *options)
{
    struct sbt_reader *reader = NULL;
    struct tsm_replay *r = NULL;
    struct sbt_totals totals = {0};
    int error;

    must(sbt_writer_finish(w, &totals, SBT_END_FINISHED));
    sbt_writer_destroy(w);
    must(sbt_reader_open(&reader, path));
    unlink(path);
    memset(&result, 0, sizeof(result));
    error = tsm_replay_create(&r, reader, options);
    if (!error)
        error = tsm_replay_run(r, &result);
    if (error)
        fprintf(stderr, "  %s\n", tsm_error_message());
    else if (result.verdict)
        fprintf(stderr, "  %s\n", result.why);
    tsm_replay_destroy(r);
    sbt_reader_destroy(reader);
    return error;
}

/* ---- tests -------------------------------------------------------------------------------- */

static const struct tsm_replay_options on_emu = {.device = "emu"};

static void saxpy(float *out)
{
    float x[COUNT], y[COUNT];

    for (unsigned i = 0; i < COUNT; i++) {
        x[i] = (float)i;
        y[i] = 1;
        out[i] = 2 * x[i] + y[i];
    }
    begin();
    load_module();
    allocate(X);
    allocate(Y);
    copy_to(X, x);
    copy_to(Y, y);
    launch();
}

static void a_launch_is_replayed(void)
{
    float expected[COUNT];

    saxpy(expected);
    copy_back(Y, 0x1000, expected);
    CHECK_EQ_INT(replay(&on_emu), 0);
    CHECK_EQ_INT(result.verdict, TSM_SAME);
    CHECK_EQ_INT((long long)result.checksum_count, 1);
    CHECK_EQ_INT((long long)result.command_count, 4);
    CHECK_EQ_INT((long long)result.translated_count, 0);
}

static void a_loop_starts_afresh(void)
{
    struct tsm_replay_options options = {.device = "emu", .loop = 3};
    float expected[COUNT];

    saxpy(expected);
    copy_back(Y, 0x1000, expected);
    CHECK_EQ_INT(replay(&options), 0);
    CHECK_EQ_INT(result.verdict, TSM_SAME);
    CHECK_EQ_INT((long long)result.checksum_count, 3);
}

static void other_bytes_are_different(void)
{
    float expected[COUNT];

    saxpy(expected);
    expected[500] = 0;
    copy_back(Y, 0x1000, expected);
    CHECK_EQ_INT(replay(&on_emu), 0);
    CHECK_EQ_INT(result.verdict, TSM_DIFFERENT);
}

static void fresh_memory_is_filled(void)
{
    struct tsm_replay_options options = {.device = "emu", .fresh_memory = 0xa5};
    uint8_t expected[COUNT * 4];

    memset(expected, 0xa5, sizeof(expected));
    begin();
    allocate(X);
    copy_back(X, 0x1000, (const float *)(const void *)expected);
    CHECK_EQ_INT(replay(&options), 0);
    CHECK_EQ_INT(result.verdict, TSM_SAME);
}

/* Memory that was freed and allocated again is fresh, too, and may share pages with others. */
static void memory_can_come_again(void)
{
    float zero[COUNT] = {0}, expected[COUNT];

    saxpy(expected);
    set(TYPE_cuMemFree_v2, SBT_ROLE_ADDRESS, X);
    put(TYPE_cuMemFree_v2, SBT_STREAM_NONE);
    allocate(X);
    copy_back(X, 0x1000, zero);
    copy_back(Y, 0x1000, expected);
    CHECK_EQ_INT(replay(&on_emu), 0);
    CHECK_EQ_INT(result.verdict, TSM_SAME);
}

/* Bytes arrive in registered host memory, at its recorded address. */
static void host_memory_is_where_it_was(void)
{
    float expected[COUNT];

    saxpy(expected);
    set(TYPE_cuMemHostAlloc, SBT_ROLE_ADDRESS, HOST);
    set(TYPE_cuMemHostAlloc, SBT_ROLE_SIZE, COUNT * 4);
    put(TYPE_cuMemHostAlloc, SBT_STREAM_NONE);
    copy_back(Y, HOST, expected);
    /* ... from where the device can read them. */
    set(TYPE_cuMemcpyDtoD_v2, SBT_ROLE_DST, X);
    set(TYPE_cuMemcpyDtoD_v2, SBT_ROLE_SRC, HOST);
    set(TYPE_cuMemcpyDtoD_v2, SBT_ROLE_SIZE, COUNT * 4);
    put(TYPE_cuMemcpyDtoD_v2, 0);
    copy_back(X, 0x1000, expected);
    CHECK_EQ_INT(replay(&on_emu), 0);
    CHECK_EQ_INT(result.verdict, TSM_SAME);
}

/* An address where something of this process lies: everything is translated, launches too. */
static void an_address_in_use_is_translated(void)
{
    static uint8_t taken[8 << 20];
    uint64_t there = ((uint64_t)(uintptr_t)taken + (4 << 20)) & ~((2ull << 20) - 1);
    float zero[COUNT] = {0};

    begin();
    allocate(there);
    copy_to(there, zero);
    copy_back(there, 0x1000, zero);
    CHECK_EQ_INT(replay(&on_emu), 0);
    CHECK_EQ_INT(result.verdict, TSM_SAME);
    CHECK_EQ_INT((long long)result.translated_count, 1);
}

static void machine_code_is_refused_before_anything_runs(void)
{
    uint8_t cubin[64] = {0x7f, 'E', 'L', 'F', 2, 1, 1};

    cubin[18] = 190;
    cubin[48] = 80;
    begin();
    set(TYPE_cuModuleLoadData, SBT_ROLE_OBJECT, 1);
    set_blob(TYPE_cuModuleLoadData, SBT_ROLE_CODE, cubin, sizeof(cubin));
    put(TYPE_cuModuleLoadData, SBT_STREAM_NONE);
    set(TYPE_cuModuleGetFunction, SBT_ROLE_OBJECT, 1);
    set(TYPE_cuModuleGetFunction, SBT_ROLE_PARENT, 1);
    set(TYPE_cuModuleGetFunction, SBT_ROLE_NAME, 1);
    put(TYPE_cuModuleGetFunction, SBT_STREAM_NONE);
    CHECK_EQ_INT(replay(&on_emu), TSM_E_UNSUPPORTED);
    CHECK(strstr(tsm_error_message(), "saxpy"));
}

int main(void)
{
    a_launch_is_replayed();
    a_loop_starts_afresh();
    other_bytes_are_different();
    fresh_memory_is_filled();
    memory_can_come_again();
    host_memory_is_where_it_was();
    an_address_in_use_is_translated();
    machine_code_is_refused_before_anything_runs();
    return check_result();
}
