/* SPDX-License-Identifier: Apache-2.0
 *
 * Feeds bytes to everything that reads a trace: opening, cursors in both directions, tables,
 * pieces, JSON. For libFuzzer; tests/fuzz/replay_corpus.c runs the checked-in corpus in the normal
 * suite.
 *
 * The first byte is a set of options, the rest is the trace:
 *   1  put the right checksums in first, so that what lies after them is reached
 *   2  decode with two threads
 *   4  check and repair it as a file, too
 */
#include "base/bytes.h"
#include "base/hash.h"
#include "format/chunk/chunk.h"
#include "format/json.h"
#include "format/limits.h"
#include "tests/fuzz/memory_trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define RECORDS_MAX 3000u /* a few bytes can stand for a million records; some will do */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* ---- checksums ---- */

static void fix_chunk(uint8_t *at, size_t left)
{
    uint32_t stored = tsm_get_u32(at + 32);

    if (stored <= left - SBT_CHUNK_HEADER_SIZE)
        tsm_put_u64(at + 80, tsm_hash64(at + SBT_CHUNK_HEADER_SIZE, stored));
    tsm_put_u64(at + 88, tsm_hash64(at, 88));
}

/* From back to front: the index repeats the hashes of other chunks' payloads, which are then right
 * in the file but not in the index; entries are copied from the chunks that they point at. */
static void fix_index(const struct memory_trace *m, uint8_t *at, size_t left)
{
    uint32_t stored = tsm_get_u32(at + 32), count;
    uint8_t *entry = at + SBT_CHUNK_HEADER_SIZE + 8;

    if (stored > left - SBT_CHUNK_HEADER_SIZE || stored < 8)
        return;
    count = tsm_get_u32(entry - 4);
    for (uint32_t i = 0; i < count && (i + 1) * (uint64_t)88 <= stored - 8; i++, entry += 88) {
        uint64_t offset = tsm_get_u64(entry);
        if (offset < m->size && m->size - offset >= SBT_CHUNK_HEADER_SIZE)
            memmove(entry + 8, m->data + offset + SBT_CHUNK_SUMMARY_AT, SBT_CHUNK_SUMMARY_SIZE);
    }
}

static void fix_checksums(const struct memory_trace *m)
{
    uint8_t *end = m->data + m->size, *at = m->data;

    if (m->size >= SBT_FILE_HEADER_SIZE)
        tsm_put_u64(m->data + 56, tsm_hash64(m->data, 56));
    while ((at = memmem(at, (size_t)(end - at), sbt_chunk_magic, sizeof(sbt_chunk_magic))) &&
           end - at >= (ptrdiff_t)SBT_CHUNK_HEADER_SIZE) {
        if (tsm_get_u16(at + 8) == SBT_CHUNK_INDEX && at[11] == SBT_CODEC_RAW)
            fix_index(m, at, (size_t)(end - at));
        fix_chunk(at, (size_t)(end - at));
        at += SBT_CHUNK_HEADER_SIZE;
    }
}

/* ---- reading ---- */

static void read_blobs(struct sbt_reader *r, const struct sbt_record *record)
{
    static uint8_t bytes[4096];
    struct sbt_blob blob;

    for (uint32_t i = 0; i < record->slot_count; i++) {
        if (sbt_record_blob(record, i, &blob) && blob.size)
            (void)sbt_reader_blob(r, &blob, blob.size / 2, bytes,
                                  blob.size - blob.size / 2 < sizeof(bytes)
                                      ? (size_t)(blob.size - blob.size / 2)
                                      : sizeof(bytes));
    }
}

/* Every description is tried on every slot's bytes: a walk ends after steps by those bytes alone.
 */
