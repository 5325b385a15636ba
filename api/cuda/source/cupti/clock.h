/* SPDX-License-Identifier: Apache-2.0
 *
 * CUPTI's clock against CLOCK_MONOTONIC: samples of both, kept as they are taken. Between two
 * samples the clock may have been set, so that a time there is as exact as both samples agree. One
 * thread.
 */
#ifndef API_CUDA_SOURCE_CUPTI_CLOCK_H
#define API_CUDA_SOURCE_CUPTI_CLOCK_H

#include "api/cuda/source/cupti/library.h"

#define CUPTI_SAMPLE_MAX 128u

struct cupti_clock {
    struct cupti_sample {
        uint64_t cupti_ns, host_ns, error_ns;
    } samples[CUPTI_SAMPLE_MAX]; /* by time; the first one stays, others give way to newer ones */
    uint32_t count;
};

/* Takes one. Returns CUPTI's answer. */
int cupti_clock_sample(struct cupti_clock *clock, const struct cupti_library *library);

/* Converts a time; there is a sample. *error_ns: how far it may be off. */
uint64_t cupti_clock_host(const struct cupti_clock *clock, uint64_t cupti_ns, uint64_t *error_ns);

#endif
