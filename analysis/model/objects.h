/* SPDX-License-Identifier: Apache-2.0
 *
 * Objects by which the host and commands learn that commands have ended: fences, semaphores,
 * signals (api/waits.h). Each keeps links: the commands that bring it to a value.
 */
#ifndef ANALYSIS_MODEL_OBJECTS_H
#define ANALYSIS_MODEL_OBJECTS_H

#include "analysis/model/node.h"
#include "api/waits.h"
#include "base/map.h"

/* A command that brings an object to a value. */
struct tsm_object_link {
    uint64_t value, seq, position;
    uint32_t stream;
    uint32_t parts;          /* of the command that have ended then; UINT32_MAX: all */
    bool is_alone, is_early; /* as in struct tsm_wait_step */
    bool is_learnt;          /* the host has learnt that the command has ended */
    void *more;              /* the user's */
};

/* The user's part. Functions that may fail return 0 or a negative tsm_error. */
struct tsm_object_visitor {
    void *user;
    /* The host learns in this call that the command of the link has ended. */
    int (*ended)(void *user, const struct tsm_object_link *link, uint64_t object);
    /* Tests whether the host has learnt of it in another way. */
    bool (*has_ended)(void *user, const struct tsm_object_link *link);
    /* These may be NULL: */
    /* This command brings the object to a value; sets what it has `more`. */
    int (*made)(void *user, struct tsm_object_link *link);
    /* Another object has the link, too, from now on. */
    void (*copied)(void *user, const struct tsm_object_link *link);
    /* The link is forgotten. */
    void (*dropped)(void *user, const struct tsm_object_link *link);
    /* This command begins when that of the link has ended. */
    int (*waited)(void *user, const struct tsm_object_link *link, const struct tsm_wait_step *step);
    /* This command begins when all before it on its stream have ended. */
    void (*in_turn)(void *user);
    /* This command brings the object to a value that an earlier command, or a part of it, waits
     * for.
     */
    int (*awaited)(void *user, const struct tsm_object_link *link, uint64_t object, uint64_t seq,
                   bool is_part);
    /* The host brings the object to such a value in this call. */
    int (*opened)(void *user, uint64_t object, uint64_t seq, bool is_part);
};

/* A zeroed struct with `reader` and `links_max` knows none. */
struct tsm_objects {
    struct sbt_reader *reader;
    bool keeps_links; /* when the host has learnt of them: other threads may learn later */
    size_t links_max; /* of one object: of a counter the largest values stay; others say nothing */
    struct tsm_map places; /* id and API -> place in `list` + 1 */
    struct tsm_object *list;
    size_t count, capacity;
    uint64_t unseen_count; /* times that something may have changed any object */
    struct tsm_map ways;   /* record type -> what tsm_wait_way() says */
};

/* Goes through what a call says of objects. Calls come in the order of the trace. */
int tsm_objects_note(struct tsm_objects *o, const struct tsm_call_node *call,
                     const struct tsm_object_visitor *visitor);

/* Notes the value that a record of a checkpoint says of an object, if it does: nothing is under way
 * then. `visitor` may be NULL. */
int tsm_objects_note_state(struct tsm_objects *o, const struct sbt_record *record,
                           const struct tsm_object_visitor *visitor);

/* Forgets all links; `visitor` may be NULL. */
void tsm_objects_finish(struct tsm_objects *o, const struct tsm_object_visitor *visitor);

#endif
