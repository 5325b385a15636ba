/* SPDX-License-Identifier: Apache-2.0 */
#include "base/machine.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "tracesmith/error.h"

__extension__ typedef unsigned __int128 uint128;

enum { TO_DEVICE, TO_HOST, HOST_FUNCTION };

/* ---- the description ----------------------------------------------------------------------- */

#define KEY(name, value, min, max)                                                                 \
    {                                                                                              \
#name, offsetof(struct tsm_machine, name), value, min, max                                 \
    }
#define NS_MAX   1000000000u
#define MBPS_MAX 1000000000u

/* A GPU of the middle: 16 multiprocessors of four blocks each, PCI Express 3.0, GDDR6. */
static const struct tsm_machine_key keys[] = {
    KEY(block_slots, 64, 1, 65536),
    KEY(instruction_ps, 1000, 0, NS_MAX),
    KEY(kernel_ns, 2000, 0, NS_MAX),
    KEY(call_ns, 1000, 0, NS_MAX),
    KEY(launch_latency_ns, 5000, 0, NS_MAX),
    KEY(copy_latency_ns, 1500, 0, NS_MAX),
    KEY(host_to_device_mbps, 12000, 1, MBPS_MAX),
    KEY(device_to_host_mbps, 12000, 1, MBPS_MAX),
    KEY(device_mbps, 300000, 1, MBPS_MAX),
    KEY(host_function_ns, 10000, 0, NS_MAX),
    KEY(host_to_device_engines, 1, 1, TSM_MACHINE_ENGINES_MAX),
    KEY(device_to_host_engines, 1, 1, TSM_MACHINE_ENGINES_MAX),
};

#define KEY_COUNT (sizeof(keys) / sizeof(keys[0]))

const struct tsm_machine_key *tsm_machine_keys(size_t *count)
{
    *count = KEY_COUNT;
    return keys;
}

static void set(struct tsm_machine *machine, const struct tsm_machine_key *key, uint64_t value)
{
    memcpy((char *)machine + key->offset, &value, sizeof(value));
}

void tsm_machine_init(struct tsm_machine *machine)
{
    for (size_t i = 0; i < KEY_COUNT; i++)
        set(machine, &keys[i], keys[i].value);
}

static const struct tsm_machine_key *find_key(const char *name, size_t size)
{
    for (size_t i = 0; i < KEY_COUNT; i++)
        if (strlen(keys[i].name) == size && memcmp(keys[i].name, name, size) == 0)
            return &keys[i];
    return NULL;
}

/* Reads decimal digits alone. Returns false if there are none, or others. */
static bool read_number(uint64_t *out, const char *text, size_t size)
{
    uint64_t value = 0;

    for (size_t i = 0; i < size; i++) {
        if (text[i] < '0' || text[i] > '9' || value > UINT64_MAX / 10 - 1)
            return false;
        value = value * 10 + (uint64_t)(text[i] - '0');
    }
    *out = value;
    return size > 0;
}

__attribute__((format(printf, 2, 3))) static int refuse(char *why, const char *format, ...)
{
    va_list ap;

    va_start(ap, format);
    tsm_vformat(why, TSM_MACHINE_WHY, format, ap);
    va_end(ap);
    return TSM_E_ARGUMENT;
}

/* Reads one "key=value" of `size` bytes. */
static int parse_one(struct tsm_machine *machine, const char *text, size_t size, char *why)
{
    const char *equals = memchr(text, '=', size);
    const struct tsm_machine_key *key;
    size_t name_size;
    uint64_t value;

    if (!equals)
        return refuse(why, "\"%.*s\" is not KEY=VALUE", (int)size, text);
    name_size = (size_t)(equals - text);
    key = find_key(text, name_size);
    if (!key)
        return refuse(why, "\"%.*s\" is no key of a machine: see docs/emu.md", (int)name_size,
                      text);
    if (!read_number(&value, equals + 1, size - name_size - 1) || value < key->min ||
        value > key->max)
        return refuse(why, "%s=%.*s is not a number from %llu to %llu", key->name,
                      (int)(size - name_size - 1), equals + 1, (unsigned long long)key->min,
                      (unsigned long long)key->max);
    set(machine, key, value);
    return TSM_OK;
}

