/* SPDX-License-Identifier: Apache-2.0
 *
 * A private interface of the software GPU's libcuda.so.1, for a replay: memory, and variables of
 * modules, at addresses that were recorded, to the byte. So what lies beside an allocation is
 * nobody's, as it was. NVIDIA's driver has nothing like it: there whole pages are mapped. Whoever
 * wants it looks for TSM_EMU_PLACE_SYMBOL in the library, a function of type
 * tsm_emu_place_function.
 */
#ifndef API_CUDA_ABI_PLACE_H
#define API_CUDA_ABI_PLACE_H

#include <stdbool.h>
#include <stdint.h>

#define TSM_EMU_PLACE_SYMBOL  "tsm_emu_place"
#define TSM_EMU_PLACE_VERSION 1u

/* Any thread may call these. */
struct tsm_emu_place {
    uint32_t version; /* TSM_EMU_PLACE_VERSION; later ones only add members */

    /* Keeps what is free of [start, start + size) for those that wish it, until the process ends.
     * Returns false where device memory cannot be at such addresses. */
    bool (*keep)(uint64_t start, uint64_t size);

    /* Tests whether the address is kept. */
    bool (*is_kept)(uint64_t address);

    /* Has the next device memory that the calling thread allocates (cuMemAlloc), or maps of
     * external memory, be at the address, if that is free; 0: anywhere again. */
    void (*wish)(uint64_t address);

    /* Has the variable of the next module that the calling thread loads be at the address, if the
     * module has it and its place is free. NULL: anywhere again. The name lives until then. */
    void (*wish_variable)(const char *name, uint64_t address);
};

/* Returns NULL before cuInit(). Valid as long as the library is loaded. */
typedef const struct tsm_emu_place *(*tsm_emu_place_function)(void);

#endif
