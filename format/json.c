/* SPDX-License-Identifier: Apache-2.0 */
#include "format/json.h"

#include "base/text.h"
#include "format/reader_state.h"

#include <math.h>
#include <string.h>

#define BLOB_KEYS_SHOWN 4u

static const char *const api_names[] = {"core", "cuda", "hsa", "hip", "vulkan", "drm"};
static const char *const kind_names[] = {"other", "init",  "query",  "create", "destroy", "command",
                                         "sync",  "state", "signal", "wait",   "meta"};
static const char *const flag_names[] = {"failed",   "taints",  "truncated", "unfinished", "late",
                                         "captured", "ordered", "held",      "device"};
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

/* ---- pieces of text ---- */

static void put(struct tsm_buffer *out, const char *text)
{
    tsm_buffer_add(out, text, strlen(text));
}

static void putf(struct tsm_buffer *out, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void putf(struct tsm_buffer *out, const char *format, ...)
{
    char text[128];
    va_list ap;

    va_start(ap, format);
    tsm_buffer_add(out, text, tsm_vformat(text, sizeof(text), format, ap));
    va_end(ap);
}

static void put_u64(struct tsm_buffer *out, uint64_t v)
{
    putf(out, "%llu", (unsigned long long)v);
}

static void put_i64(struct tsm_buffer *out, int64_t v)
{
    putf(out, "%lld", (long long)v);
}

static void put_hex(struct tsm_buffer *out, uint64_t v)
{
    putf(out, "\"0x%llx\"", (unsigned long long)v);
}

static void put_digits(struct tsm_buffer *out, const uint8_t *bytes, size_t size)
{
    static const char digits[] = "0123456789abcdef";

    for (size_t i = 0; i < size; i++) {
        tsm_buffer_add_u8(out, (uint8_t)digits[bytes[i] >> 4]);
        tsm_buffer_add_u8(out, (uint8_t)digits[bytes[i] & 15]);
    }
}

/* Length of the UTF-8 sequence at `p`, 0 when there is none. */
static size_t utf8_length(const uint8_t *p, size_t left)
{
    size_t length = p[0] < 0x80 ? 1 : p[0] < 0xc2 ? 0 : p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;

    if (length == 0 || length > left || p[0] > 0xf4)
        return 0;
    for (size_t i = 1; i < length; i++) {
        if ((p[i] & 0xc0) != 0x80)
            return 0;
    }
    /* Overlong forms, surrogates, numbers over U+10FFFF. */
    if ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] > 0x9f) ||
        (p[0] == 0xf0 && p[1] < 0x90) || (p[0] == 0xf4 && p[1] > 0x8f))
        return 0;
    return length;
}

static void put_ascii(struct tsm_buffer *out, uint8_t c)
{
    static const char named[] = "\"\"\\\\\bb\ff\nn\rr\tt";

    for (const char *p = named; *p; p += 2) {
        if (c == (uint8_t)p[0]) {
            tsm_buffer_add_u8(out, '\\');
            tsm_buffer_add_u8(out, (uint8_t)p[1]);
            return;
        }
    }
    if (c < 0x20 || c == 0x7f)
        putf(out, "\\u%04x", c);
    else
        tsm_buffer_add_u8(out, c);
}

void sbt_json_string(struct tsm_buffer *out, const char *text, size_t size)
{
    const uint8_t *p = (const uint8_t *)text;

    tsm_buffer_add_u8(out, '"');
    while (size) {
        size_t length = utf8_length(p, size);
        if (length == 0)
            put(out, "\\ufffd");
        else if (length == 1)
            put_ascii(out, *p);
        else if (p[0] == 0xc2 && p[1] < 0xa0) /* the other control characters */
            putf(out, "\\u%04x", p[1]);
        else
            tsm_buffer_add(out, p, length);
        length += length == 0;
        p += length;
        size -= length;
    }
    tsm_buffer_add_u8(out, '"');
}

