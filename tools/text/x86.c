/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/text/x86.h"

#ifdef TSM_CAPSTONE

#include "base/text.h"

#include <capstone/capstone.h>
#include <dlfcn.h>
#include <string.h>

static struct {
    bool is_tried;
    csh handle; /* 0: there is no library */
    size_t (*disassemble)(csh handle, const uint8_t *code, size_t size, uint64_t address,
                          size_t count, cs_insn **out);
    void (*free)(cs_insn *list, size_t count);
    cs_err (*open)(cs_arch arch, cs_mode mode, csh *handle);
} capstone;

static bool find(void *library, const char *name, void *function)
{
    void *found = dlsym(library, name);

    memcpy(function, &found, sizeof(found));
    return found != NULL;
}

bool tsm_x86_is_here(void)
{
    void *library = capstone.is_tried ? NULL : dlopen("libcapstone.so.4", RTLD_LAZY | RTLD_LOCAL);

    capstone.is_tried = true;
    if (library && find(library, "cs_open", (void *)&capstone.open) &&
        find(library, "cs_disasm", (void *)&capstone.disassemble) &&
        find(library, "cs_free", (void *)&capstone.free) &&
        capstone.open(CS_ARCH_X86, CS_MODE_64, &capstone.handle) != CS_ERR_OK)
        capstone.handle = 0;
    return capstone.handle != 0;
}

size_t tsm_x86_next(const uint8_t *code, size_t size, uint64_t address, char *out, size_t out_size)
{
    cs_insn *insn = NULL;
    size_t length = 0;

    if (!tsm_x86_is_here() || !capstone.disassemble(capstone.handle, code, size, address, 1, &insn))
        return 0;
    length = insn->size;
    tsm_format(out, out_size, "%s%s%s", insn->mnemonic, *insn->op_str ? " " : "", insn->op_str);
    capstone.free(insn, 1);
    return length;
}

/* Lengths of calls, those that are usual first: relative, through a table, through a register. A
 * shorter call may be the end of a longer one. */
size_t tsm_x86_call_before(const uint8_t *code, size_t size, uint64_t end, char *out,
                           size_t out_size)
{
    static const size_t lengths[] = {5, 6, 3, 2, 7, 4, 8};

    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        const size_t length = lengths[i];
        if (length <= size &&
            tsm_x86_next(code + size - length, length, end - length, out, out_size) == length &&
            strncmp(out, "call", 4) == 0)
            return length;
    }
    return 0;
}

#else

bool tsm_x86_is_here(void)
{
    return false;
}

size_t tsm_x86_next(const uint8_t *code, size_t size, uint64_t address, char *out, size_t out_size)
{
    (void)code, (void)size, (void)address, (void)out, (void)out_size;
    return 0;
}

size_t tsm_x86_call_before(const uint8_t *code, size_t size, uint64_t end, char *out,
                           size_t out_size)
{
    (void)code, (void)size, (void)end, (void)out, (void)out_size;
    return 0;
}

#endif
