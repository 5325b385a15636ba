/* SPDX-License-Identifier: Apache-2.0
 *
 * HSA code objects: which kernels are in one, and what their arguments mean. Two kinds are
 * understood: AMD's ELF files (metadata as in LLVM's AMDGPU usage, code object version 3 and later)
 * and the software GPU's (include/tracesmith/hsa_kernel.h). Nothing is loaded or run; the bytes may
 * be anybody's.
 */
#ifndef API_HSA_CODE_H
#define API_HSA_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/elf_file.h"

#define HSA_CODE_ARGUMENT_MAX 64u

struct hsa_code {
    const uint8_t *data; /* the caller's */
    size_t size;
    struct tsm_elf_file file;
    bool is_amdgpu; /* else for x86-64 */
    uint32_t flags; /* of the ELF header: of AMD's files the processor is in the low 8 bits */
};

enum hsa_code_argument_kind {
    HSA_CODE_ARGUMENT_VALUE = 1,   /* bytes, opaque: a struct may hold addresses */
    HSA_CODE_ARGUMENT_POINTER = 2, /* an address */
    HSA_CODE_ARGUMENT_HIDDEN = 3,  /* filled in by the language's runtime, not by the program */
    HSA_CODE_ARGUMENT_IMAGE = 4,   /* the handle of an image or a sampler */
};

struct hsa_code_argument {
    enum hsa_code_argument_kind kind;
    uint32_t offset, size;
    char value_kind[32]; /* as the metadata calls it: "global_buffer", "hidden_hostcall_buffer" */
};

struct hsa_code_kernel {
    const char *name; /* of the symbol, inside the file: "vector_add.kd" */
    uint32_t arguments_size, group_size, private_size; /* bytes */
    /* AMD's metadata; 0: they do not say. */
    uint32_t vector_registers, scalar_registers;
    uint32_t max_threads, block[3]; /* of a workgroup; block: required */
    bool has_arguments;             /* the list below is what the file says; else it says nothing */
    uint32_t argument_count;
    struct hsa_code_argument arguments[HSA_CODE_ARGUMENT_MAX];
};

/* Opens a code object. Returns false if the format is not known. */
bool hsa_code_open(struct hsa_code *out, const void *data, size_t size);

/* Bytes of memory that the loaded file takes, from address 0 on; 0: it cannot be loaded. Of the
 * software GPU's files only. */
uint64_t hsa_code_image_size(const struct hsa_code *code);

/* Each symbol that programs can look up; `kernel` is NULL for a variable. Stops when `visit` gives
 * false, and is false then. */
struct hsa_code_symbol {
    const char *name; /* inside the file */
    uint64_t address, size;
    bool is_constant; /* kernels may not write there */
    const struct hsa_code_kernel *kernel;
};
bool hsa_code_each(const struct hsa_code *code,
                   bool (*visit)(void *user, const struct hsa_code_symbol *symbol), void *user);

/* All kernels, by name. Read once: libraries have thousands. */
struct hsa_code_kernels {
    struct hsa_code_kernel *all; /* sorted by name */
    size_t count, capacity;
    char target[64]; /* "amdgcn-amd-amdhsa--gfx906", as AMD's metadata say; "": they do not */
};
/* Collects the kernels. Returns false without memory; then there are none. */
bool hsa_code_kernels_init(struct hsa_code_kernels *out, const struct hsa_code *code);
void hsa_code_kernels_finish(struct hsa_code_kernels *kernels);
/* The kernel of that symbol's name, of `size` bytes. NULL: none. */
struct hsa_code_kernel *hsa_code_kernels_find(const struct hsa_code_kernels *kernels,
                                              const char *name, size_t size);

/* AMD's metadata: add to kernels what they say of them and of their arguments. */
void hsa_code_metadata(const uint8_t *data, size_t size, struct hsa_code_kernels *kernels);

#endif
