/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/cpu/perf_data.h"

#include "analysis/cpu/ftrace_dat.h"
#include "base/bytes.h"
#include "base/map.h"
#include "base/text.h"
#include "tracesmith/error.h"

#include <linux/perf_event.h>
#include <time.h>

/* After the kernel's own numbers of records (tools/perf). */
enum { RECORD_AUXTRACE = 71, RECORD_COMPRESSED = 81 };

#define FEATURE_TRACING_DATA 1
#define ATTR_SIZE_MIN        96u /* up to clockid */
#define ATTR_COUNT_MAX       4096u

struct section {
    uint64_t offset, size;
};

struct perf {
    struct tsm_cpu_events *events;
    const uint8_t *data;
    size_t size;
    struct tsm_ftrace_formats formats;
    uint64_t sample_type; /* of tracepoints */
    bool has_ids;         /* others have another one: samples are told apart by id */
    bool has_trailer;     /* records that are no samples end with time and CPU */
    bool any;
    struct tsm_map ids; /* of tracepoints */
};

static int broken(const char *where)
{
    return tsm_fail(TSM_E_FORMAT, "perf's file is cut off or damaged: %s", where);
}

static struct section take_section(struct tsm_view *v)
{
    struct section s;

    s.offset = tsm_view_u64(v);
    s.size = tsm_view_u64(v);
    return s;
}

static bool is_inside(const struct perf *p, const struct section *s)
{
    return s->offset <= p->size && s->size <= p->size - s->offset;
}

/* ---- what was recorded ---- */

static int add_ids(struct perf *p, const struct section *s)
{
    bool added;

    for (uint64_t at = 0; s->size - at >= 8; at += 8) {
        uint64_t *place = tsm_map_insert(&p->ids, tsm_get_u64(p->data + s->offset + at), &added);
        if (!place)
            return tsm_fail(TSM_E_MEMORY, "out of memory for perf's file");
        *place = 1;
    }
    return 0;
}

static void set_clock(struct perf *p, uint64_t flags, int32_t id)
{
    static const struct {
        int32_t id;
        const char *name;
    } clocks[] = {{CLOCK_MONOTONIC, "mono"},
                  {CLOCK_MONOTONIC_RAW, "mono_raw"},
                  {CLOCK_BOOTTIME, "boot"},
                  {CLOCK_REALTIME, "realtime"},
                  {CLOCK_TAI, "tai"}};
    const char *name = "perf";

    for (size_t i = 0; flags >> 25 & 1 && i < sizeof(clocks) / sizeof(clocks[0]); i++) {
        if (clocks[i].id == id)
            name = clocks[i].name;
    }
    tsm_format(p->events->clock, sizeof(p->events->clock), "%s", name);
}

static int read_attr(struct perf *p, const uint8_t *attr, size_t size)
{
    uint64_t sample_type = tsm_get_u64(attr + 24), flags = tsm_get_u64(attr + 40);
    struct tsm_view v = tsm_view_init(attr + size - 16, 16);
    struct section ids = take_section(&v);

    if (!is_inside(p, &ids))
        return broken("ids of its events");
    if (tsm_get_u32(attr) != PERF_TYPE_TRACEPOINT) {
        p->has_ids = true;
        return 0;
    }
    if (p->any && sample_type != p->sample_type)
        return tsm_fail(TSM_E_UNSUPPORTED, "perf's tracepoints have samples of several kinds");
    p->any = true;
    p->sample_type = sample_type;
    p->has_trailer = (flags >> 18 & 1) != 0;
    set_clock(p, flags, (int32_t)tsm_get_u32(attr + 92));
    return add_ids(p, &ids);
}

static int read_attrs(struct perf *p, const struct section *attrs, uint64_t size)
{
    const uint64_t needed = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_RAW;
    int error = 0;

    if (!is_inside(p, attrs) || size < ATTR_SIZE_MIN + 16 || attrs->size / size > ATTR_COUNT_MAX)
        return broken("its list of events");
    for (uint64_t at = 0; attrs->size - at >= size && !error; at += size)
        error = read_attr(p, p->data + attrs->offset + at, (size_t)size);
    if (error)
        return error;
    if (!p->any)
        return tsm_fail(TSM_E_UNSUPPORTED,
                        "perf's file has no tracepoints: perf record -a -k mono -e "
                        "sched:sched_switch,sched:sched_wakeup");
    if ((p->sample_type & needed) != needed || p->sample_type & PERF_SAMPLE_READ)
        return tsm_fail(TSM_E_UNSUPPORTED,
                        "perf's samples lack thread, time, CPU or fields: record with perf "
                        "record -a -R");
    p->has_ids = p->has_ids && p->sample_type & PERF_SAMPLE_IDENTIFIER;
    return 0;
}

/* Sections of features lie after the samples, in the order of their bits. */
static int read_formats(struct perf *p, const struct section *samples, uint64_t features)
{
    struct tsm_view v = tsm_view_init(p->data, p->size);
    struct section s;

    if (!(features >> FEATURE_TRACING_DATA & 1))
        return tsm_fail(TSM_E_UNSUPPORTED, "perf's file does not say how its tracepoints look");
    tsm_view_take(&v, (size_t)(samples->offset + samples->size));
    if (features & 1)
        take_section(&v);
    s = take_section(&v);
    if (v.failed || !is_inside(p, &s))
        return broken("layouts of events");
    return tsm_ftrace_dat_formats(&p->formats, p->data + s.offset, (size_t)s.size);
}

/* ---- samples ---- */

struct sample {
    uint64_t id, ts_ns;
    uint32_t pid, cpu;
    const uint8_t *raw;
    size_t raw_size;
};

