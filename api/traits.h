/* SPDX-License-Identifier: Apache-2.0
 *
 * Traits: what calls, objects and APIs mean beyond kinds and roles, for those who know no API. The
 * .api files say them ("traits", "objects"); api/gen/trait_table.py makes one table of all APIs,
 * which is in every build, so that a trace can be read without its API's headers.
 */
#ifndef API_TRAITS_H
#define API_TRAITS_H

#include "tracesmith/trace.h"

#include <stdbool.h>

/* Traits of a call. A word of the .api files each, with "-" for "_". */
enum tsm_call_trait {
    /* Its place in a checkpoint. */
    TSM_TRAIT_TRANSIENT =
        1u << 0, /* a checkpoint says what it has changed, or nothing remains of it */
    TSM_TRAIT_GLOBAL = 1u << 1, /* changes what belongs to no single object */
    TSM_TRAIT_MAPS = 1u << 2,   /* the last one for its object counts, others do not */
    TSM_TRAIT_BEGINS = 1u << 3, /* its object begins again: what was recorded into it is over */
    TSM_TRAIT_RESETS = 1u << 4, /* the same, and nothing remains of the call itself */
    TSM_TRAIT_NAMES = 1u << 5,  /* gives an object a name that people read */
    /* The way to its objects. */
    TSM_TRAIT_BINDS = 1u << 6,   /* gives its object memory; "binds=MEMBER": that member's object */
    TSM_TRAIT_WRITES = 1u << 7,  /* changes what its object names; "writes=MEMBER": the same */
    TSM_TRAIT_ADDRESS = 1u << 8, /* the program knows the address of its object from now on */
    TSM_TRAIT_EXPOSES = 1u << 9, /* its object is reached without being named from now on */
    TSM_TRAIT_UNRELATED = 1u << 10, /* lists objects that need have nothing to do with each other */
    /* Its work on a stream. */
    TSM_TRAIT_SUBMITS = 1u << 11, /* carries out what was recorded into the objects that it names */
    TSM_TRAIT_PRESENTS = 1u << 12,      /* ends a frame */
    TSM_TRAIT_HOST_FUNCTION = 1u << 13, /* calls a function of the program */
    /* Recorded into its first object. */
    TSM_TRAIT_EXECUTES =
        1u << 14, /* the objects that it names, with all that was recorded into them */
    TSM_TRAIT_LABEL_BEGIN = 1u << 15,
    TSM_TRAIT_LABEL_END = 1u << 16,
    /* Graphs of nodes. Slot 0: what is made or changed, slot 1: the graph that it comes from. */
    TSM_TRAIT_BEGINS_CAPTURE = 1u << 17, /* slot 0: the stream; commands become nodes from now on */
    TSM_TRAIT_ENDS_CAPTURE = 1u << 18,   /* slot 0: the stream, slot 1: the graph */
    TSM_TRAIT_CREATES_GRAPH = 1u << 19,
    TSM_TRAIT_CLONES_GRAPH = 1u << 20,
    TSM_TRAIT_ADDS_NODE = 1u << 21,
    TSM_TRAIT_DESTROYS_NODE = 1u << 22,
    TSM_TRAIT_NAMES_NODES = 1u << 23,  /* slot 0: the graph, slot 1: id and type of each node */
    TSM_TRAIT_NAMES_CHILD = 1u << 24,  /* slot 0: the node, slot 1: the graph within it */
    TSM_TRAIT_INSTANTIATES = 1u << 25, /* slot 0: what can be launched then */
    TSM_TRAIT_LAUNCHES_GRAPH =
        1u << 26, /* slot 0: what; each function of the program that it calls takes a
                     place on the stream behind this one, without a record */
    /* Its work on a stream, again. */
    TSM_TRAIT_MAY_WAIT = 1u << 27, /* waits for what its stream was given before, or does not:
                                      where its arguments lead decides that */
    /* Devices, and what is current on a thread. */
    TSM_TRAIT_DEVICE =
        1u << 28, /* "device=FIELD": what it makes is on the device that the field names */
    TSM_TRAIT_ENTERS = 1u << 29, /* its object is current on the thread from now on, if any */
    TSM_TRAIT_LEAVES =
        1u << 30, /* first, what is current on the thread gives way to the one below */
    /* Recorded into its first object, and work of its own when that is carried out. */
    TSM_TRAIT_RUNS = 1ull << 31,   /* runs programs of the device: dispatches, draws, traces */
    TSM_TRAIT_COPIES = 1ull << 32, /* copies bytes or texels */
    TSM_TRAIT_FILLS = 1ull << 33,  /* writes the same everywhere, or bytes that it was given */
    TSM_TRAIT_FROM_QUEUE =
        1ull << 34,              /* found in a queue: which thread wrote it there is not known */
    TSM_TRAIT_ASKS = 1ull << 35, /* says whether all has ended, and waits for nothing */
    TSM_TRAIT_ONLY_WAITS =
        1ull << 36, /* a command without work: it ends when its wait does, before others begin */
    /* On a stream of its own, for all streams of the first object that its record names. */
    TSM_TRAIT_GATHERS = 1ull << 37, /* waits for what was sent to them before */
    TSM_TRAIT_SPREADS = 1ull << 38, /* what is sent to them later waits for it */
};

