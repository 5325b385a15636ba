/* SPDX-License-Identifier: Apache-2.0
 *
 * Places that a replay wishes: api/cuda/abi_place.h.
 */
#include "api/cuda/abi_place.h"

#include <stddef.h>

#include "emu/cuda/core/emu.h"
#include "emu/cuda/memory/memory.h"
#include "emu/cuda/memory/va_allocator.h"
#include "emu/cuda/module/module.h"

__attribute__((visibility("default"))) const struct tsm_emu_place *tsm_emu_place(void);

const struct tsm_emu_place *tsm_emu_place(void)
{
    static const struct tsm_emu_place place = {
        .version = TSM_EMU_PLACE_VERSION,
        .keep = emu_va_allocator_keep,
        .is_kept = emu_va_allocator_is_kept,
        .wish = emu_memory_wish,
        .wish_variable = emu_module_wish,
    };

    return emu_ready() || !emu_settings.has_places ? NULL : &place;
}
