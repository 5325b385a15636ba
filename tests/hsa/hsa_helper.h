/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared parts of the programs that use HSA: they find the GPU and its memory, load kernels, write
 * packets. Any error ends the program with a line that says where.
 */
#ifndef TESTS_HSA_HSA_HELPER_H
#define TESTS_HSA_HSA_HELPER_H

#include "api/hsa/types.h"

struct hsa_machine {
    hsa_agent_t cpu, gpu;
    hsa_amd_memory_pool_t fine, kernarg, coarse; /* memory of the host */
    hsa_amd_memory_pool_t device;                /* of the GPU */
    hsa_executable_t executable;
};

struct hsa_found_kernel {
    uint64_t object;
    uint32_t arguments_size, group_size, private_size;
};

void hsa_check(hsa_status_t status, const char *what);
#define HSA_CHECK(call) hsa_check(call, #call)

void hsa_machine_find(struct hsa_machine *out);
void hsa_machine_load(struct hsa_machine *machine, const char *path);
struct hsa_found_kernel hsa_kernel_find(const struct hsa_machine *machine, const char *name);
void *hsa_pool_take(hsa_amd_memory_pool_t pool, size_t size);
hsa_queue_t *hsa_queue_take(const struct hsa_machine *machine, uint32_t size);
hsa_signal_t hsa_signal_take(hsa_signal_value_t value);

/* A packet after the last one of the queue. The doorbell is the caller's to ring: with the index
 * that is returned. */
uint64_t hsa_dispatch(hsa_queue_t *queue, const struct hsa_found_kernel *kernel,
                      const uint32_t grid[3], const uint16_t group[3], void *arguments,
                      hsa_signal_t completion);
uint64_t hsa_barrier(hsa_queue_t *queue, uint32_t type, const hsa_signal_t *deps, unsigned count,
                     hsa_signal_t completion);
/* `like` but for its header. */
uint64_t hsa_barrier_value(hsa_queue_t *queue, const hsa_amd_barrier_value_packet_t *like);
void hsa_ring(hsa_queue_t *queue, uint64_t index);
void hsa_await(hsa_signal_t signal);
/* ... by a handler, which the runtime calls when the signal is below 1. */
void hsa_await_by_handler(hsa_signal_t signal);

/* Copy and wait. */
void hsa_copy(const struct hsa_machine *machine, void *dst, hsa_agent_t dst_agent, const void *src,
              hsa_agent_t src_agent, size_t size);

#endif
