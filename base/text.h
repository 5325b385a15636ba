/* SPDX-License-Identifier: Apache-2.0
 *
 * Formatting into fixed buffers. Always terminated, cut when too long, errno preserved.
 * vsnprintf() of glibc allocates only for huge widths and positional arguments; we use neither, so
 * these are safe inside a traced program.
 */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

/* Both return the number of bytes written without the terminator, at most size - 1. size > 0. */
size_t tsm_format(char *out, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
size_t tsm_vformat(char *out, size_t size, const char *format, va_list ap)
    __attribute__((format(printf, 3, 0)));

/* Formats like tsm_format() with "%s" and with "%s%u". vsnprintf() takes 2 KiB of stack; these two
 * take none, for use inside the program's calls. */
size_t tsm_text_copy(char *out, size_t size, const char *text);
size_t tsm_text_numbered(char *out, size_t size, const char *text, unsigned number);

/* Tests whether `text` ends with `end`. */
bool tsm_text_ends_with(const char *text, const char *end);

/* Bytes of the UTF-8 character at `text`, 0 when there is no valid one. `text` is terminated. */
size_t tsm_text_character(const char *text);

/* The same where `left` bytes may be read, at least one. */
size_t tsm_text_character_within(const char *text, size_t left);

/* The same, of a character that a terminal shows in its place: 0 for control characters, and for
 * those that turn the order of others round or begin a line. */
size_t tsm_text_harmless(const char *text);

/* Puts a '?' in the place of each byte that is not harmless in that sense, but for newlines and
 * tabs. */
void tsm_text_disarm(char *text);

/* Returns the meaning of an errno value in English. Unlike strerror() it touches no locale, and
 * unlike strerrordesc_np() it needs no glibc 2.32. */
const char *tsm_errno_text(int error);

#endif
