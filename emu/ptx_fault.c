/* SPDX-License-Identifier: Apache-2.0 */
#include "emu/ptx_exec.h"
#include "base/text.h"

static const char *const kinds[] = {
    [PTX_FAULT_NONE] = "none",
    [PTX_FAULT_ADDRESS] = "access outside any allocation",
    [PTX_FAULT_MISALIGNED] = "misaligned access",
    [PTX_FAULT_TRAP] = "trap",
    [PTX_FAULT_ASSERT] = "device-side assert",
    [PTX_FAULT_HANG] = "hang: every warp waits and none can go on",
    [PTX_FAULT_STOPPED] = "stopped",
    [PTX_FAULT_NO_MEMORY] = "out of memory",
    [PTX_FAULT_HANDLE] = "no texture or surface has this handle",
};

void ptx_stop_fault(struct ptx_warp *w, const struct ptx_insn *i, unsigned lane,
                    enum ptx_fault_kind kind, uint64_t address, uint32_t size)
{
    struct ptx_fault *f = w->run->fault;
    const uint32_t *dim = w->run->launch->block;
    uint32_t thread = w->index * PTX_LANES + lane;

    w->stop = PTX_STOP_FAULT;
    if (w->run->faulted)
        return;
    w->run->faulted = true;
    *f =
        (struct ptx_fault){.kind = kind, .address = address, .size = size, .line = i ? i->line : 0};
    f->thread[0] = thread % dim[0];
    f->thread[1] = thread / dim[0] % dim[1];
    f->thread[2] = thread / dim[0] / dim[1];
    for (unsigned k = 0; k < 3; k++)
        f->block[k] = w->block->id[k];
    tsm_format(f->text, sizeof(f->text),
               "%s: kernel %s, block (%u,%u,%u), thread (%u,%u,%u), PTX line %u, "
               "address 0x%llx, %u bytes",
               kinds[kind], w->run->code->info.name, f->block[0], f->block[1], f->block[2],
               f->thread[0], f->thread[1], f->thread[2], f->line, (unsigned long long)address,
               size);
}
