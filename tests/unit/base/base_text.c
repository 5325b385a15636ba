/* SPDX-License-Identifier: Apache-2.0
 *
 * Names of a trace in messages and log lines give a terminal no orders; TS_LOG chooses by folder
 * and file.
 */
#include "base/text.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"

static int failures;

static void expect(const char *given, const char *wanted)
{
    char text[64];

    tsm_format(text, sizeof(text), "%s", given);
    tsm_text_disarm(text);
    if (strcmp(text, wanted) != 0) {
        fprintf(stderr, "\"%s\" is not \"%s\"\n", text, wanted);
        failures++;
    }
}

static void expect_log(void)
{
    char line[256] = "";
    int ends[2];

    if (pipe(ends) != 0 || dup2(ends[1], STDERR_FILENO) < 0)
        return;
    tsm_log_configure(NULL);
    tsm_log(TSM_LOG_ERROR, "%s", "a\033]0;b\a");
    failures += read(ends[0], line, sizeof(line) - 1) <= 0 || !strstr(line, "a?]0;b?\n");
}

static void expect_wanted(const char *setting, const char *file, int wanted)
{
    tsm_log_configure(setting);
    if (tsm_log_wants(TSM_LOG_DEBUG, file) == wanted)
        return;
    fprintf(stderr, "TS_LOG=%s: %s %s wanted\n", setting, file, wanted ? "is not" : "is");
    failures++;
}

static void expect_domains(void)
{
    const char *file = "../emu/cuda/module/cache.c";

    expect_wanted("debug", file, 1);
    expect_wanted("info", file, 0);
    expect_wanted("cache:debug", file, 1);
    expect_wanted("module/cache:debug", file, 1);
    expect_wanted("emu:debug", file, 1);
    expect_wanted("emu/cuda/module/cache:debug", file, 1);
    expect_wanted("debug,emu:info", file, 0);
    expect_wanted("ache:debug", file, 0);
    expect_wanted("cach:debug", file, 0);
    expect_wanted("emu/module:debug", file, 0);
    expect_wanted("lane/cache:debug", file, 0);
}

static void expect_numbered(const char *text, unsigned number, const char *expected)
{
    char out[8];
    size_t length = tsm_text_numbered(out, sizeof(out), text, number);

    if (length == strlen(expected) && !strcmp(out, expected))
        return;
    printf("\"%s\" instead of \"%s\"\n", out, expected);
    failures++;
}

int main(void)
{
    expect("a\u202eb\u2066c\u061cd\u2028e", "a???b???c??d???e");
    expect("", "");
    expect("plain\ttext\n", "plain\ttext\n");
    expect("\033[31mred\033]0;title\a\r\b\x7f", "?[31mred?]0;title????");
    expect("\xc2\x9b"
           "31m \x9b",
           "??31m ?");
    expect("gr\xc3\xbc\xc3\x9f \xe2\x82\xac", "gr\xc3\xbc\xc3\x9f \xe2\x82\xac");
    expect("cut \xe2\x82", "cut ??");
    failures += !tsm_text_ends_with("gpu.uuid", ".uuid") || !tsm_text_ends_with("x", "");
    failures += tsm_text_ends_with("uuid", ".uuid") || tsm_text_ends_with("gpu.uuids", ".uuid");
    expect_numbered("fd/", 0, "fd/0");
    expect_numbered("", UINT_MAX, "4294967");
    expect_numbered("too long", 12, "too lon");
    expect_domains();
    expect_log();
    return failures != 0;
}
