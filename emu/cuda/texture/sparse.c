/* SPDX-License-Identifier: Apache-2.0
 *
 * Sparse arrays: tiles of 64 KiB, each mapped onto a piece of a tile pool or onto nothing. An array
 * keeps its texels in rows as others do; a tile's bytes come from the pool when it is mapped, and
 * go back there when it is not any more. So a pool's bytes can be mapped to one tile at a time:
 * mapping them to a second one is refused. A tile that is not mapped reads as zeros, and what is
 * written there is gone when the command has ended.
 *
 * Which pieces tiles have is known twice: as of the calls (under the lock), and as of the commands
 * that have run, whose order is that of their streams.
 */
#include "emu/cuda/texture/array.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "emu/cuda/core/context.h"
#include "emu/cuda/core/emu.h"
#include "emu/cuda/core/object.h"
#include "emu/cuda/graph/capture.h"
#include "emu/cuda/memory/memory.h"
#include "emu/cuda/stream/stream.h"

#define TILE_SIZE ((size_t)64 << 10)

/* A piece of a pool; pool NULL: none. */
struct piece {
    void *pool;
    uint64_t offset;
};

/* Tiles of a level: the first one's number, and how many there are each way. */
struct grid {
    size_t first, across, down, deep;
};

struct emu_sparse {
    struct emu_sparse *next;
    struct CUarray_st *levels;
    unsigned level_count;
    CUdevice device;
    bool is_mipmapped, is_layered;
    size_t tile[3];      /* in elements */
    unsigned tail_first; /* level; level_count: there is no tail */
    size_t tail_size;    /* bytes a layer, whole tiles */
    size_t tail_tile;    /* number of its first tile */
    size_t tail_layers;
    struct grid grids[PTX_MIP_LEVEL_MAX];
    size_t tile_count;
    struct piece *sent, *done; /* each tile's, as of the calls and of what has run */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct emu_sparse *all;
static atomic_bool are_there;

/* ---- where tiles lie ---- */

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* The same shapes that the graphics APIs know as standard ones. */
static void set_tile(struct emu_sparse *s, size_t element_size, bool is_volume)
{
    static const size_t flat[5][2] = {{256, 256}, {256, 128}, {128, 128}, {128, 64}, {64, 64}};
    static const size_t deep[5][3] = {
        {64, 32, 32}, {32, 32, 32}, {32, 32, 16}, {32, 16, 16}, {16, 16, 16}};
    const unsigned k = (unsigned)__builtin_ctzll(element_size);

    s->tile[0] = is_volume ? deep[k][0] : flat[k][0];
    s->tile[1] = is_volume ? deep[k][1] : flat[k][1];
    s->tile[2] = is_volume ? deep[k][2] : 1;
}

static size_t layer_depth(const struct emu_sparse *s, const struct CUarray_st *level)
{
    return s->is_layered ? 1 : level->slices;
}

static bool is_of_tail(const struct emu_sparse *s, const struct CUarray_st *level)
{
    return level->columns < s->tile[0] || level->rows < s->tile[1] ||
           layer_depth(s, level) < s->tile[2];
}

static size_t level_bytes(const struct emu_sparse *s, const struct CUarray_st *level)
{
    return level->columns * level->element_size * level->rows * layer_depth(s, level);
}

static void lay_out(struct emu_sparse *s)
{
    size_t bytes = 0;

    while (s->tail_first < s->level_count && !is_of_tail(s, &s->levels[s->tail_first])) {
        const struct CUarray_st *level = &s->levels[s->tail_first];
        struct grid *g = &s->grids[s->tail_first++];

        g->first = s->tile_count;
        g->across = (level->columns + s->tile[0] - 1) / s->tile[0];
        g->down = (level->rows + s->tile[1] - 1) / s->tile[1];
        g->deep = (level->slices + s->tile[2] - 1) / s->tile[2];
        s->tile_count += g->across * g->down * g->deep;
    }
    for (unsigned k = s->tail_first; k < s->level_count; k++)
        bytes += level_bytes(s, &s->levels[k]);
    s->tail_layers = s->is_layered ? s->levels[0].slices : 1;
    s->tail_size = (bytes + TILE_SIZE - 1) / TILE_SIZE * TILE_SIZE;
    s->tail_tile = s->tile_count;
    s->tile_count += s->tail_layers * (s->tail_size / TILE_SIZE);
}

/* Calls `row` for each run of bytes of a tile: in the array's memory, and in the tile. */
typedef void (*row_user)(uint8_t *row, size_t at, size_t size, void *user);

static void each_row_of_level(const struct CUarray_st *a, const size_t tile[3], size_t x, size_t y,
                              size_t z, row_user row, void *user)
{
    const size_t width = least(tile[0], a->columns - x), rows = least(tile[1], a->rows - y),
                 slices = least(tile[2], a->slices - z);

    for (size_t k = 0; k < slices; k++)
        for (size_t r = 0; r < rows; r++)
            row((uint8_t *)(uintptr_t)(a->address + ((z + k) * a->rows + y + r) * a->pitch +
                                       x * a->element_size),
                (k * tile[1] + r) * tile[0] * a->element_size, width * a->element_size, user);
}

/* The tail's levels lie in it one after the other, without gaps. */
static void each_row_of_tail(const struct emu_sparse *s, size_t layer, size_t from, row_user row,
                             void *user)
{
    size_t at = 0;

    for (unsigned k = s->tail_first; k < s->level_count; k++) {
        const struct CUarray_st *a = &s->levels[k];
        const size_t width = a->columns * a->element_size, first = s->is_layered ? layer : 0;

        for (size_t r = 0; r < a->rows * layer_depth(s, a); r++, at += width) {
            const size_t begin = at > from ? at : from, end = least(at + width, from + TILE_SIZE);
            if (begin < end)
                row((uint8_t *)(uintptr_t)(a->address + (first * a->rows + r) * a->pitch + begin -
                                           at),
                    begin - from, end - begin, user);
        }
    }
}

static void each_row(const struct emu_sparse *s, size_t tile, row_user row, void *user)
{
    unsigned k = 0;

    if (tile >= s->tail_tile) {
        const size_t a_layer = s->tail_size / TILE_SIZE;
        each_row_of_tail(s, (tile - s->tail_tile) / a_layer,
                         (tile - s->tail_tile) % a_layer * TILE_SIZE, row, user);
        return;
    }
    while (k + 1 < s->tail_first && tile >= s->grids[k + 1].first)
        k++;
    const struct grid *g = &s->grids[k];
    tile -= g->first;
    each_row_of_level(&s->levels[k], s->tile, tile % g->across * s->tile[0],
                      tile / g->across % g->down * s->tile[1],
                      tile / g->across / g->down * s->tile[2], row, user);
}

/* ---- bytes of tiles ---- */

static void clear_row(uint8_t *row, size_t at, size_t size, void *user)
{
    memset(row, 0, size);
}

static void load_row(uint8_t *row, size_t at, size_t size, void *tile)
{
    memcpy(row, (const uint8_t *)tile + at, size);
}

static void keep_row(uint8_t *row, size_t at, size_t size, void *tile)
{
    memcpy((uint8_t *)tile + at, row, size);
}

/* The array's memory goes with its context. */
static bool has_memory(const struct emu_sparse *s)
{
    return emu_memory_covers(s->levels[0].address, 1);
}

/* The lock is held. */
static void change(struct emu_sparse *s, size_t tile, struct piece to, uint8_t *buffer)
{
    struct piece *piece = &s->done[tile];

    if (piece->pool) {
        emu_tile_pool_read(piece->pool, piece->offset, buffer, TILE_SIZE);
        if (has_memory(s))
            each_row(s, tile, keep_row, buffer);
        emu_tile_pool_write(piece->pool, piece->offset, buffer, TILE_SIZE);
        emu_tile_pool_release(piece->pool);
    }
    *piece = to;
    if (to.pool)
        emu_tile_pool_read(to.pool, to.offset, buffer, TILE_SIZE);
    if (has_memory(s))
        each_row(s, tile, to.pool ? load_row : clear_row, buffer);
}

static bool is_in(const struct emu_sparse *s, uint64_t address)
{
    for (unsigned k = 0; k < s->level_count; k++)
        if (address - s->levels[k].address < emu_array_size(&s->levels[k]))
            return true;
    return false;
}

void emu_sparse_scrub(uint64_t address)
{
    if (!atomic_load_explicit(&are_there, memory_order_relaxed))
        return;
    pthread_mutex_lock(&lock);
    for (struct emu_sparse *s = all; s; s = s->next)
        for (size_t i = 0; i < s->tile_count && (!address || is_in(s, address)) && has_memory(s);
             i++)
            if (!s->done[i].pool)
                each_row(s, i, clear_row, NULL);
    pthread_mutex_unlock(&lock);
}

/* ---- life ---- */

/* Tests whether it has two dimensions, with layers or without, or three, and texels, not blocks. */
static bool can_be_sparse(const struct CUarray_st *a)
{
    return a->description.Height && !(a->description.Flags & CUDA_ARRAY3D_CUBEMAP) &&
           ptx_element_side(a->channel) == 1 && !(a->element_size & (a->element_size - 1));
}

CUresult emu_sparse_create(struct emu_sparse **out, struct CUarray_st *levels, unsigned level_count,
                           CUdevice device, bool is_mipmapped)
{
    const CUDA_ARRAY3D_DESCRIPTOR *d = &levels[0].description;
    struct emu_sparse *s;

    if (!(d->Flags & CUDA_ARRAY3D_SPARSE))
        return CUDA_SUCCESS;
    if (!can_be_sparse(&levels[0]))
        return CUDA_ERROR_INVALID_VALUE;
    s = calloc(1, sizeof(*s));
    if (!s)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *s = (struct emu_sparse){.levels = levels,
                             .level_count = level_count,
                             .device = device,
                             .is_mipmapped = is_mipmapped,
                             .is_layered = d->Flags & CUDA_ARRAY3D_LAYERED};
    set_tile(s, levels[0].element_size, d->Depth && !s->is_layered);
    lay_out(s);
    s->sent = calloc(s->tile_count, sizeof(*s->sent));
    s->done = calloc(s->tile_count, sizeof(*s->done));
    *out = s; /* who made the array gives it up, too */
    pthread_mutex_lock(&lock);
    s->next = all;
    all = s;
    atomic_store(&are_there, true);
    pthread_mutex_unlock(&lock);
    if (!s->sent || !s->done) {
        s->tile_count = 0;
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    emu_sparse_scrub(levels[0].address);
    return CUDA_SUCCESS;
}

void emu_sparse_destroy(struct emu_sparse *s)
{
    uint8_t *buffer = s ? malloc(TILE_SIZE) : NULL;
    struct emu_sparse **at = &all;

    if (!s)
        return;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < s->tile_count; i++) {
        if (s->done[i].pool && buffer)
            change(s, i, (struct piece){0}, buffer);
        else if (s->done[i].pool)
            emu_tile_pool_release(s->done[i].pool);
    }
    while (*at != s)
        at = &(*at)->next;
    *at = s->next;
    pthread_mutex_unlock(&lock);
    free(buffer);
    free(s->sent);
    free(s->done);
    free(s);
}

/* ---- the program maps and unmaps ---- */

struct action {
    struct emu_sparse *sparse;
    size_t tile;
    struct piece from, to; /* as of the calls */
};

/* Payload of a command: the actions follow. */
struct mapping {
    size_t count;
    struct action *actions; /* owned */
    size_t capacity;
};

static CUresult run(struct emu_command *command)
{
    const struct mapping *m = (const struct mapping *)(const void *)command->payload;
    uint8_t *buffer = malloc(TILE_SIZE);

    if (!buffer)
        return CUDA_ERROR_OUT_OF_MEMORY;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < m->count; i++)
        change(m->actions[i].sparse, m->actions[i].tile, m->actions[i].to, buffer);
    pthread_mutex_unlock(&lock);
    free(buffer);
    return CUDA_SUCCESS;
}

