/* SPDX-License-Identifier: Apache-2.0
 *
 * Layout of Vulkan's structs and commands, as tables that api/gen/vulkan_tables.py generates from
 * the registry and vulkan.api. One interpreter encodes with them, one decodes, one describes them
 * to a reader of the trace: there is no code per struct.
 *
 * The tables hold no pointers, so that they cost a process that has libts_capture.so but no Vulkan
 * nothing. Names are places in vk_names. Everything here is constant and may be used on any thread.
 */
#ifndef API_VULKAN_TABLES_TABLES_H
#define API_VULKAN_TABLES_TABLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Form of one value in memory. Comments: bytes, type in the trace (docs/FORMAT.md 8). */
enum vk_kind {
    VK_KIND_U8,       /* 1 UINT */
    VK_KIND_U16,      /* 2 UINT */
    VK_KIND_U32,      /* 4 UINT */
    VK_KIND_U64,      /* 8 UINT */
    VK_KIND_I8,       /* 1 INT */
    VK_KIND_I16,      /* 2 INT */
    VK_KIND_I32,      /* 4 INT */
    VK_KIND_I64,      /* 8 INT */
    VK_KIND_F32,      /* 4 F32 */
    VK_KIND_F64,      /* 8 F64 */
    VK_KIND_HEX32,    /* 4 HEX */
    VK_KIND_HEX64,    /* 8 HEX */
    VK_KIND_SIZE,     /* 8 SIZE */
    VK_KIND_BOOL,     /* 4 BOOL */
    VK_KIND_ENUM,     /* 4 ENUM; type: place in vk_enums */
    VK_KIND_FLAGS32,  /* 4 FLAGS; type: place in vk_enums */
    VK_KIND_FLAGS64,  /* 8 FLAGS */
    VK_KIND_HANDLE,   /* 8 HANDLE; type: object type */
    VK_KIND_OBJECT,   /* 8 HANDLE whose object type another member says (count: its place) */
    VK_KIND_ADDRESS,  /* 8 DEVPTR */
    VK_KIND_POINTER,  /* 8 HOSTPTR: an address of the program, never followed */
    VK_KIND_FUNCTION, /* 8 HOSTPTR: code of the program; NULL when decoded */
    VK_KIND_BITS,     /* 4 UINT: a bit field in a u32; count: shift | width << 8 */
    VK_KIND_CHAR,     /* 1 STRING */
    VK_KIND_BYTE,     /* 1 BYTES */
    VK_KIND_STRUCT,   /* STRUCT; type: place in vk_structs */
    VK_KIND_CHAIN,    /* a pNext: chain of STRUCTs */
};

/* How the values of a member lie. */
enum vk_form {
    VK_FORM_ONE,      /* a value in the struct itself */
    VK_FORM_ARRAY,    /* an array in the struct */
    VK_FORM_POINTER,  /* a pointer to values that lie one after the other */
    VK_FORM_POINTERS, /* a pointer to pointers to one value each (of CHAR: to strings) */
    VK_FORM_ROWS,     /* a pointer to pointers to arrays, as long as vk_rows() says */
};

/* How many there are. */
enum vk_count_kind {
    VK_COUNT_ONE,
    VK_COUNT_FIXED,    /* count */
    VK_COUNT_MEMBER,   /* member of place `count` has the number (or points to it) */
    VK_COUNT_FUNCTION, /* vk_count(count) */
    VK_COUNT_STRING,   /* up to the terminating zero */
    VK_COUNT_SELECTOR, /* of a union: one; member of place `count` says which is there */
};

enum vk_member_flag {
    VK_MEMBER_OMIT = 1,     /* not in the trace; when decoded: zero, of sType: the struct's */
    VK_MEMBER_OUT = 2,      /* argument: written by the implementation */
    VK_MEMBER_OPTIONAL = 4, /* a pointer that may be NULL where there could be values */
    VK_MEMBER_FD = 8,       /* number of a file descriptor */
};

