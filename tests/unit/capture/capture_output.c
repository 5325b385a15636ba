/* SPDX-License-Identifier: Apache-2.0
 *
 * Tests the names of a trace, and failures to write it: one line on stderr, capture off, the
 * program unchanged. A program that closes all its descriptors loses nothing and is not written to.
 */
#include "capture/lane/salvage.h"
#include "tests/unit/capture/capture_fake.h"
#include "tests/unit/check.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATH "capture_output.sbt"

/* Random, so that nothing of it is saved by compression or by being known. */
static uint8_t noise[1 << 20];

static void make_noise(unsigned seed)
{
    uint64_t state = seed * 0x9e3779b97f4a7c15u + 1;

    for (size_t i = 0; i < sizeof(noise); i += 8) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        memcpy(noise + i, &state, 8);
    }
}

static void few(void *unused)
{
    for (unsigned i = 0; i < 10; i++)
        fake_launch(0, i, "kernel");
}

static void much(void *unused)
{
    for (unsigned i = 0; i < 64; i++) {
        make_noise(i + 1);
        fake_copy_in(0, 0, noise, sizeof(noise));
    }
}

static uint64_t launches(const char *path)
{
    struct sbt_reader *reader = fake_open(path);
    uint64_t count = fake_check(reader);

    sbt_reader_destroy(reader);
    return count;
}

/* Lines that `body` makes capture write on stderr. */
static unsigned lines_said(void (*body)(void *))
{
    char text[4096];
    ssize_t got, used = 0;
    unsigned lines = 0;
    int pipe_fds[2], saved = dup(STDERR_FILENO);

    if (pipe2(pipe_fds, O_CLOEXEC) != 0)
        abort();
    dup2(pipe_fds[1], STDERR_FILENO);
    fake_run(body, NULL);
    dup2(saved, STDERR_FILENO);
    close(saved);
    close(pipe_fds[1]);
    while ((got = read(pipe_fds[0], text + used, sizeof(text) - 1 - (size_t)used)) > 0)
        used += got;
    close(pipe_fds[0]);
    for (ssize_t i = 0; i < used; i++)
        lines += text[i] == '\n';
    if (lines != 1)
        fprintf(stderr, "said: %.*s\n", (int)used, text);
    return lines;
}

static void test_replacing(void)
{
    FILE *file;
    char text[16] = "";

    fake_begin(PATH);
    fake_run(few, NULL);
    usleep(20000);
    fake_run(few, NULL); /* a second run replaces the trace of the first */
    CHECK_EQ_INT(launches(PATH), 10);
    CHECK(access("capture_output.1.sbt", F_OK) != 0);

    fake_begin(PATH);
    file = fopen(PATH, "w");
    fputs("my diary", file);
    fclose(file);
    CHECK_EQ_INT(lines_said(few), 1);
    file = fopen(PATH, "r");
    CHECK(fgets(text, sizeof(text), file) != NULL);
    fclose(file);
    CHECK_EQ_STR(text, "my diary");
    CHECK(access(PATH ".lanes", F_OK) != 0);
    fake_begin(PATH);

    setenv("TS_OUTPUT", "/nowhere/at/all.sbt", 1);
    CHECK_EQ_INT(lines_said(few), 1);
    setenv("TS_OUTPUT", "/dev/null", 1);
    CHECK_EQ_INT(lines_said(few), 1);
}

/* From the start too small, and too small later. */
static void small_start(void *unused)
{
    struct rlimit limit = {1 << 20, 1 << 20};

    setrlimit(RLIMIT_FSIZE, &limit);
    few(NULL);
}

static void small_later(void *unused)
{
    struct rlimit limit = {24 << 20, 24 << 20};

    setrlimit(RLIMIT_FSIZE, &limit);
    much(NULL);
}

static void test_limits(void)
{
    struct tsm_salvage_result result;

    fake_begin(PATH);
    CHECK_EQ_INT(lines_said(small_start), 1);
    CHECK(access(PATH, F_OK) != 0);
    fake_begin(PATH);
    CHECK_EQ_INT(lines_said(small_later), 1);
    CHECK_EQ_INT(tsm_salvage(PATH, &result), 1); /* now there is room */
    CHECK_EQ_INT(launches(PATH), 0);
}

/* A disk of 24 MiB, where we are allowed to mount one. */
static void full_disk(void *unused)
{
    if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
        return;
    mkdir("capture_disk", 0777);
    if (mount("none", "capture_disk", "tmpfs", 0, "size=24m") != 0)
        return;
    setenv("TS_OUTPUT", "capture_disk/t.sbt", 1);
    much(NULL);
    for (unsigned i = 0; i < 100000; i++)
        fake_launch(0, i, "kernel");
}

static void closes_all(void *unused)
{
    int fd;

    few(NULL);
    tsm_session_flush();
    for (int i = 3; i < 4096; i++)
        close(i);
    fd = open("capture_output.txt", O_RDWR | O_CREAT | O_TRUNC, 0666);
    for (int i = 0; i < 100; i++)
        dup(fd);
    few(NULL);
    tsm_session_flush();
    if (!CHECK_EQ_INT(lseek(fd, 0, SEEK_END), 0))
        fprintf(stderr, "fd %d: %s\n", fd, strerror(errno));
}

static void test_closing(void)
{
    struct sbt_reader *reader;

    fake_begin(PATH);
    fake_run(closes_all, NULL);
    reader = fake_open(PATH);
    CHECK_EQ_INT(fake_each(reader, SBT_TYPE(7, FAKE_LAUNCH), NULL, NULL), 20);
    CHECK_EQ_INT(sbt_reader_end(reader), SBT_END_FINISHED);
    sbt_reader_destroy(reader);
}

int main(void)
{
    int status;

    test_replacing();
    test_limits();
    status = fake_run(full_disk, NULL);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    test_closing();
    return check_result();
}
