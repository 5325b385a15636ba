/* SPDX-License-Identifier: Apache-2.0
 *
 * The functions that calls of NVTX end in.
 */
#include "api/nvtx/source/source.h"

#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* docs/FORMAT.md 10, "mark". */
enum phase { POINT, BEGIN, END };
#define OF_RANGE (UINT64_C(1) << 32)

static _Atomic uint64_t range_count;

static void put_text(struct tsm_call *call, const struct nvtx_label *label)
{
    const char *text = label->registered ? nvtx_text(label->registered) : label->text;
    size_t size;
    char *out;

    if (label->wide) {
        size = nvtx_utf8_size(label->wide);
        out = tsm_call_scratch(call, size);
        if (out)
            nvtx_utf8(out, size, label->wide);
        text = out;
    }
    tsm_call_string(call, text);
}

static void put(enum phase phase, uint64_t id, const struct nvtx_label *label)
{
    struct tsm_call call;

    if (!tsm_call_begin(&call, SBT_TYPE(SBT_API_CORE, SBT_CORE_MARK)))
        return;
    tsm_call_returned(&call, 0, false);
    put_text(&call, label);
    tsm_call_slot(&call, phase);
    tsm_call_slot(&call, id);
    tsm_call_string(&call, nvtx_domain_name(label->domain));
    tsm_call_slot(&call, label->category);
    tsm_call_string(&call,
                    label->category ? nvtx_category_name(label->domain, label->category) : NULL);
    tsm_call_slot(&call, label->color);
    tsm_call_slot(&call, label->payload_type);
    tsm_call_slot(&call, label->payload);
    tsm_call_commit(&call);
}

static void put_end(uint64_t id)
{
    static const struct nvtx_label none;

    put(END, id, &none);
}

/* Labels in a domain that is none of ours are left out. */
static void mark(const struct nvtx_label *label)
{
    if (label->domain != NVTX_NO_DOMAIN)
        put(POINT, nvtx_nest_id(label->domain), label);
}

static int push(const struct nvtx_label *label)
{
    if (label->domain == NVTX_NO_DOMAIN)
        return NVTX_ERROR;
    put(BEGIN, nvtx_nest_id(label->domain), label);
    return nvtx_depth_begin(label->domain);
}

static int pop(uint32_t domain)
{
    const int level = domain == NVTX_NO_DOMAIN ? NVTX_ERROR : nvtx_depth_end(domain);

    if (level != NVTX_ERROR)
        put_end(nvtx_nest_id(domain));
    return level;
}

/* The id is good in each domain, and in forked children, which go on counting. */
static uint64_t start(const struct nvtx_label *label)
{
    uint64_t id;

    if (label->domain == NVTX_NO_DOMAIN)
        return 0;
    id = atomic_fetch_add(&range_count, 1) + 1;
    put(BEGIN, OF_RANGE + id, label);
    return id;
}

/* An id that was never given out ends nothing. */
static void end(uint64_t id)
{
    if (id && id <= atomic_load(&range_count))
        put_end(OF_RANGE + id);
}

/* ---- core ----------------------------------------------------------------------------------- */

#define BYTES(message)                                                                             \
    &(const struct nvtx_label)                                                                     \
    {                                                                                              \
        .text = message                                                                            \
    }
#define WIDE(message)                                                                              \
    &(const struct nvtx_label)                                                                     \
    {                                                                                              \
        .wide = message                                                                            \
    }

static void domain_mark_ex(const void *domain, const void *attributes)
{
    struct nvtx_label label = {.domain = nvtx_domain_of(domain)};

    nvtx_attributes_read(&label, attributes);
    mark(&label);
}

static void mark_ex(const void *attributes)
{
    domain_mark_ex(NULL, attributes);
}

static void mark_bytes(const char *message)
{
    mark(BYTES(message));
}

static void mark_wide(const wchar_t *message)
{
    mark(WIDE(message));
}

static uint64_t domain_start_ex(const void *domain, const void *attributes)
{
    struct nvtx_label label = {.domain = nvtx_domain_of(domain)};

    nvtx_attributes_read(&label, attributes);
    return start(&label);
}

static uint64_t start_ex(const void *attributes)
{
    return domain_start_ex(NULL, attributes);
}

static uint64_t start_bytes(const char *message)
{
    return start(BYTES(message));
}

static uint64_t start_wide(const wchar_t *message)
{
    return start(WIDE(message));
}

static int domain_push_ex(const void *domain, const void *attributes)
{
    struct nvtx_label label = {.domain = nvtx_domain_of(domain)};

    nvtx_attributes_read(&label, attributes);
    return push(&label);
}

static int push_ex(const void *attributes)
{
    return domain_push_ex(NULL, attributes);
}

