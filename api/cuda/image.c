/* SPDX-License-Identifier: Apache-2.0 */
#include "api/cuda/image.h"

#include "base/bytes.h"

#include <lz4.h>
#include <string.h>
#include <sys/mman.h>
#define ZSTD_STATIC_LINKING_ONLY
#include <zstd.h>

#define WRAPPER_MAGIC 0x466243b1u
#define FATBIN_MAGIC  0xba55ed50u
#define FATBIN_HEADER 16u
#define ELF_MAGIC     0x464c457fu

#define IMAGE_SIZE_MAX    ((uint64_t)16 << 30)
#define UNPACKED_SIZE_MAX ((uint64_t)1 << 30)

/* ---- where it begins and ends ------------------------------------------------------------------
 */

/* PTX is text: a directive or a comment comes first, after white space. */
static bool is_ptx(const char *text)
{
    while (*text == ' ' || *text == '\t' || *text == '\n' || *text == '\r')
        text++;
    return *text == '.' || (text[0] == '/' && (text[1] == '/' || text[1] == '*'));
}

static uint64_t fatbin_size(const uint8_t *data)
{
    uint64_t header = tsm_get_u16(data + 6), body = tsm_get_u64(data + 8);

    return header >= FATBIN_HEADER && body < IMAGE_SIZE_MAX ? header + body : 0;
}

bool cuda_image_measure(const void *image, struct cuda_image *out)
{
    const uint8_t *data = image;

    if (!data)
        return false;
    if (tsm_get_u32(data) == WRAPPER_MAGIC) {
        memcpy(&data, data + 8, sizeof(data)); /* an address, in this process's byte order */
        if (!data || tsm_get_u32(data) == WRAPPER_MAGIC)
            return false;
    }
    out->data = data;
    if (tsm_get_u32(data) == FATBIN_MAGIC)
        out->size = fatbin_size(data);
    else if (tsm_get_u32(data) == ELF_MAGIC)
        out->size = cuda_elf_measure(data, IMAGE_SIZE_MAX);
    else if (is_ptx((const char *)data))
        out->size = strlen((const char *)data) + 1;
    else
        out->size = 0;
    return out->size > 0;
}

/* ---- memory
 * -------------------------------------------------------------------------------------- */

static void *take(size_t size)
{
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    return memory == MAP_FAILED ? NULL : memory;
}

static void give(void *memory, size_t size)
{
    if (memory)
        munmap(memory, size);
}

/* ---- fatbin members
 * ------------------------------------------------------------------------------ */

/* Offsets in a member's header; found by comparing fatbinary's output with its input. */
#define MEMBER_KIND          0u  /* u16: 1 PTX, 2 ELF */
#define MEMBER_HEADER_SIZE   4u  /* u32 */
#define MEMBER_PADDED_SIZE   8u  /* u64 */
#define MEMBER_PACKED_SIZE   16u /* u32: bytes when compressed */
#define MEMBER_ARCHITECTURE  28u /* u32 */
#define MEMBER_FLAGS         40u /* u64 */
#define MEMBER_UNPACKED_SIZE 56u /* u64 */
#define MEMBER_HEADER_MIN    64u
#define KIND_PTX             1u
#define KIND_ELF             2u
#define FLAG_LZ4             0x2000u
#define FLAG_ZSTD            0x8000u

static void visit_member(unsigned kind, const uint8_t *header, const uint8_t *code, size_t size,
                         struct cuda_image_visitor *visitor)
{
    const bool is_ptx = kind == KIND_PTX;
    const struct cuda_member member = {
        .is_ptx = is_ptx,
        .is_packed = header && tsm_get_u64(header + MEMBER_FLAGS) & (FLAG_LZ4 | FLAG_ZSTD),
        .architecture = header ? tsm_get_u32(header + MEMBER_ARCHITECTURE) : 0,
        .data = code,
        .size = is_ptx ? strnlen((const char *)code, size) : size,
    };

    visitor->visit_member(visitor->context, &member);
    visitor->count++;
}

/* `header`: the member's; NULL: it is none. */
static void visit_code(unsigned kind, const uint8_t *header, const uint8_t *code, size_t size,
                       struct cuda_image_visitor *visitor)
{
    if (kind != KIND_PTX && kind != KIND_ELF)
        return;
    if (visitor->visit_member)
        visit_member(kind, header, code, size, visitor);
    else if (kind == KIND_PTX && visitor->visit)
        cuda_ptx_functions((const char *)code, size, visitor);
    else if (kind == KIND_PTX)
        cuda_ptx_variables((const char *)code, size, visitor);
    else if (visitor->visit)
        cuda_elf_functions(code, size, visitor);
    else
        cuda_elf_variables(code, size, visitor);
}

/* zstd in memory of ours: its own allocator is malloc. */
static size_t unpack_zstd(uint8_t *out, size_t out_size, const uint8_t *in, size_t in_size)
{
    size_t workspace_size = ZSTD_estimateDCtxSize(), result = 0;
    void *workspace = take(workspace_size);
    ZSTD_DCtx *dctx = workspace ? ZSTD_initStaticDCtx(workspace, workspace_size) : NULL;

    if (dctx)
        result = ZSTD_decompressDCtx(dctx, out, out_size, in, in_size);
    if (ZSTD_isError(result))
        result = 0;
    give(workspace, workspace_size);
    return result;
}

static size_t unpack_lz4(uint8_t *out, size_t out_size, const uint8_t *in, size_t in_size)
{
    int result = LZ4_decompress_safe((const char *)in, (char *)out, (int)in_size, (int)out_size);

    return result > 0 ? (size_t)result : 0;
}

