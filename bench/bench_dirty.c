/* SPDX-License-Identifier: Apache-2.0
 *
 * One cycle of change detection on 1 GiB of host memory that the device can read: the program
 * writes to 1 % of the pages, and capture finds out which, against hashing everything. Three
 * cycles: the writes leave the bytes as they were (detection alone), the writes change them (what
 * changed goes into the trace, too), and every page is written. Thread CPU time: faults are in it.
 */
#include "base/hash.h"
#include "bench/null_api.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#define PAGE  4096u
#define SIZE  (1ull << 30)
#define PAGES (SIZE / PAGE)

enum { ROUNDS = 15, FULL_ROUNDS = 24 };

static uint8_t *memory;
static uint64_t random_state = BENCH_SEED, sink;

static double rehash_ms(void)
{
    uint64_t begin = bench_thread_ns();

    for (uint64_t page = 0; page < PAGES; page++)
        sink += tsm_hash64(memory + page * PAGE, PAGE);
    return (double)(bench_thread_ns() - begin) / 1e6;
}

static struct bench_samples writes;

static double cycle_ms(uint64_t pages, uint64_t value)
{
    uint64_t begin = bench_thread_ns();

    for (uint64_t i = 0; i < pages; i++) {
        uint64_t page = pages == PAGES ? i : bench_random(&random_state) % PAGES;
        *(volatile uint64_t *)(void *)(memory + page * PAGE) = value;
    }
    if (pages != PAGES)
        bench_add(&writes, (double)(bench_thread_ns() - begin) / 1e6);
    tsm_hostmem_publish();
    return (double)(bench_thread_ns() - begin) / 1e6;
}

int main(void)
{
    static struct bench_samples rehash, found, changed, full;
    double full_sum = 0;

    memory = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return 77;
    madvise(memory, SIZE, MADV_NOHUGEPAGE);
    memset(memory, 0, SIZE);
    null_stream();
    tsm_hostmem_track((uint64_t)(uintptr_t)memory, SIZE);
    tsm_hostmem_publish();
    cycle_ms(PAGES / 100, 0);
    for (int i = 0; i < ROUNDS; i++) {
        bench_add(&rehash, rehash_ms());
        bench_add(&found, cycle_ms(PAGES / 100, 0));
    }
    for (uint64_t i = 0; i < ROUNDS; i++)
        bench_add(&changed, cycle_ms(PAGES / 100, i + 1));
    memset(memory, 0, SIZE);
    tsm_hostmem_publish();
    for (int i = 0; i < FULL_ROUNDS; i++) {
        double ms = cycle_ms(PAGES, 0);
        bench_add(&full, ms);
        full_sum += ms;
    }
    bench_print("rehash_ms", &rehash);
    bench_print("dirty_writes_ms", &writes);
    bench_print("dirty_found_ms", &found);
    bench_print("dirty_changed_ms", &changed);
    bench_print("dirty_full_ms", &full);
    bench_print_value("dirty_full_mean_ms", full_sum / FULL_ROUNDS);
    tsm_session_finish();
    munmap(memory, SIZE);
    return sink == 1;
}