static void put_string(struct tsm_buffer *out, const char *text)
{
    sbt_json_string(out, text, strlen(text));
}

/* ---- fields ---- */

/* %.9g and %.17g give every float back; what is no number is a string with its bits. */
static void put_float(struct tsm_buffer *out, double v, int digits, uint64_t bits, int width)
{
    char text[40], *point;

    if (isnan(v)) {
        putf(out, "\"nan:0x%0*llx\"", width, (unsigned long long)bits);
    } else if (isinf(v)) {
        put(out, v < 0 ? "\"-inf\"" : "\"inf\"");
    } else {
        tsm_format(text, sizeof(text), "%.*g", digits, v);
        /* The program that we are in may have set a locale with another decimal point. */
        point = text + strspn(text, "0123456789-+e");
        if (*point)
            *point = '.';
        put(out, text);
    }
}

static void put_f32(struct tsm_buffer *out, uint64_t slot)
{
    uint32_t bits = (uint32_t)slot;
    float v;

    memcpy(&v, &bits, sizeof(v));
    put_float(out, (double)v, 9, bits, 8);
}

static void put_f64(struct tsm_buffer *out, uint64_t slot)
{
    double v;

    memcpy(&v, &slot, sizeof(v));
    put_float(out, v, 17, slot, 16);
}

static void put_handle(struct tsm_buffer *out, const char *type, uint64_t id)
{
    if (id == 0) {
        put(out, "null");
        return;
    }
    put_string(out, type);
    if (!out->failed)
        out->size--; /* the closing quote comes after the number */
    putf(out, "#%llu\"", (unsigned long long)id);
}

static void put_enum(struct tsm_buffer *out, const struct sbt_reader *r, const char *table,
                     int64_t value)
{
    const char *name = sbt_reader_enum_name(r, table, value);

    if (name)
        put_string(out, name);
    else
        put_i64(out, value);
}

/* Names of single bits, low to high, and what is left as a number. */
static void put_flags(struct tsm_buffer *out, const struct sbt_reader *r, const char *table,
                      uint64_t value)
{
    const char *zero = value ? NULL : sbt_reader_enum_name(r, table, 0);
    struct tsm_buffer text = {0};
    uint64_t rest = 0;

    for (uint64_t left = value; left; left &= left - 1) {
        uint64_t bit = left & (~left + 1);
        const char *name = sbt_reader_enum_name(r, table, (int64_t)bit);
        if (!name) {
            rest |= bit;
            continue;
        }
        if (text.size)
            put(&text, "|");
        put(&text, name);
    }
    if (rest)
        putf(&text, "%s0x%llx", text.size ? "|" : "", (unsigned long long)rest);
    if (value == 0)
        put(&text, zero ? zero : "0");
    sbt_json_string(out, (const char *)text.data, text.size);
    out->failed |= text.failed;
    tsm_buffer_finish(&text);
}

static void put_interned(struct tsm_buffer *out, struct sbt_reader *r, uint64_t id)
{
    const char *text = id <= UINT32_MAX ? sbt_reader_string(r, (uint32_t)id) : NULL;

    if (id == 0)
        put(out, "null");
    else if (text)
        put_string(out, text);
    else
        putf(out, "{\"missing_string\":%llu}", (unsigned long long)id);
}

void sbt_json_bytes(struct tsm_buffer *out, const uint8_t *bytes, size_t size)
{
    tsm_buffer_add_u8(out, '"');
    put_digits(out, bytes, size);
    tsm_buffer_add_u8(out, '"');
}

static void put_bytes(struct tsm_buffer *out, const struct sbt_record *record, uint32_t i)
{
    const uint8_t *data;
    size_t size;

    if (!sbt_record_bytes(record, i, &data, &size)) {
        put(out, "null");
        return;
    }
    sbt_json_bytes(out, data, size);
}

