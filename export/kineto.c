/* SPDX-License-Identifier: Apache-2.0
 *
 * Trace events in JSON as PyTorch's profiler (Kineto) writes them, so that chrome://tracing,
 * Perfetto, TensorBoard and HolisticTraceAnalysis read them. Times are microseconds with three
 * decimals since baseTimeNanoseconds. Launches, copies and fills have the names of the runtime's
 * calls, by which these tools know them; the call that was made is in "call". Streams count from
 * STREAM_FIRST, for the tools take 0 for none.
 */
#include "export/events.h"

#include "base/array.h"
#include "base/json.h"
#include "base/text.h"
#include "format/json.h"
#include "tracesmith/error.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define FLUSH_SIZE   (256u << 10)
#define STREAM_FIRST 7u /* CUPTI's number of the default stream */

struct kineto {
    FILE *out;
    struct tsm_json j;      /* into `text` */
    struct tsm_buffer text; /* what is not written yet */
    const struct tsm_event_source *source;
    struct tsm_event_counts *counts;
    struct tsm_device_numbers devices;
    struct tsm_numbering contexts, streams; /* streams: those that have a name */
    struct tsm_ranges ranges;
    struct tsm_map kernel_places; /* a kernel's name, as a pointer -> place in `kernels` */
    struct tsm_kernel_names *kernels;
    size_t kernel_count, kernel_capacity;
    uint32_t process;
    int error;
};

/* ---- parts of events ------------------------------------------------------------------------ */

static void put_time(struct kineto *k, const char *name, int64_t ns)
{
    const uint64_t size = ns < 0 ? -(uint64_t)ns : (uint64_t)ns;
    char text[48];

    tsm_format(text, sizeof(text), "%s%" PRIu64 ".%03u", ns < 0 ? "-" : "", size / 1000,
               (unsigned)(size % 1000));
    tsm_json_name(&k->j, name);
    tsm_json_raw(&k->j, text, strlen(text));
}

static void begin_event(struct kineto *k, const char *phase, const char *category, const char *name,
                        uint64_t process, uint64_t thread)
{
    tsm_json_open(&k->j, '{');
    tsm_json_put_string(&k->j, "ph", phase);
    if (category)
        tsm_json_put_string(&k->j, "cat", category);
    tsm_json_put_string(&k->j, "name", name);
    tsm_json_put_u64(&k->j, "pid", process);
    tsm_json_put_u64(&k->j, "tid", thread);
}

static void put_span(struct kineto *k, int64_t start_ns, int64_t end_ns)
{
    put_time(k, "ts", start_ns);
    put_time(k, "dur", end_ns > start_ns ? end_ns - start_ns : 0);
}

/* Writes what is there when it is much. */
static void flush(struct kineto *k, size_t much)
{
    if (k->text.size < much)
        return;
    if (k->text.failed && !k->error)
        k->error = tsm_fail(TSM_E_MEMORY, "out of memory for events");
    fwrite(k->text.data, 1, k->text.size, k->out);
    tsm_buffer_clear(&k->text);
}

static void end_event(struct kineto *k)
{
    tsm_json_close(&k->j, '}');
    tsm_buffer_add_u8(&k->text, '\n');
    flush(k, FLUSH_SIZE);
}

static void put_arrow(struct kineto *k, const char *phase, uint64_t process, uint64_t thread,
                      int64_t ns, uint64_t id)
{
    begin_event(k, phase, "ac2g", "ac2g", process, thread);
    put_time(k, "ts", ns);
    tsm_json_put_u64(&k->j, "id", id);
    if (*phase == 'f')
        tsm_json_put_string(&k->j, "bp", "e");
    end_event(k);
}

/* Names a process or a thread of the picture. */
static void put_name(struct kineto *k, const char *what, uint64_t process, uint64_t thread,
                     const char *name)
{
    begin_event(k, "M", NULL, what, process, thread);
    put_time(k, "ts", 0);
    tsm_json_put_open(&k->j, "args", '{');
    tsm_json_put_string(&k->j, "name", name);
    tsm_json_close(&k->j, '}');
    end_event(k);
}

static uint64_t stream_of(uint32_t stream)
{
    return stream == SBT_STREAM_NONE ? STREAM_FIRST : (uint64_t)STREAM_FIRST + stream;
}

