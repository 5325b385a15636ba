/* SPDX-License-Identifier: Apache-2.0
 *
 * GPU files without a GPU. Preloaded after libts_capture.so, this library answers for
 * /dev/dri/renderD128: FAKE_DRM names the driver that it stands in for. An open file is a memfd:
 * its first part holds the file's objects, the rest their memory, so that mmap, dup, fork and
 * passing it on work as with any file.
 *
 * Each driver's device is one that stores numbers, and nothing else: enough to see that the right
 * commands reached the right memory.
 */
#ifndef TESTS_DRM_FAKE_DRM_H
#define TESTS_DRM_FAKE_DRM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FAKE_OBJECT_MAX 4096u
#define FAKE_MEMORY     (1u << 20) /* where objects' memory begins in the file */
#define FAKE_FILE_SIZE  (1ull << 32)

struct fake_object {
    uint32_t used;
    uint32_t res_handle; /* virtio-gpu */
    uint64_t size;
    uint64_t offset;  /* in the file */
    uint64_t address; /* for the device; 0 none */
    void *user; /* the program's memory, in place of the file's; of the process that gave it */
};

/* At the start of the file. */
struct fake_file {
    uint32_t next_handle, next_context, next_syncobj, next_fence;
    uint64_t next_offset;
    uint64_t submit_count, done_count;
    uint64_t digest;                             /* of what i915 has read of extensions */
    uint32_t node;                               /* place in fake_drm.c's list of nodes */
    struct fake_object objects[FAKE_OBJECT_MAX]; /* by handle */
};

struct fake_driver {
    const char *name;
    int major, minor, patch;
    /* 0 or more, or a negative errno. */
    int (*ioctl)(struct fake_file *file, int fd, uint32_t request, void *argument);
};

extern const struct fake_driver fake_amdgpu, fake_i915, fake_nouveau, fake_vgem, fake_virtgpu;
extern const struct fake_driver fake_xe; /* where the headers know it */

/* A new object; 0: no room. */
uint32_t fake_object_make(struct fake_file *file, uint64_t size);
/* ... whose memory is the program's. */
uint32_t fake_object_user(struct fake_file *file, uint64_t address, uint64_t size);
/* Maps `size` bytes of an object, as mmap() does; 0: not possible. */
uint64_t fake_object_map(int fd, const struct fake_object *object, uint64_t offset, uint64_t size);
struct fake_object *fake_object_of(struct fake_file *file, uint32_t handle);

/* `size` bytes at an address of the device, which must lie in one object; NULL: nothing is there.
 */
void *fake_at_address(struct fake_file *file, uint64_t address, uint64_t size);
/* ... of an object. */
void *fake_in_object(struct fake_file *file, const struct fake_object *object, uint64_t offset,
                     uint64_t size);

/* The device stores bytes. With FAKE_DRM_WRONG the first is not what it should be; with
 * FAKE_DRM_IDLE nothing is stored, and with FAKE_DRM_LATE not before somebody waits for it, and
 * then what `from` holds at that time. */
void fake_store(void *at, const void *from, size_t size);
/* ... what `from` holds now. */
void fake_store_copy(void *at, const void *from, size_t size);
/* ... a number that says that the device is done: never wrong. */
void fake_store_fence(void *at, const void *from, size_t size);

/* Is all that was stored there? Somebody who is patient waits for that. */
bool fake_is_done(bool is_patient);
void fake_finish(void);

/* Numbers submits: later stores belong to this one; all up to one number are visible. */
void fake_submit(uint64_t number);
bool fake_is_finished(uint64_t number);
void fake_finish_until(uint64_t number);

/* An ioctl that waits, or asks; -ENOTTY: it is none, or it has waited. */
int fake_wait(struct fake_file *file, const char *driver, uint32_t request, void *argument);
struct sync_file_info;
int fake_fence_info(struct sync_file_info *info);

/* A system call past libc, whose functions and syscall() are the recorder's. */
long fake_call(long number, long a, long b, long c, long d, long e, long f);

/* Carries out the stores of a batch of i915 or xe, at an address of the device. 0, or a negative
 * errno. */
int fake_i915_run(struct fake_file *file, uint64_t address);

/* A descriptor of a fence that signals when the device is done. */
int fake_fence_fd(void);

#endif
