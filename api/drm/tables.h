/* SPDX-License-Identifier: Apache-2.0
 *
 * Ioctls and the structs that they take, as tables: made by api/gen/generate_drm.py of the kernel's
 * headers and drm.api. Both sides use them: the source encodes a program's structs by them, the
 * backend rebuilds structs by them, tools name things by them.
 *
 * Read-only, no pointers, no code: any thread, and inside a traced program at any time.
 */
#ifndef API_DRM_TABLES_H
#define API_DRM_TABLES_H

#include "tracesmith/trace.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Records of ours; the numbers of ioctls begin at DRM_IOCTL_FIRST. In files: append only. */
enum drm_record {
    DRM_RECORD_FILE = 1,  /* a GPU file was seen for the first time: opened, inherited, received */
    DRM_RECORD_CLOSE = 2, /* a descriptor of one was closed */
    DRM_RECORD_DUP = 3,   /* a further descriptor of one */
    DRM_RECORD_MAP = 4,   /* part of one was mapped */
    DRM_RECORD_UNMAP = 5, /* ... and unmapped */
    DRM_RECORD_IOCTL = 6, /* an ioctl that the tables do not have: raw bytes */
    DRM_RECORD_POLL = 7,  /* poll(), select() or epoll_wait() found that one is ready */
    DRM_IOCTL_FIRST = 64,
};

/* Kind of file of a descriptor. */
enum drm_node {
    DRM_NODE_NONE, /* none of these */
    DRM_NODE_DRM,
    DRM_NODE_KFD,
    DRM_NODE_DMABUF,
    DRM_NODE_SYNC_FILE,
    DRM_NODE_UDMABUF,
    DRM_NODE_DMA_HEAP,
    DRM_NODE_NVIDIA,
    DRM_NODE_NVIDIA_UVM,
    DRM_NODE_HABANALABS, /* before it was one of DRM's drivers */
    DRM_NODE_COUNT,
};

enum drm_kind {
    DRM_KIND_UINT,
    DRM_KIND_INT,
    DRM_KIND_HEX,
    DRM_KIND_BOOL,
    DRM_KIND_SIZE,
    DRM_KIND_DEVPTR,
    DRM_KIND_HOSTPTR,
    DRM_KIND_ENUM,   /* type: place in drm_enums */
    DRM_KIND_FLAGS,  /* ... */
    DRM_KIND_HANDLE, /* type: place in drm_objects */
    DRM_KIND_FD,     /* ... */
    DRM_KIND_TEXT,   /* characters, up to a zero byte */
    DRM_KIND_BYTES,
    DRM_KIND_STRUCT,  /* type: place in drm_structs */
    DRM_KIND_NOTHING, /* not recorded: an array without length of which nothing is said */
};

enum drm_form {
    DRM_FORM_ONE,
    DRM_FORM_ARRAY,    /* `number` values, in the struct */
    DRM_FORM_LIST,     /* the member is the address of the values */
    DRM_FORM_POINTERS, /* ... of addresses of one value each */
    DRM_FORM_TAIL,     /* the values are at the struct's end */
    DRM_FORM_CHAIN,    /* the member is the address of the first of linked structs; type: what they
                          may be, a union with `next` */
};

enum drm_count {
    DRM_COUNT_NONE,
    DRM_COUNT_FIXED,  /* number */
    DRM_COUNT_MEMBER, /* the member at place `number` of the same struct, or of one around it */
    DRM_COUNT_SUM,    /* what the list of u32 at place `number` has together */
};

#define DRM_MEMBER_IN   1u /* what is there is written by the program, */
#define DRM_MEMBER_OUT  2u /* ... by the kernel */
#define DRM_MEMBER_NEW  4u /* a handle that the call makes */
#define DRM_MEMBER_GONE 8u /* ... frees */
#define DRM_MEMBER_SIGNED 16u /* INT, FD, ENUM: is in the trace as a number with a sign */
#define DRM_MEMBER_UNSIGNED 128u /* ... and has none in memory */
#define DRM_MEMBER_USER 64u /* the address of memory of the program that the device is going to
                               use; its size as a count */
#define DRM_MEMBER_ONCE 32u /* one value at most: it has a tail, whose bytes the count has, too */

