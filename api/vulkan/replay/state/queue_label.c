/* SPDX-License-Identifier: Apache-2.0
 *
 * Labels of queues. Drivers do not check that a label which ends has begun: part of a trace may not
 * have its begin.
 */
#include "api/vulkan/replay/state/queue_label.h"

#include <stdlib.h>

#include "api/vulkan/replay/call.h"

int vkr_begin_label(struct vkr_call *c)
{
    if (c->owner && !c->owner->fact && !(c->owner->fact = calloc(1, sizeof(uint64_t))))
        return tsm_fail(TSM_E_MEMORY, "no memory to follow an object");
    if (c->owner)
        ++*(uint64_t *)c->owner->fact;
    return vkr_call_driver(c);
}

int vkr_end_label(struct vkr_call *c)
{
    uint64_t *depth = c->owner ? c->owner->fact : NULL;

    if (!depth || !*depth)
        return 0;
    --*depth;
    return vkr_call_driver(c);
}
