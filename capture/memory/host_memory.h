/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared parts of the tracking of host memory: host_memory.c looks for changes, host_write.c writes
 * them down.
 */
#ifndef CAPTURE_MEMORY_HOST_MEMORY_H
#define CAPTURE_MEMORY_HOST_MEMORY_H

#include "capture/memory/pagemap.h"
#include "capture/session.h"
#include "capture/memory/gaps.h"

#include <string.h>

#include <sys/uio.h>

#define TSM_HOSTMEM_RANGE_COUNT_MAX  1024u
#define TSM_HOSTMEM_BLOCK_SIZE       (1u << 20)
#define TSM_HOSTMEM_WRITER_COUNT_MAX 64u
#define TSM_HOSTMEM_RUN_COUNT        256u

struct tsm_hostmem_range {
    uint64_t start, end;             /* as the program gave them */
    uint64_t first_page, page_count; /* of PAGE bytes */
    uint64_t *hashes;                /* of what was recorded; 0: all zero bytes */
    uint32_t users;                  /* of a shared one; 0: the program's, as the API was told */
    bool is_leaving;                 /* a call that gives it up is under way */
    bool is_first_shared, is_last_shared; /* with another range: that page is always looked at */
    bool is_overlapped;                   /* more than those: never watched */
    bool fresh;    /* never looked at: whatever is there counts as a change */
    bool had_gaps; /* written pages were left out in part: all are to be looked at again */
    bool is_held;  /* a command that may have written there has completed since it was looked at */
    bool is_contested;     /* ... and one that did not wait for it was given an address there */
    struct tsm_gap device; /* ... that writes there, or was given an address there; empty: none */
    /* Commands that copy or fill wrote there, or were under way when it was looked at: how much of
     * that was seen then depends on how fast the device is. */
    bool is_mixed;
    bool watched;
    bool refused;       /* the kernel does not watch this memory */
    uint32_t hold;      /* cycles to go until it may be watched again */
    uint32_t next_hold; /* ... when it is written too much the next time */
};

struct tsm_hostmem {
    struct tsm_lock lock;
    uint32_t range_count;
    bool pagemap_open;
    struct tsm_pagemap pagemap;
    struct tsm_page_run runs[TSM_HOSTMEM_RUN_COUNT];
    struct tsm_running by; /* the command of the device that wrote the range at hand */
    bool is_by;            /* there is such a command */
    struct tsm_gap given;  /* ... there; only with by_parts */
    bool only_compares;    /* nothing is written down */
    bool by_parts;         /* ... and what has not changed is its, too */
    bool has_changed;      /* something was written down since this was cleared */
    bool is_held;          /* of the range at hand, like the next two */
    struct tsm_gap device;
    bool is_contested;
    bool has_held;                     /* some range is held; read without the lock */
    bool (*is_shared)(uint64_t start); /* see tsm_hostmem_shared() */
    /* A function of the program that begins: first it is `entering`, and no writer yet, then
     * `entered`. NULL: none. What is seen to be there then was there before it. */
    const struct tsm_running *entering, *entered;
    uint32_t writer_count; /* functions of the program that run now, and perhaps its threads */
    struct tsm_running writers[TSM_HOSTMEM_WRITER_COUNT_MAX + 1];
    uint32_t gap_count; /* of the block */
    struct tsm_gap gaps[TSM_GAP_COUNT_MAX];
    struct iovec spans[TSM_HOSTMEM_RUN_COUNT];
    uint8_t *bytes; /* of what is being looked at, in the block */
    uint8_t block[TSM_HOSTMEM_BLOCK_SIZE];
    uint8_t
        reference[SBT_BLOB_ENCODED_MAX(TSM_HOSTMEM_BLOCK_SIZE)]; /* not on the program's stack */
    struct tsm_hostmem_range ranges[TSM_HOSTMEM_RANGE_COUNT_MAX];
};

/* [from, to) of the program's addresses, which lie in h->bytes from `base` on, without the bytes
 * that belong to the device. The lock is held, here and below. */
void tsm_hostmem_write_run(struct tsm_lane *lane, struct tsm_hostmem *h, uint64_t base,
                           uint64_t from, uint64_t to);

/* Writes down a hash of what of `size` bytes from `base` on, which h->bytes holds, the command was
 * given: after its changes, and those of the program. */
void tsm_hostmem_write_hash(const struct tsm_hostmem *h, uint64_t base, uint64_t size);

/* Compares `size` bytes of whole pages, read into h->bytes, with what was recorded; writes what
 * differs. Returns the number of changed pages. */
uint64_t tsm_hostmem_write_changes(struct tsm_lane *lane, struct tsm_hostmem *h,
                                   struct tsm_hostmem_range *r, uint64_t base, size_t size);

/* Who writes from now on. */
void tsm_hostmem_add_writer(struct tsm_hostmem *h, struct tsm_running writer);
void tsm_hostmem_remove_writer(struct tsm_hostmem *h, struct tsm_running writer);

/* A command that is complete may have written [from, to): what has changed from the first such byte
 * to the last one may be the device's. */
static inline void tsm_hostmem_add_device(struct tsm_hostmem_range *r, uint64_t from, uint64_t to)
{
    const bool is_empty = r->device.start == r->device.end;

    from = from < r->start ? r->start : from;
    to = to > r->end ? r->end : to;
    if (from >= to)
        return;
    if (is_empty || from < r->device.start)
        r->device.start = from;
    if (is_empty || to > r->device.end)
        r->device.end = to;
}

static inline uint64_t tsm_hostmem_end_of(const struct tsm_hostmem_range *r)
{
    return r->first_page + r->page_count * TSM_PAGE_SIZE;
}

/* Blank what is not this range's: it counts as no change. */
static inline void tsm_hostmem_blank_outside(struct tsm_hostmem *h,
                                             const struct tsm_hostmem_range *r, uint64_t base,
                                             size_t size)
{
    if (base < r->start)
        memset(h->bytes, 0, r->start - base);
    if (base + size > r->end)
        memset(h->bytes + (r->end - base), 0, base + size - r->end);
}

static inline void tsm_hostmem_blank_gap(struct tsm_hostmem *h, uint64_t base,
                                         const struct tsm_gap *gap)
{
    memset(h->bytes + (gap->start - base), 0, gap->end - gap->start);
}

#endif
