/* SPDX-License-Identifier: Apache-2.0
 *
 * Replay of copies whose direction the record does not say by its type. Bytes that came from the
 * program are in the record, packed; what goes to the program goes to memory of ours, packed too.
 */
#include "api/cuda/replay/state.h"

#include <string.h>

#include "replay/region.h"

/* Calls that return when they are done are sent like the others and then waited for. */
static bool is_async(const struct sbt_record *record)
{
    const struct sbt_schema *schema = cuda_schema(record->type);

    return schema && strstr(schema->name, "Async");
}

static int end_copy(struct cuda_args *args, CUresult result, CUstream stream)
{
    cuda_args_sent(args);
    if (result == CUDA_SUCCESS && !is_async(args->record))
        result = args->driver->cuStreamSynchronize(stream);
    return cuda_args_end(args, result);
}

static bool is_captured(const struct sbt_record *record)
{
    return (record->flags & SBT_RECORD_CAPTURED) != 0;
}

static bool is_late(const struct cuda_args *args)
{
    return (args->record->flags & SBT_RECORD_LATE) != 0;
}

/* The `size` bytes that the program sent, or NULL when the source is the device's. */
static const void *sent_bytes(struct cuda_args *args, uint32_t slot, uint64_t size)
{
    struct sbt_blob blob;

    if (args->error || !sbt_record_blob(args->record, slot, &blob) || !blob.size)
        return NULL;
    return cuda_arg_sent(args, slot, size);
}

/* ---- unified ------------------------------------------------------------------------------ */

/* Memory that no region and no module's variable holds is the program's. */
static bool is_programs(const struct cuda_replay *replay, uint64_t address)
{
    const struct tsm_region *region = cuda_memory_find(&replay->memory, address);

    if (region)
        return region->is_host;
    if (cuda_memory_translate(&replay->memory, address) != address)
        return false;
    CUmemorytype type = CU_MEMORYTYPE_HOST;
    CUresult result = replay->library.calls.cuPointerGetAttribute(
        &type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address);
    return result != CUDA_SUCCESS || type == CU_MEMORYTYPE_HOST;
}

/* Memory for `size` bytes that are received, packed. */
static void *packed_memory(struct cuda_args *args, uint64_t size)
{
    struct cuda_stream_state *stream = cuda_stream_find(args->replay, args->record->stream);
    void *memory = stream ? cuda_stream_receive(stream, args->record->position, 0, size) : NULL;

    if (!memory && !args->error)
        args->error = tsm_fail(TSM_E_MEMORY, "no memory for bytes to receive");
    return memory;
}

/* The program's own memory where the device can reach it: the bytes arrive there as they did. */
static void *programs_memory(struct cuda_args *args, uint64_t address, uint64_t size)
{
    void *there = cuda_registered(args->replay, address, size);

    if (!there)
        return packed_memory(args, size);
    args->arriving = (struct cuda_host_box){there, size, 1, 1, size, size};
    return there;
}

/* From the program to the program. */
static CUresult within_program(const struct cuda_args *args, void *received, const void *sent,
                               uint64_t size, CUstream stream)
{
    const CUdeviceptr from = (CUdeviceptr)(uintptr_t)sent;

    if (is_late(args) || args->arriving.from)
        return args->driver->cuMemcpyAsync((CUdeviceptr)(uintptr_t)received, from, size, stream);
    memcpy(received, sent, size);
    return CUDA_SUCCESS;
}

