/* SPDX-License-Identifier: Apache-2.0 */
#include "emu/ptx/exec/heap.h"

#include <pthread.h>
#include <sys/mman.h>

#define HEAP_SIZE (1ull << 30) /* of address space; pages come when they are touched */
/* Address of the heap in every process, if that is free: kernels store such addresses, and replay
 * compares what they store. ThreadSanitizer allows no higher address. */
#define HEAP_WISH   ((void *)0x3f00000000)
#define CLASS_COUNT 32

/* Blocks are powers of two with a header; freed ones wait in a list of their size. */
struct header {
    uint64_t order;
    struct header *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint8_t *heap;
static size_t heap_used;
static struct header *free_lists[CLASS_COUNT];

static uint8_t *map(void *wish, int flags)
{
    void *memory = mmap(wish, HEAP_SIZE, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | flags, -1, 0);

    /* A kernel that does not know the flag takes the address as a hint. */
    if (memory != MAP_FAILED && flags && memory != wish) {
        munmap(memory, HEAP_SIZE);
        return NULL;
    }
    return memory == MAP_FAILED ? NULL : memory;
}

static struct header *take(unsigned order)
{
    struct header *h = free_lists[order];

    if (h) {
        free_lists[order] = h->next;
        return h;
    }
    if (!heap && !(heap = map(HEAP_WISH, MAP_FIXED_NOREPLACE)) && !(heap = map(NULL, 0)))
        return NULL;
    if (heap_used + (1ull << order) > HEAP_SIZE)
        return NULL;
    h = (struct header *)(void *)(heap + heap_used);
    heap_used += 1ull << order;
    return h;
}

void *ptx_heap_alloc(size_t size)
{
    unsigned order = 5;

    if (size == 0 || size > HEAP_SIZE / 2)
        return NULL;
    while ((1ull << order) < size + sizeof(struct header))
        order++;
    pthread_mutex_lock(&lock);
    struct header *h = take(order);
    if (h)
        h->order = order;
    pthread_mutex_unlock(&lock);
    return h ? h + 1 : NULL;
}

void ptx_heap_free(void *p)
{
    struct header *h = p ? (struct header *)p - 1 : NULL;
    uint64_t start;
    uint64_t extent;

    if (!h || !ptx_heap_holds((uint64_t)(uintptr_t)h, sizeof(*h), &start, &extent) ||
        h->order >= CLASS_COUNT)
        return;
    pthread_mutex_lock(&lock);
    h->next = free_lists[h->order];
    free_lists[h->order] = h;
    pthread_mutex_unlock(&lock);
}

bool ptx_heap_holds(uint64_t address, uint64_t size, uint64_t *start, uint64_t *extent)
{
    pthread_mutex_lock(&lock);
    *start = (uint64_t)(uintptr_t)heap;
    *extent = heap_used;
    pthread_mutex_unlock(&lock);
    return *start && address >= *start && size <= *extent && address - *start <= *extent - size;
}
