/* SPDX-License-Identifier: Apache-2.0
 *
 * Stands in for the PTX engine while there is none: every text is a module with one entry, "none",
 * without parameters, whose launch does nothing.
 */
#include <stdlib.h>
#include <string.h>

#include "emu/ptx.h"

struct ptx_module {
    int nothing;
};

static const struct ptx_function none = {
    .name = "none", .is_entry = true, .version = 60, .target = 70};

int ptx_module_create(struct ptx_module **out, const char *text, size_t size, unsigned target,
                      struct ptx_log *log)
{
    *out = calloc(1, sizeof(**out));
    return *out ? PTX_OK : PTX_NO_MEMORY;
}

void ptx_module_destroy(struct ptx_module *module)
{
    free(module);
}

size_t ptx_module_function_count(const struct ptx_module *module)
{
    return 1;
}

const struct ptx_function *ptx_module_function(const struct ptx_module *module, size_t index)
{
    return &none;
}

const struct ptx_function *ptx_module_find(const struct ptx_module *module, const char *name)
{
    return strcmp(name, none.name) == 0 ? &none : NULL;
}

size_t ptx_module_variable_count(const struct ptx_module *module)
{
    return 0;
}

const struct ptx_variable *ptx_module_variable(const struct ptx_module *module, size_t index)
{
    return NULL;
}

int ptx_module_place(struct ptx_module *module, void *(*allocate)(void *user, size_t size),
                     void *user)
{
    return PTX_OK;
}

int ptx_run(const struct ptx_launch *launch, struct ptx_fault *fault, uint64_t *instructions_out)
{
    return PTX_OK;
}
