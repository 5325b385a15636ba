/* SPDX-License-Identifier: Apache-2.0
 *
 * The files of /proc of other processes as an enemy's process has them, and the lanes file that one
 * of them has mapped: tsctl searches them for a recording, a traced program for its family. Input:
 * two bytes of options, then texts, each with its size (u16): maps, stat, environ, the lanes file.
 * Every process has the same ones.
 *
 * A search ends, whatever a process is called and whoever its parent is; what is printed is
 * printable.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/bytes.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define OUTPUT_MAX    65536u
#define PROCESSES_MAX 12

enum { MAPS, STAT, ENVIRON, LANES, FILE_COUNT };

static int files[FILE_COUNT]; /* in memory; read again and again */
static unsigned opened_count; /* of files */

/* Returns the descriptor of one of the files; -1: there is none of this name. */
static int file_at(const char *path)
{
    static const char *const ends[FILE_COUNT] = {"/maps", "/stat", "/environ", ".lanes"};
    size_t length = strlen(path);

    for (int i = 0; i < FILE_COUNT; i++)
        if (length >= strlen(ends[i]) && strcmp(path + length - strlen(ends[i]), ends[i]) == 0)
            return files[i];
    errno = ENOENT;
    return -1;
}

/* A descriptor of its own: reading begins at the file's start. */
static int open_one(const char *path, int flags, ...)
{
    char name[32];
    int file = file_at(path);

    opened_count++;
    if (file < 0)
        return -1;
    snprintf(name, sizeof(name), "/proc/self/fd/%d", file);
    return openat(AT_FDCWD, name, (flags & O_ACCMODE) | O_CLOEXEC);
}

static FILE *open_stream(const char *path, const char *mode)
{
    int file = open_one(path, O_RDONLY);

    return file < 0 ? NULL : fdopen(file, mode);
}

/* The folder /proc: a few processes. */
static int folder_at;

static DIR *open_folder(const char *path)
{
    folder_at = 0;
    return (DIR *)&folder_at; /* it is not looked into */
}

static struct dirent *read_folder(DIR *folder)
{
    static struct dirent entry;

    snprintf(entry.d_name, sizeof(entry.d_name), "%d", ++folder_at);
    return folder_at <= PROCESSES_MAX ? &entry : NULL;
}

static int close_folder(DIR *folder)
{
    return 0;
}

#define open     open_one
#define fopen    open_stream
#define opendir  open_folder
#define readdir  read_folder
#define closedir close_folder
#include "capture/process/family.c"
#include "tools/cmd/ctl.c"
#include "tools/descendants.c"
#undef open
#undef fopen
#undef opendir
#undef readdir
#undef closedir

void *tsm_memory_map(size_t size)
{
    return calloc(1, size);
}

void tsm_memory_unmap(void *memory, size_t size)
{
    free(memory);
}

static void fill(int file, struct tsm_view *in)
{
    size_t size = tsm_view_u16(in), left = tsm_view_left(in);
    const uint8_t *bytes;

    size = size < left ? size : left;
    bytes = tsm_view_take(in, size);
    if (ftruncate(file, 0) != 0 || (size && pwrite(file, bytes, size, 0) != (ssize_t)size))
        abort();
}

static void check_output(int file)
{
    static char text[OUTPUT_MAX];
    ssize_t size = pread(file, text, sizeof(text), 0);

    for (ssize_t i = 0; i < size; i++)
        if ((text[i] < ' ' && text[i] != '\n') || text[i] == 127)
            abort();
    if (ftruncate(file, 0) != 0 || lseek(file, 0, SEEK_SET) != 0)
        abort();
}

/* Sends what is printed into memory, and makes the files. */
static int redirect(void)
{
    int file = memfd_create("output", MFD_CLOEXEC);

    if (file < 0 || dup2(file, STDOUT_FILENO) < 0)
        abort();
    for (int i = 0; i < FILE_COUNT; i++)
        if ((files[i] = memfd_create("file", MFD_CLOEXEC)) < 0)
            abort();
    return file;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static int output = -1;
    struct tsm_view in = tsm_view_init(data, size);
    const struct ctl_values values = {.json = size && data[0] & 1};
    struct tsm_family family;
    unsigned pids[64];

    if (output < 0)
        output = redirect();
    tsm_view_u16(&in);
    for (int i = 0; i < FILE_COUNT; i++)
        fill(files[i], &in);
    opened_count = 0;
    tsm_family_find(&family);
    if (opened_count > 4 * DEPTH_MAX)
        abort();
    if (tsm_descendants(pids, 64, size > 1 ? data[1] : 1) > 64)
        abort();
    carry_out(&values, &actions[3], (unsigned)getpid());
    fflush(stdout);
    check_output(output);
    return 0;
}
