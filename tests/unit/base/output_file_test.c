/* SPDX-License-Identifier: Apache-2.0
 *
 * Files that tools write: 0600 whatever the umask, never through a link, whole or not at all, the
 * old one is kept after an error; devices and pipes as they are.
 */
#include "base/file.h"
#include "base/output_file.h"
#include "tests/unit/check.h"

#include <fcntl.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATH  "output_file_test.out"
#define OTHER "output_file_test.other"

static void put(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);

    if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
        abort();
    close(fd);
}

static bool holds(const char *path, const char *text)
{
    char got[64] = "";
    int fd = open(path, O_RDONLY | O_NONBLOCK);
    ssize_t size = fd < 0 ? -1 : read(fd, got, sizeof(got) - 1);

    if (fd >= 0)
        close(fd);
    return size == (ssize_t)strlen(text) && memcmp(got, text, strlen(text)) == 0;
}

static mode_t mode_of(const char *path)
{
    struct stat st;

    return lstat(path, &st) == 0 ? st.st_mode & 07777 : 0;
}

static void check_nothing_left(void)
{
    glob_t found;

    CHECK(glob(PATH ".*", 0, NULL, &found) == GLOB_NOMATCH);
    globfree(&found);
}

/* Each way to write: 0 at once, 1 bit by bit, 2 appended. */
static int write_by(int way, const char *path, const char *text)
{
    const char *why = NULL;
    int fd;

    if (way == 0)
        return tsm_output_file_put(path, text, strlen(text));
    fd = way == 1 ? tsm_file_output(path, &why) : tsm_file_append(path, &why);
    if (fd < 0) {
        CHECK(why != NULL);
        return -1;
    }
    CHECK(write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    close(fd);
    return 0;
}

static void one(int way)
{
    unlink(PATH);
    CHECK_EQ_INT(write_by(way, PATH, "new"), 0);
    CHECK(holds(PATH, "new") && mode_of(PATH) == 0600);
    unlink(PATH);
    put(PATH, "old");
    CHECK_EQ_INT(write_by(way, PATH, "new"), 0);
    CHECK(holds(PATH, way == 2 ? "oldnew" : "new"));
    CHECK(way == 2 || mode_of(PATH) == 0600);

    unlink(PATH);
    put(OTHER, "diary");
    CHECK_EQ_INT(symlink(OTHER, PATH), 0);
    CHECK(write_by(way, PATH, "new") < 0);
    CHECK(holds(OTHER, "diary"));
    unlink(OTHER);
    CHECK(write_by(way, PATH, "new") < 0);
    CHECK(access(OTHER, F_OK) != 0);
    unlink(PATH);

    put(OTHER, "diary");
    CHECK_EQ_INT(link(OTHER, PATH), 0);
    CHECK_EQ_INT(write_by(way == 2 ? 0 : way, PATH, "new"), 0);
    CHECK(holds(OTHER, "diary") && holds(PATH, "new"));
    unlink(PATH);
    unlink(OTHER);

    CHECK_EQ_INT(mkdir(PATH, 0700), 0);
    CHECK(write_by(way, PATH, "new") < 0);
    rmdir(PATH);
    put(PATH, "theirs");
    if (chown(PATH, 65534, 65534) == 0) {
        CHECK(write_by(way, PATH, "new") < 0);
        CHECK(holds(PATH, "theirs"));
    }
    unlink(PATH);
    CHECK_EQ_INT(write_by(way, "/dev/null", "new"), 0);
    CHECK_EQ_INT(write_by(way, "/dev/stderr", "said on standard error\n"), 0);
    CHECK(write_by(way, "/nowhere/at/all", "new") < 0);
    check_nothing_left();
}

/* Files in /dev that anybody may make are as all others: a link, another user's file or pipe. */
static void test_shared_memory(int way)
{
    static const char path[] = "/dev/shm/output_file_test.out";
    char target[PATH_MAX];

    if (access("/dev/shm", W_OK) != 0)
        return;
    unlink(path);
    put(path, "old and long");
    CHECK_EQ_INT(write_by(way, path, "new"), 0);
    CHECK(holds(path, way == 2 ? "old and longnew" : "new"));
    unlink(path);
    put(OTHER, "other");
    CHECK(realpath(OTHER, target) != NULL);
    CHECK_EQ_INT(symlink(target, path), 0);
    CHECK(write_by(way, path, "new") < 0);
    CHECK(holds(OTHER, "other"));
    unlink(path);
    CHECK_EQ_INT(mkfifo(path, 0666), 0);
    if (chown(path, 65534, 65534) == 0) {
        int reader = open(path, O_RDONLY | O_NONBLOCK);
        CHECK(write_by(way, path, "new") < 0);
        close(reader);
    }
    unlink(path);
    unlink(OTHER);
}

/* A descriptor is written to where it is, whatever else is in its file. */
static void test_descriptor(int way)
{
    static const char *const names[] = {"/dev/fd/77", "/proc/self/fd/77"};

    for (size_t i = 0; i < 2; i++) {
        put(PATH, "before ");
        int fd = open(PATH, O_WRONLY | O_APPEND);
        CHECK(dup2(fd, 77) == 77);
        CHECK_EQ_INT(write_by(way, names[i], "new"), 0);
        CHECK(holds(PATH, "before new"));
        close(fd);
        close(77);
        CHECK(write_by(way, names[i], "new") < 0);
        unlink(PATH);
    }
}

static void test_failure(void)
{
    struct tsm_output_file out;

    put(PATH, "old");
    CHECK_EQ_INT(tsm_output_file_begin(&out, PATH), 0);
    fputs("half", out.file);
    CHECK(holds(PATH, "old"));
    CHECK(tsm_output_file_end(&out, true) < 0);
    CHECK(holds(PATH, "old"));
    if (access("/dev/full", F_OK) == 0)
        CHECK(tsm_output_file_put("/dev/full", "new", 3) < 0);
    check_nothing_left();
    unlink(PATH);
}

int main(void)
{
    umask(0);
    for (int way = 0; way < 3; way++) {
        one(way);
        test_shared_memory(way);
        test_descriptor(way);
    }
    test_failure();
    return check_result();
}
