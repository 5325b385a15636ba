/* SPDX-License-Identifier: Apache-2.0
 *
 * Domains, and names of categories in them. A domain is its name: who creates it again gets the
 * same one, and it outlives its destruction, so that programs which do that for each label take no
 * more room.
 */
#include "api/nvtx/source/source.h"

#include <stdatomic.h>
#include <string.h>

#define DOMAIN_MAX   4096u /* the last one is for those that find no room */
#define CATEGORY_MAX 8192u
#define NEAR         64u /* slots where a category can be */

static atomic_uint domains[DOMAIN_MAX - 1]; /* names; 0: none yet. The first has number 1 */

static struct {
    _Atomic uint64_t key;
    atomic_uint name;
} categories[CATEGORY_MAX];

uint32_t nvtx_domain_add(uint32_t name)
{
    for (uint32_t i = 0; name && i < DOMAIN_MAX - 1; i++) {
        unsigned there = 0;

        if (atomic_compare_exchange_strong(&domains[i], &there, name) || there == name)
            return i + 1;
    }
    tsm_session_unmodelled("more domains of NVTX than are kept", false);
    return DOMAIN_MAX;
}

const char *nvtx_domain_name(uint32_t domain)
{
    if (!domain || domain > DOMAIN_MAX)
        return NULL;
    return domain == DOMAIN_MAX ? "(more domains)" : nvtx_text(atomic_load(&domains[domain - 1]));
}

static uint64_t key_of(uint32_t domain, uint32_t category)
{
    return UINT64_C(1) << 63 | (uint64_t)domain << 32 | category;
}

static uint32_t place_of(uint64_t key)
{
    return (uint32_t)((key * UINT64_C(0x9e3779b97f4a7c15)) >> 51) % CATEGORY_MAX;
}

void nvtx_category_name_set(uint32_t domain, uint32_t category, uint32_t name)
{
    const uint64_t key = key_of(domain, category);

    for (uint32_t i = 0, at = place_of(key); i < NEAR; i++, at = (at + 1) % CATEGORY_MAX) {
        uint64_t there = 0;

        if (atomic_compare_exchange_strong(&categories[at].key, &there, key) || there == key) {
            atomic_store(&categories[at].name, name);
            return;
        }
    }
    tsm_session_unmodelled("more categories of NVTX than are kept", false);
}

const char *nvtx_category_name(uint32_t domain, uint32_t category)
{
    const uint64_t key = key_of(domain, category);

    for (uint32_t i = 0, at = place_of(key); i < NEAR; i++, at = (at + 1) % CATEGORY_MAX) {
        const uint64_t there = atomic_load(&categories[at].key);

        if (there == key)
            return nvtx_text(atomic_load(&categories[at].name));
        if (!there)
            return NULL;
    }
    return NULL;
}

/* ---- handles -------------------------------------------------------------------------------- */

/* No addresses of a program: the highest bits of these differ. */
#define DOMAIN_HANDLE 0x4e54580100000000u
#define TEXT_HANDLE   0x4e54580200000000u

static uint32_t number_of(const void *handle, uint64_t kind)
{
    const uint64_t value = (uintptr_t)handle;

    return (value & ~UINT64_C(0xffffffff)) == kind ? (uint32_t)value : 0;
}

void *nvtx_domain_handle(uint32_t domain)
{
    return (void *)(uintptr_t)(DOMAIN_HANDLE | domain);
}

uint32_t nvtx_domain_of(const void *handle)
{
    const uint32_t domain = number_of(handle, DOMAIN_HANDLE);

    if (!handle)
        return 0;
    return nvtx_domain_name(domain) ? domain : NVTX_NO_DOMAIN;
}

/* Also where there was no room for the text: it has none then. */
void *nvtx_text_handle(uint32_t number)
{
    return (void *)(uintptr_t)(TEXT_HANDLE | number);
}

uint32_t nvtx_text_of(const void *handle)
{
    return number_of(handle, TEXT_HANDLE);
}
