/* SPDX-License-Identifier: Apache-2.0
 *
 * A user who may start only a few more threads (RLIMIT_NPROC): they are the program's. With enough
 * of them it is recorded.
 */
#include "base/text.h"
#include "tests/unit/capture/capture_fake.h"
#include "tests/unit/check.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define USER 54321u /* has no other processes */

static unsigned limit;
static pthread_barrier_t at_once;

static void *wait_there(void *unused)
{
    pthread_barrier_wait(&at_once);
    return NULL;
}

/* The first call comes with one thread, then as many are started as the limit allows without us. */
static void body(void *unused)
{
    struct rlimit all = {limit, limit};
    unsigned count = limit < 9 ? limit - 1 : limit - 3;
    pthread_t threads[64];

    if (setrlimit(RLIMIT_NPROC, &all) != 0 || setresuid(USER, USER, USER) != 0)
        _exit(9);
    fake_launch(0, 1, "kernel");
    pthread_barrier_init(&at_once, NULL, count + 1);
    for (unsigned i = 0; i < count; i++) {
        int error = pthread_create(&threads[i], NULL, wait_there, NULL);
        if (error) {
            fprintf(stderr, "limit %u, thread %u: error %d\n", limit, i, error);
            _exit(8);
        }
    }
    pthread_barrier_wait(&at_once);
    for (unsigned i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
    fake_launch(0, 2, "kernel");
}

int main(void)
{
    char folder[] = "/tmp/ts-last-threads.XXXXXX", path[64];

    if (geteuid() != 0)
        return 77;
    if (!mkdtemp(folder) || chmod(folder, 0777) != 0)
        return 1;
    tsm_format(path, sizeof(path), "%s/t.sbt", folder);
    for (limit = 1; limit < 30; limit++) {
        fake_begin(path);
        CHECK_EQ_INT(fake_run(body, NULL), 0);
        CHECK((access(path, F_OK) == 0) == (limit > 8));
        unlink(path);
    }
    rmdir(folder);
    return check_result();
}
