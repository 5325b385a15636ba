/* SPDX-License-Identifier: Apache-2.0
 *
 * Mappings, and what is in them. The recorder cannot tell whether the program or the device wrote
 * what it finds in a mapping. Here it can be told: what the device of the replay has changed since
 * we looked last is the device's, and is left as it is; the rest is what the program wrote.
 * Checksums then show whether the device has written what it had written then.
 */
#include "api/drm/replay/replay.h"

#include "api/drm/describe.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/dma-buf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/array.h"
#include "format/filter.h"
#include "replay/region.h"

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

static void drop_shadow(struct drm_replay *r, struct drm_shadow *shadow)
{
    struct drm_shadow **at = &r->shadows;

    while (*at && *at != shadow)
        at = &(*at)->next;
    if (*at)
        *at = shadow->next;
    r->fresh_count -= shadow->fresh_thread != 0;
    if (shadow->bytes)
        munmap(shadow->bytes, shadow->size);
    free(shadow);
}

/* An object's shadow lasts as long as it. */
static void forget(struct drm_replay *r, struct drm_mapping *m)
{
    if (m->memory)
        munmap(m->memory, m->size);
    if (m->shadow && !--m->shadow->users && (!m->shadow->object || !m->shadow->file))
        drop_shadow(r, m->shadow);
    if (m->dmabuf)
        close(m->dmabuf - 1);
}

/* Until the devices that use the dma-buf are done: what its CPU access waits for. */
static int wait_for_dmabuf(const struct drm_mapping *m)
{
    struct dma_buf_sync begin = {DMA_BUF_SYNC_START | DMA_BUF_SYNC_RW},
                        end = {DMA_BUF_SYNC_END | DMA_BUF_SYNC_RW};
    int result;

    do
        result = ioctl(m->dmabuf - 1, DMA_BUF_IOCTL_SYNC, &begin);
    while (result < 0 && (errno == EINTR || errno == EAGAIN));
    if (result == 0)
        ioctl(m->dmabuf - 1, DMA_BUF_IOCTL_SYNC, &end);
    return 0;
}

int drm_memory_wait(struct drm_replay *r, const struct drm_mapping *m)
{
    return m->dmabuf ? wait_for_dmabuf(m) : drm_wait_object(r, m->file, m->object);
}

int drm_memory_wait_object(struct drm_replay *r, uint32_t file, uint32_t object)
{
    for (size_t i = 0; i < r->map_count; i++)
        if (r->maps[i].file == file && r->maps[i].object == object)
            return drm_memory_wait(r, &r->maps[i]);
    return 0;
}

void drm_memory_finish(struct drm_replay *r)
{
    for (size_t i = 0; i < r->map_count; i++)
        forget(r, &r->maps[i]);
    while (r->shadows)
        drop_shadow(r, r->shadows);
    free(r->maps);
    free(r->regions);
}

static void *map_plainly(void *at, uint64_t size, int flags)
{
    void *memory =
        mmap(at, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);

    return memory == MAP_FAILED ? NULL : memory;
}

static struct drm_shadow *find_shadow(const struct drm_replay *r, const struct drm_mapping *m)
{
    struct drm_shadow *s = r->shadows;

    while (s && (s->file != m->file || s->object != m->object || s->offset != m->offset ||
                 s->size < m->size))
        s = s->next;
    return s;
}

/* A shadow of zeros; NULL: no memory. */
static struct drm_shadow *make_shadow(struct drm_replay *r, const struct drm_mapping *m)
{
    struct drm_shadow *s = calloc(1, sizeof(*s));
    bool is_shared = !m->is_user && (m->object || m->dmabuf);

    if (!s)
        return NULL;
    s->size = m->size;
    s->file = is_shared ? m->file : 0;
    s->object = is_shared ? m->object : 0;
    s->offset = m->offset;
    s->bytes = map_plainly(NULL, m->size, 0);
    if (!s->bytes) {
        free(s);
        return NULL;
    }
    s->next = r->shadows;
    r->shadows = s;
    return s;
}

/* Into the list. `thread`: the records of what is there come next, by that thread; 0: they do not,
 * and what is there is taken for it, where it is readable. What cannot be kept is given back. */
