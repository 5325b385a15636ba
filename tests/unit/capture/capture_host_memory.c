/* SPDX-License-Identifier: Apache-2.0
 *
 * Host memory that the device can read: what a replayer builds from the HOST_WRITE records is, at
 * each launch, what the program had there. Small ranges (hashed) and large ones (where the kernel
 * tells what was written, if it does).
 */
#include "capture/session.h"
#include "tests/unit/capture/capture_fake.h"
#include "tests/unit/check.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>

#define PATH   "capture_host_memory.sbt"
#define CYCLES 30

/* The memory's hash at each launch is the launch's value. */
static uint64_t sum(const uint8_t *bytes, size_t size)
{
    uint64_t value = 1469598103934665603u;

    for (size_t i = 0; i < size; i++)
        value = (value ^ bytes[i]) * 1099511628211u;
    return value;
}

static uint8_t *memory; /* of the program */
static size_t memory_size;
static unsigned writes_per_cycle;

static void program(void *unused)
{
    srandom(5);
    fake_launch(0, 0, "kernel_first");
    memset(memory + 100, 7, 5000);
    tsm_hostmem_track((uint64_t)(uintptr_t)memory, memory_size);
    for (unsigned i = 0; i < CYCLES; i++) {
        for (unsigned j = 0; j < writes_per_cycle * (i % 3); j++)
            memory[(size_t)random() % memory_size] = (uint8_t)random();
        tsm_hostmem_publish();
        fake_launch(0, sum(memory, memory_size), "kernel");
    }
    /* A range that is gone without having been given up must not hurt. */
    munmap(memory, memory_size);
    tsm_hostmem_publish();
    tsm_hostmem_untrack((uint64_t)(uintptr_t)memory);
    tsm_hostmem_publish();
}

static uint64_t replayed_bytes;

static void apply(struct sbt_reader *reader, const struct sbt_record *r, uint8_t *copy)
{
    uint64_t offset = r->slots[0] - (uint64_t)(uintptr_t)memory;
    struct sbt_blob blob;

    if (CHECK(sbt_record_blob(r, 2, &blob)) && CHECK(offset + r->slots[1] <= memory_size) &&
        CHECK_EQ_INT(blob.size, r->slots[1]))
        CHECK_EQ_INT(sbt_reader_blob(reader, &blob, 0, copy + offset, blob.size), 0);
    replayed_bytes += r->slots[1];
}

static void check_trace(void)
{
    struct sbt_reader *reader = fake_open(PATH);
    uint8_t *copy = calloc(1, memory_size);
    const struct sbt_record *r;
    struct sbt_cursor *cursor;
    unsigned launches = 0;

    replayed_bytes = 0;
    sbt_cursor_create(&cursor, reader, NULL, 0);
    while (sbt_cursor_next(cursor, &r) == 1) {
        if (r->type == SBT_TYPE(0, SBT_CORE_HOST_WRITE))
            apply(reader, r, copy);
        else if (r->type == SBT_TYPE(7, FAKE_LAUNCH) && launches++ > 0)
            CHECK(sum(copy, memory_size) == r->slots[1]);
    }
    CHECK_EQ_INT(launches, CYCLES + 1);
    sbt_cursor_destroy(cursor);
    sbt_reader_destroy(reader);
    free(copy);
}

