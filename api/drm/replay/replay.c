/* SPDX-License-Identifier: Apache-2.0
 *
 * The DRM backend.
 */
#include "api/drm/replay/replay.h"

#include "api/drm/describe.h"
#include "base/array.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct tsm_backend_state {
    struct drm_replay replay;
};

static void backend_close(struct tsm_backend_state *state)
{
    struct drm_replay *r = &state->replay;

    drm_memory_finish(r);
    drm_files_finish(r);
    drm_fds_finish(r);
    tsm_map_finish(&r->numbers);
    pthread_mutex_destroy(&r->lock);
    pthread_mutex_destroy(&r->memory_lock);
    free(state);
}

static int backend_open(struct tsm_backend_state **out, struct sbt_reader *reader,
                        const struct tsm_replay_options *options)
{
    struct tsm_backend_state *state = calloc(1, sizeof(*state));

    if (!state)
        return tsm_fail(TSM_E_MEMORY, "no memory for the DRM backend");
    state->replay.reader = reader;
    state->replay.options = options;
    state->replay.knows_mapped = sbt_reader_metadata_find(reader, DRM_MAPPED_FACT) != NULL;
    pthread_mutex_init(&state->replay.lock, NULL);
    pthread_mutex_init(&state->replay.memory_lock, NULL);
    *out = state;
    return 0;
}

static int backend_plan(struct tsm_backend_state *state, const struct sbt_record *record,
                        const struct sbt_schema *schema)
{
    if (SBT_TYPE_API(record->type) != SBT_API_DRM || !schema)
        return 0;
    if (SBT_TYPE_CALL(record->type) == DRM_RECORD_FILE)
        return drm_file_plan(&state->replay, record);
    return SBT_TYPE_CALL(record->type) < DRM_RECORD_IOCTL ||
                   SBT_TYPE_CALL(record->type) == DRM_RECORD_POLL
               ? 0
               : drm_call_plan(&state->replay, record, schema);
}

static int backend_prepare(struct tsm_backend_state *state)
{
    return drm_files_prepare(&state->replay);
}

/* ---- records ----------------------------------------------------------------------------- */

static int backend_host(struct tsm_backend_state *state, const struct sbt_record *record,
                        const struct sbt_schema *schema)
{
    struct drm_replay *r = &state->replay;

    int error;

    if (record->type == SBT_TYPE(SBT_API_CORE, SBT_CORE_HOST_WRITE))
        return drm_memory_written(r, record, schema);
    error = drm_memory_settled(r, record->thread);
    if (error)
        return error;
    switch (SBT_TYPE_CALL(record->type)) {
    case DRM_RECORD_FILE:
        return drm_file_open(r, record);
    case DRM_RECORD_CLOSE:
        return drm_file_close(r, record);
    case DRM_RECORD_DUP:
        return drm_file_dup(r, record);
    case DRM_RECORD_MAP:
        return drm_memory_map(r, record);
    case DRM_RECORD_UNMAP:
        return drm_memory_unmap(r, record);
    default:
        return drm_call_issue(r, record, schema);
    }
}

static int backend_submit(struct tsm_backend_state *state, const struct sbt_record *record,
                          const struct sbt_schema *schema)
{
    struct drm_replay *r = &state->replay;
    int error;

    pthread_mutex_lock(&r->memory_lock);
    error = drm_memory_settled(r, record->thread);
    r->has_submitted = true;
    pthread_mutex_unlock(&r->memory_lock);
    return error ? error : drm_call_issue(&state->replay, record, schema);
}

static bool backend_owns_sync(struct tsm_backend_state *state, const struct sbt_record *record)
{
    const struct drm_ioctl *row = drm_ioctl_numbered(SBT_TYPE_CALL(record->type));

    if (SBT_TYPE_API(record->type) != SBT_API_DRM || record->flags & SBT_RECORD_FAILED)
        return false;
    return SBT_TYPE_CALL(record->type) == DRM_RECORD_POLL ||
           (row && (row->kind == SBT_KIND_SYNC || row->tells.size));
}

static int backend_sync(struct tsm_backend_state *state, const struct sbt_record *record,
                        const struct sbt_schema *schema)
{
    int error = drm_memory_settled(&state->replay, record->thread);

    if (error)
        return error;
    if (SBT_TYPE_CALL(record->type) == DRM_RECORD_POLL)
        return drm_wait_descriptor(&state->replay, record);
    error = drm_call_issue(&state->replay, record, schema);
    /* A query about what is not here */
    return error == TSM_E_NOT_FOUND && schema->kind == SBT_KIND_QUERY ? drm_wait_all(&state->replay)
                                                                      : error;
}

