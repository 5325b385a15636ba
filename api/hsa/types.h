/* SPDX-License-Identifier: Apache-2.0
 *
 * HSA's headers, and names for C types that the description needs in one word.
 */
#ifndef API_HSA_TYPES_H
#define API_HSA_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Half of the API is marked deprecated, and programs use it. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
#pragma GCC diagnostic ignored "-Wstrict-prototypes"
#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>
#include <hsa/hsa_ext_finalize.h>
#include <hsa/hsa_ext_image.h>
#pragma GCC diagnostic pop

typedef hsa_queue_t *hsa_queue_pointer_t;
typedef const hsa_queue_t *hsa_queue_const_t;
typedef volatile hsa_signal_value_t *hsa_signal_value_pointer_t;
typedef uint64_t hsa_kernel_object_t;

typedef hsa_status_t (*hsa_agent_callback_t)(hsa_agent_t agent, void *data);
typedef hsa_status_t (*hsa_cache_callback_t)(hsa_cache_t cache, void *data);
typedef hsa_status_t (*hsa_isa_callback_t)(hsa_isa_t isa, void *data);
typedef hsa_status_t (*hsa_region_callback_t)(hsa_region_t region, void *data);
typedef hsa_status_t (*hsa_pool_callback_t)(hsa_amd_memory_pool_t memory_pool, void *data);
typedef hsa_status_t (*hsa_wavefront_callback_t)(hsa_wavefront_t wavefront, void *data);
typedef void *(*hsa_alloc_callback_t)(size_t);
typedef void (*hsa_async_callback_t)(void *arg);
typedef void (*hsa_queue_callback_t)(hsa_status_t status, hsa_queue_t *source, void *data);
typedef hsa_status_t (*hsa_symbol_callback_t)(hsa_executable_t exec, hsa_executable_symbol_t symbol,
                                              void *data);
typedef hsa_status_t (*hsa_agent_symbol_callback_t)(hsa_executable_t exec, hsa_agent_t agent,
                                                    hsa_executable_symbol_t symbol, void *data);
typedef hsa_status_t (*hsa_code_symbol_callback_t)(hsa_code_object_t code_object,
                                                   hsa_code_symbol_t symbol, void *data);
typedef hsa_status_t (*hsa_serialize_callback_t)(size_t size, hsa_callback_data_t data,
                                                 void **address);
typedef hsa_status_t (*hsa_module_callback_t)(hsa_ext_program_t program, hsa_ext_module_t module,
                                              void *data);

/* Virtual memory, which came with ROCr 5.6: not in Debian 12's headers. */
typedef struct hsa_vmem_handle_s {
    uint64_t handle;
} hsa_vmem_handle_t;

typedef struct hsa_memory_access_s {
    hsa_access_permission_t permissions;
    hsa_agent_t agent_handle;
} hsa_memory_access_t;

/* Attributes of later runtimes. */
#define HSA_AMD_LATER_SYSTEM_DMABUF   0x204 /* bool */
#define HSA_AMD_LATER_SYSTEM_VIRTUAL  0x205 /* bool */
#define HSA_AMD_LATER_SYSTEM_XNACK    0x206 /* bool */
#define HSA_AMD_LATER_AGENT_AVAILABLE 0xA015 /* uint64_t, bytes */
#define HSA_AMD_LATER_AGENT_FREQUENCY 0xA016 /* uint64_t, Hz of the agent's clock */
#define HSA_AMD_LATER_POOL_LOCATION   17 /* uint32_t: 0 the CPU's, 1 the GPU's */
#define HSA_AMD_LATER_POOL_GRANULE    18 /* size_t, recommended */

/* Queues whose packets pass through functions: in the runtime's table, in no header for C. */
typedef void (*hsa_intercept_writer_t)(const void *packets, uint64_t count);
typedef void (*hsa_intercept_handler_t)(const void *packets, uint64_t count, uint64_t index,
                                        void *data, hsa_intercept_writer_t writer);
typedef void (*hsa_queue_notifier_t)(const hsa_queue_t *queue, hsa_agent_t agent, void *data);

/* Values of the second byte of a vendor's packet (hsa_amd_packet_type_t of later headers). */
#define HSA_AMD_FORMAT_BARRIER_VALUE 2u

#endif
