/* SPDX-License-Identifier: Apache-2.0
 *
 * All ways in which a program can learn by a call that a kernel is done.
 */
#ifndef TESTS_HSA_HSA_WAYS_H
#define TESTS_HSA_HSA_WAYS_H

#include "tests/hsa/hsa_helper.h"

struct hsa_place {
    const struct hsa_machine *machine;
    hsa_queue_t *queue; /* of the kernel */
};

struct hsa_way {
    const char *name;
    /* Returns when `done`, which the kernel counts down from 1, is 0. */
    void (*learn)(const struct hsa_place *place, hsa_signal_t done);
};

extern const struct hsa_way hsa_ways[];
extern const unsigned hsa_way_count;

#endif
