/* SPDX-License-Identifier: Apache-2.0 */
#include "api/cuda/source/cupti/clock.h"

#include "base/clock.h"

#include <string.h>

#define TRIES 5u /* the one with the smallest error counts */

static int read_once(const struct cupti_library *library, struct cupti_sample *out)
{
    const uint64_t before = tsm_monotonic_ns();
    const int result = library->GetTimestamp(&out->cupti_ns);
    const uint64_t after = tsm_monotonic_ns();

    out->host_ns = before + (after - before) / 2;
    out->error_ns = (after - before + 1) / 2;
    return result;
}

/* Makes room by the oldest but the first. */
static struct cupti_sample *next_place(struct cupti_clock *clock)
{
    if (clock->count == CUPTI_SAMPLE_MAX) {
        memmove(&clock->samples[1], &clock->samples[2],
                (CUPTI_SAMPLE_MAX - 2) * sizeof(clock->samples[0]));
        clock->count--;
    }
    return &clock->samples[clock->count++];
}

int cupti_clock_sample(struct cupti_clock *clock, const struct cupti_library *library)
{
    struct cupti_sample best = {.error_ns = UINT64_MAX}, sample;

    for (uint32_t i = 0; i < TRIES; i++) {
        const int result = read_once(library, &sample);

        if (result != TSM_CUPTI_DONE)
            return result;
        if (sample.error_ns < best.error_ns)
            best = sample;
    }
    *next_place(clock) = best;
    return TSM_CUPTI_DONE;
}

uint64_t cupti_clock_host(const struct cupti_clock *clock, uint64_t cupti_ns, uint64_t *error_ns)
{
    const struct cupti_sample *before = &clock->samples[0], *after;
    int64_t gap;
    uint32_t i = 1;

    while (i < clock->count && clock->samples[i].cupti_ns <= cupti_ns)
        before = &clock->samples[i++];
    after = i < clock->count ? &clock->samples[i] : before;
    gap = (int64_t)(after->host_ns - after->cupti_ns - (before->host_ns - before->cupti_ns));
    *error_ns = (before->error_ns > after->error_ns ? before->error_ns : after->error_ns) +
                (uint64_t)(gap < 0 ? -gap : gap);
    return cupti_ns + (before->host_ns - before->cupti_ns);
}
