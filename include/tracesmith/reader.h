/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads a trace, from a file or from anything seekable. Input is hostile until proven otherwise:
 * every length is checked, nothing is allocated by the file's word alone (at most
 * SBT_READER_MEMORY_FACTOR times the file's size plus a constant, see docs/FORMAT.md), what cannot
 * be understood is skipped and counted, what is damaged is said.
 *
 * Threads: a reader may be shared by threads once open; a cursor belongs to one thread at a time.
 * Pointers that a reader returns live as long as it; those of a record until its cursor moves.
 */
#ifndef TRACESMITH_READER_H
#define TRACESMITH_READER_H

#include "tracesmith/error.h"
#include "tracesmith/trace.h"

#include <sys/uio.h>

#ifdef __cplusplus
extern "C" {
#endif

struct sbt_reader;
struct sbt_structs;

#define SBT_READER_MEMORY_FACTOR 1024 /* worst case of a hostile file; docs/FORMAT.md section 13 */

/* "A readable, seekable thing": tests and fuzzers feed memory through the same door as files. */
struct sbt_source {
    /* Read up to `size` bytes at `offset`. Returns the count, 0 at the end, negative tsm_error. Must
     * be safe from several threads at once. */
    int64_t (*read_at)(void *user, uint64_t offset, void *out, size_t size);
    uint64_t (*size)(void *user);
    void (*close)(void *user); /* may be NULL */
    void *user;
    /* Reads like read_at, into `count` buffers one after the other, from adjacent bytes of the
     * source. NULL: the reader calls read_at for each. */
    int64_t (*read_scattered)(void *user, uint64_t offset, const struct iovec *to, int count);
};

/* Lets this process open traces, too, that unpack to more than 256 MiB and 4096 times their size: it may
 * take that much longer. They are refused otherwise. Call it before any is opened. */
void sbt_reader_be_patient(bool patient);

/* Open: reads header, trailer and index only; without a trailer it scans the chunk headers and
 * rebuilds the index in memory (see sbt_reader_damage). `name` is for messages. On failure the
 * source is closed. */
int sbt_reader_open(struct sbt_reader **out, const char *path);
int sbt_reader_open_source(struct sbt_reader **out, const struct sbt_source *source,
                           const char *name);
void sbt_reader_destroy(struct sbt_reader *r);

const char *sbt_reader_name(const struct sbt_reader *r);
const struct sbt_session *sbt_reader_session(const struct sbt_reader *r);
const struct sbt_totals *sbt_reader_totals(const struct sbt_reader *r);
enum sbt_end sbt_reader_end(const struct sbt_reader *r);

/* Returns the number of lines that describe damage of the file, one fault each, in file order. 0:
 * none is known. The list grows when reading finds more. */
size_t sbt_reader_damage_count(const struct sbt_reader *r);
const char *sbt_reader_damage(const struct sbt_reader *r, size_t index);

/* Counts of records and chunks that were recorded and cannot be read. Losses of capture itself are
 * in the totals. */
struct sbt_missing {
    uint64_t record_count; /* records in chunks that are damaged or not there, at least */
    uint64_t chunk_count;  /* other chunks (bytes, texts, descriptions), damaged or not there */
    bool end;              /* what was recorded last may be missing: the trace has no trailer, or
                              one that a repair wrote for want of another */
    uint64_t first_seq;    /* number of the first record that is missing, or may be; UINT64_MAX: none
                              is */
};

/* Tells what is missing, as far as it is known by now, of records before `seq_end` (0: of all). Gaps
 * are known from the beginning; damage when its chunk was read, or by sbt_reader_examine(). A trace of
 * which something is missing must not be called the same as anything. */
void sbt_reader_missing(struct sbt_reader *r, uint64_t seq_end, struct sbt_missing *out);

/* Reads every chunk that was not read yet, and compares it with its checksum: sbt_reader_missing()
 * and the list of damage are complete then. Takes as long as reading the file does. */
int sbt_reader_examine(struct sbt_reader *r);

/* The same of all chunks but those of bytes (BLOBS): they are small, and what is damaged there may matter
 * to nothing that was read. A piece is checked whenever it is read. */
int sbt_reader_examine_tables(struct sbt_reader *r);

/* Metadata in file order, later values having replaced earlier ones. */
size_t sbt_reader_metadata_count(const struct sbt_reader *r);
void sbt_reader_metadata(const struct sbt_reader *r, size_t index, const char **name,
                         const char **value);
/* NULL when absent. */
const char *sbt_reader_metadata_find(const struct sbt_reader *r, const char *name);

/* NULL when the trace has none for `type`. */
const struct sbt_schema *sbt_reader_schema(const struct sbt_reader *r, uint32_t type);
size_t sbt_reader_schema_count(const struct sbt_reader *r);
const struct sbt_schema *sbt_reader_schema_at(const struct sbt_reader *r, size_t index);

/* Name of a value in a table, NULL when unknown. */
const char *sbt_reader_enum_name(const struct sbt_reader *r, const char *table, int64_t value);
const struct sbt_enum *sbt_reader_enum(const struct sbt_reader *r, const char *table);

/* Returns the description of a struct by its name; NULL when the trace has none. */
const struct sbt_struct *sbt_reader_struct(const struct sbt_reader *r, const char *name);
const struct sbt_struct *sbt_reader_struct_by_id(const struct sbt_reader *r, uint32_t id);
size_t sbt_reader_struct_count(const struct sbt_reader *r);
const struct sbt_struct *sbt_reader_struct_at(const struct sbt_reader *r, size_t index);

/* "" for id 0; NULL when unknown. Strings may contain NUL only as terminator. */
const char *sbt_reader_string(struct sbt_reader *r, uint32_t id);

/* Number of frames (0 for id 0), or TSM_E_NOT_FOUND. */
int sbt_reader_stack(struct sbt_reader *r, uint32_t id, const uint64_t **frames);

size_t sbt_reader_mapping_count(struct sbt_reader *r);
const struct sbt_mapping *sbt_reader_mapping(struct sbt_reader *r, size_t index);

/* Whole checkpoints, ascending by seq. One that a crash interrupted is not among them. */
size_t sbt_reader_checkpoint_count(struct sbt_reader *r);
const struct sbt_checkpoint *sbt_reader_checkpoint(struct sbt_reader *r, size_t index);

/* The `index`-th chunk of what the kernel module recorded: *out is malloc'ed and holds `size` bytes of
 * sound records (kernel/include/grtrace.h). TSM_E_CHECKSUM: the chunk is damaged, which is said; the next one may
 * be read. TSM_E_NOT_FOUND, without a message, past the last. */
int sbt_reader_kernel_events(struct sbt_reader *r, size_t index, uint8_t **out, size_t *size);

/* The bytes of a piece into out[SBT_PIECE_SIZE], checked against the key. Returns their count. */
int sbt_reader_piece(struct sbt_reader *r, const struct sbt_key *key, uint8_t *out);

/* A piece, and where its first `size` bytes (at most SBT_PIECE_SIZE) are to go. */
struct sbt_fetch {
    struct sbt_key key;
    uint8_t *out;
    uint32_t size;
};

/* Many pieces, each checked against its key; those that lie side by side in the file are read at once,
 * each to its own place. Those places must not overlap. On failure *failed is the place in the list of
 * the piece that the error is about, and others may not have been read. Of no piece (count 0): where all
 * of them lie is read, which otherwise the first call does. */
int sbt_reader_fetch(struct sbt_reader *r, const struct sbt_fetch *list, size_t count,
                     size_t *failed);

/* `size` bytes from `offset` of a blob; both must lie inside it. */
int sbt_reader_blob(struct sbt_reader *r, const struct sbt_blob *blob, uint64_t offset, void *out,
                    size_t size);

/* ---- structured values --------------------------------------------------------------------- */

/* The bytes of a value, wherever the record keeps them. */
struct sbt_value {
    const uint8_t *data;
    size_t size;
    uint8_t *memory; /* what was allocated for it, or NULL */
};

/* The value in slot `index` of a record, which must live as long. 1: there is one. 0: there is
 * none. TSM_E_FORMAT: malformed. TSM_E_NOT_FOUND: it is kept in a blob of which bytes are missing;
 * out->size is then its size. Finish in any case. */
int sbt_reader_value(struct sbt_reader *r, const struct sbt_record *record, uint32_t index,
                     struct sbt_value *out);
void sbt_value_finish(struct sbt_value *value);

/* Kinds of steps of a walk through a value. */
enum sbt_step_kind {
    SBT_STEP_VALUE = 1, /* a number, a text, bytes, or a list that is not there */
    SBT_STEP_OPEN = 2,  /* a struct, a list or a chain begins; its parts follow, then its CLOSE */
    SBT_STEP_CLOSE = 3,
    SBT_STEP_UNKNOWN = 4, /* an element of a chain whose struct the trace does not describe */
};

enum sbt_shape {
    SBT_SHAPE_STRUCT = 0,
    SBT_SHAPE_LIST = 1,
    SBT_SHAPE_CHAIN = 2,
};

#define SBT_STEP_MEMBER UINT64_MAX /* index of what is in no list */

struct sbt_step {
    enum sbt_step_kind kind;
    enum sbt_shape shape;               /* OPEN, CLOSE */
    uint32_t depth;                     /* in how many structs, lists and chains it is */
    const struct sbt_member *member;    /* that it is, or is a part of; NULL: the whole value */
    uint64_t index;                     /* in its list or chain, from 0; SBT_STEP_MEMBER: in none */
    const struct sbt_struct *structure; /* OPEN, CLOSE of a struct; otherwise NULL */
    bool none;                          /* VALUE: a list, text or bytes that is not there at all */
    uint64_t number;     /* VALUE: as a slot would hold it; OPEN of a list: its length;
                            UNKNOWN: the struct's id */
    const uint8_t *data; /* STRING (without terminator), BYTES, UNKNOWN */
    size_t size;
};

/* Goes through a value from front to back. On the caller's stack; content is the library's own. It
 * allocates nothing, and takes no more steps than a small multiple of the value's bytes. */
struct sbt_walk {
    const struct sbt_structs *structs;
    const uint8_t *at;
    uint32_t depth;
    int state;
    struct sbt_walk_frame {
        const struct sbt_struct *structure;
        const struct sbt_member *member;
        const uint8_t *start, *end;
        uint64_t index;
        uint64_t next, count;
        enum sbt_shape shape;
        bool may_be_empty;
    } frames[SBT_VALUE_DEPTH_MAX];
};

/* Begin with the `size` bytes of a value of struct `name`. TSM_E_NOT_FOUND: the trace has no such.
 * The bytes must live as long as the walk. */
int sbt_walk_begin(struct sbt_walk *walk, const struct sbt_reader *r, const char *name,
                   const void *data, size_t size);

/* 1 and *out set; 0 at the end, when every byte was as it has to be; TSM_E_FORMAT from there on
 * when the value is malformed. */
int sbt_walk_next(struct sbt_walk *walk, struct sbt_step *out);

/* ---- cursors ------------------------------------------------------------------------------ */

/* Which records. Zeroed: all of them. Ranges are half open. */
struct sbt_filter {
    const uint32_t *streams; /* NULL: every stream and none; SBT_STREAM_NONE may be listed */
    size_t stream_count;
    uint64_t seq_first, seq_end;         /* seq_end 0: no bound */
    uint64_t time_first_ns, time_end_ns; /* time_end_ns 0: no bound */
};

struct sbt_cursor;

/* `threads` > 0 decodes that many chunks ahead, in parallel; 1 only where there is enough to decode. The
 * filter is copied. */
int sbt_cursor_create(struct sbt_cursor **out, struct sbt_reader *r,
                      const struct sbt_filter *filter, unsigned threads);
void sbt_cursor_destroy(struct sbt_cursor *c);

/* 1 and *out set; 0 at the end; negative on an error that cannot be skipped. Damaged chunks are
 * skipped and reported by sbt_reader_damage. */
int sbt_cursor_next(struct sbt_cursor *c, const struct sbt_record **out);
int sbt_cursor_previous(struct sbt_cursor *c, const struct sbt_record **out);

/* The next call of next() gives the first record with seq >= `seq`, previous() the last before. */
int sbt_cursor_seek(struct sbt_cursor *c, uint64_t seq);

/* ---- the file itself ---------------------------------------------------------------------- */

struct sbt_chunk_info {
    uint64_t offset;
    uint32_t type;    /* see docs/FORMAT.md */
    uint32_t codec;
    uint64_t raw_size, stored_size;
    uint64_t first_seq, last_seq;
    uint64_t first_time_ns, last_time_ns;
    uint64_t stream_set;
    uint64_t record_count;
};

size_t sbt_reader_chunk_count(const struct sbt_reader *r);
const struct sbt_chunk_info *sbt_reader_chunk(const struct sbt_reader *r, size_t index);

/* Chunks of types that a newer minor version has added; they were skipped. */
size_t sbt_reader_unknown_count(const struct sbt_reader *r);

/* Bytes of the source that opening has read: header, trailer and index. For tests. */
uint64_t sbt_reader_bytes_read(const struct sbt_reader *r);

/* Check every "must" of docs/FORMAT.md that can be checked without the writer. Calls `report` for
 * each of the first 1000 violations with its offset and a sentence; returns the number of all or an error. */
int sbt_check(const char *path, void (*report)(void *user, uint64_t offset, const char *text),
              void *user);

/* Write index and trailer of `path` again from its chunks, after cutting off a torn tail. 0 when
 * nothing had to be done, 1 when it was repaired; *lost_bytes is what was cut. */
int sbt_repair(const char *path, uint64_t *lost_bytes);

#ifdef __cplusplus
}
#endif
#endif
