/* SPDX-License-Identifier: Apache-2.0
 *
 * Traces for tests: records made from their number by a fixed rule, so that what was read can be
 * compared without keeping what was written.
 */
#ifndef TESTS_UNIT_FORMAT_FORMAT_SAMPLE_H
#define TESTS_UNIT_FORMAT_FORMAT_SAMPLE_H

#include "tracesmith/reader.h"
#include "tracesmith/writer.h"

#define SAMPLE_TYPE_ALL   SBT_TYPE(SBT_API_CUDA, 1) /* a field of every type */
#define SAMPLE_TYPE_EMPTY SBT_TYPE(SBT_API_CUDA, 2) /* no fields */
#define SAMPLE_TYPE_WIDE  SBT_TYPE(SBT_API_CUDA, 3) /* SBT_FIELD_COUNT_MAX fields */
#define SAMPLE_TYPE_COUNT 3
#define SAMPLE_BLOB_MAX   (3 * SBT_PIECE_SIZE)

extern const struct sbt_session sample_session;

/* Everything of record `seq`; valid until the next call. `blob` bytes are in sample_blob(). */
struct sample_record {
    struct sbt_record record;
    uint64_t slots[SBT_FIELD_COUNT_MAX];
    uint8_t data[64 + SBT_BLOB_ENCODED_MAX(SAMPLE_BLOB_MAX)];
};

/* Bytes of the blob of record `seq`; returns their number (0 to SAMPLE_BLOB_MAX). */
size_t sample_blob(uint64_t seq, uint8_t out[SAMPLE_BLOB_MAX]);

/* Schemas, tables, metadata, strings 1..20, stacks 1..10, a mapping. Returns the first error. */
int sample_tables(struct sbt_writer *w);

/* Records [first, end), and the blobs that they need. */
int sample_records(struct sbt_writer *w, uint64_t first, uint64_t end);

/* The whole: create, tables, records, finish. */
int sample_write(const char *path, uint64_t count, const struct sbt_writer_options *options);

/* Make record `seq` again; `w` NULL: the blob's keys are computed, not stored. */
int sample_make(struct sample_record *out, uint64_t seq, struct sbt_writer *w);

/* "<temporary folder>/<name>"; the folder is made at the first call and emptied at exit. */
const char *sample_path(const char *name);

#endif
