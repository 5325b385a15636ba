/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/text/record.h"

#include "base/text.h"
#include "tools/terminal.h"
#include "tools/text/kernel_arguments.h"
#include "tools/text/object_names.h"
#include "tools/text/record_value.h"

enum column {
    SEQ_COLUMNS = 9,
    TIME_COLUMNS = 14,
    STREAM_COLUMN = 25,
    SIZE_COLUMN = 30,
    CALL_COLUMN = 41,
};
#define FLAG_NAMES_MAX 512u /* of a larger table only names of single bits are shown */
#define BYTES_SHOWN    32u

void tsm_record_text_init(struct tsm_record_text *t, struct sbt_reader *reader)
{
    *t = (struct tsm_record_text){.reader = reader, .line.width = tsm_terminal_width()};
}

void tsm_record_text_finish(struct tsm_record_text *t)
{
    tsm_text_line_finish(&t->line);
    *t = (struct tsm_record_text){0};
}

/* ---- values -------------------------------------------------------------------------------- */

static void put_enum(struct tsm_record_text *t, const char *table, int64_t value)
{
    const char *name = sbt_reader_enum_name(t->reader, table, value);

    if (name)
        tsm_text_line_clean(&t->line, name);
    else
        tsm_text_line_i64(&t->line, value);
}

static void put_flag(struct tsm_record_text *t, const char *name, bool *first)
{
    if (!*first)
        tsm_text_line_text(&t->line, "|");
    tsm_text_line_clean(&t->line, name);
    *first = false;
}

/* Takes the bits away whose names were written. */
static void put_single_bits(struct tsm_record_text *t, const char *table, uint64_t *value,
                            bool *first)
{
    for (uint64_t left = *value; left; left &= left - 1) {
        uint64_t bit = left & -left;
        const char *name = sbt_reader_enum_name(t->reader, table, (int64_t)bit);

        if (name) {
            put_flag(t, name, first);
            *value &= ~bit;
        }
    }
}

static void put_flags(struct tsm_record_text *t, const char *table, uint64_t value)
{
    const struct sbt_enum *names = sbt_reader_enum(t->reader, table);
    bool first = true;

    if (names && names->value_count > FLAG_NAMES_MAX)
        put_single_bits(t, table, &value, &first);
    else
        for (uint32_t i = 0; names && value && i < names->value_count; i++) {
            uint64_t bits = (uint64_t)names->values[i].value;
            if (bits == 0 || (value & bits) != bits)
                continue;
            put_flag(t, names->values[i].name, &first);
            value &= ~bits;
        }
    if (!first && value)
        tsm_text_line_text(&t->line, "|");
    if (value)
        tsm_text_line_hex(&t->line, value);
    else if (first)
        tsm_text_line_text(&t->line, "0");
}

static void put_float(struct tsm_text_line *line, double value)
{
    char text[40];

    tsm_text_line_add(line, text, tsm_format(text, sizeof(text), "%g", value));
}

static void put_handle(struct tsm_record_text *t, const char *type, uint64_t id)
{
    struct tsm_text_line *line = &t->line;
    const char *name = t->names ? tsm_object_name(t->names, type, id) : NULL;

    if (!id) {
        tsm_text_line_text(line, "none");
        return;
    }
    tsm_text_line_clean(line, type);
    tsm_text_line_text(line, "#");
    tsm_text_line_u64(line, id);
    if (name) {
        tsm_text_line_text(line, " ");
        tsm_text_line_quoted(line, name);
    }
}

void tsm_record_text_bytes(struct tsm_record_text *t, const uint8_t *data, size_t size)
{
    tsm_text_line_text(&t->line, "[");
    tsm_text_line_bytes(&t->line, data, size < BYTES_SHOWN ? size : BYTES_SHOWN);
    if (size > BYTES_SHOWN) {
        tsm_text_line_text(&t->line, "... ");
        tsm_text_line_size(&t->line, size);
    }
    tsm_text_line_text(&t->line, "]");
}

static void put_bytes(struct tsm_record_text *t, const struct sbt_record *record, uint32_t slot)
{
    const uint8_t *data;
    size_t size;

    if (!sbt_record_bytes(record, slot, &data, &size)) {
        tsm_text_line_text(&t->line, "<malformed>");
        return;
    }
    tsm_record_text_bytes(t, data, size);
}

static void put_blob(struct tsm_record_text *t, const struct sbt_record *record, uint32_t slot)
{
    struct sbt_blob blob;

    if (!sbt_record_blob(record, slot, &blob)) {
        tsm_text_line_text(&t->line, "<malformed>");
        return;
    }
    tsm_text_line_text(&t->line, "<");
    tsm_text_line_size(&t->line, blob.size);
    tsm_text_line_text(&t->line, ">");
}

static void put_string(struct tsm_record_text *t, uint64_t id)
{
    const char *text = id ? sbt_reader_string(t->reader, (uint32_t)id) : NULL;

    if (text)
        tsm_text_line_quoted(&t->line, text);
    else
        tsm_text_line_text(&t->line, id ? "<unknown>" : "none");
}

