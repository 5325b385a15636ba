/* SPDX-License-Identifier: Apache-2.0
 *
 * Files as sources for a reader (struct sbt_source).
 */
#ifndef FORMAT_SOURCE_H
#define FORMAT_SOURCE_H

#include "tracesmith/reader.h"

int sbt_source_file(struct sbt_source *out, const char *path);

/* The source owns `fd` from success on. */
int sbt_source_fd(struct sbt_source *out, int fd, const char *name);

/* Lets a source of sbt_source_fd() end after `size` bytes. */
void sbt_source_cut(struct sbt_source *source, uint64_t size);

/* Reads up to `size` bytes and returns how many there were; negative on error. */
int64_t sbt_source_read(const struct sbt_source *source, uint64_t offset, void *to, size_t size);

/* First offset >= `from` where the 8 bytes `magic` stand, or `end`. */
int sbt_source_find(const struct sbt_source *source, uint64_t from, uint64_t end,
                    const uint8_t magic[8], uint64_t *found);

/* ... where a file header stands: its magic at `from` itself, all of it elsewhere. */
int sbt_source_find_session(const struct sbt_source *source, uint64_t from, uint64_t end,
                            uint64_t *found);

#endif
