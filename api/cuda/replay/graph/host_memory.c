/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory of the program that graphs read and write: it is used again in each launch, so it has to
 * be there, and to lie where several nodes find the same. Registered memory is; for other memory
 * pages of ours take its place, at the recorded address if that can be had.
 */
#include "api/cuda/replay/state.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include "api/cuda/graph_parts.h"

#define PAGE 4096u

/* Memory whose recorded address could not be had. */
struct cuda_program_block {
    struct cuda_program_block *next;
    uint64_t recorded, size;
    uint8_t bytes[];
};

/* ---- copies in records -------------------------------------------------------------------- */

#define MEMBER(name)                                                                               \
    {                                                                                              \
#name, offsetof(CUDA_MEMCPY3D, name), sizeof(((CUDA_MEMCPY3D *)0)->name)                   \
    }

/* Fields of two- and three-dimensional copies are named like the members. */
static const struct member {
    const char *name;
    size_t offset, size;
} members[] = {
    MEMBER(srcXInBytes),  MEMBER(srcY),          MEMBER(srcZ),     MEMBER(srcLOD),
    MEMBER(srcHost),      MEMBER(srcMemoryType), MEMBER(srcArray), MEMBER(srcDevice),
    MEMBER(srcPitch),     MEMBER(srcHeight),     MEMBER(dstY),     MEMBER(dstXInBytes),
    MEMBER(dstZ),         MEMBER(dstLOD),        MEMBER(dstHost),  MEMBER(dstMemoryType),
    MEMBER(dstDevice),    MEMBER(dstArray),      MEMBER(dstPitch), MEMBER(dstHeight),
    MEMBER(WidthInBytes), MEMBER(Height),        MEMBER(Depth),
};

static bool set_member(CUDA_MEMCPY3D *copy, const char *field, uint64_t value)
{
    const char *name = strrchr(field, '.');

    for (size_t i = 0; name && i < sizeof(members) / sizeof(members[0]); i++) {
        if (strcmp(name + 1, members[i].name))
            continue;
        memcpy((char *)copy + members[i].offset, &value, members[i].size); /* little-endian */
        return true;
    }
    return false;
}

static void linear_side(const struct sbt_record *record, const struct sbt_schema *schema,
                        enum sbt_role host, enum sbt_role device, CUmemorytype *type,
                        CUdeviceptr *address)
{
    bool may_be_host = sbt_schema_role(schema, SBT_ROLE_PAYLOAD) >= 0;

    *address = sbt_record_role(schema, record, host, 0);
    *type = *address      ? CU_MEMORYTYPE_HOST
            : may_be_host ? CU_MEMORYTYPE_UNIFIED
                          : CU_MEMORYTYPE_DEVICE;
    if (!*address)
        *address = sbt_record_role(schema, record, device, 0);
}

bool cuda_program_read_copy(const struct sbt_record *record, const struct sbt_schema *schema,
                            CUDA_MEMCPY3D *out)
{
    bool is_box = false;

    memset(out, 0, sizeof(*out));
    out->Height = out->Depth = 1;
    for (uint32_t i = 0; i < schema->field_count && i < record->slot_count; i++)
        is_box |= set_member(out, schema->fields[i].name, record->slots[i]);
    if (is_box)
        return true;
    out->WidthInBytes = sbt_record_role(schema, record, SBT_ROLE_SIZE, 0);
    linear_side(record, schema, SBT_ROLE_HOST_SRC, SBT_ROLE_SRC, &out->srcMemoryType,
                &out->srcDevice);
    linear_side(record, schema, SBT_ROLE_HOST_DST, SBT_ROLE_DST, &out->dstMemoryType,
                &out->dstDevice);
    if (out->srcMemoryType == CU_MEMORYTYPE_HOST)
        out->srcHost = (const void *)(uintptr_t)out->srcDevice; /* NOLINT: an address */
    if (out->dstMemoryType == CU_MEMORYTYPE_HOST)
        out->dstHost = (void *)(uintptr_t)out->dstDevice; /* NOLINT: an address */
    return out->WidthInBytes && (out->srcDevice || out->dstDevice);
}

