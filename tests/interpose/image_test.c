/* SPDX-License-Identifier: Apache-2.0
 *
 * Code objects: their sizes, and the parameters of the functions in them. The cubin is made here,
 * with the sections that matter.
 */
#include "api/cuda/image.h"

#include "base/bytes.h"
#include "tests/unit/check.h"

#include <elf.h>
#include <lz4.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

static char seen[4096];

static void add(const char *text, size_t size)
{
    size_t used = strlen(seen);

    if (used + size < sizeof(seen)) {
        memcpy(seen + used, text, size);
        seen[used + size] = '\0';
    }
}

static void write_down(void *context, const struct cuda_signature *signature)
{
    char text[32];

    add(signature->name, signature->name_size);
    add(":", 1);
    for (uint32_t i = 0; i < signature->count; i++)
        add(text, (size_t)snprintf(text, sizeof(text), " %u+%u", signature->params[i].offset,
                                   signature->params[i].size));
    add(";", 1);
}

static const char *functions_of(const void *data, uint64_t size)
{
    seen[0] = '\0';
    cuda_image_functions(data, size, write_down, NULL);
    return seen;
}

static void write_variable(void *context, const char *name, size_t name_size)
{
    add(name, name_size);
    add(";", 1);
}

static const char *variables_of(const void *data, uint64_t size)
{
    seen[0] = '\0';
    cuda_image_variables(data, size, write_variable, NULL);
    return seen;
}

/* ---- PTX ----------------------------------------------------------------------------------------
 */

static const char ptx[] = "// .entry not_this(.param .u32 x)\n"
                          ".version 6.0\n.target sm_70\n/* .entry nor_this() */\n"
                          ".visible .entry first(\n"
                          "\t.param .u64 .ptr .global .align 16 first_param_0,\n"
                          "\t.param .u8 first_param_1, .param .f64 first_param_2,\n"
                          "\t.param .align 8 .b8 first_param_3[16],\n"
                          "\t.param .u16 first_param_4\n)\n.maxntid 256, 1, 1\n{\n\tret;\n}\n"
                          ".func (.param .b32 r) helper(.param .b32 a) { ret; }\n"
                          ".entry second { ret; }\n"
                          ".weak .entry third(.param .v4 .f32 v, .param .b32 n)\n{\n}\n"
                          ".visible .global .align 4 .b8 table[64] = {1, 2};\n"
                          ".const .f32 factor;\n.extern .global .u32 elsewhere;\n"
                          ".global .texref picture;\n"
                          ".func user { .reg .u32 %r; ld .global .u32 %r, [table]; }\n"
                          ".weak .global .attribute(.managed) .v4 .f32 shared;\n";
static const char ptx_variables[] = "table;factor;shared;";

static const char ptx_functions[] = "first: 0+8 8+1 16+8 24+16 40+2;second:;third: 0+16 16+4;";

static void test_ptx(void)
{
    struct cuda_image image;

    CHECK(cuda_image_measure(ptx, &image));
    CHECK_EQ_INT(image.size, sizeof(ptx));
    CHECK(image.data == ptx);
    CHECK_EQ_STR(functions_of(ptx, sizeof(ptx)), ptx_functions);
    CHECK_EQ_STR(variables_of(ptx, sizeof(ptx)), ptx_variables);
    CHECK_EQ_STR(variables_of(".global .align", 14), "");
    CHECK_EQ_STR(functions_of(".entry open(.param .u32 a", 25), "");
    CHECK_EQ_STR(functions_of(".entry odd(.param .u32 a[99999999])", 35), "");
}

/* ---- cubin --------------------------------------------------------------------------------------
 */

static const char names[] = "\0.shstrtab\0.nv.info.kernel\0.text.kernel";
enum { NAME_TABLE = 1, NAME_INFO = 11, NAME_TEXT = 27, CUBIN_SIZE = 512, INFO_AT = 128 };

static void put_section(uint8_t *at, uint32_t name, uint32_t type, uint64_t offset, uint64_t size)
{
    tsm_put_u32(at + offsetof(Elf64_Shdr, sh_name), name);
    tsm_put_u32(at + offsetof(Elf64_Shdr, sh_type), type);
    tsm_put_u64(at + offsetof(Elf64_Shdr, sh_offset), offset);
    tsm_put_u64(at + offsetof(Elf64_Shdr, sh_size), size);
}

static uint8_t *put_param(uint8_t *at, unsigned ordinal, unsigned offset, unsigned size)
{
    tsm_put_u32(at, 0x000c1704); /* {4, 0x17, u16 12} */
    tsm_put_u32(at + 4, 0);
    tsm_put_u16(at + 8, (uint16_t)ordinal);
    tsm_put_u16(at + 10, (uint16_t)offset);
    tsm_put_u32(at + 12, size << 18 | 0x1f000);
    return at + 16;
}

