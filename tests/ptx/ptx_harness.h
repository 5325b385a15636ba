/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared parts of the PTX tests: a device memory of their own, modules from fixtures or text,
 * launches.
 */
#ifndef TESTS_PTX_PTX_HARNESS_H
#define TESTS_PTX_PTX_HARNESS_H

#include "emu/ptx/ptx.h"

/* Zeroed, 256-byte aligned; never freed. Accesses outside of it are faults. */
void *dev_alloc(size_t size);

/* tests/ptx/<name>; ends the program when it cannot be read or does not parse. */
struct ptx_module *dev_load(const char *name);
/* The same from text. */
struct ptx_module *dev_parse(const char *text);
/* The status of parsing; the log is in dev_log. */
int dev_try(const char *text);
extern char dev_log[4096];
extern unsigned dev_target; /* the device: 90 */

struct dev_launch {
    const char *kernel;
    uint32_t grid;
    uint32_t block;
    uint32_t grid_y; /* 0: 1, also grid_z */
    uint32_t grid_z;
    uint32_t cluster[3];
    uint32_t shared;
    enum ptx_schedule schedule;
    bool cooperative;
    struct ptx_watch *watch;
};
extern struct ptx_fault dev_fault;
extern uint64_t dev_instructions;
extern char dev_printed[65536];

/* params: 64-bit values, each put at the kernel's parameter of that place, cut to its size. */
int dev_run(struct ptx_module *module, const struct dev_launch *launch, const uint64_t *params,
            unsigned count);

#define DEV_RUN(module, kernel_, grid_, block_, ...)                                               \
    dev_run(module, &(struct dev_launch){.kernel = kernel_, .grid = grid_, .block = block_},       \
            (uint64_t[]){__VA_ARGS__}, sizeof((uint64_t[]){__VA_ARGS__}) / 8)
#define PTR(p) ((uint64_t)(uintptr_t)(p))

#endif
