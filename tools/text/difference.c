/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/text/difference.h"

#include "analysis/call_nesting.h"
#include "base/text.h"
#include "tools/terminal.h"
#include "tools/text/line.h"

#include <inttypes.h>

int tsm_verdict_rank(enum tsm_verdict verdict)
{
    static const int ranks[] = {
        [TSM_NOTHING_TO_COMPARE] = 0, [TSM_SAME] = 1, [TSM_CANNOT_TELL] = 2, [TSM_DIFFERENT] = 3};

    return ranks[verdict];
}

const char *tsm_verdict_name(enum tsm_verdict verdict)
{
    static const char *const names[] = {"same", "different", "cannot_tell", "nothing_to_compare"};

    return (unsigned)verdict < 4 ? names[verdict] : "cannot_tell";
}

static void item(struct tsm_text_line *line, const char *name)
{
    tsm_text_line_text(line, "  ");
    tsm_text_line_text(line, name);
    tsm_text_line_pad(line, 12);
}

static void print_command(struct tsm_text_line *line, const struct tsm_difference *d)
{
    tsm_text_line_escape(line, tsm_paint(TSM_PAINT_BAD));
    tsm_text_line_text(line, "difference at record ");
    tsm_text_line_u64(line, d->seq);
    tsm_text_line_escape(line, tsm_paint(TSM_PAINT_NONE));
    tsm_text_line_write(line, stdout);
    item(line, "command");
    tsm_text_line_clean(line, d->call && d->call[0] ? d->call : "unknown");
    if (d->stream != SBT_STREAM_NONE) {
        tsm_text_line_text(line, ", number ");
        tsm_text_line_u64(line, d->position);
        tsm_text_line_text(line, " on stream ");
        tsm_text_line_u64(line, d->stream);
    }
    tsm_text_line_write(line, stdout);
    if (!d->function || !d->function[0])
        return;
    item(line, "kernel");
    tsm_text_line_clean(line, d->function);
    tsm_text_line_write(line, stdout);
}

/* The call of the program that made the command's, where that is another one (HIP). */
static const char *maker_of(const struct tsm_difference *d, struct sbt_reader *reader,
                            uint64_t *seq)
{
    const struct sbt_schema *schema;
    uint32_t type;

    if (!tsm_call_nesting_find(reader, d->seq, seq, &type))
        return NULL;
    schema = sbt_reader_schema(reader, type);
    return schema ? schema->name : NULL;
}

static void print_maker(struct tsm_text_line *line, const struct tsm_difference *d,
                        struct sbt_reader *reader)
{
    uint64_t seq;
    const char *name = maker_of(d, reader, &seq);

    if (!name)
        return;
    item(line, "made by");
    tsm_text_line_clean(line, name);
    tsm_text_line_text(line, ", record ");
    tsm_text_line_u64(line, seq);
    tsm_text_line_write(line, stdout);
}

static void print_bytes(struct tsm_text_line *line, const char *name, const uint8_t *bytes,
                        uint32_t count)
{
    item(line, name);
    for (uint32_t i = 0; i < count; i++) {
        if (i)
            tsm_text_line_text(line, " ");
        tsm_text_line_bytes(line, bytes + i, 1);
    }
    tsm_text_line_write(line, stdout);
}

static void print_buffer(struct tsm_text_line *line, const struct tsm_difference *d)
{
    if (d->buffer || d->buffer_size) {
        item(line, d->place[0] ? "place" : "buffer");
        if (d->place[0])
            tsm_text_line_clean(line, d->place);
        else
            tsm_text_line_hex(line, d->buffer);
        tsm_text_line_text(line, ", ");
        tsm_text_line_u64(line, d->buffer_size);
        tsm_text_line_text(line, " bytes");
        tsm_text_line_write(line, stdout);
    }
    if (d->byte_count == 0 && d->shown == 0) {
        if (!d->buffer_size)
            return; /* a call differs, not bytes */
        item(line, "offset");
        tsm_text_line_text(line,
                           "unknown: only hashes were recorded (TS_READBACK=store keeps bytes)");
        tsm_text_line_write(line, stdout);
        return;
    }
    item(line, "offset");
    tsm_text_line_u64(line, d->offset);
    tsm_text_line_text(line, ", ");
    tsm_text_line_u64(line, d->byte_count);
    tsm_text_line_text(line, " bytes differ");
    tsm_text_line_write(line, stdout);
    print_bytes(line, "expected", d->expected, d->shown);
    print_bytes(line, "actual", d->actual, d->shown);
}