static void finish(struct emu_command *command)
{
    free(((struct mapping *)(void *)command->payload)->actions);
}

/* It runs in any case: it gives up pools, and takes those that were held for it. */
static const struct emu_command_type mapping_type = {
    .run = run, .finish = finish, .runs_after_error = true};

static struct emu_sparse *sparse_of(const CUarrayMapInfo *info)
{
    if (info->resourceType == CU_RESOURCE_TYPE_ARRAY)
        return emu_object_is(EMU_ARRAY, info->resource.array) ? info->resource.array->sparse : NULL;
    return info->resourceType == CU_RESOURCE_TYPE_MIPMAPPED_ARRAY &&
                   emu_object_is(EMU_MIPMAP, info->resource.mipmap)
               ? info->resource.mipmap->sparse
               : NULL;
}

/* Tests whether a pool's bytes are mapped to another tile, as of the calls. The lock is held. */
static bool is_elsewhere(struct piece piece, const struct emu_sparse *but, size_t but_tile)
{
    for (const struct emu_sparse *s = all; s; s = s->next)
        for (size_t i = 0; i < s->tile_count; i++)
            if (s->sent[i].pool == piece.pool && s->sent[i].offset == piece.offset &&
                (s != but || i != but_tile))
                return true;
    return false;
}

