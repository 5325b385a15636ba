/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds the mapping that an address lies in: the latest one of several, since a library may have
 * been unloaded and another one mapped there. A trace has as many mappings as its writer likes, in
 * any order and over each other.
 */
#ifndef TOOLS_TEXT_MAPPING_SEARCH_H
#define TOOLS_TEXT_MAPPING_SEARCH_H

#include "tracesmith/reader.h"

#define MAPPING_NONE SIZE_MAX

/* Parts of the address space, in order, up to the next one's start. */
struct mapping_part {
    uint64_t start;
    size_t mapping; /* index; MAPPING_NONE: no mapping covers it */
};

struct mapping_search {
    struct mapping_part *parts;
    size_t count;
};

/* TSM_E_MEMORY: without a message. */
int mapping_search_init(struct mapping_search *search, struct sbt_reader *reader);
void mapping_search_finish(struct mapping_search *search);

/* Returns the index of the latest mapping of `address`, or MAPPING_NONE. */
size_t mapping_search_find(const struct mapping_search *search, uint64_t address);

#endif
