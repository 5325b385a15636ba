/* SPDX-License-Identifier: Apache-2.0
 *
 * Checkpoints in a program of several threads: what each saved is what the commands before it did,
 * no more and no less, also when they come one after the other. Late starts; a GPU that is never
 * idle; a crash in between.
 */
#include "tests/unit/capture/capture_fake.h"
#include "tests/unit/check.h"

#include "capture/lane/lane.h"
#include "capture/lane/salvage.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATH    "capture_checkpoint.sbt"
#define THREADS 4
#define CALLS   5000

/* Commands on each stream so far in the trace, and what the checkpoints say. */
struct count {
    uint64_t streams[FAKE_STREAM_COUNT];
    uint64_t before[FAKE_STREAM_COUNT]; /* a late start: commands that are not in the trace */
    unsigned checkpoints, starts, ends;
    uint64_t objects;              /* made and not yet freed, so far in the trace */
    unsigned calls_in_checkpoints; /* whose place in the order is inside one */
};

static void check_saved(struct sbt_reader *reader, const struct sbt_record *r, struct count *c)
{
    uint64_t saved[FAKE_STREAM_COUNT];
    struct sbt_blob blob;

    CHECK_EQ_INT(r->slots[4], FAKE_MEMORY);
    if (!CHECK(sbt_record_blob(r, 7, &blob)) || !CHECK_EQ_INT(blob.size, sizeof(saved)))
        return;
    CHECK_EQ_INT(sbt_reader_blob(reader, &blob, 0, saved, sizeof(saved)), 0);
    for (unsigned i = 0; i < FAKE_STREAM_COUNT; i++) {
        if (c->starts == 1 && c->checkpoints == 1)
            c->before[i] = saved[i];
        CHECK_EQ_INT(saved[i], c->streams[i] + c->before[i]);
    }
}

static void count_record(struct sbt_reader *reader, const struct sbt_record *r, struct count *c)
{
    if (SBT_TYPE_API(r->type) == FAKE_API)
        c->calls_in_checkpoints += c->checkpoints != c->ends;
    c->objects += (r->type == SBT_TYPE(7, FAKE_CREATE)) - (r->type == SBT_TYPE(7, FAKE_DESTROY));
    switch (r->type) {
    case SBT_TYPE(7, FAKE_LAUNCH):
        c->streams[r->stream]++;
        CHECK_EQ_INT(r->slots[0], c->streams[r->stream] + c->before[r->stream]);
        break;
    case SBT_TYPE(SBT_API_CORE, SBT_CORE_CHECKPOINT_BEGIN):
        c->checkpoints++;
        c->starts += r->slots[1] == SBT_CHECKPOINT_START;
        break;
    case SBT_TYPE(SBT_API_CORE, SBT_CORE_MEMORY):
        check_saved(reader, r, c);
        break;
    case SBT_TYPE(SBT_API_CORE, SBT_CORE_CHECKPOINT_END):
        c->ends++;
        break;
    default:
        break;
    }
}

static struct count count_all(void)
{
    struct sbt_reader *reader = fake_open(PATH);
    const struct sbt_record *r;
    struct sbt_cursor *cursor;
    struct count c = {0};

    CHECK_EQ_INT(sbt_cursor_create(&cursor, reader, NULL, 0), 0);
    while (sbt_cursor_next(cursor, &r) == 1)
        count_record(reader, r, &c);
    CHECK_EQ_INT((long long)sbt_reader_checkpoint_count(reader), c.ends);
    sbt_cursor_destroy(cursor);
    sbt_reader_destroy(reader);
    return c;
}

/* Each on every stream in turn, so that they wait for each other's locks, too. */
static void *launch_everywhere(void *argument)
{
    for (unsigned i = 0; i < CALLS; i++) {
        fake_launch((i + (unsigned)(uintptr_t)argument) % THREADS, i, "kernel");
        fake_destroy(fake_create());
        if (i % 16 == 15)
            fake_sync((int)(i / 16 % THREADS));
    }
    return NULL;
}

/* One stream for each thread, so that a stream's number tells its index. */
static void *launch(void *argument)
{
    unsigned index = (unsigned)(uintptr_t)argument;

    for (unsigned i = 0; i < CALLS; i++) {
        fake_launch(index, i, "kernel");
        if (i % 512 == 511)
            fake_sync((int)index);
        if (i % 64 == 0)
            fake_destroy(fake_create());
    }
    return NULL;
}

