/* SPDX-License-Identifier: Apache-2.0
 *
 * Record of a text that was checked whole: where its functions' bodies end and what the layout of
 * the module needs of them. With it the text is read without its bodies, and a body is decoded when
 * the function is first needed: by the same code, with the same checks, and what comes out must be
 * what the record says. So a record that lies makes a load or a function fail; it cannot make a
 * kernel run that the text does not hold.
 *
 * Bytes of a record: LEB128 numbers. Counts of functions, lists' items, inner variables, variables;
 * bytes of the pool. A function, by number: 0 when it has no body, or 1 (2 more: it makes calls
 * that are not known), offset and line of its last brace, registers declared, bytes of its frame
 * and of its local memory, instructions; the variables that it uses, and the functions: count, then
 * each. An inner variable: offset and line after the word of its space, and that word's number.
 */
#ifndef EMU_PTX_PARSE_RECORD_H
#define EMU_PTX_PARSE_RECORD_H

#include "emu/ptx/parse/parse.h"

struct ptx_known {
    bool is_defined;
    bool calls_unknown;
    uint32_t end;
    uint32_t end_line;
    uint32_t register_count;
    uint32_t frame_size;
    uint32_t local_frame;
    uint32_t insn_count;
    uint32_t *used_vars;
    uint32_t used_var_count;
    uint32_t *used_codes;
    uint32_t used_code_count;
};

struct ptx_record {
    uint32_t code_count;
    uint32_t var_count;
    uint32_t inner_count;
    uint32_t inner_next; /* of the inner variables: not met yet */
    struct ptx_inner_var *inner_vars;
    struct ptx_known codes[];
};

/* Sets p->record, and the size of the pool. False: not a record of this text. */
bool ptx_record_read(struct ptx_parser *p, const void *record, size_t size);
/* After the text: it has what the record says. */
bool ptx_record_agrees(struct ptx_parser *p);

/* lazy.c: takes the parser, which has read a module without bodies. NULL: out of memory. */
struct ptx_lazy *ptx_lazy_create(struct ptx_parser *p);
void ptx_lazy_destroy(struct ptx_lazy *lazy);

#endif
