/* SPDX-License-Identifier: Apache-2.0 */
#include "format/json.h"

#include "base/json.h"
#include "base/text.h"
#include "format/read/state.h"

#include <math.h>
#include <string.h>

#define BLOB_KEYS_SHOWN 4u

static const char *const api_names[] = {"core", "cuda", "hsa", "hip", "vulkan", "drm"};
static const char *const kind_names[] = {"other", "init",  "query",  "create", "destroy", "command",
                                         "sync",  "state", "signal", "wait",   "meta"};
static const char *const flag_names[] = {"failed",   "taints",  "truncated", "unfinished", "late",
                                         "captured", "ordered", "held",      "device",     "spot"};
static const char *const end_names[] = {"none", "finished", "recovered", "cut"};

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

const char *sbt_api_name(uint32_t api, char space[16])
{
    if (api < COUNT(api_names))
        return api_names[api];
    tsm_format(space, 16, "api%u", api);
    return space;
}

const char *sbt_kind_name(uint32_t kind)
{
    return kind < COUNT(kind_names) ? kind_names[kind] : NULL;
}

/* ---- fields ---- */

static struct tsm_json writer_to(struct tsm_buffer *out)
{
    return (struct tsm_json){.buffer = out, .style = TSM_JSON_LETTERS};
}

static void put_null(struct tsm_json *j)
{
    tsm_json_string(j, NULL);
}

/* %.9g and %.17g give every float back; what is no number is a string with its bits. */
static void put_float(struct tsm_json *j, double v, int digits, uint64_t bits, int width)
{
    char text[40], *point;
    size_t size;

    if (isnan(v)) {
        tsm_format(text, sizeof(text), "nan:0x%0*llx", width, (unsigned long long)bits);
        tsm_json_string(j, text);
    } else if (isinf(v)) {
        tsm_json_string(j, v < 0 ? "-inf" : "inf");
    } else {
        size = tsm_format(text, sizeof(text), "%.*g", digits, v);
        /* The program that we are in may have set a locale with another decimal point. */
        point = text + strspn(text, "0123456789-+e");
        if (*point)
            *point = '.';
        tsm_json_raw(j, text, size);
    }
}

static void put_f32(struct tsm_json *j, uint64_t slot)
{
    uint32_t bits = (uint32_t)slot;
    float v;

    memcpy(&v, &bits, sizeof(v));
    put_float(j, (double)v, 9, bits, 8);
}

static void put_f64(struct tsm_json *j, uint64_t slot)
{
    double v;

    memcpy(&v, &slot, sizeof(v));
    put_float(j, v, 17, slot, 16);
}

static void put_handle(struct tsm_json *j, const char *type, uint64_t id)
{
    char number[24];

    if (id == 0) {
        put_null(j);
        return;
    }
    tsm_format(number, sizeof(number), "#%llu", (unsigned long long)id);
    tsm_json_text_begin(j);
    tsm_json_text_add(j, type);
    tsm_json_text_add(j, number);
    tsm_json_text_end(j);
}

static void put_enum(struct tsm_json *j, const struct sbt_reader *r, const char *table,
                     int64_t value)
{
    const char *name = sbt_reader_enum_name(r, table, value);

    if (name)
        tsm_json_string(j, name);
    else
        tsm_json_i64(j, value);
}

/* Names of single bits, low to high, and what is left as a number. */
static void put_flags(struct tsm_json *j, const struct sbt_reader *r, const char *table,
                      uint64_t value)
{
    const char *zero = value ? NULL : sbt_reader_enum_name(r, table, 0);
    bool has_text = false;
    uint64_t rest = 0;
    char number[24];

    tsm_json_text_begin(j);
    for (uint64_t left = value; left; left &= left - 1) {
        uint64_t bit = left & (~left + 1);
        const char *name = sbt_reader_enum_name(r, table, (int64_t)bit);
        if (!name) {
            rest |= bit;
            continue;
        }
        if (has_text)
            tsm_json_text_add(j, "|");
        tsm_json_text_add(j, name);
        has_text |= *name != '\0';
    }
    if (rest) {
        tsm_format(number, sizeof(number), "%s0x%llx", has_text ? "|" : "",
                   (unsigned long long)rest);
        tsm_json_text_add(j, number);
    }
    if (value == 0)
        tsm_json_text_add(j, zero ? zero : "0");
    tsm_json_text_end(j);
}

