/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/text/edge.h"

#include "api/waits.h"

#include <inttypes.h>
#include <stdio.h>

const char *tsm_edge_object(char out[TSM_EDGE_OBJECT_MAX], const struct tsm_dependency *edge)
{
    struct tsm_wait_object object;

    if (!edge->object || tsm_dependency_is_memory(edge))
        return NULL;
    object = tsm_wait_object_of(edge->object);
    if (object.type)
        snprintf(out, TSM_EDGE_OBJECT_MAX, "%s#%" PRIu64, object.type, object.id);
    else
        snprintf(out, TSM_EDGE_OBJECT_MAX, "event %" PRIu64, object.id);
    return out;
}

uint64_t tsm_edge_event(const struct tsm_dependency *edge)
{
    const bool has_object = edge->object && !tsm_dependency_is_memory(edge);
    const struct tsm_wait_object object = tsm_wait_object_of(has_object ? edge->object : 0);

    return object.type ? 0 : object.id;
}

void tsm_edge_json(struct tsm_json *j, const struct tsm_dependency *edge)
{
    const uint64_t event = tsm_edge_event(edge);
    char object[TSM_EDGE_OBJECT_MAX];

    tsm_json_put_u64(j, "from", edge->from);
    tsm_json_put_string(j, "reason", tsm_dependency_reason_name(edge->reason));
    tsm_json_name(j, "event");
    if (event)
        tsm_json_u64(j, event);
    else
        tsm_json_string(j, NULL);
    tsm_json_put_string(j, "object", tsm_edge_object(object, edge));
    tsm_json_put_bool(j, "begin", edge->is_begin);
    tsm_json_put_bool(j, "alone", edge->is_alone);
    tsm_json_put_bool(j, "part", edge->is_part);
    tsm_json_put_bool(j, "redundant", edge->is_redundant);
}
