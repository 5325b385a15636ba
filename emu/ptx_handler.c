/* SPDX-License-Identifier: Apache-2.0 */
#include "emu/ptx_handler.h"

#include <pthread.h>
#include <stdlib.h>

static ptx_fn table[PTX_ALU_COUNT][PTX_TYPE_COUNT];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void install(const struct ptx_entry *entries)
{
    for (; entries->op; entries++)
        table[entries->op][entries->type] = entries->fn;
}

static void choose(void)
{
    const char *plain = getenv("PTX_PLAIN_CPU"); /* for tests: results must not differ */
    bool wide = !plain && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                __builtin_cpu_supports("bmi2");

#define X(name) install(wide ? name##_v3 : name##_any);
    PTX_TABLES(X)
#undef X
}

ptx_fn ptx_handler(enum ptx_alu op, ptx_type type)
{
    pthread_once(&once, choose);
    return table[op][type];
}
