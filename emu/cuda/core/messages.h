/* SPDX-License-Identifier: Apache-2.0
 *
 * Messages of the driver, kept for the calls that ask for them (cuLogs*): the last messages, oldest
 * first.
 */
#ifndef EMU_MESSAGES_H
#define EMU_MESSAGES_H

#include <stddef.h>

/* Keep one line, and tell it to who registered. The text is copied. */
void emu_message_add(const char *text, size_t size);

#endif
