/* SPDX-License-Identifier: Apache-2.0
 *
 * Records of ours: what capture itself has to say (capture/call/note.c, unmodelled.c).
 */
#ifndef CAPTURE_CALL_NOTE_H
#define CAPTURE_CALL_NOTE_H

#include "capture/session.h"

/* ---- records of ours (capture/call/note.c)
 * ------------------------------------------------------- */

/* Write a core record on this thread's lane, now. `data` is copied. Returns false when it is lost.
 */
struct tsm_note {
    uint32_t call;  /* enum sbt_core_record */
    uint32_t flags; /* SBT_RECORD_* */
    uint32_t stream;
    uint64_t position;
    uint64_t slots[13];
    uint32_t slot_count;
    const void *data;
    uint32_t data_size;
};
bool tsm_note_write(struct tsm_lane *lane, const struct tsm_note *note);
/* All notes of this thread until the end have the same place, which is now. No more than half of a
 * lane may be written meanwhile: nothing behind that place is drained. */
bool tsm_notes_begin(struct tsm_lane *lane);
void tsm_notes_end(struct tsm_lane *lane, bool taken);

/* Tell of records lost on this lane since the last time, when there are any. */
void tsm_note_lost(struct tsm_lane *lane);

/* This thread is inside a call, and makes another one, `call`, which has no record. Counts it as
 * lost where a jump out of a signal handler or a callback has left the first one: nobody will end
 * that. */
void tsm_note_left(const struct tsm_call *call);

/* UNMODELLED: how often an interned text was said. */
uint32_t tsm_notes_count(const struct tsm_session *session, uint32_t text);

/* Writes the FORK records of children that signal handlers forked in the midst of code of ours. */
void tsm_forks_write(struct tsm_session *session);

#endif
