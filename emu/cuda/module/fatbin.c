/* SPDX-License-Identifier: Apache-2.0 */
#include "emu/cuda/module/fatbin.h"

#include <lz4.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "base/bytes.h"
#include "base/text.h"
#include "emu/cuda/core/emu.h"
#include "emu/cuda/module/elf.h"

#define FATBIN_HEADER 16
#define ENTRY_HEADER  64
#define KIND_PTX      1
#define FLAG_LZ4      0x2000u
#define FLAG_ZSTD     0x8000u
#define TEXT_SIZE_MAX (1u << 30)

/* One entry of a fat binary. */
struct entry {
    unsigned kind;
    unsigned arch;
    uint64_t flags;
    const uint8_t *data;
    size_t size;        /* in the image, padded */
    size_t packed_size; /* of compressed data */
    size_t full_size;   /* of what it unpacks to */
};

void emu_log_line(struct ptx_log *log, const char *format, ...)
{
    va_list ap;

    if (!log || log->size < log->used + 2)
        return;
    va_start(ap, format);
    log->used += tsm_vformat(log->text + log->used, log->size - log->used - 1, format, ap);
    va_end(ap);
    log->text[log->used++] = '\n';
    log->text[log->used] = 0;
}

static bool read_entry(struct entry *out, struct tsm_view *v)
{
    const uint8_t *start = v->at;
    uint32_t header;

    out->kind = tsm_view_u16(v);
    tsm_view_u16(v);
    header = tsm_view_u32(v);
    out->size = tsm_view_u64(v);
    out->packed_size = tsm_view_u32(v);
    tsm_view_u32(v);
    tsm_view_u32(v); /* the PTX or ELF version */
    out->arch = tsm_view_u32(v);
    tsm_view_u64(v); /* the name of the source */
    out->flags = tsm_view_u64(v);
    tsm_view_u64(v);
    out->full_size = tsm_view_u64(v);
    if (v->failed || header < ENTRY_HEADER || !tsm_view_take(v, header - (size_t)(v->at - start)))
        return false;
    out->data = tsm_view_take(v, out->size);
    return out->data != NULL;
}

/* ---- unpacking ---- */

static size_t unpack(char *to, const struct entry *e)
{
    if (e->packed_size > e->size)
        return 0;
    if (e->flags & FLAG_ZSTD) {
        size_t n = ZSTD_decompress(to, e->full_size, e->data, e->packed_size);
        return ZSTD_isError(n) ? 0 : n;
    }
    int n = LZ4_decompress_safe((const char *)e->data, to, (int)e->packed_size, (int)e->full_size);
    return n > 0 ? (size_t)n : 0;
}

/* The bytes of an entry; `owned` when they had to be unpacked. */
static CUresult entry_bytes(struct emu_text *out, const struct entry *e)
{
    *out = (struct emu_text){.text = (const char *)e->data, .size = e->size};
    if (!(e->flags & (FLAG_LZ4 | FLAG_ZSTD)))
        return CUDA_SUCCESS;
    if (!e->full_size || e->full_size > TEXT_SIZE_MAX || e->packed_size > TEXT_SIZE_MAX)
        return CUDA_ERROR_INVALID_IMAGE;
    out->owned = malloc(e->full_size);
    if (!out->owned)
        return CUDA_ERROR_OUT_OF_MEMORY;
    out->text = out->owned;
    out->size = unpack(out->owned, e);
    if (out->size)
        return CUDA_SUCCESS;
    emu_text_finish(out);
    return CUDA_ERROR_INVALID_IMAGE;
}

static CUresult entry_text(struct emu_text *out, const struct entry *e)
{
    CUresult result = entry_bytes(out, e);

    if (!result)
        out->size = strnlen(out->text, out->size);
    return result;
}

void emu_text_finish(struct emu_text *text)
{
    free(text->owned);
    *text = (struct emu_text){0};
}

/* ---- choosing ---- */

static void explain_code(struct ptx_log *log, const char *target, const uint8_t *elf, size_t size)
{
    char kernels[1024];

    emu_elf_kernels(kernels, sizeof(kernels), elf, size);
    emu_log_line(log, "machine code%s without PTX; the software GPU runs PTX. Kernels: %s", target,
                 *kernels ? kernels : "(unknown)");
}

/* Why nothing was found: PTX for larger devices only, or machine code only. */
static void explain(struct ptx_log *log, unsigned found_ptx, const struct entry *code,
                    unsigned capability)
{
    struct emu_text bytes;

    if (found_ptx) {
        emu_log_line(log, "the PTX in this image is for sm_%u and later; the device is sm_%u",
                     found_ptx, capability);
    } else if (!code->data || entry_bytes(&bytes, code)) {
        emu_log_line(log, "this image holds no code");
    } else {
        char target[32];
        tsm_format(target, sizeof(target), " for sm_%u", code->arch);
        explain_code(log, target, (const uint8_t *)bytes.text, bytes.size);
        emu_text_finish(&bytes);
    }
}

