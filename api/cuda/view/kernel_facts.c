/* SPDX-License-Identifier: Apache-2.0 */
#include "api/cuda/view/kernel_facts.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"
#include "tracesmith/error.h"

#define KERNEL_MAX (1u << 20)

/* Code whose kernels are being collected. */
struct collection {
    struct cuda_code_facts *facts;
    int error;
};

static int no_memory(void)
{
    return tsm_fail(TSM_E_MEMORY, "no memory for what code says of its kernels");
}

static const struct cuda_kernel_facts unknown = {.registers = CUDA_FACT_UNKNOWN,
                                                 .shared = CUDA_FACT_UNKNOWN,
                                                 .local = CUDA_FACT_UNKNOWN,
                                                 .constant = CUDA_FACT_UNKNOWN,
                                                 .max_threads = CUDA_FACT_UNKNOWN,
                                                 .block = {CUDA_FACT_UNKNOWN}};

static bool copy(struct cuda_kernel_facts *out, const struct cuda_signature *signature)
{
    const size_t bytes = signature->count * sizeof(*out->params);

    *out = unknown;
    out->name = strndup(signature->name, signature->name_size);
    out->params = malloc(bytes + 1);
    out->param_count = signature->count;
    if (out->params && bytes)
        memcpy(out->params, signature->params, bytes);
    return out->name && out->params;
}

static void add(void *context, const struct cuda_signature *signature)
{
    struct collection *c = context;
    struct cuda_code_facts *facts = c->facts;
    struct cuda_kernel_facts kernel;
    bool added;
    uint64_t *place;

    if (c->error || facts->count == KERNEL_MAX)
        return;
    place =
        tsm_map_insert(&facts->by_name, tsm_hash64(signature->name, signature->name_size), &added);
    if (place && !added)
        return;
    if (place && copy(&kernel, signature) &&
        TSM_ARRAY_PUSH(facts->kernels, facts->count, facts->capacity, kernel)) {
        *place = facts->count;
        return;
    }
    c->error = no_memory();
    if (place) {
        free(kernel.name);
        free(kernel.params);
        *place = 0;
    }
}

struct cuda_kernel_facts *cuda_facts_find(const struct cuda_code_facts *facts, const char *name,
                                          size_t name_size)
{
    const uint64_t *place = tsm_map_find(&facts->by_name, tsm_hash64(name, name_size));
    struct cuda_kernel_facts *kernel = place && *place ? &facts->kernels[*place - 1] : NULL;

    return kernel && strlen(kernel->name) == name_size && !memcmp(kernel->name, name, name_size)
               ? kernel
               : NULL;
}

int cuda_code_facts_read(struct cuda_code_facts *out, const struct cuda_member *member)
{
    struct collection c = {.facts = out};

    *out = (struct cuda_code_facts){.is_ptx = member->is_ptx, .architecture = member->architecture};
    cuda_image_functions(member->data, member->size, add, &c);
    if (c.error)
        return c.error;
    if (member->is_ptx)
        return cuda_facts_of_ptx(out, (const char *)member->data, member->size);
    cuda_facts_of_elf(out, member->data, member->size);
    return 0;
}

void cuda_code_facts_finish(struct cuda_code_facts *facts)
{
    for (size_t i = 0; i < facts->count; i++) {
        free(facts->kernels[i].name);
        free(facts->kernels[i].params);
    }
    free(facts->kernels);
    tsm_map_finish(&facts->by_name);
    *facts = (struct cuda_code_facts){0};
}
