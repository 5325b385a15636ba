/* SPDX-License-Identifier: Apache-2.0
 *
 * When a checkpoint is taken (capture/call/checkpoint.c).
 */
#ifndef CAPTURE_CALL_CHECKPOINT_H
#define CAPTURE_CALL_CHECKPOINT_H

#include "capture/session.h"

/* ---- checkpoints (capture/call/checkpoint.c)
 * ------------------------------------------------------ */

/* WAITING: has the start come? Then take the checkpoint from which the trace can be replayed, and
 * go ON. When the GPU is not idle in time the state stays, and the next call tries again. */
void tsm_checkpoint_start(struct tsm_session *session);

/* Take one as soon as can be. */
void tsm_checkpoint_ask(void);

/* A command was recorded: is a checkpoint due? */
void tsm_checkpoint_count(struct tsm_session *session);

#endif
