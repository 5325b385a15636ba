/* SPDX-License-Identifier: Apache-2.0
 *
 * The file that the sandbox's memory lies in stays as large as what is allocated needs, whatever
 * was allocated and freed before: the sandbox can keep mappings of all that the file has.
 */
#include "emu/hsa/sandbox/sandbox.h"

#include "api/hsa/sandbox.h"
#include "tests/unit/check.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define MIB    (1u << 20)
#define PLACES 16u

static uint8_t *base;
static uint64_t sizes[PLACES];

static uint64_t arena_size(void)
{
    struct stat info;

    CHECK(fstat(emu_hsa_sandbox_arena(), &info) == 0);
    return (uint64_t)info.st_size;
}

/* Allocates in a place, or frees what is there. Returns false if fresh memory was not zero. */
static bool change(unsigned place, uint64_t size)
{
    uint8_t *at = base + (uint64_t)place * MIB;
    bool is_zero = true;

    if (sizes[place]) {
        emu_hsa_sandbox_drop((uintptr_t)at, sizes[place]);
        sizes[place] = 0;
        return true;
    }
    CHECK(emu_hsa_sandbox_back((uintptr_t)at, size));
    for (uint64_t i = 0; i < size; i++)
        is_zero &= !at[i];
    memset(at, 0x5a, size);
    sizes[place] = size;
    return is_zero;
}

static void parts_in_any_order(void)
{
    uint64_t state = 88172645463325252u, most = 0;

    for (unsigned i = 0; i < 4000; i++) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        CHECK(change(state % PLACES, ((state >> 8) % 64 + 1) * 4096));
        if (arena_size() > most)
            most = arena_size();
    }
    CHECK(most <= 2 * PLACES * 64 * 4096);
    for (unsigned place = 0; place < PLACES; place++)
        if (sizes[place])
            change(place, 0);
    CHECK(arena_size() == 0);
}

static void middle_of_a_part(void)
{
    CHECK(emu_hsa_sandbox_back((uintptr_t)base, 8 * 4096));
    emu_hsa_sandbox_drop((uintptr_t)base + 4096, 2 * 4096);
    emu_hsa_sandbox_drop((uintptr_t)base + 5 * 4096, 4096);
    CHECK(emu_hsa_sandbox_back((uintptr_t)base + 4096, 2 * 4096));
    CHECK(arena_size() == 8 * 4096);
    base[4096] = base[3 * 4096 - 1] = 1;
    CHECK(!base[0] && !base[3 * 4096]);
    emu_hsa_sandbox_drop((uintptr_t)base, 8 * 4096);
    CHECK(arena_size() == 0);
}

static void parts_without_an_address(void)
{
    for (unsigned i = 0; i < 1000; i++) {
        int64_t first = emu_hsa_sandbox_take(MIB), second = emu_hsa_sandbox_take(4096);
        CHECK(first >= 0 && second >= 0 && first != second);
        emu_hsa_sandbox_give((uint64_t)first, MIB);
        emu_hsa_sandbox_give((uint64_t)second, 4096);
    }
    CHECK(arena_size() == 0);
}

int main(void)
{
    base = mmap(NULL, (uint64_t)PLACES * MIB, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    CHECK(base != MAP_FAILED);
    tracesmith_hsa_sandbox(0);
    parts_in_any_order();
    middle_of_a_part();
    parts_without_an_address();
    return check_result();
}