static double as_f32(uint64_t slot)
{
    uint32_t bits = (uint32_t)slot;
    float value;

    memcpy(&value, &bits, sizeof(value));
    return (double)value;
}

static double as_f64(uint64_t slot)
{
    double value;

    memcpy(&value, &slot, sizeof(value));
    return value;
}

void tsm_record_text_number(struct tsm_record_text *t, enum sbt_field_type type, const char *detail,
                            uint64_t value)
{
    switch (type) {
    case SBT_FIELD_INT:
        tsm_text_line_i64(&t->line, (int64_t)value);
        break;
    case SBT_FIELD_HEX:
    case SBT_FIELD_DEVPTR:
    case SBT_FIELD_HOSTPTR:
        tsm_text_line_hex(&t->line, value);
        break;
    case SBT_FIELD_BOOL:
        tsm_text_line_text(&t->line, value ? "true" : "false");
        break;
    case SBT_FIELD_F32:
        put_float(&t->line, as_f32(value));
        break;
    case SBT_FIELD_F64:
        put_float(&t->line, as_f64(value));
        break;
    case SBT_FIELD_HANDLE:
        put_handle(t, detail, value);
        break;
    case SBT_FIELD_ENUM:
        put_enum(t, detail, (int64_t)value);
        break;
    case SBT_FIELD_FLAGS:
        put_flags(t, detail, value);
        break;
    default: /* UINT, SIZE, and types of a newer format */
        tsm_text_line_u64(&t->line, value);
    }
}

static void put_value(struct tsm_record_text *t, const struct sbt_record *record, uint32_t index,
                      const struct sbt_field *field)
{
    uint64_t slot = record->slots[index];

    if (field->role == SBT_ROLE_OF_STREAM && slot == SBT_STREAM_NONE) {
        tsm_text_line_text(&t->line, "-");
        return;
    }
    switch (field->type) {
    case SBT_FIELD_STRING:
        put_string(t, slot);
        break;
    case SBT_FIELD_BYTES:
        put_bytes(t, record, index);
        break;
    case SBT_FIELD_BLOB:
        put_blob(t, record, index);
        break;
    case SBT_FIELD_STRUCT:
        tsm_record_text_struct(t, record, index, field);
        break;
    default:
        tsm_record_text_number(t, field->type, field->detail, slot);
    }
}

/* ---- the call ------------------------------------------------------------------------------ */

static bool is_launch(const struct sbt_schema *schema)
{
    return sbt_schema_role(schema, SBT_ROLE_GRID_X) >= 0 &&
           sbt_schema_role(schema, SBT_ROLE_BLOCK_X) >= 0;
}

/* Told by name<<<...>>> already. */
static bool in_launch(enum sbt_role role)
{
    return (role >= SBT_ROLE_FUNCTION && role <= SBT_ROLE_BLOCK_Z);
}

static void put_dim(struct tsm_text_line *line, const struct sbt_schema *schema,
                    const struct sbt_record *record, enum sbt_role x)
{
    uint64_t dim[3];

    for (unsigned i = 0; i < 3; i++)
        dim[i] = sbt_record_role(schema, record, (enum sbt_role)(x + i), 1);
    if (dim[1] == 1 && dim[2] == 1) {
        tsm_text_line_u64(line, dim[0]);
        return;
    }
    for (unsigned i = 0; i < 3; i++) {
        tsm_text_line_text(line, i ? "," : "(");
        tsm_text_line_u64(line, dim[i]);
    }
    tsm_text_line_text(line, ")");
}

static void put_launch(struct tsm_record_text *t, const struct sbt_schema *schema,
                       const struct sbt_record *record)
{
    uint64_t id = sbt_record_role(schema, record, SBT_ROLE_FUNCTION_NAME, 0);
    const char *name = id ? sbt_reader_string(t->reader, (uint32_t)id) : NULL;
    uint64_t handle = sbt_record_role(schema, record, SBT_ROLE_FUNCTION, 0);

    if (!name && !handle)
        return; /* a graph's node of another kind */
    tsm_text_line_text(&t->line, " ");
    tsm_text_line_escape(&t->line, tsm_paint(TSM_PAINT_NAME));
    if (name)
        tsm_text_line_clean(&t->line, name);
    else
        put_handle(t, "function", handle);
    tsm_text_line_escape(&t->line, tsm_paint(TSM_PAINT_NONE));
    tsm_text_line_text(&t->line, "<<<");
    put_dim(&t->line, schema, record, SBT_ROLE_GRID_X);
    tsm_text_line_text(&t->line, ", ");
    put_dim(&t->line, schema, record, SBT_ROLE_BLOCK_X);
    tsm_text_line_text(&t->line, ">>>");
}

