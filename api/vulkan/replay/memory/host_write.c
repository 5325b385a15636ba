/* SPDX-License-Identifier: Apache-2.0
 *
 * Bytes that the program wrote. Its mappings say which of its addresses meant which memory; a
 * mapping stays until another one takes its address, because earlier writes may be recorded later.
 */
#include "api/vulkan/replay/memory/host_write.h"

#include <stdlib.h>
#include <string.h>

#include "api/vulkan/replay/call.h"
#include "api/vulkan/replay/memory/memory.h"
#include "api/vulkan/replay/memory/write.h"
#include "api/vulkan/replay/replay.h"
#include "api/vulkan/replay/state/timestamp_bytes.h"
#include "base/array.h"
#include "base/bytes.h"
#include "format/filter.h"

/* ---- mappings ---------------------------------------------------------------------------- */

/* Drops mappings that the new one covers. */
static void drop_covered(struct vkr_memories *all, const struct vkr_mapping *by)
{
    size_t kept = 0;

    for (size_t i = 0; i < all->mapping_count; i++) {
        const struct vkr_mapping *m = &all->mappings[i];
        if (m->start < by->start || m->start - by->start >= by->size ||
            m->size > by->size - (m->start - by->start))
            all->mappings[kept++] = *m;
    }
    all->mapping_count = kept;
}

int vkr_mapping_add(struct vkr_memories *all, struct vkr_mapping mapping)
{
    drop_covered(all, &mapping);
    return TSM_ARRAY_PUSH(all->mappings, all->mapping_count, all->mapping_capacity, mapping)
               ? 0
               : tsm_fail(TSM_E_MEMORY, "no memory for %zu mappings", all->mapping_count + 1);
}

int vkr_map_memory(struct vkr_call *c)
{
    const struct vk_args_vkMapMemory *a = (const void *)c->args;
    uint64_t id = c->record->slot_count > 5 ? c->record->slots[1] : 0;
    struct vkr_memory *m = vkr_memory_find(c->r, VKR_PLACE | id << VKR_PLACE_ID_SHIFT);
    uint64_t size = a->size;

    if (!m || !id || id > VKR_PLACE_ID_MAX)
        return tsm_fail(TSM_E_FORMAT, "maps memory that is not there");
    if (a->offset > m->size)
        return tsm_fail(TSM_E_FORMAT, "maps what is behind its memory");
    if (size > m->size - a->offset)
        size = m->size - a->offset;
    vkr_memory_begin_with_zeros(c->r, m);
    return vkr_mapping_add(&c->r->memories,
                           (struct vkr_mapping){c->record->slots[5], size, a->offset, m->place});
}

/* Keeps the mapping until another one takes its address: earlier writes may be recorded later. */
int vkr_unmap_memory(struct vkr_call *c)
{
    return 0;
}

/* Capture may write whole pages around what was mapped: the second round looks for the memory
 * around the mapping. */
struct vkr_memory *vkr_memory_written(const struct vkr *r, uint64_t address, uint64_t *offset)
{
    if (address & VKR_PLACE) {
        struct vkr_memory *m = vkr_memory_find(r, address);
        *offset = address & VKR_PLACE_OFFSET;
        return m && *offset < m->size ? m : NULL;
    }
    for (int round = 0; round < 2; round++)
        for (size_t i = r->memories.mapping_count; i > 0; i--) {
            const struct vkr_mapping *p = &r->memories.mappings[i - 1];
            uint64_t start = round ? p->start - p->offset : p->start;
            struct vkr_memory *m = vkr_memory_find(r, p->memory);
            if (m && address >= start && address - start < (round ? m->size : p->size)) {
                *offset = address - start + (round ? 0 : p->offset);
                return m;
            }
        }
    return NULL;
}

/* ---- writes ------------------------------------------------------------------------------ */

/* Counts recorded bytes that differ from those in memory as not compared: the recorder did not know
 * whether the program or the device had written them. */
