/* SPDX-License-Identifier: Apache-2.0 */
#include "api/description.h"

void tsm_description_unpack(const struct tsm_packed_description *d)
{
    if (d->calls[0].schema)
        return;
    for (size_t i = 0; i < d->field_count; i++) {
        const struct tsm_packed_field *field = &d->packed_fields[i];

        d->fields[i] = (struct sbt_field){
            .name = d->text + field->name,
            .type = (enum sbt_field_type)field->type,
            .role = (enum sbt_role)field->role,
            .detail = d->text + field->detail,
        };
    }
    for (size_t i = 0; i < d->call_count; i++) {
        const struct tsm_packed_call *call = &d->packed_calls[i];

        d->schemas[i] = (struct sbt_schema){
            .type = call->type,
            .name = d->text + call->name,
            .kind = (enum sbt_kind)call->kind,
            .flags = call->flags,
            .result_enum = d->text + call->result_enum,
            .field_count = call->field_count,
            .fields = call->field_count ? &d->fields[call->first_field] : NULL,
        };
        d->calls[i] = (struct tsm_call_description){
            .schema = &d->schemas[i],
            .status = (enum tsm_call_status)call->status,
            .family = d->text + call->family,
        };
    }
}
