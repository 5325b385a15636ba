/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/command.h"

#include "tools/terminal.h"

#include <string.h>

static int run(const struct tsm_command *command, void *values, const struct tsm_words *words)
{
    const char *shell = words->words[0];

    if (strcmp(shell, "bash") == 0)
        tsm_complete_bash();
    else if (strcmp(shell, "zsh") == 0)
        tsm_complete_zsh();
    else if (strcmp(shell, "fish") == 0)
        tsm_complete_fish();
    else
        return tsm_complain("'%s' is none of %s", shell, command->operand);
    return TSM_EXIT_OK;
}

const struct tsm_command tsm_command_completion = {
    .name = "completion",
    .summary = "print completion rules for a shell",
    .synopsis = "bash|zsh|fish",
    .description = "Prints what makes a shell complete TraceSmith's commands, options and traces. "
                   "An installed TraceSmith has these rules in the system's folders already.",
    .examples = "source <(tracesmith completion bash)\n"
                "tracesmith completion fish > ~/.config/fish/completions/tracesmith.fish\n",
    .exit_status = "0|printed\n2|no such shell",
    .operand = "bash|zsh|fish",
    .word_min = 1,
    .word_max = 1,
    .run = run,
};
