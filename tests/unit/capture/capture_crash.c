/* SPDX-License-Identifier: Apache-2.0
 *
 * SIGKILL at any point: what was committed is in the trace after salvage, once and in order.
 * Argument: how many times (default 40; scripts run 1000).
 */
#include "capture/lane/salvage.h"
#include "tests/unit/capture/capture_fake.h"
#include "tests/unit/check.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define THREADS 3
#define PATH    "capture_crash.sbt"

/* Progress of a thread so far, in memory that outlives it. */
struct progress {
    uint64_t committed; /* launches whose wrapper returned */
    uint64_t padding[7];
};

static struct progress *progress;

static void *work(void *argument)
{
    unsigned index = (unsigned)(uintptr_t)argument;
    static uint8_t payload[THREADS][100000];

    for (uint64_t i = 0;; i++) {
        fake_launch((unsigned)((i + index) % 3), (uint64_t)index << 32 | i,
                    i % 1000 ? "kernel" : "kernel_thousand");
        __atomic_store_n(&progress[index].committed, i + 1, __ATOMIC_RELEASE);
        if (i % 500 == 0) {
            memcpy(payload[index] + i % 90000, &i, sizeof(i));
            fake_copy_in(3 + index, 0, payload[index], sizeof(payload[index]));
        }
        if (i % 10 == 0)
            fake_destroy(fake_create());
    }
    return NULL;
}

static void run_forever(void)
{
    pthread_t thread;

    for (uintptr_t i = 0; i < THREADS; i++)
        pthread_create(&thread, NULL, work, (void *)i);
    for (;;)
        pause();
}

struct found {
    uint64_t next[THREADS];
    uint64_t unfinished;
};

static void visit(struct sbt_reader *reader, const struct sbt_record *r, void *user)
{
    struct found *found = user;
    unsigned index = (unsigned)(r->slots[1] >> 32);

    if (r->flags & SBT_RECORD_UNFINISHED) {
        found->unfinished++;
        return;
    }
    if (index < THREADS && (r->slots[1] & 0xffffffff) != found->next[index])
        CHECK_EQ_INT(r->slots[1] & 0xffffffff, found->next[index]);
    found->next[index < THREADS ? index : 0]++;
}

static void check_trace(int done, const struct tsm_salvage_result *result)
{
    struct found found = {{0}, 0};
    struct sbt_reader *reader;

    if (result->unbegun || access(PATH, F_OK) != 0) { /* killed before: nothing was recorded */
        CHECK(access(PATH, F_OK) != 0);
        CHECK(access(PATH ".new", F_OK) != 0);
        for (int i = 0; i < THREADS; i++)
            CHECK_EQ_INT(progress[i].committed, 0);
        return;
    }
    reader = fake_open(PATH);
    CHECK_EQ_INT(done, 1);
    CHECK_EQ_INT(sbt_reader_end(reader), SBT_END_RECOVERED);
    fake_each(reader, SBT_TYPE(7, FAKE_LAUNCH), visit, &found);
    for (int i = 0; i < THREADS; i++) {
        CHECK(found.next[i] >= progress[i].committed);
        CHECK(found.next[i] <= progress[i].committed + 1);
    }
    CHECK(found.unfinished <= result->unfinished_count);
    CHECK_EQ_INT(result->torn_count, 0);
    sbt_reader_destroy(reader);
}

/* Changes the files before the salvage in ways that cost no record. */
static void meddle(long how)
{
    uint64_t lost;

    if (access(PATH, F_OK) != 0 || how == 0)
        return;
    if (how == 1) { /* a repair leaves alone what has lanes beside it */
        CHECK_EQ_INT(sbt_repair(PATH, &lost), TSM_E_STATE);
    } else if (how == 2) { /* one that did not see them writes a trailer, which is not believed */
        CHECK_EQ_INT(rename(PATH ".lanes", PATH ".away"), 0);
        CHECK_EQ_INT(sbt_repair(PATH, &lost), 1);
        CHECK_EQ_INT(rename(PATH ".away", PATH ".lanes"), 0);
    } else { /* descriptions that were begun and never written */
        int fd = open(PATH ".types", O_WRONLY | O_CREAT | O_TRUNC, 0600);
        CHECK(fd >= 0);
        close(fd);
    }
}

static void one(long delay_ns, long how)
{
    struct timespec delay = {0, delay_ns};
    struct tsm_salvage_result result = {0};
    pid_t child;
    int done;

    memset(progress, 0, THREADS * sizeof(*progress));
    unlink(PATH);
    unlink(PATH ".lanes");
    unlink(PATH ".new");
    child = fork();
    if (child == 0)
        run_forever();
    nanosleep(&delay, NULL);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    meddle(how);
    done = tsm_salvage(PATH, &result);
    if (!CHECK(done >= 0))
        fprintf(stderr, "%s\n", tsm_error_message());
    CHECK(!result.running);
    if (done >= 0)
        check_trace(done, &result);
    CHECK(access(PATH ".lanes", F_OK) != 0 && access(PATH ".types", F_OK) != 0);
    if (check_failures)
        fprintf(stderr, "killed after %ld ns, then %ld\n", delay_ns, how);
}

int main(int argc, char **argv)
{
    long count = argc > 1 ? atol(argv[1]) : 40;

    fake_begin(PATH);
    setenv("TS_LANE_SIZE", "256K", 1);
    progress = mmap(NULL, THREADS * sizeof(*progress), PROT_READ | PROT_WRITE,
                    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    srandom((unsigned)(argc > 2 ? atol(argv[2]) : 1));
    for (long i = 0; i < count && !check_failures; i++)
        one(i % 4 == 0 ? random() % 5000000 : random() % 60000000, i / 2 % 4);
    return check_result();
}
