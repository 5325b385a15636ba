/* SPDX-License-Identifier: Apache-2.0
 *
 * Messages of a fixed size between this process and one that it has forked.
 */
#ifndef REPLAY_RERUN_MESSAGE_H
#define REPLAY_RERUN_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>

/* Makes two sockets that are each other's ends, for this program alone. Returns false, and errno
 * says why not. */
bool tsm_message_pair(int ends[2]);

/* Return false where the other process has ended. */
bool tsm_message_send(int socket, const void *message, size_t size);
bool tsm_message_receive(int socket, void *message, size_t size);

#endif
