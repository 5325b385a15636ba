/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/terminal.h"

#include "base/clock.h"
#include "base/text.h"
#include "tools/text/line.h"
#include "tracesmith/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define MESSAGE_SIZE 4096

static struct {
    const char *name;
    bool quiet, color;
    unsigned width;
    bool progress_wanted, progress_shown;
    uint64_t progress_begin_ns, progress_drawn_ns;
    char complaint[MESSAGE_SIZE];
    FILE *output; /* that was taken; NULL: stdout is what it was */
} terminal = {.name = "tracesmith"};

static bool wants_color(enum tsm_color color)
{
    const char *no_color = getenv("NO_COLOR");
    const char *term = getenv("TERM");

    if (color != TSM_COLOR_AUTO)
        return color == TSM_COLOR_ALWAYS;
    if (no_color && *no_color)
        return false;
    return isatty(STDOUT_FILENO) && term && strcmp(term, "dumb") != 0;
}

void tsm_terminal_init(const char *name, enum tsm_color color, bool quiet)
{
    struct winsize size;

    terminal.name = name;
    terminal.quiet = quiet;
    terminal.color = wants_color(color);
    terminal.progress_wanted = !quiet && isatty(STDERR_FILENO);
    if (isatty(STDOUT_FILENO)) {
        terminal.width = 80;
        if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
            terminal.width = size.ws_col;
    }
}

bool tsm_terminal_quiet(void)
{
    return terminal.quiet;
}

unsigned tsm_terminal_width(void)
{
    return terminal.width;
}

const char *tsm_paint(enum tsm_paint paint)
{
    static const char *const sequences[TSM_PAINT_COUNT] = {
        [TSM_PAINT_NONE] = "\033[0m",  [TSM_PAINT_DIM] = "\033[2m",   [TSM_PAINT_BOLD] = "\033[1m",
        [TSM_PAINT_GOOD] = "\033[32m", [TSM_PAINT_WARN] = "\033[33m", [TSM_PAINT_BAD] = "\033[31m",
        [TSM_PAINT_NAME] = "\033[36m",
    };
    return terminal.color ? sequences[paint] : "";
}

const char *tsm_clean(const char *text)
{
    enum { RING = 16 };
    static struct tsm_text_line lines[RING];
    static unsigned next;
    struct tsm_text_line *line = &lines[next++ % RING];

    tsm_buffer_clear(&line->text);
    line->columns = 0;
    tsm_text_line_clean(line, text);
    tsm_buffer_add_u8(&line->text, 0);
    if (!line->text.failed)
        return (const char *)line->text.data;
    tsm_text_line_lost();
    return "(no memory for a text)";
}

/* Without memory: what is not plain is left out. */
static void put_plain(FILE *out, const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++)
        putc(text[i] >= ' ' && text[i] <= '~' ? text[i] : '?', out);
    putc('\n', out);
}

void tsm_put_lines(FILE *out, const char *text)
{
    struct tsm_text_line line = {0};

    for (size_t size; *text; text += size + (text[size] == '\n')) {
        size = strcspn(text, "\n");
        char *part = strndup(text, size);
        tsm_text_line_clean(&line, part ? part : "");
        if (part && !line.text.failed)
            tsm_text_line_write(&line, out);
        else
            put_plain(out, text, size);
        free(part);
    }
    tsm_text_line_finish(&line);
}

static void message(char text[MESSAGE_SIZE], const char *format, va_list ap)
{
    tsm_progress_end();
    /* Earlier output must be seen first where both go to one place. */
    fflush(stdout);
    fprintf(stderr, "%s: ", terminal.name);
    tsm_vformat(text, MESSAGE_SIZE, format, ap);
    tsm_put_lines(stderr, text[0] ? text : "\n");
}

int tsm_complain(const char *format, ...)
{
    char text[MESSAGE_SIZE];
    va_list ap;

    va_start(ap, format);
    message(text, format, ap);
    va_end(ap);
    if (!terminal.complaint[0])
        tsm_format(terminal.complaint, sizeof(terminal.complaint), "%s", text);
    return TSM_EXIT_ERROR;
}

void tsm_note(const char *format, ...)
{
    char text[MESSAGE_SIZE];
    va_list ap;

    if (terminal.quiet)
        return;
    va_start(ap, format);
    message(text, format, ap);
    va_end(ap);
}

const char *tsm_complaint(void)
{
    return terminal.complaint;
}

int tsm_complain_error(void)
{
    return tsm_complain("%s", tsm_error_message());
}

static void draw(const char *what, uint64_t done, uint64_t total)
{
    enum { CELLS = 30 };
    static const char full[] = "##############################";
    unsigned cells = (unsigned)((double)done / (double)total * CELLS);

    fprintf(stderr, "\r%s [%.*s%*s] %3u%% ", what, (int)cells, full, (int)(CELLS - cells), "",
            (unsigned)((double)done / (double)total * 100));
    terminal.progress_shown = true;
}

void tsm_progress(const char *what, uint64_t done, uint64_t total)
{
    enum { FIRST_NS = 500000000, STEP_NS = 100000000 };

    if (!terminal.progress_wanted || total == 0 || done > total)
        return;
    uint64_t now_ns = tsm_monotonic_ns();
    if (terminal.progress_begin_ns == 0)
        terminal.progress_begin_ns = now_ns;
    if (now_ns - terminal.progress_begin_ns < FIRST_NS ||
        now_ns - terminal.progress_drawn_ns < STEP_NS)
        return;
    terminal.progress_drawn_ns = now_ns;
    draw(what, done, total);
}

void tsm_progress_end(void)
{
    if (terminal.progress_shown)
        fputs("\r\033[K", stderr);
    terminal.progress_shown = false;
    terminal.progress_begin_ns = 0;
}

FILE *tsm_terminal_take_output(void)
{
    const int fd = dup(STDOUT_FILENO);
    FILE *out = fd < 0 ? NULL : fdopen(fd, "w");

    if (!out || fflush(stdout) || dup2(STDERR_FILENO, STDOUT_FILENO) < 0) {
        tsm_complain("standard output: %s", strerror(errno));
        return NULL;
    }
    terminal.output = out;
    return out;
}

FILE *tsm_terminal_output(void)
{
    return terminal.output ? terminal.output : stdout;
}

/* Writes out what is left for a stream. */
static bool flush(FILE *stream)
{
    return fflush(stream) == 0 && !ferror(stream);
}

int tsm_terminal_finish(int status)
{
    tsm_progress_end();
    errno = 0;
    if (flush(stdout) && flush(tsm_terminal_output()))
        return tsm_text_line_is_lacking()
                   ? tsm_complain("out of memory for a part of what is shown")
                   : status;
    return tsm_complain("standard output: %s", errno ? strerror(errno) : "write error");
}
