/* SPDX-License-Identifier: Apache-2.0
 *
 * Facts about calls, beyond their kind, for analysis/slice/trim_slice.c.
 */
#ifndef ANALYSIS_SLICE_TRIM_RULES_H
#define ANALYSIS_SLICE_TRIM_RULES_H

#include "tracesmith/trace.h"

enum tsm_trim_how {
    TSM_TRIM_KEEP_NEVER, /* a checkpoint says what it has changed, or it says nothing to a GPU */
    TSM_TRIM_KEEP_ALWAYS,
    TSM_TRIM_KEEP_CREATED,   /* when one of the objects that it makes is needed */
    TSM_TRIM_KEEP_DESTROYED, /* when all of the objects that it ends are needed */
    TSM_TRIM_KEEP_TARGET,    /* when the object that it changes is needed */
    TSM_TRIM_KEEP_LAST,      /* the last one for its object */
    TSM_TRIM_KEEP_BEGIN,     /* like TARGET; what came before for that object does not matter */
    TSM_TRIM_KEEP_RESET,     /* the same, and neither does this */
    TSM_TRIM_KEEP_ROOT, /* its objects are needed as long as they live: their addresses are known */
    TSM_TRIM_KEEP_NAME, /* the name of an object, when that is needed */
};

struct tsm_trim_rule {
    enum tsm_trim_how how;
    const char *target; /* name of the member that is what TARGET changes; NULL: the first object */
};

struct tsm_trim_rule tsm_trim_rule_of(const struct sbt_schema *schema);

/* Objects of these types are needed by everything: devices, contexts. */
bool tsm_trim_is_ground(const char *type);

/* Tests whether an object of this type may be left out when no kept record names it. Other types
 * are reached by addresses, or by numbers in memory. */
bool tsm_trim_may_drop(const char *type);

#endif
