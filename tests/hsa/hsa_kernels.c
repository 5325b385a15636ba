/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernels for the tests of HSA, in the software GPU's own instruction set.
 */
#include "tests/hsa/hsa_kernels.h"

#include "tracesmith/hsa_kernel.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static void scale(const void *arguments, const struct tracesmith_work_item *item)
{
    const struct scale_arguments *a = arguments;

    a->data[item->global[0]] *= a->factor;
}

static void add(const void *arguments, const struct tracesmith_work_item *item)
{
    const struct add_arguments *a = arguments;
    uint32_t i = item->global[0];

    a->out[i] = a->left[i] + a->right[i];
}

/* The last work-item of a group writes what the group's memory has summed up. */
static void group_sum(const void *arguments, const struct tracesmith_work_item *item)
{
    const struct group_sum_arguments *a = arguments;
    uint64_t *sum = item->group_memory;
    uint32_t at = item->global[0] + item->grid_size[0] * item->global[1];

    *sum += a->in[at];
    if (item->local[0] == item->group_size[0] - 1 && item->local[1] == item->group_size[1] - 1)
        a->out[item->group[0] + item->group[1] * (item->grid_size[0] / item->group_size[0])] = *sum;
}

__attribute__((visibility("default"))) uint32_t bias = 7;

static void add_bias(const void *arguments, const struct tracesmith_work_item *item)
{
    const struct bias_arguments *a = arguments;

    a->data[item->global[0]] += bias;
}

/* A variable that kernels change, and one that nobody can. */
__attribute__((visibility("default"))) uint32_t rounds = 3;
__attribute__((visibility("default"))) extern const uint32_t factor;
const uint32_t factor = 5;

static void count_up(const void *arguments, const struct tracesmith_work_item *item)
{
    rounds += item->global[0] == 0;
}

static void mix(const void *arguments, const struct tracesmith_work_item *item)
{
    const struct mix_arguments *a = arguments;
    uint32_t i = item->global[0];

    a->data[i] = a->data[i] * factor + a->hosts[i] + rounds;
}

/* TEST_LOST=SEED:COUNT: of 4096 work-items COUNT lose what they store, chosen by SEED. */
static bool is_lost(uint32_t item)
{
    const char *setting = getenv("TEST_LOST");
    uint32_t seed = setting ? (uint32_t)strtoul(setting, NULL, 10) : 0;
    const char *count = setting ? strchr(setting, ':') : NULL;

    return count && (item * 2654435761u + seed * 40503u) % 4096 < strtoul(count + 1, NULL, 10);
}

/* The same as scale, but where the environment asks for another result: from item 1000 on. */
static void scale_or_not(const void *arguments, const struct tracesmith_work_item *item)
{
    const struct scale_arguments *a = arguments;
    uint32_t i = item->global[0];

    if (!is_lost(i))
        a->data[i] *= i >= 1000 && getenv("TEST_OTHER_RESULT") ? -a->factor : a->factor;
}

static void weave(const void *arguments, const struct tracesmith_work_item *item)
{
    const struct weave_arguments *a = arguments;
    uint32_t i = item->global[0], value = a->in[i] * a->factor + i;

    for (volatile uint32_t turn = 0; turn < a->turns; turn++)
        ;
    if (i % 64 == 17 && getenv("TEST_OTHER_RESULT"))
        value ^= 0x5a5a5a5a;
    if (!is_lost(i))
        a->out[i * a->stride + a->offset] = value;
}

/* Red of each pixel; outside of the image, by as much as the sampler says, the nearest one. */
static void sample(const void *arguments, const struct tracesmith_work_item *item)
{
    const struct sample_arguments *a = arguments;
    const struct tracesmith_hsa_image *image = a->image;
    const struct tracesmith_hsa_sampler *sampler = a->sampler;
    uint32_t x = item->global[0] + sampler->address_mode, y = item->global[1];

    x = x < image->width ? x : image->width - 1;
    a->out[item->global[0] + y * item->grid_size[0]] =
        *(const float *)tracesmith_hsa_pixel(image, x, y, 0);
}

/* The result in `out` does not depend on the memory that its struct points to. */
static void hold(const void *arguments, const struct tracesmith_work_item *item)
{
    const struct hold_arguments *a = arguments;
    uint32_t i = item->global[0];

    a->held.beside[i] = i;
    a->out[i] = i * (uint32_t)a->held.factor;
}