struct drm_member {
    uint32_t name; /* place in drm_text */
    uint32_t number;
    uint16_t offset; /* bytes */
    uint16_t type;
    uint16_t per;    /* a count is (member - less) * scale * factor / per */
    uint16_t around; /* the member is of this struct, that it is in: place + 1; 0: of its own */
    uint8_t kind, form, count, scale;
    uint8_t size; /* bytes of a value that is no struct */
    uint8_t flags;
    uint8_t less;
    uint8_t factor; /* a member beside the other one: place + 1; 0: none */
};

#define DRM_STRUCT_UNION    1u
#define DRM_STRUCT_BORROWED 2u /* its members' counts are members of the struct around it */
#define DRM_STRUCT_FLAT     4u /* numbers, one after the other, and nothing else */
#define DRM_NO_MEMBER       0xffu

struct drm_struct {
    uint32_t name;
    uint16_t id;                         /* pinned, in files */
    uint16_t size;                       /* bytes */
    uint16_t first, count;               /* in drm_members */
    uint16_t choice_first, choice_count; /* of a union, in drm_choices */
    uint8_t flags;
    uint8_t selector; /* place of the member around it that chooses; DRM_NO_MEMBER: none */
    uint8_t
        otherwise; /* place of the member that is there when no choice fits; DRM_NO_MEMBER: none */
    uint8_t next;  /* of a chain: its member `otherwise` is the header that all of them begin with;
                      `selector` and `next`, which has the address of the next one, are places in
                      that. DRM_NO_MEMBER: no chain */
    uint64_t mask; /* of the selector */
};

struct drm_choice {
    uint64_t value;
    uint8_t place; /* of a member */
};

struct drm_place {
    uint16_t offset;
    uint8_t size; /* bytes; 0: nowhere */
};

#define DRM_IOCTL_SAFE 1u /* a replay may issue it again */
#define DRM_IOCTL_EARLY                                                                            \
    2u /* has memory that the program and the kernel write: to be read before the call */
#define DRM_IOCTL_MAP_OUT  4u /* map_handle is what the kernel wrote */
#define DRM_IOCTL_GIVES_FD 8u /* what the kernel writes has descriptors in it */
#define DRM_IOCTL_UNFOLLOWED 32u /* memory that it shares with the device is not followed */
#define DRM_IOCTL_DISPLAY  16u /* the screen's: a replay leaves it out */
#define DRM_IOCTL_TEXT       128u /* `into` is the argument itself: the address of a text */
#define DRM_IOCTL_SMALL    64u /* a struct of at most DRM_SMALL_MAX numbers, all that there is to it */
#define DRM_SMALL_MAX      16u
#define DRM_TERM_MAX       2u

struct drm_ioctl {
    uint32_t name;
    uint32_t request;
    uint16_t id; /* of its records' type; pinned */
    uint16_t family;
    uint16_t into, out; /* struct that the kernel reads, writes: place in drm_structs + 1, 0 none */
    uint8_t kind;       /* enum sbt_kind */
    uint8_t flags;
    uint8_t hook; /* enum drm_hook: a function that names the stream */
    uint8_t term_count;
    uint8_t returns; /* enum drm_node: what its result is a descriptor of; DRM_NODE_NONE: it is none */
    struct drm_term {
        uint64_t mask; /* ... of what is at the place; nowhere: a number of its own */
        struct drm_place place;
    } terms[DRM_TERM_MAX]; /* name the stream */
    struct drm_place map_handle, map_offset;
    /* Places in the output of the object, address and size that the call itself has mapped. */
    struct drm_place maps_handle, maps_address, maps_size;
    struct drm_place gone; /* the buffer object that it frees */
    /* Place in the output that says whether the device is done: it is when the value is `done`. No
     * place: a call that waits has waited when it succeeds. */
    struct drm_place tells;
    uint8_t done;
};

#define DRM_TELLS_POINTS 0xffu /* as `done`: the list of points of a syncobj's timeline */

/* Does a call that succeeded say that the device is done? `out`: what came out, `size` bytes of it
 * are there. Of a list of points it does: so far it is. */
bool drm_tells_done(const struct drm_ioctl *row, const void *out, size_t size);

#define DRM_DRIVER_MAX 3u

struct drm_family {
    uint32_t name;
    uint32_t drivers[DRM_DRIVER_MAX]; /* 0: no more */
    uint16_t first, count;            /* in drm_ioctls, sorted by number */
    uint8_t node;                     /* enum drm_node */
};

struct drm_enum {
    uint32_t name;
    uint16_t first, count; /* in drm_values */
};

struct drm_value {
    uint32_t name;
    uint64_t value;
};

