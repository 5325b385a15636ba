/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads the interface of a SPIR-V module: entry points, descriptors, push constants. The bytes may
 * be hostile: parts that do not add up are left out.
 *
 * Source: Khronos SPIR-V specification, unified1; numbers are its own.
 */
#ifndef API_VULKAN_TABLES_SPIRV_H
#define API_VULKAN_TABLES_SPIRV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SPIRV_MAGIC    0x07230203u
#define SPIRV_LIST_MAX 256u /* entry points, descriptors, push constant blocks that are kept */

/* "main" of GLCompute, 64 x 1 x 1. */
struct spirv_entry {
    const char *name; /* in the module */
    uint32_t model;   /* ExecutionModel */
    uint32_t function;
    bool has_local_size;
    uint32_t local_size[3]; /* 0: a specialisation constant of unknown value */
};

struct spirv_binding {
    uint32_t set, binding;
    uint64_t count;        /* in its array; 0: as many as the layout has */
    const char *type;      /* "storage_buffer", "combined_image_sampler", ...; "unknown" */
    const char *name;      /* of the variable; "" none */
    const char *type_name; /* of the block or struct; "" none */
};

struct spirv_push {
    const char *name, *type_name;
    uint64_t size; /* bytes, from 0 to the end of the last member */
};

/* Names point into the words, which must stay. */
struct spirv_module {
    uint32_t version; /* 0x00010300: 1.3 */
    uint32_t entry_count, binding_count, push_count;
    struct spirv_entry entries[SPIRV_LIST_MAX];
    struct spirv_binding bindings[SPIRV_LIST_MAX]; /* by set, then by binding */
    struct spirv_push pushes[SPIRV_LIST_MAX];
};

/* Tests whether header and lengths of instructions add up ("Physical Layout of a SPIR-V Module"),
 * which drivers trust. `size`: bytes. */
bool spirv_is_module(const uint32_t *words, size_t size);

/* Reads a module. Returns false if it is none, or without memory for the work. */
bool spirv_reflect(struct spirv_module *out, const uint32_t *words, size_t size);

/* "vertex", "compute", ...; "unknown" */
const char *spirv_model_name(uint32_t model);

#endif