/* Sends a captured copy, whatever its call, to the stream that is captured. */
static int send_captured(struct cuda_args *args, CUstream stream)
{
    const struct sbt_schema *schema = cuda_schema(args->record->type);
    CUDA_MEMCPY3D copy;

    if (!args->error && (!schema || !cuda_program_read_copy(args->record, schema, &copy)))
        args->error = tsm_fail(TSM_E_FORMAT, "has no copy");
    if (args->error)
        return args->error;
    if (copy.srcMemoryType == CU_MEMORYTYPE_ARRAY)
        copy.srcArray = cuda_object_find(args->replay, CUDA_OBJECT_ARRAY, (uintptr_t)copy.srcArray);
    if (copy.dstMemoryType == CU_MEMORYTYPE_ARRAY)
        copy.dstArray = cuda_object_find(args->replay, CUDA_OBJECT_ARRAY, (uintptr_t)copy.dstArray);
    args->error = cuda_program_copy(args->replay, &copy);
    if (args->error)
        return args->error;
    return cuda_args_end(args, args->driver->cuMemcpy3DAsync_v2(&copy, stream));
}

int replay_cuMemcpy(struct cuda_replay *replay, const struct sbt_record *record)
{
    struct cuda_args args;
    CUresult result;

    cuda_args_begin(&args, replay, record, SLOT_cuMemcpy_payload + 1);
    CUstream stream = cuda_arg_stream(&args);
    if (is_captured(record))
        return send_captured(&args, stream);
    size_t size = cuda_arg(&args, SLOT_cuMemcpy_ByteCount);
    uint64_t dst = cuda_arg(&args, SLOT_cuMemcpy_dst);
    const void *sent = is_late(&args)
                           ? cuda_arg_late(&args, cuda_arg(&args, SLOT_cuMemcpy_src), size)
                           : sent_bytes(&args, SLOT_cuMemcpy_payload, size);
    void *received =
        !args.error && is_programs(replay, dst) ? programs_memory(&args, dst, size) : NULL;
    if (args.error)
        return args.error;
    CUdeviceptr from = cuda_arg_address(&args, SLOT_cuMemcpy_src);
    CUdeviceptr to = cuda_arg_address(&args, SLOT_cuMemcpy_dst);
    cuda_args_send(&args);
    if (sent && received) {
        result = within_program(&args, received, sent, size, stream);
    } else if (sent) {
        result = args.driver->cuMemcpyHtoDAsync_v2(to, sent, size, stream);
    } else if (received) {
        result = args.driver->cuMemcpyDtoHAsync_v2(received, from, size, stream);
    } else {
        result = args.driver->cuMemcpyDtoDAsync_v2(to, from, size, stream);
    }
    return end_copy(&args, result, stream);
}

/* ---- boxes -------------------------------------------------------------------------------- */

/* One side of a copy, with members of either dimension: what is the program's is packed. */
struct side {
    CUmemorytype *type;
    const void **host;
    CUdeviceptr *device;
    size_t *x, *y, *z;
    size_t *pitch, *height;
};

struct box {
    size_t width, rows, planes;
};

static void point_at_packed(struct side *side, const struct box *box, const void *bytes)
{
    *side->type = CU_MEMORYTYPE_HOST;
    *side->host = bytes;
    *side->x = *side->y = 0;
    *side->pitch = box->width;
    if (side->z) {
        *side->z = 0;
        *side->height = box->rows;
    }
}

/* *size: bytes from the first to the last one that is copied. False: no memory can have as many. */
static bool extent(const struct side *side, const struct box *box, uint64_t *offset, uint64_t *size)
{
    struct tsm_extent e = {box->width, box->rows, box->planes,
                           *side->pitch ? *side->pitch : box->width, 0};
    bool fits = !__builtin_mul_overflow(
        e.pitch, side->height && *side->height ? *side->height : box->rows, &e.plane);

    *offset = (side->z ? *side->z : 0) * e.plane + *side->y * e.pitch + *side->x;
    return tsm_extent_size(&e, size) && fits;
}

/* The program's own memory, which a function of the program writes before the copy runs. */
static void point_at_late(struct cuda_args *args, struct side *side, const struct box *box)
{
    uint64_t base =
        *side->type == CU_MEMORYTYPE_UNIFIED ? *side->device : (uint64_t)(uintptr_t)*side->host;
    uint64_t offset, size;
    bool fits = extent(side, box, &offset, &size);
    const uint8_t *there = cuda_arg_late(args, base + offset, fits ? size : UINT64_MAX);

    *side->type = CU_MEMORYTYPE_HOST;
    *side->host = there - offset;
}