/* ---- the host ------------------------------------------------------------------------------- */

/* Returns the call of the runtime that readers know such a call by; NULL: they know it by its own.
 */
static const char *runtime_name(const struct tsm_call_node *call)
{
    if (!call->is_command)
        return NULL;
    return call->work == TSM_WORK_KERNEL  ? "cudaLaunchKernel"
           : call->work == TSM_WORK_GRAPH ? "cudaGraphLaunch"
           : call->work == TSM_WORK_COPY  ? "cudaMemcpyAsync"
           : call->work == TSM_WORK_FILL  ? "cudaMemsetAsync"
                                          : NULL;
}

static int visit_call(void *user, const struct tsm_call_node *call)
{
    struct kineto *k = user;
    const struct sbt_record *record = call->record;
    const char *name = call->schema ? call->schema->name : "unknown call";
    const char *known = runtime_name(call);
    char space[16];
    const char *api = sbt_api_name(SBT_TYPE_API(record->type), space);

    k->counts->call_count++;
    begin_event(k, "X",
                known                      ? "cuda_runtime"
                : strcmp(api, "cuda") == 0 ? "cuda_driver"
                                           : api,
                known ? known : tsm_event_clean(k->source, name), k->process, record->thread);
    put_span(k, (int64_t)record->time_ns, (int64_t)(record->time_ns + record->duration_ns));
    tsm_json_put_open(&k->j, "args", '{');
    tsm_json_put_string(&k->j, "call", tsm_event_clean(k->source, name));
    tsm_json_put_u64(&k->j, "correlation", record->seq);
    tsm_json_put_u64(&k->j, "seq", record->seq);
    if (record->flags & SBT_RECORD_FAILED) {
        tsm_json_name(&k->j, "result");
        tsm_json_i64(&k->j, record->result);
    }
    tsm_json_close(&k->j, '}');
    end_event(k);
    return 0;
}

/* ---- the device ----------------------------------------------------------------------------- */

static const struct tsm_kernel_names *kernel_of(struct kineto *k, const char *name)
{
    bool added = false;
    uint64_t *place = tsm_map_insert(&k->kernel_places, (uint64_t)(uintptr_t)name, &added);
    struct tsm_kernel_names names;

    if (place && !added)
        return &k->kernels[*place];
    if (!place || !tsm_kernel_names_make(&names, k->source, name) ||
        !TSM_ARRAY_PUSH(k->kernels, k->kernel_count, k->kernel_capacity, names)) {
        k->error = tsm_fail(TSM_E_MEMORY, "out of memory for names of kernels");
        return NULL;
    }
    *place = k->kernel_count - 1;
    return &k->kernels[*place];
}

static const char *place_word(enum tsm_place place)
{
    return place == TSM_PLACE_HOST     ? "Pinned"
           : place == TSM_PLACE_DEVICE ? "Device"
           : place == TSM_PLACE_ARRAY  ? "Array"
                                       : "Pageable";
}

static char place_letter(enum tsm_place place)
{
    return place == TSM_PLACE_DEVICE ? 'D' : place == TSM_PLACE_ARRAY ? 'A' : 'H';
}

static void name_command(struct kineto *k, char *out, size_t size, const struct tsm_command_node *c)
{
    const struct tsm_kernel_names *names;

    if (c->work == TSM_WORK_KERNEL) {
        names = kernel_of(k, c->kernel);
        tsm_format(out, size, "%s", names ? names->plain : "unknown kernel");
    } else if (c->work == TSM_WORK_COPY) {
        tsm_format(out, size, "Memcpy %cto%c (%s -> %s)", place_letter(c->from),
                   place_letter(c->to), place_word(c->from), place_word(c->to));
    } else if (c->work == TSM_WORK_FILL) {
        tsm_format(out, size, "Memset (%s)", place_word(c->to));
    } else {
        tsm_format(out, size, "%s", tsm_event_clean(k->source, c->schema->name));
    }
}

static void put_sizes(struct kineto *k, const char *name, const uint32_t size[3])
{
    tsm_json_put_open(&k->j, name, '[');
    for (int i = 0; i < 3; i++)
        tsm_json_u64(&k->j, size[i]);
    tsm_json_close(&k->j, ']');
}

