/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds the file that the dynamic linker would load for a library, without loading it.
 *
 * We need this because a library whose SONAME is the one searched for (our shim) may already be
 * loaded: dlopen() by name would give that one. ld.so(8) gives the order; the cache's layout is
 * that of glibc's sysdeps/generic/dl-cache.h (new format, "glibc-ld.so.cache1.1").
 */
#ifndef INTERPOSE_ELF_SEARCH_H
#define INTERPOSE_ELF_SEARCH_H

#include <stdbool.h>
#include <stddef.h>

#define TSM_ELF_CACHE_PATH "/etc/ld.so.cache"

/* Try candidates for `name` (a file name without directory) in the linker's order: RPATH,
 * LD_LIBRARY_PATH, RUNPATH of `object` (a link map; NULL: the main program), the cache, the default
 * directories. Returns what `open` returned first that is not NULL. `open` is called only for files
 * that exist. */
void *tsm_elf_search(const char *name, void *object, void *(*open)(void *context, const char *path),
                     void *context);

/* The cache's entry for `name`, copied to `path`. False: none, or no readable cache. */
bool tsm_elf_cache_find(const char *cache_path, const char *name, char *path, size_t path_size);

/* The link map (which is also glibc's dlopen handle) of the object at `address`, NULL if none or if
 * `address` is NULL. */
void *tsm_elf_object_at(const void *address);

/* Path of a loaded object for which `wanted` says yes, copied to `path`. */
bool tsm_elf_loaded(bool (*wanted)(void *context, const char *path), void *context, char *path,
                    size_t path_size);

#endif
