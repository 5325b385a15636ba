/* SPDX-License-Identifier: Apache-2.0
 *
 * Tests that written memory is among the parts, untouched memory is in none, and memory that others
 * may have written to is one part.
 */
#include "base/touched.h"
#include "tests/unit/check.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define PAGE 4096u
#define SIZE ((uint64_t)64 << 20)

struct seen {
    uint64_t count, bytes, end;
    bool in_order;
};

static void see(void *user, uint64_t offset, uint64_t size)
{
    struct seen *s = user;

    s->in_order = s->in_order && size > 0 && offset >= s->end;
    s->end = offset + size;
    s->bytes += size;
    s->count++;
}

static struct seen look(const uint8_t *memory, uint64_t size)
{
    struct seen s = {.in_order = true};

    tsm_touched(memory, size, see, &s);
    CHECK(s.in_order);
    CHECK(s.end <= size);
    return s;
}

static uint8_t *map(int flags)
{
    uint8_t *memory = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0);

    if (memory == MAP_FAILED)
        exit(77);
    madvise(memory, SIZE, MADV_NOHUGEPAGE);
    return memory;
}

static void check_alone(void)
{
    uint8_t *memory = map(MAP_PRIVATE);

    CHECK_EQ_INT(look(memory, SIZE).count, 0);
    memory[0] = memory[5 * PAGE + 7] = memory[6 * PAGE] = memory[SIZE - 1] = 1;
    CHECK_EQ_INT(look(memory, SIZE).count, 3);
    CHECK_EQ_INT(look(memory, SIZE).bytes, 4 * PAGE);
    /* Memory that does not begin and end with a page. */
    CHECK_EQ_INT(look(memory + 16, SIZE - 32).count, 3);
    CHECK_EQ_INT(look(memory + 16, SIZE - 32).bytes, 4 * PAGE - 32);
    /* Several mappings that follow each other; then nothing is known of one of them. */
    mprotect(memory + SIZE / 2, PAGE, PROT_READ);
    CHECK_EQ_INT(look(memory, SIZE).bytes, 4 * PAGE);
    munmap(memory + SIZE / 2, PAGE);
    CHECK_EQ_INT(look(memory, SIZE).bytes, SIZE);
    munmap(memory, SIZE);
}

static void check_shared(void)
{
    uint8_t *memory = map(MAP_SHARED);

    CHECK_EQ_INT(look(memory, SIZE).bytes, SIZE);
    munmap(memory, SIZE);
}

static void check_small(void)
{
    uint8_t *memory = map(MAP_PRIVATE);

    CHECK_EQ_INT(look(memory, PAGE).bytes, PAGE);
    CHECK_EQ_INT(look(memory, 0).count, 0);
    munmap(memory, SIZE);
}

int main(void)
{
    check_alone();
    check_shared();
    check_small();
    return check_result();
}