/* Memory of the host that the device can reach, in the layout that was recorded. False: it cannot.
 */
static bool point_at_registered(struct cuda_args *args, struct side *dst, const struct box *box)
{
    const size_t pitch = *dst->pitch ? *dst->pitch : box->width;
    const size_t height = dst->height && *dst->height ? *dst->height : box->rows;
    uint64_t offset, size;
    bool fits = extent(dst, box, &offset, &size);
    uint8_t *there =
        fits ? cuda_registered(args->replay, (uint64_t)(uintptr_t)*dst->host + offset, size) : NULL;

    if (!there)
        return false;
    *dst->host = there - offset;
    args->arriving =
        (struct cuda_host_box){there, box->width, box->rows, box->planes, pitch, pitch * height};
    return true;
}

static void resolve(const struct cuda_replay *replay, struct side *side)
{
    if (*side->type == CU_MEMORYTYPE_UNIFIED) {
        *side->type =
            is_programs(replay, *side->device) ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
        *side->host = (const void *)(uintptr_t)*side->device; /* NOLINT: an address */
    }
    if (*side->type == CU_MEMORYTYPE_DEVICE)
        *side->device = cuda_memory_translate(&replay->memory, *side->device);
}

/* Tests whether a source without recorded bytes is memory that host and device share: the replay
 * brings it up to date as the program did. */
static bool is_shared(const struct cuda_replay *replay, const struct side *src)
{
    const uint64_t address =
        *src->type == CU_MEMORYTYPE_HOST ? (uint64_t)(uintptr_t)*src->host : (uint64_t)*src->device;

    return (*src->type == CU_MEMORYTYPE_HOST || *src->type == CU_MEMORYTYPE_UNIFIED) &&
           cuda_memory_find(&replay->memory, address);
}

static void place_sides(struct cuda_args *args, struct side *src, struct side *dst,
                        const struct box *box, uint32_t payload_slot)
{
    const struct tsm_extent packed = {box->width, box->rows, box->planes, 0, 0};
    const void *sent;
    uint64_t size;

    if (!tsm_extent_packed(&packed, &size))
        args->error = tsm_fail(TSM_E_FORMAT, "copies more than there is memory");
    sent = sent_bytes(args, payload_slot, size);
    if (args->error)
        return;
    if (is_late(args)) {
        point_at_late(args, src, box);
    } else if (!sent && size && is_shared(args->replay, src)) {
        if (*src->type == CU_MEMORYTYPE_HOST)
            *src->device = (CUdeviceptr)(uintptr_t)*src->host;
        *src->type = CU_MEMORYTYPE_DEVICE;
    }
    resolve(args->replay, src);
    resolve(args->replay, dst);
    if (*src->type == CU_MEMORYTYPE_HOST && !is_late(args)) {
        if (!sent && size)
            args->error = tsm_fail(TSM_E_FORMAT, "has no bytes to copy from");
        point_at_packed(src, box, sent);
    }
    if (*dst->type == CU_MEMORYTYPE_HOST && !point_at_registered(args, dst, box))
        point_at_packed(dst, box, packed_memory(args, size));
}

#define AT(name) SLOT_cuMemcpy2D_v2_pCopy_##name

