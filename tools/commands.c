/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of commands, in the order in which help lists them: that of tools/meson.build, which
 * makes command_list.h.
 */
#include "tools/command.h"

#include "command_list.h"

#define DECLARE(name) extern const struct tsm_command tsm_command_##name;
TSM_COMMANDS(DECLARE)

#define ROW(name) &tsm_command_##name,
const struct tsm_command *const tsm_commands[] = {TSM_COMMANDS(ROW) NULL};
