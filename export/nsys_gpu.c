/* SPDX-License-Identifier: Apache-2.0 */
#include "export/nsys_gpu.h"

#include "base/text.h"

#include <stdlib.h>

static const char *device_fact(const struct tsm_event_source *source, unsigned device,
                               const char *fact)
{
    char name[64];
    const char *value;

    tsm_format(name, sizeof(name), "cuda.device.%u.%s", device, fact);
    value = sbt_reader_metadata_find(source->reader, name);
    return value ? source->names->clean(source->names->user, value) : NULL;
}

static void put_fact(struct tsm_rows *r, const struct tsm_event_source *source, unsigned device,
                     const char *fact)
{
    const char *value = device_fact(source, device, fact);

    if (value)
        tsm_row_i64(r, strtoll(value, NULL, 10));
    else
        tsm_row_null(r);
}

void nsys_gpu_write(struct tsm_database *d, struct tsm_rows rows[NSYS_TABLE_COUNT],
                    const struct tsm_event_source *source, unsigned device)
{
    struct tsm_rows *r = &rows[NSYS_GPU];

    tsm_row_begin(d, r);
    tsm_row_i64(r, 0);
    tsm_row_i64(r, device);
    tsm_row_text(r, device_fact(source, device, "name"));
    tsm_row_skip(r, 3);
    put_fact(r, source, device, "memory");
    tsm_row_skip(r, 2);
    put_fact(r, source, device, "multiprocessor_count");
    tsm_row_skip(r, 1);
    tsm_row_text(r, device_fact(source, device, "uuid"));
    tsm_row_skip(r, 2);
    tsm_row_i64(r, device);
    tsm_row_skip(r, 22);
    for (int i = 0; i < 2; i++) {
        put_fact(r, source, device, "compute_capability_major");
        put_fact(r, source, device, "compute_capability_minor");
    }
    tsm_row_end(d, r);
    r = &rows[NSYS_NVTX_DEVICE];
    tsm_row_begin(d, r);
    tsm_row_text(r, device_fact(source, device, "name") ? device_fact(source, device, "name") : "");
    tsm_row_i64(r, device);
    tsm_row_i64(r, 0);
    tsm_row_i64(r, device);
    tsm_row_end(d, r);
}
