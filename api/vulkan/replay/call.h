/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls that are carried out.
 */
#ifndef API_VULKAN_REPLAY_CALL_H
#define API_VULKAN_REPLAY_CALL_H

#include "api/vulkan/replay/common.h"
#include "api/vulkan/replay/object.h"

/* A record that is being carried out. */
struct vkr_call {
    struct vkr *r;
    const struct sbt_record *record;
    const struct vk_command *command;
    uint32_t place; /* in vk_commands */
    struct vk_decoder decoder;
    struct vk_record_source source;
    struct sbt_value *values; /* that were fetched */
    uint32_t value_count;
    struct vkr_object *owner; /* its first argument; NULL: none */
    bool is_window;           /* names an object that is a window's */
    bool is_planned;          /* handles are their ids */
    uint32_t missing_type;    /* of an object that is not there; 0: none */
    uint64_t missing_id;
    uint64_t host_address; /* the last that a struct had: imported memory */
    _Alignas(16) uint8_t args[VKR_ARGS_SIZE];
};

/* Decode the record. 1: done. 0: nothing to carry out. Negative: malformed. Finish in any case. */
int vkr_call_begin(struct vkr_call *c, struct vkr *r, const struct sbt_record *record,
                   struct vk_arena *arena, bool is_planned);
void vkr_call_finish(struct vkr_call *c);
/* Call the driver with c->args, keep what it made, forget what it destroyed. */
int vkr_call_driver(struct vkr_call *c);
/* Only the last two. */
int vkr_call_created(struct vkr_call *c);
void vkr_call_destroyed(struct vkr_call *c);
/* The instance or device that c's first argument belongs to. */
const struct vk_device_functions *vkr_call_device(const struct vkr_call *c);
/* Memory that lives as long as the call. NULL: none. */
void *vkr_call_take(struct vkr_call *c, uint64_t size);
/* A struct of this type in a pNext chain, NULL when there is none. */
void *vkr_chain_find(const void *chain, VkStructureType type);
/* Takes it out of the chain that starts in *next. */
void vkr_chain_remove(const void **next, VkStructureType type);
int vkr_carry_out(struct vkr *r, const struct sbt_record *record);

#endif
