/* SPDX-License-Identifier: Apache-2.0
 *
 * Waits: what a record says of the objects by which the host, and other commands, learn that
 * commands have ended, for those who know no API. Such objects are fences, semaphores and signals.
 * Each API tells in a file of its own (api/X/waits.c), by the names of calls and members in the
 * trace; so it is in every build.
 */
#ifndef API_WAITS_H
#define API_WAITS_H

#include "tracesmith/reader.h"

enum tsm_wait_kind {
    /* Said of a command: */
    TSM_WAIT_ENDS,   /* when it has ended, the object comes to `value`, or beyond */
    TSM_WAIT_LOWERS, /* when it has ended, it takes 1 from the object's value */
    TSM_WAIT_FOR, /* it begins when the object has come to `value`, or beyond; of an object without
                     values, when it is signalled, which it takes away */
    TSM_WAIT_FOR_EXACT, /* it begins when the object holds `value` */
    TSM_WAIT_IN_TURN,   /* it begins when all before it on its stream have ended; no object */
    /* Said of the host's knowledge when its call has returned: */
    TSM_WAIT_REACHED, /* the object has come to `value`, or beyond */
    TSM_WAIT_HELD,    /* the object held `value` */
    /* Said of changes by the host: */
    TSM_WAIT_SET,    /* gives it `value` */
    TSM_WAIT_RAISE,  /* brings it to `value`; a counter whose values only grow */
    TSM_WAIT_BINARY, /* it has no values: ENDS signals it, FOR takes that away */
    TSM_WAIT_ADD,    /* adds `value`, modulo 2^64 */
    TSM_WAIT_SWAP,   /* finds that it held `before`, and gives it `value` in the same moment */
    TSM_WAIT_BITS,   /* changes bits of its value */
    TSM_WAIT_COPY,   /* from now on, what brings `from` to `before` brings it to `value` */
    TSM_WAIT_OVER,   /* begins again, or is destroyed: commands before have nothing to do with it */
    TSM_WAIT_FOREIGN, /* others may change it from now on, unseen */
    TSM_WAIT_NEW,     /* it is made: all said of the number before was said of another object */
    /* Said of all objects: */
    TSM_WAIT_UNSEEN, /* something is not in the trace that may have changed any of them */
};

struct tsm_wait_step {
    enum tsm_wait_kind kind;
    uint64_t object; /* a number that no other object of the API has; below 2^56 */
    uint64_t value, before;
    uint64_t from;  /* COPY: an object, as `object` */
    uint32_t parts; /* ENDS: so many parts of the command have ended, of those that have times of
                       their own; 0: all */
    bool is_alone;  /* ENDS, LOWERS: commands before this one on its stream may still run */
    bool is_early;  /* ENDS: the command, too: some of its stages have ended */
    bool is_part;   /* FOR, FOR_EXACT: some of the command may run before */
    bool is_sent;   /* FOR: what brings it there was sent before ... */
    bool is_any;    /* ... or nothing was, and it waits for nothing */
    bool is_latest; /* ENDS: the value is the largest so far, and nobody asks for one below */
};

/* A value that an object has come to when all that was sent before to bring it anywhere has ended.
 */
#define TSM_WAIT_LATEST UINT64_MAX

/* An object's number for all APIs: that of the API above that of the object. */
#define TSM_WAIT_KEY(api, object) ((uint64_t)(api) << 56 | (object))

struct tsm_wait_object {
    const char *type; /* "VkFence"; NULL: the number is no such key */
    uint64_t id;
};

struct tsm_wait_object tsm_wait_object_of(uint64_t key);

/* Tests whether calls of an API (enum sbt_api) tell such things. */
bool tsm_wait_has_calls(uint32_t api);

/* Tells in which way records of a type say such things; 0: they do not. For tsm_wait_each(). */
uint32_t tsm_wait_way(const struct sbt_schema *schema);

/* Calls `visit` for each thing that a record says, in order, until it gives something else than 0,
 * which is returned. The record must not have failed. Says nothing of what cannot be read. */
int tsm_wait_each(uint32_t way, struct sbt_reader *reader, const struct sbt_record *record,
                  const struct sbt_schema *schema,
                  int (*visit)(void *user, const struct tsm_wait_step *step), void *user);

/* Tells which value an object has by a record of a checkpoint (SBT_CORE_STATE), as a change by the
 * host: `key` is the object's number for all APIs. Returns false if the record says nothing of one.
 */
bool tsm_wait_of_state(const struct sbt_record *record, struct tsm_wait_step *step, uint64_t *key);

#endif
