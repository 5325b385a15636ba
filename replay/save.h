/* SPDX-License-Identifier: Apache-2.0
 *
 * Saves what a checkpoint would hold at the moment when a replay has ended.
 */
#ifndef REPLAY_SAVE_H
#define REPLAY_SAVE_H

#include "tracesmith/replay.h"

/* Memory as a checkpoint's MEMORY record names it (docs/FORMAT.md 10.1), and a function that gives its
 * bytes. */
struct tsm_saved {
    enum sbt_memory kind;
    uint64_t object;     /* where the kind has one */
    const char *name;    /* of a variable; NULL: none */
    const char *owner;   /* type of the object that it is, or belongs to; NULL: it is always needed */
    uint64_t owner_id;
    uint64_t address, offset, size; /* `size` bytes from `offset` on */
    int (*read)(const struct tsm_saved *saved, uint64_t offset, void *out, uint64_t size);
    const void *user, *user_state; /* read()'s; its offset is one of all the memory */
};

/* Receives everything that a checkpoint holds. Its functions return 0, or a negative error that
 * ends the checkpoint. */
struct tsm_saver {
    int (*memory)(void *user, const struct tsm_saved *saved);
    /* kind to layers of a STATE record; `type` is the object's */
    int (*state)(void *user, const char *type, const uint64_t slots[8]);
    void *user;
    /* Records that will be replayed from the checkpoint: contents that they do not read may be left
     * out. part_first 0: nothing is left out; part_end 0: to the trace's end. */
    uint64_t part_first, part_end;
};

/* Takes a checkpoint. Call after tsm_replay_run(), before the replay is destroyed. */
int tsm_replay_save(struct tsm_replay *replay, const struct tsm_saver *saver);

#endif