static bool append(struct mapping *m, const struct action *action)
{
    struct action *grown;

    if (m->count == m->capacity) {
        grown = realloc(m->actions, (m->capacity * 2 + 16) * sizeof(*grown));
        if (!grown)
            return false;
        m->actions = grown;
        m->capacity = m->capacity * 2 + 16;
    }
    m->actions[m->count++] = *action;
    return true;
}

/* Adds what becomes of one tile. The lock is held. */
static CUresult add(struct mapping *m, struct emu_sparse *s, size_t tile,
                    const CUarrayMapInfo *info, uint64_t *offset)
{
    struct action action = {s, tile, .from = s->sent[tile]};
    CUresult result = CUDA_SUCCESS;

    if (info->memOperationType == CU_MEM_OPERATION_TYPE_MAP) {
        action.to = (struct piece){
            emu_tile_pool_hold(info->memHandle.memHandle, *offset, TILE_SIZE, s->device), *offset};
        if (!action.to.pool)
            return CUDA_ERROR_INVALID_VALUE;
        if (*offset % TILE_SIZE)
            result = CUDA_ERROR_INVALID_VALUE;
        else if (is_elsewhere(action.to, s, tile))
            result = CUDA_ERROR_NOT_SUPPORTED;
        *offset += TILE_SIZE;
    }
    if (!result && !append(m, &action))
        result = CUDA_ERROR_OUT_OF_MEMORY;
    if (!result)
        s->sent[tile] = action.to;
    else if (action.to.pool)
        emu_tile_pool_release(action.to.pool);
    if (result == CUDA_ERROR_NOT_SUPPORTED)
        emu_warn("the same bytes of a tile pool in two tiles at once: not supported");
    return result;
}

