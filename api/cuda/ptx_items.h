/* SPDX-License-Identifier: Apache-2.0
 *
 * Takes a PTX text apart into what stands at its top level: header, variables, functions. The text
 * may be anybody's; nothing outside of it is read. Any thread.
 */
#ifndef API_CUDA_PTX_ITEMS_H
#define API_CUDA_PTX_ITEMS_H

#include "api/cuda/ptx_scan.h"

enum cuda_ptx_kind {
    CUDA_PTX_VERSION,      /* name: "8.0" */
    CUDA_PTX_TARGET,       /* name: "sm_90a"; options behind it */
    CUDA_PTX_ADDRESS_SIZE, /* name: "64" */
    CUDA_PTX_DEBUG,        /* .file, .section */
    CUDA_PTX_ENTRY,
    CUDA_PTX_FUNCTION,
    CUDA_PTX_VARIABLE, /* .global, .const, .tex */
    CUDA_PTX_SHARED,
    CUDA_PTX_OTHER,
};

struct cuda_ptx_item {
    enum cuda_ptx_kind kind;
    const char *begin, *end; /* of its text, with ';' or '}' */
    struct cuda_ptx_token name;
    bool is_extern;
    bool has_body; /* of a function */
    bool is_list;  /* declares more variables than `name` */
};

struct cuda_ptx_items {
    struct cuda_ptx_item *list; /* in the order of the text */
    size_t count, capacity;
};

#define CUDA_PTX_ITEM_MAX (1u << 20)

/* Reads a text of `size` bytes, which must live longer than the items. TSM_E_FORMAT: a statement of
 * it does not end, or there are too many; `path` is what the message calls it. Finish in any case.
 */
int cuda_ptx_items_read(struct cuda_ptx_items *out, const char *text, size_t size,
                        const char *path);
void cuda_ptx_items_finish(struct cuda_ptx_items *items);

/* Returns the first item of that name which names something in memory or a function; NULL: there is
 * none. */
const struct cuda_ptx_item *cuda_ptx_items_find(const struct cuda_ptx_items *items,
                                                const char *name, size_t name_size);

/* Returns the first header of that kind; NULL: there is none. */
const struct cuda_ptx_item *cuda_ptx_items_header(const struct cuda_ptx_items *items,
                                                  enum cuda_ptx_kind kind);

/* Tests whether two words are equal. */
static inline bool cuda_ptx_same(const struct cuda_ptx_token *a, const struct cuda_ptx_token *b)
{
    return a->size == b->size && (!a->size || memcmp(a->text, b->text, a->size) == 0);
}

/* Returns the line on which `at` lies, from 1. */
unsigned cuda_ptx_line(const char *text, const char *at);

#endif