/* Writes bytes, and their rate: bytes for each nanosecond. */
static void put_bytes(struct kineto *k, const struct tsm_command_node *c)
{
    char text[48];

    tsm_json_put_u64(&k->j, "bytes", c->bytes);
    if (!tsm_span_ns(&c->gpu))
        return;
    tsm_format(text, sizeof(text), "%.6f", (double)c->bytes / (double)tsm_span_ns(&c->gpu));
    tsm_json_name(&k->j, "memory bandwidth (GB/s)");
    tsm_json_raw(&k->j, text, strlen(text));
}

static void put_facts(struct kineto *k, const struct tsm_command_node *c, uint64_t device)
{
    struct tsm_json *j = &k->j;

    tsm_json_put_open(j, "args", '{');
    tsm_json_put_u64(j, "device", device);
    tsm_json_put_u64(j, "context", tsm_number_of(&k->contexts, c->owner, NULL));
    tsm_json_put_u64(j, "stream", stream_of(c->stream));
    tsm_json_put_u64(j, "correlation", c->seq);
    tsm_json_put_u64(j, "seq", c->seq);
    if (c->work == TSM_WORK_KERNEL) {
        put_sizes(k, "grid", c->grid);
        put_sizes(k, "block", c->block);
        tsm_json_put_u64(j, "shared memory", c->shared_size);
    }
    if (c->bytes)
        put_bytes(k, c);
    if (c->gpu.kind != TSM_TIME_MEASURED)
        tsm_json_put_string(j, "time", tsm_time_kind_name(c->gpu.kind));
    if (c->gpu.error_ns)
        tsm_json_put_u64(j, "error_ns", c->gpu.error_ns);
    tsm_json_close(j, '}');
}

static void name_stream(struct kineto *k, uint64_t device, uint32_t stream)
{
    bool added;
    char text[32];

    tsm_number_of(&k->streams, device << 32 | stream, &added);
    if (!added)
        return;
    tsm_format(text, sizeof(text), "stream %u", stream);
    put_name(k, "thread_name", device, stream_of(stream), text);
}

static void put_command(struct kineto *k, const struct tsm_command_node *c)
{
    const uint64_t device = tsm_device_number(&k->devices, &c->device);
    char name[1024];

    name_stream(k, device, c->stream);
    name_command(k, name, sizeof(name), c);
    begin_event(k, "X",
                c->work == TSM_WORK_COPY   ? "gpu_memcpy"
                : c->work == TSM_WORK_FILL ? "gpu_memset"
                                           : "kernel",
                name, device, stream_of(c->stream));
    put_span(k, c->gpu.start_ns, c->gpu.end_ns);
    put_facts(k, c, device);
    end_event(k);
    put_arrow(k, "s", k->process, c->thread, (int64_t)c->call_ns, c->seq);
    put_arrow(k, "f", device, stream_of(c->stream), c->gpu.start_ns, c->seq);
}

static int visit_command(void *user, const struct tsm_command_node *c)
{
    struct kineto *k = user;

    k->counts->rerun_count += c->run != 0;
    if (c->run || c->work == TSM_WORK_ORDER)
        return 0;
    if (c->gpu.kind == TSM_TIME_UNKNOWN) {
        k->counts->untimed_count++;
        return 0;
    }
    k->counts->command_count++;
    k->counts->displaced_count += c->gpu.axis != TSM_AXIS_HOST;
    put_command(k, c);
    return k->error;
}

/* ---- labels --------------------------------------------------------------------------------- */

static void put_range(struct kineto *k, const struct tsm_range_event *range)
{
    k->counts->mark_count++;
    begin_event(k, range->is_point ? "i" : "X", "user_annotation",
                tsm_event_clean(k->source, range->name), k->process, range->thread);
    if (range->is_point) {
        put_time(k, "ts", (int64_t)range->start_ns);
        tsm_json_put_string(&k->j, "s", "t");
    } else {
        put_span(k, (int64_t)range->start_ns, (int64_t)range->end_ns);
    }
    end_event(k);
}

static int visit_mark(void *user, const struct tsm_mark_node *mark)
{
    struct kineto *k = user;
    struct tsm_range_event range;
    const int result = tsm_ranges_note(&k->ranges, &range, mark);

    if (result == 1)
        put_range(k, &range);
    return result < 0 ? result : 0;
}