static void put_interned(struct tsm_json *j, struct sbt_reader *r, uint64_t id)
{
    const char *text = id <= UINT32_MAX ? sbt_reader_string(r, (uint32_t)id) : NULL;

    if (id == 0 || text) {
        tsm_json_string(j, id == 0 ? NULL : text);
        return;
    }
    tsm_json_open(j, '{');
    tsm_json_put_u64(j, "missing_string", id);
    tsm_json_close(j, '}');
}

static void put_bytes(struct tsm_json *j, const struct sbt_record *record, uint32_t i)
{
    const uint8_t *data;
    size_t size;

    if (sbt_record_bytes(record, i, &data, &size))
        tsm_json_bytes(j, data, size);
    else
        put_null(j);
}

static void put_blob(struct tsm_json *j, const struct sbt_record *record, uint32_t i)
{
    struct sbt_blob blob;

    if (!sbt_record_blob(record, i, &blob)) {
        put_null(j);
        return;
    }
    tsm_json_open(j, '{');
    tsm_json_put_u64(j, "size", blob.size);
    if (blob.bytes) {
        tsm_json_put_bytes(j, "bytes", blob.bytes, blob.size);
    } else {
        tsm_json_put_open(j, "xxh128", '[');
        for (uint64_t k = 0; k < blob.piece_count && k < BLOB_KEYS_SHOWN; k++)
            tsm_json_bytes(j, blob.keys + 16 * k, 16);
        tsm_json_close(j, ']');
    }
    tsm_json_close(j, '}');
}

void sbt_json_number(struct tsm_json *j, const struct sbt_reader *r, enum sbt_field_type type,
                     const char *detail, uint64_t value)
{
    switch (type) {
    case SBT_FIELD_UINT:
    case SBT_FIELD_SIZE:
        tsm_json_u64(j, value);
        return;
    case SBT_FIELD_INT:
        tsm_json_i64(j, (int64_t)value);
        return;
    case SBT_FIELD_BOOL:
        if (value <= 1)
            tsm_json_bool(j, value);
        else
            tsm_json_u64(j, value);
        return;
    case SBT_FIELD_F32:
        put_f32(j, value);
        return;
    case SBT_FIELD_F64:
        put_f64(j, value);
        return;
    case SBT_FIELD_HANDLE:
        put_handle(j, detail, value);
        return;
    case SBT_FIELD_ENUM:
        put_enum(j, r, detail, (int64_t)value);
        return;
    case SBT_FIELD_FLAGS:
        put_flags(j, r, detail, value);
        return;
    default: /* HEX, addresses, and types of a later version */
        tsm_json_hex(j, value);
    }
}

static void put_field(struct tsm_json *j, struct sbt_reader *r, const struct sbt_field *field,
                      const struct sbt_record *record, uint32_t i)
{
    switch (field->type) {
    case SBT_FIELD_STRING:
        put_interned(j, r, record->slots[i]);
        return;
    case SBT_FIELD_BYTES:
        put_bytes(j, record, i);
        return;
    case SBT_FIELD_BLOB:
        put_blob(j, record, i);
        return;
    case SBT_FIELD_STRUCT:
        sbt_json_value(j, r, field->detail, record, i);
        return;
    default:
        sbt_json_number(j, r, field->type, field->detail, record->slots[i]);
    }
}

/* ---- lines ---- */

static int end_line(struct tsm_json *j, const struct sbt_reader *r)
{
    tsm_json_close(j, '}');
    tsm_buffer_add_u8(j->buffer, '\n');
    return j->buffer->failed ? tsm_fail(TSM_E_MEMORY, "%s: out of memory for JSON", r->name) : 0;
}

static void put_args(struct tsm_json *j, struct sbt_reader *r, const struct sbt_schema *schema,
                     const struct sbt_record *record)
{
    tsm_json_put_open(j, "args", '{');
    for (uint32_t i = 0; i < record->slot_count; i++) {
        char name[16];
        bool known = schema && i < schema->field_count;
        tsm_format(name, sizeof(name), "slot%u", i);
        tsm_json_name(j, known ? schema->fields[i].name : name);
        if (known)
            put_field(j, r, &schema->fields[i], record, i);
        else
            tsm_json_hex(j, record->slots[i]);
    }
    tsm_json_close(j, '}');
}

