/* SPDX-License-Identifier: Apache-2.0
 *
 * Somebody else's files under the names that a recording uses: links, pipes, sockets, folders, files of
 * other users and modes, files with something else in them. Neither a recording nor a salvage
 * reads, writes or removes them, and the program runs on. And a lanes file that somebody makes
 * shorter while the program runs: it ends the recording, not the program.
 */
#include "base/text.h"
#include "capture/lane/lane.h"
#include "capture/lane/salvage.h"
#include "format/chunk/chunk.h"
#include "tests/unit/capture/capture_fake.h"
#include "tests/unit/check.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATH   "capture_hostile.sbt"
#define VICTIM "capture_hostile.victim"
#define DIARY  "my diary: today I saw a file that had three names\n"

enum kind { LINK, LOOSE, HARD, PIPE, SOCKET, FOLDER, STRANGER, READABLE, SHARED, OTHER, KIND_COUNT };

static const char *const kind_names[] = {
    "symbolic link", "symbolic link to nothing", "hard link",         "pipe", "socket", "folder",
    "other owner",   "readable by all",          "writable by group", "other content"};
static const char *const suffixes[] = {".lanes", ".new", ".types", ""};

static void put_file(const char *path, const char *text, mode_t mode)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

    if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
        abort();
    fchmod(fd, mode);
    close(fd);
}

static void put_socket(const char *path)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    tsm_format(name.sun_path, sizeof(name.sun_path), "%s", path);
    if (fd < 0 || bind(fd, (struct sockaddr *)&name, sizeof(name)) != 0)
        abort();
    close(fd);
}

static void remove_any(const char *path)
{
    if (unlink(path) != 0)
        rmdir(path);
}

/* Writes the header of a session that runs: only who owns it, and who may open it, differs. */
static void put_header(const char *path, mode_t mode)
{
    static uint8_t page[TSM_LANES_HEADER_SIZE];
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

    memcpy(page, strstr(path, ".lanes") ? TSM_LANES_MAGIC : (const char *)sbt_file_magic, 8);
    page[8] = TSM_LANES_VERSION;
    if (fd < 0 || write(fd, page, sizeof(page)) != (ssize_t)sizeof(page) || fchmod(fd, mode) != 0)
        abort();
    close(fd);
}

/* Plants a file. Returns false if that cannot be done here. */
static bool plant(const char *path, enum kind kind)
{
    remove_any(path);
    put_file(VICTIM, DIARY, 0600);
    switch (kind) {
    case LINK:
        return symlink(VICTIM, path) == 0;
    case LOOSE:
        return symlink("capture_hostile.nothing", path) == 0;
    case HARD:
        return link(VICTIM, path) == 0;
    case PIPE:
        return mkfifo(path, 0600) == 0;
    case SOCKET:
        put_socket(path);
        return true;
    case FOLDER:
        return mkdir(path, 0700) == 0;
    case STRANGER:
        put_header(path, 0600);
        return chown(path, 65534, 65534) == 0;
    case READABLE:
        put_header(path, 0644);
        return true;
    case SHARED:
        put_header(path, 0660);
        return true;
    default:
        put_file(path, DIARY, 0600);
        return true;
    }
}

static bool same(const struct stat *a, const struct stat *b)
{
    return a->st_ino == b->st_ino && a->st_size == b->st_size && a->st_mode == b->st_mode &&
           a->st_nlink == b->st_nlink && a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
           a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

static void check_victim(void)
{
    char text[sizeof(DIARY)] = "";
    int fd = open(VICTIM, O_RDONLY);

    CHECK(fd >= 0 && read(fd, text, sizeof(text)) == (ssize_t)strlen(DIARY));
    CHECK_EQ_STR(text, DIARY);
    CHECK(access("capture_hostile.nothing", F_OK) != 0);
    if (fd >= 0)
        close(fd);
}

static void few(void *unused)
{
    for (unsigned i = 0; i < 10; i++)
        fake_launch(0, i, "kernel");
}

static void clear(void)
{
    for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++) {
        char path[64];
        tsm_format(path, sizeof(path), PATH "%s", suffixes[i]);
        remove_any(path);
    }
    remove_any("capture_hostile.1.sbt");
}

/* A trace that others may read is replaced all the same: it is ours, and a trace. */
static bool may_be_replaced(const char *suffix, enum kind kind)
{
    return !suffix[0] && (kind == READABLE || kind == SHARED);
}

