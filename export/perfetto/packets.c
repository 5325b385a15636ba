/* SPDX-License-Identifier: Apache-2.0 */
#include "export/perfetto/packets.h"

#include "base/hash.h"
#include "export/perfetto/fields.h"
#include "export/protobuf.h"
#include "tracesmith/error.h"

#include <zstd.h>

#define SEQUENCE   1u           /* number of our packet sequence; a file has no other */
#define CHUNK_SIZE (512u << 10) /* packets that are compressed together */
#define LEVEL      3

static const uint32_t interned_fields[TSM_INTERNED_COUNT] = {
    [TSM_INTERNED_EVENT_NAME] = INTERNED_EVENT_NAMES,
    [TSM_INTERNED_CATEGORY] = INTERNED_CATEGORIES,
    [TSM_INTERNED_ANNOTATION] = INTERNED_ANNOTATION_NAMES,
    [TSM_INTERNED_FUNCTION] = INTERNED_FUNCTION_NAMES,
    [TSM_INTERNED_SOURCE] = INTERNED_SOURCE_PATHS,
    [TSM_INTERNED_PATH] = INTERNED_MAPPING_PATHS,
    [TSM_INTERNED_BUILD_ID] = INTERNED_BUILD_IDS,
    [TSM_INTERNED_MAPPING] = INTERNED_MAPPINGS,
    [TSM_INTERNED_FRAME] = INTERNED_FRAMES,
    [TSM_INTERNED_CALLSTACK] = INTERNED_CALLSTACKS,
    [TSM_INTERNED_CONTEXT] = INTERNED_CONTEXTS,
    [TSM_INTERNED_SPECIFICATION] = INTERNED_SPECIFICATIONS,
    [TSM_INTERNED_KERNEL] = INTERNED_KERNELS,
    [TSM_INTERNED_ARGUMENT] = INTERNED_ARGUMENT_NAMES,
};

static void fail_memory(struct tsm_packets *p)
{
    if (!p->error)
        p->error = tsm_fail(TSM_E_MEMORY, "out of memory for packets of a Perfetto trace");
}

/* ---- numbers -------------------------------------------------------------------------------- */

uint64_t tsm_intern_key(struct tsm_packets *p, enum tsm_interned table, uint64_t key, bool *added)
{
    uint64_t *place = tsm_map_insert(&p->tables[table], key, added);

    if (!place) {
        *added = false;
        fail_memory(p);
        return 0;
    }
    if (*added)
        *place = p->tables[table].count;
    return *place;
}

void tsm_intern_message(struct tsm_packets *p, enum tsm_interned table, struct tsm_buffer *message)
{
    tsm_proto_message(&p->interned, interned_fields[table], message);
}

uint64_t tsm_intern_bytes(struct tsm_packets *p, enum tsm_interned table, const void *data,
                          size_t size)
{
    bool added;
    const uint64_t iid = tsm_intern_key(p, table, tsm_hash64(data, size), &added);

    if (added) {
        tsm_proto_u64(&p->part, STRING_IID, iid);
        tsm_proto_bytes(&p->part, STRING_TEXT, data, size);
        tsm_intern_message(p, table, &p->part);
    }
    return iid;
}

uint64_t tsm_intern_text(struct tsm_packets *p, enum tsm_interned table, const char *text)
{
    return tsm_intern_bytes(p, table, text, strlen(text));
}

/* ---- packets -------------------------------------------------------------------------------- */

void tsm_packet_begin(struct tsm_packets *p, uint64_t time_ns)
{
    tsm_buffer_clear(&p->packet);
    if (time_ns != TSM_NO_TIME)
        tsm_proto_u64(&p->packet, PACKET_TIMESTAMP, time_ns);
}

static void write_bytes(struct tsm_packets *p, const void *data, size_t size)
{
    fwrite(data, 1, size, p->out);
    p->byte_count += size;
}

/* Writes the chunk as one packet that holds others, compressed. */
static void write_compressed(struct tsm_packets *p)
{
    const size_t bound = ZSTD_compressBound(p->chunk.size);
    struct tsm_buffer head = {0};
    size_t size = 0;
    uint8_t *at;

    if (!p->zstd)
        p->zstd = ZSTD_createCCtx();
    tsm_buffer_clear(&p->packed);
    at = tsm_buffer_reserve(&p->packed, bound);
    if (p->zstd && at)
        size = ZSTD_compressCCtx(p->zstd, at, bound, p->chunk.data, p->chunk.size, LEVEL);
    if (!p->zstd || !at || ZSTD_isError(size)) {
        fail_memory(p);
        return;
    }
    p->packed.size = size;
    tsm_proto_message(&head, PACKET_ZSTD_PACKETS, &p->packed);
    tsm_proto_message(&p->packed, TRACE_PACKET, &head);
    if (p->packed.failed || head.failed)
        fail_memory(p);
    write_bytes(p, p->packed.data, p->packed.size);
    tsm_buffer_finish(&head);
}

static void write_chunk(struct tsm_packets *p)
{
    if (p->chunk.failed)
        fail_memory(p);
    if (p->chunk.size && !p->error) {
        if (p->is_plain)
            write_bytes(p, p->chunk.data, p->chunk.size);
        else
            write_compressed(p);
    }
    tsm_buffer_clear(&p->chunk);
}

void tsm_packet_end(struct tsm_packets *p)
{
    const bool is_first = p->packet_count++ == 0;

    tsm_proto_u64(&p->packet, PACKET_SEQUENCE_ID, SEQUENCE);
    tsm_proto_u64(&p->packet, PACKET_SEQUENCE_FLAGS,
                  is_first ? SEQUENCE_STATE_CLEARED | SEQUENCE_NEEDS_STATE : SEQUENCE_NEEDS_STATE);
    if (p->interned.size)
        tsm_proto_message(&p->packet, PACKET_INTERNED_DATA, &p->interned);
    p->chunk.failed |= p->interned.failed | p->part.failed;
    tsm_proto_message(&p->chunk, TRACE_PACKET, &p->packet);
    if (p->chunk.size >= CHUNK_SIZE)
        write_chunk(p);
}

int tsm_packets_finish(struct tsm_packets *p)
{
    write_chunk(p);
    ZSTD_freeCCtx(p->zstd);
    for (int i = 0; i < TSM_INTERNED_COUNT; i++)
        tsm_map_finish(&p->tables[i]);
    tsm_buffer_finish(&p->packet);
    tsm_buffer_finish(&p->interned);
    tsm_buffer_finish(&p->part);
    tsm_buffer_finish(&p->chunk);
    tsm_buffer_finish(&p->packed);
    return p->error;
}