/* A tree of sums in group memory, which needs all work-items to have come as far. */
static void tree_sum(const void *arguments, const struct tracesmith_work_item *item)
{
    const struct group_sum_arguments *a = arguments;
    uint64_t *sums = item->group_memory;
    uint32_t at = item->local[0];

    sums[at] = a->in[item->global[0]];
    for (uint32_t half = item->group_size[0] / 2; half > 0; half /= 2) {
        tracesmith_hsa_barrier(item);
        if (at < half)
            sums[at] += sums[at + half];
    }
    if (at == 0)
        a->out[item->group[0]] = sums[0];
}

static void no_stack(const void *arguments, const struct tracesmith_work_item *item)
{
    tracesmith_hsa_barrier(item);
}

/* With a name of 639 letters, as C++ makes them. */
#define JOIN(a)     a##_##a##_##a##_##a
#define FOURFOLD(a) JOIN(a)
#define LONG_NAME   FOURFOLD(FOURFOLD(FOURFOLD(long_name)))
#define KERNEL(...) TRACESMITH_HSA_KERNEL(__VA_ARGS__)

static void LONG_NAME(const void *arguments, const struct tracesmith_work_item *item) {}

KERNEL(LONG_NAME, struct bias_arguments, 0, TRACESMITH_HSA_POINTER(struct bias_arguments, data));

TRACESMITH_HSA_BARRIER_KERNEL(tree_sum, struct group_sum_arguments, 64 * 8, 16384,
                              TRACESMITH_HSA_POINTER(struct group_sum_arguments, in),
                              TRACESMITH_HSA_POINTER(struct group_sum_arguments, out));
TRACESMITH_HSA_KERNEL(no_stack, struct group_sum_arguments, 0,
                      TRACESMITH_HSA_POINTER(struct group_sum_arguments, in));
TRACESMITH_HSA_KERNEL(hold, struct hold_arguments, 0,
                      TRACESMITH_HSA_POINTER(struct hold_arguments, out),
                      TRACESMITH_HSA_VALUE(struct hold_arguments, held));
TRACESMITH_HSA_KERNEL(count_up, struct mix_arguments, 0,
                      TRACESMITH_HSA_POINTER(struct mix_arguments, data),
                      TRACESMITH_HSA_POINTER(struct mix_arguments, hosts));
TRACESMITH_HSA_KERNEL(mix, struct mix_arguments, 0,
                      TRACESMITH_HSA_POINTER(struct mix_arguments, data),
                      TRACESMITH_HSA_POINTER(struct mix_arguments, hosts));
TRACESMITH_HSA_KERNEL(weave, struct weave_arguments, 0,
                      TRACESMITH_HSA_POINTER(struct weave_arguments, in),
                      TRACESMITH_HSA_POINTER(struct weave_arguments, out),
                      TRACESMITH_HSA_VALUE(struct weave_arguments, factor),
                      TRACESMITH_HSA_VALUE(struct weave_arguments, stride),
                      TRACESMITH_HSA_VALUE(struct weave_arguments, offset),
                      TRACESMITH_HSA_VALUE(struct weave_arguments, turns));
TRACESMITH_HSA_KERNEL(scale, struct scale_arguments, 0,
                      TRACESMITH_HSA_POINTER(struct scale_arguments, data),
                      TRACESMITH_HSA_VALUE(struct scale_arguments, factor));
TRACESMITH_HSA_KERNEL(scale_or_not, struct scale_arguments, 0,
                      TRACESMITH_HSA_POINTER(struct scale_arguments, data),
                      TRACESMITH_HSA_VALUE(struct scale_arguments, factor));
TRACESMITH_HSA_KERNEL(sample, struct sample_arguments, 0,
                      TRACESMITH_HSA_IMAGE(struct sample_arguments, image),
                      TRACESMITH_HSA_IMAGE(struct sample_arguments, sampler),
                      TRACESMITH_HSA_POINTER(struct sample_arguments, out));
TRACESMITH_HSA_KERNEL(add, struct add_arguments, 0,
                      TRACESMITH_HSA_POINTER(struct add_arguments, left),
                      TRACESMITH_HSA_POINTER(struct add_arguments, right),
                      TRACESMITH_HSA_POINTER(struct add_arguments, out));
TRACESMITH_HSA_KERNEL(group_sum, struct group_sum_arguments, 8,
                      TRACESMITH_HSA_POINTER(struct group_sum_arguments, in),
                      TRACESMITH_HSA_POINTER(struct group_sum_arguments, out));
TRACESMITH_HSA_KERNEL(add_bias, struct bias_arguments, 0,
                      TRACESMITH_HSA_POINTER(struct bias_arguments, data));