static void record_over(const char *suffix, enum kind kind)
{
    unsigned failures = (unsigned)check_failures;
    struct stat before, after;
    char path[64];

    clear();
    tsm_format(path, sizeof(path), PATH "%s", suffix);
    if (!plant(path, kind) || may_be_replaced(suffix, kind))
        return;
    lstat(path, &before);
    setenv("TS_OUTPUT", PATH, 1);
    CHECK_EQ_INT(fake_run(few, NULL), 0);
    CHECK(lstat(path, &after) == 0 && same(&before, &after));
    check_victim();
    if (suffix[0])
        CHECK(access(PATH, F_OK) != 0);
    if ((unsigned)check_failures != failures)
        fprintf(stderr, "recording beside %s: %s\n", path, kind_names[kind]);
}

static void killed(void *unused)
{
    few(NULL);
    raise(SIGKILL);
}

/* A trace whose program was killed, with what it left beside it taken away. */
static void salvage_over(const char *suffix, enum kind kind)
{
    unsigned failures = (unsigned)check_failures;
    struct tsm_salvage_result result = {0};
    struct stat before, after;
    char path[64];
    int done;

    clear();
    fake_begin(PATH);
    fake_run(killed, NULL);
    tsm_format(path, sizeof(path), PATH "%s", suffix);
    if (!plant(path, kind))
        return;
    lstat(path, &before);
    done = tsm_salvage(PATH, &result);
    if (strcmp(suffix, ".lanes") == 0)
        CHECK(done < 0);
    CHECK(lstat(path, &after) == 0 && same(&before, &after));
    CHECK(access(PATH, F_OK) == 0);
    check_victim();
    if ((unsigned)check_failures != failures)
        fprintf(stderr, "salvage with %s: %s\n", path, kind_names[kind]);
}

/* ---- made shorter ---------------------------------------------------------------------------- */

static off_t cut_to;

static void cut(void *unused)
{
    struct sigaction action;

    for (unsigned i = 0; i < 5000; i++) {
        fake_launch(i % 3, i, "kernel");
        if (i == 1000 && truncate(PATH ".lanes", cut_to) != 0)
            abort();
    }
    /* The program's handler stays the program's. */
    CHECK(sigaction(SIGBUS, NULL, &action) == 0 && !(action.sa_flags & SA_RESETHAND));
}

static void bus_error(void *unused)
{
    few(NULL);
    raise(SIGBUS);
}

static void on_signal(int number)
{
    _exit(77);
}

static void own_handler(void *unused)
{
    signal(SIGBUS, on_signal);
    few(NULL);
    raise(SIGBUS);
}

/* Bus errors outside the lanes have the effect that they have without us. */
static void test_other_bus_errors(void)
{
    int status, failures;

    fake_begin(PATH);
    status = fake_run(bus_error, NULL);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS);
    failures = check_failures;
    status = fake_run(own_handler, NULL);
    check_failures = failures;
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 77);
    clear();
}

static void test_cut(void)
{
    static const off_t sizes[] = {0, 1, 4096, 8192, 65536, 4 << 20, (4 << 20) + 65536};
    struct sigaction action;

    if (sigaction(SIGBUS, NULL, &action) != 0 || action.sa_handler != SIG_DFL)
        return; /* a sanitizer's: then it is the program's own */
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        struct tsm_salvage_result result = {0};
        struct sbt_reader *reader = NULL;

        clear();
        fake_begin(PATH);
        cut_to = sizes[i];
        CHECK_EQ_INT(fake_run(cut, NULL), 0);
        CHECK(tsm_salvage(PATH, &result) >= 0);
        CHECK_EQ_INT(sbt_reader_open(&reader, PATH), 0);
        CHECK(sbt_reader_end(reader) != SBT_END_FINISHED);
        sbt_reader_destroy(reader);
        if (check_failures)
            fprintf(stderr, "made %lld bytes long\n", (long long)cut_to);
    }
    test_other_bus_errors();
}

int main(void)
{
    for (enum kind kind = 0; kind < KIND_COUNT; kind++) {
        for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++)
            record_over(suffixes[i], kind);
        for (size_t i = 0; i < 3; i++)
            salvage_over(suffixes[i], kind);
    }
    clear();
    unlink(VICTIM);
    test_cut();
    return check_result();
}