static void visit_packed(const uint8_t *header, const uint8_t *body, size_t body_size,
                         struct cuda_image_visitor *visitor)
{
    uint64_t flags = tsm_get_u64(header + MEMBER_FLAGS);
    uint64_t packed = tsm_get_u32(header + MEMBER_PACKED_SIZE);
    uint64_t unpacked = tsm_get_u64(header + MEMBER_UNPACKED_SIZE);
    size_t size;
    uint8_t *out;

    if (packed > body_size || packed > UNPACKED_SIZE_MAX || unpacked == 0 ||
        unpacked > UNPACKED_SIZE_MAX)
        return;
    out = take(unpacked);
    if (!out)
        return;
    if (flags & FLAG_ZSTD)
        size = unpack_zstd(out, unpacked, body, packed);
    else
        size = unpack_lz4(out, unpacked, body, packed);
    visit_code(tsm_get_u16(header + MEMBER_KIND), header, out, size, visitor);
    give(out, unpacked);
}

static void visit_fatbin(const uint8_t *data, size_t size, struct cuda_image_visitor *visitor)
{
    struct tsm_view view = tsm_view_init(data, size);

    tsm_view_take(&view, size >= FATBIN_HEADER ? tsm_get_u16(data + 6) : size + 1);
    while (!view.failed && tsm_view_left(&view) >= MEMBER_HEADER_MIN) {
        const uint8_t *header = view.at, *body;
        uint64_t body_size = tsm_get_u64(header + MEMBER_PADDED_SIZE);
        uint32_t header_size = tsm_get_u32(header + MEMBER_HEADER_SIZE);

        if (header_size < MEMBER_HEADER_MIN || !tsm_view_take(&view, header_size))
            return;
        body = tsm_view_take(&view, body_size);
        if (!body)
            return;
        if (tsm_get_u64(header + MEMBER_FLAGS) & (FLAG_LZ4 | FLAG_ZSTD))
            visit_packed(header, body, body_size, visitor);
        else
            visit_code(tsm_get_u16(header + MEMBER_KIND), header, body, body_size, visitor);
    }
}

/* Tests whether a packed member lies within its body, and unpacks to no more than the limit. */
static bool member_is_whole(const uint8_t *header, uint64_t body_size)
{
    return !(tsm_get_u64(header + MEMBER_FLAGS) & (FLAG_LZ4 | FLAG_ZSTD)) ||
           (tsm_get_u32(header + MEMBER_PACKED_SIZE) <= body_size &&
            tsm_get_u64(header + MEMBER_UNPACKED_SIZE) <= UNPACKED_SIZE_MAX);
}

static bool fatbin_is_whole(const uint8_t *data, uint64_t size)
{
    uint64_t all = size >= FATBIN_HEADER ? fatbin_size(data) : 0;
    struct tsm_view view;

    if (all == 0 || all > size)
        return false;
    view = tsm_view_init(data, all);
    tsm_view_take(&view, tsm_get_u16(data + 6));
    while (!view.failed && tsm_view_left(&view) >= MEMBER_HEADER_MIN) {
        const uint8_t *header = view.at;
        uint64_t body_size = tsm_get_u64(header + MEMBER_PADDED_SIZE);
        uint32_t header_size = tsm_get_u32(header + MEMBER_HEADER_SIZE);

        if (header_size < MEMBER_HEADER_MIN || !member_is_whole(header, body_size))
            return false;
        tsm_view_take(&view, header_size);
        tsm_view_take(&view, body_size);
    }
    return !view.failed;
}

bool cuda_image_is_whole(const void *data, uint64_t size)
{
    uint32_t magic = size >= 4 ? tsm_get_u32(data) : 0;

    if (magic == WRAPPER_MAGIC)
        return false;
    if (magic == FATBIN_MAGIC)
        return fatbin_is_whole(data, size);
    return magic != ELF_MAGIC || cuda_elf_is_whole(data, size);
}

/* ---- all
 * ------------------------------------------------------------------------------------------ */

static void visit_image(const void *data, uint64_t size, struct cuda_image_visitor *visitor)
{
    uint32_t magic = size >= 4 ? tsm_get_u32(data) : 0;

    if (magic == FATBIN_MAGIC)
        visit_fatbin(data, size, visitor);
    else
        visit_code(magic == ELF_MAGIC ? KIND_ELF : KIND_PTX, NULL, data, size, visitor);
}

uint32_t cuda_image_functions(const void *data, uint64_t size,
                              void (*visit)(void *context, const struct cuda_signature *signature),
                              void *context)
{
    size_t room = CUDA_PARAM_COUNT_MAX * sizeof(struct cuda_param);
    struct cuda_image_visitor visitor = {.visit = visit, .context = context, .params = take(room)};

    if (!visitor.params)
        return 0;
    visit_image(data, size, &visitor);
    give(visitor.params, room);
    return visitor.count;
}

void cuda_image_variables(const void *data, uint64_t size,
                          void (*visit)(void *context, const char *name, size_t name_size),
                          void *context)
{
    struct cuda_image_visitor visitor = {.visit_variable = visit, .context = context};

    visit_image(data, size, &visitor);
}

void cuda_image_members(const void *data, uint64_t size,
                        void (*visit)(void *context, const struct cuda_member *member),
                        void *context)
{
    struct cuda_image_visitor visitor = {.visit_member = visit, .context = context};

    visit_image(data, size, &visitor);
}

bool cuda_image_is_fatbin(const void *data, uint64_t size)
{
    return size >= FATBIN_HEADER && tsm_get_u32(data) == FATBIN_MAGIC;
}
