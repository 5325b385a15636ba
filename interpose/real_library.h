/* SPDX-License-Identifier: Apache-2.0
 *
 * Inside interpose/: the libc functions behind our hooks, the real libraries and their shims.
 */
#ifndef INTERPOSE_REAL_LIBRARY_H
#define INTERPOSE_REAL_LIBRARY_H

#include "interpose/interpose.h"

#define TSM_SOURCE_MAX 8u /* rows of tsm_sources looked at */

/* libc's own functions, not our exports. Resolved at the first use. */
void *(*tsm_libc_dlopen(void))(const char *path, int mode);
void *(*tsm_libc_dlsym(void))(void *handle, const char *name);
/* The next definition of `name` after ours. */
void *tsm_libc_function(const char *name);
/* Its version GLIBC_2.2.5, of a function that has a newer one, too. */
void *tsm_libc_old_function(const char *name);

/* Index of the source whose library `path` (a path or a bare file name) names, -1 for none:
 * "libcuda.so", "libcuda.so.1", "/any/where/libcuda.so.550.54". */
int tsm_real_library_named(const char *path);

/* Open the library that dlopen(name, mode) from `caller` would give. NULL when it would fail, or
 * when that is another file than the one already opened for this source. */
void *tsm_real_library_open(unsigned index, const char *name, int mode, const void *caller);

/* Would a search find it? Does not load it; what is found is used by the next open. */
bool tsm_real_library_exists(unsigned index, const void *caller);

/* Path of the shim of a source. False: there is no such file. */
bool tsm_shim_path(unsigned index, char *path, size_t path_size);

/* Handle of the shim, loaded when it was not; NULL when it cannot be. We keep a reference. */
void *tsm_shim_open(unsigned index);
/* ... NULL when it was not loaded. */
void *tsm_shim_opened(unsigned index);

/* From now on the sources hear of forks in the child (hook_process.c). Any number of times. */
void tsm_follow_forks(void);

#endif