/* A member of a struct, or an argument of a command. */
struct vk_member {
    uint32_t name;      /* place in vk_names */
    uint16_t offset;    /* in the struct, or in the struct of arguments */
    uint16_t type;      /* see enum vk_kind */
    uint16_t count;     /* see enum vk_count_kind */
    uint16_t list;      /* argument: 1 + place in vk_lists of what its field holds; 0: no list */
    uint8_t kind;       /* enum vk_kind */
    uint8_t form;       /* enum vk_form */
    uint8_t count_kind; /* enum vk_count_kind */
    uint8_t rule;       /* 1 + place in the rules of valid.c; 0: always valid */
    uint8_t flags;      /* enum vk_member_flag */
    uint8_t role;       /* argument: enum sbt_role */
    uint16_t stride;    /* argument: 1 + place of the argument with the bytes between values, 0:
                           they are dense. Of form ROWS: for vk_rows(). Of form ARRAY: 1 + place of
                           the member that says how many values count, 0: all of them */
};

enum vk_struct_flag {
    VK_STRUCT_UNION = 1,
    VK_STRUCT_TYPED = 2,    /* begins with sType and pNext */
    VK_STRUCT_RETURNED = 4, /* only the implementation writes it */
};

struct vk_struct {
    uint32_t name;
    uint32_t size;  /* bytes in memory */
    int32_t stype;  /* VkStructureType, if TYPED */
    uint16_t id;    /* in traces: vulkan.ids */
    uint16_t first; /* of its members in vk_members */
    uint16_t member_count;
    uint16_t flags; /* enum vk_struct_flag */
    uint16_t
        choice_first; /* of a union: in vk_choices, which value of its selector is which member */
    uint16_t choice_count;
    uint16_t choose; /* of a union without selector: 1 + place of the member to take */
};

struct vk_choice {
    int32_t value;
    uint16_t member; /* place in the union */
};

/* A command; its arguments lie in struct vk_args_NAME (vulkan_args.h). */
struct vk_command {
    uint32_t name;
    uint16_t id;    /* in traces: vulkan.ids */
    uint16_t first; /* of its arguments in vk_arguments */
    uint16_t argument_count;
    uint16_t args_size; /* bytes of struct vk_args_NAME */
    uint32_t family;    /* name of the version or extension that brought it */
    uint8_t kind;       /* enum sbt_kind */
    uint8_t status;     /* enum tsm_call_status */
    uint8_t schema_flags;
    uint8_t replay; /* enum vk_replay */
    uint8_t flags;  /* enum vk_command_flag */
};

enum vk_command_flag {
    VK_COMMAND_IS_SHARED = 1,  /* the handles that it gives it may have given before */
    VK_COMMAND_IS_PARTIAL = 2, /* an error may have made some of the handles all the same */
    VK_COMMAND_IS_TIMED = 4,   /* recorded into a command buffer, and work of its own */
};

enum vk_replay {
    VK_REPLAY_NONE,      /* not repeated */
    VK_REPLAY_GENERATED, /* vk_call() with its decoded arguments */
    VK_REPLAY_HOOK,      /* by hand */
};

/* A list as the value of a field: a struct in the trace with one member, "items". */
struct vk_list {
    uint32_t name; /* "VkSubmitInfo[]" */
    uint16_t id;
    uint16_t argument; /* an argument (place in vk_arguments) that holds one */
};

struct vk_enum {
    uint32_t name;
    uint16_t first; /* in vk_values */
    uint16_t count;
};

struct vk_value {
    int64_t value;
    uint32_t name;
};

struct vk_stype {
    int32_t stype;
    uint16_t place; /* in vk_structs */
};

struct vk_struct_id {
    uint16_t id;
    uint16_t place; /* in vk_structs */
};

/* Made from the registry: sorted by name, but for commands by id, vk_stypes by value, vk_struct_ids
 * by id. */