int tsm_machine_parse(struct tsm_machine *machine, const char *text, char *why)
{
    struct tsm_machine parsed = *machine;
    int error = TSM_OK;

    while (text && *text && !error) {
        size_t size = strcspn(text, ",");
        if (size)
            error = parse_one(&parsed, text, size, why);
        text += size + (text[size] == ',');
    }
    if (!error)
        *machine = parsed;
    return error;
}

void tsm_machine_text(const struct tsm_machine *machine, char out[TSM_MACHINE_TEXT])
{
    size_t used = 0;

    for (size_t i = 0; i < KEY_COUNT; i++) {
        uint64_t value;

        memcpy(&value, (const char *)machine + keys[i].offset, sizeof(value));
        used += tsm_format(out + used, TSM_MACHINE_TEXT - used, "%s%s=%llu", i ? "," : "",
                           keys[i].name, (unsigned long long)value);
    }
}

/* ---- arithmetic ---------------------------------------------------------------------------- */

static uint64_t limit(uint128 ns)
{
    return ns < TSM_MACHINE_TIME_MAX ? (uint64_t)ns : TSM_MACHINE_TIME_MAX;
}

static uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static uint64_t divide_up(uint128 a, uint128 b)
{
    return limit((a + b - 1) / b);
}

static uint64_t transfer_ns(uint64_t bytes, uint64_t mbps)
{
    return divide_up((uint128)bytes * 1000, mbps);
}

/* ---- block slots --------------------------------------------------------------------------- */

/* Returns how many of `blocks` starts a slot that is free at `free_ns` has before `before_ns`. */
static uint64_t starts_before(uint64_t free_ns, uint64_t block_ns, uint64_t before_ns)
{
    return free_ns < before_ns ? (before_ns - 1 - free_ns) / block_ns + 1 : 0;
}

static bool has_starts(const struct tsm_device_model *m, uint64_t ready_ns, uint64_t block_ns,
                       uint64_t before_ns, uint64_t blocks)
{
    uint128 starts = 0;

    for (uint64_t i = 0; i < m->machine.block_slots && starts < blocks; i++)
        starts += starts_before(later(m->slots_ns[i], ready_ns), block_ns, before_ns);
    return starts >= blocks;
}

static uint64_t first_free(const struct tsm_device_model *m)
{
    uint64_t first = m->slots_ns[0];

    for (uint64_t i = 1; i < m->machine.block_slots; i++)
        first = m->slots_ns[i] < first ? m->slots_ns[i] : first;
    return first;
}

/* Returns when the last of the blocks starts: the least time up to which there are enough starts.
 */
