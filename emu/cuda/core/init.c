/* SPDX-License-Identifier: Apache-2.0 */
#include "emu/cuda/core/emu.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/text.h"
#include "emu/cuda/core/messages.h"
#include "emu/cuda/memory/page.h"
#include "emu/cuda/memory/va_allocator.h"

struct emu_settings emu_settings;
_Thread_local uint64_t emu_calls;

enum state { STATE_NEW, STATE_READY, STATE_FORKED, STATE_OVER };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_int state;
static _Thread_local unsigned callback_depth;

/* Threads and their locks do not survive fork(); the child must not come near them. */
static void after_fork(void)
{
    if (atomic_load(&state) == STATE_READY)
        atomic_store(&state, STATE_FORKED);
    emu_page_forget();
}

/* Registered by cuInit(): what the program registered before that finds the driver gone, as it does
 * with a GPU's. */
static void at_exit(void)
{
    if (atomic_load(&state) == STATE_READY)
        atomic_store(&state, STATE_OVER);
}

/* ---- settings ---- */

#define SETUP_MAX 8

/* Settings that a replayer asked for. */
static struct {
    char name[32], value[TSM_MACHINE_TEXT];
} setup[SETUP_MAX];
static unsigned setup_count;

__attribute__((visibility("default"))) bool tsm_emu_setup(const char *name, const char *value);

bool tsm_emu_setup(const char *name, const char *value)
{
    if (atomic_load(&state) != STATE_NEW || setup_count == SETUP_MAX ||
        strlen(name) >= sizeof(setup->name) || strlen(value) >= sizeof(setup->value))
        return false;
    tsm_format(setup[setup_count].name, sizeof(setup->name), "%s", name);
    tsm_format(setup[setup_count++].value, sizeof(setup->value), "%s", value);
    return true;
}

/* Returns what the environment says, else what a replayer asked for last; NULL: nothing. */
static const char *setting(const char *name)
{
    const char *text = getenv(name);

    for (unsigned i = setup_count; i-- && (!text || !*text);)
        if (!strcmp(setup[i].name, name))
            text = setup[i].value;
    return text;
}

static unsigned long long number_setting(const char *name, unsigned long long otherwise,
                                         unsigned long long max)
{
    const char *text = setting(name);
    char *end;

    if (!text || !*text)
        return otherwise;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 0);
    if (*end == 'K' || *end == 'M' || *end == 'G')
        value <<= *end == 'K' ? 10 : *end == 'M' ? 20 : 30;
    else if (*end)
        errno = EINVAL;
    if (!errno && value <= max)
        return value;
    emu_warn("%s=%s is not a number up to %llu; using %llu", name, text, max, otherwise);
    return otherwise;
}

static unsigned capability_setting(void)
{
    static const unsigned known[] = {70, 72, 75, 80, 86, 87, 89, 90, 100, 120};
    const char *text = setting("TS_EMU_CC");
    char *end;

    if (!text || !*text)
        return 75;
    unsigned value = (unsigned)strtoul(text, &end, 10) * 10;
    if (*end == '.')
        value += (unsigned)strtoul(end + 1, &end, 10);
    for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
        if (!*end && value == known[i])
            return value;
    emu_warn("TS_EMU_CC=%s is not a compute capability from 7.0 on; using 7.5", text);
    return 75;
}

/* A wish for an order is a wish for the same order every time, so it brings serial mode along. */
static void read_schedule(struct emu_settings *s)
{
    const char *text = setting("TS_EMU_SCHEDULE");
    const char *mode = setting("TS_EMU_STREAMS");

    s->is_serial = text && *text;
    if (!text || !*text || strcmp(text, "fifo") == 0)
        s->schedule = PTX_SCHEDULE_FIFO;
    else if (strcmp(text, "reverse") == 0)
        s->schedule = PTX_SCHEDULE_REVERSE;
    else if (strncmp(text, "random", 6) == 0 && (!text[6] || text[6] == ':'))
        s->schedule = PTX_SCHEDULE_RANDOM;
    else
        emu_warn("TS_EMU_SCHEDULE=%s is not fifo, reverse or random:SEED; using fifo", text);
    if (s->schedule == PTX_SCHEDULE_RANDOM && text[6])
        s->seed = strtoull(text + 7, NULL, 0);
    if (mode && *mode) {
        s->is_serial = strcmp(mode, "serial") == 0;
        if (!s->is_serial && strcmp(mode, "concurrent") != 0)
            emu_warn("TS_EMU_STREAMS=%s is not concurrent or serial; using concurrent", mode);
    }
}

