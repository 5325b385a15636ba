/* SPDX-License-Identifier: Apache-2.0
 *
 * Uses of waits: which conflict in memory a wait orders that nothing else does, or which result the
 * program could read that it knew by no other wait by then. The order that is known is followed
 * twice, with the wait and without it; each pair that is ordered the first time alone is compared.
 * As sure as accesses.h is of what commands access.
 */
#ifndef ANALYSIS_DEPENDENCIES_WAIT_USES_H
#define ANALYSIS_DEPENDENCIES_WAIT_USES_H

#include "analysis/dependencies/command_accesses.h"

enum tsm_wait_use_kind {
    TSM_WAIT_USE_NOTHING,  /* nothing needs it */
    TSM_WAIT_USE_RESULT,   /* the program could read what `from` gave back, by the record `to` */
    TSM_WAIT_USE_CONFLICT, /* it orders `from` before `to` */
    TSM_WAIT_USE_UNKNOWN,  /* there was too much to compare, or the call alone does not say that it
                              waits, or waits for the program's own bytes */
};

struct tsm_wait_use {
    uint64_t seq; /* of the wait: given */
    enum tsm_wait_use_kind kind;
    uint64_t from, to;                   /* seq: of the first among the surest */
    struct tsm_access_conflict conflict; /* of CONFLICT */
};

/* Finds the uses of the waits, of which `seq` is set. Reads the trace once; time grows with records
 * times waits. */
int tsm_wait_uses_find(struct tsm_wait_use *list, size_t count, struct sbt_reader *reader);

#endif
