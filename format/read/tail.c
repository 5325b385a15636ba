/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds the end of a trace after a power loss. Bytes that had not reached the disk then read as
 * zeros, in whole sectors, and later chunks may exist: the last chunk written need not be the last
 * one lost.
 */
#include "format/read/state.h"

#include <stdlib.h>
#include <string.h>

#define TAIL_SIZE   (256u << 20) /* what a system may have kept in memory, and is examined */
#define SECTOR_SIZE 512u
#define ZEROS_MIN   16u /* fewer may be zero by chance */

/* Tells whether a part of a sector, `size` bytes at `offset`, looks as if it was never written. */
static bool is_unwritten(struct sbt_reader *r, uint64_t offset, size_t size)
{
    static const uint8_t zeros[SECTOR_SIZE];
    uint8_t bytes[SECTOR_SIZE];

    return size >= ZEROS_MIN && sbt_reader_read(r, offset, bytes, size) == 0 &&
           memcmp(bytes, zeros, size) == 0;
}

/* `end` is where a sound chunk begins: the sector that it begins in was written, all of it. */
static bool has_unwritten(struct sbt_reader *r, uint64_t from, uint64_t end)
{
    for (uint64_t next; (next = (from / SECTOR_SIZE + 1) * SECTOR_SIZE) <= end; from = next)
        if (is_unwritten(r, from, (size_t)(next - from)))
            return true;
    return false;
}

/* The first entry to look at. The first chunk was read when the trace was opened. */
static size_t first_of_tail(const struct sbt_reader *r)
{
    size_t i = r->entry_count;

    while (i > 1 && r->size - r->entries[i - 1].info.offset < TAIL_SIZE)
        i--;
    return i ? i : 1;
}

int sbt_reader_sound_count(struct sbt_reader *r, size_t *count)
{
    size_t first = first_of_tail(r), torn = 0; /* 0: none */
    uint64_t from = 0;
    int error = 0;

    for (size_t i = first; i < r->entry_count && !error; i++) {
        uint64_t due = sbt_entry_end(&r->entries[i - 1]), offset = r->entries[i].info.offset;
        error = sbt_reader_examine_chunk(r, i);
        if (!torn && (offset > due || r->entries[i].damaged)) {
            torn = i;
            from = due;
        }
        if (!torn || r->entries[i].damaged || error)
            continue;
        if (has_unwritten(r, from, offset))
            break;
        torn = 0;
    }
    *count = torn ? torn : r->entry_count;
    return error;
}
