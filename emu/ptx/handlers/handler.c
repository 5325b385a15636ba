/* SPDX-License-Identifier: Apache-2.0 */
#include "emu/ptx/handlers/handler.h"
#include "emu/ptx/handlers/memory.h"

#include <pthread.h>
#include <stdlib.h>

static ptx_fn table[PTX_ALU_COUNT][PTX_TYPE_COUNT];
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* The handlers of the table, to be found by their address. */
#define KNOWN_COUNT 4096
static ptx_fn known[KNOWN_COUNT];
static const struct ptx_ramp_entry *ramps[KNOWN_COUNT]; /* of the same */
static ptx_fn spread_handler;

static ptx_fn *slot_of(ptx_fn fn)
{
    size_t at = (size_t)((uintptr_t)fn * 0x9e3779b97f4a7c15ull >> 52);

    while (known[at] && known[at] != fn)
        at = (at + 1) % KNOWN_COUNT;
    return &known[at];
}

bool ptx_handler_is(ptx_fn fn)
{
    return *slot_of(fn) == fn;
}

static void install(const struct ptx_entry *entries)
{
    for (; entries->op; entries++) {
        table[entries->op][entries->type] = entries->fn;
        *slot_of(entries->fn) = entries->fn;
    }
}

static void install_ramps(const struct ptx_ramp_entry *entries)
{
    for (; entries->op != PTX_ALU_COUNT; entries++)
        if (table[entries->op][entries->type])
            ramps[slot_of(table[entries->op][entries->type]) - known] = entries;
}

const struct ptx_ramp_entry *ptx_ramp_handler(ptx_fn fn)
{
    return *slot_of(fn) == fn ? ramps[slot_of(fn) - known] : NULL;
}

ptx_fn ptx_ramp_spread_handler(void)
{
    return spread_handler;
}

static void choose(void)
{
    const char *plain = getenv("PTX_PLAIN_CPU"); /* for tests: results must not differ */
    bool wide = !plain && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                __builtin_cpu_supports("bmi2");

#define X(name) install(wide ? name##_v3 : name##_any);
    PTX_TABLES(X)
#undef X
    install_ramps(wide ? ptx_ramp_entries_v3 : ptx_ramp_entries_any);
    install_ramps(wide ? ptx_ramp_access_entries_v3 : ptx_ramp_access_entries_any);
    spread_handler = wide ? ptx_ramp_run_spread_v3 : ptx_ramp_run_spread_any;
}

ptx_fn ptx_handler(enum ptx_alu op, ptx_type type)
{
    pthread_once(&once, choose);
    return table[op][type];
}

/* Only a narrower integer's sign makes a difference in memory. */
static ptx_type access_type(ptx_type type, unsigned size)
{
    unsigned bytes = ptx_type_size(type);

    if (ptx_type_class(type) == 's' && bytes < size)
        return type;
    return bytes == 1 ? PTX_U8 : bytes == 2 ? PTX_U16 : bytes == 4 ? PTX_U32 : PTX_U64;
}

ptx_fn ptx_access_handler(bool is_store, ptx_type type, unsigned size)
{
    unsigned wide = size == 2 ? 0 : size == 4 ? 1 : 2;
    ptx_fn fn = NULL;

    if (ptx_type_size(type) <= 8 && size <= 8)
        fn = is_store ? ptx_handler(PTX_ALU_STORE_16 + wide, access_type(type, 1))
                      : ptx_handler(PTX_ALU_LOAD_16 + wide, access_type(type, size));
    return fn ? fn : is_store ? ptx_run_store : ptx_run_load;
}

ptx_fn ptx_param_handler(ptx_type type, unsigned size)
{
    ptx_fn fn = ptx_type_size(type) == size && size <= 8
                    ? ptx_handler(PTX_ALU_PARAM, access_type(type, size))
                    : NULL;

    return fn ? fn : ptx_run_load_param;
}
