/* SPDX-License-Identifier: Apache-2.0
 *
 * Mappings, and what is in them. The recorder cannot tell whether the program or the device wrote
 * what it finds in a mapping. Here it can be told: what the device of the replay has changed since
 * we looked last is the device's, and is left as it is; the rest is what the program wrote.
 * Checksums then show whether the device has written what it had written then.
 */
#include "api/drm/drm_replay.h"

#include "api/drm/drm_describe.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Slots of a mapping's record. */
enum {
    SLOT_FD,
    SLOT_FILE,
    SLOT_ADDRESS,
    SLOT_SIZE,
    SLOT_OFFSET,
    SLOT_PROT,
    SLOT_FLAGS,
    SLOT_OBJECT,
    SLOT_SLOTS
};

#define MAPPING_SIZE_MAX (1ull << 40)

struct drm_mapping *drm_memory_at(const struct drm_replay *r, uint64_t address)
{
    for (size_t i = r->map_count; i-- > 0;)
        if (address >= r->maps[i].address && address - r->maps[i].address < r->maps[i].size)
            return &r->maps[i];
    return NULL;
}

static void forget(struct drm_mapping *m)
{
    if (m->memory)
        munmap(m->memory, m->size);
    if (m->before)
        munmap(m->before, m->size);
}

void drm_memory_finish(struct drm_replay *r)
{
    for (size_t i = 0; i < r->map_count; i++)
        forget(&r->maps[i]);
    free(r->maps);
    free(r->regions);
}

static int map_here(struct drm_mapping *m, int fd, uint64_t offset, int prot)
{
    void *memory = mmap(NULL, m->size, prot, MAP_SHARED, fd, (off_t)offset);
    void *before = mmap(NULL, m->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    m->memory = memory == MAP_FAILED ? NULL : memory;
    m->before = before == MAP_FAILED ? NULL : before;
    if (!m->memory || !m->before)
        return tsm_fail(TSM_E_DEVICE, "mmap of a GPU file: %s", strerror(errno));
    if (prot & PROT_READ)
        memcpy(m->before, m->memory, m->size);
    return 0;
}

int drm_memory_map(struct drm_replay *r, const struct sbt_record *record)
{
    const uint64_t *s = record->slots;
    struct drm_mapping *more, m;
    uint64_t offset;
    int fd, error = 0;

    if (record->slot_count < SLOT_SLOTS || !s[SLOT_SIZE] || s[SLOT_SIZE] > MAPPING_SIZE_MAX)
        return tsm_fail(TSM_E_FORMAT, "a mapping of no size");
    m = (struct drm_mapping){.address = s[SLOT_ADDRESS],
                             .size = s[SLOT_SIZE],
                             .file = (uint32_t)s[SLOT_FILE],
                             .object = (uint32_t)s[SLOT_OBJECT],
                             .made_seq = record->seq};
    offset = s[SLOT_OFFSET];
    fd = drm_number_fd(r, (int)s[SLOT_FD]);
    if (fd < 0)
        return tsm_fail(TSM_E_NOT_FOUND, "descriptor %d is not known", (int)s[SLOT_FD]);
    if (m.object)
        error = drm_number_find(r, m.file, DRM_NUMBER_OFFSET, offset, "offset", &offset);
    if (error)
        return error;
    more = realloc(r->maps, (r->map_count + 1) * sizeof(*more));
    if (!more)
        return tsm_fail(TSM_E_MEMORY, "no memory for mappings");
    r->maps = more;
    error = map_here(&m, fd, offset, (int)s[SLOT_PROT] & (PROT_READ | PROT_WRITE));
    if (error)
        forget(&m);
    else
        r->maps[r->map_count++] = m;
    return error;
}

int drm_memory_unmap(struct drm_replay *r, const struct sbt_record *record)
{
    struct drm_mapping *m = record->slot_count ? drm_memory_at(r, record->slots[0]) : NULL;

    if (!m)
        return 0;
    forget(m);
    *m = r->maps[--r->map_count];
    return 0;
}

/* ---- whose bytes
 * ------------------------------------------------------------------------------------
 */

/* `wanted`: the recorded bytes. Bytes that the device has changed stay. */
static void settle(uint8_t *memory, uint8_t *before, const uint8_t *wanted, uint64_t size)
{
    for (uint64_t i = 0; i < size; i++)
        if (memory[i] == before[i])
            memory[i] = wanted[i];
}

int drm_memory_written(struct drm_replay *r, const struct sbt_record *record,
                       const struct sbt_schema *schema)
{
    int index = sbt_schema_role(schema, SBT_ROLE_PAYLOAD);
    uint64_t address = sbt_record_role(schema, record, SBT_ROLE_HOST_SRC, 0), offset, size;
    struct drm_mapping *m = drm_memory_at(r, address);
    struct sbt_blob blob;
    uint8_t *wanted;
    int error;

    if (index < 0 || !sbt_record_blob(record, (uint32_t)index, &blob))
        return tsm_fail(TSM_E_FORMAT, "record %llu has no bytes", (unsigned long long)record->seq);
    if (!m)
        return 0; /* unmapped meanwhile */
    offset = address - m->address;
    size = blob.size < m->size - offset ? blob.size : m->size - offset;
    error = drm_wait_object(r, m->file, m->object);
    wanted = error ? NULL : malloc(size + 1);
    if (!wanted)
        return error ? error
                     : tsm_fail(TSM_E_MEMORY, "no memory for %llu bytes", (unsigned long long)size);
    error = sbt_reader_blob(r->reader, &blob, 0, wanted, size);
    if (error >= 0) {
        settle(m->memory + offset, m->before + offset, wanted, size);
        memcpy(m->before, m->memory, m->size);
    }
    free(wanted);
    return error < 0 ? error : 0;
}

int drm_memory_read(struct drm_replay *r, uint64_t address, void *out, uint64_t size)
{
    const struct drm_mapping *m = drm_memory_at(r, address);
    int error;

    if (!m || size > m->size - (address - m->address))
        return TSM_E_NOT_FOUND;
    error = drm_wait_object(r, m->file, m->object);
    if (!error)
        memcpy(out, m->memory + (address - m->address), size);
    return error;
}
