/* SPDX-License-Identifier: Apache-2.0
 *
 * Facts of PTX kernels: directives between their parameters and their body, and the variables that
 * they declare or name.
 */
#include "api/cuda/view/kernel_facts.h"

#include <string.h>

#include "api/cuda/ptx_items.h"
#include "base/hash.h"
#include "base/text.h"
#include "tracesmith/error.h"

/* Module variables in shared memory: hash of a name -> bytes, taken off when a kernel counts them.
 */
struct texts {
    struct cuda_code_facts *facts;
    struct tsm_map shared; /* hash of a name -> bytes */
    struct tsm_map seen;   /* the same -> 1 + number of the last kernel that counted it */
};

static uint32_t capped(uint64_t bytes)
{
    return bytes < CUDA_FACT_UNKNOWN ? (uint32_t)bytes : CUDA_FACT_UNKNOWN;
}

static void read_dimensions(struct cuda_ptx_scanner *s, uint32_t out[3])
{
    for (unsigned i = 0; i < 3; i++) {
        struct cuda_ptx_token number = cuda_ptx_next(s), comma;
        struct cuda_ptx_scanner ahead = *s;

        out[i] = cuda_ptx_number(&number);
        comma = cuda_ptx_next(&ahead);
        if (!cuda_ptx_is(&comma, ","))
            return;
        *s = ahead;
    }
}

/* Reads up to the body. */
static void read_directives(struct cuda_ptx_scanner *s, struct cuda_kernel_facts *kernel)
{
    for (struct cuda_ptx_token token = cuda_ptx_next(s); token.size && !cuda_ptx_is(&token, "{");
         token = cuda_ptx_next(s)) {
        uint32_t limit[3] = {1, 1, 1};

        if (cuda_ptx_is(&token, ".maxntid")) {
            read_dimensions(s, limit);
            kernel->max_threads = capped((uint64_t)limit[0] * limit[1]);
            kernel->max_threads = capped((uint64_t)kernel->max_threads * limit[2]);
        } else if (cuda_ptx_is(&token, ".reqntid")) {
            read_dimensions(s, limit);
            memcpy(kernel->block, limit, sizeof(limit));
        }
    }
}

/* Reads ".shared .align 4 .b8 name[64];" behind its first word: bytes of all that it declares. */
static uint64_t declared(struct cuda_ptx_scanner *s)
{
    uint64_t size = 0, all = 0, count = 1;

    for (struct cuda_ptx_token token = cuda_ptx_next(s); token.size; token = cuda_ptx_next(s)) {
        if (cuda_ptx_is(&token, ".align")) {
            cuda_ptx_next(s);
        } else if (cuda_ptx_type_size(&token)) {
            size = cuda_ptx_type_size(&token);
        } else if (cuda_ptx_is(&token, ".v2") || cuda_ptx_is(&token, ".v4")) {
            count *= (uint64_t)(token.text[2] - '0');
        } else if (cuda_ptx_is(&token, "[")) {
            struct cuda_ptx_token number = cuda_ptx_next(s);
            count = count < UINT32_MAX ? count * cuda_ptx_number(&number) : count;
        } else if (cuda_ptx_is(&token, ",") || cuda_ptx_is(&token, ";")) {
            all += size * count;
            count = 1;
            if (cuda_ptx_is(&token, ";"))
                break;
        }
    }
    return all;
}

static void read_body(struct texts *t, struct cuda_ptx_scanner *s, struct cuda_kernel_facts *kernel)
{
    const uint64_t number = (uint64_t)(kernel - t->facts->kernels) + 1;
    uint64_t shared = 0, local = 0;

    for (struct cuda_ptx_token token = cuda_ptx_next(s); token.size; token = cuda_ptx_next(s)) {
        const uint64_t hash = tsm_hash64(token.text, token.size);
        const uint64_t *bytes = t->shared.count ? tsm_map_find(&t->shared, hash) : NULL;

        if (cuda_ptx_is(&token, ".shared"))
            shared += declared(s);
        else if (cuda_ptx_is(&token, ".local"))
            local += declared(s);
        else if (bytes && tsm_map_get(&t->seen, hash, 0) != number)
            shared += tsm_map_set(&t->seen, hash, number) ? *bytes : 0;
    }
    kernel->shared = capped(shared);
    kernel->local = capped(local);
}

static void read_kernel(struct texts *t, const struct cuda_ptx_item *item, const char *text)
{
    struct cuda_kernel_facts *kernel = cuda_facts_find(t->facts, item->name.text, item->name.size);
    struct cuda_ptx_scanner s = {item->name.text + item->name.size, item->end};

    if (!kernel || !item->has_body)
        return;
    kernel->text_at = (size_t)(item->begin - text);
    kernel->text_size = (size_t)(item->end - item->begin);
    read_directives(&s, kernel);
    read_body(t, &s, kernel);
}

static void read_header(struct cuda_code_facts *facts, const struct cuda_ptx_item *item)
{
    if (item->kind == CUDA_PTX_VERSION) {
        tsm_format(facts->version, sizeof(facts->version), "%.*s",
                   (int)(item->name.size < 15 ? item->name.size : 15), item->name.text);
    } else if (item->kind == CUDA_PTX_TARGET) {
        tsm_format(facts->target, sizeof(facts->target), "%.*s",
                   (int)(item->name.size < 31 ? item->name.size : 31), item->name.text);
        if (!facts->architecture && item->name.size > 3)
            facts->architecture =
                cuda_ptx_number(&(struct cuda_ptx_token){item->name.text + 3, item->name.size - 3});
    }
}

int cuda_facts_of_ptx(struct cuda_code_facts *facts, const char *text, size_t size)
{
    struct texts t = {.facts = facts};
    struct cuda_ptx_items items;
    int error = cuda_ptx_items_read(&items, text, size, "code");

    for (size_t i = 0; i < items.count && error != TSM_E_MEMORY; i++) {
        const struct cuda_ptx_item *item = &items.list[i];
        struct cuda_ptx_scanner s = {item->begin, item->end};

        if (item->kind != CUDA_PTX_SHARED || !item->name.size)
            continue;
        if (!tsm_map_set(&t.shared, tsm_hash64(item->name.text, item->name.size), declared(&s)))
            error = tsm_fail(TSM_E_MEMORY, "no memory for names of variables");
    }
    for (size_t i = 0; i < items.count && error != TSM_E_MEMORY; i++) {
        if (items.list[i].kind == CUDA_PTX_ENTRY)
            read_kernel(&t, &items.list[i], text);
        else
            read_header(facts, &items.list[i]);
    }
    cuda_ptx_items_finish(&items);
    tsm_map_finish(&t.shared);
    tsm_map_finish(&t.seen);
    return error == TSM_E_MEMORY ? error : 0;
}
