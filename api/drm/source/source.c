/* SPDX-License-Identifier: Apache-2.0 */
#include "api/drm/source/source.h"

#include "base/text.h"

/* Forgets what the parent kept about its files. */
static void forget_kept(void)
{
    drm_maps_forked();
    drm_views_forked();
    drm_polls_forked();
    drm_streams_forked();
}

const struct drm_file_events drm_file_events = {
    .born = forget_kept,
    .used = drm_maps_inherited,
};

void drm_forked(void)
{
    drm_files_forked();
    forget_kept();
}

/* Nobody can say what the device does. */
static bool quiet(uint64_t until_ns)
{
    return true;
}

/* Saves no device memory and no state of the driver, and marks the trace for it. */
static bool save(void)
{
    if (drm_file_count())
        tsm_session_unmodelled("a checkpoint without memory of DRM files", true);
    return true;
}

static void count(const char *name, uint64_t value)
{
    char text[24];

    if (!value)
        return;
    tsm_format(text, sizeof(text), "%llu", (unsigned long long)value);
    tsm_session_metadata(name, text);
}

static void ending(void)
{
    count("drm.not_recorded", drm_unrecorded_count());
    count("drm.interrupted", drm_interrupted_count());
    count("drm.asked", drm_asked_count());
    count("drm.seen_only", drm_seen_only_count());
    count("drm.unknown_extensions", drm_unknown_extension_count());
}

extern const struct tsm_source drm_source; /* interpose/sources.c */

const struct tsm_source drm_source = {
    .description = &drm_description,
    .quiet = quiet,
    .save = save,
    .forked = drm_forked,
    .ending = ending,
};
