/* SPDX-License-Identifier: Apache-2.0
 *
 * The linker's cache of libraries, as files made here: with and without an old table in front, cut
 * short, and with offsets that lead out of it. Argument: a folder to write in.
 */
#include "interpose/elf_search.h"

#include "base/bytes.h"
#include "tests/unit/check.h"

#include <stdlib.h>

enum { NEW_HEADER = 48, NEW_ENTRY = 24, OLD_HEADER = 16, OLD_ENTRY = 12 };

static const char texts[] = "libcuda.so.1\0/opt/one/libcuda.so.1\0/opt/two/libcuda.so.1";
enum { TEXT_NAME = 0, TEXT_ONE = 13, TEXT_TWO = 35 };

static char path[4096];

static void put_entry(uint8_t *at, uint32_t flags, uint32_t name, uint32_t value, uint64_t hwcap)
{
    tsm_put_u32(at, flags);
    tsm_put_u32(at + 4, name);
    tsm_put_u32(at + 8, value);
    tsm_put_u64(at + 16, hwcap);
}

/* A table with one library of another machine, one for newer processors, and the one wanted. */
static size_t make_table(uint8_t *out)
{
    uint32_t at = NEW_HEADER + 3 * NEW_ENTRY;

    memset(out, 0, at);
    memcpy(out, "glibc-ld.so.cache1.1", 20);
    tsm_put_u32(out + 20, 3);
    put_entry(out + NEW_HEADER, 0x0803, at + TEXT_NAME, at + TEXT_TWO, 0);
    put_entry(out + NEW_HEADER + NEW_ENTRY, 0x0303, at + TEXT_NAME, at + TEXT_TWO, 1ull << 62);
    put_entry(out + NEW_HEADER + 2 * NEW_ENTRY, 0x0303, at + TEXT_NAME, at + TEXT_ONE, 0);
    memcpy(out + at, texts, sizeof(texts));
    return at + sizeof(texts);
}

static bool find_in(const uint8_t *data, size_t size, char *found)
{
    FILE *file = fopen(path, "w");

    if (!file || fwrite(data, 1, size, file) != size || fclose(file) != 0)
        exit(1);
    return tsm_elf_cache_find(path, "libcuda.so.1", found, 64);
}

int main(int argc, char **argv)
{
    uint8_t cache[1024] = {0};
    char found[64];
    size_t size;

    snprintf(path, sizeof(path), "%s/cache", argc > 1 ? argv[1] : "/tmp");
    CHECK(!tsm_elf_cache_find("/nonexistent", "libcuda.so.1", found, sizeof(found)));

    size = make_table(cache);
    CHECK(find_in(cache, size, found));
    CHECK_EQ_STR(found, "/opt/one/libcuda.so.1");
    CHECK(!tsm_elf_cache_find(path, "libother.so", found, sizeof(found)));
    CHECK(!tsm_elf_cache_find(path, "libcuda.so.1", found, 4));
    for (size_t cut = 0; cut + 1 < NEW_HEADER + 3 * NEW_ENTRY + TEXT_TWO; cut++)
        CHECK(!find_in(cache, cut, found));
    tsm_put_u32(cache + NEW_HEADER + 2 * NEW_ENTRY + 8, 0xfffffff0u);
    CHECK(!find_in(cache, size, found));

    /* An old table with one entry in front; the new one follows at a multiple of 8. */
    memset(cache, 0, sizeof(cache));
    memcpy(cache, "ld.so-1.7.0", 12);
    tsm_put_u32(cache + 12, 1);
    size = make_table(cache + OLD_HEADER + OLD_ENTRY + 4);
    CHECK(find_in(cache, OLD_HEADER + OLD_ENTRY + 4 + size, found));
    CHECK_EQ_STR(found, "/opt/one/libcuda.so.1");
    remove(path);
    return check_result();
}
