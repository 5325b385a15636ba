/* SPDX-License-Identifier: Apache-2.0
 *
 * A byte for each byte of memory that was told of: 1 when it was written. Two levels: a table of
 * pointers by the upper bits of the address, and a piece of shadow for each 64 MiB, whose pages the
 * kernel provides when they are touched.
 */
#include "emu/ptx/check/watch.h"

#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

#define ADDRESS_BITS 47
#define PIECE_BITS   26
#define PIECE_SIZE   (1ull << PIECE_BITS)
#define PIECE_COUNT  (1ull << (ADDRESS_BITS - PIECE_BITS))
#define PAGE         4096ull

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint8_t **pieces;

static void *map(size_t size)
{
    void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                   -1, 0);

    return p == MAP_FAILED ? NULL : p;
}

static uint8_t *make_piece(uint64_t index)
{
    pthread_mutex_lock(&lock);
    if (!pieces)
        __atomic_store_n(&pieces, map(PIECE_COUNT * sizeof(*pieces)), __ATOMIC_RELEASE);
    uint8_t *piece = pieces ? pieces[index] : NULL;
    if (pieces && !piece) {
        piece = map(PIECE_SIZE);
        __atomic_store_n(&pieces[index], piece, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&lock);
    return piece;
}

/* The shadow of the byte at `address`; *run: how many bytes from there lie in the same piece. */
static uint8_t *shadow_at(uint64_t address, uint64_t *run)
{
    uint8_t **table = __atomic_load_n(&pieces, __ATOMIC_ACQUIRE);
    uint64_t index = address >> PIECE_BITS;
    uint64_t offset = address & (PIECE_SIZE - 1);

    *run = PIECE_SIZE - offset;
    if (!table || index >= PIECE_COUNT)
        return NULL;
    uint8_t *piece = __atomic_load_n(&table[index], __ATOMIC_ACQUIRE);
    return piece ? piece + offset : NULL;
}

/* Whole pages are handed back: most of a large allocation is never touched. */
static void clear(uint8_t *shadow, uint64_t size)
{
    uintptr_t start = (uintptr_t)shadow;
    uintptr_t first = (start + PAGE - 1) & ~(PAGE - 1);
    uintptr_t last = (start + size) & ~(PAGE - 1);

    if (last <= first || madvise((void *)first, last - first, MADV_DONTNEED) != 0) {
        memset(shadow, 0, size);
        return;
    }
    memset(shadow, 0, first - start);
    memset((void *)last, 0, start + size - last);
}

void ptx_shadow_fresh(uint64_t address, uint64_t size)
{
    while (size) {
        uint64_t run;
        if (address >> PIECE_BITS < PIECE_COUNT)
            make_piece(address >> PIECE_BITS);
        uint8_t *shadow = shadow_at(address, &run);
        run = run < size ? run : size;
        if (shadow)
            clear(shadow, run);
        address += run;
        size -= run;
    }
}

void ptx_shadow_written(uint64_t address, uint64_t size)
{
    while (size) {
        uint64_t run;
        uint8_t *shadow = shadow_at(address, &run);
        run = run < size ? run : size;
        if (shadow)
            memset(shadow, 1, run);
        address += run;
        size -= run;
    }
}

void ptx_shadow_copied(uint64_t to, uint64_t from, uint64_t size)
{
    while (size) {
        uint64_t to_run, from_run;
        uint8_t *d = shadow_at(to, &to_run);
        const uint8_t *s = shadow_at(from, &from_run);
        uint64_t run = to_run < from_run ? to_run : from_run;
        run = run < size ? run : size;
        if (d && s)
            memmove(d, s, run);
        else if (d)
            memset(d, 1, run);
        to += run;
        from += run;
        size -= run;
    }
}

uint32_t ptx_shadow_missing(uint64_t address, uint32_t size)
{
    uint32_t missing = 0;

    for (uint32_t k = 0; k < size; k++) {
        uint64_t run;
        const uint8_t *shadow = shadow_at(address + k, &run);
        missing += shadow && !*shadow;
    }
    return missing;
}