static void skip_if(struct tsm_view *v, uint64_t type, uint64_t bit)
{
    if (type & bit)
        tsm_view_take(v, 8);
}

static bool parse_sample(struct sample *out, const struct perf *p, const uint8_t *data, size_t size)
{
    struct tsm_view v = tsm_view_init(data, size);
    uint64_t type = p->sample_type, count;

    out->id = type & PERF_SAMPLE_IDENTIFIER ? tsm_view_u64(&v) : 0;
    if (p->has_ids && !tsm_map_find(&p->ids, out->id))
        return false; /* of another event, and of another form */
    skip_if(&v, type, PERF_SAMPLE_IP);
    out->pid = tsm_view_u32(&v);
    tsm_view_u32(&v);
    out->ts_ns = tsm_view_u64(&v);
    skip_if(&v, type, PERF_SAMPLE_ADDR);
    skip_if(&v, type, PERF_SAMPLE_ID);
    skip_if(&v, type, PERF_SAMPLE_STREAM_ID);
    out->cpu = tsm_view_u32(&v);
    tsm_view_u32(&v);
    skip_if(&v, type, PERF_SAMPLE_PERIOD);
    if (type & PERF_SAMPLE_CALLCHAIN) {
        count = tsm_view_u64(&v);
        tsm_view_take(&v, count <= size / 8 ? (size_t)count * 8 : SIZE_MAX);
    }
    out->raw_size = tsm_view_u32(&v);
    out->raw = tsm_view_take(&v, out->raw_size);
    return !v.failed;
}

static int add_sample(struct perf *p, const uint8_t *data, size_t size)
{
    struct sample s;

    if (!parse_sample(&s, p, data, size) || s.cpu >= TSM_CPU_MAX) {
        p->events->unread_count += !p->has_ids;
        return 0;
    }
    return tsm_ftrace_event(p->events, &p->formats, (uint16_t)s.cpu, s.pid, s.ts_ns, s.raw,
                            s.raw_size);
}

/* LOST {id, count} and LOST_SAMPLES {count}; time and CPU stand at the end. */
static int add_lost(struct perf *p, uint32_t type, const uint8_t *data, size_t size)
{
    size_t behind_cpu = p->sample_type & PERF_SAMPLE_IDENTIFIER ? 8 : 0, back;
    size_t behind_time = behind_cpu + 8;
    struct tsm_cpu_event e = {.type = TSM_CPU_LOST};

    behind_time += p->sample_type & PERF_SAMPLE_ID ? 8 : 0;
    behind_time += p->sample_type & PERF_SAMPLE_STREAM_ID ? 8 : 0;
    back = behind_time + 8;
    if (!p->has_trailer || size < 16 + back) {
        p->events->unread_count++;
        return 0;
    }
    e.number = tsm_get_u64(data + (type == PERF_RECORD_LOST ? 8 : 0));
    e.cpu = (uint16_t)tsm_get_u32(data + size - behind_cpu - 8);
    e.ts_ns = tsm_get_u64(data + size - back);
    return tsm_cpu_events_add(p->events, &e);
}

static int add_record(struct perf *p, uint32_t type, const uint8_t *data, size_t size)
{
    switch (type) {
    case PERF_RECORD_SAMPLE:
        return add_sample(p, data, size);
    case PERF_RECORD_LOST:
    case PERF_RECORD_LOST_SAMPLES:
        return add_lost(p, type, data, size);
    case RECORD_COMPRESSED:
        return tsm_fail(TSM_E_UNSUPPORTED, "perf's file is compressed: record without -z");
    case RECORD_AUXTRACE:
        return tsm_fail(TSM_E_UNSUPPORTED, "perf's file holds a hardware trace");
    }
    return 0;
}

static int read_samples(struct perf *p, const struct section *samples)
{
    struct tsm_view v = tsm_view_init(p->data + samples->offset, (size_t)samples->size);
    int error = 0;

    while (!error && tsm_view_left(&v)) {
        uint32_t type = tsm_view_u32(&v);
        uint32_t size;
        const uint8_t *data;

        tsm_view_u16(&v);
        size = tsm_view_u16(&v);
        data = tsm_view_take(&v, size >= 8 ? size - 8u : SIZE_MAX);
        error = data ? add_record(p, type, data, size - 8u) : broken("its samples");
    }
    return error;
}

/* ---- the file ---- */

#define HEADER_SIZE 104u

bool tsm_perf_data_is(const uint8_t *data, size_t size)
{
    return size >= 8 && memcmp(data, "PERFILE2", 8) == 0;
}

int tsm_perf_data(struct tsm_cpu_events *events, const uint8_t *data, size_t size)
{
    struct perf p = {.events = events, .data = data, .size = size};
    struct tsm_view v = tsm_view_init(data, size);
    struct section attrs, samples;
    uint64_t header_size, attr_size, features;
    int error;

    tsm_view_u64(&v);
    header_size = tsm_view_u64(&v);
    if (!v.failed && header_size == 16)
        return tsm_fail(TSM_E_UNSUPPORTED, "perf wrote it to a pipe: record with -o FILE");
    attr_size = tsm_view_u64(&v);
    attrs = take_section(&v);
    samples = take_section(&v);
    take_section(&v);
    features = tsm_view_u64(&v);
    if (v.failed || header_size < HEADER_SIZE || !is_inside(&p, &samples))
        return broken("its head");
    if (!samples.size)
        return broken("perf did not end normally, and wrote no samples");
    error = read_attrs(&p, &attrs, attr_size);
    if (!error)
        error = read_formats(&p, &samples, features);
    if (!error)
        error = read_samples(&p, &samples);
    tsm_map_finish(&p.ids);
    return error;
}
