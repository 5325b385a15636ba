/* SPDX-License-Identifier: Apache-2.0
 *
 * A small libhiprtc, the library that ROCm 6 has beside libamdhip64, of which two functions do
 * something that can be told from libamdhip64's.
 */
#include "api/hip/hip_prototypes.h"

#define EXPORTED __attribute__((visibility("default")))
EXPORTED hiprtcResult hiprtcVersion(int *major, int *minor);
EXPORTED hiprtcResult hiprtcLinkDestroy(hiprtcLinkState hip_link_state);

hiprtcResult hiprtcVersion(int *major, int *minor)
{
    *major = 6;
    *minor = 4;
    return 0;
}

hiprtcResult hiprtcLinkDestroy(hiprtcLinkState hip_link_state)
{
    return hip_link_state ? 0 : 3; /* invalid input */
}
