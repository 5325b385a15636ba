/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads trace-cmd's files by itself, not with libtracecmd, for a file that somebody sent is hostile input:
 * the library takes a file's name or descriptor, never bytes, so that neither the fuzzer nor the layouts in
 * a file of perf's could reach it; it unpacks compressed sections into files in /tmp, without a limit of
 * ours; it loads plugins unless told not to; and a file that ends early is to give what came before, with
 * a sentence that says where it breaks. Eight kinds of events are read, and no print format.
 */
#include "analysis/cpu/ftrace_dat.h"

#include "analysis/cpu/ftrace_page.h"
#include "base/bytes.h"
#include "base/text.h"
#include "tracesmith/error.h"

#include <stdlib.h>
#include <zstd.h>

static const uint8_t magic[10] = {0x17, 0x08, 0x44, 't', 'r', 'a', 'c', 'i', 'n', 'g'};

#define UNPACKED_MAX (1u << 30) /* of one section or chunk: a limit for memory */
#define CPU_MAX      TSM_CPU_MAX
#define PAGE_MAX     (1u << 20)
#define SECTIONS_MAX 4096u /* of options, which form a chain */

enum option {
    OPTION_DONE = 0,
    OPTION_BUFFER = 3,
    OPTION_CLOCK = 4,
    OPTION_OFFSET = 7,
    OPTION_HEADER = 16,
    OPTION_EVENTS_FTRACE = 17,
    OPTION_EVENTS = 18,
};

#define SECTION_PACKED 1u

struct dat {
    struct tsm_cpu_events *events;
    const uint8_t *data;
    size_t size;
    uint32_t page_size;
    bool is_packed;    /* sections may be compressed, by zstd */
    int64_t offset_ns; /* that the file says to add to all times */
    struct tsm_ftrace_formats *formats;
};

static int broken(const char *where)
{
    return tsm_fail(TSM_E_FORMAT, "trace-cmd's file is cut off or damaged: %s", where);
}

/* Text up to a zero byte; NULL (and failed) when there is none. */
static const char *take_text(struct tsm_view *v)
{
    const uint8_t *end = v->failed ? NULL : memchr(v->at, 0, tsm_view_left(v));

    if (!end) {
        v->failed = true;
        return NULL;
    }
    return (const char *)tsm_view_take(v, (size_t)(end + 1 - v->at));
}

static const uint8_t *take_sized(struct tsm_view *v, uint64_t size)
{
    if (size > tsm_view_left(v)) {
        v->failed = true;
        return NULL;
    }
    return tsm_view_take(v, (size_t)size);
}

/* ---- what both versions hold ---- */

/* `count` times u64 size, a format file. */
static void read_formats(struct dat *d, struct tsm_view *v, uint32_t count)
{
    for (uint32_t i = 0; i < count && !v->failed; i++) {
        uint64_t size = tsm_view_u64(v);
        const uint8_t *text = take_sized(v, size);

        if (text)
            tsm_ftrace_format_add(d->formats, (const char *)text, (size_t)size);
    }
}

static void read_systems(struct dat *d, struct tsm_view *v)
{
    uint32_t count = tsm_view_u32(v);

    for (uint32_t i = 0; i < count && !v->failed; i++) {
        take_text(v);
        read_formats(d, v, tsm_view_u32(v));
    }
}

/* "local [mono] boot": the one that was on; or its name alone. */
static void set_clock(struct dat *d, const char *text, size_t size)
{
    const char *open = memchr(text, '[', size), *begin = open ? open + 1 : text;
    size_t left = size - (size_t)(begin - text), own = 0;

    while (own < left && own < TSM_CLOCK_NAME_SIZE - 1 && begin[own] > ' ' && begin[own] != ']')
        own++;
    if (!own)
        return;
    memcpy(d->events->clock, begin, own);
    d->events->clock[own] = 0;
}

/* A terminated decimal number of nanoseconds, "0x" for hexadecimal. */
static void set_offset(struct dat *d, const uint8_t *data, size_t size)
{
    char text[32];

    size = size < sizeof(text) ? size : sizeof(text) - 1;
    memcpy(text, data, size);
    text[size] = 0;
    d->offset_ns = (int64_t)strtoll(text, NULL, 0);
}