static void one(size_t size, size_t offset, unsigned writes)
{
    uint8_t *map =
        mmap(NULL, size + 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    memory = map + offset;
    memory_size = size;
    writes_per_cycle = writes;
    fake_begin(PATH);
    fake_run(program, NULL);
    check_trace();
    munmap(map, size + 8192);
}

#define REWRITTEN_PAGES 1024
#define REWRITE_CYCLES  48

/* The same bytes again, all over the range, before each launch: watching makes every write a fault.
 * A few cycles may find that out; after that the range must not be watched all the time. */
static void rewrite(void *unused)
{
    struct rusage before, after;

    memset(memory, 7, memory_size);
    fake_launch(0, 0, "kernel_first");
    tsm_hostmem_track((uint64_t)(uintptr_t)memory, memory_size);
    getrusage(RUSAGE_THREAD, &before);
    for (unsigned i = 0; i < REWRITE_CYCLES; i++) {
        memset(memory, 7, memory_size);
        tsm_hostmem_publish();
        fake_launch(0, 0, "kernel");
    }
    getrusage(RUSAGE_THREAD, &after);
    CHECK(after.ru_minflt - before.ru_minflt < REWRITE_CYCLES * REWRITTEN_PAGES / 4);
}

static void run_rewrite(void)
{
    memory_size = REWRITTEN_PAGES * 4096;
    memory = mmap(NULL, memory_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    madvise(memory, memory_size, MADV_NOHUGEPAGE);
    fake_begin(PATH);
    fake_run(rewrite, NULL);
    munmap(memory, memory_size);
}

/* Two ranges that share a page, as neighbours in malloc's memory do, and what several objects
 * share. The memory's hash at each launch is the launch's value, as above. */
#define SHARED_SIZE (512u << 10)
#define MIDDLE      (SHARED_SIZE / 2 + 100)

static void launch_after_changes(unsigned round)
{
    memory[MIDDLE - 10] = (uint8_t)(round + 1);
    memory[MIDDLE + 10] = (uint8_t)(round + 2);
    memory[7777 + round] = (uint8_t)round;
    tsm_hostmem_publish();
    fake_launch(0, sum(memory, memory_size), "kernel");
}

static void neighbours(void *unused)
{
    uint64_t start = (uint64_t)(uintptr_t)memory;
    unsigned round = 0;

    fake_launch(0, 0, "kernel_first");
    tsm_hostmem_track(start, MIDDLE);
    tsm_hostmem_track(start + MIDDLE, memory_size - MIDDLE);
    while (round < 10)
        launch_after_changes(round++);
    /* A call that gives one up fails; then objects share what is tracked already. */
    tsm_hostmem_leaves(start);
    tsm_hostmem_left(start, false);
    CHECK(tsm_hostmem_share(start, 40000));
    CHECK(tsm_hostmem_share(start, 40000));
    while (round < 15)
        launch_after_changes(round++);
    tsm_hostmem_unshare(start, 40000);
    tsm_hostmem_leaves(start + MIDDLE);
    tsm_hostmem_left(start + MIDDLE, true);
    tsm_hostmem_track(start + MIDDLE, memory_size - MIDDLE);
    while (round < 20)
        launch_after_changes(round++);
    tsm_hostmem_unshare(start, 40000);
    tsm_hostmem_leaves(start);
    tsm_hostmem_track(start,
                      MIDDLE); /* another thread was given the memory before the call returned */
    tsm_hostmem_left(start, true);
    while (round < CYCLES)
        launch_after_changes(round++);
}

static void run_neighbours(void)
{
    memory_size = SHARED_SIZE;
    memory = mmap(NULL, memory_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    fake_begin(PATH);
    fake_run(neighbours, NULL);
    check_trace();
    munmap(memory, memory_size);
}

/* A range of which little was ever written: what was not is not read. */
#define SPARSE_SIZE ((size_t)1 << 30)

static void sparse(void *unused)
{
    struct rusage before, after;

    fake_launch(0, 0, "kernel_first");
    tsm_hostmem_track((uint64_t)(uintptr_t)memory, SPARSE_SIZE);
    memory[SPARSE_SIZE / 2 + 5] = 77;
    getrusage(RUSAGE_THREAD, &before);
    tsm_hostmem_publish();
    fake_launch(0, 0, "kernel");
    getrusage(RUSAGE_THREAD, &after);
    CHECK((size_t)(after.ru_minflt - before.ru_minflt) < SPARSE_SIZE / 4096 / 8);
}

static bool is_sparse_write(const struct sbt_record *r)
{
    uint64_t at = (uint64_t)(uintptr_t)memory + SPARSE_SIZE / 2 + 5;

    return r->type == SBT_TYPE(0, SBT_CORE_HOST_WRITE) && at - r->slots[0] < r->slots[1];
}

static void run_sparse(void)
{
    const struct sbt_record *r;
    struct sbt_reader *reader;
    struct sbt_cursor *cursor;
    unsigned seen = 0;

    memory = mmap(NULL, SPARSE_SIZE, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    madvise(memory, SPARSE_SIZE, MADV_NOHUGEPAGE);
    fake_begin(PATH);
    fake_run(sparse, NULL);
    reader = fake_open(PATH);
    sbt_cursor_create(&cursor, reader, NULL, 0);
    while (sbt_cursor_next(cursor, &r) == 1)
        seen += is_sparse_write(r);
    CHECK_EQ_INT(seen, 1);
    sbt_cursor_destroy(cursor);
    sbt_reader_destroy(reader);
    munmap(memory, SPARSE_SIZE);
}

/* A command that another thread sends while a result is looked at comes after it: it may change
 * what was seen. */
#define RESULT_SIZE 16384u

static void *send_later(void *unused)
{
    fake_launch(1, 0, "kernel_later");
    return NULL;
}

/* After the bytes being read, before they are written down. */
static uint32_t send_meanwhile(uint64_t from, uint64_t to, struct tsm_gap *gaps, uint32_t room)
{
    pthread_t thread;

    CHECK_EQ_INT(pthread_create(&thread, NULL, send_later, NULL), 0);
    pthread_join(thread, NULL);
    return 0;
}

static bool give_all(struct tsm_given *out)
{
    static unsigned count;
    uint64_t start = (uint64_t)(uintptr_t)memory;

    *out = (struct tsm_given){
        .start = start, .end = start + RESULT_SIZE, .read_end = start + RESULT_SIZE, .position = 1};
    return count++ == 0;
}

static void overtake(void *unused)
{
    fake_launch(0, 0, "kernel");
    tsm_hostmem_track((uint64_t)(uintptr_t)memory, RESULT_SIZE);
    tsm_hostmem_publish();
    memset(memory, 9, 100);
    tsm_hostmem_device(send_meanwhile);
    tsm_hostmem_given(give_all);
    tsm_hostmem_device(NULL);
}

static void run_overtake(void)
{
    const struct sbt_record *r;
    struct sbt_reader *reader;
    struct sbt_cursor *cursor;
    unsigned results = 0, launches = 0;

    memory = mmap(NULL, RESULT_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    fake_begin(PATH);
    fake_run(overtake, NULL);
    reader = fake_open(PATH);
    sbt_cursor_create(&cursor, reader, NULL, 0);
    while (sbt_cursor_next(cursor, &r) == 1) {
        bool is_result =
            r->type == SBT_TYPE(0, SBT_CORE_READBACK) || r->type == SBT_TYPE(0, SBT_CORE_CHECKSUM);
        launches += r->type == SBT_TYPE(FAKE_API, FAKE_LAUNCH);
        results += is_result;
        if (is_result)
            CHECK_EQ_INT(launches, 1);
    }
    CHECK_EQ_INT(launches, 2);
    CHECK_EQ_INT(results, 2);
    sbt_cursor_destroy(cursor);
    sbt_reader_destroy(reader);
    munmap(memory, RESULT_SIZE);
}

static bool give_none(struct tsm_given *out)
{
    return false;
}

/* Recording ends (another thread ends it, or the disk is full) when a call has begun: the call has
 * a record, and so has what it reads; of what it gives back nobody knows whether it comes from
 * commands that have records. */
static void end_in_call(void *unused)
{
    static uint8_t other[4096]; /* the call gives it up */
    struct tsm_box box = {memory, 100, 1, 1, 100, 100};
    struct tsm_call call;

    fake_launch(0, 0, "kernel_first");
    tsm_hostmem_track((uint64_t)(uintptr_t)memory, RESULT_SIZE);
    tsm_hostmem_track((uint64_t)(uintptr_t)other, sizeof(other));
    tsm_hostmem_publish();
    memset(memory, 9, 100);
    CHECK(tsm_call_begin(&call, SBT_TYPE(FAKE_API, FAKE_SYNC)));
    __atomic_store_n(&tsm_live->state, TSM_LIVE_OFF, __ATOMIC_RELEASE);
    tsm_hostmem_publish();
    tsm_call_on_stream(&call, fake_stream(0), TSM_BLOCKS);
    CHECK(tsm_hostmem_leaves((uint64_t)(uintptr_t)other) != 0);
    tsm_call_returned(&call, 0, false);
    tsm_readback(&call, &box, true);
    tsm_hostmem_left((uint64_t)(uintptr_t)other, true);
    tsm_hostmem_given(give_none);
    tsm_call_commit(&call);
    __atomic_store_n(&tsm_live->state, TSM_LIVE_ON, __ATOMIC_RELEASE);
}

static void run_end_in_call(void)
{
    unsigned writes = 0, readbacks = 0, notes = 0;
    const struct sbt_record *r;
    struct sbt_reader *reader;
    struct sbt_cursor *cursor;

    memory = mmap(NULL, RESULT_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    fake_begin(PATH);
    fake_run(end_in_call, NULL);
    reader = fake_open(PATH);
    sbt_cursor_create(&cursor, reader, NULL, 0);
    while (sbt_cursor_next(cursor, &r) == 1) {
        writes += r->type == SBT_TYPE(0, SBT_CORE_HOST_WRITE);
        readbacks += r->type == SBT_TYPE(0, SBT_CORE_READBACK);
        notes += r->type == SBT_TYPE(0, SBT_CORE_UNMODELLED) && (r->flags & SBT_RECORD_TAINTS) != 0;
    }
    CHECK_EQ_INT(writes, 1);
    CHECK_EQ_INT(readbacks, 0);
    CHECK_EQ_INT(notes, 1);
    sbt_cursor_destroy(cursor);
    sbt_reader_destroy(reader);
    munmap(memory, RESULT_SIZE);
}

int main(void)
{
    one(100000, 0, 3);
    one(100000, 123, 3); /* not at a page's start */
    one(8 << 20, 0, 20);
    /* A few written pages cost a few pages in the trace, not the whole range each time. */
    CHECK(replayed_bytes < 20 * CYCLES * 4096 + 16384);
    one(4 << 20, 0, 3000); /* most pages each time */
    run_rewrite();
    run_neighbours();
    run_sparse();
    run_overtake();
    run_end_in_call();
    return check_result();
}