static int note_ambiguous(struct vkr *r, struct vkr_memory *m, const struct sbt_record *record,
                          const struct sbt_blob *blob, uint64_t offset)
{
    uint8_t recorded[4096], found[4096];
    int error = vkr_writes_wait(r);

    for (uint64_t at = 0; at < blob->size && !error; at += sizeof(found)) {
        size_t part = blob->size - at < sizeof(found) ? (size_t)(blob->size - at) : sizeof(found);
        error = sbt_reader_blob(r->reader, blob, at, recorded, part);
        if (!error)
            error = vkr_read(r, m->place + offset + at, found, part);
        if (!error && memcmp(recorded, found, part) != 0) {
            r->mixed_count++;
            r->ambiguous_count +=
                m->imported_address && sbt_filter_in_range(&r->options->filter, record);
            break;
        }
    }
    return error == TSM_E_NOT_FOUND ? 0 : error;
}

static int write_from_host(struct vkr *r, struct vkr_memory *m, const struct sbt_record *record,
                           const struct sbt_blob *blob, uint64_t offset)
{
    if (record->flags & SBT_RECORD_HELD) {
        int error = note_ambiguous(r, m, record, blob, offset);
        if (error < 0)
            return error;
    }
    vkr_timestamp_bytes_clear(r, m->place + offset, blob->size);
    return vkr_memory_write(r, m, blob, offset, record->seq);
}

/* Finds the memory that a record of the program's writes names, and the bytes. Returns 0 where it
 * was freed meanwhile, 1 where it is there. */
static int find_written(struct vkr *r, const struct sbt_record *record,
                        const struct sbt_schema *schema, struct sbt_blob *blob,
                        struct vkr_memory **m, uint64_t *offset)
{
    int index = sbt_schema_role(schema, SBT_ROLE_PAYLOAD);

    if (index < 0 || !sbt_record_blob(record, (uint32_t)index, blob))
        return tsm_fail(TSM_E_FORMAT, "has no bytes");
    *m = vkr_memory_written(r, sbt_record_role(schema, record, SBT_ROLE_HOST_SRC, 0), offset);
    return *m != NULL;
}

int vkr_host_write(struct vkr *r, const struct sbt_record *record, const struct sbt_schema *schema)
{
    struct vkr_memory *m = NULL;
    struct sbt_blob blob;
    uint64_t offset;
    int found = find_written(r, record, schema, &blob, &m, &offset);

    return found <= 0 ? found : write_from_host(r, m, record, &blob, offset);
}

/* Writes the runs among `bytes`, each a gap and a length, and leaves alone what lies between. */
static int write_runs(struct vkr *r, struct vkr_memory *m, const struct sbt_record *record,
                      const uint8_t *bytes, uint64_t size, uint64_t offset)
{
    struct tsm_view list = {0};
    const uint8_t *runs;
    size_t runs_size;
    uint64_t at = 0;
    int error = 0;

    if (sbt_record_bytes(record, SBT_HOST_RUNS_LIST, &runs, &runs_size))
        list = tsm_view_init(runs, runs_size);
    while (tsm_view_left(&list) && !error) {
        uint64_t gap = tsm_view_varint(&list), length = tsm_view_varint(&list);
        struct sbt_blob run = {.size = length};
        if (list.failed || gap > size - at || !length || length > size - at - gap)
            return tsm_fail(TSM_E_FORMAT, "has runs that its bytes do not hold");
        at += gap;
        run.bytes = bytes + at;
        error = write_from_host(r, m, record, &run, offset + at);
        at += length;
    }
    return error;
}

int vkr_host_runs(struct vkr *r, const struct sbt_record *record, const struct sbt_schema *schema)
{
    struct vkr_memory *m = NULL;
    struct sbt_blob blob;
    uint64_t offset;
    uint8_t *bytes;
    int error = find_written(r, record, schema, &blob, &m, &offset);

    if (error <= 0)
        return error;
    if (blob.size > SBT_HOST_RUNS_MAX)
        return tsm_fail(TSM_E_FORMAT, "has too many bytes");
    bytes = malloc(blob.size + 1);
    if (!bytes)
        return tsm_fail(TSM_E_MEMORY, "no memory for what the program wrote");
    error = sbt_reader_blob(r->reader, &blob, 0, bytes, blob.size);
    if (error >= 0)
        error = write_runs(r, m, record, bytes, blob.size, offset);
    free(bytes);
    return error < 0 ? error : 0;
}
