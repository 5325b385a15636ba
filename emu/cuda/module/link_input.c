/* SPDX-License-Identifier: Apache-2.0 */
#include "emu/cuda/module/link.h"

#include <ar.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/text.h"
#include "emu/cuda/core/emu.h"
#include "emu/cuda/module/elf.h"
#include "emu/cuda/module/fatbin.h"

#define FATBIN_MAGIC  0xba55ed50u
#define FATBIN_HEADER 16u

/* Destination of the texts, and log for those that cannot be used. */
struct search {
    struct ptx_log *log;
    emu_link_text add;
    void *user;
    bool is_member; /* of an archive: what holds no device code is passed over */
};

static CUresult search_image(const struct search *s, const char *name, const uint8_t *data,
                             size_t size);

static bool is_fatbin(const uint8_t *data, size_t size)
{
    return size >= FATBIN_HEADER && tsm_get_u32(data) == FATBIN_MAGIC;
}

/* Header and entries, 0 when they do not lie within `size` bytes. */
static size_t fatbin_size(const uint8_t *data, size_t size)
{
    uint64_t header = tsm_get_u16(data + 6), body = tsm_get_u64(data + 8);

    return header <= size && body <= size - header ? (size_t)(header + body) : 0;
}

static CUresult search_fatbin(const struct search *s, const char *name, const uint8_t *data,
                              size_t size)
{
    struct emu_text text;
    CUresult result;

    if (!fatbin_size(data, size))
        return CUDA_ERROR_INVALID_IMAGE;
    result = emu_image_text(&text, data, emu_settings.capability, s->log);
    if (result)
        return result;
    result = s->add(s->user, name, text.text, text.size);
    emu_text_finish(&text);
    return result;
}

/* A section of a host object: fat binaries one after another, at multiples of 8 bytes. */
static CUresult search_section(const struct search *s, const char *name, const uint8_t *data,
                               size_t size)
{
    CUresult result = CUDA_SUCCESS;

    while (!result && is_fatbin(data, size)) {
        size_t used = (fatbin_size(data, size) + 7) & ~(size_t)7;
        result = search_fatbin(s, name, data, size);
        if (!used || used > size)
            break;
        data += used;
        size -= used;
    }
    return result;
}

static CUresult search_object(const struct search *s, const char *name, const uint8_t *data,
                              size_t size)
{
    struct emu_elf_section section;
    CUresult result = CUDA_SUCCESS;
    bool found = false;

    if (emu_elf_is_device(data, size)) {
        char kernels[1024];
        emu_elf_kernels(kernels, sizeof(kernels), data, size);
        emu_log_line(s->log, "%s: machine code without PTX; the software GPU runs PTX. Kernels: %s",
                     name, *kernels ? kernels : "(unknown)");
        return CUDA_ERROR_NO_BINARY_FOR_GPU;
    }
    for (unsigned i = 0; !result && emu_elf_section(&section, data, size, i); i++) {
        if (strcmp(section.name, ".nv_fatbin") != 0 && strcmp(section.name, "__nv_relfatbin") != 0)
            continue;
        found = true;
        result = search_section(s, name, section.data, section.size);
    }
    if (!result && !found && !s->is_member) {
        emu_log_line(s->log, "%s: an object without device code", name);
        result = CUDA_ERROR_INVALID_IMAGE;
    }
    return result;
}

/* ---- archives ---- */

/* A decimal field of an archive's header, padded with blanks. */
static size_t archive_number(const char *field, size_t size)
{
    size_t value = 0;

    for (size_t i = 0; i < size && field[i] >= '0' && field[i] <= '9'; i++)
        value = value * 10 + (size_t)(field[i] - '0');
    return value;
}

/* Symbol tables and the table of long names are no members. */
static bool is_table(const struct ar_hdr *header)
{
    return header->ar_name[0] == '/' && (header->ar_name[1] < '0' || header->ar_name[1] > '9');
}

static CUresult search_archive(const struct search *s, const char *name, const uint8_t *data,
                               size_t size)
{
    struct tsm_view v = tsm_view_init(data + SARMAG, size - SARMAG);
    struct search inner = *s;
    CUresult result = CUDA_SUCCESS;
    char member[256];

    inner.is_member = true;
    while (!result && tsm_view_left(&v) >= sizeof(struct ar_hdr)) {
        const struct ar_hdr *header =
            (const struct ar_hdr *)(const void *)tsm_view_take(&v, sizeof(*header));
        size_t member_size = archive_number(header->ar_size, sizeof(header->ar_size));
        const uint8_t *bytes = tsm_view_take(&v, member_size);
        if (!bytes || memcmp(header->ar_fmag, ARFMAG, 2) != 0)
            return CUDA_ERROR_INVALID_IMAGE;
        if (member_size % 2)
            tsm_view_take(&v, 1);
        tsm_format(member, sizeof(member), "%s(%.*s)", name, (int)strcspn(header->ar_name, "/ "),
                   header->ar_name);
        if (!is_table(header))
            result = search_image(&inner, member, bytes, member_size);
    }
    return result;
}

/* ---- any of them ---- */

static bool is_text(const uint8_t *data, size_t size)
{
    for (size_t i = 0; i < size && i < 64; i++)
        if (data[i] < ' ' && !strchr("\t\n\v\f\r", data[i]))
            return false;
    return size > 0;
}

static CUresult search_image(const struct search *s, const char *name, const uint8_t *data,
                             size_t size)
{
    if (is_fatbin(data, size))
        return search_fatbin(s, name, data, size);
    if (size >= 4 && memcmp(data, "\177ELF", 4) == 0)
        return search_object(s, name, data, size);
    if (size >= SARMAG && memcmp(data, ARMAG, SARMAG) == 0)
        return search_archive(s, name, data, size);
    while (size && data[size - 1] == 0)
        size--;
    if (is_text(data, size))
        return s->add(s->user, name, (const char *)data, size);
    emu_log_line(s->log, "%s: neither PTX, a fat binary, an object nor an archive", name);
    return CUDA_ERROR_INVALID_IMAGE;
}

CUresult emu_link_texts(const char *name, CUjitInputType type, const void *data, size_t size,
                        struct ptx_log *log, emu_link_text add, void *user)
{
    struct search s = {.log = log, .add = add, .user = user};

    if (type == CU_JIT_INPUT_NVVM) {
        emu_log_line(log, "%s: NVVM IR; the software GPU links PTX", name);
        return CUDA_ERROR_NOT_SUPPORTED;
    }
    return search_image(&s, name, data, size);
}