static uint64_t last_start(const struct tsm_device_model *m, uint64_t ready_ns, uint64_t block_ns,
                           uint64_t blocks, uint64_t first_ns)
{
    uint64_t low = first_ns; /* a bisection: not enough starts before `low`, enough up to `high` */
    uint64_t high = limit((uint128)first_ns + (uint128)(blocks - 1) * block_ns);

    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (has_starts(m, ready_ns, block_ns, middle + 1, blocks))
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

/* Gives each slot its blocks: all that start before `last_ns`, and of those that start then as many
 * as are left, in the order of the slots. */
static void take_slots(struct tsm_device_model *m, uint64_t ready_ns, uint64_t block_ns,
                       uint64_t blocks, uint64_t last_ns)
{
    for (uint64_t i = 0; i < m->machine.block_slots; i++) {
        uint64_t free_ns = later(m->slots_ns[i], ready_ns);
        uint64_t taken = starts_before(free_ns, block_ns, last_ns);
        blocks -= taken;
        if (taken)
            m->slots_ns[i] = free_ns + taken * block_ns;
    }
    for (uint64_t i = 0; i < m->machine.block_slots && blocks; i++) {
        if (later(m->slots_ns[i], ready_ns) != last_ns)
            continue;
        m->slots_ns[i] = limit((uint128)last_ns + block_ns);
        blocks--;
    }
}

/* Blocks without instructions: all of them go through the slot that is free first. */
static void pass_slot(struct tsm_device_model *m, uint64_t ready_ns, uint64_t first_ns)
{
    uint64_t i = 0;

    while (later(m->slots_ns[i], ready_ns) != first_ns)
        i++;
    m->slots_ns[i] = first_ns;
}

static struct tsm_device_span run_kernel(struct tsm_device_model *m,
                                         const struct tsm_device_work *work, uint64_t ready_ns)
{
    const uint64_t blocks = work->blocks ? work->blocks : 1;
    const uint64_t block_ns =
        divide_up((uint128)work->instructions * m->machine.instruction_ps, (uint128)blocks * 1000);
    const uint64_t first_ns = later(first_free(m), ready_ns);
    uint64_t last_ns = first_ns;

    if (block_ns) {
        last_ns = last_start(m, ready_ns, block_ns, blocks, first_ns);
        take_slots(m, ready_ns, block_ns, blocks, last_ns);
    } else {
        pass_slot(m, ready_ns, first_ns);
    }
    return (struct tsm_device_span){first_ns,
                                    limit((uint128)last_ns + block_ns + m->machine.kernel_ns)};
}

/* ---- the device ---------------------------------------------------------------------------- */

int tsm_device_model_init(struct tsm_device_model *model, const struct tsm_machine *machine)
{
    *model = (struct tsm_device_model){.machine = *machine};
    model->slots_ns = calloc(machine->block_slots, sizeof(*model->slots_ns));
    return model->slots_ns ? TSM_OK : TSM_E_MEMORY;
}

void tsm_device_model_finish(struct tsm_device_model *model)
{
    free(model->slots_ns);
    model->slots_ns = NULL;
}

/* Returns the engine that is free first of those that serve such work one after the other, the
 * lower number of two; NULL: none does. */
static uint64_t *engine_of(struct tsm_device_model *m, enum tsm_device_work_kind kind)
{
    uint64_t *engines, *first, count;

    switch (kind) {
    case TSM_DEVICE_TO_DEVICE:
        engines = m->engine_ns[TO_DEVICE];
        count = m->machine.host_to_device_engines;
        break;
    case TSM_DEVICE_TO_HOST:
        engines = m->engine_ns[TO_HOST];
        count = m->machine.device_to_host_engines;
        break;
    case TSM_DEVICE_HOST_FUNCTION:
        return m->engine_ns[HOST_FUNCTION];
    default:
        return NULL;
    }
    first = engines;
    for (uint64_t i = 1; i < count; i++)
        if (engines[i] < *first)
            first = &engines[i];
    return first;
}

static uint64_t length_ns(const struct tsm_machine *m, const struct tsm_device_work *work)
{
    if (work->is_fixed)
        return work->fixed_ns;
    switch (work->kind) {
    case TSM_DEVICE_TO_DEVICE:
        return limit((uint128)m->copy_latency_ns +
                     transfer_ns(work->bytes, m->host_to_device_mbps));
    case TSM_DEVICE_TO_HOST:
        return limit((uint128)m->copy_latency_ns +
                     transfer_ns(work->bytes, m->device_to_host_mbps));
    case TSM_DEVICE_ON_DEVICE:
        return transfer_ns(work->bytes, m->device_mbps);
    case TSM_DEVICE_HOST_FUNCTION:
        return m->host_function_ns;
    default:
        return 0;
    }
}

uint64_t tsm_device_model_start(const struct tsm_device_model *model,
                                enum tsm_device_work_kind kind, uint64_t ready_ns)
{
    const uint64_t *engine = engine_of((struct tsm_device_model *)(uintptr_t)model, kind);

    ready_ns = limit(ready_ns);
    if (kind == TSM_DEVICE_KERNEL)
        return later(first_free(model), ready_ns);
    return engine ? later(*engine, ready_ns) : ready_ns;
}

struct tsm_device_span tsm_device_model_run(struct tsm_device_model *model,
                                            const struct tsm_device_work *work, uint64_t ready_ns)
{
    uint64_t *engine = engine_of(model, work->kind);
    struct tsm_device_span span;

    if (work->kind == TSM_DEVICE_KERNEL && !work->is_fixed)
        return run_kernel(model, work, limit(ready_ns));
    span.start_ns = later(engine ? *engine : 0, limit(ready_ns));
    span.end_ns = limit((uint128)span.start_ns + length_ns(&model->machine, work));
    if (engine)
        *engine = span.end_ns;
    return span;
}
