/* SPDX-License-Identifier: Apache-2.0
 *
 * The objects of a trace that lead from a launched function to the code that it is in: a function
 * names its module, a module its code. Each such pair of objects in a record that is no command is
 * a link.
 *
 * A zeroed struct knows none. One thread at a time.
 */
#ifndef TOOLS_TEXT_CODE_OBJECTS_H
#define TOOLS_TEXT_CODE_OBJECTS_H

#include "base/buffer.h"
#include "base/map.h"
#include "tracesmith/reader.h"

struct tsm_code_object {
    uint32_t first_link;  /* index + 1; 0: none */
    uint32_t name;        /* string id */
    uint32_t record_type; /* of code: of the record that loaded it */
    uint32_t launch_name; /* string id, as the first launch has it */
    uint64_t id, seq;     /* of code: of the object, and of that record */
    const char *type;     /* of code: "module"; lives as long as the reader */
    uint8_t *blob_keys;   /* code: a copy of the blob's keys, or of its bytes */
    struct sbt_blob blob; /* size 0: no code, or too much of it */
    uint64_t launch_count, node_count, launch_seq; /* launch_seq: the first of either, + 1 */
    void *user;                                    /* the caller's */
};

struct tsm_code_objects {
    struct tsm_map by_key; /* API, type and id of a handle -> index of its object */
    struct tsm_buffer objects, links;
};

/* Remembers what `record` says of code objects and kernels. Returns 0 or TSM_E_MEMORY. */
int tsm_code_objects_note(struct tsm_code_objects *o, struct sbt_reader *reader,
                          const struct sbt_record *record);

/* Returns the index of the function that `record` launches, or that a node of a graph has;
 * UINT64_MAX: it does not, or no record made it. */
uint64_t tsm_code_objects_launched(const struct tsm_code_objects *o, struct sbt_reader *reader,
                                   const struct sbt_record *record);

size_t tsm_code_objects_count(const struct tsm_code_objects *o);
/* Valid until the next note. */
struct tsm_code_object *tsm_code_object_at(const struct tsm_code_objects *o, uint64_t index);

/* Visits the object, and those that it leads to, until `visit` returns true. Returns whether it
 * did. */
bool tsm_code_objects_search(const struct tsm_code_objects *o, uint64_t index,
                             bool (*visit)(void *user, struct tsm_code_object *object), void *user);

/* Reads code, with a 0 behind it: *out is the caller's to free. An error leaves it NULL;
 * TSM_E_NOT_FOUND: the trace was redacted. */
int tsm_code_object_read(uint8_t **out, const struct tsm_code_object *object,
                         struct sbt_reader *reader);

void tsm_code_objects_finish(struct tsm_code_objects *o);

#endif
