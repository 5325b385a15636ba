/* SPDX-License-Identifier: Apache-2.0
 *
 * Every TS_* variable of capture: one table (capture/settings.c), one parser, one struct. The same
 * table gives `tsrecord --help`, the man page and the metadata "setting.TS_X" of a trace.
 *
 * Parsed once, at the first intercepted call, without malloc. A bad value is reported in one line
 * on stderr and its default is used: the traced program never fails because of us.
 */
#ifndef CAPTURE_SETTINGS_H
#define CAPTURE_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TSM_PATH_MAX         4096
#define TSM_FILTER_COUNT_MAX 16

enum tsm_stack_mode {
    TSM_STACKS_OFF,
    TSM_STACKS_COMMANDS, /* commands, launches, and what makes or frees memory */
    TSM_STACKS_ALL,
};

enum tsm_readback_mode {
    TSM_READBACK_OFF,
    TSM_READBACK_HASH,  /* keys of the bytes only */
    TSM_READBACK_STORE, /* the bytes too, so that a difference can be shown */
};

enum tsm_checksum_mode {
    TSM_CHECKSUM_OFF,
    TSM_CHECKSUM_SYNC,    /* hash live device memory at each synchronisation */
    TSM_CHECKSUM_COMMAND, /* after each command; synchronises, for debugging */
};

/* How memory that the program has mapped from a Vulkan device is followed. */
enum tsm_vk_memory_mode {
    TSM_VK_MEMORY_AUTO,   /* shadow */
    TSM_VK_MEMORY_PAGES,  /* the driver's mapping; the kernel says which pages were written */
    TSM_VK_MEMORY_HASH,   /* the driver's mapping, hashed */
    TSM_VK_MEMORY_SHADOW, /* the program works on a copy: capture/memory/shadow.h */
};

/* When ioctls on GPU files are recorded. */
enum tsm_drm_mode {
    TSM_DRM_AUTO, /* while the program uses no other API that is recorded */
    TSM_DRM_OFF,
    TSM_DRM_ALL,   /* always, but not those that a recorded call makes by itself */
    TSM_DRM_CALLS, /* the same, without what is in mapped memory */
};

enum tsm_full_mode {
    TSM_FULL_BLOCK, /* a full lane makes the program wait: lossless */
    TSM_FULL_DROP,  /* ... or loses records, and says so */
};

struct tsm_settings {
    bool enabled;                    /* TS_CAPTURE=0 switches everything off */
    char output[TSM_PATH_MAX];       /* TS_OUTPUT: path; %p pid, %h host, %r rank, %% percent */
    enum tsm_stack_mode stacks;      /* TS_STACKS=off|commands|all */
    enum tsm_readback_mode readback; /* TS_READBACK=off|hash|store */
    bool contents;                   /* TS_CONTENTS=0|1 */
    enum tsm_checksum_mode checksum; /* TS_CHECKSUM=off|sync|command|submit */
    bool spot_checks; /* TS_CHECKSUM=auto: of memory, where that costs the program no wait */
    enum tsm_vk_memory_mode vk_memory; /* TS_VK_MEMORY=auto|pages|hash|shadow */
    bool vk_results;                   /* TS_VK_RESULTS=0|1 */
    bool gpu_time;                     /* TS_GPU_TIME=1: when the GPU carried out each command */
    bool gpu_time_cupti;               /* ... of CUDA by CUPTI */
    char cupti[TSM_PATH_MAX];          /* TS_CUPTI: path of libcupti; empty: the usual names */
    bool gpu_time_commands;            /* ... and each one inside of a Vulkan command buffer */
    bool accesses;                     /* TS_ACCESSES=1: which memory each command accessed */
    enum tsm_drm_mode drm;             /* TS_DRM=auto|off|all|calls */
    enum tsm_full_mode full;           /* TS_FULL=block|drop */
    size_t lane_size;                  /* TS_LANE_SIZE: bytes a thread; default 2 MiB */
    unsigned threads;                  /* TS_THREADS: compression threads, default 1 */
    int level;                         /* TS_LEVEL: zstd level, default 0 */
    uint64_t keep_ns;                  /* TS_KEEP: ring mode, keep the last N seconds; 0 off */
    uint64_t sample;                   /* TS_SAMPLE=N: every Nth launch's arguments; 0 or 1: all */
    uint64_t rate_max;                 /* TS_RATE: records a second at most; 0: no limit */
    char apis[64];                     /* TS_APIS: comma-separated; empty: all */
    uint32_t streams[TSM_FILTER_COUNT_MAX]; /* TS_STREAMS: these streams only */
    unsigned stream_count;
    char kernels[256];      /* TS_KERNELS: launches whose name matches this glob */
    char threads_only[256]; /* TS_THREAD_NAMES: threads whose name matches this glob */
    bool follow_children;   /* TS_CHILDREN=1: exec'd children too (default) */
    bool start_paused;      /* TS_START=paused: until tsctl, a signal or a count */
    uint64_t start_call;    /* TS_START_CALL, TS_STOP_CALL: by number of calls; 0: unset */
    uint64_t stop_call;
    int start_signal; /* TS_START_SIGNAL: the first one starts, the next one stops; 0 none */
    uint64_t checkpoint_commands;    /* TS_CHECKPOINT=N: every N commands ... */
    uint64_t checkpoint_ns;          /* ... or TS_CHECKPOINT=10s: so often; 0 and 0: never */
    uint64_t checkpoint_patience_ns; /* TS_CHECKPOINT_PATIENCE: for which calls are held back */
    char log[128];                   /* TS_LOG */
};

/* A row of the table: what --help, the man page and the parser need. */
struct tsm_setting {
    const char *name;     /* "TS_OUTPUT" */
    const char *argument; /* "PATH" */
    const char *default_text;
    const char *help;                                          /* one sentence */
    bool (*parse)(struct tsm_settings *out, const char *text); /* false: bad value */
};

const struct tsm_setting *tsm_settings_table(size_t *count);

/* Defaults, then each variable that `lookup` finds (getenv in the product). */
void tsm_settings_parse(struct tsm_settings *out, const char *(*lookup)(const char *name));

/* Tests whether TS_APIS with this value (NULL: not set) lets the API be recorded. */
bool tsm_settings_want_api(const char *apis, const char *name);

/* Expand %p %h %r %% of `pattern`. `attempt` > 0 adds ".N" before the suffix, for a second session
 * of one process. Returns false when it does not fit. */
bool tsm_output_path(char *out, size_t size, const char *pattern, unsigned attempt);

#endif
