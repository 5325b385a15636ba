/* SPDX-License-Identifier: Apache-2.0
 *
 * How NVTX finds us: by a variable that is read when a program makes its first label. One that
 * names another tool is left alone.
 *
 * A child process inherits it with LD_PRELOAD. In one from which LD_PRELOAD was taken the library
 * that it names finds none of ours, and says that there is no tool.
 */
#include "api/nvtx/source/source.h"

#include "base/log.h"
#include "base/own_stack.h"
#include "base/text.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define VARIABLE     "NVTX_INJECTION64_PATH"
#define TOOL_LIBRARY "libts_nvtx.so"

static char tool[PATH_MAX]; /* empty: there is none, or labels are not to be recorded */

static bool names(const char *variable, const char *library)
{
    const char *list = getenv(variable);

    return list && strstr(list, library);
}

/* Labels of a CUDA program belong to it, also where no word of TS_APIS is theirs. */
static bool is_chosen(void)
{
    const char *capture = getenv("TS_CAPTURE"), *apis = getenv("TS_APIS");

    if (capture && strcmp(capture, "0") == 0)
        return false;
    return tsm_settings_want_api(apis, "nvtx") || tsm_settings_want_api(apis, "cuda");
}

static const char *other_tool(void)
{
    const char *value = getenv(VARIABLE);

    return value && *value && !tsm_text_ends_with(value, "/" TOOL_LIBRARY) ? value : NULL;
}

static void restore(void)
{
    int saved_errno = errno;

    if (tool[0] && !other_tool())
        tsm_libc_setenv(VARIABLE, tool);
    errno = saved_errno;
}

static void announce_on_own_stack(void *unused)
{
    char path[PATH_MAX];

    if ((!names("LD_PRELOAD", "libts_capture.so") && !names("LD_AUDIT", "libts_audit.so")) ||
        !is_chosen() || !tsm_own_file("shim/" TOOL_LIBRARY, path, sizeof(path)))
        return;
    tsm_format(tool, sizeof(tool), "%s", path);
    restore();
}

__attribute__((constructor)) static void begin(void)
{
    int saved_errno = errno;

    tsm_own_stack_run(announce_on_own_stack, NULL);
    errno = saved_errno;
}

/* A library of the program may ask before we are initialised: tsrecord has set the variable. */
bool nvtx_is_wanted(void)
{
    if (!tool[0])
        begin();
    return tool[0];
}

/* The session runs still: what another tool has taken is in no record. */
static void ending(void)
{
    const char *other = tool[0] ? other_tool() : NULL;

    if (!other)
        return;
    tsm_session_metadata("nvtx.tool", other);
    tsm_log(TSM_LOG_INFO, "labels of NVTX go to another tool: " VARIABLE "=%s", other);
}

static bool owns_name(const char *name)
{
    return false;
}

static const struct tsm_api_description described = {.api = SBT_API_CORE, .name = "nvtx"};

const struct tsm_source nvtx_source = {
    .description = &described,
    .owns_name = owns_name,
    .environment_prefix = "NVTX_INJECTION",
    .environment_changed = restore,
    .ending = ending,
};