/* All that is work of its own. */
#define TSM_TRAIT_WORKS (TSM_TRAIT_RUNS | TSM_TRAIT_COPIES | TSM_TRAIT_FILLS)

/* Traits of a type of objects. */
enum tsm_object_trait {
    TSM_OBJECT_GROUND = 1u << 0,    /* everything needs it: devices, contexts, queues */
    TSM_OBJECT_DROPPABLE = 1u << 1, /* reached by its name alone: without one it is not needed */
    TSM_OBJECT_CARRIER = 1u << 2,   /* holds bytes, leads to some, or passes on a result */
    TSM_OBJECT_RECORDING = 1u << 3, /* commands are recorded into it and carried out later */
    TSM_OBJECT_MEMORY = 1u << 4,    /* bytes */
    TSM_OBJECT_IMAGE = 1u << 5,     /* texels in a layout of the device */
    TSM_OBJECT_CONTEXT = 1u << 6,   /* has a default stream; stands for the whole device */
    TSM_OBJECT_EVENT = 1u << 7,     /* a place on a stream that others wait for */
    TSM_OBJECT_SIGNAL = 1u << 8,    /* a value that commands and the program wait for and set */
    TSM_OBJECT_GRAPH = 1u << 9,     /* launched as a whole; its launches do not say what they use */
    TSM_OBJECT_ARRAY = 1u << 10,    /* texels, found by its id */
    TSM_OBJECT_DEVICE = 1u << 11,   /* a device: what is made of it is on it */
    TSM_OBJECT_PROGRAM = 1u << 12,  /* what commands run */
};

/* Traits of an API. */
enum tsm_api_trait {
    TSM_API_NESTS = 1u << 0,  /* its calls are made of those of another API, recorded inside them */
    TSM_API_KERNEL = 1u << 1, /* its commands are the kernel's own: jobs of rings */
    TSM_API_SHOWS_SUBMITS = 1u << 2, /* what is recorded into its objects is in the trace */
    TSM_API_IN_ORDER = 1u << 3, /* a command of a stream begins when those before it have ended */
};

struct tsm_call_traits {
    const char *name;
    const char *target; /* MEMBER of "binds" or "writes": name of a struct's member; FIELD of
                           "device"; "" for none */
    uint16_t api;       /* enum sbt_api */
    uint64_t traits;    /* enum tsm_call_trait */
};

/* All zero, with target "", for a call without traits or of a later version. A binary search:
 * callers that ask for each record of a trace may do so. */
struct tsm_call_traits tsm_call_traits(const struct sbt_schema *schema);

/* The same by a record's type alone: traits of graphs and of functions of the program, for calls
 * whose numbers are in the description (CUDA, HSA, HIP). Fast enough for every record. */
uint32_t tsm_graph_traits(uint32_t record_type);

/* enum tsm_object_trait; `type` is a handle's detail: "event", "VkBuffer". */
uint32_t tsm_object_traits(const char *type);

/* Returns a type of objects that has one of the traits; "" for none. */
const char *tsm_object_type_with(uint32_t traits);

/* enum tsm_api_trait; of the API in a record's type. */
uint32_t tsm_api_traits(uint32_t record_type);

/* Tests whether a result, by its name, says that commands which were sent before the call have
 * failed, and with them all that is left on what they belong to (enum tsm_object_trait: CONTEXT).
 */
bool tsm_result_says_failure(uint32_t record_type, const char *result);

/* The part of a type's name after what begins all of its API's: of "VK_OBJECT_TYPE_BUFFER" and
 * "VkBuffer" "BUFFER" and "Buffer". The whole name where an API has no such thing. */
const char *tsm_object_type_stem(const char *type);

/* Tests whether a value of an API's table of object types ("VK_OBJECT_TYPE_COMMAND_BUFFER") names
 * `type`
 * ("VkCommandBuffer"). Compares the letters and digits of the stems, without case. */
bool tsm_object_type_is(const char *value, const char *type);

#endif