static int push_bytes(const char *message)
{
    return push(BYTES(message));
}

static int push_wide(const wchar_t *message)
{
    return push(WIDE(message));
}

static int pop_thread(void)
{
    return pop(0);
}

/* ---- names ---------------------------------------------------------------------------------- */

static void domain_name_category(const void *domain, uint32_t category, const char *name)
{
    const uint32_t number = nvtx_domain_of(domain);

    if (name && number != NVTX_NO_DOMAIN)
        nvtx_category_name_set(number, category, nvtx_text_add(name, SIZE_MAX));
}

static void domain_name_category_wide(const void *domain, uint32_t category, const wchar_t *name)
{
    const uint32_t number = nvtx_domain_of(domain);

    if (name && number != NVTX_NO_DOMAIN)
        nvtx_category_name_set(number, category, nvtx_text_add_wide(name));
}

static void name_category(uint32_t category, const char *name)
{
    domain_name_category(NULL, category, name);
}

static void name_category_wide(uint32_t category, const wchar_t *name)
{
    domain_name_category_wide(NULL, category, name);
}

/* A THREAD record, which is of the thread that writes it: names of others are left out. */
static void put_thread(uint32_t thread, const struct nvtx_label *label)
{
    struct tsm_call call;

    if (tsm_sandboxed() || thread != (uint32_t)syscall(SYS_gettid) ||
        !tsm_call_begin(&call, SBT_TYPE(SBT_API_CORE, SBT_CORE_THREAD)))
        return;
    tsm_call_returned(&call, 0, false);
    put_text(&call, label);
    tsm_call_commit(&call);
}

static void name_thread(uint32_t thread, const char *name)
{
    if (name)
        put_thread(thread, BYTES(name));
}

static void name_thread_wide(uint32_t thread, const wchar_t *name)
{
    if (name)
        put_thread(thread, WIDE(name));
}

/* ---- domains -------------------------------------------------------------------------------- */

static void domain_end(const void *domain, uint64_t id)
{
    end(id);
}

static int domain_pop(const void *domain)
{
    return pop(nvtx_domain_of(domain));
}

static void *domain_create(const char *name)
{
    return nvtx_domain_handle(nvtx_domain_add(nvtx_text_add(name ? name : "", SIZE_MAX)));
}

static void *domain_create_wide(const wchar_t *name)
{
    return nvtx_domain_handle(nvtx_domain_add(nvtx_text_add_wide(name ? name : L"")));
}

static void domain_destroy(const void *domain) {}

static void *register_string(const void *domain, const char *text)
{
    return nvtx_text_handle(nvtx_text_add(text ? text : "", SIZE_MAX));
}

static void *register_string_wide(const void *domain, const wchar_t *text)
{
    return nvtx_text_handle(nvtx_text_add_wide(text ? text : L""));
}

/* Names of objects are not recorded: the handle is for the program alone. */
static void *resource_create(const void *domain, const void *attributes)
{
    return nvtx_text_handle(0);
}

static void resource_destroy(const void *resource) {}

static void initialize(const void *reserved) {}

/* ---- the tables ----------------------------------------------------------------------------- */

#define FUNCTION(name) (void (*)(void))(name)

void (*const nvtx_core[])(void) = {
    NULL,
    FUNCTION(mark_ex),
    FUNCTION(mark_bytes),
    FUNCTION(mark_wide),
    FUNCTION(start_ex),
    FUNCTION(start_bytes),
    FUNCTION(start_wide),
    FUNCTION(end),
    FUNCTION(push_ex),
    FUNCTION(push_bytes),
    FUNCTION(push_wide),
    FUNCTION(pop_thread),
    FUNCTION(name_category),
    FUNCTION(name_category_wide),
    FUNCTION(name_thread),
    FUNCTION(name_thread_wide),
};
const uint32_t nvtx_core_count = sizeof(nvtx_core) / sizeof(nvtx_core[0]);

void (*const nvtx_core2[])(void) = {
    NULL,
    FUNCTION(domain_mark_ex),
    FUNCTION(domain_start_ex),
    FUNCTION(domain_end),
    FUNCTION(domain_push_ex),
    FUNCTION(domain_pop),
    FUNCTION(resource_create),
    FUNCTION(resource_destroy),
    FUNCTION(domain_name_category),
    FUNCTION(domain_name_category_wide),
    FUNCTION(register_string),
    FUNCTION(register_string_wide),
    FUNCTION(domain_create),
    FUNCTION(domain_create_wide),
    FUNCTION(domain_destroy),
    FUNCTION(initialize),
};
const uint32_t nvtx_core2_count = sizeof(nvtx_core2) / sizeof(nvtx_core2[0]);
