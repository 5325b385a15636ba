/* SPDX-License-Identifier: Apache-2.0
 *
 * Sections of ELF files: what is read of a whole one, of each beginning of it, and of headers that
 * lie.
 */
#include "base/elf_file.h"
#include "base/bytes.h"
#include "tests/unit/check.h"

#include <elf.h>
#include <stdlib.h>

#define TABLE 96u /* offset of the section table */
#define COUNT 3u

/* Places an image where every byte beyond its end is not ours: sanitizers see a read of it. */
static uint8_t *copy(const uint8_t *image, size_t size)
{
    uint8_t *end = malloc(size + !size);

    if (end)
        memcpy(end, image, size);
    return end;
}

static void put_section(uint8_t *at, uint32_t type, uint64_t offset, uint64_t size)
{
    tsm_put_u32(at + offsetof(Elf64_Shdr, sh_name), 7);
    tsm_put_u32(at + offsetof(Elf64_Shdr, sh_type), type);
    tsm_put_u32(at + offsetof(Elf64_Shdr, sh_link), 2);
    tsm_put_u64(at + offsetof(Elf64_Shdr, sh_offset), offset);
    tsm_put_u64(at + offsetof(Elf64_Shdr, sh_size), size);
}

/* Three sections, entries of `entry_size` bytes. Returns the image's size. */
static size_t make(uint8_t *image, size_t entry_size)
{
    memset(image, 0, 1024);
    memcpy(image, ELFMAG, SELFMAG);
    image[EI_CLASS] = ELFCLASS64;
    image[EI_DATA] = ELFDATA2LSB;
    tsm_put_u64(image + offsetof(Elf64_Ehdr, e_shoff), TABLE);
    tsm_put_u16(image + offsetof(Elf64_Ehdr, e_shentsize), (uint16_t)entry_size);
    tsm_put_u16(image + offsetof(Elf64_Ehdr, e_shnum), COUNT);
    tsm_put_u16(image + offsetof(Elf64_Ehdr, e_shstrndx), 1);
    put_section(image + TABLE + entry_size, SHT_STRTAB, 64, 32);
    put_section(image + TABLE + 2 * entry_size, SHT_NOBITS, 0, 1u << 30);
    return TABLE + COUNT * entry_size;
}

static void test_whole(size_t entry_size)
{
    struct tsm_elf_section section;
    struct tsm_elf_file file;
    uint8_t image[1024];
    size_t size = make(image, entry_size);

    CHECK(tsm_elf_file_open(&file, image, size));
    CHECK_EQ_INT(file.table, TABLE);
    CHECK_EQ_INT(file.entry_size, entry_size);
    CHECK_EQ_INT(file.section_count, COUNT);
    CHECK_EQ_INT(file.names, 1);
    CHECK(tsm_elf_file_section(&file, 1, &section));
    CHECK_EQ_INT(section.name, 7);
    CHECK_EQ_INT(section.type, SHT_STRTAB);
    CHECK_EQ_INT(section.link, 2);
    CHECK(tsm_elf_file_bytes(&file, &section) == image + 64);
    CHECK(tsm_elf_file_section(&file, 2, &section));
    CHECK(tsm_elf_file_bytes(&file, &section) == NULL);
    CHECK(!tsm_elf_file_section(&file, COUNT, &section));
}

/* Each beginning of it has the sections whose entries are all there, and no others. */
static void test_beginnings(void)
{
    struct tsm_elf_section section;
    struct tsm_elf_file file;
    uint8_t image[1024];
    size_t size = make(image, sizeof(Elf64_Shdr));

    for (size_t left = 0; left <= size; left++) {
        uint8_t *part = copy(image, left);
        if (!CHECK(part != NULL))
            return;
        CHECK_EQ_INT(tsm_elf_file_open(&file, part, left), left >= sizeof(Elf64_Ehdr));
        for (uint32_t i = 0; left >= sizeof(Elf64_Ehdr) && i < COUNT; i++)
            CHECK_EQ_INT(tsm_elf_file_section(&file, i, &section),
                         left >= TABLE + (i + 1) * sizeof(Elf64_Shdr));
        free(part);
    }
}

static void test_lies(void)
{
    struct tsm_elf_section section = {.type = SHT_PROGBITS};
    struct tsm_elf_file file;
    uint8_t image[1024];
    size_t size = make(image, sizeof(Elf64_Shdr));

    image[EI_DATA] = ELFDATA2MSB;
    CHECK(!tsm_elf_file_open(&file, image, size));
    make(image, sizeof(Elf64_Shdr) - 1);
    CHECK(tsm_elf_file_open(&file, image, size));
    CHECK(!tsm_elf_file_section(&file, 0, &section));
    /* A table that would begin again at the file's begin. */
    make(image, sizeof(Elf64_Shdr));
    tsm_put_u64(image + offsetof(Elf64_Ehdr, e_shoff), UINT64_MAX - 63);
    CHECK(tsm_elf_file_open(&file, image, size));
    for (uint32_t i = 0; i < COUNT; i++)
        CHECK(!tsm_elf_file_section(&file, i, &section));
    /* Contents that begin or end outside. */
    section = (struct tsm_elf_section){.type = SHT_PROGBITS, .offset = size, .size = 0};
    CHECK(tsm_elf_file_bytes(&file, &section) == image + size);
    section.size = 1;
    CHECK(tsm_elf_file_bytes(&file, &section) == NULL);
    section = (struct tsm_elf_section){.type = SHT_PROGBITS, .offset = 8, .size = UINT64_MAX};
    CHECK(tsm_elf_file_bytes(&file, &section) == NULL);
    section = (struct tsm_elf_section){.type = SHT_PROGBITS, .offset = UINT64_MAX, .size = 2};
    CHECK(tsm_elf_file_bytes(&file, &section) == NULL);
}

int main(void)
{
    test_whole(sizeof(Elf64_Shdr));
    test_whole(sizeof(Elf64_Shdr) + 24);
    test_beginnings();
    test_lies();
    return check_result();
}