static void read_one_check(struct emu_settings *s, const char *word, size_t size)
{
    static const struct {
        const char *name;
        unsigned bits;
    } checks[] = {{"bounds", EMU_CHECK_BOUNDS},
                  {"uninit", EMU_CHECK_UNINIT},
                  {"race", EMU_CHECK_RACE},
                  {"blocks", EMU_CHECK_BLOCKS},
                  {"leak", EMU_CHECK_LEAK},
                  {"all", ~0u},
                  {"none", 0}};

    for (size_t i = 0; i < sizeof(checks) / sizeof(*checks); i++)
        if (strlen(checks[i].name) == size && memcmp(checks[i].name, word, size) == 0) {
            s->checks = checks[i].bits ? s->checks | checks[i].bits : 0;
            return;
        }
    emu_warn("TS_EMU_CHECK: %.*s is not bounds, uninit, race, blocks, leak, all or none", (int)size,
             word);
}

static void read_checks(struct emu_settings *s)
{
    const char *text = setting("TS_EMU_CHECK");

    while (text && *text) {
        size_t size = strcspn(text, ",");
        if (size)
            read_one_check(s, text, size);
        text += size + (text[size] == ',');
    }
}

static const char *text_setting(const char *name)
{
    const char *text = setting(name);

    return text && *text ? strdup(text) : NULL;
}

static void read_cache(struct emu_settings *s)
{
    s->cache = text_setting("TS_EMU_CACHE");
    s->has_cache = !s->cache || strcmp(s->cache, "0") != 0;
    s->cache_size = number_setting("TS_EMU_CACHE_SIZE", 64ull << 20, 1ull << 40);
}

static void read_timeout(struct emu_settings *s)
{
    const char *text = setting("TS_EMU_TIMEOUT");
    char *end = NULL;
    double seconds = text && *text ? strtod(text, &end) : 0;

    if (end && (*end || !(seconds >= 0) || seconds > 1e9)) {
        emu_warn("TS_EMU_TIMEOUT=%s is not a number of seconds; there is no limit", text);
        seconds = 0;
    }
    s->timeout_ns = (uint64_t)(seconds * 1e9);
}

static void read_drop(struct emu_settings *s)
{
    const char *text = setting("TS_EMU_DROP");
    char *end = NULL;
    uint64_t percent;

    if (!text || !*text)
        return;
    percent = strtoull(text, &end, 10);
    s->drop_seed = *end == ':' ? strtoull(end + 1, &end, 10) : 0;
    if (*end || percent > 99) {
        emu_warn("TS_EMU_DROP=%s is not PERCENT:SEED; no store is lost", text);
        return;
    }
    s->drop = (uint32_t)((percent << 32) / 100);
}

/* Whether one of the settings for lateness is set, which mean the host's clock. */
static bool is_late(const struct emu_settings *s)
{
    return s->late_ns || s->return_ns || s->linger_ns;
}

/* Virtual time: one command at a time, none of them late. */
static void read_time(struct emu_settings *s)
{
    const char *text = setting("TS_EMU_TIME");
    const char *mode = setting("TS_EMU_STREAMS");
    char why[TSM_MACHINE_WHY];

    s->is_virtual = text && strcmp(text, "virtual") == 0;
    if (text && *text && !s->is_virtual && strcmp(text, "real") != 0)
        emu_warn("TS_EMU_TIME=%s is not virtual or real; using real", text);
    tsm_machine_init(&s->machine);
    if (!s->is_virtual)
        return;
    if (tsm_machine_parse(&s->machine, setting("TS_EMU_MACHINE"), why))
        emu_warn("TS_EMU_MACHINE: %s; using the default machine", why);
    if (mode && strcmp(mode, "concurrent") == 0)
        emu_warn("TS_EMU_STREAMS=concurrent is ignored: TS_EMU_TIME=virtual needs serial streams");
    if (is_late(s))
        emu_warn("TS_EMU_LATE, TS_EMU_RETURN and TS_EMU_LINGER are ignored: TS_EMU_TIME=virtual");
    s->is_serial = true;
    s->late_ns = s->return_ns = s->linger_ns = 0;
}

