/* SPDX-License-Identifier: Apache-2.0
 *
 * Inside the stand-in for i915. Each answers as its ioctl does: 0 or a negative errno.
 */
#ifndef TESTS_DRM_FAKE_I915_H
#define TESTS_DRM_FAKE_I915_H

#include "tests/drm/fake_drm.h"

#include <i915_drm.h>

/* fake_i915_chain.c: what takes linked extensions. */
int fake_i915_context(struct fake_file *file, struct drm_i915_gem_context_create_ext *c);
int fake_i915_set_param(struct fake_file *file, const struct drm_i915_gem_context_param *p);
int fake_i915_object(struct fake_file *file, struct drm_i915_gem_create_ext *c);
int fake_i915_submit_chain(struct fake_file *file, const struct drm_i915_gem_execbuffer2 *e);

#endif
