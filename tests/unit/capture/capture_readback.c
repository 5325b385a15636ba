/* SPDX-License-Identifier: Apache-2.0
 *
 * Bytes that the device gives back are recorded when a synchronisation has shown that they are
 * there, not before, and never by a read that could fault.
 */
#include "tests/unit/capture/capture_fake.h"
#include "tests/unit/check.h"

#include <pthread.h>
#include <sys/mman.h>

#define SIZE 10000

/* Expected content of the trace, in order: position and first byte of each readback. */
struct expected {
    unsigned count, at;
    struct {
        uint32_t stream;
        uint64_t position;
        uint8_t byte;
    } rows[8];
};

static void visit(struct sbt_reader *reader, const struct sbt_record *r, void *user)
{
    struct expected *want = user;
    struct sbt_blob blob;
    uint8_t got[SIZE] = {0};

    if (!CHECK(want->at < want->count))
        return;
    CHECK_EQ_INT(r->slots[0], want->rows[want->at].stream);
    CHECK_EQ_INT(r->slots[1], want->rows[want->at].position);
    CHECK_EQ_INT(r->slots[3], SIZE);
    if (CHECK(sbt_record_blob(r, 4, &blob)) && CHECK_EQ_INT(blob.size, SIZE) &&
        CHECK_EQ_INT(sbt_reader_blob(reader, &blob, 0, got, SIZE), 0)) {
        CHECK_EQ_INT(got[0], want->rows[want->at].byte);
        CHECK_EQ_INT(got[SIZE - 1], want->rows[want->at].byte);
    }
    want->at++;
}

static void check(void (*body)(void *), struct expected want)
{
    struct sbt_reader *reader;

    fake_begin("capture_readback.sbt");
    fake_run(body, NULL);
    reader = fake_open("capture_readback.sbt");
    fake_each(reader, SBT_TYPE(0, SBT_CORE_READBACK), visit, &want);
    CHECK_EQ_INT(want.at, want.count);
    sbt_reader_destroy(reader);
}

static uint8_t a[SIZE], b[SIZE], c[SIZE];

static void waited(void *unused)
{
    fake_copy_out(0, a, SIZE, 0x11, true);
    memset(a, 0, SIZE); /* too late to matter */
}

/* Only what is on the synchronised stream is complete. */
static void one_stream(void *unused)
{
    fake_copy_out(0, a, SIZE, 0x21, false);
    fake_copy_out(1, b, SIZE, 0x22, false);
    fake_sync(1);
    memset(b, 0, SIZE);
    fake_sync(-1);
    memset(a, 0, SIZE);
}

/* Stream 1 waits for an event of stream 0: then waiting for stream 1 is enough. */
static void through_event(void *unused)
{
    struct tsm_handle *event;

    fake_copy_out(0, a, SIZE, 0x31, false);
    event = tsm_handle_add(FAKE_API, FAKE_EVENT_TYPE, 0x77);
    event->stream = fake_stream(0);
    event->position = 1;
    fake_copy_out(0, c, SIZE, 0x32, false); /* after the event: not known to be complete */
    tsm_stream_waits(fake_stream(1), event);
    fake_launch(1, 0, "kernel");
    fake_sync(1);
}

/* Overwritten before anybody could see it. */
static void overwritten(void *unused)
{
    fake_copy_out(0, a, SIZE, 0x41, false);
    fake_copy_out(0, a, SIZE, 0x42, false);
    fake_sync(0);
}

static void unmapped(void *unused)
{
    void *gone = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    fake_copy_out(0, gone, SIZE, 0x51, false);
    munmap(gone, SIZE);
    fake_sync(0);
    fake_copy_out(0, a, SIZE, 0x52, true);
}

/* The legacy default stream waits for the streams that join it. */
static void legacy(void *unused)
{
    fake_launch(0, 0, "kernel");
    fake_launch(1, 0, "kernel");
    tsm_stream_joins(fake_stream(1), fake_stream(0));
    fake_copy_out(1, a, SIZE, 0x61, false);
    fake_launch(0, 0, "kernel");
    fake_sync(0);
}

/* ---- two threads wait for the same --------------------------------------------------------- */

enum { ROUNDS = 60, LARGE = 1 << 20 };

static struct {
    pthread_barrier_t both;
    uint8_t bytes[LARGE];
} shared;

static void *waits_too(void *unused)
{
    for (int i = 0; i < ROUNDS; i++) {
        pthread_barrier_wait(&shared.both);
        fake_sync(0);
        pthread_barrier_wait(&shared.both);
    }
    return NULL;
}

/* Whose wait returns first may overwrite what the other's is still to record. */
static void two_wait(void *unused)
{
    pthread_t other;

    pthread_barrier_init(&shared.both, NULL, 2);
    pthread_create(&other, NULL, waits_too, NULL);
    for (int i = 0; i < ROUNDS; i++) {
        fake_copy_out(0, shared.bytes, LARGE, i + 1, false);
        pthread_barrier_wait(&shared.both);
        fake_sync(0);
        memset(shared.bytes, 0xee, LARGE);
        pthread_barrier_wait(&shared.both);
    }
    pthread_join(other, NULL);
    pthread_barrier_destroy(&shared.both);
}

static void visit_large(struct sbt_reader *reader, const struct sbt_record *r, void *user)
{
    static uint8_t got[LARGE], want[LARGE];
    unsigned *count = user;
    struct sbt_blob blob;

    memset(want, (int)++*count, LARGE);
    CHECK_EQ_INT(r->slots[1] > 0, 1);
    if (CHECK(sbt_record_blob(r, 4, &blob)) && CHECK_EQ_INT(blob.size, LARGE) &&
        CHECK_EQ_INT(sbt_reader_blob(reader, &blob, 0, got, LARGE), 0))
        CHECK(memcmp(got, want, LARGE) == 0);
}

static void test_two_wait(void)
{
    struct sbt_reader *reader;
    unsigned count = 0;

    fake_begin("capture_readback.sbt");
    fake_run(two_wait, NULL);
    reader = fake_open("capture_readback.sbt");
    fake_each(reader, SBT_TYPE(0, SBT_CORE_READBACK), visit_large, &count);
    CHECK_EQ_INT(count, ROUNDS);
    sbt_reader_destroy(reader);
}

int main(void)
{
    check(waited, (struct expected){1, 0, {{0, 1, 0x11}}});
    check(one_stream, (struct expected){2, 0, {{1, 1, 0x22}, {0, 1, 0x21}}});
    check(through_event, (struct expected){1, 0, {{0, 1, 0x31}}});
    check(overwritten, (struct expected){1, 0, {{0, 2, 0x42}}});
    check(unmapped, (struct expected){1, 0, {{0, 3, 0x52}}});
    check(legacy, (struct expected){1, 0, {{1, 2, 0x61}}});
    test_two_wait();
    return check_result();
}
