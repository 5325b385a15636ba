/* SPDX-License-Identifier: Apache-2.0
 *
 * Pieces for a device to unpack: the same text in each format.
 */
#ifndef TESTS_PROGRAMS_UNPACKS_H
#define TESTS_PROGRAMS_UNPACKS_H

#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* The text, by Deflate with codes of its own. */
static const uint8_t unpacks_deflate[] = {
    117, 147, 75,  10,  3,   49,  12,  67,  175, 146, 3,   116, 225, 95,  156, 228, 56,  195,
    116, 186, 29,  8,   189, 63,  45,  116, 87,  158, 183, 198, 22,  146, 37,  237, 235, 188,
    247, 179, 73,  187, 95,  237, 104, 239, 125, 156, 215, 163, 237, 223, 80,  105, 24,  52,
    92,  120, 158, 52,  181, 78,  83,  199, 221, 64,  220, 68,  10,  19,  217, 170, 176, 50,
    227, 237, 8,   22,  194, 250, 22,  11,  100, 133, 214, 121, 123, 34,  182, 91,  240, 155,
    216, 19,  86,  25,  193, 219, 19,  177, 187, 33,  147, 62,  144, 119, 178, 202, 228, 237,
    193, 216, 131, 153, 76,  230, 189, 88,  229, 202, 194, 121, 126, 161, 10,  127, 92,  149,
    13,  210, 194, 79,  53,  182, 95,  189, 72,  75,  20,  225, 234, 69,  22,  179, 136, 110,
    22,  73,  31,  220, 11,  157, 81,  164, 151, 59,  103, 82,  228, 87,  139, 62,  155, 32,
    190, 185, 32,  31,  11,  81,  238, 7,   235, 181, 44,  246, 71,  129, 63,  11,  62,  139,
    249, 123, 161, 215, 149, 255, 243, 109, 38,  55,  214, 249, 255, 30,  127, 126, 125, 0,
};

#define UNPACKS_ROOM 2048

/* "record 0 of a trace, record 1 of a trace, record 4 of a trace, ..." Returns its length. */
static inline size_t unpacks_text(char *text)
{
    size_t size = 0;

    for (int i = 0; i < 60; i++)
        size += (size_t)sprintf(text + size, "record %d of a trace, ", i * i);
    return size;
}

/* Deflate: one block that is not compressed. */
static inline size_t unpacks_stored(uint8_t *out, const char *text, size_t size)
{
    const uint8_t head[5] = {1, (uint8_t)size, (uint8_t)(size >> 8), (uint8_t)~size,
                             (uint8_t)(~size >> 8)};

    memcpy(out, head, sizeof(head));
    memcpy(out + sizeof(head), text, size);
    return size + sizeof(head);
}

/* Finds what is there already: where the longest run of bytes that `at` begins with began before.
 */
static inline size_t unpacks_match(const char *text, size_t size, size_t at, size_t *length)
{
    size_t found = 0;

    *length = 0;
    for (size_t from = 0; from < at; from++) {
        size_t same = 0;
        while (same < 60 && at + same < size && text[from + same] == text[at + same])
            same++;
        if (same > *length) {
            *length = same;
            found = from;
        }
    }
    return found;
}

/* Snappy: copies of what was there before, and literals of one byte. */
static inline size_t unpacks_snappy(uint8_t *out, const char *text, size_t size)
{
    uint8_t *to = out;
    size_t length;

    *to++ = (uint8_t)(size | 128);
    *to++ = (uint8_t)(size >> 7);
    for (size_t at = 0; at < size; at += length) {
        const size_t from = unpacks_match(text, size, at, &length);
        if (length > 3) {
            *to++ = (uint8_t)(2 | (length - 1) << 2);
            *to++ = (uint8_t)(at - from);
            *to++ = (uint8_t)((at - from) >> 8);
        } else {
            length = 1;
            *to++ = 0;
            *to++ = (uint8_t)text[at];
        }
    }
    return (size_t)(to - out);
}

/* A block of LZ4 that has one literal. */
static inline size_t unpacks_lz4(uint8_t *out, const char *text, size_t size)
{
    uint8_t *to = out;
    size_t rest = size - 15;

    *to++ = 0xf0;
    for (; rest >= 255; rest -= 255)
        *to++ = 255;
    *to++ = (uint8_t)rest;
    memcpy(to, text, size);
    return (size_t)(to - out) + size;
}

#endif
