/* SPDX-License-Identifier: Apache-2.0
 *
 * State of a reader. Private to format/.
 *
 * Fixed once open: source, session, chunks, metadata, schemas, enums. What is loaded on demand
 * (strings, stacks, mappings, pieces) and the damage list are under `lock`; where pieces lie, until
 * pieces_loaded.
 */
#ifndef FORMAT_READER_STATE_H
#define FORMAT_READER_STATE_H

#include "base/buffer.h"
#include "base/map.h"
#include "format/chunk/chunk.h"
#include "format/values/structs.h"
#include "tracesmith/reader.h"

#include <pthread.h>
#include <stdatomic.h>

#define SBT_DAMAGE_LINES_MAX 1000u
#define SBT_BLOB_CACHE_COUNT 8u
#define SBT_AHEAD_SIZE       65536u

struct sbt_entry {
    struct sbt_chunk_info info; /* what callers see */
    struct sbt_chunk head;
    bool damaged;  /* it was said; under lock */
    bool misleads; /* its header's times or streams are not its records'; under lock */
    bool is_sound; /* its bytes were compared with their checksum; atomic */
};

/* Ids found in chunks of one type, loaded chunk by chunk when the ranges of their ids allow it. */
struct sbt_id_table {
    uint32_t type;
    struct sbt_id_chunk {
        uint32_t entry; /* place in reader->entries */
        bool loaded;
        uint64_t first, last;
    } * chunks; /* by first id */
    size_t chunk_count;
    bool disjoint;
    struct tsm_map places; /* id -> address */
};

struct sbt_piece_place {
    struct sbt_key key;
    uint32_t entry, offset, size;
};

struct sbt_reader_enum {
    struct sbt_enum table;
    uint32_t *by_value; /* places in table.values, ascending by value, first come first */
};

struct sbt_reader {
    struct sbt_source source;
    uint32_t left_count; /* of those who still use it: sbt_reader_destroy() does nothing */
    bool is_given_up;    /* its owner has destroyed it */
    struct sbt_reader *next_left;
    char *name;
    uint64_t size;
    uint64_t bytes_read;
    void (*progress)(void *user, uint64_t done, uint64_t total); /* NULL: nobody asks */
    void *progress_user;
    pthread_mutex_t lock;
    struct sbt_packer packer; /* under lock */

    uint32_t header_length;
    struct sbt_file_header header; /* has_header: it is intact */
    bool has_header;
    uint16_t major, minor;
    struct sbt_session session;
    uint32_t session_word;
    struct sbt_totals totals;
    enum sbt_end end;
    bool is_counted;    /* the trailer's counts were compared with the records */
    bool totals_known;  /* from a trailer */
    bool has_trailer;   /* and an index that could be read */
    bool more_sessions; /* another one follows at whole_end */
    uint64_t whole_end; /* without trailer: end of the last whole chunk */

    struct sbt_entry *entries;
    size_t entry_count, entry_capacity;
    uint32_t *events; /* places of EVENTS chunks, ascending by sequence number */
    size_t events_count, events_capacity;
    size_t unknown_count;    /* ancillary chunks of unknown types */
    uint64_t fault_count;    /* of sbt_reader_fault(); under lock */
    uint64_t said_count;     /* records that the trailer counts */
    bool has_holes;          /* bytes, or numbers of chunks or records, belong to no chunk */
    int load_error;          /* of the system, while the index was read: it is not damaged then */
    uint64_t gap_count;      /* chunks that are not there, by the numbers of the others */
    uint64_t tail_gap_count; /* of these, after the last chunk that is no index */

    char **damage;
    size_t damage_count;
    size_t damage_more; /* not kept */

    void **kept; /* payloads that tables point into */
    size_t kept_count, kept_capacity;

    struct sbt_reader_pair {
        const char *name, *value;
    } * metadata;
    size_t metadata_count, metadata_capacity;
    struct tsm_map metadata_by_name;
    struct sbt_schema *schemas;
    size_t schema_count, schema_capacity;
    struct tsm_map schema_by_type;
    struct sbt_reader_enum *enums;
    size_t enum_count, enum_capacity;
    struct tsm_map enum_by_name;

    struct sbt_structs structs;

    struct sbt_id_table strings, stacks;
    struct sbt_mapping *mappings;
    size_t mapping_count, mapping_capacity;
    bool mappings_loaded;
    struct sbt_checkpoint *checkpoints;
    size_t checkpoint_count, checkpoint_capacity;
    bool checkpoints_loaded;