static CUDA_MEMCPY2D read_copy2d(struct cuda_args *args)
{
    return (CUDA_MEMCPY2D){
        .srcXInBytes = cuda_arg(args, AT(srcXInBytes)),
        .srcY = cuda_arg(args, AT(srcY)),
        .srcMemoryType = (CUmemorytype)cuda_arg(args, AT(srcMemoryType)),
        .srcHost = (const void *)(uintptr_t)cuda_arg(args, AT(srcHost)), /* NOLINT: an address */
        .srcDevice = cuda_arg(args, AT(srcDevice)),
        .srcArray = cuda_arg_handle(args, AT(srcArray), CUDA_OBJECT_ARRAY),
        .srcPitch = cuda_arg(args, AT(srcPitch)),
        .dstXInBytes = cuda_arg(args, AT(dstXInBytes)),
        .dstY = cuda_arg(args, AT(dstY)),
        .dstMemoryType = (CUmemorytype)cuda_arg(args, AT(dstMemoryType)),
        .dstHost = (void *)(uintptr_t)cuda_arg(args, AT(dstHost)), /* NOLINT: an address */
        .dstDevice = cuda_arg(args, AT(dstDevice)),
        .dstArray = cuda_arg_handle(args, AT(dstArray), CUDA_OBJECT_ARRAY),
        .dstPitch = cuda_arg(args, AT(dstPitch)),
        .WidthInBytes = cuda_arg(args, AT(WidthInBytes)),
        .Height = cuda_arg(args, AT(Height)),
    };
}

#undef AT

#define SIDE_2D(c, side)                                                                           \
    {                                                                                              \
        &(c).side##MemoryType, (const void **)&(c).side##Host, &(c).side##Device,                  \
            &(c).side##XInBytes, &(c).side##Y, NULL, &(c).side##Pitch, NULL                        \
    }

int replay_cuMemcpy2D_v2(struct cuda_replay *replay, const struct sbt_record *record)
{
    struct cuda_args args;

    cuda_args_begin(&args, replay, record, SLOT_cuMemcpy2D_v2_payload + 1);
    CUDA_MEMCPY2D c = read_copy2d(&args);
    CUstream stream = cuda_arg_stream(&args);
    if (is_captured(record))
        return send_captured(&args, stream);
    struct box box = {c.WidthInBytes, c.Height, 1};
    struct side src = SIDE_2D(c, src), dst = SIDE_2D(c, dst);
    place_sides(&args, &src, &dst, &box, SLOT_cuMemcpy2D_v2_payload);
    if (args.error)
        return args.error;
    cuda_args_send(&args);
    CUresult result = args.driver->cuMemcpy2DAsync_v2(&c, stream);
    return end_copy(&args, result, stream);
}

