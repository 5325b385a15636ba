/* SPDX-License-Identifier: Apache-2.0
 *
 * Traces of Vulkan calls without a program: arguments in structs, with ids in place of handles.
 */
#ifndef TESTS_UNIT_VULKAN_VULKAN_TRACE_H
#define TESTS_UNIT_VULKAN_VULKAN_TRACE_H

#include "api/vulkan/vulkan_args.h"
#include "api/vulkan/vulkan_ids.h"
#include "tracesmith/writer.h"

/* An id as a handle of any type. */
#define ID(type, id) ((type)(uintptr_t)(id))

struct vulkan_trace {
    struct sbt_writer *w;
    char path[64];
    uint64_t seq, position;
    uint32_t stream;     /* of the next commands */
    int64_t result;      /* of the next record */
    uint64_t damage_seq; /* 1 + the record that lies, by `damage`; 0: none */
    uint64_t damage;     /* any number */
};

/* A file of its own in the temporary folder. Any failure ends the test. */
void trace_begin(struct vulkan_trace *t, const char *name);
void trace_end(struct vulkan_trace *t);

/* A record of command `place` in vk_commands; on the stream if it is a command, else on none. */
void trace_put(struct vulkan_trace *t, uint32_t place, const void *args);
#define PUT(t, name, ...) trace_put(t, VK_COMMAND_##name, &(struct vk_args_##name){__VA_ARGS__})

void trace_write(struct vulkan_trace *t, uint64_t address, const void *bytes, size_t size);
/* Adds a checksum of `size` bytes that are all `value`; of_stream 0, position as it is. */
void trace_checksum(struct vulkan_trace *t, uint64_t memory, uint64_t offset, uint8_t value,
                    size_t size);

/* An instance, a device, a queue, all with id 1; memory types 0: mapped, 1: local, 2: both. */
void trace_device(struct vulkan_trace *t, const VkDeviceCreateInfo *info);

#endif
