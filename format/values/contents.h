/* SPDX-License-Identifier: Apache-2.0
 *
 * Hides bytes of the program's memory that a record holds outside of blobs: in structured values,
 * and in BYTES fields that are no short values. Their hash replaces them as far as there is room
 * for it, with zeros after it, so that different bytes stay different.
 */
#ifndef FORMAT_CONTENTS_H
#define FORMAT_CONTENTS_H

#include "tracesmith/reader.h"

enum sbt_part {
    SBT_PART_OTHER,
    SBT_PART_BYTES, /* or what no struct describes */
    SBT_PART_WORD,  /* a word of a command stream, kept as a varint */
};

/* Returns the kind of content of a step. */
enum sbt_part sbt_step_part(const struct sbt_step *step);

/* Tells whether a BYTES field holds memory, not a short value. */
bool sbt_field_is_memory(const struct sbt_field *field);

/* Hides bytes, in place. */
void sbt_hide_bytes(uint8_t *at, size_t size);

/* Replaces a varint of `size` bytes by one of as many bytes that tells nothing but what is equal.
 */
void sbt_hide_word(uint8_t *at, size_t size);

/* The descriptions by which records are known, copied. NULL is none. */
struct sbt_contents;

struct sbt_contents *sbt_contents_create(void);
void sbt_contents_destroy(struct sbt_contents *c);

/* 0, or TSM_E_MEMORY. */
int sbt_contents_schema(struct sbt_contents *c, const struct sbt_schema *schema);
int sbt_contents_struct(struct sbt_contents *c, const struct sbt_struct *structure);

/* Hides what is in `data`, a copy of the record's own; `slots` are the record's, to be changed. A
 * value that cannot be read becomes none. */
void sbt_contents_hide(struct sbt_contents *c, const struct sbt_record *record, uint64_t *slots,
                       uint8_t *data);

#endif
