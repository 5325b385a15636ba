/* SPDX-License-Identifier: Apache-2.0
 *
 * Packets of a Perfetto trace, all of one sequence: texts and other things that come often are
 * written once and named by number (interned), and packets are compressed together. One thread.
 */
#ifndef EXPORT_PERFETTO_PACKETS_H
#define EXPORT_PERFETTO_PACKETS_H

#include "base/buffer.h"
#include "base/map.h"

#include <stdio.h>

struct ZSTD_CCtx_s;

/* Tables of what is named by number. */
enum tsm_interned {
    TSM_INTERNED_EVENT_NAME,
    TSM_INTERNED_CATEGORY,
    TSM_INTERNED_ANNOTATION,
    TSM_INTERNED_FUNCTION,
    TSM_INTERNED_SOURCE,
    TSM_INTERNED_PATH,
    TSM_INTERNED_BUILD_ID,
    TSM_INTERNED_MAPPING,
    TSM_INTERNED_FRAME,
    TSM_INTERNED_CALLSTACK,
    TSM_INTERNED_CONTEXT,
    TSM_INTERNED_SPECIFICATION,
    TSM_INTERNED_KERNEL,
    TSM_INTERNED_ARGUMENT,
    TSM_INTERNED_COUNT
};

/* A zeroed struct with `out` is empty. */
struct tsm_packets {
    FILE *out;
    bool is_plain;              /* not compressed */
    struct tsm_buffer packet;   /* the fields of the packet that is being made */
    struct tsm_buffer interned; /* what is named in it for the first time */
    struct tsm_buffer part;     /* for messages in messages: empty between calls */
    struct tsm_buffer chunk;    /* whole packets that are not written yet */
    struct tsm_buffer packed;
    struct tsm_map tables[TSM_INTERNED_COUNT]; /* hash or key -> number */
    struct ZSTD_CCtx_s *zstd;
    uint64_t packet_count, byte_count; /* written */
    int error;
};

/* Begins a packet with a time (ns on the trace's clock), or without one (TSM_NO_TIME). Fields are
 * added to p->packet, then it ends. */
#define TSM_NO_TIME UINT64_MAX
void tsm_packet_begin(struct tsm_packets *p, uint64_t time_ns);
void tsm_packet_end(struct tsm_packets *p);

/* Returns the number of a text in a table of texts, which is written with this packet if it is new.
 */
uint64_t tsm_intern_text(struct tsm_packets *p, enum tsm_interned table, const char *text);
/* The same of bytes. */
uint64_t tsm_intern_bytes(struct tsm_packets *p, enum tsm_interned table, const void *data,
                          size_t size);

/* Returns the number of what has the key; *added: it is new, and the caller writes it by
 * tsm_intern_message(). */
uint64_t tsm_intern_key(struct tsm_packets *p, enum tsm_interned table, uint64_t key, bool *added);
/* Writes the message of a new number, and empties it. */
void tsm_intern_message(struct tsm_packets *p, enum tsm_interned table, struct tsm_buffer *message);

/* Writes what is left. Returns 0 or the first error, described; frees all in any case. Errors of
 * the file are the file's. */
int tsm_packets_finish(struct tsm_packets *p);

#endif
