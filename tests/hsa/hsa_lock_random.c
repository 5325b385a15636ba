/* SPDX-License-Identifier: Apache-2.0
 *
 * Random locks of memory, in part, over one another, given back in any order, shared by attributes;
 * what is locked is written by the program, read and written by kernels and copies: hsa_lock_random
 * KERNELS SEED STEPS MODE MODE: 1 parts of pages, 2 attributes, 4 memory of a pool, too, 8 work
 * that goes on from one lock to the next
 */
#include "tests/hsa/hsa_helper.h"
#include "tests/hsa/hsa_kernels.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { PAGE = 4096, PAGES = 12, WORDS = PAGES * PAGE / 4, LOCKS_MAX = 256 };
enum { PARTS = 1, ATTRIBUTES = 2, POOL = 4, ACROSS = 8 };

enum how { LOCKED, REGISTERED, SHARED };

struct lock {
    uint32_t *base, first, count;
    enum how how;
};

struct part {
    uint32_t *start, count;
};

static struct hsa_machine machine;
static struct hsa_found_kernel weave;
static hsa_queue_t *queue;
static struct weave_arguments *arguments;
static uint32_t argument_count, *host, *device, *pool, sum, back[WORDS];
static struct lock locks[LOCKS_MAX];
static unsigned lock_count, mode;
static uint64_t state;

static uint32_t draw(uint32_t below)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 33) % below;
}

static struct lock draw_range(void)
{
    const uint32_t grain = mode & PARTS ? 64 : PAGE / 4, count = WORDS / grain;
    const uint32_t first = draw(count), length = draw(count - first);

    return (struct lock){host, first * grain,
                         (1 + (length > count / 2 ? length / 2 : length)) * grain, LOCKED};
}

static void add_lock(void)
{
    struct lock lock = draw_range();
    void *locked;

    if (lock_count == LOCKS_MAX)
        return;
    lock.how = (enum how)draw(mode & ATTRIBUTES ? 3 : 2);
    if (mode & POOL && !draw(4))
        lock.base = pool, lock.how = LOCKED;
    if (lock.how == LOCKED) {
        HSA_CHECK(hsa_amd_memory_lock(lock.base + lock.first, lock.count * 4, NULL, 0, &locked));
    } else if (lock.how == REGISTERED) {
        HSA_CHECK(hsa_memory_register(lock.base + lock.first, lock.count * 4));
    } else {
        hsa_amd_svm_attribute_pair_t list[] = {
            {HSA_AMD_SVM_ATTRIB_GLOBAL_FLAG, HSA_AMD_SVM_GLOBAL_FLAG_FINE_GRAINED},
            {HSA_AMD_SVM_ATTRIB_AGENT_ACCESSIBLE, machine.gpu.handle}};
        HSA_CHECK(hsa_amd_svm_attributes_set(lock.base + lock.first, lock.count * 4, list, 2));
    }
    locks[lock_count++] = lock;
}

/* The newest lock at that address goes. */
static void give_back(void)
{
    unsigned i = lock_count ? draw(lock_count) : 0;

    if (!lock_count || locks[i].how == SHARED)
        return;
    for (unsigned k = lock_count; k-- > i;)
        if (locks[k].base == locks[i].base && locks[k].first == locks[i].first &&
            locks[k].how != SHARED) {
            i = k;
            break;
        }
    if (locks[i].how == LOCKED)
        HSA_CHECK(hsa_amd_memory_unlock(locks[i].base + locks[i].first));
    else
        HSA_CHECK(hsa_memory_deregister(locks[i].base + locks[i].first, locks[i].count * 4));
    memmove(&locks[i], &locks[i + 1], (lock_count - i - 1) * sizeof(locks[0]));
    lock_count--;
}

static bool is_locked(uint32_t word)
{
    for (unsigned i = 0; i < lock_count; i++)
        if (locks[i].base == host && word - locks[i].first < locks[i].count)
            return true;
    return false;
}