    struct sbt_piece_place *pieces; /* in order of the file */
    size_t piece_count, piece_capacity;
    uint32_t *twins; /* places of pieces whose key an earlier one has */
    size_t twin_count, twin_capacity;
    uint32_t *piece_slots;      /* by hash of the key: place in `pieces` + 1; 0: free */
    size_t piece_slot_count;    /* a power of two */
    _Atomic size_t piece_next;  /* after the one that was fetched last: a guess */
    _Atomic bool pieces_loaded; /* from then on the above is fixed */
    uint32_t *listed_by;        /* for each entry: place + 1 of the PIECES chunk that lists it */
    struct sbt_blob_slot {
        uint32_t entry;
        uint64_t used;    /* 0: free */
        unsigned readers; /* threads that look at the payload */
        bool is_loading;  /* by a thread that does not hold the lock */
        uint8_t *payload;
    } blob_cache[SBT_BLOB_CACHE_COUNT];
    uint64_t blob_clock;
    pthread_cond_t blob_moved; /* a slot is loaded, or has lost its last reader */
    /* Values of records that are kept in blobs, each counted when it is fetched for the first time:
     * their size, and number and slot of the last one. */
    _Atomic uint64_t values_size, values_next;
    _Atomic bool is_refused; /* they are too many for a file of this size: no cursor goes on */
    struct sbt_ahead {
        uint8_t *bytes; /* of the file, from `start` to `end` */
        uint64_t start, end;
        uint64_t next; /* after the last piece that was read as it is stored */
    } ahead;
};

/* ---- reader_values.c ---- */

/* Fails with TSM_E_LIMIT if the values that were fetched are more than a file of this size may
 * hold. */
int sbt_reader_values_check(const struct sbt_reader *r);

/* ---- reader.c ---- */

/* Something that may never end still reads: sbt_reader_destroy() is to leave all as it is until
 * sbt_reader_take_back() was called as often. */
void sbt_reader_leave(struct sbt_reader *r);
/* Destroys a reader that its owner has destroyed meanwhile. */
void sbt_reader_take_back(struct sbt_reader *r);

/* Exactly `size` bytes, or TSM_E_FORMAT when the file ends before. */
int sbt_reader_read(struct sbt_reader *r, uint64_t offset, void *out, size_t size);

/* Add a line to the damage list, without the lock held. */
void sbt_reader_say(struct sbt_reader *r, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Adds a line to the damage list, with the lock held. */
void sbt_reader_say_locked(struct sbt_reader *r, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Takes back the last lines, all but the first `count`. */
void sbt_reader_forget_damage(struct sbt_reader *r, size_t count);

/* Read, check and decompress the chunk at entries[place]. *payload is malloc'ed. A damaged chunk
 * gives TSM_E_CHECKSUM or TSM_E_FORMAT and is said once. */
int sbt_reader_load(struct sbt_reader *r, struct sbt_packer *packer, size_t place,
                    uint8_t **payload, bool locked);

/* Say that a chunk's content is malformed, once. */
void sbt_reader_blame(struct sbt_reader *r, size_t place, const char *wrong, bool locked);

/* Say that something could not be read although it may be there: sbt_reader_missing() counts it.
 * With the lock held. */
void sbt_reader_fault(struct sbt_reader *r, const char *what);

/* Free `block` with the reader. False when out of memory; then it is freed now. */
bool sbt_reader_keep(struct sbt_reader *r, void *block);

/* ---- reader_index.c: fill entries, events, totals, end ---- */

int sbt_reader_index(struct sbt_reader *r);

/* Scans the file as if it had neither index nor trailer. */
int sbt_reader_scan(struct sbt_reader *r);

static inline uint64_t sbt_entry_end(const struct sbt_entry *e)
{
    return e->info.offset + SBT_CHUNK_HEADER_SIZE + e->head.stored_size;
}

/* Counts the records that are there, and the streams that they are on, as if there were no trailer.
 */
void sbt_reader_recount(struct sbt_reader *r);

/* ---- reader_missing.c ---- */

/* Compares a chunk that was not read yet with its checksum; damage is said. */
int sbt_reader_examine_chunk(struct sbt_reader *r, size_t place);

/* ---- tail.c ---- */

/* Counts the chunks before the first one, near the end of the trace, that never reached the disk as
 * a whole, or after which no sound chunk comes. The number of all: the tail is whole. */
int sbt_reader_sound_count(struct sbt_reader *r, size_t *count);

/* Adds what was lost, filtered and tainted, from the records that say so. */
void sbt_reader_count_notable(struct sbt_reader *r, struct sbt_totals *totals);

/* ---- tables.c ---- */

int sbt_reader_tables(struct sbt_reader *r);

/* Load every string and every stack. */
int sbt_reader_load_ids(struct sbt_reader *r);
void sbt_reader_tables_finish(struct sbt_reader *r);

/* ---- blobs.c ---- */

/* Load the table of pieces if it is not there yet. With the lock held. */
int sbt_reader_pieces(struct sbt_reader *r);
void sbt_reader_blobs_finish(struct sbt_reader *r);

/* Loads the table of pieces, without the lock held. */
int sbt_reader_find_ready(struct sbt_reader *r);

/* Finds the piece with this key, without the lock held. The search begins at *next, which then
 * becomes the place after the piece. TSM_E_NOT_FOUND: there is none. */
int sbt_reader_find(struct sbt_reader *r, const struct sbt_key *key, size_t *next,
                    const struct sbt_piece_place **out);

/* ---- reader_fetch.c ---- */

/* The bytes of the piece at this place into out[SBT_PIECE_SIZE]. Returns their count. */
int sbt_reader_piece_at(struct sbt_reader *r, const struct sbt_piece_place *place, uint8_t *out);

void sbt_reader_fetch_finish(struct sbt_reader *r);

#endif
