/* SPDX-License-Identifier: Apache-2.0
 *
 * The dynamic linker's cache as an enemy writes it: what is found in it is a path, or nothing.
 */
#include "interpose/elf_search.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static int fd = -1;
    static char cache[64];
    char path[128];

    if (fd < 0)
        fd = memfd_create("cache", MFD_CLOEXEC);
    snprintf(cache, sizeof(cache), "/proc/self/fd/%d", fd);
    if (fd < 0 || ftruncate(fd, 0) < 0 || pwrite(fd, data, size, 0) != (ssize_t)size)
        abort();
    if (tsm_elf_cache_find(cache, "libcuda.so.1", path, sizeof(path)) &&
        strnlen(path, sizeof(path)) == sizeof(path))
        abort();
    return 0;
}
