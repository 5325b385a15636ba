/* SPDX-License-Identifier: Apache-2.0
 *
 * PTX text as an enemy writes it: the parser and the decoder end, in bounded memory, with a module
 * or with a line of the log.
 */
#include "emu/ptx.h"

#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char text[512];
    struct ptx_log log = {text, sizeof(text), 0};
    struct ptx_module *module;
    int status = ptx_module_create(&module, (const char *)data, size, 120, &log);

    if (status == PTX_OK)
        ptx_module_destroy(module);
    else if (status != PTX_NO_MEMORY && log.used == 0)
        __builtin_trap(); /* refused without a word */
    return 0;
}
