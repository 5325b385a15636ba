/* SPDX-License-Identifier: Apache-2.0
 *
 * Vulkan structs in memory <-> structured values of a trace (docs/FORMAT.md 8.1), by the tables.
 * What is where in a value: the struct's members in the order of the registry, without sType and
 * without what vulkan.api omits.
 */
#ifndef API_VULKAN_TABLES_CODEC_H
#define API_VULKAN_TABLES_CODEC_H

#include "api/vulkan/tables/tables.h"
#include "base/bytes.h"
#include "format/values/struct_out.h"

/* ---- encode ---------------------------------------------------------------------------------- */

/* The largest that the enum has room for, VK_STRUCTURE_TYPE_MAX_ENUM: a struct that nobody defines. */
#define VK_STYPE_NOBODYS 0x7fffffff

/* Runs inside the traced program: no malloc, no lock, bounded. */
struct vk_encoder {
    struct sbt_out out; /* where values go; out.grow may be set. overflow: there is no value */
    /* The stable id of a handle. */
    uint64_t (*handle)(void *user, uint32_t object_type, uint64_t raw);
    void *user;
    uint32_t unknown;      /* structs in pNext chains that the tables do not know: skipped */
    int32_t unknown_stype; /* the last of them; VK_STYPE_NOBODYS: there is no other */
    uint32_t depth;        /* 0 at first */
};

/* Nothing written yet; handles are their own ids until `handle` is set. */
void vk_encoder_init(struct vk_encoder *e, void *buffer, size_t room);

/* Append the value of a struct. What is nested too deep or absurdly long overflows, too. */
void vk_encode_struct(struct vk_encoder *e, const struct vk_struct *type, const void *memory,
                      const struct vk_scope *up);

/* Append the value that the STRUCT field of argument `place` of a command holds; nothing at all for
 * a null pointer. `args` is struct vk_args_NAME. */
void vk_encode_argument(struct vk_encoder *e, const struct vk_command *command, uint32_t place,
                        const void *args);

/* ---- decode ---------------------------------------------------------------------------------- */

/* Memory for what was decoded: given back all at once. */
struct vk_arena {
    struct vk_arena_block *blocks;
    uint64_t used;
    uint64_t limit; /* bytes; a value that wants more is malformed */
};

#define VK_ARENA_LIMIT (1ull << 30)

void vk_arena_init(struct vk_arena *arena, uint64_t limit);
/* Keeps one block for the next value. */
void vk_arena_reset(struct vk_arena *arena);
void vk_arena_finish(struct vk_arena *arena);
/* Zeroed, aligned to 16; NULL: over the limit, or out of memory. */
void *vk_arena_take(struct vk_arena *arena, uint64_t size);

/* Every callback is optional. */
struct vk_decoder {
    struct tsm_view in;
    struct vk_arena *arena;
    /* The handle that an id stands for now. False: there is none, decoding fails. Without: the id.
     */
    bool (*handle)(void *user, uint32_t object_type, uint64_t id, uint64_t *raw);
    /* The address that a recorded device address is now. Without: the same. */
    uint64_t (*address)(void *user, uint64_t recorded);
    /* Memory to put in place of a recorded host address in `type`. Without: NULL. */
    void *(*host)(void *user, const struct vk_struct *type, uint64_t recorded);
    /* Should this struct of a pNext chain be there? Without: yes. */
    bool (*wanted)(void *user, const struct vk_struct *type);
    void *user;
    uint32_t skipped; /* structs of chains that are unknown or not wanted */
    uint32_t depth;   /* 0 at first */
    bool strict; /* a driver will see it: what may not be missing must be there */
    bool output; /* what is decoded now is to be written by the implementation: handles are 0 */
};

/* `data` must stay while the decoder is used; what it makes does not point into it. */
void vk_decoder_init(struct vk_decoder *d, struct vk_arena *arena, const void *data, size_t size);

/* A struct into `memory` (of the struct's size); what it points to is put into the arena. False:
 * malformed, memory's content is not defined. A number that says how many values there are is
 * checked against how many came; pointers of the program are never kept. */
bool vk_decode_struct(struct vk_decoder *d, const struct vk_struct *type, void *memory);

/* The value of a STRUCT field into the pointer at its place in `args`, whose scalars must be there
 * already. An argument that the implementation writes gets room of the recorded size. */
bool vk_decode_argument(struct vk_decoder *d, const struct vk_command *command, uint32_t place,
                        void *args);

/* The bytes of the STRUCT field in slot `index`: 1, or 0: none; negative: they cannot be had. */
typedef int vk_value_function(void *user, uint32_t index, const uint8_t **data, size_t *size);

/* A whole record into struct vk_args_NAME: scalars from its slots, structs and lists from `value`,
 * texts and bytes as they are. An argument that the implementation writes gets room for what it
 * wrote then: handles 0, numbers (which may say how much room there is) as recorded. `d` needs no
 * data. */
struct sbt_record;
struct vk_record_source {
    const struct sbt_record *record;
    vk_value_function *value;
    const char *(*text)(void *user, uint32_t id); /* of a STRING slot; NULL when it is not there */
    void *user;
};
bool vk_decode_args(struct vk_decoder *d, const struct vk_command *command,
                    const struct vk_record_source *source, void *args);

/* The handles that a call made, after it was called again with decoded arguments: `made` for each
 * of them, with the recorded id, 0 where the record has none. False: the record is malformed, or `made` said
 * so of one. */
bool vk_each_created(const struct vk_command *command, const struct vk_record_source *source,
                  const void *args,
                  bool (*made)(void *user, uint32_t object_type, uint64_t id, uint64_t raw));

#endif
