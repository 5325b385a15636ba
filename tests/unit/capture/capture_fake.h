/* SPDX-License-Identifier: Apache-2.0
 *
 * A GPU API that does nothing, with wrappers written as real ones are: what tests of capture/
 * record. Its "driver" hands out an order number per stream, under a lock, so that a test can
 * compare the order in a trace with the one that the driver saw.
 */
#ifndef TESTS_UNIT_CAPTURE_CAPTURE_FAKE_H
#define TESTS_UNIT_CAPTURE_CAPTURE_FAKE_H

#include "capture/capture.h"
#include "tracesmith/reader.h"

#define FAKE_API       ((enum sbt_api)7)
#define FAKE_OTHER_API ((enum sbt_api)6)

enum fake_call {
    FAKE_CREATE = 1,
    FAKE_DESTROY = 2,
    FAKE_LAUNCH = 3,
    FAKE_COPY_IN = 4,
    FAKE_COPY_OUT = 5,
    FAKE_SYNC = 6,
    FAKE_FREE_ASYNC = 7,
    FAKE_HANG = 8,
};

#define FAKE_TELL 1 /* of FAKE_OTHER_API */

#define FAKE_STREAM_COUNT 8
#define FAKE_EVENT_TYPE   2u

/* Address of its memory: FAKE_STREAM_COUNT times u64, how many commands each stream was given. */
#define FAKE_MEMORY 0x900000u
extern bool fake_is_busy;     /* then no checkpoint can be taken */
extern bool fake_dies_saving; /* killed in the middle of one */

/* Streams are made on first use, so numbers follow the order of use. */
struct tsm_stream *fake_stream(unsigned index);

/* The address that a driver gives out is the one freed last, as drivers do. */
uint64_t fake_create(void);
void fake_destroy(uint64_t address);

/* Slots: order on the stream, value, name (string), arguments (bytes). */
void fake_launch(unsigned stream, uint64_t value, const char *name);

/* Slots: order, destination, payload. */
void fake_copy_in(unsigned stream, uint64_t destination, const void *data, uint64_t size);

/* "Copies" by filling with `byte`; asynchronous unless `wait`. */
void fake_copy_out(unsigned stream, void *host, uint64_t size, int byte, bool wait);

/* Waits for a stream; -1: for all. */
void fake_sync(int stream);

/* Slots: two values of struct FakePart (number UINT, bytes BYTES), NULL for none; 4711. */
void fake_tell(const void *first, size_t first_size, const void *second, size_t second_size);

/* Enters the driver and stays there. */
void fake_hang(unsigned stream);

/* Run `body` in a child process of its own, which thereby has a session of its own, and return its
 * wait status. Checks that fail in the child are counted here. */
int fake_run(void (*body)(void *argument), void *argument);

/* ---- looking at what was recorded ------------------------------------------------------------ */

/* Value of an environment variable with the usual defaults for a test: TS_OUTPUT=`path`. */
void fake_begin(const char *path);

/* Open a finished trace; prints and exits with 1 when it cannot. */
struct sbt_reader *fake_open(const char *path);

/* Checks that hold for any trace of this API: seq without gaps, order numbers on each stream rising
 * with the trace's order, strings present, stacks present, pieces present. Returns how many
 * launches there are. */
uint64_t fake_check(struct sbt_reader *reader);

/* Call `visit` for each record of `type`; returns their number. */
uint64_t fake_each(struct sbt_reader *reader, uint32_t type,
                   void (*visit)(struct sbt_reader *reader, const struct sbt_record *r, void *user),
                   void *user);

#endif
