/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernels for the software GPU's HSA agent. Its instruction set is that of the machine it runs on
 * (ISA "tracesmith-x86_64--"): a code object is a shared object that any compiler makes,
 *
 *     cc -shared -fPIC -O2 -o kernels.hsaco kernels.c
 *
 * in which each kernel has a descriptor under the name that programs look up, NAME.kd:
 *
 *     struct scale_arguments {
 *         float *data;
 *         float factor;
 *     };
 *
 *     static void scale(const void *arguments, const struct tracesmith_work_item *item)
 *     {
 *         const struct scale_arguments *a = arguments;
 *
 *         a->data[item->global[0]] *= a->factor;
 *     }
 *
 *     TRACESMITH_HSA_KERNEL(scale, struct scale_arguments, 0,
 *                           TRACESMITH_HSA_POINTER(struct scale_arguments, data),
 *                           TRACESMITH_HSA_VALUE(struct scale_arguments, factor));
 *
 * Work-items of a grid run one after the other, in order, on the stack of the queue's thread. A
 * kernel with TRACESMITH_HSA_BARRIER_KERNEL gives each a stack of its own, and may call
 *
 *     tracesmith_hsa_barrier(item);
 *
 * behind which all work-items of the work-group have come that far (or have ended). Other exported
 * data of the shared object are the executable's variables. An argument that is an image's or a
 * sampler's handle is a pointer to a struct tracesmith_hsa_image or ..._sampler:
 * TRACESMITH_HSA_IMAGE says that it is one. A kernel may use the C library; it should not, because
 * what it does there is no part of a trace, and a replay runs it in a sandbox, where it may only
 * compute and every other system call ends it (SECURITY.md).
 *
 * Agent dispatch packets: the software GPU performs the functions of enum tracesmith_hsa_function.
 * Another number in a packet's type is an error, which ends the queue.
 *
 * Code objects for other instruction sets (gfx906, ...) are not run: loading one fails, or, with
 * TS_EMU_HSA_ISA, running its kernels.
 */
#ifndef TRACESMITH_HSA_KERNEL_H
#define TRACESMITH_HSA_KERNEL_H

#include <stddef.h>
#include <stdint.h>

#define TRACESMITH_HSA_ISA          "tracesmith-x86_64--"
#define TRACESMITH_HSA_VENDOR       "TraceSmith"
#define TRACESMITH_HSA_KERNEL_MAGIC 0x314b5354u /* "TSK1" */
#define TRACESMITH_HSA_ARGUMENT_MAX 32u

/* One work-item's place. All counts are of work-items, but `group`, which counts work-groups. */
struct tracesmith_work_item {
    uint32_t global[3]; /* in the grid */
    uint32_t local[3];  /* in its work-group */
    uint32_t group[3];  /* the work-group's place */
    uint32_t grid_size[3];
    uint32_t group_size[3]; /* as dispatched; a grid's last work-groups may be smaller */
    uint32_t reserved;
    void *group_memory; /* of its work-group: as many bytes as the dispatch asked for */
    void (*barrier)(const struct tracesmith_work_item *item); /* see tracesmith_hsa_barrier() */
};

/* Wait for the other work-items of the work-group. Without a stack of its own for each that is an
 * error, which ends the queue. */
static inline void tracesmith_hsa_barrier(const struct tracesmith_work_item *item)
{
    item->barrier(item);
}

/* Image: the target of an image's handle. HIP copies its first 48 bytes into a texture object. */
struct tracesmith_hsa_image {
    void *data;
    uint32_t width, height, depth, array_size;      /* pixels; 0 where the geometry has none */
    uint32_t geometry, channel_type, channel_order; /* as in hsa_ext_image.h */
    uint32_t pixel_size;                            /* bytes */
    uint32_t row_pitch, slice_pitch;                /* bytes */
};

/* Sampler: the target of a sampler's handle, with the fields of hsa_ext_sampler_descriptor_t. */
struct tracesmith_hsa_sampler {
    uint32_t coordinate_mode, filter_mode, address_mode;
    uint32_t reserved[5];
};

