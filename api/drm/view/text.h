/* SPDX-License-Identifier: Apache-2.0
 *
 * Records of GPU files as strace shows system calls:
 *
 *     0.026531 DRM_IOCTL_MODE_CREATE_DUMB(3<vgem#1>, {height=32 ...} => {handle=bo#1}) = 0
 * <0.000004>
 *
 * and their summary: how often, how long, how many failed.
 */
#ifndef API_DRM_VIEW_TEXT_H
#define API_DRM_VIEW_TEXT_H

#include "api/drm/view/modes.h"

/* Files and objects seen so far; a zeroed struct has none. */
struct tsm_ioctls {
    struct tsm_ioctl_file { /* by id - 1 */
        char name[32];      /* of its driver, or kind */
        bool is_uvm;        /* NVIDIA's unified memory */
        uint64_t device;    /* its number; 0: none */
    } * files;
    size_t file_count;
    struct tsm_modes modes;
    unsigned nvidia_branch; /* of their driver, once a program has asked for it */
    struct tsm_ioctl_count {
        char name[64]; /* "": an ioctl that is not known */
        uint32_t type, request;
        uint64_t count, error_count, retry_count;
        uint64_t total_ns, longest_ns;
    } * counts;
    uint32_t count_count;
    uint64_t drm_count;    /* that the kernel saw: of type 'd', every try */
    uint64_t lost_submits; /* refused, for the context or the device is lost */
};

void tsm_ioctls_finish(struct tsm_ioctls *all);

/* Take notice of a record; each once, in order. False: out of memory. */
bool tsm_ioctls_add(struct tsm_ioctls *all, struct sbt_reader *reader,
                    const struct sbt_record *record);

/* ... for the summary. */
bool tsm_ioctls_count(struct tsm_ioctls *all, struct sbt_reader *reader,
                      const struct sbt_record *record);

/* The name of an ioctl that the trace does not describe; NULL: not known. */
const char *tsm_ioctls_raw_name(const struct tsm_ioctls *all, const struct sbt_record *record);

/* Put the record into t->line. */
void tsm_ioctl_put(struct tsm_record_text *t, const struct tsm_ioctls *all,
                   const struct sbt_record *record);

/* The commands in a submit that are known by name, a line each on `out`; none for others. */
void tsm_ioctl_commands(struct sbt_reader *reader, const struct sbt_record *record, FILE *out);

/* The tables, longest time first. */
void tsm_ioctls_summary(struct tsm_ioctls *all, FILE *out);
void tsm_ioctls_summary_json(struct tsm_ioctls *all, struct sbt_reader *reader, FILE *out);

#endif
