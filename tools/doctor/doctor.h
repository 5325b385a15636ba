/* SPDX-License-Identifier: Apache-2.0
 *
 * Checks of `tracesmith doctor`. A check is a row; it changes nothing on the machine and says in
 * one line what it found and, unless all is well, what to do.
 */
#ifndef TOOLS_DOCTOR_DOCTOR_H
#define TOOLS_DOCTOR_DOCTOR_H

#include <stdbool.h>
#include <stddef.h>

enum tsm_health {
    TSM_HEALTH_OK,
    TSM_HEALTH_WARN,    /* works, but slower or with less */
    TSM_HEALTH_MISSING, /* something does not work */
};

struct tsm_finding {
    enum tsm_health health;
    char text[512];   /* what was found */
    char remedy[256]; /* what to do; "" for nothing */
};

struct tsm_check {
    const char *name;
    const char *needed_for; /* "capture", "replay", "both" */
    void (*look)(struct tsm_finding *out);
};

/* Let `look` open a driver in a child process: opening one can hang, crash, start threads, or keep a
 * device awake. It says one line of text, whose first letter is '+' when there is a device; then true. */
bool tsm_probe(void (*look)(const char *library, char *out, size_t size), const char *library,
               char *out, size_t size);

/* Opens a driver of CUDA's; for tsm_probe(). */
void tsm_probe_cuda(const char *library, char *out, size_t size);

/* api/X/view/doctor.c */
void tsm_doctor_cuda(struct tsm_finding *out);
void tsm_doctor_vulkan(struct tsm_finding *out);
void tsm_doctor_hsa(struct tsm_finding *out);
void tsm_doctor_drm(struct tsm_finding *out);

/* tools/doctor/system.c and tools/doctor/gpu.c; both end with a row without name. */
extern const struct tsm_check tsm_checks_system[];
extern const struct tsm_check tsm_checks_gpu[];

void tsm_found(struct tsm_finding *out, enum tsm_health health, const char *remedy,
               const char *format, ...) __attribute__((format(printf, 4, 5)));

#endif
