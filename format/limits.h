/* SPDX-License-Identifier: Apache-2.0
 *
 * The limits of the trace format, as docs/FORMAT.md states them. A writer keeps below them, a
 * reader refuses what is above, so that no length in a file can make it allocate without bound.
 */
#ifndef FORMAT_LIMITS_H
#define FORMAT_LIMITS_H

#define SBT_CHUNK_RAW_MAX (64u << 20) /* bytes of a payload before compression */
#define SBT_CHUNK_ROWS_MAX                                                                         \
    (64u << 20) /* bytes of the rows of one EVENTS chunk, see SBT_ROW_SIZE                         \
                 */
/* Default zstd levels of a writer. */
#define SBT_LEVEL_EVENTS      (-1)
#define SBT_LEVEL_OTHERS      1
#define SBT_CHUNK_SIZE        (1u << 20) /* what a writer aims at */
#define SBT_TABLE_RATIO_MAX   64u /* raw : stored size of a chunk whose content stays loaded */
#define SBT_RECORD_DATA_MAX   (32u << 20) /* variable bytes of one record */
#define SBT_TURNED_MAX        512u /* data areas up to here are stored byte by byte */
#define SBT_NAME_MAX          255u        /* names of schemas, fields, value tables, values */
#define SBT_TEXT_MAX          (1u << 20)  /* interned strings, metadata values, paths */
#define SBT_BUILD_ID_MAX      64u
#define SBT_ENUM_VALUES_MAX   65536u
#define SBT_STRUCT_MEMBERS_MAX 4096u
#define SBT_HEADER_LENGTH_MAX 4096u /* file header */
#define SBT_CHUNK_NUMBER_MAX  0x7fffffffu

/* Limits on the unpacked size of all chunks, with records as rows: this many bytes, or this many
 * times the trace's size. Traces of this project's writer stay far below: a piece costs 40 bytes, a
 * MiB of rows some 300. */
#define SBT_UNPACKED_FREE  ((uint64_t)256 << 20)
#define SBT_UNPACKED_RATIO 4096u
/* ... and on the number of its records, each of which takes time whatever it unpacks to: so many,
 * or so many for each byte. Times of calls differ, so that a recorder's record takes more than a
 * byte. */
#define SBT_RECORDS_FREE  ((uint64_t)2 << 20)
#define SBT_RECORDS_RATIO 2u

/* Bytes that a decoded record takes: what the row limit counts. */
#define SBT_ROW_FIXED                  64u
#define SBT_ROW_SIZE(slots, data_size) (SBT_ROW_FIXED + 8 * (uint64_t)(slots) + (data_size))

/* File bytes between two leaves of the index. */
#define SBT_INDEX_INTERVAL (64u << 20)
/* A leaf comes earlier after so many chunks, or when a PIECES chunk has so many bytes: neither must
 * outgrow a chunk. */
#define SBT_INDEX_CHUNKS 16384u
#define SBT_INDEX_PIECES (8u << 20)

#endif