static void put_arguments(struct tsm_record_text *t, const struct sbt_schema *schema,
                          const struct sbt_record *record, bool launch, uint32_t from)
{
    bool first = true;

    tsm_text_line_text(&t->line, "(");
    for (uint32_t i = from; i < schema->field_count && i < record->slot_count; i++) {
        const struct sbt_field *field = &schema->fields[i];
        if (launch && in_launch(field->role))
            continue;
        if (!first)
            tsm_text_line_text(&t->line, ", ");
        first = false;
        tsm_text_line_clean(&t->line, field->name);
        tsm_text_line_text(&t->line, "=");
        if (field->role != SBT_ROLE_ARGUMENTS ||
            !tsm_kernel_arguments_put(t->arguments, record, i, &t->line))
            put_value(t, record, i, field);
    }
    tsm_text_line_text(&t->line, ")");
}

static void put_outcome(struct tsm_record_text *t, const struct sbt_schema *schema,
                        const struct sbt_record *record)
{
    static const struct {
        uint32_t flag;
        const char *text;
    } marks[] = {
        {SBT_RECORD_TAINTS, " [taints]"},         {SBT_RECORD_TRUNCATED, " [truncated]"},
        {SBT_RECORD_UNFINISHED, " [unfinished]"}, {SBT_RECORD_LATE, " [late]"},
        {SBT_RECORD_CAPTURED, " [captured]"},     {SBT_RECORD_HELD, " [held]"},
        {SBT_RECORD_DEVICE, " [device]"},         {SBT_RECORD_SPOT, " [spot]"},
    };
    const uint32_t good = SBT_RECORD_LATE | SBT_RECORD_CAPTURED | SBT_RECORD_ORDERED |
                          SBT_RECORD_HELD | SBT_RECORD_DEVICE | SBT_RECORD_SPOT;
    bool bad = (record->flags & ~good) != 0;

    if (bad)
        tsm_text_line_escape(&t->line, tsm_paint(TSM_PAINT_BAD));
    if (record->result != 0 || (record->flags & SBT_RECORD_FAILED)) {
        tsm_text_line_text(&t->line, " = ");
        if (schema)
            put_enum(t, schema->result_enum, record->result);
        else
            tsm_text_line_i64(&t->line, record->result);
    }
    for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++) {
        if (record->flags & marks[i].flag)
            tsm_text_line_text(&t->line, marks[i].text);
    }
    if (bad)
        tsm_text_line_escape(&t->line, tsm_paint(TSM_PAINT_NONE));
}

/* Bytes that a record moves: its payload's, or what its SIZE says. */
static bool find_size(const struct sbt_schema *schema, const struct sbt_record *record,
                      uint64_t *out)
{
    int payload = sbt_schema_role(schema, SBT_ROLE_PAYLOAD);
    int size = sbt_schema_role(schema, SBT_ROLE_SIZE);
    struct sbt_blob blob;

    if (size >= 0 && (uint32_t)size < record->slot_count) {
        *out = record->slots[size];
        return true;
    }
    if (payload < 0 || !sbt_record_blob(record, (uint32_t)payload, &blob))
        return false;
    *out = blob.size;
    return true;
}

static void put_columns(struct tsm_record_text *t, const struct sbt_schema *schema,
                        const struct sbt_record *record)
{
    struct tsm_text_line *line = &t->line;
    uint64_t size;

    tsm_text_line_right(line, record->seq, SEQ_COLUMNS);
    tsm_text_line_time(line, record->time_ns, TIME_COLUMNS);
    tsm_text_line_pad(line, STREAM_COLUMN);
    if (record->stream == SBT_STREAM_NONE) {
        tsm_text_line_text(line, "-");
    } else {
        tsm_text_line_text(line, "s");
        tsm_text_line_u64(line, record->stream);
    }
    if (schema && find_size(schema, record, &size)) {
        tsm_text_line_pad(line, SIZE_COLUMN);
        tsm_text_line_size(line, size);
    }
    tsm_text_line_pad(line, CALL_COLUMN);
}

void tsm_record_text_call(struct tsm_record_text *t, const struct sbt_record *record, uint32_t from)
{
    const struct sbt_schema *schema = sbt_reader_schema(t->reader, record->type);

    if (!schema) {
        tsm_text_line_text(&t->line, "unknown record type ");
        tsm_text_line_hex(&t->line, record->type);
        put_outcome(t, NULL, record);
        return;
    }
    bool launch = is_launch(schema);
    tsm_text_line_clean(&t->line, schema->name);
    if (record->flags & SBT_RECORD_UNFINISHED) {
        tsm_text_line_text(&t->line, "(?)"); /* nobody lived to write its arguments */
    } else {
        if (launch)
            put_launch(t, schema, record);
        put_arguments(t, schema, record, launch, from);
    }
    put_outcome(t, schema, record);
}

void tsm_record_text_put(struct tsm_record_text *t, const struct sbt_record *record)
{
    put_columns(t, sbt_reader_schema(t->reader, record->type), record);
    tsm_record_text_call(t, record, 0);
}
