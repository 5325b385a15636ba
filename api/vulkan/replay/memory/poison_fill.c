/* SPDX-License-Identifier: Apache-2.0
 *
 * Fills memory that nobody has written, the same in every replay. Pages that hold the pattern are
 * left alone, and pages that were never touched are not even read: a page that is read first and
 * written later costs an interrupt of all processors.
 */
#include "api/vulkan/replay/memory/poison_fill.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/touched.h"

#define STEP 4096u

struct filling {
    uint8_t *memory;
    uint8_t pattern[STEP];
};

/* Looking at pages one after the other would fault on each of them. Where that cannot be, it does.
 */
static void populate(uint8_t *from, uint64_t size)
{
#ifdef MADV_POPULATE_READ
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), start = (uintptr_t)from & -page;

    madvise((void *)start, (uintptr_t)from + size - start, MADV_POPULATE_READ);
#endif
}

static void fill_part(void *user, uint64_t at, uint64_t length)
{
    const struct filling *f = user;

    populate(f->memory + at, length);
    for (uint64_t end = at + length, size; at < end; at += size) {
        size = end - at < STEP ? end - at : STEP;
        if (memcmp(f->memory + at, f->pattern, size) != 0)
            memcpy(f->memory + at, f->pattern, size);
    }
}

void vkr_poison_fill(uint8_t *out, uint64_t size, uint8_t value)
{
    struct filling f = {.memory = out};

    memset(f.pattern, value, sizeof(f.pattern));
    if (value)
        fill_part(&f, 0, size);
    else
        tsm_touched(out, size, fill_part, &f);
}
