/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory that is locked twice, in part, with more around it, and memory of a pool; what the program
 * writes there in between is what kernels and copies read. Copies from memory for arguments.
 */
#include "tests/hsa/hsa_helper.h"
#include "tests/hsa/hsa_kernels.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#define PAGE  4096u
#define COUNT (16u * PAGE / 4)
#define SIZE  (COUNT * 4u)

static struct hsa_machine machine;
static struct hsa_found_kernel add;
static hsa_queue_t *queue;
static struct add_arguments *arguments;
static float *host, *out;
static unsigned round_number, bad;

static void lock(unsigned first_page, unsigned pages)
{
    void *locked;

    HSA_CHECK(
        hsa_amd_memory_lock((char *)host + first_page * PAGE, pages * PAGE, NULL, 0, &locked));
}

static void unlock(unsigned first_page)
{
    HSA_CHECK(hsa_amd_memory_unlock((char *)host + first_page * PAGE));
}

/* Zeros come and go. */
static float value(unsigned i)
{
    return (i / 1024 + round_number) % 3 ? (float)(i * round_number) : 0;
}

/* A kernel, and a copy, read all that is locked. */
static void use(unsigned first_page, unsigned pages)
{
    const uint32_t grid[3] = {pages * PAGE / 4, 1, 1};
    const uint16_t group[3] = {64, 1, 1};
    unsigned first = first_page * PAGE / 4;
    hsa_signal_t done = hsa_signal_take(1);
    float back[COUNT];

    round_number++;
    for (unsigned i = 0; i < grid[0]; i++)
        host[first + i] = value(i);
    *arguments = (struct add_arguments){host + first, host + first, out};
    hsa_ring(queue, hsa_dispatch(queue, &add, grid, group, arguments, done));
    hsa_await(done);
    HSA_CHECK(hsa_memory_copy(back, out, grid[0] * 4));
    for (unsigned i = 0; i < grid[0]; i++)
        bad += back[i] != 2 * value(i);
    hsa_copy(&machine, out, machine.gpu, host + first, machine.cpu, grid[0] * 4);
    HSA_CHECK(hsa_memory_copy(back, out, grid[0] * 4));
    for (unsigned i = 0; i < grid[0]; i++)
        bad += back[i] != value(i);
}

static void locks(void)
{
    lock(0, 16);
    use(0, 16);
    lock(4, 2); /* a part */
    use(0, 16);
    use(8, 8);
    unlock(4);
    use(4, 4);
    lock(0, 16); /* again */
    unlock(0);
    use(0, 16);
    unlock(0);
    lock(4, 4); /* then more around it */
    use(4, 4);
    lock(0, 16);
    use(0, 16);
    unlock(4);
    use(0, 16);
    unlock(0);
    lock(0, 8); /* one that reaches into the other */
    use(0, 8);
    lock(4, 12);
    use(0, 16);
    unlock(0);
    use(4, 12);
    unlock(4);
}

static void pool_locks(void)
{
    float *pool = hsa_pool_take(machine.fine, SIZE), *before = host;
    void *locked;

    host = pool;
    HSA_CHECK(hsa_amd_memory_lock(pool, SIZE, NULL, 0, &locked));
    use(0, 16);
    HSA_CHECK(hsa_amd_memory_unlock(pool));
    use(0, 16);
    HSA_CHECK(hsa_amd_memory_unlock(pool)); /* it needs no lock */
    use(0, 16);
    host = before;
}

static void copies_of_arguments(void)
{
    float *kernarg = hsa_pool_take(machine.kernarg, PAGE), back[PAGE / 4];

    for (unsigned i = 0; i < PAGE / 4; i++)
        kernarg[i] = (float)i;
    HSA_CHECK(hsa_memory_copy(out, kernarg, PAGE));
    HSA_CHECK(hsa_memory_copy(back, out, PAGE));
    for (unsigned i = 0; i < PAGE / 4; i++)
        bad += back[i] != (float)i;
    kernarg = hsa_pool_take(machine.kernarg, PAGE);
    for (unsigned i = 0; i < PAGE / 4; i++)
        kernarg[i] = (float)(i + 1);
    hsa_copy(&machine, out, machine.gpu, kernarg, machine.cpu, PAGE);
    HSA_CHECK(hsa_memory_copy(back, out, PAGE));
    for (unsigned i = 0; i < PAGE / 4; i++)
        bad += back[i] != (float)(i + 1);
}

int main(int argc, char **argv)
{
    hsa_machine_find(&machine);
    hsa_machine_load(&machine, argv[1]);
    add = hsa_kernel_find(&machine, "add.kd");
    queue = hsa_queue_take(&machine, 64);
    arguments = hsa_pool_take(machine.kernarg, sizeof(*arguments));
    out = hsa_pool_take(machine.device, SIZE);
    host = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    locks();
    pool_locks();
    copies_of_arguments();
    printf(bad ? "wrong: %u\n" : "right\n", bad);
    return bad != 0;
}
