/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/settings.h"

#include "base/log.h"
#include "base/text.h"
#include "capture/lane/lane.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Unsigned decimal with an optional suffix K, M or G (1024). */
static bool parse_number(uint64_t *out, const char *text, uint64_t max)
{
    uint64_t value = 0;
    unsigned shift = 0;

    if (!*text)
        return false;
    for (; *text >= '0' && *text <= '9'; text++) {
        if (value > (UINT64_MAX - 9) / 10)
            return false;
        value = value * 10 + (uint64_t)(*text - '0');
    }
    if (*text == 'K' || *text == 'k')
        shift = 10;
    else if (*text == 'M' || *text == 'm')
        shift = 20;
    else if (*text == 'G' || *text == 'g')
        shift = 30;
    if (shift)
        text++;
    if (*text || value > max >> shift)
        return false;
    *out = value << shift;
    return true;
}

static bool parse_bool(bool *out, const char *text)
{
    if (strcmp(text, "0") != 0 && strcmp(text, "1") != 0)
        return false;
    *out = text[0] == '1';
    return true;
}

/* Index of `text` in a NULL-terminated list, or -1. */
static int parse_choice(const char *text, const char *const *choices)
{
    for (int i = 0; choices[i]; i++) {
        if (strcmp(text, choices[i]) == 0)
            return i;
    }
    return -1;
}

static bool parse_text(char *out, size_t size, const char *text)
{
    size_t length = strlen(text);

    if (length >= size)
        return false;
    memcpy(out, text, length + 1);
    return true;
}

static bool parse_capture(struct tsm_settings *out, const char *text)
{
    return parse_bool(&out->enabled, text);
}

static bool parse_output(struct tsm_settings *out, const char *text)
{
    return *text && parse_text(out->output, sizeof(out->output), text);
}

static bool parse_stacks(struct tsm_settings *out, const char *text)
{
    int i = parse_choice(text, (const char *const[]){"off", "commands", "all", NULL});

    if (i >= 0)
        out->stacks = (enum tsm_stack_mode)i;
    return i >= 0;
}

static bool parse_readback(struct tsm_settings *out, const char *text)
{
    int i = parse_choice(text, (const char *const[]){"off", "hash", "store", NULL});

    if (i >= 0)
        out->readback = (enum tsm_readback_mode)i;
    return i >= 0;
}

static bool parse_checksum(struct tsm_settings *out, const char *text)
{
    static const char *const names[] = {"off", "sync", "command", "submit", "auto", "0", NULL};
    static const enum tsm_checksum_mode modes[] = {
        TSM_CHECKSUM_OFF, TSM_CHECKSUM_SYNC, TSM_CHECKSUM_COMMAND, TSM_CHECKSUM_COMMAND,
        TSM_CHECKSUM_OFF, TSM_CHECKSUM_OFF}; /* a submit is Vulkan's command */
    int i = parse_choice(text, names);

    if (i < 0)
        return false;
    out->checksum = modes[i];
    out->spot_checks = i == 4;
    return true;
}

static bool parse_contents(struct tsm_settings *out, const char *text)
{
    return parse_bool(&out->contents, text);
}

static bool parse_vk_results(struct tsm_settings *out, const char *text)
{
    return parse_bool(&out->vk_results, text);
}

static bool parse_accesses(struct tsm_settings *out, const char *text)
{
    return parse_bool(&out->accesses, text);
}

static bool parse_vk_memory(struct tsm_settings *out, const char *text)
{
    int i = parse_choice(text, (const char *const[]){"auto", "pages", "hash", "shadow", NULL});

    if (i >= 0)
        out->vk_memory = (enum tsm_vk_memory_mode)i;
    return i >= 0;
}

static bool parse_gpu_time(struct tsm_settings *out, const char *text)
{
    int i = parse_choice(text, (const char *const[]){"off", "events", "commands", "cupti", NULL});

    out->gpu_time_commands = i == 2;
    out->gpu_time_cupti = i == 3;
    if (i >= 0)
        out->gpu_time = i >= 1;
    return i >= 0 || parse_bool(&out->gpu_time, text);
}

