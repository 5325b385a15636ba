/* SPDX-License-Identifier: Apache-2.0
 *
 * A crashed recording whose lanes file was damaged: whatever is in it, salvage ends, with a trace
 * that can be read or with an error; a lane's records before the damaged place, and all records of
 * the other lanes, are in the trace; and the trace says that something is missing.
 * Arguments: how many times (default 300), seed (1).
 */
#include "capture/lane/lane.h"
#include "capture/lane/salvage.h"
#include "tests/unit/capture/capture_fake.h"
#include "tests/unit/check.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define THREADS  3
#define LAUNCHES 300u
#define PATH     "capture_damage.sbt"
#define LANES    PATH ".lanes"

struct file {
    uint8_t *bytes;
    size_t size;
};

static struct file trace, lanes; /* as the process left them */
static struct file damaged;      /* the lanes, about to be salvaged; same capacity as `lanes` */

/* ---- files ------------------------------------------------------------------------------------
 */

static struct file load_file(const char *path)
{
    struct file file = {0};
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd < 0 || fstat(fd, &st) != 0)
        abort();
    file.size = (size_t)st.st_size;
    file.bytes = malloc(file.size);
    if (!file.bytes || read(fd, file.bytes, file.size) != st.st_size)
        abort();
    close(fd);
    return file;
}

/* Pages of zeros stay holes: the rings are mostly empty. */
static void store_file(const char *path, const struct file *file)
{
    static const uint8_t zeros[4096];
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    if (fd < 0 || ftruncate(fd, (off_t)file->size) != 0)
        abort();
    for (size_t at = 0; at < file->size; at += sizeof(zeros)) {
        size_t size = file->size - at < sizeof(zeros) ? file->size - at : sizeof(zeros);
        if (memcmp(file->bytes + at, zeros, size) != 0 &&
            pwrite(fd, file->bytes + at, size, (off_t)at) != (ssize_t)size)
            abort();
    }
    close(fd);
}

/* ---- the recording ----------------------------------------------------------------------------
 */

static uint32_t *ready;

static void *work(void *argument)
{
    uint64_t index = (uint64_t)(uintptr_t)argument;
    uint8_t payload[300];

    for (uint64_t i = 0; i < LAUNCHES; i++) {
        fake_launch((unsigned)index, index << 32 | i, i % 50 ? "kernel" : "kernel_other");
        memset(payload, (int)i, sizeof(payload));
        if (i % 20 == 0)
            fake_copy_in((unsigned)index, 0x1000, payload, sizeof(payload));
    }
    __atomic_add_fetch(ready, 1, __ATOMIC_SEQ_CST);
    pause();
    return NULL;
}

static void record(void)
{
    pthread_t thread;

    for (uintptr_t i = 0; i < THREADS; i++)
        pthread_create(&thread, NULL, work, (void *)i);
    for (;;)
        pause();
}

static const struct tsm_lanes_header *header_of(const struct file *file)
{
    return (const struct tsm_lanes_header *)(const void *)file->bytes;
}

static size_t lane_at(uint32_t index)
{
    const struct tsm_lanes_header *h = header_of(&lanes);

    return TSM_LANES_HEADER_SIZE + (index ? TSM_LANE_HEADER_SIZE + h->first_lane_size +
                                                (index - 1) * (TSM_LANE_HEADER_SIZE + h->lane_size)
                                          : 0);
}

static const struct tsm_lane_header *lane_header(uint32_t index)
{
    return (const struct tsm_lane_header *)(const void *)(lanes.bytes + lane_at(index));
}

static uint64_t flushed_of(uint32_t index)
{
    return lane_header(index)->flushed[header_of(&lanes)->flush_epoch & 1];
}

/* Killed while most of it is still in the lanes only; false: the drain thread was faster. */
static bool crash_once(void)
{
    pid_t child;

    unlink(PATH);
    unlink(LANES);
    __atomic_store_n(ready, 0, __ATOMIC_SEQ_CST);
    child = fork();
    if (child == 0)
        record();
    while (__atomic_load_n(ready, __ATOMIC_SEQ_CST) < THREADS)
        usleep(1000);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    free(trace.bytes);
    free(lanes.bytes);
    trace = load_file(PATH);
    lanes = load_file(LANES);
    for (uint32_t i = 1; i <= THREADS; i++) {
        if (lane_header(i)->head - flushed_of(i) < 1000)
            return false;
    }
    return true;
}