static int visit_core(void *user, const struct sbt_record *record)
{
    struct kineto *k = user;

    if (record->type == SBT_TYPE(SBT_API_CORE, SBT_CORE_THREAD) && record->slot_count)
        put_name(k, "thread_name", k->process, record->thread,
                 tsm_event_clean(k->source,
                                 sbt_reader_string(k->source->reader, (uint32_t)record->slots[0])));
    return 0;
}

/* ---- the whole ------------------------------------------------------------------------------ */

static void put_fact(struct kineto *k, unsigned device, const char *fact, const char *shown)
{
    const char *value = tsm_event_device_fact(k->source, device, fact);

    if (value && strcmp(fact, "name") == 0)
        tsm_json_put_string(&k->j, shown, value);
    else if (value)
        tsm_json_put_u64(&k->j, shown, strtoull(value, NULL, 10));
}

static void put_device(struct kineto *k, unsigned device)
{
    tsm_json_open(&k->j, '{');
    tsm_json_put_u64(&k->j, "id", device);
    put_fact(k, device, "name", "name");
    put_fact(k, device, "memory", "totalGlobalMem");
    put_fact(k, device, "compute_capability_major", "computeMajor");
    put_fact(k, device, "compute_capability_minor", "computeMinor");
    put_fact(k, device, "multiprocessor_count", "numSms");
    tsm_json_close(&k->j, '}');
}

static void put_head(struct kineto *k)
{
    static const char single[] = "{\"backend\": \"\", \"rank\": 0, \"world_size\": 1}";

    tsm_json_open(&k->j, '{');
    tsm_json_put_u64(&k->j, "schemaVersion", 1);
    tsm_json_put_open(&k->j, "deviceProperties", '[');
    for (unsigned i = 0; i < tsm_event_device_count(k->source); i++)
        put_device(k, i);
    tsm_json_close(&k->j, ']');
    tsm_json_name(&k->j,
                  "distributedInfo"); /* HolisticTraceAnalysis looks for "rank": and a space */
    tsm_json_raw(&k->j, single, sizeof(single) - 1);
    tsm_json_put_string(&k->j, "displayTimeUnit", "ns");
    tsm_json_put_u64(&k->j, "baseTimeNanoseconds",
                     sbt_reader_session(k->source->reader)->start_realtime_ns);
    tsm_json_put_open(&k->j, "traceEvents", '[');
    put_name(k, "process_name", k->process, 0, tsm_event_program(k->source));
    for (unsigned i = 0; i < tsm_event_device_count(k->source); i++) {
        char text[32];

        tsm_format(text, sizeof(text), "GPU %u", i);
        put_name(k, "process_name", i, 0, text);
    }
}

static void put_tail(struct kineto *k)
{
    struct tsm_range_event range;

    while (tsm_ranges_take_open(&k->ranges, &range, (uint64_t)k->counts->model.last_ns))
        put_range(k, &range);
    tsm_json_close(&k->j, ']');
    tsm_json_put_string(&k->j, "traceName", sbt_reader_name(k->source->reader));
    tsm_json_close(&k->j, '}');
    tsm_buffer_add_u8(&k->text, '\n');
    flush(k, 0);
}

static void finish(struct kineto *k)
{
    for (size_t i = 0; i < k->kernel_count; i++)
        tsm_kernel_names_finish(&k->kernels[i]);
    free(k->kernels);
    tsm_map_finish(&k->kernel_places);
    tsm_map_finish(&k->contexts.numbers);
    tsm_map_finish(&k->streams.numbers);
    tsm_ranges_finish(&k->ranges);
    tsm_buffer_finish(&k->text);
}

int tsm_export_kineto(struct tsm_event_counts *out, FILE *file,
                      const struct tsm_event_source *source)
{
    struct kineto k = {.out = file,
                       .source = source,
                       .counts = out,
                       .contexts = {.first = 1},
                       .process = tsm_event_process(source)};
    const struct tsm_model_visitor visitor = {.user = &k,
                                              .call = visit_call,
                                              .core = visit_core,
                                              .mark = visit_mark,
                                              .command = visit_command};
    int error;

    *out = (struct tsm_event_counts){0};
    k.j.buffer = &k.text;
    put_head(&k);
    error = tsm_model_pass(&out->model, source->reader, source->filter, &visitor);
    put_tail(&k);
    if (!error)
        error = k.error;
    finish(&k);
    return error;
}
