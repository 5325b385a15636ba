/* SPDX-License-Identifier: Apache-2.0
 *
 * Closes the backend of a replay that has failed, and keeps a replay that hangs until what hangs
 * has ended. A tool ends then, and with it all that hangs; but a program that replays many traces
 * must not grow by each of them.
 */
#ifndef REPLAY_CLOSING_H
#define REPLAY_CLOSING_H

#include <stdint.h>

struct tsm_replay;

/* Closes the backend of p within `patience_ns`; p->is_left_open if that does not end. A driver is
 * not closed while commands wait for what nobody is going to do: they are let go on first. */
void tsm_close_failed(struct tsm_replay *p, uint64_t patience_ns);

/* Keeps a replay that is left open, instead of destroying it. It may end after all, and uses what
 * it was given, also the reader, which its owner destroys. */
void tsm_left_keep(struct tsm_replay *p);

/* Frees the replays that were left open and have ended since. Waits for no command. */
void tsm_left_collect(void);

/* Returns how many replays are left open. */
unsigned tsm_left_count(void);

#endif
