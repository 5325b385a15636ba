/* SPDX-License-Identifier: Apache-2.0
 *
 * JSON into a buffer: what reports are written with. A comma is put before a member or element when
 * it is not the first. Text is escaped; bytes that are not UTF-8 become U+FFFD.
 */
#ifndef EMU_JSON_H
#define EMU_JSON_H

#include <stdint.h>

#include "base/buffer.h"

/* name NULL: an element of an array. bracket: '{' or '['. */
void emu_json_open(struct tsm_buffer *b, const char *name, char bracket);
void emu_json_close(struct tsm_buffer *b, char bracket); /* '}' or ']' */
void emu_json_text(struct tsm_buffer *b, const char *name, const char *text);
void emu_json_number(struct tsm_buffer *b, const char *name, uint64_t value);
void emu_json_hex(struct tsm_buffer *b, const char *name, uint64_t value); /* "0x..." */
/* x, y, z */
void emu_json_three(struct tsm_buffer *b, const char *name, const uint32_t v[3]);

#endif
