/* SPDX-License-Identifier: Apache-2.0
 *
 * Names the changes of DRM_IOCTL_MODE_ATOMIC: the properties' names and the objects' types are
 * known from what the program has asked before (GETPROPERTY, OBJ_GETPROPERTIES).
 */
#ifndef API_DRM_VIEW_MODES_H
#define API_DRM_VIEW_MODES_H

#include "tools/text/record.h"

/* Names seen so far; a zeroed struct has none. */
struct tsm_modes {
    struct tsm_mode_name {
        uint64_t device; /* numbers are each device's own */
        uint32_t id;
        char name[32]; /* of a property; of an object its type */
    } * names;
    uint32_t count;
};

void tsm_modes_finish(struct tsm_modes *modes);

/* Take notice of an ioctl's record. False: out of memory. */
bool tsm_modes_note(struct tsm_modes *modes, struct sbt_reader *reader,
                    const struct sbt_record *record, uint64_t device);

/* Appends the changes of an atomic commit to t->line: ", plane#31 {FB_ID=45 CRTC_ID=40}"; does
 * nothing for other records. A property without a known name is a number. */
void tsm_modes_put(struct tsm_record_text *t, const struct tsm_modes *modes,
                   const struct sbt_record *record, uint64_t device);

#endif
