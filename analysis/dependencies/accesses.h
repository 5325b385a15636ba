/* SPDX-License-Identifier: Apache-2.0
 *
 * Accesses: which memory a command may read and write, by what its call says.
 *
 * A copy or a fill declares its bytes. A kernel declares none: it is taken to read and write all of
 * an allocation that a word of its argument block leads to, wherever in it the word points, all
 * that the number of a texture or surface there stands for, and the variables of its module whose
 * address the program has asked for. What is stored in memory that it can reach leads further:
 * allocations whose addresses the program has sent there in a copy whose bytes the trace has. It is
 * assumed to reach nothing else: not by addresses that kernels have computed, that copies between
 * allocations have moved or that a batch of copies has brought, not by numbers that are no multiple
 * of 8 bytes from the begin of the arguments, by variables that the program never looked up, by
 * references of textures, nor memory that two reservations of addresses have in common.
 *
 * Where the trace says what commands have accessed (observed.h), that counts in place of all this,
 * but for objects: a kernel may use those whose numbers are among its arguments.
 *
 * Events and waits access nothing, not even the value in memory that a stream waits for: it is
 * there to be changed meanwhile. Of copies with rows only the place where they begin is known here:
 * they are taken to reach from there to the end of the allocation.
 */
#ifndef ANALYSIS_DEPENDENCIES_ACCESSES_H
#define ANALYSIS_DEPENDENCIES_ACCESSES_H

#include "analysis/dependencies/observed.h"
#include "analysis/held_memory.h"
#include "analysis/model/memory.h"
#include "analysis/model/node.h"
#include "base/map.h"
#include "tracesmith/reader.h"

/* How an access is known: the lower, the surer. */
enum tsm_access_kind {
    TSM_ACCESS_DECLARED,  /* the call says: these bytes, and each of them */
    TSM_ACCESS_OBSERVED,  /* the device has seen it: these bytes, and each of them */
    TSM_ACCESS_REACHABLE, /* some of these bytes, perhaps */
    TSM_ACCESS_UNKNOWN,   /* anything of its context, perhaps */
    TSM_ACCESS_KIND_COUNT
};

#define TSM_ACCESS_ID_MASK 0xffffffffffffffu /* of an object's number: its id */

struct tsm_access {
    uint64_t start, size; /* what of it lies below 2^64 */
    enum tsm_access_kind kind;
    bool reads, writes;
    bool is_object;  /* `start` is the number of an object in place of an address; size is 1 */
    bool is_own;     /* it reads only what it has written before */
    bool is_in_call; /* memory of the host alone: it is over when the call returns */
};

/* A variable of a module, whose address the program knows. */
struct tsm_module_variable {
    uint64_t address, size, module;
};

/* An allocation, `to`, whose address was sent into another one. */
struct tsm_stored_address {
    uint64_t in, to; /* starts */
};

/* A zeroed struct is empty. */
struct tsm_accesses {
    struct tsm_access *list; /* of the last record */
    size_t count, capacity;
    bool is_unknown; /* it may do anything: there is no list */
    /* State: */
    struct tsm_observed observed;
    struct tsm_held_memory held;
    struct tsm_map modules; /* function -> what it came from */
    struct tsm_module_variable *variables;
    size_t variable_count, variable_capacity;
    struct tsm_stored_address *stored; /* by `in`, then `to` */
    size_t stored_count, stored_capacity;
    uint8_t *bytes; /* of a copy */
    size_t byte_capacity;
};

/* Reads what the trace says of accesses, if it does: a pass of its own. Call it before all others,
 * or never. */
int tsm_accesses_begin(struct tsm_accesses *a, struct sbt_reader *reader);

/* Finds the accesses of a command; takes any other call into account. Calls come in the order of
 * the trace. Returns 0 or a negative tsm_error. */
int tsm_accesses_note(struct tsm_accesses *a, struct sbt_reader *reader,
                      const struct tsm_call_node *call);

/* The same for one of the recorder's own records: the program may have written memory. */
int tsm_accesses_note_core(struct tsm_accesses *a, const struct sbt_record *record);

/* Forgets what was stored in memory that is freed. */
void tsm_accesses_free(struct tsm_accesses *a, const struct tsm_memory_node *change);

void tsm_accesses_finish(struct tsm_accesses *a);

/* Returns a number that stands for the object in a record's field with the role, by its type and
 * id; 0: there is none. */
uint64_t tsm_accesses_object(const struct sbt_record *record, const struct sbt_schema *schema,
                             enum sbt_role role);

/* Tests whether each of the bytes is accessed for sure. */
static inline bool tsm_access_is_exact(enum tsm_access_kind kind)
{
    return kind <= TSM_ACCESS_OBSERVED;
}

/* "declared", "observed", "reachable", "unknown". */
const char *tsm_access_kind_name(enum tsm_access_kind kind);

#endif
