/* SPDX-License-Identifier: Apache-2.0 */
#include "api/drm/drm_source.h"

#include "base/text.h"

static void forked(void)
{
    drm_files_forked();
    drm_maps_forked();
    drm_streams_forked();
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
}

extern const struct tsm_source drm_source; /* interpose/sources.c */

const struct tsm_source drm_source = {
    .description = &drm_description,
    .prepare = drm_describe,
    .forked = forked,
    .ending = ending,
};
