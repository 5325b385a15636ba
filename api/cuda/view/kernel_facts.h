/* SPDX-License-Identifier: Apache-2.0
 *
 * Facts that code for NVIDIA's GPUs states about its kernels, beside their parameters. A cubin has
 * what they take of a multiprocessor; PTX has what the programmer declared. The bytes may be
 * anybody's. Any thread.
 */
#ifndef API_CUDA_VIEW_KERNEL_FACTS_H
#define API_CUDA_VIEW_KERNEL_FACTS_H

#include <stddef.h>
#include <stdint.h>

#include "api/cuda/image.h"
#include "base/map.h"

#define CUDA_FACT_UNKNOWN UINT32_MAX

struct cuda_kernel_facts {
    char *name;
    struct cuda_param *params;
    uint32_t param_count;
    uint32_t registers;        /* a thread's; PTX: unknown */
    uint32_t shared;           /* bytes, without those that a launch adds; PTX: of what it names */
    uint32_t local;            /* bytes a thread; PTX: of what it declares */
    uint32_t constant;         /* bytes, with parameters; PTX: unknown */
    uint32_t max_threads;      /* of a block, where the code has a limit */
    uint32_t block[3];         /* required; [0] unknown: none is */
    size_t text_at, text_size; /* of PTX: where the kernel stands */
};

struct cuda_code_facts {
    bool is_ptx;
    unsigned architecture;             /* 80 for sm_80; 0: unknown */
    char version[16];                  /* of PTX: "8.0"; of a cubin "" */
    char target[32];                   /* "sm_80" */
    struct cuda_kernel_facts *kernels; /* in the order of the code */
    size_t count, capacity;
    struct tsm_map by_name; /* hash of a name -> place + 1 */
};

/* Reads code that is no fatbin. What is not understood is left out. Returns 0 or TSM_E_MEMORY;
 * finish in any case. */
int cuda_code_facts_read(struct cuda_code_facts *out, const struct cuda_member *member);
void cuda_code_facts_finish(struct cuda_code_facts *facts);

/* Inside: one function per format. The kernels and their parameters are there. */
void cuda_facts_of_elf(struct cuda_code_facts *facts, const uint8_t *data, size_t size);
int cuda_facts_of_ptx(struct cuda_code_facts *facts, const char *text, size_t size);
/* Returns the kernel of that name; NULL: there is none. */
struct cuda_kernel_facts *cuda_facts_find(const struct cuda_code_facts *facts, const char *name,
                                          size_t name_size);

#endif