static int keep(struct drm_replay *r, struct drm_mapping *m, uint32_t thread, bool readable)
{
    bool has_room = TSM_ARRAY_RESIZE(r->maps, r->map_count + 1), is_new;

    m->shadow = has_room && !m->is_user ? find_shadow(r, m) : NULL;
    is_new = !m->shadow;
    if (has_room && is_new)
        m->shadow = make_shadow(r, m);
    if (!m->shadow) {
        forget(r, m);
        return tsm_fail(TSM_E_MEMORY, "no memory for mappings");
    }
    m->shadow->users++;
    if (is_new && thread) {
        m->shadow->fresh_thread = thread;
        r->fresh_count++;
    } else if (is_new && readable) {
        memcpy(m->shadow->bytes, m->memory, m->size);
    }
    r->maps[r->map_count++] = *m;
    return 0;
}

/* Adopts the device's content where the recording had something else, because a command may have
 * left it, or nobody. Recorded bytes that were not zero are written, so that commands read what
 * they read then; zeros are not written, because this device may only have been faster. */
static void adopt(struct drm_replay *r, const struct drm_mapping *m)
{
    struct drm_shadow *s = m->shadow;

    s->fresh_thread = 0;
    r->fresh_count--;
    for (uint64_t i = 0; i < m->size; i++) {
        bool is_equal = m->memory[i] == s->bytes[i];
        r->device_wrote |= is_equal && s->bytes[i] && r->has_submitted;
        if (is_equal || (!s->bytes[i] && r->has_submitted))
            continue;
        r->unknown_count += r->has_submitted;
        if (!m->is_read_only)
            m->memory[i] = s->bytes[i];
    }
}

static int settle_fresh(struct drm_replay *r, const struct drm_mapping *m)
{
    int error = m->shadow->fresh_thread ? drm_memory_wait(r, m) : 0;

    if (!error && m->shadow->fresh_thread)
        adopt(r, m);
    return error;
}

int drm_memory_settled(struct drm_replay *r, uint32_t thread)
{
    int error = 0;

    if (!r->fresh_count)
        return 0;
    for (size_t i = 0; i < r->map_count && !error; i++)
        if (r->maps[i].shadow->fresh_thread == thread)
            error = settle_fresh(r, &r->maps[i]);
    return error;
}

void drm_memory_forget_object(struct drm_replay *r, uint32_t file, uint32_t object)
{
    struct drm_shadow *s = r->shadows;

    while (s) {
        struct drm_shadow *next = s->next;
        if (s->file == file && s->object == object && object) {
            s->file = s->object = 0;
            if (!s->users)
                drop_shadow(r, s);
        }
        s = next;
    }
}

int drm_memory_created(struct drm_replay *r, struct drm_mapping wanted)
{
    return keep(r, &wanted, 0, true);
}

/* At the recorded place, if it can be had. */
int drm_memory_user(struct drm_replay *r, struct drm_mapping wanted, uint64_t *actual)
{
    const struct drm_mapping *known = drm_memory_at(r, wanted.address);
    uint64_t lead = wanted.address & 4095;
    int error;

    if (known && wanted.size <= known->size - (wanted.address - known->address)) {
        *actual = (uintptr_t)known->memory + (wanted.address - known->address);
        return 0;
    }
    if (!wanted.size || wanted.size > MAPPING_SIZE_MAX)
        return tsm_fail(TSM_E_FORMAT, "memory of no size");
    wanted.address -= lead;
    wanted.size += lead;
    wanted.is_user = true;
    wanted.memory =
        map_plainly((void *)(uintptr_t)wanted.address, wanted.size, MAP_FIXED_NOREPLACE);
    if (!wanted.memory)
        wanted.memory = map_plainly(NULL, wanted.size, 0);
    if (!wanted.memory)
        return tsm_fail(TSM_E_MEMORY, "no memory in place of the program's");
    *actual = (uintptr_t)wanted.memory + lead;
    error = keep(r, &wanted, 0, true);
    return error;
}