static void threads(void *(*body)(void *argument))
{
    pthread_t threads[THREADS];

    for (unsigned i = 0; i < THREADS; i++)
        fake_stream(i);
    for (uintptr_t i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, body, (void *)i);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

/* Streams exist only while a session runs. */
static void begin_and_run(void *unused)
{
    fake_destroy(fake_create());
    threads(launch);
}

static void begin_and_press(void *unused)
{
    fake_destroy(fake_create());
    threads(launch_everywhere);
}

static struct count run_with(const char *name, const char *value, void (*body)(void *unused))
{
    struct count c;

    fake_begin(PATH);
    setenv(name, value, 1);
    fake_run(body, NULL);
    unsetenv(name);
    c = count_all();
    CHECK_EQ_INT(c.calls_in_checkpoints, 0);
    CHECK_EQ_INT(c.objects, 0);
    return c;
}

/* Checkpoints at every few commands. */
static void test_pressed(void)
{
    struct count c = run_with("TS_CHECKPOINT", "40", begin_and_press);

    CHECK(c.checkpoints >= 10); /* there is time for hundreds; a busy machine has few */
    CHECK_EQ_INT(c.ends, c.checkpoints);
    CHECK_EQ_INT(c.streams[0] + c.streams[1] + c.streams[2] + c.streams[3], THREADS * CALLS);
}

static void test_nothing_moves(void)
{
    struct count c = run_with("TS_CHECKPOINT", "1000", begin_and_run);

    CHECK(c.checkpoints >= 2);
    CHECK_EQ_INT(c.ends, c.checkpoints);
    CHECK_EQ_INT(c.starts, 0);
    CHECK_EQ_INT(c.streams[0] + c.streams[1] + c.streams[2] + c.streams[3], THREADS * CALLS);
}

static void test_late_start(void)
{
    struct count c = run_with("TS_START_CALL", "3000", begin_and_run);
    uint64_t seen = 0;

    CHECK_EQ_INT(c.starts, 1);
    CHECK_EQ_INT(c.ends, 1);
    for (unsigned i = 0; i < THREADS; i++) {
        CHECK_EQ_INT(c.streams[i] + c.before[i], CALLS);
        seen += c.streams[i];
    }
    CHECK(seen > 0 && seen < THREADS * CALLS - 2000);
}

static void busy(void *unused)
{
    fake_is_busy = true;
    fake_create();
    for (unsigned i = 0; i < CALLS; i++)
        fake_launch(0, i, "kernel");
    fake_sync(0);
}

/* No checkpoint can be had: the program runs on, and everything is recorded. */
static void test_never_idle(void)
{
    struct count c;

    fake_begin(PATH);
    setenv("TS_CHECKPOINT", "10", 1);
    fake_run(busy, NULL);
    unsetenv("TS_CHECKPOINT");
    c = count_all();
    CHECK_EQ_INT(c.checkpoints, 0);
    CHECK_EQ_INT(c.streams[0], CALLS);
}

static void killed(void *unused)
{
    begin_and_run(NULL);
    raise(SIGKILL);
}

/* Reads the rest of a crash like any trace: whole checkpoints count. */
static void test_killed(void)
{
    struct tsm_salvage_result result;
    struct count c;

    fake_begin(PATH);
    unlink(PATH ".lanes");
    setenv("TS_CHECKPOINT", "1000", 1);
    fake_run(killed, NULL);
    unsetenv("TS_CHECKPOINT");
    CHECK(tsm_salvage(PATH, &result) >= 0);
    c = count_all();
    CHECK(c.ends >= 1);
    CHECK_EQ_INT(c.ends, c.checkpoints);
    CHECK_EQ_INT(c.streams[0] + c.streams[1] + c.streams[2] + c.streams[3], THREADS * CALLS);
}

static void dies_saving(void *unused)
{
    fake_create();
    for (unsigned i = 0; i < 100; i++) {
        fake_dies_saving = i >= 60;
        fake_launch(0, i, "kernel");
        fake_sync(0);
    }
}

/* The one that was under way is not whole, and does not count; those before it do. */
static void test_killed_saving(void)
{
    struct count c;

    fake_begin(PATH);
    unlink(PATH ".lanes");
    setenv("TS_CHECKPOINT", "10", 1);
    CHECK_EQ_INT(WTERMSIG(fake_run(dies_saving, NULL)), SIGKILL);
    unsetenv("TS_CHECKPOINT");
    CHECK(tsm_salvage(PATH, NULL) >= 0);
    c = count_all();
    CHECK_EQ_INT(c.ends, 6);
    CHECK_EQ_INT(c.checkpoints, 7);
    CHECK_EQ_INT(c.streams[0], 70);
}

/* ---- told from outside ------------------------------------------------------------------------
 */

static struct tsm_lanes_header *lanes_header(void)
{
    int fd = open(PATH ".lanes", O_RDWR | O_CLOEXEC);
    void *memory = mmap(NULL, TSM_LANES_HEADER_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

    close(fd);
    CHECK(memory != MAP_FAILED);
    return memory;
}

static void until_shown(const struct tsm_lanes_header *h, uint32_t what)
{
    for (int i = 0; i < 2500 && __atomic_load_n(&h->shown, __ATOMIC_ACQUIRE) != what; i++)
        usleep(2000);
    CHECK_EQ_INT(h->shown, what);
}

static void order(struct tsm_lanes_header *h, uint32_t what)
{
    __atomic_store_n(&h->order, what, __ATOMIC_RELEASE);
}

static void told(void *by_signal)
{
    struct tsm_lanes_header *h;
    bool is_signal = by_signal != NULL;

    fake_create();
    h = lanes_header();
    until_shown(h, TSM_SHOWN_WAITING);
    for (unsigned i = 0; i < 10; i++)
        fake_launch(0, i, "kernel");
    is_signal ? (void)raise(SIGUSR2) : order(h, TSM_ORDER_START);
    for (unsigned i = 0; i < 20; i++)
        fake_launch(0, i, "kernel");
    until_shown(h, TSM_SHOWN_RECORDING);
    is_signal ? (void)raise(SIGUSR2) : order(h, TSM_ORDER_STOP);
    until_shown(h, TSM_SHOWN_OVER);
    for (unsigned i = 0; i < 30; i++)
        fake_launch(0, i, "kernel");
}

static void check_told(const char *name, const char *value, bool by_signal)
{
    struct count c;

    fake_begin(PATH);
    setenv(name, value, 1);
    fake_run(told, by_signal ? &by_signal : NULL);
    unsetenv(name);
    c = count_all();
    CHECK_EQ_INT(c.starts, 1);
    CHECK_EQ_INT(c.before[0], 10);
    CHECK_EQ_INT(c.streams[0], 20);
}

int main(void)
{
    test_nothing_moves();
    test_pressed();
    test_late_start();
    test_never_idle();
    test_killed();
    test_killed_saving();
    check_told("TS_START", "paused", false);
    check_told("TS_START_SIGNAL", "USR2", true);
    unlink(PATH);
    return check_result();
}
