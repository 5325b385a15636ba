/* SPDX-License-Identifier: Apache-2.0
 *
 * Texts by number. A text is in a slot found by its hash; nothing is ever taken out, so that a
 * number is a place.
 */
#include "api/nvtx/source/source.h"

#include "base/arena.h"
#include "base/hash.h"
#include "capture/lock.h"

#include <stdatomic.h>
#include <string.h>

#define SLOT_COUNT  (1u << 17)
#define COUNT_MAX   (SLOT_COUNT / 2) /* a little more where threads come at once */
#define SIZE_MAX_   (1u << 20)       /* of one; as the longest text in a trace */
#define BYTES_MAX   (64u << 20)
#define REPLACEMENT 0xfffdu

struct text {
    uint32_t size;
    char bytes[]; /* terminated */
};

static _Atomic(const struct text *) slots[SLOT_COUNT];
static atomic_uint text_count;
static atomic_size_t byte_count;
static struct tsm_arena arena;

/* A process that has forbidden itself system calls is not recorded any more, and must not die of
 * ours. */
static const struct text *make(const char *bytes, size_t size)
{
    struct text *t;

    if (tsm_sandboxed() || atomic_load(&byte_count) + size > BYTES_MAX ||
        atomic_load(&text_count) >= COUNT_MAX)
        return NULL;
    atomic_fetch_add(&byte_count, size);
    atomic_fetch_add(&text_count, 1);
    t = tsm_arena_take(&arena, sizeof(*t) + size + 1);
    if (!t)
        return NULL;
    t->size = (uint32_t)size;
    memcpy(t->bytes, bytes, size);
    return t;
}

static bool is_same(const struct text *t, const char *bytes, size_t size)
{
    return t->size == size && memcmp(t->bytes, bytes, size) == 0;
}

/* Never full: at most half of the slots are used. */
uint32_t nvtx_text_add(const char *bytes, size_t size)
{
    const struct text *made = NULL, *there;
    uint32_t at;

    size = strnlen(bytes, size < SIZE_MAX_ ? size : SIZE_MAX_);
    for (at = (uint32_t)(tsm_hash64(bytes, size) % SLOT_COUNT);; at = (at + 1) % SLOT_COUNT) {
        there = atomic_load_explicit(&slots[at], memory_order_acquire);
        if (!there && !made) {
            made = make(bytes, size);
            if (!made)
                break;
        }
        if (!there && atomic_compare_exchange_strong(&slots[at], &there, made))
            return at + 1;
        if (is_same(there, bytes, size))
            return at + 1;
    }
    tsm_session_unmodelled("more names and registered strings of NVTX than are kept", false);
    return 0;
}

const char *nvtx_text(uint32_t number)
{
    const struct text *t = number && number <= SLOT_COUNT
                               ? atomic_load_explicit(&slots[number - 1], memory_order_acquire)
                               : NULL;

    return t ? t->bytes : NULL;
}

/* ---- wide texts ----------------------------------------------------------------------------- */

/* Writes a character, where there is room; returns its bytes. */
static size_t put(char *out, size_t room, wchar_t wide)
{
    uint32_t c = (uint32_t)wide;
    size_t size;

    if (c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
        c = REPLACEMENT;
    size = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    if (size > room)
        return size;
    if (size == 1) {
        out[0] = (char)c;
        return 1;
    }
    for (size_t i = size - 1; i > 0; i--, c >>= 6)
        out[i] = (char)(0x80 | (c & 0x3f));
    out[0] = (char)((0xf00u >> size) | c);
    return size;
}

size_t nvtx_utf8_size(const wchar_t *text)
{
    size_t size = 1;

    while (*text && size < SIZE_MAX_)
        size += put(NULL, 0, *text++);
    return size < SIZE_MAX_ ? size : SIZE_MAX_;
}

void nvtx_utf8(char *out, size_t size, const wchar_t *text)
{
    size_t used = 0, more;

    for (; *text && used < size - 1; used += more) {
        more = put(out + used, size - 1 - used, *text++);
        if (more > size - 1 - used)
            break;
    }
    out[used] = '\0';
}

uint32_t nvtx_text_add_wide(const wchar_t *text)
{
    const size_t size = nvtx_utf8_size(text);
    char few[256], *out = few;
    uint32_t number = 0;

    if (size > sizeof(few))
        out = tsm_sandboxed() ? NULL : tsm_memory_map(size);
    if (!out)
        return 0;
    nvtx_utf8(out, size, text);
    number = nvtx_text_add(out, size);
    if (out != few)
        tsm_memory_unmap(out, size);
    return number;
}
