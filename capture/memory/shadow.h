/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory of a device that the program has mapped, seen through memory of ours: the program gets the
 * shadow's address in place of the driver's. So it is always known who wrote what, also where
 * driver and "device" are threads of this very process, and whatever kind of memory the driver
 * maps:
 *
 *   push   what the program changed in the shadow goes to the real memory, and is recorded as
 *          HOST_WRITE at the shadow's address. Where the device may see it from then on.
 *   pull   what the device changed in the real memory comes to the shadow. Where the program knows
 *          that the device is done.
 *
 * A third copy says what both were like when they last agreed. Bytes that both have changed are the
 * program's. Pages that nobody touches take no memory. read(2) and the like into the shadow work.
 *
 * Copying goes on when nothing is recorded (any more): the program depends on it. Any thread.
 */
#ifndef CAPTURE_MEMORY_SHADOW_H
#define CAPTURE_MEMORY_SHADOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tsm_shadow;

/* Who wrote what the real memory holds when its shadow is made. */
enum tsm_shadow_origin {
    TSM_SHADOW_FRESH,  /* not the device: it is recorded as if the program had written it */
    TSM_SHADOW_ZEROED, /* it was zero, and the device alone wrote there since: pull has changed it
                        */
    TSM_SHADOW_UNKNOWN /* perhaps nobody: it is not recorded */
};

/* For `size` bytes at `real`, which stay until destroy. `ordinary`: pages of this process, written
 * by processors alone, so that the kernel can tell which were written. NULL: no memory. */
struct tsm_shadow *tsm_shadow_create(void *real, uint64_t size, bool ordinary,
                                     enum tsm_shadow_origin origin);
void tsm_shadow_destroy(struct tsm_shadow *shadow);

/* Memory that others share, and of which nobody has the shadow's address: the program works on the
 * real memory, and whatever changes there is recorded at addresses from `place` on. Right after
 * create, of memory that is not ordinary. */
void tsm_shadow_share(struct tsm_shadow *shadow, uint64_t place);
/* Records as HOST_WRITE what pull has changed since the last call, or what was there at first. */
void tsm_shadow_adopt(struct tsm_shadow *shadow);
/* The real memory may be written from now on in ways that the kernel does not tell us of. */
void tsm_shadow_unwatch(struct tsm_shadow *shadow);

/* Returns the program's copy, which begins at a page. */
void *tsm_shadow_address(const struct tsm_shadow *shadow);

/* Returns the memory that the shadow stands for. */
const void *tsm_shadow_real(const struct tsm_shadow *shadow);

/* `busy`: the device may be writing to the real memory now. */
void tsm_shadow_push(struct tsm_shadow *shadow, bool busy);
void tsm_shadow_pull(struct tsm_shadow *shadow);

/* Call `each` for the parts, of whole pages but for the last, that pull has changed since the last
 * time; `bytes` is what was there when it was pulled, and what was pushed since. */
void tsm_shadow_changes(struct tsm_shadow *shadow,
                        void (*each)(void *user, uint64_t offset, const void *bytes, uint64_t size),
                        void *user);
/* Tests whether pull has changed anything since the last time. */
bool tsm_shadow_has_changes(struct tsm_shadow *shadow);

/* In the child of a fork, before any other call there. */
void tsm_shadow_forked(void);

#endif