static int frames_of(struct sbt_reader *reader, const struct tsm_symbols *symbols, uint32_t stack,
                     const uint64_t **frames)
{
    int count = symbols && stack ? sbt_reader_stack(reader, stack, frames) : 0;
    return count < 0 ? 0 : count;
}

static void print_stack(struct tsm_text_line *line, const struct tsm_difference *d,
                        struct sbt_reader *reader, struct tsm_symbols *symbols)
{
    const uint64_t *frames = NULL;
    int count = frames_of(reader, symbols, d->stack, &frames);
    char text[512];

    for (int i = 0; i < count; i++) {
        tsm_symbols_frame_text(symbols, frames[i], text, sizeof(text));
        item(line, i ? "" : "sent by");
        tsm_text_line_clean(line, text);
        tsm_text_line_write(line, stdout);
    }
}

void tsm_difference_print(const struct tsm_difference *d, struct sbt_reader *reader,
                          struct tsm_symbols *symbols)
{
    struct tsm_text_line line = {.width = tsm_terminal_width()};

    print_command(&line, d);
    print_maker(&line, d, reader);
    print_buffer(&line, d);
    print_stack(&line, d, reader, symbols);
    tsm_text_line_finish(&line);
}

static void json_bytes(struct tsm_json *j, const char *name, const uint8_t *bytes, uint32_t count)
{
    char text[2 * 16 + 1] = "";
    size_t at = 0;

    for (uint32_t i = 0; i < count && i < 16; i++)
        at += tsm_format(text + at, sizeof(text) - at, "%02x", bytes[i]);
    tsm_json_put_string(j, name, text);
}

void tsm_difference_json(struct tsm_json *j, const struct tsm_difference *d,
                         struct sbt_reader *reader, struct tsm_symbols *symbols)
{
    const uint64_t *frames = NULL;
    int count = frames_of(reader, symbols, d->stack, &frames);
    uint64_t maker;
    const char *name = maker_of(d, reader, &maker);
    char text[512];

    tsm_json_open(j, '{');
    tsm_json_put_u64(j, "seq", d->seq);
    if (d->stream != SBT_STREAM_NONE) {
        tsm_json_put_u64(j, "stream", d->stream);
        tsm_json_put_u64(j, "position", d->position);
    }
    tsm_json_put_string(j, "call", d->call ? d->call : "");
    tsm_json_put_string(j, "function", d->function ? d->function : "");
    if (name) {
        tsm_json_put_u64(j, "parent", maker);
        tsm_json_put_string(j, "parent_call", name);
    }
    tsm_json_put_hex(j, "buffer", d->buffer);
    tsm_json_put_u64(j, "buffer_size", d->buffer_size);
    if (d->place[0])
        tsm_json_put_string(j, "place", d->place);
    tsm_json_put_u64(j, "offset", d->offset);
    tsm_json_put_u64(j, "byte_count", d->byte_count);
    json_bytes(j, "expected", d->expected, d->shown);
    json_bytes(j, "actual", d->actual, d->shown);
    tsm_json_name(j, "stack");
    tsm_json_open(j, '[');
    for (int i = 0; i < count; i++) {
        tsm_symbols_frame_text(symbols, frames[i], text, sizeof(text));
        tsm_json_string(j, text);
    }
    tsm_json_close(j, ']');
    tsm_json_close(j, '}');
}