/* Nothing of it happens. */
static void take_back(struct mapping *m)
{
    pthread_mutex_lock(&lock);
    while (m->count) {
        const struct action *a = &m->actions[--m->count];
        a->sparse->sent[a->tile] = a->from;
        if (a->to.pool)
            emu_tile_pool_release(a->to.pool);
    }
    pthread_mutex_unlock(&lock);
}

/* Tests a side of a region: whole tiles, or up to the array's end. */
static bool is_whole(size_t offset, size_t extent, size_t tile, size_t size)
{
    return offset % tile == 0 && extent && offset < size &&
           (extent % tile == 0 ? extent <= (size + tile - 1) / tile * tile - offset
                               : extent == size - offset);
}

static CUresult add_level(struct mapping *m, struct emu_sparse *s, const CUarrayMapInfo *info)
{
    const unsigned level = info->subresource.sparseLevel.level,
                   layer = info->subresource.sparseLevel.layer;
    const size_t at[3] = {info->subresource.sparseLevel.offsetX,
                          info->subresource.sparseLevel.offsetY,
                          info->subresource.sparseLevel.offsetZ};
    const size_t size[3] = {info->subresource.sparseLevel.extentWidth,
                            info->subresource.sparseLevel.extentHeight,
                            info->subresource.sparseLevel.extentDepth};
    uint64_t offset = info->offset;
    CUresult result = CUDA_SUCCESS;

    if (level >= s->tail_first || (s->is_layered ? layer >= s->levels[level].slices : layer != 0))
        return CUDA_ERROR_INVALID_VALUE;
    const struct CUarray_st *a = &s->levels[level];
    const struct grid *g = &s->grids[level];
    if (!is_whole(at[0], size[0], s->tile[0], a->columns) ||
        !is_whole(at[1], size[1], s->tile[1], a->rows) ||
        !is_whole(at[2], size[2], s->tile[2], layer_depth(s, a)))
        return CUDA_ERROR_INVALID_VALUE;
    for (size_t z = at[2] / s->tile[2]; z * s->tile[2] < at[2] + size[2]; z++)
        for (size_t y = at[1] / s->tile[1]; y * s->tile[1] < at[1] + size[1]; y++)
            for (size_t x = at[0] / s->tile[0]; x * s->tile[0] < at[0] + size[0] && !result; x++)
                result = add(m, s, g->first + ((layer + z) * g->down + y) * g->across + x, info,
                             &offset);
    return result;
}

static CUresult add_tail(struct mapping *m, struct emu_sparse *s, const CUarrayMapInfo *info)
{
    const uint64_t at = info->subresource.miptail.offset, size = info->subresource.miptail.size;
    const size_t layer = info->subresource.miptail.layer;
    uint64_t offset = info->offset;
    CUresult result = CUDA_SUCCESS;

    if (layer >= s->tail_layers || at % TILE_SIZE || size % TILE_SIZE || !size ||
        at > s->tail_size || size > s->tail_size - at)
        return CUDA_ERROR_INVALID_VALUE;
    for (uint64_t k = at; k < at + size && !result; k += TILE_SIZE)
        result = add(m, s, s->tail_tile + (layer * s->tail_size + k) / TILE_SIZE, info, &offset);
    return result;
}

