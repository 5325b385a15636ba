/* SPDX-License-Identifier: Apache-2.0 */
#include "api/hsa/replay/hidden_args.h"

#include <string.h>

#define PREFIX     "hidden_"
#define NUMBER_MAX 4096u /* no address: there is no memory in the first page */

/* "x", "y", "z": which of three; others are 0. */
static unsigned axis_of(const char *kind)
{
    size_t length = strlen(kind);
    char last = length ? kind[length - 1] : 'x';

    return last == 'y' ? 1 : last == 'z' ? 2 : 0;
}

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

/* Finds a value of the dispatch. Returns false if `kind`, without its prefix, is none. */
static bool of_dispatch(const char *kind, const struct hsa_hidden_args *here, uint64_t *value)
{
    unsigned axis = axis_of(kind);

    if (begins(kind, "block_count_"))
        *value = here->grid[axis] / here->group[axis];
    else if (begins(kind, "group_size_"))
        *value = here->group[axis];
    else if (begins(kind, "remainder_"))
        *value = here->grid[axis] % here->group[axis];
    else if (!strcmp(kind, "grid_dims"))
        *value = here->dimensions;
    else if (!strcmp(kind, "dynamic_lds_size"))
        *value = here->dynamic_size;
    else
        return false;
    return true;
}

static bool of_queue(const char *kind, const struct hsa_hidden_args *here, uint64_t *value)
{
    if (!strcmp(kind, "queue_ptr"))
        *value = here->queue;
    else if (!strcmp(kind, "private_base"))
        *value = here->private_base;
    else if (!strcmp(kind, "shared_base"))
        *value = here->shared_base;
    else if (!strcmp(kind, "printf_buffer"))
        *value = here->printf_buffer;
    else
        return false;
    return true;
}

/* Computes a hidden argument. Returns false if it was an address of something that is not here. */
static bool make(const char *kind, const struct hsa_hidden_args *here, uint64_t recorded,
                 uint64_t *value)
{
    *value = 0;
    if (of_dispatch(kind, here, value) || of_queue(kind, here, value) || !strcmp(kind, "none"))
        return true;
    if (begins(kind, "global_offset_") ||
        (!strcmp(kind, "multigrid_sync_arg") && recorded < NUMBER_MAX))
        *value = recorded;
    return *value == recorded;
}

bool hsa_hidden_args_has(const struct hsa_code_kernel *kernel, const char *value_kind)
{
    for (uint32_t i = 0; i < kernel->argument_count; i++)
        if (!strcmp(kernel->arguments[i].value_kind, value_kind))
            return true;
    return false;
}

const char *hsa_hidden_args_fill(const struct hsa_code_kernel *kernel,
                                 const struct hsa_hidden_args *here, uint8_t *arguments,
                                 size_t size)
{
    const char *missing = NULL;

    for (uint32_t i = 0; i < kernel->argument_count; i++) {
        const struct hsa_code_argument *argument = &kernel->arguments[i];
        uint64_t recorded = 0, value;
        if (argument->kind != HSA_CODE_ARGUMENT_HIDDEN || argument->size > sizeof(value) ||
            argument->offset > size || argument->size > size - argument->offset)
            continue;
        memcpy(&recorded, arguments + argument->offset, argument->size);
        if (!make(argument->value_kind + strlen(PREFIX), here, recorded, &value) && !missing)
            missing = argument->value_kind;
        memcpy(arguments + argument->offset, &value, argument->size);
    }
    return missing;
}
