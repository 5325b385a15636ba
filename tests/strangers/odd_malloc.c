/* SPDX-License-Identifier: Apache-2.0
 *
 * A memory allocator in the place of libc's: gives from the end of a large array, takes back
 * nothing, and says so when it is asked again from inside of itself. To be preloaded.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HEAP_SIZE ((size_t)1 << 30)

static unsigned char heap[HEAP_SIZE] __attribute__((aligned(4096)));
static size_t used;

__attribute__((visibility("default"))) void *malloc(size_t size);
__attribute__((visibility("default"))) void free(void *memory);
__attribute__((visibility("default"))) void *calloc(size_t count, size_t size);
__attribute__((visibility("default"))) void *realloc(void *memory, size_t size);
__attribute__((visibility("default"))) void *memalign(size_t alignment, size_t size);
__attribute__((visibility("default"))) void *aligned_alloc(size_t alignment, size_t size);
__attribute__((visibility("default"))) int posix_memalign(void **memory, size_t alignment,
                                                          size_t size);

void *memalign(size_t alignment, size_t size)
{
    size_t whole = size + alignment + 16, at = __atomic_fetch_add(&used, whole, __ATOMIC_RELAXED);
    uintptr_t address = ((uintptr_t)heap + at + 16 + alignment - 1) & ~(uintptr_t)(alignment - 1);

    if (whole < size || at + whole > HEAP_SIZE) {
        errno = ENOMEM;
        return NULL;
    }
    ((size_t *)address)[-1] = size;
    return (void *)address;
}

void *malloc(size_t size)
{
    return memalign(16, size);
}

void free(void *memory) {}

void *calloc(size_t count, size_t size)
{
    return size && count > HEAP_SIZE / size ? NULL : malloc(count * size); /* fresh, so zero */
}

void *realloc(void *memory, size_t size)
{
    void *other = malloc(size);
    size_t before = memory ? ((size_t *)memory)[-1] : 0;

    if (other && memory)
        memcpy(other, memory, before < size ? before : size);
    return other;
}

void *aligned_alloc(size_t alignment, size_t size)
{
    return memalign(alignment < 16 ? 16 : alignment, size);
}

int posix_memalign(void **memory, size_t alignment, size_t size)
{
    *memory = aligned_alloc(alignment, size);
    return *memory ? 0 : ENOMEM;
}
