/* SPDX-License-Identifier: Apache-2.0
 *
 * A scene is what the fuzzers of whole replays take: two bytes of options, then records. A record
 * is its number (u16); its stream, or 255 (u8); its result (i8); the size of what follows (u16):
 * for each field of its schema a number (u64), or a length (u16) and so many bytes of a text, a
 * value, or a blob. All of it little endian.
 *
 * A record's number: the place of a command in vk_commands, or another API's pinned number of a
 * call; SCENE_CORE and the number of a core record; SCENE_METADATA: what follows is a name, a zero,
 * and text.
 */
#ifndef TESTS_FUZZ_SCENE_RECORD_H
#define TESTS_FUZZ_SCENE_RECORD_H

#include "api/api.h"
#include "tracesmith/trace.h"
#include "tracesmith/writer.h"

#define SCENE_HEAD        2u
#define SCENE_RECORD_HEAD 6u
#define SCENE_METADATA    0xfe00u
#define SCENE_CORE        0xff00u
#define SCENE_NO_STREAM   255u
#define SCENE_TEXT_MAX    1000u

/* Bits of the first byte. The second is the record that is dumped, the end of a part. */
#define SCENE_DUMP    1u
#define SCENE_SHOT    2u
#define SCENE_LOOP    4u
#define SCENE_SYNC    8u  /* hash all memory */
#define SCENE_SAVE    16u /* what `tracesmith trim` keeps of it */
#define SCENE_APART   32u /* the host cannot map the device's memory */
#define SCENE_PERMUTE 64u
#define SCENE_WORKS                                                                                \
    128u /* nothing is wrong with it: it is not refused. Never of what was changed */
/* ... where nothing is drawn. */
#define SCENE_RANGE 1u  /* a part begins with the second byte's record */
#define SCENE_EACH  2u  /* hash all memory after each command */
#define SCENE_WHOLE 32u /* no checkpoint is used */

/* Fills in what the functions below read. A second time it does nothing. */
void scene_describe(void);
/* Returns NULL if there is no such record. */
const struct sbt_schema *scene_schema(uint32_t number);
/* Returns the number of a record type, SCENE_METADATA if it has none. */
uint32_t scene_number(uint32_t type);
/* Adds to a new trace what it says of devices. */
void scene_facts(struct sbt_writer *w);
/* Adds to a trace what it says of the structs and names of values that a schema has. */
void scene_schema_facts(struct sbt_writer *w, const struct sbt_schema *schema);

static inline bool scene_is_long(const struct sbt_field *field)
{
    return field->type == SBT_FIELD_STRING || field->type == SBT_FIELD_BYTES ||
           field->type == SBT_FIELD_BLOB || field->type == SBT_FIELD_STRUCT;
}

/* Writes a trace of a scene into memory. Returns its descriptor, which is the caller's. */
int scene_write_trace(const uint8_t *data, size_t size);
struct sbt_reader;
struct tsm_replay_options;
/* Replays a scene's trace, and saves it if `bits`, the scene's, say so, from `place` on. Fills in
 * the options but for backend, grain, time, filter and what is looked at. */
void scene_replay(struct sbt_reader *reader, struct tsm_replay_options *options, unsigned bits,
                  unsigned place);
/* Ends the program with the last error's message if `result` is negative. */
void scene_must(int result);

#endif
