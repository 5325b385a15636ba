/* SPDX-License-Identifier: Apache-2.0
 *
 * Textures and surfaces: descriptors as images of the engine, objects by handle, references by the
 * address of their variable, and what of these a launch sees.
 *
 * An object's handle is a number above all addresses, never used twice. What a launch may name is
 * copied when it is sent (struct emu_bindings): a program may bind a reference again, or destroy an
 * object that it passed as an argument, while the kernel waits in its stream.
 */
#ifndef EMU_TEXTURE_H
#define EMU_TEXTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "emu/cuda/core/abi.h"
#include "emu/cuda/module/module.h"

/* ---- descriptors (resource.c) ---- */

/* Checked as the driver's documentation says; `view` may be NULL. */
CUresult emu_texture_image(struct ptx_image *out, const CUDA_RESOURCE_DESC *resource,
                           const CUDA_TEXTURE_DESC *texture, const CUDA_RESOURCE_VIEW_DESC *view,
                           CUdevice device);
CUresult emu_surface_image(struct ptx_image *out, const CUDA_RESOURCE_DESC *resource);

/* ---- launches (texture.c) ---- */

struct emu_binding {
    uint64_t handle;
    bool is_surface;
    struct ptx_image image;
};

struct emu_bindings {
    unsigned references;
    size_t count;
    struct emu_binding list[];
};

/* The objects that the block of arguments names, at any multiple of eight bytes, and the bound
 * references of the module. *out: one reference, the caller's; NULL when there are none. */
CUresult emu_bindings_create(struct emu_bindings **out, const void *params, size_t size,
                             const struct CUmod_st *module);
void emu_bindings_ref(struct emu_bindings *bindings);   /* NULL: nothing */
void emu_bindings_unref(struct emu_bindings *bindings); /* NULL: nothing */

/* struct ptx_launch's image; user: struct emu_bindings or NULL. Objects that the launch was not
 * given as arguments are looked up now. */
bool emu_binding_find(void *user, uint64_t handle, bool is_surface, struct ptx_image *out);

/* ---- references (reference.c) ---- */

/* Bound references of the module into `list`, as many as fit; returns how many there are. */
size_t emu_references_bound(const struct CUmod_st *module, struct emu_binding *list, size_t room);

/* All of a module that goes. */
void emu_references_destroy(CUmodule module);

#endif
