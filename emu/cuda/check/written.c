/* SPDX-License-Identifier: Apache-2.0 */
#include "emu/cuda/check/written.h"

#include "emu/cuda/core/emu.h"
#include "emu/ptx/check/watch.h"

void emu_written_none(uint64_t address, uint64_t size)
{
    if (emu_settings.checks & EMU_CHECK_UNINIT)
        ptx_shadow_fresh(address, size);
}

void emu_written_all(uint64_t address, uint64_t size)
{
    if (emu_settings.checks & EMU_CHECK_UNINIT)
        ptx_shadow_written(address, size);
}

void emu_written_copy(uint64_t to, uint64_t from, uint64_t size)
{
    if (emu_settings.checks & EMU_CHECK_UNINIT)
        ptx_shadow_copied(to, from, size);
}