static void put_blob(struct tsm_buffer *out, const struct sbt_record *record, uint32_t i)
{
    struct sbt_blob blob;

    if (!sbt_record_blob(record, i, &blob)) {
        put(out, "null");
        return;
    }
    putf(out, "{\"size\":%llu,", (unsigned long long)blob.size);
    if (blob.bytes) {
        put(out, "\"bytes\":");
        sbt_json_bytes(out, blob.bytes, blob.size);
        put(out, "}");
        return;
    }
    put(out, "\"xxh128\":[");
    for (uint64_t k = 0; k < blob.piece_count && k < BLOB_KEYS_SHOWN; k++) {
        put(out, k ? ",\"" : "\"");
        put_digits(out, blob.keys + 16 * k, 16);
        tsm_buffer_add_u8(out, '"');
    }
    put(out, "]}");
}

void sbt_json_number(struct tsm_buffer *out, const struct sbt_reader *r, enum sbt_field_type type,
                     const char *detail, uint64_t value)
{
    switch (type) {
    case SBT_FIELD_UINT:
    case SBT_FIELD_SIZE:
        put_u64(out, value);
        return;
    case SBT_FIELD_INT:
        put_i64(out, (int64_t)value);
        return;
    case SBT_FIELD_BOOL:
        if (value <= 1)
            put(out, value ? "true" : "false");
        else
            put_u64(out, value);
        return;
    case SBT_FIELD_F32:
        put_f32(out, value);
        return;
    case SBT_FIELD_F64:
        put_f64(out, value);
        return;
    case SBT_FIELD_HANDLE:
        put_handle(out, detail, value);
        return;
    case SBT_FIELD_ENUM:
        put_enum(out, r, detail, (int64_t)value);
        return;
    case SBT_FIELD_FLAGS:
        put_flags(out, r, detail, value);
        return;
    default: /* HEX, addresses, and types of a later version */
        put_hex(out, value);
    }
}

static void put_field(struct tsm_buffer *out, struct sbt_reader *r, const struct sbt_field *field,
                      const struct sbt_record *record, uint32_t i)
{
    switch (field->type) {
    case SBT_FIELD_STRING:
        put_interned(out, r, record->slots[i]);
        return;
    case SBT_FIELD_BYTES:
        put_bytes(out, record, i);
        return;
    case SBT_FIELD_BLOB:
        put_blob(out, record, i);
        return;
    case SBT_FIELD_STRUCT:
        sbt_json_value(out, r, field->detail, record, i);
        return;
    default:
        sbt_json_number(out, r, field->type, field->detail, record->slots[i]);
    }
}

/* ---- lines ---- */

static void put_args(struct tsm_buffer *out, struct sbt_reader *r, const struct sbt_schema *schema,
                     const struct sbt_record *record)
{
    put(out, ",\"args\":{");
    for (uint32_t i = 0; i < record->slot_count; i++) {
        char name[16];
        bool known = schema && i < schema->field_count;
        tsm_format(name, sizeof(name), "slot%u", i);
        put_string(out, known ? schema->fields[i].name : name);
        tsm_buffer_add_u8(out, ':');
        if (known)
            put_field(out, r, &schema->fields[i], record, i);
        else
            put_hex(out, record->slots[i]);
        if (i + 1 < record->slot_count)
            tsm_buffer_add_u8(out, ',');
    }
    put(out, "}}\n");
}

static void put_record_flags(struct tsm_buffer *out, uint32_t flags)
{
    const char *comma = "";

    put(out, ",\"flags\":[");
    for (uint32_t i = 0; i < COUNT(flag_names); i++) {
        if (!(flags >> i & 1))
            continue;
        putf(out, "%s\"%s\"", comma, flag_names[i]);
        comma = ",";
    }
    if (flags >> COUNT(flag_names))
        putf(out, "%s\"0x%x\"", comma, flags & ~((1u << COUNT(flag_names)) - 1));
    put(out, "]");
}

