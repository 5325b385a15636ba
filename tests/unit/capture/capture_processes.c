/* SPDX-License-Identifier: Apache-2.0
 *
 * fork: a trace each, the parent's lanes untouched by the child. vfork: the child may flush and
 * finish without touching its parent's session. A killed child loses nothing to its brothers. exec
 * that fails: a second trace. Ten thousand threads: lanes are used again.
 */
#include "capture/lane/salvage.h"
#include "tests/unit/capture/capture_fake.h"
#include "tests/unit/check.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static void launch(unsigned count, uint64_t value)
{
    for (unsigned i = 0; i < count; i++)
        fake_launch(0, value, "kernel");
}

static uint64_t count_in(const char *path)
{
    struct sbt_reader *reader = fake_open(path);
    uint64_t count = fake_check(reader);

    CHECK_EQ_INT(sbt_reader_end(reader), SBT_END_FINISHED);
    sbt_reader_destroy(reader);
    return count;
}

static void forks(void *unused)
{
    pid_t child;
    int status;

    launch(10, 1);
    child = fork();
    if (child == 0) {
        launch(5, 2);
        tsm_session_finish();
        _exit(0);
    }
    tsm_session_forked(child);
    launch(10, 1);
    waitpid(child, &status, 0);
    child = fork(); /* one that records nothing leaves no trace */
    if (child == 0) {
        tsm_session_finish();
        _exit(0);
    }
    waitpid(child, &status, 0);
    child = fork(); /* its brother's trace is not replaced */
    if (child == 0) {
        launch(3, 2);
        tsm_session_finish();
        _exit(0);
    }
    waitpid(child, &status, 0);
    launch(1, 1);
}

static void test_fork(void)
{
    struct sbt_reader *reader;

    fake_begin("capture_fork.sbt");
    unlink("capture_fork.1.sbt");
    unlink("capture_fork.2.sbt");
    unlink("capture_fork.3.sbt");
    fake_run(forks, NULL);
    CHECK_EQ_INT(count_in("capture_fork.sbt"), 21);
    CHECK_EQ_INT(count_in("capture_fork.1.sbt"), 5);
    CHECK_EQ_INT(count_in("capture_fork.2.sbt"), 3);
    CHECK(access("capture_fork.3.sbt", F_OK) != 0);
    reader = fake_open("capture_fork.sbt");
    CHECK_EQ_INT(fake_each(reader, SBT_TYPE(0, SBT_CORE_FORK), NULL, NULL), 1);
    sbt_reader_destroy(reader);
}

/* A child that is killed; its brother must touch neither its trace nor its lanes. */
static void one_is_killed(void *unused)
{
    launch(1, 1); /* what makes them brothers */
    for (int i = 0; i < 2; i++) {
        pid_t child = fork();
        if (child == 0) {
            launch(i ? 3 : 7, 2);
            if (i == 0)
                raise(SIGKILL);
            tsm_session_finish();
            _exit(0);
        }
        waitpid(child, NULL, 0);
    }
}

static void test_killed_brother(void)
{
    struct tsm_salvage_result result;
    struct sbt_reader *reader;

    fake_begin("capture_killed.sbt");
    unlink("capture_killed.1.sbt");
    unlink("capture_killed.2.sbt");
    fake_run(one_is_killed, NULL);
    CHECK_EQ_INT(count_in("capture_killed.2.sbt"), 3);
    CHECK_EQ_INT(tsm_salvage("capture_killed.1.sbt", &result), 1);
    reader = fake_open("capture_killed.1.sbt");
    CHECK_EQ_INT(fake_check(reader), 7);
    sbt_reader_destroy(reader);
}

static void vforks(void *unused)
{
    pid_t child;

    launch(10, 1);
    child = vfork();
    if (child == 0) {
        tsm_session_flush();
        tsm_session_finish();
        _exit(0);
    }
    waitpid(child, NULL, 0);
    launch(10, 1);
}

static void exec_fails(void *unused)
{
    launch(4, 1);
    tsm_session_finish();
    tsm_session_exec_failed();
    launch(6, 1);
}

/* Each trace of a process has a name of its own, also of one that has run for less time than a tick
 * of those in which the kernel tells when it began. */
static void test_exec(void)
{
    fake_begin("capture_exec.sbt");
    for (int i = 0; i < 40; i++) {
        unlink("capture_exec.1.sbt");
        fake_run(exec_fails, NULL);
        CHECK_EQ_INT(count_in("capture_exec.sbt"), 4);
        CHECK_EQ_INT(count_in("capture_exec.1.sbt"), 6);
    }
}

static void *short_thread(void *unused)
{
    launch(2, 1);
    return NULL;
}

static void many_threads(void *unused)
{
    pthread_t threads[50];

    for (int round = 0; round < 200; round++) {
        for (int i = 0; i < 50; i++)
            if (pthread_create(&threads[i], NULL, short_thread, NULL) != 0)
                abort();
        for (int i = 0; i < 50; i++)
            pthread_join(threads[i], NULL);
    }
}

static pthread_barrier_t all_there;

static void *waiting_thread(void *unused)
{
    launch(1, 1);
    pthread_barrier_wait(&all_there);
    launch(1, 1);
    return NULL;
}

/* All alive at once. */
static void crowd(void *unused)
{
    enum { COUNT = 600 };
    static pthread_t threads[COUNT];
    pthread_attr_t small;

    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 256 << 10);
    pthread_barrier_init(&all_there, NULL, COUNT);
    for (int i = 0; i < COUNT; i++)
        if (pthread_create(&threads[i], &small, waiting_thread, NULL) != 0)
            abort();
    for (int i = 0; i < COUNT; i++)
        pthread_join(threads[i], NULL);
}

static void test_threads(void)
{
    struct sbt_reader *reader;

    fake_begin("capture_threads.sbt");
    setenv("TS_LANE_SIZE", "256K", 1);
    fake_run(many_threads, NULL);
    CHECK_EQ_INT(count_in("capture_threads.sbt"), 20000);
    reader = fake_open("capture_threads.sbt");
    CHECK_EQ_INT(fake_each(reader, SBT_TYPE(0, SBT_CORE_THREAD), NULL, NULL), 10000);
    sbt_reader_destroy(reader);
    fake_run(crowd, NULL);
    CHECK_EQ_INT(count_in("capture_threads.sbt"), 1200);
    unsetenv("TS_LANE_SIZE");
}

int main(void)
{
#ifdef __SANITIZE_THREAD__
    return 77; /* it does not know threads that a forked child starts */
#endif
    test_fork();
    test_killed_brother();
    fake_begin("capture_vfork.sbt");
    fake_run(vforks, NULL);
    CHECK_EQ_INT(count_in("capture_vfork.sbt"), 20);
    test_exec();
    test_threads();
    return check_result();
}
