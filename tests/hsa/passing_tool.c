/* SPDX-License-Identifier: Apache-2.0
 *
 * A tool as profilers are: it is in HSA_TOOLS_LIB, puts a function of its own in place of
 * hsa_queue_create in the runtime's table, so that programs get queues whose packets pass through
 * it, and says how many did.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "api/hsa/hsa_prototypes.h"
#include "interpose/interpose.h"

#include "api/hsa/hsa_tables.inc"

struct table {
    uint32_t version[4];
    void *functions[];
};

struct root {
    uint32_t version[4];
    struct table *core, *amd_ext;
};

typedef hsa_status_t (*create_function)(hsa_agent_t, uint32_t, hsa_queue_type32_t,
                                        hsa_queue_callback_t, void *, uint32_t, uint32_t,
                                        hsa_queue_t **);
typedef hsa_status_t (*register_function)(hsa_queue_t *, hsa_intercept_handler_t, void *);

static create_function intercept_create;
static register_function intercept_register;
static atomic_uint passed;

static void **place(struct table *table, const struct tsm_table *known, const char *name)
{
    for (size_t i = 0; i < known->count; i++)
        if (strcmp(known->names[i], name) == 0)
            return &table->functions[i];
    return NULL;
}

static void on_packets(const void *packets, uint64_t count, uint64_t index, void *data,
                       hsa_intercept_writer_t writer)
{
    atomic_fetch_add(&passed, (unsigned)count);
    writer(packets, count);
}

static hsa_status_t create(hsa_agent_t agent, uint32_t size, hsa_queue_type32_t type,
                           hsa_queue_callback_t callback, void *data, uint32_t private_size,
                           uint32_t group_size, hsa_queue_t **queue)
{
    hsa_status_t status =
        intercept_create(agent, size, type, callback, data, private_size, group_size, queue);

    return status == HSA_STATUS_SUCCESS ? intercept_register(*queue, on_packets, NULL) : status;
}

#define EXPORT __attribute__((visibility("default")))

EXPORT bool OnLoad(void *table, uint64_t version, uint64_t failed_count, const char *const *failed);

EXPORT bool OnLoad(void *table, uint64_t version, uint64_t failed_count, const char *const *failed)
{
    struct root *root = table;

    intercept_create =
        (create_function)*place(root->amd_ext, &table_amd_ext2, "hsa_amd_queue_intercept_create");
    intercept_register = (register_function)*place(root->amd_ext, &table_amd_ext2,
                                                   "hsa_amd_queue_intercept_register");
    *place(root->core, &table_core, "hsa_queue_create") = (void *)create;
    return true;
}

__attribute__((destructor)) static void end(void)
{
    fprintf(stderr, "%u packets passed\n", atomic_load(&passed));
}
