/* SPDX-License-Identifier: Apache-2.0
 *
 * Facts about memory without an address (vmem.c), for the calls on it (virtual.c). Any thread.
 */
#ifndef API_HSA_SOURCE_VMEM_H
#define API_HSA_SOURCE_VMEM_H

#include "api/hsa/source/encode.h"
#include "api/hsa/source/source.h"

#include <sys/types.h>

/* Bits of a handle's `user`: its pool's facts, and how it is mapped. */
#define HSA_VMEM_IS_FOREIGN 0x100u
#define HSA_VMEM_WAS_MAPPED 0x200u
#define HSA_VMEM_COUNT_UNIT 0x10000u /* its mappings now */

static inline void hsa_vmem_note(struct tsm_handle *handle, uint64_t facts)
{
    handle->user = (void *)(uintptr_t)facts;
}

static inline uint64_t hsa_vmem_facts(const struct tsm_handle *handle)
{
    return handle ? (uint64_t)(uintptr_t)handle->user : 0;
}

/* A file that this process has made of its memory. */
struct hsa_exported {
    dev_t device;
    ino_t number;
    uint64_t address; /* of an allocation; 0: */
    uint64_t vmem;    /* memory without one; 0: the place is free */
};

/* Notes an export. One that does not fit is taken for another process's when it comes back. */
void hsa_exported_add(int file, uint64_t address, uint64_t vmem);

/* Returns what the file was made of; zeroed: it is another process's. */
struct hsa_exported hsa_exported_find(int file);

/* Tests whether there were exports ever. Cheap. */
bool hsa_exported_any(void);

/* Forgets the exports of a handle's memory. */
void hsa_exported_forget_vmem(uint64_t vmem);

#endif
