/* SPDX-License-Identifier: Apache-2.0
 *
 * The program: `tracesmith COMMAND ...`, or a command by its other name, e.g. `tsview ...`.
 */
#include "tools/command.h"
#include "tools/terminal.h"
#include "tools/text/json_out.h"

#include <stdio.h>
#include <string.h>

static const char *file_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static int unknown(int argc, char **argv)
{
    int status = tsm_command_unknown(argv[1]);

    for (int i = 2; i < argc; i++) {
        if (strcmp(argv[i], "--json") == 0) {
            tsm_json_error(argv[1], tsm_complaint(), status);
            return tsm_terminal_finish(status);
        }
    }
    return status;
}

int main(int argc, char **argv)
{
    const char *self = file_name(argc > 0 ? argv[0] : "tracesmith");
    const struct tsm_command *command = NULL;
    static char help[] = "help", version[] = "version";

    if (strcmp(self, "tracesmith") != 0)
        command = tsm_command_find(self);
    if (command)
        return tsm_command_run(command, argc, argv);
    if (argc < 2 || strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        char *words[] = {help, NULL};
        int status = tsm_command_run(tsm_command_find(help), 1, words);
        return argc < 2 ? TSM_EXIT_ERROR : status;
    }
    if (strcmp(argv[1], "--version") == 0)
        return tsm_command_run(tsm_command_find(version), argc - 1, argv + 1);
    command = tsm_command_find(argv[1]);
    if (!command)
        return unknown(argc, argv);
    return tsm_command_run(command, argc - 1, argv + 1);
}
