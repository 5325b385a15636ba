/* SPDX-License-Identifier: Apache-2.0
 *
 * How a program with NVTX finds a tool, written from what NVIDIA says of it, so that the tests need
 * no toolkit: a library that a variable names gets tables of functions to set. A function that no
 * tool has set does what NVTX's does: nothing.
 */
#ifndef TESTS_PROGRAMS_NVTX_LOADER_H
#define TESTS_PROGRAMS_NVTX_LOADER_H

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

typedef void (*nvtx_function)(void);

struct nvtx_attributes {
    uint16_t version, size;
    uint32_t category;
    int32_t color_type;
    uint32_t color;
    int32_t payload_type, reserved;
    uint64_t payload;
    int32_t message_type;
    const void *message;
};

enum { NVTX_BYTES = 1, NVTX_WIDE, NVTX_REGISTERED };

/* By module: their callbacks, each with a number from 1 on. */
static struct {
    void (*mark_ex)(const struct nvtx_attributes *);
    void (*mark)(const char *);
    void (*mark_wide)(const wchar_t *);
    uint64_t (*start_ex)(const struct nvtx_attributes *);
    uint64_t (*start)(const char *);
    uint64_t (*start_wide)(const wchar_t *);
    void (*end)(uint64_t);
    int (*push_ex)(const struct nvtx_attributes *);
    int (*push)(const char *);
    int (*push_wide)(const wchar_t *);
    int (*pop)(void);
    void (*name_category)(uint32_t, const char *);
    void (*name_category_wide)(uint32_t, const wchar_t *);
    void (*name_thread)(uint32_t, const char *);
    void (*name_thread_wide)(uint32_t, const wchar_t *);
} nvtx;

static struct {
    void (*mark_ex)(void *, const struct nvtx_attributes *);
    uint64_t (*start_ex)(void *, const struct nvtx_attributes *);
    void (*end)(void *, uint64_t);
    int (*push_ex)(void *, const struct nvtx_attributes *);
    int (*pop)(void *);
    void *(*create_resource)(void *, const void *);
    void (*destroy_resource)(void *);
    void (*name_category)(void *, uint32_t, const char *);
    void (*name_category_wide)(void *, uint32_t, const wchar_t *);
    void *(*register_string)(void *, const char *);
    void *(*register_wide)(void *, const wchar_t *);
    void *(*create)(const char *);
    void *(*create_wide)(const wchar_t *);
    void (*destroy)(void *);
    void (*initialize)(const void *);
} nvtx_domain;

enum { NVTX_CORE_COUNT = sizeof(nvtx) / 8, NVTX_DOMAIN_COUNT = sizeof(nvtx_domain) / 8 };

static int nvtx_no_tool(void)
{
    return -2;
}

static void *nvtx_nothing(void)
{
    return NULL;
}

static nvtx_function *nvtx_core_table[NVTX_CORE_COUNT + 2];
static nvtx_function *nvtx_domain_table[NVTX_DOMAIN_COUNT + 2];

static inline int nvtx_get_table(int module, nvtx_function ***table, unsigned *size)
{
    if (module != 1 && module != 5)
        return 0;
    *table = module == 1 ? nvtx_core_table : nvtx_domain_table;
    *size = (module == 1 ? NVTX_CORE_COUNT : NVTX_DOMAIN_COUNT) + 1;
    return 1;
}

static inline const void *nvtx_get_export_table(uint32_t number)
{
    static const struct {
        size_t size;
        int (*get_table)(int, nvtx_function ***, unsigned *);
    } callbacks = {sizeof(callbacks), nvtx_get_table};

    return number == 1 ? &callbacks : NULL;
}

/* Sets what is not set. */
static inline void nvtx_fill(void)
{
    for (unsigned i = 0; i < NVTX_CORE_COUNT; i++) {
        nvtx_function *at = (nvtx_function *)&nvtx + i;
        const bool is_level =
            at == (nvtx_function *)&nvtx.push_ex || at == (nvtx_function *)&nvtx.push ||
            at == (nvtx_function *)&nvtx.push_wide || at == (nvtx_function *)&nvtx.pop;
        if (!*at)
            *at = is_level ? (nvtx_function)nvtx_no_tool : (nvtx_function)nvtx_nothing;
    }
    for (unsigned i = 0; i < NVTX_DOMAIN_COUNT; i++) {
        nvtx_function *at = (nvtx_function *)&nvtx_domain + i;
        const bool is_level =
            at == (nvtx_function *)&nvtx_domain.push_ex || at == (nvtx_function *)&nvtx_domain.pop;
        if (!*at)
            *at = is_level ? (nvtx_function)nvtx_no_tool : (nvtx_function)nvtx_nothing;
    }
}

/* Returns whether there is a tool. */
static inline bool nvtx_load(void)
{
    const char *path = getenv("NVTX_INJECTION64_PATH");
    void *library = path ? dlopen(path, RTLD_LAZY) : NULL;
    int (*initialize)(const void *(*)(uint32_t)) =
        library ? (int (*)(const void *(*)(uint32_t)))dlsym(library, "InitializeInjectionNvtx2")
                : NULL;
    bool attached;

    for (unsigned i = 0; i < NVTX_CORE_COUNT; i++)
        nvtx_core_table[i + 1] = (nvtx_function *)&nvtx + i;
    for (unsigned i = 0; i < NVTX_DOMAIN_COUNT; i++)
        nvtx_domain_table[i + 1] = (nvtx_function *)&nvtx_domain + i;
    attached = initialize && initialize(nvtx_get_export_table);
    if (library && !attached)
        dlclose(library);
    nvtx_fill();
    return attached;
}

#endif
