/* SPDX-License-Identifier: Apache-2.0
 *
 * Tickets: when the commands of one call ran, for api/cuda/abi_times.h. Under the scheduler's lock.
 */
#ifndef EMU_TICKET_H
#define EMU_TICKET_H

#include "emu/cuda/stream/stream.h"

/* The command that is being sent belongs to the calling thread's ticket, if it has one. */
void emu_ticket_join(struct emu_command *command);

/* The command is done, and its times are known; those of one that has failed, or that did not run
 * because of such a one, say nothing. */
void emu_ticket_done(struct emu_command *command, bool has_run, bool has_failed);

/* Tests whether somebody asks what of memory the command accesses. */
bool emu_ticket_wants_accesses(const struct emu_command *command);

/* The command has run, and keeps what it owns; no lock is held. is_known: its accesses are. */
void emu_ticket_take_accesses(const struct emu_command *command, bool is_known);

/* Virtual time: `inner` ran inside of the command, as one of those in a conditional node. */
void emu_ticket_ran_inner(const struct emu_command *command, const struct emu_command *inner);

#endif
