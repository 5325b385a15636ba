/* SPDX-License-Identifier: Apache-2.0
 *
 * How the Vulkan loader finds our layer: by variables that are set before the program starts. The
 * loader reads them when an instance is made; when the program changes them they are mended.
 *
 *   VK_INSTANCE_LAYERS        our layer's name is appended
 *   VK_ADD_LAYER_PATH         the folder with our manifest; VK_LAYER_PATH, where that is set: the
 *                             loader then looks nowhere else
 *   VK_LOADER_LAYERS_ENABLE   only where VK_LOADER_LAYERS_DISABLE is set, which would hide us
 *   VK_LAYER_TRACESMITH=preload   that it was we who did this
 *
 * A child process inherits them with LD_PRELOAD. One from which LD_PRELOAD was taken is not meant
 * to be recorded: there the loader loads us by the manifest, the mark says why, and we wrap
 * nothing.
 */
#include "api/vulkan/source/environment.h"

#include "api/vulkan/source/layer.h"

#include "base/text.h"
#include "capture/capture.h"
#include "interpose/interpose.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define MARK       "VK_LAYER_TRACESMITH"
#define MARK_VALUE "preload"

static char manifests[PATH_MAX]; /* empty: there are none, or Vulkan is not to be recorded */

/* Tests whether `item` is in the list, whose items are separated by one of these characters. */
static bool listed(const char *list, const char *item, const char *separators)
{
    size_t length = strlen(item);

    for (; list && *list; list += strcspn(list, separators), list += *list != '\0') {
        if (strcspn(list, separators) == length && memcmp(list, item, length) == 0)
            return true;
    }
    return false;
}

static void append(const char *name, const char *item, char separator)
{
    const char separators[] = {separator, '\0'};
    const char *old = getenv(name);
    char text[2 * PATH_MAX];

    if (listed(old, item, separators))
        return;
    if (old && *old && strlen(old) + strlen(item) + 2 > sizeof(text))
        return; /* we would cut the user's list */
    if (old && *old)
        tsm_format(text, sizeof(text), "%s%c%s", old, separator, item);
    else
        tsm_format(text, sizeof(text), "%s", item);
    tsm_libc_setenv(name, text);
}

static bool set(const char *name)
{
    const char *text = getenv(name);

    return text && *text;
}

static bool is_preloaded(void)
{
    const char *list = getenv("LD_PRELOAD");

    return list && strstr(list, "libts_capture.so");
}

bool vk_environment_wants(void)
{
    const char *mark = getenv(MARK), *capture = getenv("TS_CAPTURE"), *apis = getenv("TS_APIS");

    if (capture && strcmp(capture, "0") == 0)
        return false;
    if (!tsm_settings_want_api(apis, "vulkan"))
        return false;
    return !mark || strcmp(mark, MARK_VALUE) != 0 || manifests[0] || is_preloaded();
}

void vk_environment_restore(void)
{
    int saved_errno = errno;

    if (manifests[0]) { /* each stays as it is where it says so already */
        append("VK_INSTANCE_LAYERS", VK_OUR_LAYER, ':');
        append(set("VK_LAYER_PATH") ? "VK_LAYER_PATH" : "VK_ADD_LAYER_PATH", manifests, ':');
        if (set("VK_LOADER_LAYERS_DISABLE"))
            append("VK_LOADER_LAYERS_ENABLE", VK_OUR_LAYER, ',');
        tsm_libc_setenv(MARK, MARK_VALUE);
    }
    errno = saved_errno;
}

/* Only a preloaded library runs this before the program does; one that the loader loaded by the
 * manifest has been found already. */
__attribute__((constructor)) static void begin(void)
{
    int saved_errno = errno;
    char path[PATH_MAX];

    if (is_preloaded() && tsm_own_file("vulkan/ts_capture_layer.json", path, sizeof(path)) &&
        vk_environment_wants()) {
        *strrchr(path, '/') = '\0';
        tsm_format(manifests, sizeof(manifests), "%s", path);
        vk_environment_restore();
    }
    errno = saved_errno;
}
