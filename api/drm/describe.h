/* SPDX-License-Identifier: Apache-2.0
 *
 * Describes DRM's records for a trace, from the tables and from a list of our own records.
 */
#ifndef API_DRM_DESCRIBE_H
#define API_DRM_DESCRIBE_H

#include "api/api.h"

/* Empty until drm_describe() was called. */
extern struct tsm_api_description drm_description;

/* Fill it in. Not to be called by two threads at once; a second time it does nothing. */
void drm_describe(void);

/* Slots of an ioctl's record that all have; then comes what the ioctl has of: in, out (structs),
 * value (an ioctl without a struct). Last: more (bytes that the tables do not know). */
enum drm_slot {
    DRM_SLOT_FD,
    DRM_SLOT_FILE,
    DRM_SLOT_REQUEST,
    DRM_SLOT_RETRIES,
    DRM_SLOT_ARGUMENT,
    DRM_SLOT_COMMON,
};

/* Metadata of a trace in which HOST_WRITE records of its thread follow a mapping's: what was there.
 */
#define DRM_MAPPED_FACT "drm.mapped_contents"

/* How a file came, in DRM_RECORD_FILE. In files: append only. */
enum drm_how {
    DRM_HOW_OPENED = 1,
    DRM_HOW_FOUND = 2,    /* it was there already: inherited, or opened past us */
    DRM_HOW_RECEIVED = 3, /* through a socket, or from another process */
    DRM_HOW_MADE = 4,     /* an ioctl gave it */
};

#endif