/* ---- sides of copies ---------------------------------------------------------------------- */

struct side {
    CUmemorytype type;
    uint64_t base;         /* of host or unified memory */
    uint64_t offset, size; /* from there: what is touched */
};

/* a * b + c of numbers of the trace, which may be anything; too much is more than there is. */
static uint64_t sum(uint64_t a, uint64_t b, uint64_t c)
{
    uint64_t product, all;

    if (__builtin_mul_overflow(a, b, &product) || __builtin_add_overflow(product, c, &all))
        return UINT64_MAX / 4;
    return all < UINT64_MAX / 4 ? all : UINT64_MAX / 4;
}

static struct side side_of(const CUDA_MEMCPY3D *c, CUmemorytype type, const void *host,
                           CUdeviceptr device, const size_t at[3], size_t pitch, size_t height)
{
    uint64_t base = type == CU_MEMORYTYPE_HOST ? (uint64_t)(uintptr_t)host : device;
    uint64_t row = pitch ? pitch : c->WidthInBytes;
    uint64_t plane = sum(row, height ? height : c->Height, 0);
    bool empty = !c->WidthInBytes || !c->Height || !c->Depth;
    uint64_t size = empty ? 0 : sum(c->Depth - 1, plane, sum(c->Height - 1, row, c->WidthInBytes));

    return (struct side){type, base, sum(at[2], plane, sum(at[1], row, at[0])), size};
}

static struct side source(const CUDA_MEMCPY3D *c)
{
    return side_of(c, c->srcMemoryType, c->srcHost, c->srcDevice,
                   (size_t[]){c->srcXInBytes, c->srcY, c->srcZ}, c->srcPitch, c->srcHeight);
}

static struct side destination(const CUDA_MEMCPY3D *c)
{
    return side_of(c, c->dstMemoryType, c->dstHost, c->dstDevice,
                   (size_t[]){c->dstXInBytes, c->dstY, c->dstZ}, c->dstPitch, c->dstHeight);
}

/* ---- planning ----------------------------------------------------------------------------- */

static int plan_side(struct cuda_memory *m, const struct side *side)
{
    uint64_t start = side->base + side->offset;

    if ((side->type != CU_MEMORYTYPE_HOST && side->type != CU_MEMORYTYPE_UNIFIED) || !side->size ||
        !side->base || tsm_address_space_find(&m->device, start, 1))
        return 0;
    return cuda_memory_plan_range(&m->host, start, side->size, PAGE);
}

/* A node that copies: the last fields of its record are params, objects, list, as in cuda.api. */
static bool read_node(const struct sbt_record *record, const struct sbt_schema *schema,
                      CUDA_MEMCPY3D *out)
{
    const uint32_t fields = SLOT_cuGraphNodeSetParams_list - SLOT_cuGraphNodeSetParams_type + 1;
    const uint32_t type = schema->field_count - fields, params = schema->field_count - 3;
    CUDA_MEMCPY_NODE_PARAMS copy;
    const uint8_t *bytes;
    size_t size;

    if (schema->field_count < fields || record->slot_count < schema->field_count ||
        strcmp(schema->fields[schema->field_count - 1].name, "list") ||
        record->slots[type] != CU_GRAPH_NODE_TYPE_MEMCPY ||
        !sbt_record_bytes(record, params, &bytes, &size) || size < sizeof(copy))
        return false;
    memcpy(&copy, bytes, sizeof(copy));
    *out = copy.copyParams;
    out->srcHost = (const void *)(uintptr_t)sbt_record_role(schema, record, SBT_ROLE_HOST_SRC, 0);
    out->dstHost = (void *)(uintptr_t)sbt_record_role(schema, record, SBT_ROLE_HOST_DST, 0);
    out->srcDevice = sbt_record_role(schema, record, SBT_ROLE_SRC, 0);
    out->dstDevice = sbt_record_role(schema, record, SBT_ROLE_DST, 0);
    return true;
}