static void read_settings(struct emu_settings *s)
{
    s->device_count = (int)number_setting("TS_EMU_DEVICES", 1, EMU_DEVICE_COUNT_MAX);
    s->capability = capability_setting();
    s->memory_size = number_setting("TS_EMU_MEMORY", 4ull << 30, 256ull << 30);
    s->fill = (uint8_t)number_setting("TS_EMU_POISON", 0, 255);
    s->is_noop = number_setting("TS_EMU_NOOP", 0, 1) != 0;
    read_drop(s);
    const char *threads = setting("TS_EMU_THREADS");
    s->threads = threads && strcmp(threads, "auto") == 0
                     ? (unsigned)sysconf(_SC_NPROCESSORS_ONLN)
                     : (unsigned)number_setting("TS_EMU_THREADS", 1, 64);
    read_schedule(s);
    s->has_stacks = number_setting("TS_EMU_STACKS", 1, 1) != 0;
    read_checks(s);
    read_timeout(s);
    read_cache(s);
    s->report = text_setting("TS_EMU_REPORT");
    s->exit_status = (uint8_t)number_setting("TS_EMU_EXIT", 0, 255);
    s->late_ns = number_setting("TS_EMU_LATE", 0, 100000) * 1000000;
    s->return_ns = number_setting("TS_EMU_RETURN", 0, 100000) * 1000000;
    s->linger_ns = number_setting("TS_EMU_LINGER", 0, 100000) * 1000000;
    s->is_wrong = number_setting("TS_EMU_WRONG", 0, 1) != 0;
    s->queue = text_setting("TS_EMU_QUEUE");
    s->profile = text_setting("TS_EMU_PROFILE");
    s->profile_every = number_setting("TS_EMU_PROFILE_EVERY", 1000, 1ull << 40);
    if (s->profile_every == 0)
        s->profile_every = 1;
    s->has_times = number_setting("TS_EMU_EXACT", 1, 1) != 0;
    s->has_places = number_setting("TS_EMU_PLACE", 1, 1) != 0;
    read_time(s);
}

/* ---- entering the driver ---- */

CUresult emu_ready(void)
{
    emu_calls++;
    if (callback_depth)
        return CUDA_ERROR_NOT_PERMITTED;
    int now = atomic_load(&state);
    return now == STATE_READY  ? CUDA_SUCCESS
           : now == STATE_OVER ? CUDA_ERROR_DEINITIALIZED
                               : CUDA_ERROR_NOT_INITIALIZED;
}

CUresult emu_refuse(CUresult why)
{
    CUresult result = emu_ready();

    return result ? result : why;
}

CUresult emu_enter_device(CUdevice device)
{
    CUresult result = emu_ready();

    if (!result && (device < 0 || device >= emu_settings.device_count))
        result = CUDA_ERROR_INVALID_DEVICE;
    return result;
}

void emu_callback_begin(void)
{
    callback_depth++;
}

void emu_callback_end(void)
{
    callback_depth--;
}

void emu_warn(const char *format, ...)
{
    char text[1024] = "tracesmith emu: ";
    size_t size = strlen(text);
    va_list ap;

    va_start(ap, format);
    size += tsm_vformat(text + size, sizeof(text) - size - 1, format, ap);
    va_end(ap);
    emu_message_add(text, size);
    text[size++] = '\n';
    /* Nothing can be done about an error here. */
    if (write(STDERR_FILENO, text, size) < 0)
        return;
}

unsigned long long emu_next_id(void)
{
    static atomic_ullong last;

    return atomic_fetch_add(&last, 1) + 1;
}

CUresult cuInit(unsigned int Flags)
{
    CUresult result = CUDA_SUCCESS;

    if (atomic_load(&state) == STATE_FORKED)
        return CUDA_ERROR_NOT_INITIALIZED;
    if (atomic_load(&state) == STATE_OVER)
        return CUDA_ERROR_DEINITIALIZED;
    if (Flags)
        return CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&lock);
    if (atomic_load(&state) == STATE_NEW) {
        tsm_log_configure(getenv("TS_LOG"));
        read_settings(&emu_settings);
        if (emu_settings.device_count == 0)
            result = CUDA_ERROR_NO_DEVICE;
        else if (!emu_va_allocator_init() || pthread_atfork(NULL, NULL, after_fork) ||
                 atexit(at_exit))
            result = CUDA_ERROR_OUT_OF_MEMORY;
        else
            atomic_store(&state, STATE_READY);
    }
    pthread_mutex_unlock(&lock);
    return result;
}

CUresult cuDriverGetVersion(int *driverVersion)
{
    if (!driverVersion)
        return CUDA_ERROR_INVALID_VALUE;
    *driverVersion = EMU_DRIVER_VERSION;
    return CUDA_SUCCESS;
}

/* ---- the profiler's switches: there is no profiler to switch ---- */

CUresult cuProfilerStart(void)
{
    CUcontext context;

    return emu_enter(&context);
}

CUresult cuProfilerStop(void)
{
    CUcontext context;

    return emu_enter(&context);
}
