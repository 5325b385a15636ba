/* SPDX-License-Identifier: Apache-2.0 */
#include "api/vulkan/tables/png_file.h"

#include "base/output_file.h"
#include "base/text.h"
#include "tracesmith/error.h"

#include <errno.h>
#include <png.h>
#include <stdbool.h>
#include <stdio.h>

/* libpng comes back by longjmp when it fails: nothing here changes after setjmp. */
static bool encode(const struct png_picture *p, FILE *file, png_structp png, png_infop info)
{
    static const int types[] = {0, PNG_COLOR_TYPE_GRAY, 0, PNG_COLOR_TYPE_RGB, PNG_COLOR_TYPE_RGBA};
    size_t row = (size_t)p->width * p->channels * p->bits / 8;

    if (!png || !info || setjmp(png_jmpbuf(png)))
        return false;
    png_init_io(png, file);
    png_set_compression_level(png, 3);
    png_set_IHDR(png, info, p->width, p->height, (int)p->bits, types[p->channels],
                 PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_write_info(png, info);
    if (p->bits == 16)
        png_set_swap(png);
    for (uint32_t y = 0; y < p->height; y++)
        png_write_row(png, p->pixels + y * row);
    png_write_end(png, NULL);
    return true;
}

int png_file_write(const struct png_picture *picture, const char *path)
{
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
    png_infop info = png ? png_create_info_struct(png) : NULL;
    struct tsm_output_file out;
    int error = tsm_output_file_begin(&out, path);

    if (!error && !encode(picture, out.file, png, info)) {
        tsm_fail(TSM_E_IO, "%s: cannot be written: %s", path, tsm_errno_text(errno));
        error = tsm_output_file_end(&out, true);
    } else if (!error) {
        error = tsm_output_file_end(&out, false);
    }
    png_destroy_write_struct(&png, &info);
    return error;
}
