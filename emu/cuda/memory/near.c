/* SPDX-License-Identifier: Apache-2.0 */
#include "emu/cuda/memory/near.h"

#include "base/text.h"

const char *emu_memory_kind_name(enum emu_memory_kind kind)
{
    static const char *const names[] = {
        [EMU_MEMORY_DEVICE] = "device memory",
        [EMU_MEMORY_MANAGED] = "managed memory",
        [EMU_MEMORY_POOL] = "pool memory",
        [EMU_MEMORY_MODULE] = "module variables",
        [EMU_MEMORY_ARRAY] = "an array",
        [EMU_MEMORY_HOST] = "host memory",
        [EMU_MEMORY_REGISTERED] = "registered host memory",
        [EMU_MEMORY_MAPPED] = "mapped memory",
        [EMU_MEMORY_IMPORTED] = "imported memory",
        [EMU_MEMORY_MULTICAST] = "multicast memory",
    };
    return names[kind];
}

void emu_near_measure(struct emu_near *near, uint64_t address)
{
    const struct emu_memory *m = &near->memory;

    near->where = EMU_NEAR_INSIDE;
    near->distance = 0;
    if (address < m->address) {
        near->where = EMU_NEAR_BEFORE;
        near->distance = m->address - address;
    } else if (address - m->address >= m->size) {
        near->where = EMU_NEAR_AFTER;
        near->distance = address - (m->address + m->size);
    }
}

void emu_near_text(char *out, size_t size, const struct emu_near *near, uint64_t address)
{
    const struct emu_memory *m = &near->memory;
    const char *state = near->is_freed   ? ", freed"
                        : m->is_writable ? ""
                        : m->is_readable ? ", read-only"
                                         : ", not accessible now";
    size_t at;

    if (near->where == EMU_NEAR_INSIDE)
        at = tsm_format(out, size, "byte %llu of ", (unsigned long long)(address - m->address));
    else
        at = tsm_format(out, size, "%llu bytes %s ", (unsigned long long)near->distance,
                        near->where == EMU_NEAR_AFTER ? "after the end of" : "before");
    tsm_format(out + at, size - at, "%llu bytes of %s at 0x%llx%s", (unsigned long long)m->size,
               emu_memory_kind_name(m->kind), (unsigned long long)m->address, state);
}
