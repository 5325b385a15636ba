/* SPDX-License-Identifier: Apache-2.0
 *
 * form_asker TARGET < FORMS > ANSWERS
 *
 * Tells which instructions the engine accepts. FORMS: lines of PTX up to a line "%%", the begin of
 * a module and of a function, then an instruction a line. ANSWERS has a line for each: empty when
 * it is accepted, else the message.
 */
#include "emu/ptx/ptx.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEAD_MAX (1u << 16)
#define LINE_MAX 4096

static void ask(const char *head, const char *form, unsigned target)
{
    static char text[HEAD_MAX + LINE_MAX + 16];
    char message[512] = "";
    struct ptx_log log = {message, sizeof(message), 0};
    int size = snprintf(text, sizeof(text), "%s%s\nret;\n}\n", head, form);

    if (ptx_module_check(text, (size_t)size, target, &log) == PTX_OK)
        message[0] = 0;
    else if (!message[0])
        strcpy(message, "refused without a message");
    message[strcspn(message, "\n")] = 0;
    puts(message);
}

int main(int argc, char **argv)
{
    static char head[HEAD_MAX], line[LINE_MAX];
    size_t size = 0;

    if (argc != 2)
        return 1;
    while (fgets(line, sizeof(line), stdin) && strcmp(line, "%%\n") != 0) {
        if (size + strlen(line) >= sizeof(head))
            return 1;
        strcpy(head + size, line);
        size += strlen(line);
    }
    while (fgets(line, sizeof(line), stdin)) {
        line[strcspn(line, "\n")] = 0;
        ask(head, line, (unsigned)atoi(argv[1]));
    }
    return 0;
}