static void put_record_flags(struct tsm_json *j, uint32_t flags)
{
    tsm_json_put_open(j, "flags", '[');
    for (uint32_t i = 0; i < COUNT(flag_names); i++)
        if (flags >> i & 1)
            tsm_json_string(j, flag_names[i]);
    if (flags >> COUNT(flag_names))
        tsm_json_hex(j, flags & ~((1u << COUNT(flag_names)) - 1));
    tsm_json_close(j, ']');
}

static void put_call(struct tsm_json *j, const struct sbt_schema *schema, uint32_t type)
{
    char space[16], number[16];
    const char *kind = sbt_kind_name(schema ? (uint32_t)schema->kind : UINT32_MAX);

    tsm_format(number, sizeof(number), "0x%08x", type);
    tsm_json_put_string(j, "api", sbt_api_name(SBT_TYPE_API(type), space));
    tsm_json_put_string(j, "call", schema ? schema->name : number);
    if (schema && !kind)
        tsm_json_put_u64(j, "kind", (unsigned)schema->kind);
    else
        tsm_json_put_string(j, "kind", kind);
}

int sbt_json_record(struct tsm_buffer *out, struct sbt_reader *r, const struct sbt_record *record)
{
    const struct sbt_schema *schema = sbt_reader_schema(r, record->type);
    struct tsm_json j = writer_to(out);

    tsm_json_open(&j, '{');
    tsm_json_put_u64(&j, "seq", record->seq);
    tsm_json_put_u64(&j, "time_ns", record->time_ns);
    tsm_json_put_u64(&j, "duration_ns", record->duration_ns);
    tsm_json_put_u64(&j, "thread", record->thread);
    tsm_json_name(&j, "stream");
    if (record->stream == SBT_STREAM_NONE)
        put_null(&j);
    else
        tsm_json_u64(&j, record->stream);
    tsm_json_put_u64(&j, "position", record->position);
    put_call(&j, schema, record->type);
    tsm_json_name(&j, "result");
    if (schema && (schema->flags & SBT_SCHEMA_RESULT_ENUM))
        put_enum(&j, r, schema->result_enum, record->result);
    else
        tsm_json_i64(&j, record->result);
    put_record_flags(&j, record->flags);
    tsm_json_put_u64(&j, "stack", record->stack);
    put_args(&j, r, schema, record);
    return end_line(&j, r);
}

static void put_session(struct tsm_json *j, const struct sbt_reader *r)
{
    const uint8_t *id = r->session.id;
    char text[40];
    size_t used = 0;

    tsm_json_put_string(j, "schema", "tsview/1");
    tsm_format(text, sizeof(text), "%u.%u", r->major, r->minor);
    tsm_json_put_string(j, "format", text);
    for (unsigned i = 0; i < 16; i++)
        used += tsm_format(text + used, sizeof(text) - used,
                           i == 4 || i == 6 || i == 8 || i == 10 ? "-%02x" : "%02x", id[i]);
    tsm_json_put_string(j, "session", text);
    tsm_json_put_string(j, "clock", r->session.clock);
    tsm_json_put_u64(j, "start_monotonic_ns", r->session.start_monotonic_ns);
    tsm_json_put_u64(j, "start_realtime_ns", r->session.start_realtime_ns);
}

int sbt_json_header(struct tsm_buffer *out, struct sbt_reader *r)
{
    const struct sbt_totals *t = &r->totals;
    struct tsm_json j = writer_to(out);

    tsm_json_open(&j, '{');
    put_session(&j, r);
    if ((unsigned)r->end < COUNT(end_names))
        tsm_json_put_string(&j, "end", end_names[r->end]);
    else
        tsm_json_put_u64(&j, "end", (unsigned)r->end);
    tsm_json_put_u64(&j, "records", t->record_count);
    tsm_json_put_u64(&j, "lost", t->lost_count);
    tsm_json_put_u64(&j, "filtered", t->filtered_count);
    tsm_json_put_u64(&j, "tainted", t->tainted_count);
    tsm_json_put_u64(&j, "streams", t->stream_count);
    tsm_json_put_open(&j, "metadata", '{');
    for (size_t i = 0; i < r->metadata_count; i++)
        tsm_json_put_string(&j, r->metadata[i].name, r->metadata[i].value);
    tsm_json_close(&j, '}');
    return end_line(&j, r);
}