static bool parse_cupti(struct tsm_settings *out, const char *text)
{
    return parse_text(out->cupti, sizeof(out->cupti), text);
}

static bool parse_drm(struct tsm_settings *out, const char *text)
{
    int i = parse_choice(text, (const char *const[]){"auto", "off", "all", "calls", NULL});

    if (i >= 0)
        out->drm = (enum tsm_drm_mode)i;
    return i >= 0;
}

static bool parse_full(struct tsm_settings *out, const char *text)
{
    int i = parse_choice(text, (const char *const[]){"block", "drop", NULL});

    if (i >= 0)
        out->full = (enum tsm_full_mode)i;
    return i >= 0;
}

static bool parse_lane_size(struct tsm_settings *out, const char *text)
{
    uint64_t value;

    if (!parse_number(&value, text, TSM_LANE_SIZE_MAX) || value < TSM_LANE_SIZE_MIN)
        return false;
    if (value & (value - 1))
        return false;
    out->lane_size = value;
    return true;
}

static bool parse_threads(struct tsm_settings *out, const char *text)
{
    uint64_t value;

    if (!parse_number(&value, text, 64))
        return false;
    out->threads = (unsigned)value;
    return true;
}

static bool parse_level(struct tsm_settings *out, const char *text)
{
    uint64_t value;
    bool negative = *text == '-';

    if (!parse_number(&value, text + negative, negative ? 7 : 19))
        return false;
    out->level = negative ? -(int)value : (int)value;
    return true;
}

/* Seconds with up to three decimals. */
static bool parse_keep(struct tsm_settings *out, const char *text)
{
    char whole[24];
    uint64_t seconds, ms = 0;
    size_t length = strcspn(text, ".");

    if (length == 0 || length >= sizeof(whole))
        return false;
    memcpy(whole, text, length);
    whole[length] = '\0';
    if (!parse_number(&seconds, whole, 1000000))
        return false;
    if (text[length] == '.') {
        uint64_t unit = 100;
        for (const char *p = text + length + 1; *p; p++, unit /= 10) {
            if (*p < '0' || *p > '9')
                return false;
            ms += (uint64_t)(*p - '0') * unit;
        }
    }
    out->keep_ns = seconds * 1000000000u + ms * 1000000u;
    return true;
}

static bool parse_sample(struct tsm_settings *out, const char *text)
{
    return parse_number(&out->sample, text, UINT64_MAX);
}

static bool parse_rate(struct tsm_settings *out, const char *text)
{
    return parse_number(&out->rate_max, text, UINT64_MAX);
}

static bool is_listed(const char *list, const char *name)
{
    size_t length = strlen(name);

    for (; *list; list += strcspn(list, ","), list += *list == ',') {
        if (strcspn(list, ",") == length && memcmp(list, name, length) == 0)
            return true;
    }
    return false;
}

/* Tests whether the list names at least one API, and nothing else. */
static bool is_api_list(const char *list)
{
    static const char *const names[] = {"cuda", "vulkan", "hsa", "hip", "drm", "nvtx", NULL};
    bool names_one = false;

    while (*list) {
        size_t length = strcspn(list, ",");
        char name[8] = "";

        if (length >= sizeof(name))
            return false;
        memcpy(name, list, length);
        if (length && parse_choice(name, names) < 0)
            return false;
        names_one |= length > 0;
        list += length + (list[length] == ',');
    }
    return names_one;
}

static bool parse_apis(struct tsm_settings *out, const char *text)
{
    return (!*text || is_api_list(text)) && parse_text(out->apis, sizeof(out->apis), text);
}

bool tsm_settings_want_api(const char *apis, const char *name)
{
    return !apis || !is_api_list(apis) || is_listed(apis, name);
}

static bool parse_streams(struct tsm_settings *out, const char *text)
{
    unsigned count = 0;

    while (*text) {
        char item[16];
        size_t length = strcspn(text, ",");
        uint64_t value;

        if (length >= sizeof(item) || count == TSM_FILTER_COUNT_MAX)
            return false;
        memcpy(item, text, length);
        item[length] = '\0';
        if (!parse_number(&value, item, UINT32_MAX - 1))
            return false;
        out->streams[count++] = (uint32_t)value;
        text += length + (text[length] == ',');
    }
    out->stream_count = count;
    return true;
}

