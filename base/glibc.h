/* SPDX-License-Identifier: Apache-2.0
 *
 * Built here, run there: what we load into other people's programs must not ask for a newer glibc
 * than 2.31 just because it was linked with one. glibc 2.34 moved libpthread and libdl into libc and
 * gave their functions new version names; 2.33 made functions of the stat family. The old names are
 * still there, with the same meaning. Included before everything else by the build (-include).
 * tests/lint/symbols.py looks at the outcome.
 */
#ifndef BASE_GLIBC_H
#define BASE_GLIBC_H

#ifndef __ASSEMBLER__
#include <features.h>

/* The sanitizers' runtimes stand in for the newest versions only. */
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define TSM_GLIBC_ANY
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
#define TSM_GLIBC_ANY
#endif
#endif

#if defined(__x86_64__) && defined(__GLIBC__) && __GLIBC_PREREQ(2, 34) && !defined(TSM_GLIBC_ANY)

#define TSM_GLIBC_SYMBOL(name, version) __asm__(".symver " #name "," #name "@GLIBC_" #version)

TSM_GLIBC_SYMBOL(dladdr, 2.2.5);
TSM_GLIBC_SYMBOL(dladdr1, 2.3.3);
TSM_GLIBC_SYMBOL(dlclose, 2.2.5);
TSM_GLIBC_SYMBOL(dlerror, 2.2.5);
TSM_GLIBC_SYMBOL(dlinfo, 2.3.3);
TSM_GLIBC_SYMBOL(dlmopen, 2.3.4);
TSM_GLIBC_SYMBOL(dlvsym, 2.2.5);
TSM_GLIBC_SYMBOL(pthread_create, 2.2.5);
TSM_GLIBC_SYMBOL(pthread_condattr_setclock, 2.3.3);
TSM_GLIBC_SYMBOL(pthread_detach, 2.2.5);
TSM_GLIBC_SYMBOL(pthread_join, 2.2.5);
TSM_GLIBC_SYMBOL(pthread_key_create, 2.2.5);
TSM_GLIBC_SYMBOL(pthread_mutex_trylock, 2.2.5);
TSM_GLIBC_SYMBOL(pthread_once, 2.2.5);
TSM_GLIBC_SYMBOL(pthread_rwlock_rdlock, 2.2.5);
TSM_GLIBC_SYMBOL(pthread_rwlock_unlock, 2.2.5);
TSM_GLIBC_SYMBOL(pthread_rwlock_wrlock, 2.2.5);
TSM_GLIBC_SYMBOL(pthread_setspecific, 2.2.5);
TSM_GLIBC_SYMBOL(pthread_sigmask, 2.2.5);

/* Not where we define them ourselves: interpose/ does. */
#ifndef TSM_DEFINES_DL
TSM_GLIBC_SYMBOL(dlopen, 2.2.5);
TSM_GLIBC_SYMBOL(dlsym, 2.2.5);
#endif

#include <sys/stat.h>
extern int __fxstat64(int version, int fd, struct stat *out);
extern int __fxstatat64(int version, int folder, const char *path, struct stat *out, int flags);
extern int __lxstat64(int version, const char *path, struct stat *out);
extern int __xstat64(int version, const char *path, struct stat *out);
#define fstat(fd, out)   __fxstat64(1, fd, out)
#define fstatat(folder, path, out, flags) __fxstatat64(1, folder, path, out, flags)
#define lstat(path, out) __lxstat64(1, path, out)
#define stat(path, out)  __xstat64(1, path, out)

#endif
#endif
#endif