#define READ_COPY3D(c, args, prefix)                                                               \
    do {                                                                                           \
        (c).srcXInBytes = cuda_arg(args, prefix##srcXInBytes);                                     \
        (c).srcY = cuda_arg(args, prefix##srcY);                                                   \
        (c).srcZ = cuda_arg(args, prefix##srcZ);                                                   \
        (c).srcLOD = cuda_arg(args, prefix##srcLOD);                                               \
        (c).srcMemoryType = (CUmemorytype)cuda_arg(args, prefix##srcMemoryType);                   \
        (c).srcHost = (const void *)(uintptr_t)cuda_arg(args, prefix##srcHost); /* NOLINT */       \
        (c).srcDevice = cuda_arg(args, prefix##srcDevice);                                         \
        (c).srcArray = cuda_arg_handle(args, prefix##srcArray, CUDA_OBJECT_ARRAY);                 \
        (c).srcPitch = cuda_arg(args, prefix##srcPitch);                                           \
        (c).srcHeight = cuda_arg(args, prefix##srcHeight);                                         \
        (c).dstXInBytes = cuda_arg(args, prefix##dstXInBytes);                                     \
        (c).dstY = cuda_arg(args, prefix##dstY);                                                   \
        (c).dstZ = cuda_arg(args, prefix##dstZ);                                                   \
        (c).dstLOD = cuda_arg(args, prefix##dstLOD);                                               \
        (c).dstMemoryType = (CUmemorytype)cuda_arg(args, prefix##dstMemoryType);                   \
        (c).dstHost = (void *)(uintptr_t)cuda_arg(args, prefix##dstHost); /* NOLINT */             \
        (c).dstDevice = cuda_arg(args, prefix##dstDevice);                                         \
        (c).dstArray = cuda_arg_handle(args, prefix##dstArray, CUDA_OBJECT_ARRAY);                 \
        (c).dstPitch = cuda_arg(args, prefix##dstPitch);                                           \
        (c).dstHeight = cuda_arg(args, prefix##dstHeight);                                         \
        (c).WidthInBytes = cuda_arg(args, prefix##WidthInBytes);                                   \
        (c).Height = cuda_arg(args, prefix##Height);                                               \
        (c).Depth = cuda_arg(args, prefix##Depth);                                                 \
    } while (0)

#define SIDE_3D(c, side, host)                                                                     \
    {                                                                                              \
        &(c).side##MemoryType, (const void **)&(c).host, &(c).side##Device, &(c).side##XInBytes,   \
            &(c).side##Y, &(c).side##Z, &(c).side##Pitch, &(c).side##Height                        \
    }

static int send_box(struct cuda_args *args, CUDA_MEMCPY3D *c, uint32_t payload_slot,
                    CUstream stream)
{
    struct box box = {c->WidthInBytes, c->Height, c->Depth};
    struct side src = SIDE_3D(*c, src, srcHost), dst = SIDE_3D(*c, dst, dstHost);

    place_sides(args, &src, &dst, &box, payload_slot);
    if (args->error)
        return args->error;
    cuda_args_send(args);
    return end_copy(args, args->driver->cuMemcpy3DAsync_v2(c, stream), stream);
}

int replay_cuMemcpy3D_v2(struct cuda_replay *replay, const struct sbt_record *record)
{
    struct cuda_args args;
    CUDA_MEMCPY3D c = {0};

    cuda_args_begin(&args, replay, record, SLOT_cuMemcpy3D_v2_payload + 1);
    READ_COPY3D(c, &args, SLOT_cuMemcpy3D_v2_pCopy_);
    CUstream stream = cuda_arg_stream(&args);
    if (is_captured(record))
        return send_captured(&args, stream);
    return send_box(&args, &c, SLOT_cuMemcpy3D_v2_payload, stream);
}

/* A box of a batch, which is one of its records. */
int replay_cuMemcpy3DBatchAsync_v2(struct cuda_replay *replay, const struct sbt_record *record)
{
    struct cuda_args args;
    CUDA_MEMCPY3D c = {0};

    cuda_args_begin(&args, replay, record, SLOT_cuMemcpy3DBatchAsync_v2_payload + 1);
    READ_COPY3D(c, &args, SLOT_cuMemcpy3DBatchAsync_v2_copy_);
    CUstream stream = cuda_arg_stream(&args);
    if (is_captured(record))
        return send_captured(&args, stream);
    return send_box(&args, &c, SLOT_cuMemcpy3DBatchAsync_v2_payload, stream);
}

int replay_cuMemcpy3DPeer(struct cuda_replay *replay, const struct sbt_record *record)
{
    struct cuda_args args;
    CUDA_MEMCPY3D_PEER c = {0};

    cuda_args_begin(&args, replay, record, SLOT_cuMemcpy3DPeer_payload + 1);
    READ_COPY3D(c, &args, SLOT_cuMemcpy3DPeer_pCopy_);
    c.srcContext =
        cuda_arg_handle(&args, SLOT_cuMemcpy3DPeer_pCopy_srcContext, CUDA_OBJECT_CONTEXT);
    c.dstContext =
        cuda_arg_handle(&args, SLOT_cuMemcpy3DPeer_pCopy_dstContext, CUDA_OBJECT_CONTEXT);
    CUstream stream = cuda_arg_stream(&args);
    if (is_captured(record))
        return send_captured(&args, stream);
    struct box box = {c.WidthInBytes, c.Height, c.Depth};
    struct side src = SIDE_3D(c, src, srcHost), dst = SIDE_3D(c, dst, dstHost);
    place_sides(&args, &src, &dst, &box, SLOT_cuMemcpy3DPeer_payload);
    if (args.error)
        return args.error;
    cuda_args_send(&args);
    CUresult result = args.driver->cuMemcpy3DPeerAsync(&c, stream);
    return end_copy(&args, result, stream);
}