static bool parse_kernels(struct tsm_settings *out, const char *text)
{
    return parse_text(out->kernels, sizeof(out->kernels), text);
}

static bool parse_thread_names(struct tsm_settings *out, const char *text)
{
    return parse_text(out->threads_only, sizeof(out->threads_only), text);
}

static bool parse_children(struct tsm_settings *out, const char *text)
{
    return parse_bool(&out->follow_children, text);
}

static bool parse_start(struct tsm_settings *out, const char *text)
{
    int i = parse_choice(text, (const char *const[]){"now", "paused", NULL});

    if (i >= 0)
        out->start_paused = i == 1;
    return i >= 0;
}

static bool parse_start_call(struct tsm_settings *out, const char *text)
{
    return parse_number(&out->start_call, text, UINT64_MAX);
}

static bool parse_stop_call(struct tsm_settings *out, const char *text)
{
    return parse_number(&out->stop_call, text, UINT64_MAX);
}

/* By name, as kill(1) takes it; only signals that have no other use. */
static bool parse_start_signal(struct tsm_settings *out, const char *text)
{
    static const int signals[] = {0, SIGUSR1, SIGUSR2, SIGHUP, SIGWINCH};
    int i = parse_choice(text, (const char *const[]){"", "USR1", "USR2", "HUP", "WINCH", NULL});

    if (i >= 0)
        out->start_signal = signals[i];
    return i >= 0;
}

/* "250ms", "10s", "5m": time; "1000", "64K": a number, and `ns_out` is 0. */
static bool parse_time(uint64_t *number_out, uint64_t *ns_out, const char *text)
{
    static const char *const units[] = {"", "ms", "s", "m", NULL};
    static const uint64_t ns[] = {0, 1000000u, 1000000000u, 60000000000u};
    size_t digits = strspn(text, "0123456789");
    char number[20];
    uint64_t value;
    int unit = parse_choice(text + digits, units);

    if (unit < 0 || digits >= sizeof(number))
        unit = 0; /* "64K" is a number, too */
    else
        text = memcpy(number, text, digits + 1);
    if (unit)
        number[digits] = '\0';
    if (!parse_number(&value, text, unit ? 1000000 : UINT64_MAX))
        return false;
    *number_out = unit ? 0 : value;
    *ns_out = value * ns[unit];
    return true;
}

static bool parse_checkpoint(struct tsm_settings *out, const char *text)
{
    return parse_time(&out->checkpoint_commands, &out->checkpoint_ns, text);
}

static bool parse_patience(struct tsm_settings *out, const char *text)
{
    uint64_t number, ns;

    if (!parse_time(&number, &ns, text) || number)
        return false;
    out->checkpoint_patience_ns = ns;
    return true;
}

static bool parse_log(struct tsm_settings *out, const char *text)
{
    return tsm_log_accepts(text) && parse_text(out->log, sizeof(out->log), text);
}

