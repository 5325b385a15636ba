/* SPDX-License-Identifier: Apache-2.0
 *
 * Measures pairs of a push and a pop of NVTX to the program: with whatever tool the environment
 * names, and two pairs of time stamps for comparison. Bursts fit into a lane, with rests between
 * them.
 */
#include "bench/measure.h"
#include "tests/programs/nvtx_loader.h"

#include <unistd.h>

enum { ROUNDS = 400, BATCH = 256 };

static void *domain, *text;

static void stamps(void)
{
    for (int i = 0; i < 4; i++) {
        const uint64_t now = tsm_ticks();

        __asm__ volatile("" : : "r"(now));
    }
}

static void plain(void)
{
    nvtx.push("a label");
    nvtx.pop();
}

static void registered(void)
{
    const struct nvtx_attributes a = {
        .version = 3, .size = sizeof(a), .message_type = NVTX_REGISTERED, .message = text};

    nvtx_domain.push_ex(domain, &a);
    nvtx_domain.pop(domain);
}

static void measure(struct bench_samples *samples, void (*pair)(void))
{
    const uint64_t begin = tsm_monotonic_ns();

    for (int i = 0; i < BATCH; i++)
        pair();
    bench_add(samples, (double)(tsm_monotonic_ns() - begin) / BATCH);
    usleep(300);
}

int main(void)
{
    static struct bench_samples floor, pair, in_domain;

    if (!nvtx_load())
        return 1;
    domain = nvtx_domain.create("a domain");
    text = nvtx_domain.register_string(domain, "a label");
    plain();
    for (int round = 0; round < ROUNDS; round++) {
        measure(&floor, stamps);
        measure(&pair, plain);
        measure(&in_domain, registered);
    }
    bench_print("stamps_ns", &floor);
    bench_print("pair_ns", &pair);
    bench_print("domain_pair_ns", &in_domain);
    return 0;
}
