/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/terminal.h"
#include "tools/text/symbol.h"

void tsm_symbols_write_stack(struct tsm_symbols *symbols, struct sbt_reader *reader, uint32_t stack,
                             struct tsm_text_line *line, unsigned column, FILE *out)
{
    const uint64_t *frames;
    char text[512];
    int count = stack ? sbt_reader_stack(reader, stack, &frames) : 0;

    for (int i = 0; i < count; i++) {
        tsm_symbols_frame_text(symbols, frames[i], text, sizeof(text));
        tsm_text_line_pad(line, column);
        tsm_text_line_escape(line, tsm_paint(TSM_PAINT_DIM));
        tsm_text_line_clean(line, text);
        tsm_text_line_escape(line, tsm_paint(TSM_PAINT_NONE));
        tsm_text_line_write(line, out);
    }
}