static int plan_sides(struct cuda_memory *memory, const CUDA_MEMCPY3D *copy)
{
    const struct side src = source(copy), dst = destination(copy);
    const int error = plan_side(memory, &src);

    return error ? error : plan_side(memory, &dst);
}

int cuda_program_plan(struct cuda_memory *memory, const struct sbt_record *record,
                      const struct sbt_schema *schema)
{
    bool captured = (record->flags & (SBT_RECORD_CAPTURED | SBT_RECORD_LATE)) != 0;
    struct side src, dst;
    CUDA_MEMCPY3D copy;
    int error;

    if (cuda_is_copy_batch(record->type))
        return cuda_copy_batch_plan(memory, record, schema, plan_sides);
    if (!(captured && cuda_program_read_copy(record, schema, &copy)) &&
        !(schema->kind != SBT_KIND_COMMAND && read_node(record, schema, &copy)))
        return 0;
    src = source(&copy);
    dst = destination(&copy);
    error = plan_side(memory, &src);
    return error || (record->flags & SBT_RECORD_LATE) ? error : plan_side(memory, &dst);
}

/* ---- memory ------------------------------------------------------------------------------- */

static struct cuda_program_block *find_block(const struct cuda_replay *replay, uint64_t address,
                                             uint64_t size)
{
    struct cuda_program_block *b = replay->program_blocks;

    while (b && (address < b->recorded || address - b->recorded > b->size ||
                 b->size - (address - b->recorded) < size))
        b = b->next;
    return b;
}

void *cuda_program_find(const struct cuda_replay *replay, uint64_t address, uint64_t size)
{
    const struct tsm_address_range *range =
        tsm_address_space_find(&replay->memory.host, address, size);
    uint64_t start = address & ~(uint64_t)(PAGE - 1);
    struct cuda_program_block *block;

    if (range && range->is_kept) {
        void *page = (void *)(uintptr_t)start; /* NOLINT: an address */
        if (mprotect(page, address + size - start, PROT_READ | PROT_WRITE))
            return NULL;
        return (void *)(uintptr_t)address; /* NOLINT: an address */
    }
    block = find_block(replay, address, size);
    return block ? block->bytes + (address - block->recorded) : NULL;
}

/* Finds the memory, or creates it where a later record takes bytes from there. */
static void *find_planned(struct cuda_replay *replay, uint64_t address, uint64_t size)
{
    const struct tsm_address_range *range =
        tsm_address_space_find(&replay->memory.host, address, size);
    void *there = cuda_program_find(replay, address, size);

    if (!there && range && cuda_program_memory(replay, range->start, range->end - range->start))
        there = cuda_program_find(replay, address, size);
    return there;
}

void *cuda_program_host(struct cuda_replay *replay, uint64_t address, uint64_t size)
{
    void *there = cuda_registered(replay, address, size);

    return there || cuda_memory_find(&replay->memory, address)
               ? there
               : find_planned(replay, address, size);
}

void *cuda_program_late(struct cuda_replay *replay, uint64_t address, uint64_t size)
{
    const struct tsm_region *region = cuda_memory_find(&replay->memory, address);

    if (!region || region->is_host || size > region->size - (address - region->address))
        return cuda_program_host(replay, address, size);
    return (void *)(uintptr_t)(region->actual +
                               (address - region->address)); /* NOLINT: an address */
}

void *cuda_program_memory(struct cuda_replay *replay, uint64_t address, uint64_t size)
{
    struct cuda_program_block *made;
    void *there = cuda_registered(replay, address, size);

    if (!there)
        there = cuda_program_find(replay, address, size);
    if (there || size > SIZE_MAX - sizeof(*made))
        return there;
    made = calloc(1, sizeof(*made) + size);
    if (!made)
        return NULL;
    made->recorded = address;
    made->size = size;
    made->next = replay->program_blocks;
    replay->program_blocks = made;
    return made->bytes;
}

