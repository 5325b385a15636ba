/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_HSA_HSA_KERNELS_H
#define TESTS_HSA_HSA_KERNELS_H

#include <stdint.h>

struct scale_arguments {
    float *data;
    float factor;
};

struct add_arguments {
    const float *left, *right;
    float *out;
};

struct group_sum_arguments {
    const uint64_t *in;
    uint64_t *out;
};

struct bias_arguments {
    uint32_t *data;
};

struct mix_arguments {
    uint32_t *data, *hosts;
};

/* A struct by value, of which a code object says that it is bytes. */
struct hold_arguments {
    uint32_t *out;
    struct {
        uint64_t factor;
        uint32_t *beside;
    } held;
};

struct sample_arguments {
    const void *image, *sampler; /* handles */
    float *out;                  /* width * height */
};

/* out[i * stride + offset] = in[i] * factor + i; `turns` of work that leaves nothing. */
struct weave_arguments {
    const uint32_t *in;
    uint32_t *out;
    uint32_t factor, stride, offset, turns;
};

#endif