static CUresult add_info(struct mapping *m, const CUarrayMapInfo *info, CUdevice device)
{
    struct emu_sparse *s = sparse_of(info);
    const bool is_map = info->memOperationType == CU_MEM_OPERATION_TYPE_MAP;

    if (!s || info->flags || info->memHandleType != CU_MEM_HANDLE_TYPE_GENERIC ||
        info->deviceBitMask != 1u << device || s->device != device ||
        (!is_map &&
         (info->memOperationType != CU_MEM_OPERATION_TYPE_UNMAP || info->memHandle.memHandle)))
        return CUDA_ERROR_INVALID_VALUE;
    return info->subresourceType == CU_ARRAY_SPARSE_SUBRESOURCE_TYPE_SPARSE_LEVEL
               ? add_level(m, s, info)
           : info->subresourceType == CU_ARRAY_SPARSE_SUBRESOURCE_TYPE_MIPTAIL
               ? add_tail(m, s, info)
               : CUDA_ERROR_INVALID_VALUE;
}

/* All of it or nothing. */
static CUresult map(const CUarrayMapInfo *list, unsigned count, CUstream handle, bool per_thread)
{
    CUstream stream;
    CUresult result = emu_stream_enter(&stream, handle, per_thread);
    struct emu_command *command;

    if (result)
        return result;
    if (!list || !count)
        return CUDA_ERROR_INVALID_VALUE;
    command = emu_command_create(&mapping_type, sizeof(struct mapping));
    if (!command)
        return CUDA_ERROR_OUT_OF_MEMORY;
    struct mapping *m = (struct mapping *)(void *)command->payload;
    pthread_mutex_lock(&lock);
    for (unsigned i = 0; i < count && !result; i++)
        result = add_info(m, &list[i], stream->context->device);
    pthread_mutex_unlock(&lock);
    if (!result && emu_stream_is_capturing(stream))
        result = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    if (!result)
        return emu_stream_send(stream, command, false);
    take_back(m);
    emu_command_unref(command);
    return result;
}

CUresult cuMemMapArrayAsync(CUarrayMapInfo *mapInfoList, unsigned int count, CUstream hStream)
{
    return map(mapInfoList, count, hStream, false);
}

CUresult cuMemMapArrayAsync_ptsz(CUarrayMapInfo *mapInfoList, unsigned int count, CUstream hStream)
{
    return map(mapInfoList, count, hStream, true);
}

/* ---- what the program asks ---- */

static CUresult describe(CUDA_ARRAY_SPARSE_PROPERTIES *out, const struct emu_sparse *s)
{
    if (!s || !out)
        return CUDA_ERROR_INVALID_VALUE;
    *out = (CUDA_ARRAY_SPARSE_PROPERTIES){
        .tileExtent = {(unsigned)s->tile[0], (unsigned)s->tile[1], (unsigned)s->tile[2]}};
    if (s->is_mipmapped && s->tail_size) {
        out->miptailFirstLevel = s->tail_first;
        out->miptailSize = s->tail_size;
    }
    return CUDA_SUCCESS;
}

CUresult cuArrayGetSparseProperties(CUDA_ARRAY_SPARSE_PROPERTIES *sparseProperties, CUarray array)
{
    CUresult result = emu_ready();

    if (!result && !emu_object_is(EMU_ARRAY, array))
        result = CUDA_ERROR_INVALID_HANDLE;
    if (!result)
        result = describe(sparseProperties, array->sparse);
    /* One that is smaller than a tile has nothing but a tail. */
    if (!result && array->sparse->tail_size && !array->sparse->is_layered) {
        sparseProperties->flags = CU_ARRAY_SPARSE_PROPERTIES_SINGLE_MIPTAIL;
        sparseProperties->miptailSize = array->sparse->tail_size;
    }
    return result;
}

CUresult cuMipmappedArrayGetSparseProperties(CUDA_ARRAY_SPARSE_PROPERTIES *sparseProperties,
                                             CUmipmappedArray mipmap)
{
    CUresult result = emu_ready();

    if (!result && !emu_object_is(EMU_MIPMAP, mipmap))
        result = CUDA_ERROR_INVALID_HANDLE;
    return result ? result : describe(sparseProperties, mipmap->sparse);
}