static CUresult fatbin_text(struct emu_text *out, const uint8_t *image, unsigned capability,
                            struct ptx_log *log)
{
    struct tsm_view v = tsm_view_init(image, FATBIN_HEADER);
    struct entry best = {0}, code = {0}, e;
    unsigned too_new = 0;

    tsm_view_u32(&v);
    tsm_view_u16(&v);
    unsigned header = tsm_view_u16(&v);
    uint64_t size = tsm_view_u64(&v);
    if (header < FATBIN_HEADER || size > TEXT_SIZE_MAX)
        return CUDA_ERROR_INVALID_IMAGE;
    v = tsm_view_init(image + header, size);
    while (tsm_view_left(&v) >= ENTRY_HEADER) {
        if (!read_entry(&e, &v))
            return CUDA_ERROR_INVALID_IMAGE;
        if (e.kind != KIND_PTX)
            code = e;
        else if (e.arch > capability)
            too_new = e.arch;
        else if (!best.data || e.arch > best.arch)
            best = e;
    }
    if (best.data)
        return entry_text(out, &best);
    explain(log, too_new, &code, capability);
    return CUDA_ERROR_NO_BINARY_FOR_GPU;
}

/* In the order of the bytes, so that the comparison ends at the first that differs: there may be no
 * more of them. */
#define ELF_MAGIC     "\177ELF"
#define WRAPPER_MAGIC "\xb1\x43\x62\x46"
#define FATBIN_MAGIC  "\x50\xed\x55\xba"

static bool has_magic(const void *image, const char *magic)
{
    return strncmp(image, magic, 4) == 0;
}

/* Only text: PTX has no other control characters than white space. */
static bool looks_like_text(const char *p)
{
    for (size_t i = 0; i < 16 && p[i]; i++)
        if ((unsigned char)p[i] < ' ' && !strchr("\t\n\v\f\r", p[i]))
            return false;
    return *p != 0;
}

CUresult emu_image_text(struct emu_text *out, const void *image, unsigned capability,
                        struct ptx_log *log)
{
    const uint8_t *p = image;

    *out = (struct emu_text){0};
    if (has_magic(p, ELF_MAGIC)) {
        explain_code(log, "", p, emu_elf_size(p));
        return CUDA_ERROR_NO_BINARY_FOR_GPU;
    }
    if (has_magic(p, WRAPPER_MAGIC)) {
        p = (const uint8_t *)(uintptr_t)tsm_get_u64(p + 8);
        if (!p)
            return CUDA_ERROR_INVALID_IMAGE;
    }
    if (has_magic(p, FATBIN_MAGIC))
        return fatbin_text(out, p, capability, log);
    if (!looks_like_text((const char *)p))
        return CUDA_ERROR_INVALID_IMAGE;
    *out = (struct emu_text){.text = (const char *)p, .size = strlen((const char *)p)};
    return CUDA_SUCCESS;
}

bool emu_image_fits(const void *image, size_t size)
{
    const uint8_t *p = image;

    if (has_magic(p, WRAPPER_MAGIC))
        return false;
    if (has_magic(p, ELF_MAGIC))
        return emu_elf_fits(p, size);
    return !has_magic(p, FATBIN_MAGIC) || (size >= FATBIN_HEADER && tsm_get_u16(p + 6) <= size &&
                                           tsm_get_u64(p + 8) <= size - tsm_get_u16(p + 6));
}

/* With zero bytes after it, so that the image's magic can be read of any. */
static char *read_all(FILE *f, size_t *size_out)
{
    size_t size = 0, capacity = 1 << 16;
    char *data = NULL, *grown;

    for (;;) {
        grown = realloc(data, capacity + 16);
        if (!grown)
            break;
        data = grown;
        size += fread(data + size, 1, capacity - size, f);
        if (size < capacity) {
            memset(data + size, 0, 16);
            *size_out = size;
            return data;
        }
        if (capacity >= TEXT_SIZE_MAX)
            break;
        capacity *= 2;
    }
    free(data);
    return NULL;
}

CUresult emu_file_read(char **out, size_t *size_out, const char *name)
{
    FILE *f = fopen(name, "rbe");
    char *data;
    size_t size = 0;

    if (!f)
        return CUDA_ERROR_FILE_NOT_FOUND;
    data = read_all(f, &size);
    fclose(f);
    if (!data)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *out = data;
    if (size_out)
        *size_out = size;
    return CUDA_SUCCESS;
}
