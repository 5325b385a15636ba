/* SPDX-License-Identifier: Apache-2.0
 *
 * Code objects of HSA as an enemy writes them: symbols, kernels, AMD's metadata of their arguments.
 * What is found lies inside of the file and below the limits.
 */
#include "api/hsa/code.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint64_t sum;

static bool look(void *user, const struct hsa_code_symbol *symbol)
{
    unsigned *left = user;

    sum += strlen(symbol->name) + symbol->address + symbol->size;
    if (symbol->kernel && symbol->kernel->argument_count > HSA_CODE_ARGUMENT_MAX)
        abort();
    for (uint32_t i = 0; symbol->kernel && i < symbol->kernel->argument_count; i++)
        sum += strnlen(symbol->kernel->arguments[i].value_kind, 33);
    return --*left > 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hsa_code_kernels kernels = {0};
    struct hsa_code code;
    unsigned left = 2000;

    if (!hsa_code_open(&code, data, size))
        return 0;
    sum += hsa_code_image_size(&code);
    hsa_code_each(&code, look, &left);
    if (hsa_code_kernels_init(&kernels, &code)) {
        hsa_code_metadata(data, size, &kernels);
        for (size_t i = 0; i < kernels.count && i < 100; i++) {
            const char *name = kernels.all[i].name;
            if (!hsa_code_kernels_find(&kernels, name, strlen(name)))
                abort();
        }
    }
    hsa_code_kernels_finish(&kernels);
    return 0;
}