static int read_pages(struct dat *d, uint16_t cpu, const uint8_t *data, size_t size,
                      uint32_t page_size)
{
    int error = 0;

    for (size_t at = 0; at < size && !error; at += page_size) {
        if (size - at < page_size) {
            d->events->unread_count++;
            break;
        }
        error = tsm_ftrace_page(d->events, d->formats, cpu, data + at, page_size);
    }
    return error;
}

static bool good_page(uint32_t size)
{
    return size >= 64 && size <= PAGE_MAX;
}

/* ---- version 7: sections ---- */

/* A packed chunk, appended to `out`. */
static int unpack(struct tsm_buffer *out, const uint8_t *packed, size_t packed_size, uint32_t size)
{
    uint8_t *room = size <= UNPACKED_MAX && out->size <= UNPACKED_MAX - size
                        ? tsm_buffer_reserve(out, size)
                        : NULL;
    size_t got;

    if (!room)
        return tsm_fail(TSM_E_LIMIT, "trace-cmd's file: a section of more than 1 GiB");
    got = ZSTD_decompress(room, size, packed, packed_size);
    if (ZSTD_isError(got) || got != size)
        return broken("a compressed section");
    out->size += size;
    return 0;
}

/* The section at `offset`: a view of its content, which lies in `room` if it was packed. */
static int open_section(struct tsm_view *out, struct tsm_buffer *room, const struct dat *d,
                        uint64_t offset, unsigned id)
{
    struct tsm_view v = tsm_view_init(d->data, d->size);
    uint32_t packed_size, size;
    unsigned own_id, flags;
    const uint8_t *packed;
    uint64_t own_size;
    int error;

    take_sized(&v, offset);
    own_id = tsm_view_u16(&v);
    flags = tsm_view_u16(&v);
    tsm_view_u32(&v); /* what it is called */
    own_size = tsm_view_u64(&v);
    if (v.failed || own_id != id || own_size > tsm_view_left(&v))
        return broken("a section is not where it should be");
    *out = tsm_view_init(v.at, (size_t)own_size);
    if (!(flags & SECTION_PACKED))
        return 0;
    if (!d->is_packed)
        return broken("a section is compressed, in a file that says it is not");
    packed_size = tsm_view_u32(out);
    size = tsm_view_u32(out);
    packed = take_sized(out, packed_size);
    if (!packed)
        return broken("a compressed section");
    error = unpack(room, packed, packed_size, size);
    if (!error)
        *out = tsm_view_init(room->data, room->size);
    return error;
}

/* Pages of one CPU, in chunks. What trace-cmd says of their size leaves the number in front of them
 * out. */
static int read_packed_pages(struct dat *d, uint16_t cpu, const uint8_t *data, size_t size,
                             uint32_t page_size)
{
    struct tsm_view v = tsm_view_init(data, size);
    uint32_t count = tsm_view_u32(&v);
    struct tsm_buffer room = {0};
    int error = 0;

    for (uint32_t i = 0; i < count && !error; i++) {
        uint32_t packed_size = tsm_view_u32(&v), own = tsm_view_u32(&v);
        const uint8_t *packed = take_sized(&v, packed_size);

        tsm_buffer_clear(&room);
        error = packed ? unpack(&room, packed, packed_size, own) : broken("a CPU's events");
        if (!error)
            error = read_pages(d, cpu, room.data, own, page_size);
    }
    tsm_buffer_finish(&room);
    return error;
}

/* BUFFER: where an instance's pages are. */
static int read_buffer(struct dat *d, const uint8_t *data, size_t size)
{
    struct tsm_view v = tsm_view_init(data, size), section;
    uint64_t section_at = tsm_view_u64(&v);
    const char *clock;
    uint32_t page_size, cpu_count;
    uint16_t flags;
    int error = 0;

    take_text(&v); /* the instance's name */
    clock = take_text(&v);
    page_size = tsm_view_u32(&v);
    cpu_count = tsm_view_u32(&v);
    section = tsm_view_init(d->data, d->size);
    take_sized(&section, section_at);
    tsm_view_u16(&section);
    flags = tsm_view_u16(&section);
    if (v.failed || section.failed || !good_page(page_size) || cpu_count > CPU_MAX)
        return broken("what it says of its buffers");
    set_clock(d, clock, strlen(clock));
    for (uint32_t i = 0; i < cpu_count && !error; i++) {
        uint32_t cpu = tsm_view_u32(&v);
        uint64_t offset = tsm_view_u64(&v), own = tsm_view_u64(&v);

        if (v.failed || cpu >= CPU_MAX || offset > d->size || own > d->size - offset)
            return broken("the events of a CPU are not in it");
        if (flags & SECTION_PACKED && own)
            error =
                read_packed_pages(d, (uint16_t)cpu, d->data + offset,
                                  (size_t)(own + (d->size - offset - own < 4 ? 0 : 4)), page_size);
        else
            error = read_pages(d, (uint16_t)cpu, d->data + offset, (size_t)own, page_size);
    }
    return error;
}