static void make_cubin(uint8_t *out)
{
    uint8_t *end;

    memset(out, 0, CUBIN_SIZE);
    memcpy(out, ELFMAG, SELFMAG);
    out[EI_CLASS] = ELFCLASS64;
    out[EI_DATA] = ELFDATA2LSB;
    tsm_put_u64(out + offsetof(Elf64_Ehdr, e_shoff), 256);
    tsm_put_u16(out + offsetof(Elf64_Ehdr, e_shentsize), sizeof(Elf64_Shdr));
    tsm_put_u16(out + offsetof(Elf64_Ehdr, e_shnum), 4);
    tsm_put_u16(out + offsetof(Elf64_Ehdr, e_shstrndx), 1);
    memcpy(out + 64, names, sizeof(names));
    end = put_param(put_param(out + INFO_AT, 1, 8, 4), 0, 0, 8); /* last parameter first */
    put_section(out + 256 + 64, NAME_TABLE, SHT_STRTAB, 64, sizeof(names));
    put_section(out + 256 + 128, NAME_INFO, SHT_PROGBITS, INFO_AT, (uint64_t)(end - out) - INFO_AT);
    put_section(out + 256 + 192, NAME_TEXT, SHT_NOBITS, 1 << 20, 1 << 20);
}

static void test_cubin(void)
{
    uint8_t cubin[CUBIN_SIZE];
    struct cuda_image image;

    make_cubin(cubin);
    CHECK(cuda_image_measure(cubin, &image));
    CHECK_EQ_INT(image.size, CUBIN_SIZE);
    CHECK_EQ_STR(functions_of(cubin, sizeof(cubin)), "kernel: 0+8 8+4;");
}

/* A table of symbols, of which two are variables. */
static size_t make_variables(uint8_t out[1024])
{
    static const char sections[] = "\0.nv.global.init\0.nv.constant3\0.text.kernel";
    static const char texts[] = "\0here\0fixed\0kernel\0code";
    static const struct {
        uint32_t name;
        uint8_t type;
        uint16_t section;
    } symbols[] = {{1, STT_OBJECT, 2},
                   {6, STT_OBJECT, 3},
                   {12, STT_FUNC, 6},
                   {19, STT_OBJECT, 6},
                   {1000, STT_OBJECT, 2}};

    memset(out, 0, 1024);
    memcpy(out, ELFMAG, SELFMAG);
    out[EI_CLASS] = ELFCLASS64;
    out[EI_DATA] = ELFDATA2LSB;
    tsm_put_u64(out + offsetof(Elf64_Ehdr, e_shoff), 512);
    tsm_put_u16(out + offsetof(Elf64_Ehdr, e_shentsize), sizeof(Elf64_Shdr));
    tsm_put_u16(out + offsetof(Elf64_Ehdr, e_shnum), 7);
    tsm_put_u16(out + offsetof(Elf64_Ehdr, e_shstrndx), 1);
    memcpy(out + 64, sections, sizeof(sections));
    memcpy(out + 128, texts, sizeof(texts));
    for (size_t i = 0; i < 5; i++) {
        uint8_t *symbol = out + 192 + i * sizeof(Elf64_Sym);
        tsm_put_u32(symbol, symbols[i].name);
        symbol[offsetof(Elf64_Sym, st_info)] = ELF64_ST_INFO(STB_GLOBAL, symbols[i].type);
        tsm_put_u16(symbol + offsetof(Elf64_Sym, st_shndx), symbols[i].section);
    }
    put_section(out + 512 + 64, 0, SHT_STRTAB, 64, sizeof(sections));
    put_section(out + 512 + 128, 1, SHT_PROGBITS, 64, 4);
    put_section(out + 512 + 192, 17, SHT_PROGBITS, 64, 4);
    put_section(out + 512 + 256, 0, SHT_SYMTAB, 192, 5 * sizeof(Elf64_Sym));
    tsm_put_u32(out + 512 + 256 + offsetof(Elf64_Shdr, sh_link), 5);
    put_section(out + 512 + 320, 0, SHT_STRTAB, 128, sizeof(texts));
    put_section(out + 512 + 384, 32, SHT_PROGBITS, 64, 4);
    return 1024;
}

static void test_variables(void)
{
    uint8_t cubin[1024];
    size_t size = make_variables(cubin);

    CHECK_EQ_STR(variables_of(cubin, size), "here;fixed;");
    srand(2);
    for (int round = 0; round < 3000; round++) {
        size_t length = (size_t)rand() % (size + 1);
        uint8_t *bad = malloc(length ? length : 1);

        memcpy(bad, cubin, length);
        for (int i = 0; length && i < 1 + round % 8; i++)
            bad[(size_t)rand() % length] = (uint8_t)rand();
        variables_of(bad, length);
        free(bad);
    }
}

/* ---- fatbin -------------------------------------------------------------------------------------
 */

