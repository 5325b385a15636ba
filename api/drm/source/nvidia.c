/* SPDX-License-Identifier: Apache-2.0
 *
 * NVIDIA's resource manager: the arguments of its allocations and controls have the address of
 * parameters, and their size. What is in those is another matter for each class and control, and
 * differs between versions: raw bytes.
 */
#include "api/drm/source/run.h"

#include "capture/lock.h"

#include <string.h>

#define RM_CONTROL 0x2a
#define RM_ALLOC   0x2b
#define XFER_CMD   211 /* carries another argument, too large for an ioctl's number */

/* Offsets of the address and the size (32 bits) in an argument of this size. */
static const struct {
    uint8_t number, size, address_at, size_at;
} places[] = {
    {RM_CONTROL, 32, 16, 24},
    {RM_ALLOC, 32, 16, 24},
    {RM_ALLOC, 48, 16, 32},
    {XFER_CMD, 16, 8, 4},
};

static void find(struct drm_parameters *out, uint32_t request, const void *in, size_t size)
{
    uint32_t found;

    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        if (places[i].number != (request & 0xff) || places[i].size != size)
            continue;
        memcpy(&out->address, (const uint8_t *)in + places[i].address_at, sizeof(out->address));
        memcpy(&found, (const uint8_t *)in + places[i].size_at, sizeof(found));
        out->size = found;
        return;
    }
}

/* At most so many bytes are recorded. */
static size_t parameters_size(const struct drm_run *r)
{
    return r->parameters.size > TSM_BYTES_MAX ? TSM_BYTES_MAX : r->parameters.size;
}

static uint8_t *read_parameters(struct drm_run *r)
{
    size_t size = parameters_size(r);
    uint8_t *copy = size ? tsm_call_scratch(r->call, size) : NULL;

    return copy && tsm_memory_read(copy, r->parameters.address, size) ? copy : NULL;
}

void drm_run_parameters_keep(struct drm_run *r)
{
    find(&r->parameters, r->request, r->before, r->size);
    r->parameters.in = read_parameters(r);
}

/* Puts the output parameters that differ from the input. */
void drm_run_parameters_put(struct drm_run *r)
{
    size_t size = parameters_size(r);
    uint8_t *out = r->result >= 0 ? read_parameters(r) : NULL;

    if (out && r->parameters.in && !memcmp(out, r->parameters.in, size))
        out = NULL;
    tsm_call_bytes(r->call, r->parameters.in, r->parameters.in ? size : 0);
    tsm_call_bytes(r->call, out, out ? size : 0);
    if (r->parameters.size > size)
        tsm_call_flag(r->call, SBT_RECORD_TRUNCATED);
}
