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
 * dlopen and dlsym look at their return address (RUNPATH, RTLD_NEXT), so ours are a few
 * instructions of assembly (hook_stubs.S) that ask a C function below and then jump.
 *
 * Nothing here takes a lock: the program may hold the dynamic linker's. Two threads that open the
 * library at once both do the work, and one result is kept.
 */
#ifndef INTERPOSE_INTERPOSE_H
#define INTERPOSE_INTERPOSE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* On a function that a source exports: everything else in libts_capture.so is hidden. */
#define TSM_EXPORT __attribute__((visibility("default")))

/* Jump target of an export, for an API whose library also offers its functions in a table: the
 * export is one jump to `target`. That is at first `recorder`, which records. When the table is
 * ours (tsm_door_take()), it is the library's own export, which goes through the table and so
 * reaches `recorder` there: each call passes it once, by whichever way it came, and other tools
 * that change the table behind us see what the program calls. Layout known to api/gen/doors.py. */
struct tsm_door {
    void *target;
    void *recorder;
    void *exported; /* the library's own export, once it is bound */
    void **taken; /* the table's place, when it is ours; the recorder's `real` is what it held */
};

/* One function that we export for an API's library. */
struct tsm_export {
    const char *name;
    void *wrapper;
    void **real; /* where the wrapper finds the real one; at first its own resolver */
    struct tsm_door *door; /* NULL: `wrapper` records by itself */
};

/* The exports of one API, sorted by name (strcmp). */
struct tsm_exports {
    const struct tsm_export *rows;
    size_t count;
};

/* NULL when there is none of this name. */
const struct tsm_export *tsm_export_find(const struct tsm_exports *exports, const char *name);

struct tsm_source;

/* Its place in tsm_sources, which depends on the build. */
unsigned tsm_source_index(const struct tsm_source *source);

/* ---- the real library ---------------------------------------------------------------------- */

/* The real library behind source `index` of tsm_sources: opened once as the program would have
 * found it, kept until the process ends, and given to the source's bind(). NULL: there is none.
 * `caller` is an address in the object whose search path counts, NULL for the main program. Any
 * thread; errno preserved. */
void *tsm_real_library(unsigned index, const void *caller);

/* ... or NULL when nobody has opened it yet. */
void *tsm_real_library_opened(unsigned index);

/* Is the real library in the process, whoever loaded it? */
bool tsm_real_library_loaded(unsigned index);

/* A function of the real library, NULL when it has none of this name. Leaves no dlerror(). */
void *tsm_real_symbol(void *real, const char *name);

/* libc's setenv(), overwriting: no source hears of it. */
int tsm_libc_setenv(const char *name, const char *value);

/* Path of a file that was installed (or built) with this library, `name` being relative to the
 * folder that it lies in. False: there is none. */
bool tsm_own_file(const char *name, char *path, size_t path_size);

/* For bind(): point each row's `real` at the function of that name, where there is one. */
void tsm_exports_bind(const struct tsm_exports *exports, void *real);

/* ---- a library's own table of functions ------------------------------------------------------ */

/* A table as a library offers it: functions one after the other, after a head. */
struct tsm_table {
    const char *const *names; /* of each function; "a=b": the export b calls it, too */
    size_t count;
};

/* Put our recorders into the `there` functions at `functions`, as far as they are known. Returns how
 * many are ours now. Once or several times for the same table; by the thread that the library asks
 * us on. A second library of the kind, with a table of its own, keeps its functions: calls of one must
 * not go to the other. */
size_t tsm_table_take(const struct tsm_exports *exports, const struct tsm_table *table,
                      void **functions, size_t there);

/* The library has taken its functions back: exports record by themselves again. */
void tsm_doors_close(const struct tsm_exports *exports);

/* ---- addresses that a library gives out ------------------------------------------------------ */

/* Real address -> our export, for functions like cuGetProcAddress. Zero-initialised is empty. Any
 * thread may add and find at any time. */
#define TSM_ADDRESS_MAP_SIZE 2048u /* a power of two, at least twice the exports of one API */
struct tsm_address_map {
    _Atomic(const struct tsm_export *) slots[TSM_ADDRESS_MAP_SIZE];
};

/* Add a row after its `real` was bound. The same row twice is kept once. */
void tsm_address_map_add(struct tsm_address_map *map, const struct tsm_export *row);

/* The export whose real function is at `address`, NULL when it is none of theirs. Several names may
 * share an address: then the one that is `name` with nothing or a suffix like _v2 or _ptsz after
 * it, and among those one whose suffix has `mark` in it, or has not, as `marked` says. */
const struct tsm_export *tsm_address_map_find(const struct tsm_address_map *map,
                                              const void *address, const char *name,
                                              const char *mark, bool marked);

/* An address that goes to `real` and says, at the first call, that `name` was called although we
 * have no wrapper for it: only then is anything missing in the trace. `real` itself when the table
 * of such addresses is full, and then it says so at once. */
void *tsm_unwrapped(const char *name, void *real);

#endif
