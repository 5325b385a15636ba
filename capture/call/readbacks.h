/* SPDX-License-Identifier: Apache-2.0
 *
 * Readbacks: bytes that the device writes where the host reads them. Calls announce them, host
 * memory looks them up (capture/call/readback.c, readback_table.c).
 */
#ifndef CAPTURE_CALL_READBACKS_H
#define CAPTURE_CALL_READBACKS_H

#include "capture/call/streams.h"
#include "capture/memory/gaps.h"
#include "capture/session.h"

/* capture/call/readback.c: the device writes `box` by this call, with bytes that are known: until
 * it is complete they are not the program's. */
void tsm_readback_silent(struct tsm_call *call, const struct tsm_box *box);

/* Works like tsm_readback() while nobody else may write there, and then like
 * tsm_readback_silent(). */
void tsm_readback_weak(struct tsm_call *call, const struct tsm_box *box);

/* ... may write in `box`, most likely from `from` on; 0: not likely. */
void tsm_readback_perhaps(struct tsm_call *call, const struct tsm_box *box, uint64_t from);

/* Tests whether a command that is not known to be complete writes there, or may. */
bool tsm_readback_is_open(const struct tsm_call *call, const struct tsm_box *box);

/* The call's command uses what is in the box, and waits for nothing that it is not known to. */
void tsm_readbacks_contest(const struct tsm_call *call, const struct tsm_box *box);

/* Every command of `api` so far is complete: write that down in `lane`, as COMPLETE records, and
 * then the READBACK records that waited for it. */
void tsm_readbacks_all_complete(struct tsm_session *session, struct tsm_lane *lane,
                                enum sbt_api api);

/* Says of streams of which something may write host memory that they are complete, where the
 * program may have seen that, and writes the READBACK records that waited for it. Asks, and does
 * not wait. */
void tsm_readbacks_ask(struct tsm_lane *lane);

/* Commands behind that of the call do not begin before the program has stored `value`; NULL:
 * before the function of the program returns. */
void tsm_readbacks_gate(const struct tsm_call *call, const struct tsm_value *value);

/* The program can see in its memory that the command is complete, and change what those before it
 * gave back. */
void tsm_readbacks_observed(const struct tsm_stream *stream, uint64_t position);

/* Tests whether a readback of the stream is not recorded yet. */
bool tsm_readbacks_await(struct tsm_session *session, const struct tsm_stream *stream);

/* The session ends: what is still under way is not compared, and the trace says so. */
void tsm_readbacks_end(struct tsm_session *session);

/* Commit of the call `call` is over: write or remember its readbacks. */
void tsm_readback_committed(struct tsm_lane *lane, const struct tsm_call *call);

/* Gives the parts of [from, to) into which an asynchronous copy from the device may still be
 * writing, in order of address; they may overlap. Commands of streams in `running` are left out:
 * they have ended or not begun. Returns their number. */
uint32_t tsm_readback_gaps(struct tsm_session *s, uint64_t from, uint64_t to,
                           const struct tsm_running *running, uint32_t running_count,
                           struct tsm_gap gaps[TSM_GAP_COUNT_MAX]);

/* A copy of the bytes that the command wrote at `address` of the program. */
void tsm_readback_copied(struct tsm_lane *lane, const struct tsm_box *box, uint64_t address,
                         struct tsm_running by);

#define TSM_NOT_SEEN "bytes given back, of which it was not seen when they were there"

/* The commands of that stream up to `position` are complete: write their READBACK records. */
void tsm_readbacks_before(uint32_t stream, uint64_t position);

#endif
