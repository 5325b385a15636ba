/* SPDX-License-Identifier: Apache-2.0
 *
 * Removes what a trace reveals apart from its structure: bytes, and texts, of which every letter
 * but those of system paths becomes another one of no meaning. The same word becomes the same
 * letters throughout a trace, as long as it was, so that what was equal stays equal.
 *
 * One thread at a time. What a function returns is good until its next call.
 */
#ifndef TOOLS_EDIT_REDACT_H
#define TOOLS_EDIT_REDACT_H

#include "base/buffer.h"
#include "base/map.h"
#include "tracesmith/reader.h"
#include "tracesmith/writer.h"

enum tsm_redact_what {
    TSM_REDACT_CONTENTS = 1 << 0, /* bytes of memory and code; blobs keep their hashes */
    TSM_REDACT_COMMAND = 1 << 1,  /* the command line, names of threads and processes */
    TSM_REDACT_HOST = 1 << 2,   /* the machine's name, wherever it is; serial numbers of devices */
    TSM_REDACT_USER = 1 << 3,   /* names of home folders, wherever they are */
    TSM_REDACT_PATHS = 1 << 4,  /* paths of files that no distribution has */
    TSM_REDACT_NAMES = 1 << 5,  /* all other texts: kernels, labels, variables */
    TSM_REDACT_VALUES = 1 << 6, /* short values of calls: arguments of kernels */
    TSM_REDACT_HASHES = 1 << 7, /* hashes become numbers: what is equal stays equal */
};

#define TSM_REDACT_DEFAULT                                                                         \
    (TSM_REDACT_CONTENTS | TSM_REDACT_COMMAND | TSM_REDACT_HOST | TSM_REDACT_USER |                \
     TSM_REDACT_PATHS)

struct tsm_redact {
    struct sbt_reader *reader;
    unsigned what;
    char **secrets; /* names of the machine and of users */
    size_t secret_count;
    bool has_too_many;          /* more than there is room for */
    bool has_no_contents;       /* the trace that is read: hashes are in place of bytes already */
    struct tsm_map words, keys; /* hash of a word or key -> its number */
    struct tsm_map strings;     /* id and what it is -> its new id */
    uint64_t missing_count;     /* texts and values that could not be read */
    struct tsm_buffer text, data, value;
    uint64_t slots[64];
};

/* "contents,paths", or "all", to a set of enum tsm_redact_what; false: no such name. */
bool tsm_redact_parse(unsigned *what, const char *list);
void tsm_redact_list(char *out, size_t size, unsigned what);

/* Returns the parts that were removed from a trace before. */
unsigned tsm_redacted(const struct sbt_reader *reader);

/* Reads the trace once. `r` is zeroed but for reader and what. */
int tsm_redact_begin(struct tsm_redact *r);
void tsm_redact_finish(struct tsm_redact *r);

/* Returns the text to write in place of a metadata value or a mapped file's path. NULL: out of
 * memory. */
const char *tsm_redact_metadata(struct tsm_redact *r, const char *name, const char *value);
const char *tsm_redact_path(struct tsm_redact *r, const char *path);

/* *out is `in` without what is to go. Texts, and bytes of structured values that are kept as blobs,
 * are given to `writer`; the pieces of other blobs that stay are the caller's to copy. */
int tsm_redact_record(struct tsm_redact *r, struct sbt_writer *writer,
                      const struct sbt_schema *schema, const struct sbt_record *in,
                      struct sbt_record *out);

/* Names in `size` bytes of sound kernel records, in place. */
void tsm_redact_kernel(struct tsm_redact *r, uint8_t *records, size_t size);

#endif