static void put_call(struct tsm_buffer *out, const struct sbt_schema *schema, uint32_t type)
{
    char space[16];
    const char *kind = sbt_kind_name(schema ? (uint32_t)schema->kind : UINT32_MAX);

    putf(out, ",\"api\":\"%s\",\"call\":", sbt_api_name(SBT_TYPE_API(type), space));
    if (schema)
        put_string(out, schema->name);
    else
        putf(out, "\"0x%08x\"", type);
    if (kind)
        putf(out, ",\"kind\":\"%s\"", kind);
    else if (schema)
        putf(out, ",\"kind\":%u", (unsigned)schema->kind);
    else
        put(out, ",\"kind\":null");
}

int sbt_json_record(struct tsm_buffer *out, struct sbt_reader *r, const struct sbt_record *record)
{
    const struct sbt_schema *schema = sbt_reader_schema(r, record->type);

    putf(out, "{\"seq\":%llu,\"time_ns\":%llu,\"duration_ns\":%llu",
         (unsigned long long)record->seq, (unsigned long long)record->time_ns,
         (unsigned long long)record->duration_ns);
    putf(out, ",\"thread\":%u,\"stream\":", record->thread);
    if (record->stream == SBT_STREAM_NONE)
        put(out, "null");
    else
        put_u64(out, record->stream);
    putf(out, ",\"position\":%llu", (unsigned long long)record->position);
    put_call(out, schema, record->type);
    put(out, ",\"result\":");
    if (schema && (schema->flags & SBT_SCHEMA_RESULT_ENUM))
        put_enum(out, r, schema->result_enum, record->result);
    else
        put_i64(out, record->result);
    put_record_flags(out, record->flags);
    putf(out, ",\"stack\":%u", record->stack);
    put_args(out, r, schema, record);
    return out->failed ? tsm_fail(TSM_E_MEMORY, "%s: out of memory for JSON", r->name) : 0;
}

static void put_session(struct tsm_buffer *out, const struct sbt_reader *r)
{
    static const unsigned groups[] = {4, 2, 2, 2, 6};
    const uint8_t *id = r->session.id;

    putf(out, "{\"schema\":\"tsview/1\",\"format\":\"%u.%u\",\"session\":\"", r->major, r->minor);
    for (unsigned g = 0; g < COUNT(groups); id += groups[g++]) {
        put(out, g ? "-" : "");
        put_digits(out, id, groups[g]);
    }
    put(out, "\",\"clock\":");
    put_string(out, r->session.clock);
    putf(out, ",\"start_monotonic_ns\":%llu,\"start_realtime_ns\":%llu",
         (unsigned long long)r->session.start_monotonic_ns,
         (unsigned long long)r->session.start_realtime_ns);
}

int sbt_json_header(struct tsm_buffer *out, struct sbt_reader *r)
{
    const struct sbt_totals *t = &r->totals;

    put_session(out, r);
    if ((unsigned)r->end < COUNT(end_names))
        putf(out, ",\"end\":\"%s\"", end_names[r->end]);
    else
        putf(out, ",\"end\":%u", (unsigned)r->end);
    putf(out, ",\"records\":%llu,\"lost\":%llu,\"filtered\":%llu",
         (unsigned long long)t->record_count, (unsigned long long)t->lost_count,
         (unsigned long long)t->filtered_count);
    putf(out, ",\"tainted\":%llu,\"streams\":%u,\"metadata\":{",
         (unsigned long long)t->tainted_count, t->stream_count);
    for (size_t i = 0; i < r->metadata_count; i++) {
        if (i)
            tsm_buffer_add_u8(out, ',');
        put_string(out, r->metadata[i].name);
        tsm_buffer_add_u8(out, ':');
        put_string(out, r->metadata[i].value);
    }
    put(out, "}}\n");
    return out->failed ? tsm_fail(TSM_E_MEMORY, "%s: out of memory for JSON", r->name) : 0;
}
