/* SPDX-License-Identifier: Apache-2.0
 *
 * pprof: profile.proto of github.com/google/pprof. Each frame is a location with one line of one
 * function; locations, functions and frames have the same number. Addresses are left out: they mean
 * nothing without mappings, and frames are named already.
 */
#include "export/sites.h"

#include "base/hash.h"
#include "base/map.h"
#include "export/protobuf.h"
#include "tracesmith/error.h"

enum {
    PROFILE_SAMPLE_TYPE = 1,
    PROFILE_SAMPLE = 2,
    PROFILE_LOCATION = 4,
    PROFILE_FUNCTION = 5,
    PROFILE_STRING = 6,
    PROFILE_TIME = 9,
    PROFILE_DURATION = 10,
    PROFILE_DEFAULT_TYPE = 14
};
enum { TYPE_TYPE = 1, TYPE_UNIT = 2 };
enum { SAMPLE_LOCATION = 1, SAMPLE_VALUE = 2 };
enum { LOCATION_ID = 1, LOCATION_LINE = 4 };
enum { LINE_FUNCTION = 1, LINE_LINE = 2 };
enum { FUNCTION_ID = 1, FUNCTION_NAME = 2, FUNCTION_SYSTEM_NAME = 3, FUNCTION_FILE = 4 };

struct profile {
    FILE *out;
    struct tsm_buffer part, inner, packed, strings;
    struct tsm_map places; /* hash of a text -> its number in the table of strings + 1 */
    uint64_t string_count;
    bool failed;
};

/* Writes what is in the buffer and empties it. */
static void flush(struct profile *p, struct tsm_buffer *b)
{
    p->failed |= b->failed;
    if (!b->failed)
        fwrite(b->data, 1, b->size, p->out);
    tsm_buffer_clear(b);
}

/* Returns the text's number; 0 is "". */
static uint64_t string_of(struct profile *p, const char *text)
{
    bool added = false;
    uint64_t *place =
        *text ? tsm_map_insert(&p->places, tsm_hash64(text, strlen(text)), &added) : NULL;

    if (!place) {
        p->failed |= *text;
        return 0;
    }
    if (added) {
        tsm_proto_text(&p->strings, PROFILE_STRING, text);
        *place = ++p->string_count;
    }
    return *place;
}

static void put(struct profile *p, uint32_t field, struct tsm_buffer *message)
{
    struct tsm_buffer out = {0};

    tsm_proto_message(&out, field, message);
    flush(p, &out);
    tsm_buffer_finish(&out);
}

static void put_type(struct profile *p, const char *type, const char *unit)
{
    tsm_proto_u64(&p->part, TYPE_TYPE, string_of(p, type));
    tsm_proto_u64(&p->part, TYPE_UNIT, string_of(p, unit));
    put(p, PROFILE_SAMPLE_TYPE, &p->part);
}

static void put_sample(struct profile *p, const struct tsm_sites *sites,
                       const struct tsm_site_sample *sample)
{
    for (uint32_t i = 0; i < sample->frame_count; i++)
        tsm_buffer_add_varint(&p->packed, sites->path[sample->first + i] + 1ull);
    tsm_proto_message(&p->part, SAMPLE_LOCATION, &p->packed);
    tsm_buffer_add_varint(&p->packed, sample->count);
    tsm_buffer_add_varint(&p->packed, sample->ns);
    tsm_proto_message(&p->part, SAMPLE_VALUE, &p->packed);
    put(p, PROFILE_SAMPLE, &p->part);
}

static void put_frame(struct profile *p, const struct tsm_site_frame *frame, uint64_t id)
{
    const uint64_t name = string_of(p, frame->name);

    tsm_proto_u64(&p->part, LOCATION_ID, id);
    tsm_proto_u64(&p->inner, LINE_FUNCTION, id);
    tsm_proto_u64(&p->inner, LINE_LINE, frame->line);
    tsm_proto_message(&p->part, LOCATION_LINE, &p->inner);
    put(p, PROFILE_LOCATION, &p->part);
    tsm_proto_u64(&p->part, FUNCTION_ID, id);
    tsm_proto_u64(&p->part, FUNCTION_NAME, name);
    tsm_proto_u64(&p->part, FUNCTION_SYSTEM_NAME, name);
    if (frame->file)
        tsm_proto_u64(&p->part, FUNCTION_FILE, string_of(p, frame->file));
    put(p, PROFILE_FUNCTION, &p->part);
}

int tsm_export_pprof(FILE *out, const struct tsm_sites *sites, uint64_t start_ns, uint64_t span_ns)
{
    struct profile p = {.out = out};

    tsm_proto_text(&p.strings, PROFILE_STRING, "");
    put_type(&p, "commands", "count");
    put_type(&p, "device", "nanoseconds");
    for (size_t i = 0; i < sites->sample_count; i++)
        put_sample(&p, sites, &sites->samples[i]);
    for (size_t i = 0; i < sites->frame_count; i++)
        put_frame(&p, &sites->frames[i], i + 1);
    tsm_proto_u64(&p.part, PROFILE_TIME, start_ns);
    tsm_proto_u64(&p.part, PROFILE_DURATION, span_ns);
    tsm_proto_u64(&p.part, PROFILE_DEFAULT_TYPE, string_of(&p, "device"));
    flush(&p, &p.part);
    flush(&p, &p.strings);
    tsm_buffer_finish(&p.part);
    tsm_buffer_finish(&p.inner);
    tsm_buffer_finish(&p.packed);
    tsm_buffer_finish(&p.strings);
    tsm_map_finish(&p.places);
    return p.failed ? tsm_fail(TSM_E_MEMORY, "out of memory for a profile") : 0;
}
