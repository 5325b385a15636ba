/* SPDX-License-Identifier: Apache-2.0
 *
 * JSON into a buffer, for what a dump says. Records are written as docs/FORMAT.md 14 says.
 */
#ifndef API_VULKAN_REPLAY_INSPECT_JSON_H
#define API_VULKAN_REPLAY_INSPECT_JSON_H

#include "base/buffer.h"
#include "tracesmith/reader.h"

struct vkr_json {
    struct tsm_buffer out;
    bool comma; /* the next value needs one before it */
};

/* `name` NULL: an element of a list. */
void vkr_json_open(struct vkr_json *j, const char *name, char bracket);
void vkr_json_close(struct vkr_json *j, char bracket);
void vkr_json_text(struct vkr_json *j, const char *name, const char *text); /* NULL: null */
void vkr_json_u64(struct vkr_json *j, const char *name, uint64_t value);
void vkr_json_bool(struct vkr_json *j, const char *name, bool value);
/* "VkBuffer#3", null for 0. */
void vkr_json_id(struct vkr_json *j, const char *name, uint32_t type, uint64_t id);
/* The value's name in a table of the trace, or the number. */
void vkr_json_enum(struct vkr_json *j, const char *name, struct sbt_reader *reader,
                   const char *table, int64_t value);
void vkr_json_bytes(struct vkr_json *j, const char *name, const uint8_t *bytes, size_t size);
void vkr_json_record(struct vkr_json *j, const char *name, struct sbt_reader *reader,
                     const struct sbt_record *record); /* NULL: null */

#endif