static size_t put_member(uint8_t *at, unsigned kind, const void *body, size_t packed,
                         size_t unpacked, unsigned flags)
{
    size_t padded = (packed + 7) & ~(size_t)7;

    memset(at, 0, 64 + padded);
    tsm_put_u16(at, (uint16_t)kind);
    tsm_put_u32(at + 4, 64);
    tsm_put_u64(at + 8, padded);
    tsm_put_u32(at + 16, (uint32_t)packed);
    tsm_put_u64(at + 40, flags);
    tsm_put_u64(at + 56, unpacked);
    memcpy(at + 64, body, packed);
    return 64 + padded;
}

static size_t make_fatbin(uint8_t *out)
{
    uint8_t cubin[CUBIN_SIZE], packed[4096];
    size_t size = 16;
    int lz4;

    make_cubin(cubin);
    size += put_member(out + size, 2, cubin, sizeof(cubin), 0, 0);
    lz4 = LZ4_compress_default(ptx, (char *)packed, sizeof(ptx), sizeof(packed));
    size += put_member(out + size, 1, packed, (size_t)lz4, sizeof(ptx), 0x2000);
    size += put_member(out + size, 2, packed,
                       ZSTD_compress(packed, sizeof(packed), cubin, sizeof(cubin), 3),
                       sizeof(cubin), 0x8000);
    tsm_put_u32(out, 0xba55ed50);
    tsm_put_u16(out + 4, 1);
    tsm_put_u16(out + 6, 16);
    tsm_put_u64(out + 8, size - 16);
    return size;
}

static void test_fatbin(void)
{
    static uint8_t fatbin[16384];
    size_t size = make_fatbin(fatbin);
    struct {
        uint32_t magic, version;
        const void *data;
        void *more;
    } wrapper = {0x466243b1, 1, fatbin, NULL};
    struct cuda_image image;
    char expected[256];

    CHECK(cuda_image_measure(&wrapper, &image));
    CHECK(image.data == fatbin);
    CHECK_EQ_INT(image.size, size);
    snprintf(expected, sizeof(expected), "kernel: 0+8 8+4;%skernel: 0+8 8+4;", ptx_functions);
    CHECK_EQ_STR(functions_of(fatbin, size), expected);
    CHECK_EQ_STR(variables_of(fatbin, size), ptx_variables);
}

/* ---- what is none of these
 * ------------------------------------------------------------------------ */

static void test_unknown(void)
{
    static const char text[] = "hello, this is no program";
    struct cuda_image image;

    CHECK(!cuda_image_measure(NULL, &image));
    CHECK(!cuda_image_measure(text, &image));
}

/* Sizes that an image states are believed by drivers: each must lie within what there is of it. */
static void test_whole(void)
{
    static uint8_t fatbin[16384];
    uint8_t cubin[CUBIN_SIZE], wrapper[16] = "\xb1\x43\x62\x46";
    size_t size = make_fatbin(fatbin);

    make_cubin(cubin);
    CHECK(cuda_image_is_whole(fatbin, size));
    CHECK(cuda_image_is_whole(cubin, sizeof(cubin)));
    CHECK(cuda_image_is_whole(ptx, sizeof(ptx)));
    CHECK(cuda_image_is_whole("", 0));
    CHECK(!cuda_image_is_whole(wrapper, sizeof(wrapper)));
    for (size_t cut = 4; cut < size; cut += 61)
        CHECK(!cuda_image_is_whole(fatbin, cut));
    tsm_put_u64(fatbin + 8, size - 15);
    CHECK(!cuda_image_is_whole(fatbin, size));
    tsm_put_u64(fatbin + 8, size - 16);
    tsm_put_u64(fatbin + 16 + 8, size); /* a member's */
    CHECK(!cuda_image_is_whole(fatbin, size));
    tsm_put_u64(cubin + 40, UINT64_MAX - 100); /* the section table's place */
    CHECK(!cuda_image_is_whole(cubin, sizeof(cubin)));
}

/* Anything may be wrong with an image; a sanitizer says whether we leave it. */
static void test_damage(void)
{
    static uint8_t good[16384];
    size_t size = make_fatbin(good);

    srand(1);
    for (int round = 0; round < 3000; round++) {
        size_t length = (size_t)rand() % (size + 1);
        uint8_t *bad = malloc(length ? length : 1);

        memcpy(bad, good, length);
        for (int i = 0; length && i < 1 + round % 8; i++)
            bad[(size_t)rand() % length] = (uint8_t)rand();
        functions_of(bad, length);
        variables_of(bad, length);
        if (length > 16 + 64)
            functions_of(bad + 16 + 64, length - 16 - 64); /* the cubin in front */
        free(bad);
    }
}

int main(void)
{
    test_ptx();
    test_cubin();
    test_variables();
    test_fatbin();
    test_unknown();
    test_whole();
    test_damage();
    return check_result();
}
