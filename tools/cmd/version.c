/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/command.h"

#include "base/text.h"
#include "tools/text/json_out.h"
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

static void print_json(void)
{
    struct tsm_json j = {.out = stdout};
    char format[16];

    tsm_format(format, sizeof(format), "%d.%d", SBT_VERSION_MAJOR, SBT_VERSION_MINOR);
    tsm_json_begin(&j, "tsversion/1");
    tsm_json_put_string(&j, "version", TSM_VERSION_STRING);
    tsm_json_put_string(&j, "format", format);
    tsm_json_end(&j);
}

static int run(const struct tsm_command *command, void *values, const struct tsm_words *words)
{
    const struct version_values *v = values;

    if (v->json)
        print_json();
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
