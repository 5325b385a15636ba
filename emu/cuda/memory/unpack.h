/* SPDX-License-Identifier: Apache-2.0
 *
 * Formats of compressed bytes that a device unpacks: Deflate (RFC 1951, without the headers of zlib
 * and gzip), Snappy (google/snappy, format_description.txt, the raw form), and blocks of LZ4.
 */
#ifndef EMU_CUDA_MEMORY_UNPACK_H
#define EMU_CUDA_MEMORY_UNPACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Unpack `size` bytes into `room` bytes at `out`, which are not among them; *written: how many
 * there are. False: they are damaged, or need more room. */
bool emu_unpack_deflate(const uint8_t *bytes, size_t size, uint8_t *out, size_t room,
                        size_t *written);
bool emu_unpack_snappy(const uint8_t *bytes, size_t size, uint8_t *out, size_t room,
                       size_t *written);

#endif
