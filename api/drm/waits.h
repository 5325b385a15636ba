/* SPDX-License-Identifier: Apache-2.0
 *
 * Objects that DRM's commands and the host wait for, and members of recorded structs: what waits.c
 * and waits_sent.c share. Members are known by their names, so that a trace can be read without the
 * kernel's headers.
 */
#ifndef API_DRM_WAITS_H
#define API_DRM_WAITS_H

#include "api/waits_of.h"

#include <string.h>

#define DRM_WAIT_SIGNALLED 1u /* the value of a syncobj without points */

/* WRITTEN, READ: a memory object's, by those who write it, or read it. RING: one of amdgpu's. */
enum drm_waits_kind { DRM_WAIT_SYNCOBJ = 1, DRM_WAIT_WRITTEN, DRM_WAIT_READ, DRM_WAIT_RING };

/* Returns the object of the record's file that has this number; 0: none. */
uint64_t drm_waits_object(const struct tsm_wait_visit *v, enum drm_waits_kind kind,
                          uint64_t number);

/* Says something of an object, unless it is 0. */
int drm_waits_say(const struct tsm_wait_visit *v, enum tsm_wait_kind kind, uint64_t object,
                  uint64_t value);

/* Members that matter, of one struct; 0: not there. */
struct drm_waits_members {
    uint64_t handle, value, flags, type, chunk, context, ip_type, ip_instance, ring, write;
};

void drm_waits_note(struct drm_waits_members *m, const struct sbt_step *step);

/* Returns the ring of a context that the members name; 0: none. */
uint64_t drm_waits_ring(const struct tsm_wait_visit *v, const struct drm_waits_members *m);

/* Compares names: most differ in a letter that is looked at first. */
static inline bool drm_waits_is_same(const char *a, const char *b)
{
    return a[0] == b[0] && strcmp(a, b) == 0;
}

bool drm_waits_is_named(const struct sbt_step *step, const char *name);

/* Opens the structured value of a field; the value is to be finished in any case. Returns false if
 * there is none. */
bool drm_waits_begin(const struct tsm_wait_visit *v, const char *field, struct sbt_value *value,
                     struct sbt_walk *walk);

/* Returns a member of the struct that the program gave ("in") or that the kernel wrote ("out"). */
uint64_t drm_waits_member(const struct tsm_wait_visit *v, const char *field, const char *name,
                          uint64_t absent);

/* Traits of a driver's commands. */
#define DRM_SENT_IN_TURN 1u /* each begins when the one before it on its stream has ended */
#define DRM_SENT_ORDERED 2u /* each waits for earlier ones in conflict for a memory object */
#define DRM_SENT_PARTS   4u /* its stream has several queues, for which it has parts */
#define DRM_SENT_LATER   8u /* a part of it may not wait */
/* ORDERED, unless this bit of its flags is set. */
#define DRM_SENT_UNLESS(bit) (((bit) + 1u) << 8)

/* Says what a command waits for and signals; `traits`: as above. */
int drm_waits_each_sent(const struct tsm_wait_visit *v, uint32_t traits);
/* Says the same of a move of one memory object's bytes. */
int drm_waits_each_moved(const struct tsm_wait_visit *v, uint32_t detail);

#endif
