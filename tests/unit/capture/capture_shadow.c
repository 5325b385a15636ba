/* SPDX-License-Identifier: Apache-2.0
 *
 * The program's copy and the device's memory agree after push and pull, whoever wrote where, also
 * in one page, and without a session. Small memory (compared), large (where the kernel tells what
 * was written, if it does), and sizes that are no whole pages.
 */
#include "api/api.h"
#include "capture/memory/shadow.h"
#include "tests/unit/check.h"

#include <stdlib.h>
#include <sys/mman.h>

const struct tsm_source *const tsm_sources[] = {NULL};

#define WORDS_PER_CYCLE 50
#define CYCLES          200

static void *map(size_t size)
{
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    return memory == MAP_FAILED ? NULL : memory;
}

/* Words of even places are the program's, the others the device's. */
static void check_both(size_t size, bool ordinary)
{
    uint64_t *real = map(size), *model = calloc(1, size), *own;
    struct tsm_shadow *shadow = tsm_shadow_create(real, size, ordinary, TSM_SHADOW_FRESH);
    size_t words = size / 8;

    if (!CHECK(shadow != NULL))
        return;
    own = tsm_shadow_address(shadow);
    for (int cycle = 0; cycle < CYCLES; cycle++) {
        for (int i = 0; i < WORDS_PER_CYCLE; i++) {
            size_t word = (size_t)random() % words;
            model[word] = (uint64_t)random() % 3; /* often what it was, often zero */
            (word % 2 ? real : own)[word] = model[word];
        }
        if (cycle % 3)
            tsm_shadow_push(shadow, cycle % 4 < 2);
        if (cycle % 2)
            tsm_shadow_pull(shadow);
    }
    tsm_shadow_push(shadow, false);
    tsm_shadow_pull(shadow);
    CHECK_EQ_MEM(real, model, size);
    CHECK_EQ_MEM(own, model, size);
    tsm_shadow_destroy(shadow);
    munmap(real, size);
    free(model);
}

/* Program and device write other bytes of the same words, and both see all of them. */
static void check_bytes(size_t size, bool ordinary)
{
    uint8_t *real = map(size), *model = calloc(1, size), *own;
    struct tsm_shadow *shadow = tsm_shadow_create(real, size, ordinary, TSM_SHADOW_FRESH);

    if (!CHECK(shadow != NULL))
        return;
    own = tsm_shadow_address(shadow);
    for (int cycle = 0; cycle < CYCLES; cycle++) {
        for (int i = 0; i < WORDS_PER_CYCLE; i++) {
            size_t at = (size_t)random() % size;
            model[at] = (uint8_t)(random() % 3);
            (at % 3 ? real : own)[at] = model[at];
        }
        if (cycle % 2) /* in either order: neither loses what it does not bring */
            tsm_shadow_push(shadow, cycle % 4 == 1);
        tsm_shadow_pull(shadow);
    }
    tsm_shadow_push(shadow, true);
    CHECK_EQ_MEM(real, model, size);
    CHECK_EQ_MEM(own, model, size);
    tsm_shadow_destroy(shadow);
    munmap(real, size);
    free(model);
}

/* Memory that somebody else has used before: the program sees it, and can clear it. */
static void check_left_over(void)
{
    uint8_t real[9000], zero[9000] = {0};
    struct tsm_shadow *shadow;
    uint8_t *own;

    memset(real, 0x5a, sizeof(real));
    shadow = tsm_shadow_create(real, sizeof(real), true, TSM_SHADOW_FRESH);
    own = tsm_shadow_address(shadow);
    CHECK_EQ_MEM(own, real, sizeof(real));
    memset(own, 0, sizeof(real));
    tsm_shadow_push(shadow, false);
    CHECK_EQ_MEM(real, zero, sizeof(real));
    tsm_shadow_pull(shadow);
    CHECK_EQ_MEM(own, zero, sizeof(real));
    tsm_shadow_destroy(shadow);
}

/* Bytes that the device wrote earlier are there, and are no change. */
static uint64_t told_from, told_size, told_count;

static void tell(void *user, uint64_t offset, const void *bytes, uint64_t size)
{
    told_from = offset;
    told_size = size;
    told_count++;
    CHECK_EQ_MEM(bytes, (const uint8_t *)user + offset, size);
}

static void check_changes(void)
{
    enum { SIZE = 5 * 4096 + 100 };
    static uint8_t real[SIZE];
    struct tsm_shadow *shadow;

    real[3] = 1;
    shadow = tsm_shadow_create(real, SIZE, false, TSM_SHADOW_UNKNOWN);
    CHECK_EQ_INT(((uint8_t *)tsm_shadow_address(shadow))[3], 1);
    tsm_shadow_changes(shadow, tell, real);
    CHECK_EQ_INT(told_count, 0);
    real[4096 * 4 + 9] = 7;
    real[SIZE - 1] = 8;
    ((uint8_t *)tsm_shadow_address(shadow))[100] = 9; /* the program's */
    tsm_shadow_push(shadow, false);
    tsm_shadow_pull(shadow);
    tsm_shadow_changes(shadow, tell, real);
    CHECK_EQ_INT(told_count, 1);
    CHECK_EQ_INT(told_from, 4096 * 4);
    CHECK_EQ_INT(told_size, 4096 + 100);
    tsm_shadow_changes(shadow, tell, real);
    CHECK_EQ_INT(told_count, 1);
    tsm_shadow_destroy(shadow);
}

/* Memory that nobody has written to is not looked at: each look would be a fault. */
static void check_untouched(void)
{
    size_t size = (size_t)64 << 20, pages = size / 4096, resident = 0;
    uint8_t *real = map(size), *there = malloc(pages);
    struct tsm_shadow *shadow;

    real[size / 2] = 1;
    shadow = tsm_shadow_create(real, size, true, TSM_SHADOW_FRESH);
    CHECK_EQ_INT(((uint8_t *)tsm_shadow_address(shadow))[size / 2], 1);
    CHECK_EQ_INT(mincore(real, size, there), 0);
    for (size_t i = 0; i < pages; i++)
        resident += there[i] & 1;
    CHECK(resident <= 512); /* a huge page, where there are some */
    tsm_shadow_destroy(shadow);
    munmap(real, size);
    free(there);
}

int main(void)
{
    srandom(3);
    check_both(4096, true);
    check_both(12345 * 8, false);
    check_both((1u << 20) + 24, true);
    check_both((1u << 20) + 24, false);
    check_bytes(4096, true);
    check_bytes(4093, false);
    check_bytes((1u << 20) + 21, true);
    check_left_over();
    check_changes();
    check_untouched();
    tsm_shadow_destroy(NULL);
    return check_result();
}
