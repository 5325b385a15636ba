/* SPDX-License-Identifier: Apache-2.0
 *
 * Folded stacks, as flamegraph.pl, inferno and speedscope read them: a line for each stack,
 * outermost frame first, frames separated by semicolons, then a space and nanoseconds.
 */
#include "export/sites.h"

#include <inttypes.h>

static void put_name(FILE *out, const char *name)
{
    for (const char *p = name; *p; p++)
        putc(*p == ';' ? ':' : (unsigned char)*p < 0x20 ? ' ' : *p, out);
}

void tsm_export_folded(FILE *out, const struct tsm_sites *sites)
{
    for (size_t i = 0; i < sites->sample_count; i++) {
        const struct tsm_site_sample *sample = &sites->samples[i];

        if (!sample->ns)
            continue;
        for (uint32_t k = sample->frame_count; k-- > 0;) {
            put_name(out, sites->frames[sites->path[sample->first + k]].name);
            putc(k ? ';' : ' ', out);
        }
        fprintf(out, "%" PRIu64 "\n", sample->ns);
    }
}
