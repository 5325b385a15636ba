/* SPDX-License-Identifier: Apache-2.0
 *
 * A parsed module, and the parser's state while it is being made. Private to the engine.
 */
#ifndef EMU_PTX_PARSE_MODULE_H
#define EMU_PTX_PARSE_MODULE_H

#include "emu/ptx/insn.h"
#include "emu/ptx/parse/lex.h"

/* An address that is known later: of a variable after placement, of shared memory at the end. */
struct ptx_reloc {
    uint64_t offset; /* in the pool, or in the variable's bytes */
    int64_t addend;
    uint32_t target; /* index of a variable, or of a function when is_code */
    uint8_t size;    /* bytes of the field; in the pool, of a lane */
    uint8_t shift;   /* of the address, for mask() initialisers */
    bool is_code;
    bool is_generic;
};

struct ptx_var {
    struct ptx_variable info; /* first */
    enum ptx_space space;
    bool is_dynamic; /* .extern .shared x[] */
    bool is_visible;
    bool is_weak;
    bool is_defined;
    uint32_t unit;
    uint64_t init_size;
    uint8_t *init; /* NULL: zero */
    struct ptx_reloc *relocs;
    uint32_t reloc_count;
    uint32_t index; /* among the module's variables */
    uint32_t at;    /* offset in the text of what stands after the name that made it */
    uint32_t noted; /* the function being read uses it: its number */
};

/* A variable of the module that a function's body declares: after the word of its space. */
struct ptx_inner_var {
    uint32_t at; /* offset in the text */
    uint32_t line;
    uint16_t space; /* enum ptx_modifier */
};

struct ptx_array {
    void *items;
    size_t count;
    size_t capacity;
};

struct ptx_module {
    char *text;
    size_t text_size;
    unsigned target;
    struct ptx_array codes;      /* struct ptx_code * */
    struct ptx_array entries;    /* struct ptx_code *, defined: what the driver sees */
    struct ptx_array vars;       /* struct ptx_var * */
    struct ptx_array globals;    /* struct ptx_var *, .global and .const */
    struct ptx_array relocs;     /* struct ptx_reloc, of the pool */
    struct ptx_array inner_vars; /* struct ptx_inner_var, in the order of the text */
    uint8_t *pool_lanes;         /* aligned; stays where it is when parsing is over */
    size_t pool_size;
    size_t pool_capacity;
    bool is_pool_fixed;
    struct ptx_array chunks; /* void *: names and the like, freed with the module */
    bool uses_reserved;      /* %reserved_smem_offset_*: of shared memory */
    uint32_t local_size;     /* of .local variables of the module, a thread */
    uint16_t version;
    bool is_placed;
    uint64_t base; /* of the memory of its variables */
    uint64_t managed_size; /* of the part at the end that the host reaches, too */
    struct ptx_lazy *lazy; /* what decodes functions at first use; NULL: all are decoded */
};

/* A function pointer's value: this plus 16 times the function's index. */
#define PTX_CODE_WINDOW  0x4000000000000000ull
#define PTX_PARAM_WINDOW 0x3000000000000000ull

/* Room for one more item of `size` bytes; NULL when out of memory. */
void *ptx_array_add(struct ptx_array *array, size_t size);
/* Memory that lives as long as the module, zeroed. */
void *ptx_module_alloc(struct ptx_module *module, size_t size);

static inline struct ptx_code *ptx_code_at(const struct ptx_module *m, size_t i)
{
    return ((struct ptx_code **)m->codes.items)[i];
}

/* Returns the function that a name stands for: .alias gives a function another name. */
static inline struct ptx_code *ptx_code_meant(const struct ptx_module *m, size_t i)
{
    struct ptx_code *code = ptx_code_at(m, i);

    return code->alias ? ptx_code_at(m, code->alias->index) : code;
}

static inline struct ptx_var *ptx_var_at(const struct ptx_module *m, size_t i)
{
    return ((struct ptx_var **)m->vars.items)[i];
}

/* layout.c: where shared variables lie, stack sizes, the sizes that the driver asks for. */
/* `too_large`: the function or variable that needs more shared or local memory than there is. */
int ptx_layout(struct ptx_module *module, const char **too_large);
/* Addresses into the pool, and into a placed variable. */
void ptx_relocate_pool(struct ptx_module *module, size_t first);
void ptx_relocate_var(const struct ptx_module *module, const struct ptx_var *var);

#endif