/* ---- what has to be there ---------------------------------------------------------------------
 */

struct seen {
    bool launch[THREADS][LAUNCHES];
};

static void visit(struct sbt_reader *reader, const struct sbt_record *r, void *user)
{
    struct seen *seen = user;
    uint64_t index = r->slots[1] >> 32, i = r->slots[1] & 0xffffffff;

    if (index < THREADS && i < LAUNCHES)
        seen->launch[index][i] = true;
}

/* Launches of a lane in whole entries before ring offset `end` (as the process left it). */
static void expect_lane(struct seen *seen, uint32_t lane, uint64_t end)
{
    const uint8_t *ring = lanes.bytes + lane_at(lane) + TSM_LANE_HEADER_SIZE;
    uint64_t at = flushed_of(lane), head = lane_header(lane)->head;

    while (at < head) {
        const struct tsm_record_entry *r =
            (const struct tsm_record_entry *)(const void *)(ring + at);
        const uint64_t *slots = (const uint64_t *)(const void *)(r + 1);

        if (at + r->entry.size > end)
            break;
        if (r->entry.kind == TSM_ENTRY_RECORD && r->type == SBT_TYPE(7, FAKE_LAUNCH))
            seen->launch[slots[1] >> 32][slots[1] & 0xffffffff] = true;
        at += r->entry.size;
    }
}

/* Returns what salvage did; `seen` is what is in the trace then. */
static int salvage(struct tsm_salvage_result *result, struct seen *seen, uint64_t *lost)
{
    struct sbt_reader *reader;
    int done = tsm_salvage(PATH, result);

    memset(seen, 0, sizeof(*seen));
    *lost = 0;
    if (done < 0) {
        CHECK(tsm_error_message()[0] != '\0');
        return done;
    }
    reader = fake_open(PATH);
    fake_each(reader, SBT_TYPE(7, FAKE_LAUNCH), visit, seen);
    *lost = sbt_reader_totals(reader)->lost_count;
    sbt_reader_destroy(reader);
    return done;
}

static void check_all_there(const struct seen *wanted, const struct seen *found)
{
    for (unsigned t = 0; t < THREADS; t++) {
        for (unsigned i = 0; i < LAUNCHES && !check_failures; i++) {
            if (wanted->launch[t][i] && !CHECK(found->launch[t][i]))
                fprintf(stderr, "launch %u of thread %u is missing\n", i, t);
        }
    }
}

/* ---- damage -----------------------------------------------------------------------------------
 */

static uint64_t below(uint64_t end)
{
    return ((uint64_t)random() << 31 | (uint64_t)random()) % (end ? end : 1);
}

static void scribble(uint8_t *at, size_t left)
{
    size_t count = 1 + below(left < 40 ? left : 40);

    switch (below(4)) {
    case 0:
        *at ^= (uint8_t)(1u << below(8));
        break;
    case 1:
        memset(at, 0, count);
        break;
    case 2:
        memset(at, 0xff, count);
        break;
    default:
        for (size_t i = 0; i < count; i++)
            at[i] = (uint8_t)random();
    }
}

static void reset(void)
{
    memcpy(damaged.bytes, lanes.bytes, lanes.size);
    damaged.size = lanes.size;
    store_file(PATH, &trace);
}

/* In what one lane holds that is not in the trace yet. */
static void damage_ring(void)
{
    struct seen wanted = {0}, found;
    struct tsm_salvage_result result;
    uint32_t lane = (uint32_t)below(THREADS + 1);
    uint64_t from = flushed_of(lane), place = from + below(lane_header(lane)->head - from), lost;

    reset();
    scribble(damaged.bytes + lane_at(lane) + TSM_LANE_HEADER_SIZE + place,
             lane_header(lane)->head - place);
    store_file(LANES, &damaged);
    for (uint32_t i = 1; i <= THREADS; i++)
        expect_lane(&wanted, i, i == lane ? place : UINT64_MAX);
    CHECK_EQ_INT(salvage(&result, &found, &lost), 1);
    check_all_there(&wanted, &found);
    CHECK_EQ_INT(lost, result.torn_count);
    CHECK(access(LANES, F_OK) != 0);
}

