/* SPDX-License-Identifier: Apache-2.0
 *
 * PTX comes out of every kind of image, the best of several, and damaged ones are refused. The
 * images are built here, field by field.
 */
#include <lz4.h>
#include <stdlib.h>
#include <zstd.h>

#include "emu/cuda/module/fatbin.h"
#include "tests/emu/emu_fatbin.h"
#include "tests/unit/check.h"

static const char text[] =
    ".version 7.0\n.target sm_75\n.address_size 64\n// aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n";

static void expect_text(const void *image, const char *wanted)
{
    struct emu_text got;

    if (!CHECK_EQ_INT(emu_image_text(&got, image, 75, NULL), CUDA_SUCCESS))
        return;
    CHECK_EQ_INT(got.size, strlen(wanted));
    CHECK_EQ_MEM(got.text, wanted, strlen(wanted));
    emu_text_finish(&got);
}

static void packed(struct tsm_buffer *b)
{
    char data[512];
    uint64_t wrapper[3] = {0};
    size_t size = ZSTD_compress(data, sizeof(data), text, sizeof(text), 1);

    fatbin_begin(b);
    fatbin_add(b, 1, 75, 0x8000, data, size, sizeof(text));
    expect_text(fatbin_end(b), text);
    tsm_put_u32((uint8_t *)wrapper, 0x466243b1);
    wrapper[1] = (uintptr_t)b->data;
    expect_text(wrapper, text);

    size = (size_t)LZ4_compress_default(text, data, sizeof(text), sizeof(data));
    fatbin_begin(b);
    fatbin_add(b, 1, 75, 0x2000, data, size, sizeof(text));
    expect_text(fatbin_end(b), text);
}

static void choice(struct tsm_buffer *b)
{
    fatbin_begin(b);
    fatbin_add(b, 1, 52, 0, "old", 4, 0);
    fatbin_add(b, 2, 75, 0, "code", 5, 0);
    fatbin_add(b, 1, 75, 0, "best", 5, 0);
    fatbin_add(b, 1, 90, 0, "too new", 8, 0);
    expect_text(fatbin_end(b), "best");
}

static void refused(struct tsm_buffer *b)
{
    static const char elf[64] = "\177ELF\2\1\1"; /* a header, but for its fields */
    char line[128] = "";
    struct ptx_log log = {.text = line, .size = sizeof(line)};
    struct emu_text got;

    CHECK_EQ_INT(emu_image_text(&got, elf, 75, NULL), CUDA_ERROR_NO_BINARY_FOR_GPU);
    fatbin_begin(b);
    fatbin_add(b, 2, 80, 0, "code", 5, 0);
    CHECK_EQ_INT(emu_image_text(&got, fatbin_end(b), 75, &log), CUDA_ERROR_NO_BINARY_FOR_GPU);
    CHECK(strstr(line, "sm_80"));
    fatbin_begin(b);
    fatbin_add(b, 1, 75, 0x8000, "not a zstd frame", 16, 100);
    CHECK_EQ_INT(emu_image_text(&got, fatbin_end(b), 75, NULL), CUDA_ERROR_INVALID_IMAGE);
    fatbin_begin(b);
    fatbin_add(b, 1, 75, 0, "size beyond the image", 21, 0);
    tsm_put_u64(b->data + 16 + 8, 1000);
    CHECK_EQ_INT(emu_image_text(&got, fatbin_end(b), 75, NULL), CUDA_ERROR_INVALID_IMAGE);
    CHECK_EQ_INT(emu_image_text(&got, "\1\2\3\4\5\6\7\10\11", 75, NULL), CUDA_ERROR_INVALID_IMAGE);
}

/* Files have a known size: an image that claims to be longer is refused before it is read. */
static void files(struct tsm_buffer *b)
{
    uint8_t elf[64] = "\177ELF\2\1\1\63";

    fatbin_begin(b);
    fatbin_add(b, 1, 75, 0, "text", 5, 0);
    fatbin_end(b);
    CHECK(emu_image_fits(b->data, b->size));
    CHECK(!emu_image_fits(b->data, b->size - 1));
    tsm_put_u64(b->data + 8, UINT64_MAX - 8);
    CHECK(!emu_image_fits(b->data, b->size));
    tsm_put_u64(b->data + 8, 1 << 20);
    CHECK(!emu_image_fits(b->data, b->size));
    CHECK(!emu_image_fits("\xb1\x43\x62\x46\1\0\0\0\0\0\0\0\0\0\0", 16));
    CHECK(emu_image_fits(elf, sizeof(elf)));
    CHECK(!emu_image_fits(elf, 40));
    tsm_put_u64(elf + 40, 1 << 20);
    tsm_put_u16(elf + 58, 64);
    tsm_put_u16(elf + 60, 1);
    CHECK(!emu_image_fits(elf, sizeof(elf)));
}

/* Machine code is refused by the names of its kernels. */
static void kernels(void)
{
    static const char names[] = "\0.shstrtab\0.text.alpha\0.text.beta";
    uint8_t elf[64 + 4 * 64 + sizeof(names)] = "\177ELF\2\1\1\63";
    static const unsigned name_at[] = {0, 11, 23, 1};
    struct emu_text got;
    char log[256] = "";

    tsm_put_u16(elf + 18, 190);
    tsm_put_u64(elf + 40, 64);
    tsm_put_u16(elf + 58, 64);
    tsm_put_u16(elf + 60, 4);
    tsm_put_u16(elf + 62, 3);
    for (unsigned i = 0; i < 4; i++)
        tsm_put_u32(elf + 64 + i * 64, name_at[i]);
    tsm_put_u64(elf + 64 + 3 * 64 + 24, 64 + 4 * 64);
    tsm_put_u64(elf + 64 + 3 * 64 + 32, sizeof(names));
    memcpy(elf + 64 + 4 * 64, names, sizeof(names));
    CHECK_EQ_INT(emu_image_text(&got, elf, 75, &(struct ptx_log){.text = log, .size = sizeof(log)}),
                 CUDA_ERROR_NO_BINARY_FOR_GPU);
    CHECK(strstr(log, "alpha, beta"));
}

int main(void)
{
    struct tsm_buffer b = {0};

    expect_text(text, text);
    packed(&b);
    choice(&b);
    refused(&b);
    files(&b);
    tsm_buffer_finish(&b);
    kernels();
    return check_result();
}
