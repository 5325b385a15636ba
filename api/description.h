/* SPDX-License-Identifier: Apache-2.0
 *
 * An API's description as api/gen writes it: without pointers. Tables of pointers are relocated,
 * and so copied page by page, in each program that loads the library, also in those that never call
 * a GPU. Source: tables made by api/gen/schema.py.
 */
#ifndef API_DESCRIPTION_H
#define API_DESCRIPTION_H

#include "api/api.h"

/* Names are offsets into the description's text. */
struct tsm_packed_field {
    uint32_t name;
    uint32_t detail;
    uint8_t type; /* enum sbt_field_type */
    uint8_t role; /* enum sbt_role */
};

struct tsm_packed_call {
    uint32_t type;
    uint32_t name;
    uint32_t result_enum;
    uint32_t family;
    uint32_t flags; /* SBT_SCHEMA_* */
    uint16_t first_field;
    uint8_t field_count;
    uint8_t kind;   /* enum sbt_kind */
    uint8_t status; /* enum tsm_call_status */
};

struct tsm_packed_description {
    const char *text; /* names, each with a zero after it; the first one is "" */
    const struct tsm_packed_field *packed_fields;
    const struct tsm_packed_call *packed_calls;
    size_t field_count;
    size_t call_count;
    /* Filled in by tsm_description_unpack(): as many fields as there are packed ones. */
    struct sbt_field *fields;
    struct sbt_schema *schemas;
    struct tsm_call_description *calls;
};

/* Fills in fields, schemas and calls; a second time does nothing. Allocates nothing. The first time
 * not by two threads at once. */
void tsm_description_unpack(const struct tsm_packed_description *description);

#endif
