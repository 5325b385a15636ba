/* SPDX-License-Identifier: Apache-2.0
 *
 * Chunks that are tables: u32 count, then that many items, each a u32 size and so many bytes. A
 * reader ignores bytes at an item's end that it does not know. docs/FORMAT.md section 6.
 *
 * A text in an item is a u32 length, the bytes, and a zero byte that the length does not count, so
 * that a reader can point at it where it lies.
 */
#ifndef FORMAT_TABLE_H
#define FORMAT_TABLE_H

#include "base/buffer.h"
#include "base/bytes.h"
#include "tracesmith/trace.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- writing ---- */

/* A table chunk that is being filled. Zeroed: empty. */
struct sbt_table {
    struct tsm_buffer payload;
    uint32_t count;
    uint64_t first_id, last_id; /* lowest and highest, for STRINGS and STACKS */
};

void sbt_table_finish(struct sbt_table *t);
void sbt_table_clear(struct sbt_table *t);

void sbt_table_metadata(struct sbt_table *t, const char *name, const char *value);
void sbt_table_schema(struct sbt_table *t, const struct sbt_schema *schema);
void sbt_table_enum(struct sbt_table *t, const struct sbt_enum *table);
void sbt_table_struct(struct sbt_table *t, const struct sbt_struct *structure);
void sbt_table_string(struct sbt_table *t, uint32_t id, const char *text, size_t size);
void sbt_table_stack(struct sbt_table *t, uint32_t id, const uint64_t *frames, uint32_t count);
void sbt_table_mapping(struct sbt_table *t, const struct sbt_mapping *mapping);

/* ---- reading ---- */

/* Walks the items of a payload. */
struct sbt_items {
    struct tsm_view in;
    uint32_t left;
};

struct sbt_items sbt_items_init(const void *payload, size_t size, uint32_t count);

/* False at the end, and when the payload is malformed: then in.failed is set. */
bool sbt_items_next(struct sbt_items *items, struct tsm_view *item);

/* Points into the view; NULL (and failed) when malformed or longer than `limit`. */
const char *sbt_view_text(struct tsm_view *v, size_t limit);

/* Decode an item. Everything points into the item except `fields`, `values` and `members`, which
 * are allocated and the caller's. False when the item is malformed or out of memory; nothing is
 * allocated then.
 */
bool sbt_item_schema(struct tsm_view *item, struct sbt_schema *out, struct sbt_field **fields);
bool sbt_item_enum(struct tsm_view *item, struct sbt_enum *out, struct sbt_enum_value **values);
bool sbt_item_struct(struct tsm_view *item, struct sbt_struct *out, struct sbt_member **members);
bool sbt_item_mapping(struct tsm_view *item, struct sbt_mapping *out);

/* ---- CHECKPOINT --------------------------------------------------------------------------- */

/* Decodes a CHECKPOINT_END record; returns false if `record` is none. */
bool sbt_checkpoint_of(const struct sbt_record *record, struct sbt_checkpoint *out);

void sbt_checkpoint_put(struct tsm_buffer *payload, const struct sbt_checkpoint *c);
bool sbt_item_checkpoint(struct tsm_view *item, struct sbt_checkpoint *out);

#endif