/* Reads one option when its turn has come: layouts and clock before what needs them. */
static int read_option(struct dat *d, unsigned id, const uint8_t *data, size_t size, bool pages)
{
    struct tsm_buffer room = {0};
    struct tsm_view v;
    int error = 0;

    if (pages)
        return id == OPTION_BUFFER ? read_buffer(d, data, size) : 0;
    if ((id == OPTION_EVENTS || id == OPTION_EVENTS_FTRACE) && size >= 8) {
        error = open_section(&v, &room, d, tsm_get_u64(data), id);
        if (!error && id == OPTION_EVENTS)
            read_systems(d, &v);
        else if (!error)
            read_formats(d, &v, tsm_view_u32(&v));
        if (!error && v.failed)
            error = broken("layouts of events");
    } else if (id == OPTION_CLOCK) {
        set_clock(d, (const char *)data, size);
    } else if (id == OPTION_OFFSET) {
        set_offset(d, data, size);
    }
    tsm_buffer_finish(&room);
    return error;
}

static int read_options(struct dat *d, uint64_t offset, bool pages)
{
    int error = 0;

    for (unsigned i = 0; offset && i < SECTIONS_MAX && !error; i++) {
        struct tsm_buffer room = {0};
        struct tsm_view v;

        error = open_section(&v, &room, d, offset, OPTION_DONE);
        offset = 0;
        while (!error && tsm_view_left(&v)) {
            unsigned id = tsm_view_u16(&v);
            uint32_t size = tsm_view_u32(&v);
            const uint8_t *data = take_sized(&v, size);

            if (!data)
                error = broken("an option");
            else if (id == OPTION_DONE && size >= 8)
                offset = tsm_get_u64(data);
            else
                error = read_option(d, id, data, size, pages);
            if (id == OPTION_DONE)
                break;
        }
        tsm_buffer_finish(&room);
    }
    return error;
}

static int read_7(struct dat *d, struct tsm_view *v)
{
    const char *packing = take_text(v);
    uint64_t offset;
    int error;

    take_text(v); /* version of that */
    offset = tsm_view_u64(v);
    if (v->failed)
        return broken("its head");
    d->is_packed = strcmp(packing, "zstd") == 0;
    if (!d->is_packed && strcmp(packing, "none") != 0)
        return tsm_fail(TSM_E_UNSUPPORTED,
                        "trace-cmd's file is compressed with '%.16s': 'trace-cmd convert "
                        "--compression none' makes one that is not",
                        packing);
    error = read_options(d, offset, false);
    return error ? error : read_options(d, offset, true);
}

/* ---- version 6: one thing after the other ---- */

/* `size`-byte text that must stand here. */
static void expect(struct tsm_view *v, const char *text, size_t size)
{
    const uint8_t *got = tsm_view_take(v, size);

    if (got && memcmp(got, text, size) != 0)
        v->failed = true;
}

static void read_options_6(struct dat *d, struct tsm_view *v)
{
    while (!v->failed) {
        unsigned id = tsm_view_u16(v);
        uint32_t size;
        const uint8_t *data;

        if (id == OPTION_DONE)
            return;
        size = tsm_view_u32(v);
        data = take_sized(v, size);
        if (data && id == OPTION_CLOCK)
            set_clock(d, (const char *)data, size);
        else if (data && id == OPTION_OFFSET)
            set_offset(d, data, size);
        else if (data && id == OPTION_BUFFER) /* of another instance, which is not read */
            d->events->unread_count++;
    }
}

