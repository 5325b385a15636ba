/* SPDX-License-Identifier: Apache-2.0
 *
 * The variables of capture, TS_*, with whatever in them: an input is lines NAME=VALUE. What is
 * wrong is said and its default taken, so that all paths end in a NUL.
 */
#include "capture/settings.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char *text;

static const char *lookup(const char *name)
{
    size_t length = strlen(name);

    for (char *at = text; *at; at += strlen(at) + 1)
        if (!strncmp(at, name, length) && at[length] == '=')
            return at + length + 1;
    return NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct tsm_settings settings;
    char path[256];

    text = calloc(1, size + 2);
    memcpy(text, data, size);
    for (size_t i = 0; i < size; i++)
        if (text[i] == '\n' || !text[i])
            text[i] = i && text[i - 1] ? 0 : ' ';
    tsm_settings_parse(&settings, lookup);
    if (strnlen(settings.output, sizeof(settings.output)) == sizeof(settings.output))
        abort();
    tsm_output_path(path, sizeof(path), settings.output, 1);
    free(text);
    return 0;
}
