/* SPDX-License-Identifier: Apache-2.0 -- https://www.speedscope.app/file-format-schema.json */
#include "export/sites.h"

#include "base/json.h"

static void put_frames(struct tsm_json *j, const struct tsm_sites *sites)
{
    tsm_json_put_open(j, "shared", '{');
    tsm_json_put_open(j, "frames", '[');
    for (size_t i = 0; i < sites->frame_count; i++) {
        const struct tsm_site_frame *frame = &sites->frames[i];

        tsm_json_open(j, '{');
        tsm_json_put_string(j, "name", frame->name);
        if (frame->file)
            tsm_json_put_string(j, "file", frame->file);
        if (frame->line)
            tsm_json_put_u64(j, "line", frame->line);
        tsm_json_close(j, '}');
    }
    tsm_json_close(j, ']');
    tsm_json_close(j, '}');
}

static void put_stacks(struct tsm_json *j, const struct tsm_sites *sites)
{
    tsm_json_put_open(j, "samples", '[');
    for (size_t i = 0; i < sites->sample_count; i++) {
        const struct tsm_site_sample *sample = &sites->samples[i];

        tsm_json_open(j, '[');
        for (uint32_t k = sample->frame_count; k-- > 0;)
            tsm_json_u64(j, sites->path[sample->first + k]);
        tsm_json_close(j, ']');
    }
    tsm_json_close(j, ']');
    tsm_json_put_open(j, "weights", '[');
    for (size_t i = 0; i < sites->sample_count; i++)
        tsm_json_u64(j, sites->samples[i].ns);
    tsm_json_close(j, ']');
}

void tsm_export_speedscope(FILE *out, const struct tsm_sites *sites, const char *title)
{
    struct tsm_json j = {.out = out};

    tsm_json_open(&j, '{');
    tsm_json_put_string(&j, "$schema", "https://www.speedscope.app/file-format-schema.json");
    tsm_json_put_string(&j, "name", title);
    tsm_json_put_string(&j, "exporter", "tracesmith");
    tsm_json_put_u64(&j, "activeProfileIndex", 0);
    put_frames(&j, sites);
    tsm_json_put_open(&j, "profiles", '[');
    tsm_json_open(&j, '{');
    tsm_json_put_string(&j, "type", "sampled");
    tsm_json_put_string(&j, "name", "time on the device");
    tsm_json_put_string(&j, "unit", "nanoseconds");
    tsm_json_put_u64(&j, "startValue", 0);
    tsm_json_put_u64(&j, "endValue", sites->total_ns);
    put_stacks(&j, sites);
    tsm_json_close(&j, '}');
    tsm_json_close(&j, ']');
    tsm_json_close(&j, '}');
    putc('\n', out);
}
