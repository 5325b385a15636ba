/* SPDX-License-Identifier: Apache-2.0
 *
 * Types that the files of APIs and api/waits.c share.
 */
#ifndef API_WAITS_OF_H
#define API_WAITS_OF_H

#include "api/waits.h"

/* A record, and who hears of it. */
struct tsm_wait_visit {
    struct sbt_reader *reader;
    const struct sbt_record *record;
    const struct sbt_schema *schema;
    int (*visit)(void *user, const struct tsm_wait_step *step);
    void *user;
};

/* Calls that say such things, by their names. */
struct tsm_wait_call {
    const char *name;
    int (*each)(const struct tsm_wait_visit *visit, uint32_t detail);
    uint32_t detail; /* means something to `each` */
};

struct tsm_wait_calls {
    const struct tsm_wait_call *list;
    size_t count;
};

struct tsm_wait_calls tsm_wait_calls_vulkan(void);
struct tsm_wait_calls tsm_wait_calls_hsa(void);
struct tsm_wait_calls tsm_wait_calls_drm(void);
struct tsm_wait_object tsm_wait_object_vulkan(uint64_t object);
struct tsm_wait_object tsm_wait_object_drm(uint64_t object);

static inline int tsm_wait_say(const struct tsm_wait_visit *v, enum tsm_wait_kind kind,
                               uint64_t object, uint64_t value)
{
    const struct tsm_wait_step step = {.kind = kind, .object = object, .value = value};

    return v->visit(v->user, &step);
}

/* Returns the slot of the field, or `absent`. */
uint64_t tsm_wait_slot(const struct tsm_wait_visit *v, const char *field, uint64_t absent);
/* Returns the field's number, -1: there is none. */
int tsm_wait_field(const struct sbt_schema *schema, const char *field);

#endif