static const struct tsm_setting table[] = {
    {"TS_CAPTURE", "0|1", "1", "Switch capture off (0) or on (1).", parse_capture},
    {"TS_OUTPUT", "PATH", "trace.sbt",
     "Where the trace goes; %p is the process id, %h the host, %r the MPI or torch rank, %% a "
     "percent sign. An existing trace is replaced, any other file is not; further processes of the "
     "same run get name.1.sbt, name.2.sbt and so on.",
     parse_output},
    {"TS_STACKS", "off|commands|all", "commands", "Which calls carry the host stack.",
     parse_stacks},
    {"TS_READBACK", "off|hash|store", "store",
     "Whether bytes that the device gives back are hashed or stored.", parse_readback},
    {"TS_CONTENTS", "0|1", "1",
     "Whether the trace has the bytes of memory and code, or their hashes only: then it can be "
     "viewed "
     "and compared, but not replayed. While the program runs its lanes file has them in any case.",
     parse_contents},
    {"TS_CHECKSUM", "auto|off|sync|command|submit", "auto",
     "When device memory is hashed: never, at each synchronisation, after each command (of Vulkan: "
     "each submit; both names mean the same). auto: at synchronisations of CUDA on the software "
     "GPU that find it idle, much memory less often; never elsewhere.",
     parse_checksum},
    {"TS_VK_MEMORY", "auto|pages|hash|shadow", "auto",
     "How memory mapped from a Vulkan device is followed: shadow gives the program a copy; pages "
     "and hash watch the driver's mapping, and cannot tell the device's writes from the program's.",
     parse_vk_memory},
    {"TS_VK_RESULTS", "0|1", "1",
     "Vulkan: hash what the device leaves in memory that the program does not map, where reading "
     "it "
     "is quick, at some waits and when it is freed, and some of the images that it presents, so "
     "that "
     "a replay has something to compare.",
     parse_vk_results},
    {"TS_GPU_TIME", "off|events|commands|cupti", "off",
     "Record when the GPU ran each command (0 and 1 mean off and events): of Vulkan each batch of "
     "a submit, of CUDA each command outside of stream captures, of HSA each dispatch and copy. "
     "commands: also what is inside of Vulkan's command buffers. cupti: of CUDA by CUPTI, with the "
     "nodes of launched graphs.",
     parse_gpu_time},
    {"TS_CUPTI", "PATH", "",
     "NVIDIA's libcupti for TS_GPU_TIME=cupti; by default libcupti.so.13, .12 or libcupti.so, as "
     "the "
     "loader finds it.",
     parse_cupti},
    {"TS_ACCESSES", "0|1", "0",
     "Record which bytes of memory each CUDA command read and wrote, for `tracesmith graph "
     "--memory`. The software GPU alone says so; kernels take some times as long there.",
     parse_accesses},
    {"TS_DRM", "auto|off|all|calls", "auto",
     "Whether ioctls on GPU files are recorded: auto, until the program uses another API that is "
     "recorded, whose driver makes them; all, besides it, but not inside its calls; calls, the "
     "same "
     "without what is in mapped memory, so that it cannot be replayed.",
     parse_drm},
    {"TS_FULL", "block|drop", "block",
     "What happens when recording cannot keep up: the program waits, or records are lost.",
     parse_full},
    {"TS_LANE_SIZE", "BYTES", "2M", "Buffer of each thread; a power of two, 256K to 1G.",
     parse_lane_size},
    {"TS_THREADS", "N", "1", "Compression threads, 0 to 64.", parse_threads},
    {"TS_LEVEL", "N", "0", "zstd level, -7 to 19; 0: -1 for records, 1 for the rest.", parse_level},
    {"TS_KEEP", "SECONDS", "0", "Keep only commands of the last SECONDS; 0 keeps all.", parse_keep},
    {"TS_SAMPLE", "N", "0", "Record every Nth command only; 0 or 1 records all.", parse_sample},
    {"TS_RATE", "N", "0", "Record at most N commands a second; 0 is no limit.", parse_rate},
    {"TS_APIS", "cuda|vulkan|hsa|hip|drm|nvtx", "",
     "Record these APIs only, comma-separated; cuda means labels of NVTX, too.", parse_apis},
    {"TS_STREAMS", "LIST", "", "Record commands of these streams only, comma-separated numbers.",
     parse_streams},
    {"TS_KERNELS", "GLOB", "", "Record launches of GPU functions with such a name only.",
     parse_kernels},
    {"TS_THREAD_NAMES", "GLOB", "", "Record commands of threads with such a name only.",
     parse_thread_names},
    {"TS_CHILDREN", "0|1", "1", "Whether child processes are recorded, too, forked or executed.",
     parse_children},
    {"TS_START", "now|paused", "now",
     "Whether recording begins at once or when tsctl, TS_START_CALL or TS_START_SIGNAL says so.",
     parse_start},
    {"TS_START_CALL", "N", "0",
     "Begin recording at the Nth call; 0 at once. What the GPU's memory holds then is saved, and "
     "what makes objects is recorded from the beginning: the trace can be replayed.",
     parse_start_call},
    {"TS_START_SIGNAL", "USR1|USR2|HUP|WINCH", "",
     "Begin recording at this signal, end it at the next one; takes effect from the first call on, "
     "and only if the program does not use the signal.",
     parse_start_signal},
    {"TS_STOP_CALL", "N", "0", "End recording after the Nth recorded call; 0 never.",
     parse_stop_call},
    {"TS_CHECKPOINT", "N|SECONDSs", "0",
     "Save what the GPU's memory holds every N commands, or so often (10s, 250ms), so that "
     "'tsreplay --range' need not run what came before. Each time calls are held back, the GPU is "
     "waited for and its memory read. 0 never.",
     parse_checkpoint},
    {"TS_CHECKPOINT_PATIENCE", "SECONDSs", "50ms",
     "How long calls are held back for a checkpoint at a synchronisation. What takes longer is "
     "given "
     "up and tried again, with more patience, up to 8 times as much. On a busy machine a larger "
     "one "
     "has checkpoints sooner.",
     parse_patience},
    {"TS_LOG", "LIST", "warn", "What is said on stderr: LEVEL or FILE:LEVEL, comma-separated.",
     parse_log},
};

