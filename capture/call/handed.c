/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds out from which API of this program an object comes that another one is given by a file
 * descriptor.
 */
#include "capture/capture.h"

#include "base/text.h"

bool tsm_handed_any;

/* Both names in one fact, so that a reader finds it without a record. */
static void say_shared(const struct tsm_api_description *from, enum sbt_api to)
{
    char name[64];

    for (const struct tsm_source *const *source = tsm_sources; *source; source++) {
        const struct tsm_api_description *d = (*source)->description;

        if (d->api != to)
            continue;
        tsm_format(name, sizeof(name), "shared.%s.%s", d->name, from->name);
        tsm_session_metadata(name, "1");
    }
}

struct tsm_handed tsm_handed_to(enum sbt_api to, int fd, enum tsm_shared kind)
{
    for (const struct tsm_source *const *source = tsm_sources; *source; source++) {
        const struct tsm_api_description *d = (*source)->description;
        uint64_t id = (*source)->given && d->api != to ? (*source)->given(fd, kind) : 0;

        if (!id)
            continue;
        say_shared(d, to);
        __atomic_store_n(&tsm_handed_any, true, __ATOMIC_RELEASE);
        return (struct tsm_handed){(uint32_t)d->api, id};
    }
    return (struct tsm_handed){0};
}

void tsm_handed_tell_send(enum sbt_api api)
{
    for (const struct tsm_source *const *source = tsm_sources; *source; source++)
        if ((*source)->description->api != api && (*source)->others_send)
            (*source)->others_send();
}

void tsm_handed_tell_waited(enum sbt_api api, const struct tsm_stream *stream)
{
    const uint32_t number = stream ? tsm_stream_number(stream) : SBT_STREAM_NONE;

    for (const struct tsm_source *const *source = tsm_sources; *source; source++)
        if ((*source)->description->api != api && (*source)->others_waited)
            (*source)->others_waited(number);
}
