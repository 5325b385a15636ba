/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/command.h"

#include "tracesmith/trace.h"
#include "tracesmith/version.h"

struct version_values {
    bool json;
};

static const struct tsm_option options[] = {
    {.name = "json",
     .type = TSM_OPTION_FLAG,
     .offset = TSM_FIELD(version_values, json),
     .help = "One JSON object, schema \"tsversion/1\"."},
    {0},
};

static int run(const struct tsm_command *command, void *values, const struct tsm_words *words)
{
    const struct version_values *v = values;

    if (v->json)
        printf("{\"schema\":\"tsversion/1\",\"version\":\"%s\",\"format\":\"%d.%d\"}\n",
               TSM_VERSION_STRING, SBT_VERSION_MAJOR, SBT_VERSION_MINOR);
    else
        printf("tracesmith %s, trace format SBT %d.%d\n", TSM_VERSION_STRING, SBT_VERSION_MAJOR,
               SBT_VERSION_MINOR);
    return 0;
}

const struct tsm_command tsm_command_version = {
    .name = "version",
    .summary = "say which version this is",
    .synopsis = "[--json]",
    .description =
        "Prints the version of TraceSmith and of the trace format that it writes. Traces "
        "of the same major version of the format can be read.",
    .examples = "tracesmith version\n",
    .exit_status = "0|always",
    .options = options,
    .values_size = sizeof(struct version_values),
    .run = run,
};
