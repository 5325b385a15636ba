/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs the commands that show a trace, with their options, and checks all that they print: lines of
 * valid UTF-8 without control characters, which could move a terminal's cursor or set its title.
 *
 * Input: a byte that selects a row of `rows`, and a file: a trace, or what a command reads beside a
 * trace. FIRST is a small trace that is always the same.
 */
#include "tests/fuzz/own_trace.h"
#include "tools/command.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define WORD_MAX 8
#define IN       "input" /* in a row */
#define FIRST    "first"
#define FD_IN    200 /* paths in messages are the same in each execution */
#define FD_FIRST 201

static const char *const rows[][WORD_MAX] = {
    {"view", IN},
    {"view", "--stacks", IN},
    {"view", "--kernel", IN},
    {"view", "--json", "--stacks", "--kernel", IN},
    {"view", "--tree", IN},
    {"view", "--tree", "--json", IN},
    {"view", "--calls=*", "--failed", "--range=1:99999", IN},
    {"view", "--streams=0,none", "--limit=9", IN},
    {"info", IN},
    {"info", "--calls", IN},
    {"info", "--json", "--calls", IN},
    {"check", IN},
    {"check", "--json", IN},
    {"shaders", IN},
    {"shaders", "--json", IN},
    {"code", IN},
    {"code", "--json", "--kernel=*a*", IN},
    {"diff", FIRST, IN},
    {"diff", "--ignore-addresses", IN, FIRST},
    {"diff", "--json", IN, FIRST},
    {"diff", IN, IN},
    {"merge", "--list", IN},
    {"merge", "--json", IN},
    {"merge", "--perfetto=-", IN},
    {"merge", "--above=0", IN},
    {"merge", "--list", FIRST, IN},
    {"merge", "--above=0", "--clock=mono", FIRST, IN},
    {"merge", "--json", "--clock=mono", "--above=0", FIRST, IN},
    {"merge", "--perfetto=-", "--clock=mono", FIRST, IN},
    {"view", "--kernel", "--host=/proc/self/fd/200", FIRST},
    {"coverage", IN},
    {"coverage", "--json", IN},
    {"profile", IN},
    {"profile", "--lines", IN},
    {"profile", "--json", IN},
    {"profile", "--folded=-", IN},
    {"profile", "--speedscope=-", IN},
    {"profile", "--perfetto=-", IN},
    {"ioctls", IN},
    {"ioctls", "--summary", IN},
    {"ioctls", "--json", IN},
    {"stats", IN},
    {"stats", "--json", "--by=grid,stream,thread,label,site", IN},
    {"stats", "--csv", "--section=sites", IN},
    {"stats", "--markdown", "--by=label", IN},
    {"stats", "--compare", FIRST, IN},
    {"export", "folded", IN},
    {"export", "speedscope", IN},
    {"export", "chrome", IN},
    {"export", "csv", IN},
};
#define ROW_COUNT (sizeof(rows) / sizeof(rows[0]))


struct printed {
    uint8_t bytes[4]; /* of an unfinished character */
    unsigned count, wanted;
    const char *name;
};

static void refuse(const struct printed *p, unsigned byte)
{
    dprintf(2, "%s: byte %#x is printed\n", p->name, byte);
    abort();
}

static void see_byte(struct printed *p, uint8_t byte)
{
    static const unsigned lengths[16] = {1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 2, 2, 3, 4};

    if (p->count == 0) {
        p->wanted = lengths[byte >> 4];
        if ((byte < 0x20 && byte != '\n') || byte == 0x7f || !p->wanted)
            refuse(p, byte);
    } else if ((byte & 0xc0) != 0x80) {
        refuse(p, byte);
    }
    p->bytes[p->count++] = byte;
    if (p->count < p->wanted)
        return;
    if (p->wanted == 2 && (p->bytes[0] < 0xc2 || (p->bytes[0] == 0xc2 && byte < 0xa0)))
        refuse(p, byte);
    p->count = 0;
}

static ssize_t see(void *cookie, const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++)
        see_byte(cookie, (uint8_t)text[i]);
    return (ssize_t)size;
}

static FILE *open_printed(struct printed *p, const char *name)
{
    FILE *file;

    *p = (struct printed){.name = name};
    file = fopencookie(p, "w", (cookie_io_functions_t){.write = see});
    if (!file)
        abort();
    return file;
}

/* ---- one execution ---- */

static void put_file(int at, const uint8_t *data, size_t size)
{
    int fd = memfd_create("text", MFD_CLOEXEC);

    if (fd < 0 || write(fd, data, size) != (ssize_t)size || dup2(fd, at) != at)
        abort();
    close(fd);
}

/* Returns the words of a row, with paths in them. */
static int words_of(const char *const *row, char words[WORD_MAX][64], char **argv)
{
    int count = 0;

    for (; count < WORD_MAX && row[count]; count++) {
        const char *word = row[count];
        if (word[0] == 'i' && strcmp(word, IN) == 0)
            word = "/proc/self/fd/200";
        else if (strcmp(word, FIRST) == 0)
            word = "/proc/self/fd/201";
        snprintf(words[count], sizeof(words[count]), "%s", word);
        argv[count] = words[count];
    }
    argv[count] = NULL;
    return count;
}

static void run(const char *const *row)
{
    static char words[WORD_MAX][64];
    static struct printed printed[2];
    FILE *out = stdout, *errors = stderr;
    char *argv[WORD_MAX + 1];
    int count = words_of(row, words, argv);

    stdout = open_printed(&printed[0], "stdout");
    stderr = open_printed(&printed[1], "stderr");
    tsm_command_run(tsm_command_find(row[0]), count, argv);
    fclose(stdout);
    fclose(stderr);
    stdout = out;
    stderr = errors;
    if (printed[0].count || printed[1].count)
        refuse(&printed[0], 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint8_t magic[4] = {0x89, 'S', 'B', 'T'};
    static bool is_begun;
    const char *const *row;

    if (size < 5)
        return 0;
    row = rows[data[0] % ROW_COUNT];
    if (strcmp(row[0], "ioctls") == 0 && memcmp(data + 1, magic, sizeof(magic)) != 0)
        return 0; /* a program to run */
    if (!is_begun) {
        setenv("NO_COLOR", "1", 1);
        own_trace_write(FD_FIRST, "/proc/self/exe");
        is_begun = true;
    }
    put_file(FD_IN, data + 1, size - 1);
    run(row);
    close(FD_IN);
    return 0;
}
