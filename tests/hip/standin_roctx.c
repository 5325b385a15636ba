/* SPDX-License-Identifier: Apache-2.0
 *
 * A small libroctx64: levels and numbers of ranges as the real one gives them, and nothing else.
 */
#include <stdatomic.h>
#include <stdint.h>

#define EXPORTED __attribute__((visibility("default")))
EXPORTED void roctxMarkA(const char *message);
EXPORTED int roctxRangePushA(const char *message);
EXPORTED int roctxRangePop(void);
EXPORTED uint64_t roctxRangeStartA(const char *message);
EXPORTED void roctxRangeStop(uint64_t id);
EXPORTED uint32_t roctx_version_major(void);

static __thread int level;
static _Atomic(uint64_t) next = 1;

uint32_t roctx_version_major(void)
{
    return 4;
}

void roctxMarkA(const char *message) {}

int roctxRangePushA(const char *message)
{
    return level++;
}

int roctxRangePop(void)
{
    return level ? --level : -1;
}

uint64_t roctxRangeStartA(const char *message)
{
    return atomic_fetch_add(&next, 1);
}

void roctxRangeStop(uint64_t id) {}
