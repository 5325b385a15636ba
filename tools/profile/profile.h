/* SPDX-License-Identifier: Apache-2.0
 *
 * The software GPU's instruction profile (TS_EMU_PROFILE; docs/emu.md describes the file), in
 * memory. Read as if an enemy had written it: every number that names something is checked.
 */
#ifndef TOOLS_PROFILE_PROFILE_H
#define TOOLS_PROFILE_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Strings point into the file's text. */
struct tsm_gpu_module {
    uint64_t id;
    uint64_t line_count;
    const char **lines; /* lines[n - 1]; terminated */
};

struct tsm_gpu_count {
    uint64_t module; /* index */
    const char *function;
    uint64_t line;
    uint64_t warps, threads,
        lanes;                  /* executions by warps, lanes whose guard held, lanes together */
    uint64_t waits, wait_steps; /* at barriers; warp instructions that others executed meanwhile */
};

/* A level of a device stack; the innermost names the instruction. */
struct tsm_gpu_level {
    uint64_t parent; /* number of the level that called, from 1; 0: none. Smaller than its own */
    uint64_t module; /* index */
    const char *function;
    uint64_t line;
};

struct tsm_gpu_launch {
    const char *kernel;
    const char *grid, *block; /* "1,2,3" */
    uint64_t stream;
    uint64_t host; /* number of the host stack, 0 none */
    uint64_t start_ns, end_ns;
};

struct tsm_gpu_sample {
    uint64_t launch; /* index */
    uint64_t level;  /* number of a level, from 1 */
    uint64_t block, warp, lanes, ns;
};

struct tsm_gpu_host {
    uint64_t id;
    uint64_t frame_count;
    const char **frames; /* innermost first */
};

struct tsm_gpu_profile {
    char *text;
    uint64_t every; /* warp instructions between samples */
    bool is_whole;  /* the program ended normally: counts and host stacks are there */
    struct tsm_gpu_module *modules;
    struct tsm_gpu_count *counts;
    struct tsm_gpu_level *levels;
    struct tsm_gpu_launch *launches;
    struct tsm_gpu_sample *samples;
    struct tsm_gpu_host *hosts;
    size_t module_count, count_count, level_count, launch_count, sample_count, host_count;
};

/* 0, or a TSM_E_* with a message that names the line. The profile must then be finished, too. */
int tsm_gpu_profile_read(struct tsm_gpu_profile *profile, const char *path);
void tsm_gpu_profile_finish(struct tsm_gpu_profile *profile);

/* The host stack of that number; NULL when the file has none. */
const struct tsm_gpu_host *tsm_gpu_profile_host(const struct tsm_gpu_profile *profile, uint64_t id);

#define TSM_GPU_DEPTH_MAX 64
/* The levels of a sample, outermost first, into out; returns how many. */
size_t tsm_gpu_profile_stack(const struct tsm_gpu_profile *profile, uint64_t level,
                             const struct tsm_gpu_level *out[TSM_GPU_DEPTH_MAX]);

/* export.c: the samples, for other tools. */
void tsm_gpu_profile_speedscope(const struct tsm_gpu_profile *profile, const char *name, FILE *out);
void tsm_gpu_profile_perfetto(const struct tsm_gpu_profile *profile, FILE *out);
void tsm_gpu_profile_folded(const struct tsm_gpu_profile *profile, FILE *out);

#endif
