/* SPDX-License-Identifier: Apache-2.0
 *
 * Device time by launch site: the host stack that sent a command, with the command's name as its
 * innermost frame.
 */
#ifndef EXPORT_SITES_H
#define EXPORT_SITES_H

#include "analysis/time/summary.h"

#include <stdio.h>

/* Facts about a return address. Texts live as long as their source; NULL: not known. */
struct tsm_frame_text {
    const char *function, *file, *module;
    uint32_t line;
    uint64_t offset; /* in the module, as its file has it; 0 without one */
};

/* Names frames. */
struct tsm_frame_names {
    void *user;
    void (*find)(void *user, uint64_t address, struct tsm_frame_text *out);
    const char *(*clean)(void *user, const char *text); /* a kernel's name, as it may be shown;
                                                           valid until it is called again */
};

struct tsm_site_frame {
    uint64_t address; /* return address; 0: a command, not a frame of the host */
    char *name;       /* never NULL */
    char *file;       /* NULL: not known */
    uint32_t line;
};

struct tsm_site_sample {
    size_t first;         /* place of its frames in `path`, innermost first */
    uint32_t frame_count; /* at least 1 */
    uint64_t count, ns;   /* commands, and their time on the device as far as it is known */
};

struct tsm_sites {
    struct tsm_site_frame *frames;
    size_t frame_count, frame_capacity;
    uint32_t *path; /* places in `frames` */
    size_t path_count, path_capacity;
    struct tsm_site_sample *samples; /* by time, descending */
    size_t sample_count, sample_capacity;
    uint64_t total_ns;
};

/* Makes sites of a summary that was collected by TSM_TIME_BY_SITE. Returns a negative tsm_error. */
int tsm_sites_build(struct tsm_sites *out, const struct tsm_summary *summary,
                    struct sbt_reader *reader, const struct tsm_frame_names *names);
void tsm_sites_finish(struct tsm_sites *sites);

/* Time of each frame's name: all that was sent below it, and what it sent itself. */
struct tsm_site_sum {
    const char *name;
    uint64_t inclusive_ns, exclusive_ns, count; /* count: commands sent below it */
};

/* Fills *out with a sum for each name of the host's frames, by inclusive time, descending; free()
 * it. A name that is more than once on a stack counts once for it. Negative: a tsm_error. */
int tsm_sites_sum(struct tsm_site_sum **out, size_t *count, const struct tsm_sites *sites);

/* Writers. */
void tsm_export_folded(FILE *out, const struct tsm_sites *sites);
void tsm_export_speedscope(FILE *out, const struct tsm_sites *sites, const char *title);
/* Protobuf of github.com/google/pprof, not compressed; `start_ns`: CLOCK_REALTIME of the recording,
 * `span_ns`: its length. TSM_E_MEMORY. */
int tsm_export_pprof(FILE *out, const struct tsm_sites *sites, uint64_t start_ns, uint64_t span_ns);

#endif
