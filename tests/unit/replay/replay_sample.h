/* SPDX-License-Identifier: Apache-2.0
 *
 * Small traces of a made-up GPU API, and a backend that replays it in memory. The GPU has one range
 * of memory; a command runs when it is submitted, so that the order of submission can be seen.
 */
#ifndef TESTS_UNIT_REPLAY_REPLAY_SAMPLE_H
#define TESTS_UNIT_REPLAY_REPLAY_SAMPLE_H

#include "replay/backend.h"
#include "tracesmith/writer.h"

enum sample_call {
    MAKE_STREAM = 1, /* object, number */
    ALLOCATE,        /* address, size */
    FREE,            /* address */
    WRITE,           /* dst, size, bytes */
    ADD,      /* function name, argument bytes: address, value (u64 each): adds to 16 bytes */
    READ,     /* src, size, host dst */
    READ_NOW, /* the same, blocking */
    SIGNAL,   /* event */
    WAIT,     /* event */
    SYNC_STREAM,
    SYNC_DEVICE,
    SYNC_EVENT, /* event */
    ODD,        /* not modelled, taints */
    HANG,       /* never completes */
    SAMPLE_CALL_COUNT = HANG,
};

#define SAMPLE_MEMORY 0x10000u /* addresses 0x1000 to 0x11000 */
#define SAMPLE_BASE   0x1000u

/* ---- traces ---- */

struct sample {
    struct sbt_writer *w;
    char path[64];
    uint64_t seq;
    uint64_t position[16];
    uint32_t flags;  /* of the next record */
    uint32_t thread; /* of the next records; 1 at first */
    uint64_t lost;  /* for the totals */
    bool cut; /* the trace gets no end */
};

/* Writes to a file of its own in the temporary folder. Any failure ends the test. */
void sample_begin(struct sample *s, const char *name);
void sample_end(struct sample *s);

/* These return the record's seq. */
uint64_t sample_call(struct sample *s, enum sample_call call, uint32_t stream, uint64_t a,
                     uint64_t b, uint64_t c);
uint64_t sample_write(struct sample *s, uint32_t stream, uint64_t address, const void *bytes,
                      size_t size);
uint64_t sample_add(struct sample *s, uint32_t stream, const char *function, uint64_t address,
                    uint64_t value);
/* `key_only`: the trace does not hold the bytes. */
uint64_t sample_readback(struct sample *s, uint32_t of_stream, uint64_t of_position,
                         const void *bytes, size_t size, bool key_only);
/* The next record of `stream` gets this position instead of the next one. */
void sample_at(struct sample *s, uint32_t stream, uint64_t position);

/* Opens the finished trace, or ends the test. */
struct sbt_reader *sample_open(const struct sample *s);

/* ---- backend ---- */

/* Log of submits and waits since sample_log_clear(), e.g. "1:1 1:2 w1 0:1 h " (stream:position, wN
 * a wait for stream N or "device", eN for event N, h a host record). */
const char *sample_log(void);
void sample_log_clear(void);

/* Do calls of host() run after the reader, as Vulkan's do? At first they do not. */
void sample_run_behind(bool behind);

/* How many threads have called host(), submit() and wait() since sample_log_clear(). */
unsigned sample_thread_count(void);

/* Returns the backends that were opened and not closed. */
unsigned sample_open_count(void);

/* Lets every HANG complete, also those that were waited for. */
void sample_end_hangs(void);

/* Sleep before each submission on this stream; SBT_STREAM_NONE: on none. */
void sample_slow(uint32_t stream);

/* A mistake of the "GPU": what the name says. */
enum sample_mistake {
    MISTAKE_NONE,
    MISTAKE_VARIES,    /* ADD adds one more in every second run */
    MISTAKE_UNWRITTEN, /* ADD adds the byte before the buffer, too */
};
void sample_mistake(enum sample_mistake mistake);

#endif
