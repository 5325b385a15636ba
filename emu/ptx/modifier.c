/* SPDX-License-Identifier: Apache-2.0 */
#include "emu/ptx/modifier.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[MOD_COUNT] = {
#define X(id, text, size, kind) [PTX_##id] = text,
    PTX_TYPES(X)
#undef X
#define X(id) [MOD_##id] = #id,
        PTX_PLAIN_MODS(X) PTX_TEXTURE_MODS(X)
#undef X
#define X(id, text) [MOD_##id] = text,
            PTX_ODD_MODS(X) PTX_ISA_MODS(X)
#undef X
};

static const struct {
    uint8_t size;
    char kind;
} types[PTX_TYPE_COUNT] = {
#define X(id, text, size, kind) [PTX_##id] = {size, kind},
    PTX_TYPES(X)
#undef X
};

/* Open addressing, twice as large as needed: a module of 11 MB asks a million times. */
#define SLOT_COUNT 1024
static uint16_t slots[SLOT_COUNT];
static pthread_once_t once = PTHREAD_ONCE_INIT;

_Static_assert(MOD_COUNT * 2 < SLOT_COUNT, "the table of modifiers needs more slots");

static unsigned slot_of(const char *text, size_t size)
{
    uint32_t hash = 2166136261u;

    for (size_t i = 0; i < size; i++)
        hash = (hash ^ (uint8_t)text[i]) * 16777619u;
    return (hash ^ hash >> 15) % SLOT_COUNT;
}

static void fill(void)
{
    for (unsigned mod = 0; mod < MOD_COUNT; mod++) {
        if (!names[mod])
            continue;
        unsigned at = slot_of(names[mod], strlen(names[mod]));
        while (slots[at])
            at = (at + 1) % SLOT_COUNT;
        slots[at] = (uint16_t)(mod + 1);
    }
}

enum ptx_modifier ptx_modifier_find(const char *text, size_t size)
{
    pthread_once(&once, fill);
    for (unsigned at = slot_of(text, size); slots[at]; at = (at + 1) % SLOT_COUNT) {
        const char *name = names[slots[at] - 1];
        if (strlen(name) == size && memcmp(name, text, size) == 0)
            return slots[at] - 1;
    }
    return MOD_UNKNOWN;
}

const char *ptx_modifier_name(enum ptx_modifier mod)
{
    return mod < MOD_COUNT ? names[mod] : "?";
}

unsigned ptx_type_size(ptx_type type)
{
    return type == PTX_PRED ? 0 : types[type].size;
}

char ptx_type_class(ptx_type type)
{
    return types[type].kind;
}
