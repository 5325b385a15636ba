/* SPDX-License-Identifier: Apache-2.0
 *
 * Differences between GPU APIs, as two small interfaces: a source (in the traced program) and a
 * backend (in the replayer). Each API has a folder api/X/ with a description X.api, from which
 * api/gen/ makes wrappers, schemas and replay dispatch at build time, and two hand-written files
 * for what no description can say: api/X/source/ and api/X/replay/.
 *
 * Everything else of TraceSmith is API-neutral and meets an API only here.
 */
#ifndef API_API_H
#define API_API_H

#include "tracesmith/error.h"
#include "tracesmith/trace.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- description: the same on both sides, made by api/gen from X.api ----------------------- */

enum tsm_call_status {
    TSM_CALL_GENERATED,  /* recorded and replayed from its description alone */
    TSM_CALL_HOOKED,     /* a hand-written function takes part */
    TSM_CALL_UNMODELLED, /* passes through, recorded by name, result and raw arguments */
};

struct tsm_call_description {
    const struct sbt_schema *schema; /* type, name, kind, fields */
    enum tsm_call_status status;
    const char *family; /* "memcpy", "stream", ... for the coverage table */
};

struct tsm_api_description {
    enum sbt_api api;
    const char *name; /* "cuda" */
    const struct tsm_call_description *calls;
    size_t call_count;
    const struct sbt_enum *enums;
    size_t enum_count;
    const struct sbt_struct *structs; /* what fields of type STRUCT name; NULL for none */
    size_t struct_count;
    /* For capture, of an API whose description is large: a byte for each of `structs`, not 0 once
     * the struct came into use where no schema or struct names it (in a chain), and how often one
     * did. NULL: all is described as soon as the API is used. */
    const uint8_t *used;
    const uint32_t *used_changes;
    /* Not NULL: this one stands for these, NULL-terminated, and has nothing in the tables above. */
    const struct tsm_api_description *const *parts;
    /* Fills in the tables above, before they are read; a second time does nothing. The first time
     * not by two threads at once. NULL: they are filled in. Called by tsm_description_fill(). */
    void (*fill)(void);
};

static inline void tsm_description_fill(const struct tsm_api_description *description)
{
    if (description->fill)
        description->fill();
}

/* Kinds of objects that programs pass on as file descriptors. */
enum tsm_shared {
    TSM_SHARED_MEMORY = 1,
    TSM_SHARED_SEMAPHORE = 2,
};

/* ---- source: api/X/source/, linked into libts_capture.so ----------------------------------- */

/* Runs inside the traced program: the rules of DESIGN.md 6 and capture/capture.h hold. */
struct tsm_exports; /* interpose/interpose.h */
struct tsm_stream;  /* capture/capture.h */

struct tsm_source {
    const struct tsm_api_description *description;

    /* Names under which programs open the API's library, NULL-terminated: dlopen() of one of them
     * (or of an absolute path that ends in one) gives our wrappers. Optional. */
    const char *const *sonames;

    /* Exports for that library, sorted by name. Mandatory with sonames. */
    const struct tsm_exports *exports;

    /* Would this be a function of the API, known to us or not? A call of one that we do not export
     * is then noted as unmodelled. Mandatory with sonames. */
    bool (*owns_name)(const char *name);

    /* The real library was opened: remember its functions. `real` is a dlopen handle. Called once
     * per real library, before any wrapper of this source forwards to it; perhaps again by another
     * thread at the same time, with the same handle. Mandatory with sonames. */
    void (*bind)(void *real);

    /* A session begins: give metadata (driver version, devices) with tsm_session_metadata(). Called
     * at most once per session, from the first call that finds the API initialised. Optional. */
    void (*describe)(void);

    /* For checkpoints; optional, both or none. The program's calls are held back meanwhile.
     * quiet: is no stream being captured, and is the GPU idle, or will be until the time
     * (CLOCK_MONOTONIC, ns)? False when not; must not wait longer.
     * save: hand everything that the GPU's memory holds to tsm_checkpoint_memory(). */
    bool (*quiet)(uint64_t until_ns);
    bool (*save)(void);

    /* Tests, without waiting, whether all that was sent to a stream of the API is complete. False
     * where this is not known now. Called before a command of this thread. Optional. */
    bool (*is_complete)(const struct tsm_stream *stream);

    /* Returns the id of the object of that kind for which a call of the program was given the
     * descriptor, and which another API has from now on; 0: there is none. Called before a driver
     * takes the descriptor over. Optional. */
    uint64_t (*given)(int fd, enum tsm_shared kind);
    /* Another API is about to send work, or what it has sent to the stream is known to be complete
     * (SBT_STREAM_NONE: it is not said to which): it may use, or have changed, what this one has
     * given away. Optional. */
    void (*others_send)(void);
    void (*others_waited)(uint32_t stream);

    /* Keeps records of commands before a late start, too: state that is not memory is followed from
     * them. */
    bool commands_are_followed;

    /* In the child of a fork: forget the parent's objects. Optional. */
    void (*forked)(void);

    /* The program is about to open a library, by this path or name. Optional. */
    void (*opening)(const char *path);

    /* A library of the API offers tables of its functions; `name` says which library, and what the
     * tables look like is its and ours to know. No tables: it has taken back what it offered.
     * False: not for this source. Optional. */
    bool (*tables)(const char *name, void **tables, uint64_t count);

    /* The program has changed variables of its environment whose names begin so, or all. Optional,
     * both or none. */
    const char *environment_prefix;
    void (*environment_changed)(void);

    /* A function of that name, where it is found by dlsym(), is `found`'s to replace: it gets the
     * address and where it is asked for, and returns what the program gets. Optional, both or none.
     */
    const char *wanted_symbol;
    void *(*found)(void *address, const void *caller);

    /* The process ends in the ordinary way; the session runs still. Optional. */
    void (*ending)(void);

    /* The session ends, however the process does: says what will never be known. The API's library
     * may be gone: calls nothing of it. Optional. */
    void (*unseen)(void);
};

#endif
