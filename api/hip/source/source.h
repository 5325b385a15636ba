/* SPDX-License-Identifier: Apache-2.0
 *
 * The HIP source. A wrapper calls the real function first, outside of any call of ours: what it makes
 * through HSA is recorded by that source. Then comes its own record, which began before those and ended
 * after them, on the same thread: that is how a reader finds what belongs to it (analysis/call_nesting.h).
 *
 * It runs inside the traced program: the rules of capture/capture.h hold.
 */
#ifndef API_HIP_SOURCE_SOURCE_H
#define API_HIP_SOURCE_SOURCE_H

#include "capture/capture.h"
#include "interpose/interpose.h"

#include "api/hip/types.h"

#include <string.h>

extern const struct tsm_source hip_source;
/* The runtime compiler's own library; and labels of the program, which libroctx64 takes for AMD's
 * profilers (roctx.c). */
extern const struct tsm_source hiprtc_source, roctx_source;
/* Description of these two: a part of hip_source's description. */
extern const struct tsm_api_description hip_described;

/* Find the real functions. False: this process has no libamdhip64. */
bool hip_bind(void);
/* The same for the runtime compiler, which newer versions have in a library of its own. */
bool hip_bind_rtc(void);

/* Returns the library's name for the kernel of a host function, or of a hipFunction_t. NULL: it has
 * none. The text lives as long as the code does. */
const char *hip_kernel_name(const void *host_function);
const char *hip_function_name(hipFunction_t function);

/* Bytes of a text without its terminator; 0 for NULL. */
uint64_t hip_text_size(const char *text);

static inline uint64_t hip_float_bits(float value)
{
    uint32_t bits;

    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

#endif
