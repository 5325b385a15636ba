/* SPDX-License-Identifier: Apache-2.0
 *
 * Parts of a dump: private to dump*.c.
 */
#ifndef API_VULKAN_REPLAY_INSPECT_DUMP_H
#define API_VULKAN_REPLAY_INSPECT_DUMP_H

#include "api/vulkan/replay/inspect/bound_state.h"
#include "api/vulkan/replay/inspect/inspect.h"

struct vkr_dump {
    struct vkr *r;
    struct vkr_scene *scene;
    const char *directory;
    struct tsm_buffer text; /* of resources.json */
    struct tsm_json json;
    struct tsm_map used;          /* type << 48 | id: what is to be written */
    struct tsm_map shaders;       /* first 8 bytes of the hash: written */
    struct vkr_bound_state bound; /* at the command that is wanted */
    int error;                    /* the first; then nothing more is done */
};

/* The object is to be written, and what it stands for: a view's image, a set's buffers. */
void vkr_dump_use(struct vkr_dump *d, uint32_t type, uint64_t id);
bool vkr_dump_uses(const struct vkr_dump *d, uint32_t type, uint64_t id);
/* The same of each object that the record names. */
void vkr_dump_use_record(struct vkr_dump *d, const struct sbt_record *record);

/* `size` bytes to a file in the folder. */
int vkr_dump_file(struct vkr_dump *d, const char *name, const void *data, size_t size);
/* "id", "name" and "create" of an object, as members of the open object. */
void vkr_dump_object(struct vkr_dump *d, const struct vkr_scene_object *made);

/* Lists of the JSON, with the files that they name. (dump_content.c) */
int vkr_dump_pipelines(struct vkr_dump *d);
int vkr_dump_sets(struct vkr_dump *d);
int vkr_dump_buffers(struct vkr_dump *d);
int vkr_dump_images(struct vkr_dump *d);

#endif