int drm_memory_map(struct drm_replay *r, const struct sbt_record *record)
{
    const uint64_t *s = record->slots;
    const struct drm_replay_file *file;
    struct drm_mapping m;
    uint64_t offset, results;
    void *memory;
    int fd, error = 0;
    bool readable = true, is_told;

    if (record->slot_count < SLOT_SLOTS || !s[SLOT_SIZE] || s[SLOT_SIZE] > MAPPING_SIZE_MAX)
        return tsm_fail(TSM_E_FORMAT, "a mapping of no size");
    m = (struct drm_mapping){.address = s[SLOT_ADDRESS],
                             .size = s[SLOT_SIZE],
                             .file = (uint32_t)s[SLOT_FILE],
                             .object = (uint32_t)s[SLOT_OBJECT],
                             .offset = s[SLOT_OFFSET],
                             .made_seq = record->seq};
    offset = s[SLOT_OFFSET];
    fd = drm_fd(r, (int)s[SLOT_FD]);
    if (fd < 0)
        fd = drm_file_descriptor(r, m.file);
    if (fd < 0)
        return tsm_fail(TSM_E_NOT_FOUND, "descriptor %d is not known", (int)s[SLOT_FD]);
    if (m.object)
        error = drm_number_find(r, m.file, DRM_NUMBER_OFFSET, offset, "offset", &offset);
    if (error)
        return error;
    /* The program's access can change; the replay writes there what the device is to read. */
    memory = mmap(NULL, m.size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)offset);
    if (memory == MAP_FAILED) {
        int prot = (int)s[SLOT_PROT] & (PROT_READ | PROT_WRITE);
        m.is_read_only = !(prot & PROT_WRITE);
        readable = prot & PROT_READ;
        memory = mmap(NULL, m.size, prot, MAP_SHARED, fd, (off_t)offset);
    }
    if (memory == MAP_FAILED)
        return tsm_fail(TSM_E_DEVICE, "mmap of a GPU file: %s", strerror(errno));
    m.memory = memory;
    file = drm_file_numbered(r, m.file);
    if (file && file->node == DRM_NODE_DMABUF)
        m.dmabuf = fcntl(fd, F_DUPFD_CLOEXEC, 3) + 1;
    m.has_results = drm_number_known(r, m.file, DRM_NUMBER_RESULTS, m.object, &results) && results;
    /* Not of memory of the program's (no flags), nor of what it cannot read yet. */
    is_told = r->knows_mapped && s[SLOT_FLAGS] && s[SLOT_PROT] & PROT_READ;
    return keep(r, &m, is_told ? record->thread : 0, readable);
}

static void watch(struct drm_replay *r, const struct drm_mapping *m)
{
    if (!r->device_wrote && !m->shadow->fresh_thread)
        r->device_wrote = memcmp(m->memory, m->shadow->bytes, m->size) != 0;
}

int drm_memory_unmap(struct drm_replay *r, const struct sbt_record *record)
{
    struct drm_mapping *m = record->slot_count ? drm_memory_at(r, record->slots[0]) : NULL;

    if (!m)
        return 0;
    watch(r, m);
    forget(r, m);
    *m = r->maps[--r->map_count];
    return 0;
}

/* ---- whose bytes
 * ------------------------------------------------------------------------------------
 */

/* `wanted`: the recorded bytes. Bytes that the device has changed stay. Returns how many others
 * were not as recorded. */
static uint64_t settle(const struct drm_mapping *m, uint64_t offset, const uint8_t *wanted,
                       uint64_t size)
{
    uint8_t *memory = m->memory + offset;
    const uint8_t *before = m->shadow->bytes + offset;
    uint64_t changed = 0;

    for (uint64_t i = 0; i < size; i++) {
        if (memory[i] != before[i] || memory[i] == wanted[i])
            continue;
        changed++;
        if (!m->is_read_only)
            memory[i] = wanted[i];
    }
    return changed;
}

static void take(struct drm_replay *r, const struct sbt_record *record, const struct drm_mapping *m,
                 uint64_t offset, const uint8_t *wanted, uint64_t size)
{
    uint64_t changed = 0;

    if (m->shadow->fresh_thread != record->thread || !record->thread) {
        watch(r, m);
        changed = settle(m, offset, wanted, size);
    }
    if (r->has_submitted && sbt_filter_in_range(&r->options->filter, record))
        r->substitute_count += changed;
    memcpy(m->shadow->bytes + offset, wanted, size);
}

void drm_memory_watch(struct drm_replay *r)
{
    for (size_t i = 0; i < r->map_count && !r->device_wrote; i++)
        watch(r, &r->maps[i]);
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
    error = drm_memory_wait(r, m);
    wanted = error ? NULL : malloc(size + 1);
    if (!wanted)
        return error ? error
                     : tsm_fail(TSM_E_MEMORY, "no memory for %llu bytes", (unsigned long long)size);
    error = sbt_reader_blob(r->reader, &blob, 0, wanted, size);
    if (error >= 0)
        take(r, record, m, offset, wanted, size);
    free(wanted);
    return error < 0 ? error : 0;
}

int drm_memory_read(struct drm_replay *r, uint64_t address, void *out, uint64_t size)
{
    const struct drm_mapping *m = drm_memory_at(r, address);
    int error;

    if (!m || !tsm_range_holds(m->address, m->size, address, size))
        return TSM_E_NOT_FOUND;
    error = drm_memory_wait(r, m);
    if (!error)
        error = settle_fresh(r, m);
    if (!error)
        memcpy(out, m->memory + (address - m->address), size);
    return error;
}
