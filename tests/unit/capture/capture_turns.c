/* SPDX-License-Identifier: Apache-2.0
 *
 * Two threads on one stream, one in a call that waits in the driver: the recorded positions are in
 * the order in which the driver was given the commands, however long it takes them in. Where that
 * cannot be, the trace says so.
 */
#include "tests/unit/capture/capture_fake.h"
#include "tests/unit/check.h"

#include "capture/call/streams.h"

#include <pthread.h>
#include <unistd.h>

#define PATH "capture_turns.sbt"

static uint64_t given; /* commands that the driver has got */
static int inside, is_let_go, settled;
static pthread_t other;

static void wait_until(int *flag)
{
    while (!__atomic_load_n(flag, __ATOMIC_ACQUIRE))
        usleep(1000);
}

static void set(int *flag)
{
    __atomic_store_n(flag, 1, __ATOMIC_RELEASE);
}

/* The record has the order in which the driver got it. */
static void finish(struct tsm_call *call, uint64_t order)
{
    tsm_call_returned(call, 0, false);
    tsm_call_slot(call, order);
    tsm_call_slot(call, 0);
    tsm_call_string(call, "command");
    tsm_call_bytes(call, &order, sizeof(order));
    tsm_call_commit(call);
}

static bool begin(struct tsm_call *call)
{
    return CHECK(tsm_call_begin(call, SBT_TYPE(FAKE_API, FAKE_LAUNCH)));
}

static void send(void)
{
    struct tsm_call call;

    if (!begin(&call))
        return;
    tsm_call_on_stream(&call, fake_stream(0), TSM_ENQUEUES);
    finish(&call, __atomic_add_fetch(&given, 1, __ATOMIC_SEQ_CST));
}

static void *send_behind(void *unused)
{
    wait_until(&inside);
    send();
    set(&is_let_go);
    return NULL;
}

/* Asleep in the driver, which has not got the command yet. */
static void send_slowly(bool until_let_go)
{
    struct tsm_call call;
    uint64_t order;

    if (!begin(&call))
        return;
    tsm_call_on_stream(&call, fake_stream(0), TSM_SENDS_AND_BLOCKS);
    set(&inside);
    usleep(
        100000); /* longer than anybody would guess: if the other thread is late, nothing is lost */
    order = __atomic_add_fetch(&given, 1, __ATOMIC_SEQ_CST);
    if (until_let_go)
        wait_until(&is_let_go);
    finish(&call, order);
}

static void slow(void *unused)
{
    fake_stream(0);
    pthread_create(&other, NULL, send_behind, NULL);
    send_slowly(false);
    pthread_join(other, NULL);
}

/* The driver waits for what the other thread sends. */
static void needs_other(void *unused)
{
    tsm_turn_limit_ns = 1000000;
    fake_stream(0);
    pthread_create(&other, NULL, send_behind, NULL);
    send_slowly(true);
    pthread_join(other, NULL);
}

/* Waits for the stream's earlier work, which is complete when the other thread has sent. */
static void settle(void *unused)
{
    if (settled++ == 0) {
        set(&inside);
        wait_until(&is_let_go);
    }
}

static void send_settled(void (*settle_with)(void *))
{
    struct tsm_call call;

    if (!begin(&call))
        return;
    tsm_call_on_synchronized_stream(&call, fake_stream(0), settle_with, NULL);
    finish(&call, __atomic_add_fetch(&given, 1, __ATOMIC_SEQ_CST));
}

static void waits_first(void *unused)
{
    fake_stream(0);
    pthread_create(&other, NULL, send_behind, NULL);
    send_settled(settle);
    pthread_join(other, NULL);
    CHECK_EQ_INT(settled, 2);
}

static void *send_one(void *unused)
{
    send();
    return NULL;
}

static void settle_busy(void *unused)
{
    settled++;
    pthread_create(&other, NULL, send_one, NULL);
    pthread_join(other, NULL);
}

/* The stream is never found idle. */
static void busy(void *unused)
{
    fake_stream(0);
    send_settled(settle_busy);
    CHECK(settled > 1 && settled < 100);
}

static void look(struct sbt_reader *reader, const struct sbt_record *r, void *user)
{
    CHECK_EQ_INT(r->slots[0], r->position);
}

static void count(struct sbt_reader *reader, const struct sbt_record *r, void *user)
{
    ++*(unsigned *)user;
}

static void look_away(struct sbt_reader *reader, const struct sbt_record *r, void *user) {}

static void check(void (*program)(void *), unsigned commands, unsigned unknown)
{
    struct sbt_reader *reader;
    unsigned found = 0;

    fake_begin(PATH);
    fake_run(program, NULL);
    reader = fake_open(PATH);
    /* Any order will do where the trace says that the order is not known. */
    CHECK_EQ_INT(
        fake_each(reader, SBT_TYPE(FAKE_API, FAKE_LAUNCH), unknown ? look_away : look, NULL),
        commands);
    fake_each(reader, SBT_TYPE(SBT_API_CORE, SBT_CORE_UNMODELLED), count, &found);
    CHECK_EQ_INT(found, unknown);
    sbt_reader_destroy(reader);
}

int main(void)
{
    check(slow, 2, 0);
    check(waits_first, 2, 0);
    check(busy, 5, 0);
    check(needs_other, 2, 1);
    return check_result();
}
