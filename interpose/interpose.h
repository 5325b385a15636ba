/* SPDX-License-Identifier: Apache-2.0
 *
 * How an unchanged program's calls reach our wrappers. API-neutral: an API says which functions it
 * exports and under which file names its library is opened (struct tsm_source in api/api.h).
 *
 *   a program that links the library     binds to our exports: a preloaded library comes first
 *   dlopen("libcuda.so.1"), any path     our dlopen gives a handle of the shim, a library without
 *                                        code whose only dependency is libts_capture.so: dlsym()
 *                                        on it finds our exports
 *   dlsym(shim, "cuNewerThanUs")         our dlsym passes it to the real library; and a name that
 *                                        the real library lacks is not found, although we export it
 *   plugins that bind to themselves      (RTLD_DEEPBIND) find the shim by its SONAME
 *
 * dlopen and dlsym look at their return address (RUNPATH, RTLD_NEXT), so ours are a few instructions
 * of assembly that ask a C function below and then jump.
 *
 * Nothing here takes a lock: the program may hold the dynamic linker's. Two threads that open the
 * library at once both do the work, and one result is kept.
 */
#ifndef INTERPOSE_INTERPOSE_H
#define INTERPOSE_INTERPOSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One function that we export for an API's library. */
struct tsm_export {
    const char *name;
    void *wrapper;
    void **real; /* where the wrapper finds the real one; at first its own resolver */
};

/* The exports of one API, sorted by name (strcmp). */
struct tsm_exports {
    const struct tsm_export *rows;
    size_t count;
};

/* NULL when there is none of this name. */
const struct tsm_export *tsm_export_find(const struct tsm_exports *exports, const char *name);

/* ---- the real library ---------------------------------------------------------------------- */

/* The real library behind source `index` of tsm_sources: opened once as the program would have
 * found it, kept until the process ends, and given to the source's bind(). NULL: there is none.
 * `caller` is an address in the object whose search path counts, NULL for the main program. Any
 * thread; errno preserved. */
void *tsm_real_library(unsigned index, const void *caller);

/* ... or NULL when nobody has opened it yet. */
void *tsm_real_library_opened(unsigned index);

/* A function of the real library, NULL when it has none of this name. */
void *tsm_real_symbol(void *real, const char *name);

/* ---- addresses that a library gives out ------------------------------------------------------ */

/* Real address -> our export, for functions like cuGetProcAddress. Built by bind(). */
struct tsm_address_map {
    struct tsm_address_slot {
        const void *address;
        const struct tsm_export *export;
    } slots[2048]; /* a power of two, at least twice the exports of one API */
};

void tsm_address_map_add(struct tsm_address_map *map, const void *address,
                         const struct tsm_export *export);

/* The export whose real function is at `address`. Several names may share an address: then the one
 * that is `name` followed by nothing or by a suffix (_v2, _ptsz, ...) is taken, and among those one
 * that ends in `suffix`. NULL when the address is not one of theirs. */
const struct tsm_export *tsm_address_map_find(const struct tsm_address_map *map,
                                              const void *address, const char *name,
                                              const char *suffix);

/* An address that goes to `real` and tells, the first time, that `name` was called although we have
 * no wrapper for it. `real` itself when the table is full. */
void *tsm_unwrapped(const char *name, void *real);

#endif
