/* SPDX-License-Identifier: Apache-2.0 */
#include "export/sqlite/nsys.h"

#include "base/text.h"
#include "tracesmith/version.h"

#include <stdlib.h>
#include <time.h>

static void put_pair(struct tsm_nsys *n, enum nsys_table table, const char *name, const char *value)
{
    struct tsm_rows *r = &n->rows[table];

    tsm_row_begin(n->d, r);
    tsm_row_text(r, name);
    tsm_row_text(r, value);
    tsm_row_end(n->d, r);
}

static void put_fact(struct tsm_nsys *n, struct tsm_rows *r, unsigned device, const char *fact)
{
    const char *value = tsm_event_device_fact(n->source, device, fact);

    if (value)
        tsm_row_i64(r, strtoll(value, NULL, 10));
    else
        tsm_row_null(r);
}

static void put_gpu(struct tsm_nsys *n, unsigned device)
{
    struct tsm_rows *r = &n->rows[NSYS_GPU];

    tsm_row_begin(n->d, r);
    tsm_row_i64(r, 0);
    tsm_row_i64(r, device);
    tsm_row_text(r, tsm_event_device_fact(n->source, device, "name"));
    tsm_row_skip(r, 3);
    put_fact(n, r, device, "memory");
    tsm_row_skip(r, 2);
    put_fact(n, r, device, "multiprocessor_count");
    tsm_row_skip(r, 1);
    tsm_row_text(r, tsm_event_device_fact(n->source, device, "uuid"));
    tsm_row_skip(r, 2);
    tsm_row_i64(r, device);
    tsm_row_skip(r, 22);
    for (int i = 0; i < 2; i++) {
        put_fact(n, r, device, "compute_capability_major");
        put_fact(n, r, device, "compute_capability_minor");
    }
    tsm_row_end(n->d, r);
    r = &n->rows[NSYS_NVTX_DEVICE];
    tsm_row_begin(n->d, r);
    tsm_row_text(r, tsm_event_device_fact(n->source, device, "name")
                        ? tsm_event_device_fact(n->source, device, "name")
                        : "");
    tsm_row_i64(r, device);
    tsm_row_i64(r, 0);
    tsm_row_i64(r, device);
    tsm_row_end(n->d, r);
}

static void put_labels(struct tsm_nsys *n)
{
    for (size_t i = 0; i < tsm_nsys_label_count; i++) {
        struct tsm_rows *r = &n->rows[tsm_nsys_labels[i].table];

        tsm_row_begin(n->d, r);
        tsm_row_i64(r, tsm_nsys_labels[i].id);
        tsm_row_text(r, tsm_nsys_labels[i].name);
        tsm_row_text(r, tsm_nsys_labels[i].label);
        tsm_row_end(n->d, r);
    }
}

static void put_start(struct tsm_nsys *n)
{
    const struct sbt_session *session = sbt_reader_session(n->source->reader);
    const time_t seconds = (time_t)(session->start_realtime_ns / 1000000000u);
    struct tsm_rows *r = &n->rows[NSYS_START];
    char text[64] = "";
    struct tm parts;

    if (gmtime_r(&seconds, &parts))
        strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &parts);
    tsm_row_begin(n->d, r);
    tsm_row_i64(r, (int64_t)session->start_realtime_ns);
    tsm_row_text(r, text);
    tsm_row_skip(r, 1);
    tsm_row_end(n->d, r);
}

static void put_process(struct tsm_nsys *n)
{
    struct tsm_rows *r = &n->rows[NSYS_PROCESSES];

    tsm_row_begin(n->d, r);
    tsm_row_i64(r, n->process);
    tsm_row_i64(r, n->process >> 24);
    tsm_row_text(r, tsm_event_program(n->source));
    tsm_row_end(n->d, r);
}

/* Tables that scripts take to be there. */
static const enum nsys_table always[] = {NSYS_RUNTIME, NSYS_KERNEL,          NSYS_MEMCPY,
                                         NSYS_MEMSET,  NSYS_SYNCHRONIZATION, NSYS_NVTX};

void tsm_nsys_metadata(struct tsm_nsys *n)
{
    struct sbt_reader *reader = n->source->reader;

    for (size_t i = 0; i < sizeof(always) / sizeof(*always); i++)
        tsm_rows_make(n->d, &n->rows[always[i]]);
    put_labels(n);
    put_start(n);
    put_process(n);
    put_pair(n, NSYS_EXPORT, "EXPORT_PRODUCT", "TraceSmith " TSM_VERSION_STRING);
    put_pair(n, NSYS_EXPORT, "EXPORT_PRODUCT_VERSION", "2024.6.2");
    put_pair(n, NSYS_EXPORT, "EXPORT_SCHEMA_VERSION", "3.16.1");
    put_pair(n, NSYS_EXPORT, "EXPORT_SCHEMA_VERSION_MAJOR", "3");
    put_pair(n, NSYS_EXPORT, "EXPORT_SCHEMA_VERSION_MINOR", "16");
    put_pair(n, NSYS_EXPORT, "EXPORT_SCHEMA_VERSION_MICRO", "1");
    for (size_t i = 0; i < sbt_reader_metadata_count(reader); i++) {
        const char *name, *value;
        char copy[256];

        sbt_reader_metadata(reader, i, &name, &value);
        tsm_format(copy, sizeof(copy), "%s", tsm_event_clean(n->source, name));
        put_pair(n, NSYS_CAPTURE, copy, tsm_event_clean(n->source, value));
    }
    for (unsigned i = 0; i < tsm_event_device_count(n->source); i++)
        put_gpu(n, i);
}