const struct tsm_setting *tsm_settings_table(size_t *count)
{
    *count = sizeof(table) / sizeof(table[0]);
    return table;
}

void tsm_settings_parse(struct tsm_settings *out, const char *(*lookup)(const char *name))
{
    memset(out, 0, sizeof(*out));
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        const char *text = lookup(table[i].name);

        table[i].parse(out, table[i].default_text);
        if (text && !table[i].parse(out, text)) {
            table[i].parse(out, table[i].default_text);
            tsm_log(TSM_LOG_WARN, "%s=%s is not one of %s; %s%s", table[i].name, text,
                    table[i].argument, *table[i].default_text ? "using " : "it is ignored",
                    table[i].default_text);
        }
    }
}

/* ---- the output path ------------------------------------------------------------------------ */

struct path_out {
    char *at, *end;
    bool failed;
};

static void put(struct path_out *p, const char *text)
{
    size_t length = strlen(text);

    if ((size_t)(p->end - p->at) <= length) {
        p->failed = true;
        return;
    }
    memcpy(p->at, text, length + 1);
    p->at += length;
}

/* The first of the usual launchers' variables that is set; "0" when there is none. */
static const char *rank_text(void)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID", "RANK",
                                        "LOCAL_RANK"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const char *text = getenv(names[i]);
        if (text && *text && strspn(text, "0123456789") == strlen(text))
            return text;
    }
    return "0";
}

static void expand(struct path_out *p, char letter)
{
    char text[65];

    switch (letter) {
    case 'p':
        tsm_format(text, sizeof(text), "%d", (int)getpid());
        put(p, text);
        break;
    case 'h':
        if (gethostname(text, sizeof(text)) != 0)
            tsm_format(text, sizeof(text), "localhost");
        text[sizeof(text) - 1] = '\0';
        put(p, text);
        break;
    case 'r':
        put(p, rank_text());
        break;
    case '%':
        put(p, "%");
        break;
    default:
        put(p, (char[]){'%', letter, '\0'});
        break;
    }
}

/* Returns the place for ".N": before the last suffix of the last component. */
static const char *suffix_of(const char *pattern)
{
    const char *slash = strrchr(pattern, '/');
    const char *name = slash ? slash + 1 : pattern;
    const char *dot = strrchr(name, '.');

    return dot && dot != name ? dot : name + strlen(name);
}

bool tsm_output_path(char *out, size_t size, const char *pattern, unsigned attempt)
{
    struct path_out p = {out, out + size, false};
    const char *suffix = suffix_of(pattern);

    if (size == 0)
        return false;
    *out = '\0';
    for (const char *c = pattern;; c++) {
        if (c == suffix && attempt > 0) {
            char number[16];
            tsm_format(number, sizeof(number), ".%u", attempt);
            put(&p, number);
        }
        if (!*c)
            break;
        if (*c == '%' && c[1])
            expand(&p, *++c);
        else
            put(&p, (char[]){*c, '\0'});
    }
    return !p.failed;
}
