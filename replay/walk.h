/* SPDX-License-Identifier: Apache-2.0
 *
 * Single records of the walk, for a replay that follows a schedule.
 */
#ifndef REPLAY_WALK_H
#define REPLAY_WALK_H

#include "replay/player.h"

/* Sends a command; one that blocks has returned then. */
int tsm_walk_command(struct tsm_replay *p, const struct sbt_record *record,
                     const struct sbt_schema *schema);
/* Waits as the recorded program did: a record of kind sync, or COMPLETE. */
int tsm_walk_wait(struct tsm_replay *p, const struct sbt_record *record,
                  const struct sbt_schema *schema);

/* Gives the host's worker a job of that kind (replay/worker.h). */
int tsm_walk_host(struct tsm_replay *p, const struct sbt_record *record,
                  const struct sbt_schema *schema, enum tsm_job_kind kind);

/* Waits until what was given to the stream's worker is sent. */
int tsm_walk_await_sent(struct tsm_replay *p, uint32_t stream);
/* Waits until what was sent is complete. */
int tsm_walk_wait_for_stream(struct tsm_replay *p, uint32_t stream);
int tsm_walk_wait_for_device(struct tsm_replay *p);
/* The same for one API, of several that are replayed together: what others have sent may wait for
 * what comes later. */
int tsm_walk_wait_for_api(struct tsm_replay *p, uint32_t api);

/* Tests whether a stream waits for something that is not sent yet. Others may wait for that stream,
 * so none can be waited for but where the program waited. */
int tsm_walk_find_stuck(struct tsm_replay *p, bool *is_stuck);

/* Tests whether a record is after everything that is wanted. */
bool tsm_walk_is_past(const struct tsm_replay *p, const struct sbt_record *record);

/* Compares a READBACK or CHECKSUM record that is in the part, when its command is done
 * (walk_results.c). */
int tsm_walk_result(struct tsm_replay *p, const struct sbt_record *record,
                    const struct sbt_schema *schema);
/* Hashes all memory as it is after the record, where the device can be waited for. */
int tsm_walk_regions(struct tsm_replay *p, const struct sbt_record *record);

/* Notes how a comparison came out. */
void tsm_walk_settle(struct tsm_replay *p, int equal);

#endif
