/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory that CUPTI writes its records to, and reading them when it gives it back. CUPTI calls on
 * threads of its own, and on the program's.
 */
#ifndef API_CUDA_SOURCE_CUPTI_BUFFERS_H
#define API_CUDA_SOURCE_CUPTI_BUFFERS_H

#include "api/cuda/source/cupti/library.h"

/* Takes the memory, once. False: there is none. */
bool cupti_buffers_begin(void);

/* Tells CUPTI of it. The library stays. Returns CUPTI's answer. */
int cupti_buffers_register(const struct cupti_library *library);

/* Have records been lost since the last call, for want of a buffer or because CUPTI dropped them?
 */
bool cupti_buffers_dropped(const struct cupti_library *library);

void cupti_buffers_forked(void);

#endif
