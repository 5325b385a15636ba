/* SPDX-License-Identifier: Apache-2.0
 *
 * Barriers: what a call records into an object whose commands are carried out later, as far as it
 * matters for the order of submits, for those who know no API. Work runs on stages, which are bits;
 * a barrier puts work on some stages that was recorded, or submitted, before it before work on
 * others that comes later. Each API tells in a file of its own (api/X/barriers.c), by the names of
 * calls and members in the trace; so it is in every build.
 */
#ifndef API_BARRIERS_H
#define API_BARRIERS_H

#include "tracesmith/reader.h"

#define TSM_STAGE_COUNT 16u /* of all; the last one stands for what no other does */
#define TSM_STAGES_ALL  0xffffu
#define TSM_STAGE_FETCH                                                                            \
    0x1u /* reads what a command does; it has ended when its other stages have */
#define TSM_BARRIERS_MAX 16u /* in one call: of more nothing is said */

enum tsm_recorded_kind {
    /* Said of an object that is recorded into: */
    TSM_RECORDED_BEGINS = 1,  /* nothing is in it */
    TSM_RECORDED_WORK,        /* work on `stages` */
    TSM_RECORDED_PASS_BEGINS, /* the same; until the pass ends barriers order nothing outside */
    TSM_RECORDED_PASS_ENDS,   /* work on `stages`, and the pass ends */
    TSM_RECORDED_BARRIERS,    /* `barriers`, all at once */
    TSM_RECORDED_EXECUTES,    /* the objects that it names */
    TSM_RECORDED_FREES,       /* the objects that it names end */
    /* Said of a command: */
    TSM_RECORDED_SUBMITS,  /* it carries out the objects that it names */
    TSM_RECORDED_PRESENTS, /* barriers have nothing to do with it */
};

/* Work on stages in `before` that came earlier has ended when what comes later goes on with those
 * in `behind`. Stages before and behind those that the program names are in them. */
struct tsm_barrier {
    uint16_t before, behind;
};

struct tsm_recorded {
    enum tsm_recorded_kind kind;
    bool is_inside; /* BEGINS: inside of a pass */
    uint16_t stages;
    uint32_t barrier_count;
    struct tsm_barrier barriers[TSM_BARRIERS_MAX];
};

/* Tells in which way records of a type say such things; 0: they do not. For tsm_recorded_read(). */
uint32_t tsm_recorded_way(const struct sbt_schema *schema);

/* Reads what a record says. The record must not have failed. */
void tsm_recorded_read(struct tsm_recorded *out, uint32_t way, struct sbt_reader *reader,
                       const struct sbt_record *record, const struct sbt_schema *schema);

#endif
