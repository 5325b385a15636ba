/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/schedule/stacks.h"

#include "base/array.h"
#include "tools/text/symbol.h"
#include "tracesmith/error.h"

#include <inttypes.h>
#include <stdlib.h>

#define COLUMN 10u /* that frames begin in */

int tsm_named_records_add(struct tsm_named_records *n, const struct tsm_named_record *record)
{
    size_t at;

    TSM_BISECT(at, n->count, n->list[at].seq >= record->seq);
    if (!record->stack || (at < n->count && n->list[at].seq == record->seq))
        return 0;
    return TSM_ARRAY_INSERT(n->list, n->count, n->capacity, at, *record)
               ? 0
               : tsm_fail(TSM_E_MEMORY, "no memory for stacks");
}

void tsm_named_records_finish(struct tsm_named_records *n)
{
    free(n->list);
    *n = (struct tsm_named_records){0};
}

int tsm_stacks_print(const struct tsm_named_records *n, struct sbt_reader *reader)
{
    struct tsm_symbols *symbols;
    struct tsm_text_line line = {0};
    const int error = tsm_symbols_create(&symbols, reader);

    if (error)
        return error;
    puts("\nstacks");
    for (size_t i = 0; i < n->count; i++) {
        printf("%8" PRIu64 "  %s\n", n->list[i].seq, n->list[i].call);
        tsm_symbols_write_stack(symbols, reader, n->list[i].stack, &line, COLUMN, stdout);
    }
    tsm_text_line_finish(&line);
    tsm_symbols_destroy(symbols);
    return 0;
}

static void put_frames(struct tsm_json *j, struct tsm_symbols *symbols, struct sbt_reader *reader,
                       uint32_t stack)
{
    const uint64_t *frames;
    const int count = sbt_reader_stack(reader, stack, &frames);
    char text[512];

    tsm_json_put_open(j, "frames", '[');
    for (int i = 0; i < count; i++) {
        tsm_symbols_frame_text(symbols, frames[i], text, sizeof(text));
        tsm_json_string(j, text);
    }
    tsm_json_close(j, ']');
}

int tsm_stacks_print_json(const struct tsm_named_records *n, struct sbt_reader *reader,
                          struct tsm_json *j)
{
    struct tsm_symbols *symbols;
    const int error = tsm_symbols_create(&symbols, reader);

    if (error)
        return error;
    tsm_json_put_open(j, "stacks", '[');
    for (size_t i = 0; i < n->count; i++) {
        tsm_json_open(j, '{');
        tsm_json_put_u64(j, "seq", n->list[i].seq);
        tsm_json_put_string(j, "call", n->list[i].call);
        put_frames(j, symbols, reader, n->list[i].stack);
        tsm_json_close(j, '}');
    }
    tsm_json_close(j, ']');
    tsm_symbols_destroy(symbols);
    return 0;
}
