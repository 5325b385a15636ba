/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_HSA_HOSTILE_KERNELS_H
#define TESTS_HSA_HOSTILE_KERNELS_H

#include <stdint.h>

/* The numbers are in sandbox_hsa.sh, too. */
enum hostile_deed {
    HOSTILE_NOTHING = 0,
    HOSTILE_FILE = 1,
    HOSTILE_CONNECT = 2,
    HOSTILE_EXEC = 3,
    HOSTILE_KILL = 4,
    HOSTILE_READ_FILE = 5,
    HOSTILE_FORK = 6,
    HOSTILE_TRUNCATE = 7,
    HOSTILE_DUMPABLE = 8,
    HOSTILE_TRACE = 9,
    HOSTILE_SHARED_FILE = 10,
    HOSTILE_READ_MEMORY = 11,
    HOSTILE_WRITE_MEMORY = 12,
    HOSTILE_LOOP = 13,
    HOSTILE_STACK = 14,
    HOSTILE_EXIT = 15,
    HOSTILE_MUCH_MEMORY = 16,
    HOSTILE_SHARED_MEMORY = 17,
    HOSTILE_GROWING_MEMORY = 18,
    HOSTILE_ADDRESS_SPACE = 19,
};

struct hostile_arguments {
    uint64_t *out;
    uint64_t address, deed;
};

#endif
