/* SPDX-License-Identifier: Apache-2.0
 *
 * A private interface of the software GPU's libcuda.so.1, for the runtime library beside it, which
 * asks in each of its calls. A recorder records cuCtxGetCurrent(), but not this.
 */
#ifndef API_CUDA_ABI_CURRENT_H
#define API_CUDA_ABI_CURRENT_H

#include <stdbool.h>

/* Tests whether the calling thread has a current context. Any thread may call it, also before
 * cuInit(). */
__attribute__((visibility("default"))) bool tsm_emu_has_context(void);

#endif