/* In a header, or anywhere; or the file is cut or longer. */
static void damage_anything(void)
{
    struct tsm_salvage_result result;
    struct seen found;
    uint64_t lost, at;

    reset();
    switch (below(4)) {
    case 0:
        at = below(sizeof(struct tsm_lanes_header));
        scribble(damaged.bytes + at, sizeof(struct tsm_lanes_header) - at);
        break;
    case 1:
        at = below(sizeof(struct tsm_lane_header));
        scribble(damaged.bytes + lane_at((uint32_t)below(THREADS + 1)) + at,
                 sizeof(struct tsm_lane_header) - at);
        break;
    case 2:
        damaged.size = below(lanes.size);
        break;
    default:
        damaged.size = lanes.size + below(10000);
        memset(damaged.bytes + lanes.size, (int)below(256), damaged.size - lanes.size);
    }
    store_file(LANES, &damaged);
    salvage(&result, &found, &lost);
}

/* The rule, at one known place: an entry that says that it has no size. */
static void test_torn_place(void)
{
    struct seen wanted = {0}, found;
    struct tsm_salvage_result result;
    uint64_t place = flushed_of(2), head = lane_header(2)->head, lost;
    uint8_t *ring = damaged.bytes + lane_at(2) + TSM_LANE_HEADER_SIZE;
    unsigned kept = 0;

    reset();
    while (place < (flushed_of(2) + head) / 2)
        place += ((const struct tsm_entry *)(const void *)(ring + place))->size;
    memset(ring + place, 0, 4);
    store_file(LANES, &damaged);
    expect_lane(&wanted, 2, place);
    for (unsigned t = 0; t < THREADS; t++) {
        for (unsigned i = 0; i < LAUNCHES; i++)
            kept += wanted.launch[t][i];
    }
    CHECK(kept > 10);
    expect_lane(&wanted, 1, UINT64_MAX);
    expect_lane(&wanted, 3, UINT64_MAX);
    CHECK_EQ_INT(salvage(&result, &found, &lost), 1);
    CHECK_EQ_INT(result.torn_count, 1);
    CHECK_EQ_INT(lost, 1);
    check_all_there(&wanted, &found);
}

/* A salvage that is cut off itself, here by a full disk, is done again, and nothing comes twice. */
static void test_interrupted(unsigned count)
{
    struct tsm_salvage_result result;
    struct seen whole, found;
    uint64_t lost;

    reset();
    store_file(LANES, &damaged);
    CHECK_EQ_INT(salvage(&result, &whole, &lost), 1);
    struct file good = load_file(PATH);
    signal(SIGXFSZ, SIG_IGN);
    for (unsigned i = 0; i < count && !check_failures; i++) {
        struct rlimit before, limit;

        reset();
        store_file(LANES, &damaged);
        getrlimit(RLIMIT_FSIZE, &before);
        limit = before;
        limit.rlim_cur = trace.size + below(good.size - trace.size);
        setrlimit(RLIMIT_FSIZE, &limit);
        CHECK(tsm_salvage(PATH, &result) < 0);
        setrlimit(RLIMIT_FSIZE, &before);
        CHECK_EQ_INT(salvage(&result, &found, &lost), 1);
        CHECK_EQ_MEM(&found, &whole, sizeof(found));
        CHECK_EQ_INT(lost, 0);
        struct sbt_reader *reader = fake_open(PATH);
        CHECK_EQ_INT(fake_check(reader), THREADS * LAUNCHES);
        sbt_reader_destroy(reader);
    }
    free(good.bytes);
}

int main(int argc, char **argv)
{
    long count = argc > 1 ? atol(argv[1]) : 300;
    unsigned attempts = 0;

    fake_begin(PATH);
    setenv("TS_LANE_SIZE", "1M", 1);
    ready = mmap(NULL, sizeof(*ready), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    while (!crash_once()) {
        if (++attempts == 20)
            return CHECK(!"a crash with full lanes") ? 0 : 1;
    }
    damaged.bytes = malloc(lanes.size + 10000);
    srandom((unsigned)(argc > 2 ? atol(argv[2]) : 1));
    test_torn_place();
    test_interrupted(20);
    for (long i = 0; i < count && !check_failures; i++) {
        if (i % 2)
            damage_ring();
        else
            damage_anything();
        if (check_failures)
            fprintf(stderr, "iteration %ld\n", i);
    }
    unlink(PATH);
    unlink(LANES);
    return check_result();
}