/* Counts recorded results that were not compared: bytes found after waits, which a device that
 * writes nothing would leave out, and bytes of new mappings that held something else. */
static uint64_t backend_uncompared(struct tsm_backend_state *state)
{
    struct drm_replay *r = &state->replay;

    drm_memory_watch(r);
    return r->unknown_count + (r->device_wrote ? 0 : r->substitute_count);
}

/* Only mapped memory can be checked. */
static int backend_wait(struct tsm_backend_state *state, uint32_t stream)
{
    return drm_wait_all(&state->replay);
}

/* ---- what came out ----------------------------------------------------------------------- */

static int backend_readback(struct tsm_backend_state *state, uint32_t stream, uint64_t position,
                            uint64_t address, const uint8_t **data, uint64_t *size)
{
    return TSM_E_NOT_FOUND; /* results come back through memory, and memory is compared */
}

static int by_address(const void *a, const void *b)
{
    const struct tsm_region *x = a, *y = b;

    return x->address < y->address ? -1 : x->address > y->address;
}

static int backend_regions(struct tsm_backend_state *state, const struct tsm_region **regions,
                           size_t *count)
{
    struct drm_replay *r = &state->replay;
    struct tsm_region *list;

    if (!TSM_ARRAY_RESIZE(r->regions, r->map_count))
        return tsm_fail(TSM_E_MEMORY, "no memory for regions");
    list = r->regions;
    for (size_t i = 0; i < r->map_count; i++)
        list[i] = (struct tsm_region){.address = r->maps[i].address,
                                      .actual = (uintptr_t)r->maps[i].memory,
                                      .size = r->maps[i].size,
                                      .made_seq = r->maps[i].made_seq,
                                      .is_host = true};
    qsort(list, r->map_count, sizeof(*list), by_address);
    *regions = list;
    *count = r->map_count;
    return 0;
}

static int backend_read(struct tsm_backend_state *state, uint64_t address, void *out, uint64_t size)
{
    return drm_memory_read(&state->replay, address, out, size);
}

/* Results of queries are not times alone, so they count as not compared. */
static bool backend_ignore_timestamps(struct tsm_backend_state *state, uint64_t address,
                                      uint8_t *bytes, uint64_t size, uint64_t *times)
{
    const struct drm_mapping *m = drm_memory_at(&state->replay, address);

    if (!m || !m->has_results)
        return false;
    memset(bytes, 0, size);
    return true;
}

static void backend_describe_address(struct tsm_backend_state *state, uint64_t address, char *out,
                                     size_t size)
{
    const struct drm_mapping *m = drm_memory_at(&state->replay, address);

    if (m)
        tsm_format(out, size, "offset 0x%llx of bo#%u of file#%u",
                   (unsigned long long)(address - m->address), m->object, m->file);
}

static void backend_describe(struct tsm_backend_state *state, char *out, size_t size)
{
    const struct drm_replay *r = &state->replay;

    tsm_format(out, size, "no GPU file");
    for (uint32_t i = r->file_count; i-- > 0;)
        if (r->files[i].path[0] && r->files[i].driver[0])
            tsm_format(out, size, "%s, driver %s", r->files[i].path, r->files[i].driver);
    if (r->display_count)
        tsm_format(out + strlen(out), size - strlen(out), ", %llu ioctls of its screen left out",
                   (unsigned long long)r->display_count);
}

static const struct tsm_backend_sync sync_table = {
    .sync = backend_sync,
    .owns = backend_owns_sync,
};

static const struct tsm_backend_compare compare_table = {
    .ignore_timestamps = backend_ignore_timestamps,
    .uncompared = backend_uncompared,
    .describe_address = backend_describe_address,
};

extern const struct tsm_backend drm_backend; /* replay/backends.c */

const struct tsm_backend drm_backend = {
    .description = &drm_description,
    .open = backend_open,
    .close = backend_close,
    .plan = backend_plan,
    .prepare = backend_prepare,
    .host = backend_host,
    .submit = backend_submit,
    .wait = backend_wait,
    .readback = backend_readback,
    .regions = backend_regions,
    .read = backend_read,
    .describe = backend_describe,
    .sync = &sync_table,
    .compare = &compare_table,
};