/* Tests whether the page is in use: kept ones have no access until then. */
static bool is_used(const struct cuda_replay *replay, uint64_t page)
{
    uint8_t byte;
    struct iovec here = {&byte, 1};
    struct iovec there = {(void *)(uintptr_t)page, 1}; /* NOLINT: an address */

    return !cuda_memory_find(&replay->memory, page) &&
           !cuda_memory_find(&replay->memory, page + PAGE - 1) &&
           process_vm_readv(getpid(), &here, 1, &there, 1, 0) == 1;
}

int cuda_program_each(struct cuda_replay *replay,
                      int (*visit)(void *user, uint64_t address, const uint8_t *bytes,
                                   uint64_t size),
                      void *user)
{
    const struct tsm_address_space *host = &replay->memory.host;
    int error = 0;

    for (struct cuda_program_block *b = replay->program_blocks; b && !error; b = b->next)
        error = visit(user, b->recorded, b->bytes, b->size);
    for (size_t i = 0; i < host->count && !error; i++) {
        const struct tsm_address_range *r = &host->list[i];
        for (uint64_t at = r->start, end; r->is_kept && at < r->end && !error; at = end + PAGE) {
            for (end = at; end < r->end && is_used(replay, end); end += PAGE)
                ;
            if (end > at)
                error = visit(user, at, (const uint8_t *)(uintptr_t)at, end - at); /* NOLINT */
        }
    }
    return error;
}

uint64_t cuda_program_recorded(const struct cuda_replay *replay, const void *memory)
{
    const struct cuda_memory *m = &replay->memory;
    uint64_t address = (uint64_t)(uintptr_t)memory;

    for (const struct cuda_program_block *b = replay->program_blocks; b; b = b->next)
        if (address - (uint64_t)(uintptr_t)b->bytes < b->size)
            return b->recorded + (address - (uint64_t)(uintptr_t)b->bytes);
    for (size_t i = 0; i < m->moved_count; i++)
        if (address - m->moved[i].actual < m->moved[i].size)
            return m->moved[i].recorded + (address - m->moved[i].actual);
    return address;
}

void cuda_program_finish(struct cuda_replay *replay)
{
    while (replay->program_blocks) {
        struct cuda_program_block *next = replay->program_blocks->next;
        free(replay->program_blocks);
        replay->program_blocks = next;
    }
}

/* ---- copies in graphs --------------------------------------------------------------------- */

/* Memory that no region holds is the program's, except variables of modules. */
static bool is_programs(const struct cuda_replay *replay, const struct side *side)
{
    const struct tsm_region *region = cuda_memory_find(&replay->memory, side->base + side->offset);

    if (side->type == CU_MEMORYTYPE_HOST)
        return true;
    if (side->type != CU_MEMORYTYPE_UNIFIED)
        return false;
    if (region)
        return region->is_host;
    return cuda_memory_translate(&replay->memory, side->base) == side->base &&
           cuda_copy_is_host(&replay->library.calls, side->type, side->base);
}

/* Returns the present begin of the side; 0: no memory. */
static uint64_t place(struct cuda_replay *replay, const struct side *side, CUmemorytype *type)
{
    const void *memory;

    if (is_programs(replay, side)) {
        *type = CU_MEMORYTYPE_HOST;
        memory = cuda_program_memory(replay, side->base + side->offset, side->size);
        return memory ? (uint64_t)(uintptr_t)memory - side->offset : 0;
    }
    if (*type == CU_MEMORYTYPE_UNIFIED)
        *type = CU_MEMORYTYPE_DEVICE;
    return cuda_memory_translate(&replay->memory, side->base);
}

int cuda_program_copy(struct cuda_replay *replay, CUDA_MEMCPY3D *copy)
{
    struct side src = source(copy), dst = destination(copy);
    uint64_t from = place(replay, &src, &copy->srcMemoryType);
    uint64_t to = place(replay, &dst, &copy->dstMemoryType);

    if ((!from && src.base) || (!to && dst.base))
        return tsm_fail(TSM_E_MEMORY, "no memory for what a graph copies");
    copy->srcHost = (const void *)(uintptr_t)from; /* NOLINT: an address */
    copy->srcDevice = from;
    copy->dstHost = (void *)(uintptr_t)to; /* NOLINT: an address */
    copy->dstDevice = to;
    return 0;
}