/* Words that the GPU may use; none: no words. */
static struct part pick(void)
{
    struct lock lock = draw_range();

    if (mode & POOL && !draw(4))
        return (struct part){pool + lock.first, lock.count};
    if (!lock_count)
        return (struct part){NULL, 0};
    lock = locks[draw(lock_count)];
    uint32_t first = lock.first + (draw(2) ? 0 : draw(lock.count / 64) * 64), count = 64;
    while (lock.base == host && first + count < WORDS && is_locked(first + count) && draw(30) &&
           (mode & ACROSS || first + count < lock.first + lock.count))
        count += 64;
    return (struct part){lock.base + first, count};
}

static void write_words(void)
{
    const struct lock range = draw_range();
    const uint32_t value = draw(1000), step = draw(3);

    for (uint32_t i = 0; i < range.count; i++)
        host[range.first + i] = step ? value + i * step : 0;
}

static void run(uint32_t *in, uint32_t *out, uint32_t count)
{
    static const uint16_t group[3] = {64, 1, 1};
    const uint32_t grid[3] = {count, 1, 1};
    struct weave_arguments *a = &arguments[argument_count++];
    hsa_signal_t done = hsa_signal_take(1);

    *a = (struct weave_arguments){in, out, draw(9) + 1, 1, 0, 0};
    hsa_ring(queue, hsa_dispatch(queue, &weave, grid, group, a, done));
    hsa_await(done);
    HSA_CHECK(hsa_signal_destroy(done));
}

static void use(void)
{
    const struct part part = pick();
    const uint32_t what = draw(5), size = part.count * 4;
    struct part other = {NULL, 0};

    if (!part.count)
        return;
    if (what == 4)
        other = pick();
    if (other.count > part.count)
        other.count = part.count;
    if (what == 0)
        run(part.start, device, part.count);
    else if (what == 1)
        run(device, part.start, part.count);
    else if (what == 2)
        hsa_copy(&machine, device, machine.gpu, part.start, machine.cpu, size);
    else if (what == 3)
        hsa_copy(&machine, part.start, machine.cpu, device, machine.gpu, size);
    else if (other.count &&
             (part.start + other.count <= other.start || other.start + other.count <= part.start))
        run(part.start, other.start, other.count);
    if (what == 0 || what == 2)
        HSA_CHECK(hsa_memory_copy(back, device, size));
    else
        memcpy(back, what == 4 && other.count ? other.start : part.start,
               what == 4 ? other.count * 4 : size);
    for (uint32_t i = 0; i < (what == 4 ? other.count : part.count); i++)
        sum = sum * 31 + back[i];
}

int main(int argc, char **argv)
{
    const unsigned steps = argc > 3 ? (unsigned)atoi(argv[3]) : 40;

    state = (argc > 2 ? strtoul(argv[2], NULL, 10) : 1) * 2654435761u + 99;
    mode = argc > 4 ? (unsigned)atoi(argv[4]) : 0;
    hsa_machine_find(&machine);
    hsa_machine_load(&machine, argv[1]);
    weave = hsa_kernel_find(&machine, "weave.kd");
    queue = hsa_queue_take(&machine, 64);
    arguments = hsa_pool_take(machine.kernarg, steps * sizeof(*arguments) + PAGE);
    device = hsa_pool_take(machine.device, WORDS * 4);
    pool = hsa_pool_take(machine.fine, WORDS * 4);
    HSA_CHECK(hsa_amd_memory_fill(device, 7, WORDS));
    host = mmap(NULL, WORDS * 4, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (uint32_t i = 0; i < WORDS; i++) {
        host[i] = draw(2) ? i : 0;
        pool[i] = i * 3;
    }
    for (unsigned i = 0; i < steps; i++) {
        const uint32_t step = draw(7);
        if (step < 2)
            add_lock();
        else if (step == 2)
            give_back();
        else if (step == 3)
            write_words();
        else
            use();
    }
    printf("%u\n", sum);
    return 0;
}
