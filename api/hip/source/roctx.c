/* SPDX-License-Identifier: Apache-2.0
 *
 * Records the labels that a program gives through libroctx64 (AMD's NVTX): MARK records. The
 * library is the program's; where it has none, nobody calls these.
 */
#include "api/hip/source/source.h"

#include "interpose/real_library.h"

TSM_EXPORT void roctxMarkA(const char *message);
TSM_EXPORT int roctxRangePushA(const char *message);
TSM_EXPORT int roctxRangePop(void);
TSM_EXPORT uint64_t roctxRangeStartA(const char *message);
TSM_EXPORT void roctxRangeStop(uint64_t id);

/* The library's own. NULL: it is not bound, or lacks the function. */
static struct {
    void (*mark)(const char *message);
    int (*push)(const char *message);
    int (*pop)(void);
    uint64_t (*start)(const char *message);
    void (*stop)(uint64_t id);
} real;

/* Sorted by name. */
static const struct tsm_export rows[] = {
    {"roctxMarkA", (void *)roctxMarkA, (void **)&real.mark, NULL},
    {"roctxRangePop", (void *)roctxRangePop, (void **)&real.pop, NULL},
    {"roctxRangePushA", (void *)roctxRangePushA, (void **)&real.push, NULL},
    {"roctxRangeStartA", (void *)roctxRangeStartA, (void **)&real.start, NULL},
    {"roctxRangeStop", (void *)roctxRangeStop, (void **)&real.stop, NULL},
};
static const struct tsm_exports exports = {rows, sizeof(rows) / sizeof(rows[0])};

static void bind_library(void *handle)
{
    tsm_exports_bind(&exports, handle);
}

/* Is the real function there, after another look? */
static bool has(void **function)
{
    unsigned index = tsm_source_index(&roctx_source);

    if (!__atomic_load_n(function, __ATOMIC_ACQUIRE) && tsm_real_library_loaded(index))
        tsm_real_library(index, NULL);
    return __atomic_load_n(function, __ATOMIC_ACQUIRE) != NULL;
}
#define HAS(name) has((void **)&real.name)

/* docs/FORMAT.md 10, "mark". */
enum phase { POINT, BEGIN, END };
#define OF_THREAD   0u
#define OF_RANGE    (UINT64_C(1) << 32)
#define NVTX_FIELDS 6u /* that only NVTX has values for */

static void mark(const char *text, enum phase phase, uint64_t id)
{
    struct tsm_call call;

    if (!tsm_call_begin(&call, SBT_TYPE(SBT_API_CORE, SBT_CORE_MARK)))
        return;
    tsm_call_returned(&call, 0, false);
    tsm_call_string(&call, text);
    tsm_call_slot(&call, phase);
    tsm_call_slot(&call, id);
    memset(tsm_call_slots(&call, NVTX_FIELDS), 0, NVTX_FIELDS * sizeof(uint64_t));
    tsm_call_commit(&call);
}

void roctxMarkA(const char *message)
{
    mark(message, POINT, OF_THREAD);
    if (HAS(mark))
        real.mark(message);
}

int roctxRangePushA(const char *message)
{
    mark(message, BEGIN, OF_THREAD);
    return HAS(push) ? real.push(message) : -1;
}

int roctxRangePop(void)
{
    mark(NULL, END, OF_THREAD);
    return HAS(pop) ? real.pop() : -1;
}

uint64_t roctxRangeStartA(const char *message)
{
    uint64_t id = HAS(start) ? real.start(message) : 0;

    mark(message, BEGIN, OF_RANGE + id);
    return id;
}

void roctxRangeStop(uint64_t id)
{
    mark(NULL, END, OF_RANGE + id);
    if (HAS(stop))
        real.stop(id);
}

/* Its other functions tell a profiler what to do, and names. */
static bool owns_name(const char *name)
{
    return false;
}

static const char *const sonames[] = {"libroctx64.so", "librocprofiler-sdk-roctx.so", NULL};

const struct tsm_source roctx_source = {
    .description = &hip_described,
    .sonames = sonames,
    .exports = &exports,
    .owns_name = owns_name,
    .bind = bind_library,
};
