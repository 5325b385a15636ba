/* SPDX-License-Identifier: Apache-2.0
 *
 * Sets up the software GPU as the machine that a trace was recorded on, by the trace's metadata.
 * What the environment says counts first.
 */
#include "api/cuda/replay/state.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "api/cuda/abi_setup.h"
#include "base/log.h"
#include "base/text.h"

#define DEVICE_MAX 16u                 /* of the software GPU */
#define MEMORY_MIN ((uint64_t)4 << 30) /* its default: a replay may need more than the program */
#define MEMORY_MAX ((uint64_t)256 << 30)

static bool is_set(const char *variable)
{
    const char *text = getenv(variable);

    return text && *text;
}

/* Returns a number of the metadata; 0: there is none. */
static uint64_t number_of(const struct sbt_reader *reader, const char *name)
{
    const char *text = sbt_reader_metadata_find(reader, name);
    char *end = NULL;
    const uint64_t value = text && *text >= '0' && *text <= '9' ? strtoull(text, &end, 10) : 0;

    return end && !*end ? value : 0;
}

static uint64_t device_number(const struct sbt_reader *reader, unsigned device, const char *what)
{
    char name[80];

    tsm_format(name, sizeof(name), "cuda.device.%u.%s", device, what);
    return number_of(reader, name);
}

static uint64_t device_count(const struct sbt_reader *reader)
{
    const uint64_t count = number_of(reader, "cuda.device_count");

    if (count > DEVICE_MAX && !is_set("TS_EMU_DEVICES"))
        tsm_log(TSM_LOG_WARN,
                "recorded with %llu devices: the software GPU has %u at most (TS_EMU_DEVICES)",
                (unsigned long long)count, DEVICE_MAX);
    return count > DEVICE_MAX ? DEVICE_MAX : count;
}

static void set_devices(tsm_emu_setup_function set, uint64_t count)
{
    char text[24];

    tsm_format(text, sizeof(text), "%llu", (unsigned long long)count);
    if (count)
        set("TS_EMU_DEVICES", text);
}

/* All devices have the same memory, as much as the largest recorded one. */
static void set_memory(tsm_emu_setup_function set, const struct sbt_reader *reader, uint64_t count)
{
    uint64_t size = 0;
    char text[24];

    for (unsigned i = 0; i < count; i++) {
        const uint64_t own = device_number(reader, i, "memory");
        size = own > size ? own : size;
    }
    if (size > MEMORY_MAX && !is_set("TS_EMU_MEMORY"))
        tsm_log(TSM_LOG_WARN,
                "recorded on a device with %llu GiB: the software GPU has 256 at most "
                "(TS_EMU_MEMORY)",
                (unsigned long long)(size >> 30));
    size = size > MEMORY_MAX ? MEMORY_MAX : size;
    tsm_format(text, sizeof(text), "%llu", (unsigned long long)size);
    if (size > MEMORY_MIN)
        set("TS_EMU_MEMORY", text);
}

/* Returns the compute capability, times 10, that stands for a recorded one: the highest that is not
 * above it; of those that are too old for the software GPU the lowest. */
static unsigned known_capability(uint64_t recorded)
{
    static const unsigned known[] = {70, 72, 75, 80, 86, 87, 89, 90, 100, 120};
    unsigned best = known[0];

    for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
        if (known[i] <= recorded)
            best = known[i];
    return best;
}

static void set_capability(tsm_emu_setup_function set, const struct sbt_reader *reader)
{
    const uint64_t major = device_number(reader, 0, "compute_capability_major");
    const uint64_t minor = device_number(reader, 0, "compute_capability_minor");
    unsigned known;
    char text[16];

    if (!major || major > 99 || minor > 9)
        return;
    known = known_capability(major * 10 + minor);
    tsm_format(text, sizeof(text), "%u.%u", known / 10, known % 10);
    if (known != major * 10 + minor && !is_set("TS_EMU_CC"))
        tsm_log(TSM_LOG_WARN,
                "recorded on compute capability %llu.%llu, which the software GPU does not have: "
                "it has %s; TS_EMU_CC sets another one",
                (unsigned long long)major, (unsigned long long)minor, text);
    set("TS_EMU_CC", text);
}

static void set_all(tsm_emu_setup_function set, const struct sbt_reader *reader)
{
    const char *machine = sbt_reader_metadata_find(reader, "cuda.machine_description");
    const uint64_t count = device_count(reader);

    set_devices(set, count);
    set_memory(set, reader, count);
    set_capability(set, reader);
    if (machine) /* takes effect with TS_EMU_TIME=virtual */
        set("TS_EMU_MACHINE", machine);
}

void cuda_emu_setup(void *library, const struct sbt_reader *reader)
{
    void *found = dlsym(library, TSM_EMU_SETUP_SYMBOL);
    tsm_emu_setup_function set;

    if (!found)
        return;
    memcpy(&set, &found, sizeof(set));
    set_all(set, reader);
}
