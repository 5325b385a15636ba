/* SPDX-License-Identifier: Apache-2.0
 *
 * PTX text as an enemy writes it: the parser and the decoder end, in bounded memory, with a module
 * or with a line of the log. What loads is loaded again by its record, and by one that lies.
 */
#include "base/buffer.h"
#include "emu/ptx/ptx.h"

#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool prepare_all(struct ptx_module *module)
{
    bool ok = true;

    for (size_t k = 0; k < ptx_module_function_count(module); k++)
        ok &= ptx_module_prepare(module, ptx_module_function(module, k), NULL) == PTX_OK;
    return ok;
}

static void recall(const char *text, size_t size, const struct tsm_buffer *record, bool must)
{
    struct ptx_module *module;
    int status = ptx_module_recall(&module, text, size, 120, record->data, record->size);

    if (status == PTX_OK && !prepare_all(module) && must)
        __builtin_trap();
    if (status != PTX_OK && status != PTX_NO_MEMORY && must)
        __builtin_trap();
    ptx_module_destroy(module);
}

static void load_again(const struct ptx_module *module, const char *text, size_t size)
{
    struct tsm_buffer record = {0};

    if (ptx_module_record(module, &record) != PTX_OK)
        __builtin_trap();
    recall(text, size, &record, true);
    for (size_t k = 0; k < record.size && k < 64; k++) {
        size_t at = k * 7919 % record.size;
        uint8_t was = record.data[at];
        record.data[at] ^= (uint8_t)(1u << k % 8);
        recall(text, size, &record, false);
        record.data[at] = was;
    }
    tsm_buffer_finish(&record);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char text[512];
    struct ptx_log log = {text, sizeof(text), 0};
    struct ptx_module *module;
    int status = ptx_module_create(&module, (const char *)data, size, 120, &log);

    if (status == PTX_OK) {
        load_again(module, (const char *)data, size);
        ptx_module_destroy(module);
    } else if (status != PTX_NO_MEMORY && log.used == 0) {
        __builtin_trap(); /* refused without a word */
    }
    return 0;
}
