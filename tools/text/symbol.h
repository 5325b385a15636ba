/* SPDX-License-Identifier: Apache-2.0
 *
 * Names for addresses of host stacks, found offline: the trace says which file was mapped where,
 * with its build-id; the file (or its debug file under /usr/lib/debug) gives function, source file
 * and line. A file that has another build-id now is not believed.
 *
 * Answers are cached by address. One thread.
 */
#ifndef TOOLS_TEXT_SYMBOL_H
#define TOOLS_TEXT_SYMBOL_H

#include "tools/text/line.h"
#include "tracesmith/symbols.h"

struct tsm_symbol {
    const char *function; /* demangled where possible; NULL unknown */
    const char *source;   /* "saxpy.c"; NULL unknown */
    unsigned line;
    const char *module; /* file name without its folder; NULL: in no mapping */
    uint64_t offset;    /* in the module's file view: address - load bias */
};

struct sbt_reader *tsm_symbols_reader(const struct tsm_symbols *s);

/* Returns the symbol at return address `address`. Strings live as long as `s`. */
const struct tsm_symbol *tsm_symbols_find(struct tsm_symbols *s, uint64_t address);

/* "main at saxpy.c:42 (saxpy+0x11d9)" into out. */
void tsm_symbol_text(char *out, size_t size, const struct tsm_symbol *symbol, uint64_t address);

/* The same for a frame of a stack: where neither function nor line is known, and the module's file
 * is here, with the call instruction: "app+0x11d9: call 0x1030" (tools/text/x86.h). */
void tsm_symbols_frame_text(struct tsm_symbols *symbols, uint64_t address, char *out, size_t size);

/* A stack, a line for each frame, from `column` on. `line` is empty, and is afterwards. */
void tsm_symbols_write_stack(struct tsm_symbols *symbols, struct sbt_reader *reader, uint32_t stack,
                             struct tsm_text_line *line, unsigned column, FILE *out);

#endif
