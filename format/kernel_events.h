/* SPDX-License-Identifier: Apache-2.0
 *
 * The payload of KERNEL_EVENTS chunks: records as kernel/include/grtrace.h describes them, which
 * the kernel module wrote. docs/FORMAT.md section 10.2.
 */
#ifndef FORMAT_KERNEL_EVENTS_H
#define FORMAT_KERNEL_EVENTS_H

#include <stddef.h>
#include <stdint.h>

#define SBT_KERNEL_RECORD_SIZE     64u /* the smallest */
#define SBT_KERNEL_RECORD_SIZE_MAX 2048u

/* Size of the record at the start of `data`, 0 when there is no sound one in `size` bytes. */
size_t sbt_kernel_record_size(const uint8_t *data, size_t size);

/* Number of records that fill `data` exactly; -1 when they do not. */
int64_t sbt_kernel_record_count(const uint8_t *data, size_t size);

#endif
