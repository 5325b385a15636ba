/* SPDX-License-Identifier: Apache-2.0
 *
 * Interface of the software GPU's runtime beyond HSA: the sandbox for code objects of a trace. A
 * replay finds these functions in the library by their names. A runtime of a real GPU has none of
 * them and needs none: its code objects run on the GPU.
 */
#ifndef API_HSA_SANDBOX_H
#define API_HSA_SANDBOX_H

#include <stddef.h>
#include <stdint.h>

#define HSA_SANDBOX_FUNCTION     "tracesmith_hsa_sandbox"
#define HSA_SANDBOX_WHY_FUNCTION "tracesmith_hsa_sandbox_why"

/* Before hsa_init(), until hsa_shut_down(): code objects run in a sandbox, or not at all. A kernel
 * or a constructor that takes longer than the timeout ends it. */
typedef void (*hsa_sandbox_function)(uint64_t timeout_ns);
void tracesmith_hsa_sandbox(uint64_t timeout_ns);
/* Copies the reason of the last failure there, terminated; "" if there was none. */
typedef void (*hsa_sandbox_why_function)(char *out, size_t size);
void tracesmith_hsa_sandbox_why(char *out, size_t size);

#endif
