/* SPDX-License-Identifier: Apache-2.0
 *
 * One call: decoding it and giving it to the driver.
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

/* Decodes the record. Returns 1, 0 if there is nothing to carry out, or a negative TSM_E* if it is
 * malformed. Call vkr_call_finish() in any case. */
int vkr_call_begin(struct vkr_call *c, struct vkr *r, const struct sbt_record *record,
                   struct vk_arena *arena, bool is_planned);
void vkr_call_finish(struct vkr_call *c);
/* Calls the driver with c->args, adds the objects that it created and removes those that it
 * destroyed, and notes what the call changes. */
int vkr_call_driver(struct vkr_call *c);
/* Add the objects that the call created, remove those that it destroyed. */
int vkr_call_created(struct vkr_call *c);
void vkr_call_destroyed(struct vkr_call *c);
/* Tests whether a command gives names or labels for people: a driver without the extension loses
 * nothing. */
bool vkr_is_decoration(const struct vk_command *command);
/* Returns memory that lives as long as the call; NULL: there is none. */
void *vkr_call_take(struct vkr_call *c, uint64_t size);

#endif
