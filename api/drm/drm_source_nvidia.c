/* SPDX-License-Identifier: Apache-2.0
 *
 * NVIDIA's resource manager: the arguments of its allocations and controls have the address of
 * parameters, and their size. What is in those is another matter for each class and control, and
 * differs between versions: raw bytes.
 */
#include "api/drm/drm_source_nvidia.h"

#include <string.h>

#define RM_CONTROL 0x2a
#define RM_ALLOC   0x2b
#define XFER_CMD   211 /* carries another argument, too large for an ioctl's number */

/* Where in an argument of this size the address and the size (32 bits) are. */
static const struct {
    uint8_t number, size, address_at, size_at;
} places[] = {
    {RM_CONTROL, 32, 16, 24},
    {RM_ALLOC, 32, 16, 24},
    {RM_ALLOC, 48, 16, 32},
    {XFER_CMD, 16, 8, 4},
};

bool drm_nvidia_parameters(struct drm_parameters *out, uint32_t request, const void *in,
                           size_t size)
{
    uint32_t found;

    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        if (places[i].number != (request & 0xff) || places[i].size != size)
            continue;
        memcpy(&out->address, (const uint8_t *)in + places[i].address_at, sizeof(out->address));
        memcpy(&found, (const uint8_t *)in + places[i].size_at, sizeof(found));
        out->size = found;
        return out->address && found;
    }
    return false;
}