static void read_values(struct sbt_reader *r, const struct sbt_record *record)
{
    struct sbt_value value;
    struct sbt_walk walk;
    struct sbt_step step;

    for (uint32_t i = 0; i < record->slot_count; i++) {
        if (sbt_reader_value(r, record, i, &value) == 1 && value.size < 100000) {
            for (size_t k = 0; k < sbt_reader_struct_count(r) && k < 20; k++) {
                uint64_t steps = 0, limit = 70 * (uint64_t)value.size + 100;
                if (sbt_walk_begin(&walk, r, sbt_reader_struct_at(r, k)->name, value.data,
                                   value.size) < 0)
                    abort();
                while (sbt_walk_next(&walk, &step) == 1) {
                    if (++steps > limit || step.depth > SBT_VALUE_DEPTH_MAX)
                        abort();
                }
            }
        }
        sbt_value_finish(&value);
    }
}

static void read_forward(struct sbt_reader *r, struct sbt_cursor *c, struct tsm_buffer *line)
{
    const struct sbt_record *record;
    const uint64_t *frames;

    for (unsigned i = 0; i < RECORDS_MAX && sbt_cursor_next(c, &record) == 1; i++) {
        tsm_buffer_clear(line);
        sbt_json_record(line, r, record);
        read_blobs(r, record);
        read_values(r, record);
        sbt_reader_stack(r, record->stack, &frames);
    }
}

static void read_records(struct sbt_reader *r, unsigned threads)
{
    const uint32_t streams[] = {0, 2, SBT_STREAM_NONE};
    const struct sbt_filter filter = {.streams = streams, .stream_count = 3, .time_first_ns = 100};
    const struct sbt_record *record;
    struct tsm_buffer line = {0};
    struct sbt_cursor *c;

    if (sbt_cursor_create(&c, r, NULL, threads) == 0) {
        read_forward(r, c, &line);
        for (unsigned i = 0; i < RECORDS_MAX && sbt_cursor_previous(c, &record) == 1; i++)
            ;
        sbt_cursor_seek(c, sbt_reader_totals(r)->record_count / 2);
        sbt_cursor_next(c, &record);
        sbt_cursor_destroy(c);
    }
    if (sbt_cursor_create(&c, r, &filter, threads) == 0) {
        for (unsigned i = 0; i < RECORDS_MAX && sbt_cursor_next(c, &record) == 1; i++)
            ;
        sbt_cursor_destroy(c);
    }
    tsm_buffer_clear(&line);
    sbt_json_header(&line, r);
    tsm_buffer_finish(&line);
}

static void read_tables(struct sbt_reader *r)
{
    const uint64_t *frames;

    for (uint32_t id = 0; id < 50; id++) {
        const char *text = sbt_reader_string(r, id);
        if (text && strlen(text) > SBT_TEXT_MAX)
            abort();
        sbt_reader_stack(r, id, &frames);
    }
    for (size_t i = 0; i < sbt_reader_mapping_count(r); i++) {
        if (!sbt_reader_mapping(r, i)->path)
            abort();
    }
    for (size_t i = 0; i < sbt_reader_damage_count(r); i++) {
        if (!sbt_reader_damage(r, i)[0])
            abort();
    }
}

static void ignore_violation(void *user, uint64_t offset, const char *text)
{
    (void)user, (void)offset, (void)text;
}

/* A repaired trace is whole: repairing it again finds nothing to do. */
static void check_and_repair(const struct memory_trace *m)
{
    int fd = memfd_create("fuzz", MFD_CLOEXEC);
    char path[32];
    uint64_t lost;

    if (fd < 0 || write(fd, m->data, m->size) != (ssize_t)m->size)
        abort();
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    sbt_check(path, ignore_violation, NULL);
    if (sbt_repair(path, &lost) == 1 && sbt_repair(path, &lost) != 0)
        abort();
    close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct memory_trace memory = {0};
    struct sbt_reader *r;

    if (size < 1)
        return 0;
    /* An allocation of its own, so that a read past the end is seen. */
    memory.size = size - 1;
    memory.data = malloc(memory.size ? memory.size : 1);
    memcpy(memory.data, data + 1, memory.size);
    if (data[0] & 1)
        fix_checksums(&memory);
    r = memory_trace_open(&memory);
    if (r) {
        read_records(r, data[0] & 2 ? 2 : 0);
        read_tables(r);
        sbt_reader_destroy(r);
    }
    if (data[0] & 4)
        check_and_repair(&memory);
    free(memory.data);
    return 0;
}
