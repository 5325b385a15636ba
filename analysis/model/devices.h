/* SPDX-License-Identifier: Apache-2.0
 *
 * Devices that streams run on: what a record names, what its objects were made on, or what is
 * current on its thread, as the traits of the API say (api/traits.h).
 */
#ifndef ANALYSIS_MODEL_DEVICES_H
#define ANALYSIS_MODEL_DEVICES_H

#include "analysis/model/node.h"
#include "base/map.h"
#include "tracesmith/reader.h"

/* Facts about all records of one type; a field's number is -1 where there is none. */
struct tsm_type_device {
    uint64_t traits;   /* enum tsm_call_trait: of devices and of what is current */
    int device;        /* field that names the device of what is made */
    int made, gone;    /* field of the ground object that is made, or destroyed */
    int context;       /* field of the first object that can be current */
    int stream_made;   /* field of the stream that is made */
    int sort;          /* field that tells a device from the host's processor */
    uint64_t lead;     /* bits of fields that lead to a device: ground objects and devices */
    bool is_concerned; /* any of the above */
};

struct tsm_type_device tsm_type_device_of(const struct sbt_schema *schema);

/* A zeroed struct knows none. */
struct tsm_devices {
    struct tsm_device *list;
    size_t count, capacity;
    struct tsm_map objects; /* key of a ground object -> place in `list` + 1 */
    struct tsm_map streams; /* number -> the same, of streams that a record makes; 0: not known */
    struct tsm_map object_owners; /* key of a ground object -> key of the one that it was made of */
    struct tsm_map stream_owners; /* number -> key of the object that the stream belongs to */
    struct tsm_map threads;       /* number -> place in `current` + 1 */
    struct tsm_device_stack *current;
    size_t current_count, current_capacity;
};

/* Names where a record goes. */
struct tsm_destination {
    struct tsm_device device; /* of its stream; api 0: not known, or it has none */
    uint64_t
        owner; /* key of what its stream belongs to, as a context or a logical device; of a wait
                  without a stream, of what it names, else of what is current; 0: not known */
};

/* Takes a record into account. `reader` may be NULL. Returns 0 or a negative tsm_error. */
int tsm_devices_note(struct tsm_devices *d, struct tsm_destination *out, struct sbt_reader *reader,
                     const struct sbt_record *record, const struct sbt_schema *schema,
                     const struct tsm_type_device *type);

/* Returns the key of the object that a record's field names; 0: none. */
uint64_t tsm_devices_key(const struct sbt_record *record, const struct sbt_schema *schema,
                         int field);

void tsm_devices_finish(struct tsm_devices *d);

#endif