extern const char drm_text[];
extern const struct drm_member drm_members[];
extern const struct drm_struct drm_structs[];
extern const struct drm_choice drm_choices[];
extern const struct drm_ioctl drm_ioctls[];
extern const struct drm_family drm_families[];
extern const struct drm_enum drm_enums[];
extern const struct drm_value drm_values[];
extern const uint32_t drm_objects[]; /* names, in drm_text */

/* Generated: DRM_STRUCT_COUNT and the like, enum drm_hook. */
#include "drm_counts.h"

/* By these two a file's ioctls are found: its family, which may be none (DRM_FAMILY_COUNT), and for
 * DRM files the one that all drivers share. */
uint32_t drm_family_of_driver(const char *driver);
uint32_t drm_family_of_node(enum drm_node node);

/* To be called before the next one; drm_describe() does. Again: the same. */
void drm_tables_index(void);

/* The row of an ioctl on a file of `family`: with exactly this number, else with its type and
 * number, the sizes being of another version. NULL: unknown. `request` as the kernel takes it: 32
 * bits. */
const struct drm_ioctl *drm_ioctl_find(enum drm_node node, uint32_t family, uint32_t request);

/* By a record's type (id). NULL: none. */
const struct drm_ioctl *drm_ioctl_numbered(uint32_t id);

/* Place of the struct of this name; DRM_STRUCT_COUNT: none. */
uint32_t drm_struct_named(const char *name);

/* Place of a union's member for this value of its selector, or DRM_NO_MEMBER. */
uint32_t drm_choose(const struct drm_struct *type, uint64_t selector);

/* Structs of a chain at most, when it is recorded and when it is made again: i915 follows no more. */
#define DRM_CHAIN_MAX 512u

/* The struct that all of a chain begin with. */
static inline const struct drm_struct *drm_chain_header(const struct drm_struct *chain)
{
    return &drm_structs[drm_members[chain->first + chain->otherwise].type];
}

/* The little-endian number of `size` bytes, 1, 2, 4 or 8, at `at`. */
static inline uint64_t drm_load(const void *at, size_t size)
{
    uint64_t eight;
    uint32_t four;
    uint16_t two;

    /* memcpy() of a size that is not known is a call; nearly all are 4 */
    if (size == 4) {
        __builtin_memcpy(&four, at, 4);
        return four;
    }
    if (size == 8) {
        __builtin_memcpy(&eight, at, 8);
        return eight;
    }
    if (size == 1)
        return *(const uint8_t *)at;
    __builtin_memcpy(&two, at, 2);
    return two;
}

/* Set a member of a struct, where it has such; the number in one, 0 where it has no such. */
void drm_member_set(uint8_t *memory, const struct drm_struct *type, const char *name,
                    uint64_t value);
uint64_t drm_member_get(const uint8_t *memory, const struct drm_struct *type, const char *name);

/* i915's submits have descriptors of sync files in rsvd2, as their flags say: one that goes in, in the
 * lower half, and one that comes out in the upper one. The bits of the halves; 0: none. */
#define DRM_FENCE_IN  0xffffffffull
#define DRM_FENCE_OUT 0xffffffff00000000ull
uint64_t drm_fences_of(const struct drm_ioctl *row, const void *argument);

#define DRM_IDLE_SIZE 64u

/* The ioctl of a driver that waits until an object is idle, and its argument; without patience it
 * only asks. NULL: it has none. */
const struct drm_ioctl *drm_idle_call(uint32_t family, uint32_t object, bool is_patient,
                                      uint8_t argument[DRM_IDLE_SIZE]);

static inline uint64_t drm_load_member(const struct drm_struct *type, uint32_t place,
                                       const void *memory)
{
    const struct drm_member *m = &drm_members[type->first + place];

    return drm_load((const uint8_t *)memory + m->offset, m->size);
}

/* Returns the sum of `count` numbers, for DRM_COUNT_SUM; UINT32_MAX stands for it and for more. */
uint64_t drm_sum(const uint32_t *numbers, uint64_t count);

/* How many values, by what the members in `memory` say: a struct of `type`, the member's own or
 * the one around it. Not of DRM_COUNT_SUM. */
uint64_t drm_count(const struct drm_struct *type, const struct drm_member *m, const void *memory);

/* Bytes of one value. */
static inline size_t drm_value_size(const struct drm_member *m)
{
    return m->kind == DRM_KIND_STRUCT ? drm_structs[m->type].size : m->size;
}

#endif
