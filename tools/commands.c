/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of commands, in the order in which help lists them: that of tools/meson.build, which
 * makes command_list.h.
 */
#include "tools/command.h"

#include "command_list.h"
#include "tools/nearest.h"
#include "tools/terminal.h"

#include <string.h>

#define DECLARE(name) extern const struct tsm_command tsm_command_##name;
TSM_COMMANDS(DECLARE)

#define ROW(name) &tsm_command_##name,
const struct tsm_command *const tsm_commands[] = {TSM_COMMANDS(ROW) NULL};

const struct tsm_command *tsm_command_find(const char *name)
{
    for (size_t i = 0; tsm_commands[i]; i++) {
        const struct tsm_command *c = tsm_commands[i];
        if (strcmp(c->name, name) == 0 || (c->alias && strcmp(c->alias, name) == 0))
            return c;
    }
    return NULL;
}

int tsm_command_unknown(const char *name)
{
    struct tsm_nearest n;

    tsm_nearest_begin(&n, name, strlen(name));
    for (size_t i = 0; tsm_commands[i]; i++) {
        tsm_nearest_try(&n, tsm_commands[i]->name);
        if (tsm_commands[i]->alias)
            tsm_nearest_try(&n, tsm_commands[i]->alias);
    }
    if (n.best)
        return tsm_complain(
            "unknown command '%s' (did you mean '%s'?); 'tracesmith help' lists all", name, n.best);
    return tsm_complain("unknown command '%s'; 'tracesmith help' lists them", name);
}
