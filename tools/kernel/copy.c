/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/kernel/copy.h"

#include "base/bytes.h"
#include "base/buffer.h"
#include "kernel/include/grtrace.h"
#include "tracesmith/error.h"

#include <stdlib.h>
#include <string.h>

#define CPU_COUNT 65536u /* numbers that a record can have */

/* Places of fields: docs/FORMAT.md 10.2. */
#define SIZE_AT 0
#define TYPE_AT 2
#define CPU_AT  4
#define TIME_AT 8
#define GSEQ_AT 16
#define CSEQ_AT 32

struct cut {
    uint64_t from, to; /* on the kernel's clock */
    uint64_t left_out; /* of the module's session so far */
    uint32_t *per_cpu; /* the same, CPU_COUNT of them */
    struct tsm_buffer kept;
};

static bool is_wanted(struct cut *c, const uint8_t *record)
{
    uint64_t time = tsm_get_u64(record + TIME_AT);

    if (record[TYPE_AT] == GRTRACE_STREAM_INFO) {
        c->left_out = 0;
        memset(c->per_cpu, 0, CPU_COUNT * sizeof(*c->per_cpu));
    }
    return record[TYPE_AT] <= GRTRACE_METADATA || (time >= c->from && time <= c->to);
}

static void take(struct cut *c, const uint8_t *record, size_t size)
{
    uint32_t *left_out = &c->per_cpu[tsm_get_u16(record + CPU_AT)];
    size_t at = c->kept.size;

    if (!is_wanted(c, record)) {
        ++*left_out;
        c->left_out++;
        return;
    }
    tsm_buffer_add(&c->kept, record, size);
    if (c->kept.failed)
        return;
    tsm_put_u64(c->kept.data + at + GSEQ_AT, tsm_get_u64(record + GSEQ_AT) - c->left_out);
    tsm_put_u32(c->kept.data + at + CSEQ_AT, tsm_get_u32(record + CSEQ_AT) - *left_out);
}

/* Copies one chunk, without the records that are cut; writes none if nothing is left. */
static int copy_chunk(struct cut *c, struct sbt_writer *writer, const uint8_t *records, size_t size)
{
    tsm_buffer_clear(&c->kept);
    for (size_t at = 0, own; at < size; at += own) {
        own = tsm_get_u16(records + at + SIZE_AT); /* the reader has seen that it is sound */
        take(c, records + at, own);
    }
    if (c->kept.failed)
        return tsm_fail(TSM_E_MEMORY, "no memory for kernel records");
    return c->kept.size ? sbt_writer_kernel_events(writer, c->kept.data, c->kept.size) : 0;
}

int tsm_kernel_copy(struct sbt_writer *writer, struct sbt_reader *reader, uint64_t from_ns,
                    uint64_t to_ns)
{
    uint64_t start = sbt_reader_session(reader)->start_monotonic_ns;
    struct cut c = {.from = start + from_ns,
                    .to = to_ns > UINT64_MAX - start ? UINT64_MAX : start + to_ns,
                    .per_cpu = calloc(CPU_COUNT, sizeof(*c.per_cpu))};
    int error = c.per_cpu ? 0 : tsm_fail(TSM_E_MEMORY, "no memory for kernel records");
    uint8_t *records;
    size_t size;

    for (size_t i = 0; !error; i++) {
        error = sbt_reader_kernel_events(reader, i, &records, &size);
        if (error == TSM_E_CHECKSUM) { /* sbt_reader_missing() counts it */
            error = 0;
            continue;
        }
        if (error)
            break;
        error = copy_chunk(&c, writer, records, size);
        free(records);
    }
    tsm_buffer_finish(&c.kept);
    free(c.per_cpu);
    return error == TSM_E_NOT_FOUND ? 0 : error;
}
