/* SPDX-License-Identifier: Apache-2.0
 *
 * A picture as a PNG file, by libpng.
 */
#ifndef API_VULKAN_TABLES_PNG_FILE_H
#define API_VULKAN_TABLES_PNG_FILE_H

#include <stdint.h>

struct png_picture {
    uint32_t width, height;
    uint32_t channels;     /* 1 grey, 3 RGB, 4 RGBA */
    uint32_t bits;         /* of a channel: 8, or 16 in the order of this machine */
    const uint8_t *pixels; /* rows without gaps, top first */
};

/* TSM_E_IO with the file's name. */
int png_file_write(const struct png_picture *picture, const char *path);

#endif