/* A pixel, which lies in the image. Layers are rows of arrays of one dimension, else slices. */
static inline void *tracesmith_hsa_pixel(const struct tracesmith_hsa_image *image, uint32_t x,
                                         uint32_t y, uint32_t z)
{
    return (uint8_t *)image->data + (uint64_t)x * image->pixel_size +
           (uint64_t)y * image->row_pitch + (uint64_t)z * image->slice_pitch;
}

/* The type of an agent dispatch packet; arg[] and return_address are the packet's. */
enum tracesmith_hsa_function {
    TRACESMITH_HSA_FUNCTION_NONE = 0,
    TRACESMITH_HSA_FUNCTION_STORE =
        1,                            /* arg[1] to the uint64_t at arg[0]; returns what was there */
    TRACESMITH_HSA_FUNCTION_ADD = 2,  /* arg[1] to it, atomically; returns what was there */
    TRACESMITH_HSA_FUNCTION_COPY = 3, /* arg[2] bytes to arg[0] from arg[1]; returns arg[0] */
    TRACESMITH_HSA_FUNCTION_FILL =
        4, /* arg[2] bytes at arg[0] with the byte arg[1]; returns arg[0] */
};

typedef void (*tracesmith_hsa_entry)(const void *arguments,
                                     const struct tracesmith_work_item *item);

enum tracesmith_hsa_argument_kind {
    TRACESMITH_HSA_ARGUMENT_END = 0,
    TRACESMITH_HSA_ARGUMENT_VALUE = 1,   /* bytes that are no address */
    TRACESMITH_HSA_ARGUMENT_POINTER = 2, /* an address of memory */
    TRACESMITH_HSA_ARGUMENT_IMAGE = 3,   /* the handle of an image or a sampler */
};

struct tracesmith_hsa_argument {
    uint32_t kind;
    uint32_t offset, size; /* in the argument block, bytes */
};

/* Kernel descriptor: the data of the symbol NAME.kd. The file must hold it as it is here, except
 * for `entry`, which may need a relocation: tools read it without loading the file. */
struct tracesmith_hsa_kernel {
    uint32_t magic;          /* TRACESMITH_HSA_KERNEL_MAGIC */
    uint32_t arguments_size; /* of the argument block, bytes */
    uint32_t group_size;     /* group memory that the kernel itself needs, bytes */
    uint32_t private_size; /* bytes of each work-item's own stack, at most 1 MiB; 0: it has none */
    tracesmith_hsa_entry entry;
    struct tracesmith_hsa_argument arguments[TRACESMITH_HSA_ARGUMENT_MAX]; /* up to an END */
};

#define TRACESMITH_HSA_POINTER(type, member)                                                       \
    {                                                                                              \
        TRACESMITH_HSA_ARGUMENT_POINTER, offsetof(type, member), sizeof(void *)                    \
    }
#define TRACESMITH_HSA_IMAGE(type, member)                                                         \
    {                                                                                              \
        TRACESMITH_HSA_ARGUMENT_IMAGE, offsetof(type, member), sizeof(void *)                      \
    }
#define TRACESMITH_HSA_VALUE(type, member)                                                         \
    {                                                                                              \
        TRACESMITH_HSA_ARGUMENT_VALUE, offsetof(type, member), sizeof(((type *)0)->member)         \
    }

/* A descriptor of the kernel `name`; `type` is that of its arguments. */
#define TRACESMITH_HSA_KERNEL(name, type, group_size, ...)                                         \
    TRACESMITH_HSA_BARRIER_KERNEL(name, type, group_size, 0, __VA_ARGS__)

/* The same for one that calls tracesmith_hsa_barrier(), with stacks of `stack_size` bytes. */
#define TRACESMITH_HSA_BARRIER_KERNEL(name, type, group_size, stack_size, ...)                     \
    extern const struct tracesmith_hsa_kernel name##_kd __asm__(#name ".kd");                      \
    __attribute__((visibility("default"), used)) const struct tracesmith_hsa_kernel name##_kd = {  \
        TRACESMITH_HSA_KERNEL_MAGIC, sizeof(type), group_size, stack_size, name, {__VA_ARGS__}}

#endif