static int read_cpus_6(struct dat *d, struct tsm_view *v, uint32_t cpu_count)
{
    int error = 0;

    for (uint32_t cpu = 0; cpu < cpu_count && !error; cpu++) {
        uint64_t offset = tsm_view_u64(v), size = tsm_view_u64(v);

        if (v->failed || offset > d->size || size > d->size - offset)
            return broken("the events of a CPU are not in it");
        error = read_pages(d, (uint16_t)cpu, d->data + offset, (size_t)size, d->page_size);
    }
    return error;
}

static void read_layouts_6(struct dat *d, struct tsm_view *v)
{
    expect(v, "header_page", 12);
    take_sized(v, tsm_view_u64(v));
    expect(v, "header_event", 13);
    take_sized(v, tsm_view_u64(v));
    read_formats(d, v, tsm_view_u32(v));
    read_systems(d, v);
}

static int read_6(struct dat *d, struct tsm_view *v)
{
    uint32_t cpu_count;

    read_layouts_6(d, v);
    take_sized(v, tsm_view_u32(v)); /* symbols */
    take_sized(v, tsm_view_u32(v)); /* formats of trace_printk() */
    take_sized(v, tsm_view_u64(v)); /* names of threads */
    cpu_count = tsm_view_u32(v);
    if (v->failed || cpu_count > CPU_MAX)
        return broken("its head");
    if (tsm_view_left(v) >= 10 && memcmp(v->at, "options  ", 10) == 0) {
        tsm_view_take(v, 10);
        read_options_6(d, v);
    }
    expect(v, "flyrecord", 10);
    if (v->failed)
        return broken("it has no events, or is a latency trace");
    return read_cpus_6(d, v, cpu_count);
}

/* ---- the file ---- */

bool tsm_ftrace_dat_is(const uint8_t *data, size_t size)
{
    return size >= sizeof(magic) && memcmp(data, magic, sizeof(magic)) == 0;
}

static void add_offset(struct tsm_cpu_events *events, size_t first, int64_t offset_ns)
{
    struct tsm_cpu_event *all = (void *)events->events.data;

    for (size_t i = first; offset_ns && i < tsm_cpu_events_count(events); i++)
        all[i].ts_ns += (uint64_t)offset_ns;
}

/* Reads the head, up to the part in which versions differ. Returns NULL, and sets *error, if the
 * file cannot be read. */
static const char *read_head(struct dat *d, struct tsm_view *v, int *error)
{
    const char *version;
    unsigned is_big, long_size;

    tsm_view_take(v, sizeof(magic));
    version = take_text(v);
    is_big = tsm_view_u8(v);
    long_size = tsm_view_u8(v);
    d->page_size = tsm_view_u32(v);
    if (v->failed || !good_page(is_big ? 4096 : d->page_size)) {
        *error = broken("its head");
        return NULL;
    }
    if (is_big || long_size != 8) {
        *error =
            tsm_fail(TSM_E_UNSUPPORTED, "trace-cmd's file is of a big-endian or 32-bit machine");
        return NULL;
    }
    return version;
}

int tsm_ftrace_dat(struct tsm_cpu_events *events, const uint8_t *data, size_t size)
{
    struct tsm_ftrace_formats formats = {0};
    struct dat d = {.events = events, .data = data, .size = size, .formats = &formats};
    struct tsm_view v = tsm_view_init(data, size);
    size_t first = tsm_cpu_events_count(events);
    int error = 0;
    const char *version = read_head(&d, &v, &error);

    if (!version)
        return error;
    if (strcmp(version, "7") == 0)
        error = read_7(&d, &v);
    else if (strcmp(version, "6") == 0)
        error = read_6(&d, &v);
    else
        error = tsm_fail(TSM_E_UNSUPPORTED, "version %.8s of trace-cmd's file", version);
    add_offset(events, first, d.offset_ns);
    return error;
}

int tsm_ftrace_dat_formats(struct tsm_ftrace_formats *formats, const uint8_t *data, size_t size)
{
    struct dat d = {.data = data, .size = size, .formats = formats};
    struct tsm_view v = tsm_view_init(data, size);
    int error = 0;

    if (!read_head(&d, &v, &error))
        return error;
    read_layouts_6(&d, &v);
    return v.failed ? broken("layouts of events") : 0;
}
