/* SPDX-License-Identifier: Apache-2.0
 *
 * Says what a command does, by its record's kind, roles and traits.
 */
#ifndef ANALYSIS_MODEL_WORK_H
#define ANALYSIS_MODEL_WORK_H

#include "analysis/model/devices.h"
#include "analysis/model/memory.h"
#include "analysis/model/node.h"
#include "tracesmith/reader.h"

/* Facts about all records of one type. */
struct tsm_type_work {
    const struct sbt_schema *schema;
    enum tsm_work work;
    bool is_command; /* it has a place on a stream */
    bool is_wait;    /* the host waits for the device in it */
    struct tsm_type_device device;
    bool gives_names;
};

/* A schema of NULL, as of a type that a damaged trace does not describe, is no command. */
struct tsm_type_work tsm_work_of_type(const struct sbt_schema *schema);

/* Tests whether a call that blocks may return before its own command has ended: the bytes that it
 * sends were taken by then, but perhaps not yet brought to the device. */
bool tsm_work_returns_early(const struct sbt_schema *schema);

/* Tests whether a wait is for all that its owner was sent: it names no stream and no other object.
 */
bool tsm_work_waits_for_all(const struct tsm_call_node *call);

/* Returns what a command inside of a command buffer does. */
enum tsm_work tsm_work_inside(const struct sbt_schema *schema);

/* Fills in what a command's own fields say: kernel, grid, places and bytes. The rest is the
 * caller's. */
void tsm_work_describe(struct tsm_command_node *node, struct sbt_reader *reader,
                       const struct sbt_record *record, const struct tsm_type_work *type,
                       const struct tsm_memory *memory);

#endif
