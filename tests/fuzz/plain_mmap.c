/* SPDX-License-Identifier: Apache-2.0
 *
 * mmap() and munmap() past AddressSanitizer, by --wrap: for each mapping it clears the shadow of
 * all of it, which takes seconds and gigabytes where a damaged trace reserves terabytes of
 * addresses. Memory that drivers map has no shadow but zeros. There is no more of it than a fuzzer
 * may fill.
 */
#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

void *__wrap_mmap64(void *address, size_t size, int prot, int flags, int fd, off_t offset);
int __wrap_munmap(void *address, size_t size);

void *__wrap_mmap64(void *address, size_t size, int prot, int flags, int fd, off_t offset)
{
    const size_t most = 64u << 20; /* of memory; addresses alone cost nothing */
    long got;

    if (prot & PROT_WRITE && size > most) {
        errno = ENOMEM;
        return MAP_FAILED;
    }
    got = syscall(SYS_mmap, address, size, prot, flags, fd, offset);

    return got == -1 ? MAP_FAILED : (void *)got; /* NOLINT: an address */
}

int __wrap_munmap(void *address, size_t size)
{
    return (int)syscall(SYS_munmap, address, size);
}