extern const char vk_names[];
extern const struct vk_struct vk_structs[];
extern const struct vk_member vk_members[];
extern const struct vk_choice vk_choices[];
extern const struct vk_stype vk_stypes[];
extern const struct vk_struct_id vk_struct_ids[];
extern const struct vk_command vk_commands[];
extern const struct vk_member vk_arguments[];
extern const struct vk_list vk_lists[];
extern const struct vk_enum vk_enums[];
extern const struct vk_value vk_values[];
extern const uint32_t vk_objects[]; /* names of object types by number; 0: no such number */
extern const uint16_t vk_struct_count, vk_stype_count, vk_command_count, vk_list_count,
    vk_enum_count, vk_object_count;

/* Number of values, for VK_COUNT_FUNCTION; `memory`: the struct (or arguments) it is a member of.
 */
uint64_t vk_count(uint16_t function, const void *memory);

/* Values in row `row` of an argument of form ROWS. */
uint64_t vk_rows(uint16_t function, const void *memory, uint64_t row);

/* The VkObjectType `type` as our object type; 0 when unknown. */
uint32_t vk_object_of(uint32_t type);

/* The struct of this VkStructureType, NULL when unknown. */
const struct vk_struct *vk_struct_of(int32_t stype);

/* The struct with this number in traces, NULL when unknown. */
const struct vk_struct *vk_struct_numbered(uint32_t id);

/* By name, NULL when there is none. For tests and tools: searches. */
const struct vk_struct *vk_struct_named(const char *name);

/* The command of this id (SBT_TYPE_CALL of a record's type), NULL when unknown. */
const struct vk_command *vk_command_of(uint32_t id);

static inline const char *vk_name(uint32_t place)
{
    return vk_names + place;
}

/* Bytes of one value of `member` in memory. */
size_t vk_value_size(const struct vk_member *member);

/* Numbers of 1, 2, 4 or 8 bytes in memory. */
static inline uint64_t vk_load(const void *memory, size_t size)
{
    uint64_t wide;
    uint32_t word;
    uint16_t half;

    switch (size) {
    case 8:
        memcpy(&wide, memory, sizeof(wide));
        return wide;
    case 4:
        memcpy(&word, memory, sizeof(word));
        return word;
    case 2:
        memcpy(&half, memory, sizeof(half));
        return half;
    default:
        return *(const uint8_t *)memory;
    }
}

static inline void vk_store(void *memory, size_t size, uint64_t value)
{
    memcpy(memory, &value, size);
}

/* The number in a sibling of a member: its own, or, of a pointer, that which it points to. */
uint64_t vk_sibling(const struct vk_member *siblings, uint16_t place, const void *memory);

/* How many values the member has in `memory`: of ARRAY, POINTER and POINTERS. Not for STRING. */
uint64_t vk_member_count(const struct vk_member *member, const struct vk_member *siblings,
                         const void *memory);

/* How many values of the member, an ARRAY, count: the driver leaves the others alone. */
uint64_t vk_array_count(const struct vk_member *member, const struct vk_member *siblings,
                        const void *memory);

/* Bytes from one value of an array or POINTER to the next. */
uint64_t vk_step(const struct vk_member *member, const struct vk_member *siblings,
                 const void *memory);

/* Returns 1 + the place of the member that the union holds; 0: no known one. `selector`: value of
 * the struct's other member that selects it. */
uint32_t vk_choose(const struct vk_struct *type, int64_t selector);

/* ---- what is valid: valid.c ---------------------------------------------------------- */

/* A struct (or the arguments of a command) that is being read, and what it lies in. */
struct vk_scope {
    const struct vk_struct *type;     /* NULL: arguments */
    const struct vk_command *command; /* NULL: a struct */
    const void *memory;
    const struct vk_scope *up; /* the struct that it is in or that points to it; NULL for none. Of a
                                  struct in a pNext chain: the one with the pNext */
};

/* Tests whether a member that the specification sometimes ignores counts here. Read it only where
 * this returns true. `rule` is the member's. */
bool vk_valid(uint8_t rule, const struct vk_scope *scope);

#endif
