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

#endif
