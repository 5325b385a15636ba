/* SPDX-License-Identifier: Apache-2.0
 *
 * Code objects that programs give to the driver: PTX text, cubin (ELF), fatbin, fatbin wrapper. The
 * API passes an address and no size; and drivers before CUDA 12.4 cannot be asked what parameters a
 * function has. Both answers are in the image.
 *
 * Layout facts: PTX ISA (".entry", ".param"); ELF64; a cubin's section ".nv.info.FUNCTION" holds
 * attributes {u8 format, u8 attribute, u16 size, data}, of which EIATTR_KPARAM_INFO (0x17) has
 * {u32 index, u16 ordinal, u16 offset, u32 bits} with the size in bits 18..31; a fatbin is
 * {u32 0xba55ed50, u16 version, u16 header size, u64 size} and entries.
 *
 * The bytes may be hostile: nothing is read outside of [data, data + size), and sizes are limited.
 * No memory is allocated with malloc.
 */
#ifndef API_CUDA_IMAGE_H
#define API_CUDA_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cuda_image {
    const void *data; /* not a wrapper, but what it points to */
    uint64_t size;    /* bytes; of PTX with its terminating NUL */
};

/* Find out what the program passed. For an image that the driver accepted: reads as far as the
 * image's own headers say. False: not a format that we know. */
bool cuda_image_measure(const void *image, struct cuda_image *out);

/* Tests whether everything that an image says of itself lies within its `size` bytes; a stranger
 * may have written it. Drivers are given no size and believe what the image says. A wrapper is
 * none: it points into another process. What is neither fatbin, ELF nor wrapper is for the driver
 * to judge, as text, if a NUL follows. */
bool cuda_image_is_whole(const void *data, uint64_t size);

/* CUDA's limit is 32764 bytes of parameters. */
#define CUDA_PARAM_COUNT_MAX  4096u
#define CUDA_PARAM_OFFSET_MAX 32764u

/* Types that PTX gives its parameters; a cubin gives none. */
enum cuda_param_type {
    CUDA_PARAM_BITS = 0, /* unknown, an address, or an array */
    CUDA_PARAM_UNSIGNED,
    CUDA_PARAM_SIGNED,
    CUDA_PARAM_FLOAT,
    CUDA_PARAM_POINTER, /* PTX says so: ".ptr" */
};

struct cuda_param {
    uint16_t offset, size; /* bytes, in the argument block */
    uint16_t type;         /* enum cuda_param_type */
};

/* One function and its parameters, in order. */
struct cuda_signature {
    const char *name; /* `name_size` bytes, no terminator */
    size_t name_size;
    const struct cuda_param *params;
    uint32_t count;
};

/* Call `visit` once for each function of the image; of a fatbin, for each function of each member
 * (the same function may come several times, for several devices; it has the same parameters).
 * What `visit` is given lives only during its call. Returns the number of calls. */
uint32_t cuda_image_functions(const void *data, uint64_t size,
                              void (*visit)(void *context, const struct cuda_signature *signature),
                              void *context);

/* Call `visit` once for each variable in global or constant memory that the image defines; of a
 * fatbin, of each member (the same name may come several times). `name` has no terminator. */
void cuda_image_variables(const void *data, uint64_t size,
                          void (*visit)(void *context, const char *name, size_t name_size),
                          void *context);

/* Code of one kind: a member of a fatbin, unpacked, or an image that is no fatbin. */
struct cuda_member {
    bool is_ptx; /* else ELF */
    bool is_packed;
    unsigned architecture; /* as the fatbin says: 70 for sm_70; 0: no fatbin */
    const uint8_t *data;   /* of PTX without its terminator */
    size_t size;
};

/* Call `visit` once for each member. What it is given lives only during its call. */
void cuda_image_members(const void *data, uint64_t size,
                        void (*visit)(void *context, const struct cuda_member *member),
                        void *context);

/* Tests whether the bytes begin as a fatbin does. */
bool cuda_image_is_fatbin(const void *data, uint64_t size);

/* Inside: one function per format. */
struct cuda_image_visitor {
    /* One of these: */
    void (*visit)(void *context, const struct cuda_signature *signature);
    void (*visit_variable)(void *context, const char *name, size_t name_size);
    void (*visit_member)(void *context, const struct cuda_member *member);
    void *context;
    uint32_t count;
    struct cuda_param *params; /* room for CUDA_PARAM_COUNT_MAX */
};
void cuda_ptx_functions(const char *text, size_t size, struct cuda_image_visitor *visitor);
void cuda_elf_functions(const uint8_t *data, size_t size, struct cuda_image_visitor *visitor);
void cuda_ptx_variables(const char *text, size_t size, struct cuda_image_visitor *visitor);
void cuda_elf_variables(const uint8_t *data, size_t size, struct cuda_image_visitor *visitor);
uint64_t cuda_elf_measure(const uint8_t *data, uint64_t limit);
bool cuda_elf_is_whole(const uint8_t *data, uint64_t size);

#endif
