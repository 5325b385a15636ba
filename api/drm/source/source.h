/* SPDX-License-Identifier: Apache-2.0
 *
 * Inside the DRM source. It follows descriptors of GPU files (file.c), records ioctls on
 * them (ioctl.c, run.h), mappings of them (map.c), memory that
 * became one (udmabuf.c), waits for descriptors (poll.c) and names streams
 * (stream.c). The functions of libc that it replaces are in hook.c, numbers
 * of syscall() in number.c; what both have noticed in notice.h.
 *
 * Everything here runs inside the traced program, perhaps before its constructors, in signal
 * handlers, and in allocators: no malloc, no lock that the program may hold, errno preserved.
 */
#ifndef API_DRM_SOURCE_SOURCE_H
#define API_DRM_SOURCE_SOURCE_H

#include "api/drm/describe.h"
#include "api/drm/tables.h"
#include "capture/capture.h"
#include "capture/lock.h"

#include <sys/types.h>

/* ---- libc's own -------------------------------------------------------------------------------
 */

/* `by_number`: the program called syscall(). */
int drm_libc_ioctl(int fd, unsigned long request, void *argument, bool by_number);

/* libc's syscall(). */
long drm_libc_syscall(long number, long a, long b, long c, long d, long e, long f);

/* ---- locks ------------------------------------------------------------------------------------
 */

/* Calls of a signal handler's must not come to the lock while it is held. */
static inline void drm_enter(struct tsm_lock *lock)
{
    tsm_inside_enter();
    tsm_lock_take(lock);
}

static inline void drm_leave(struct tsm_lock *lock)
{
    tsm_lock_give(lock);
    tsm_inside_leave();
}

/* ---- files ------------------------------------------------------------------------------------
 */

/* Facts about a descriptor, in one word. */
struct drm_file {
    uint8_t node;   /* enum drm_node */
    uint8_t family; /* of its own ioctls: place in drm_families, DRM_FAMILY_COUNT none;
                       DRM_FAMILY_HIDDEN */
    bool told;      /* the trace has its DRM_RECORD_FILE */
    bool known;     /* somebody has looked */
    uint32_t id;    /* stable id of the file; shared by its duplicates. 0: no GPU file */
};

/* Family of a descriptor without a node whose name could not be read: it may be of a GPU file. */
#define DRM_FAMILY_HIDDEN 0xff

/* Says once that ioctls on such a descriptor are not recorded, and marks the trace if there is one.
 */
void drm_file_hidden(int fd);

/* Descriptors below this are remembered; others are looked at each time. */
#define DRM_FD_MAX 65536

/* Returns the facts about a descriptor, and asks for them when nothing is known. */
struct drm_file drm_file_of(int fd);

/* ... looking in any case: it may have been closed, and given out again, past libc. */
struct drm_file drm_file_mapped(int fd);

/* ... without looking: node DRM_NODE_NONE when nothing is known. */
struct drm_file drm_file_known(int fd);

/* The descriptor was opened, at `path`; received from elsewhere; made by an ioctl as a `node`. */
void drm_file_opened(int fd, const char *path);
void drm_file_received(int fd);
void drm_file_created(int fd, enum drm_node node);

/* `to` is another descriptor of `from` from now on; of what `to` was before nothing is known. */
void drm_file_duplicated(int from, int to);

/* Forgets a descriptor that is about to be closed. Returns the id of its file, 0 where it was no
 * GPU file of this process. */
uint32_t drm_file_closing(int fd);

/* Returns the highest descriptor that anything was known of. */
unsigned drm_file_highest(void);

/* Is this the program's first thread? One that is not has others beside it. */
bool drm_is_first_thread(void);

/* This thread has descriptors of its own from now on, of which the others know nothing, and we
 * neither. */
void drm_files_unshared(void);

/* An ioctl that its file should have understood was not: is the descriptor another file's, since a
 * close that nobody saw? Then nothing is known of it any more. */
void drm_file_doubted(int fd);

/* Nothing is known of the descriptor any more. */
void drm_file_forget(int fd);

/* Ioctls of ours: the kernel counts them, too. */
uint64_t drm_asked_count(void);
void drm_file_asked(void);

/* Its DRM_RECORD_FILE is in the trace, or is now. */
void drm_file_tell(int fd, struct drm_file file, enum drm_how how);

/* Functions that file.c calls of those who keep something about files (source.c): a table and no
 * calls, for it is below them; and constant, for the first file may come before any constructor. */
struct drm_file_events {
    /* A process that no handler of fork() told of its birth has its first file. */
    void (*born)(void);
    /* The process has got a file, whose record is written. */
    void (*used)(void);
};
extern const struct drm_file_events drm_file_events;

/* In the child of a fork; drm_forked() is all of these. A child that no handler of fork() told is
 * noticed when it looks at its first file. */
void drm_forked(void);
void drm_files_forked(void);

/* One of its descriptors; -1: there is none. */
int drm_file_descriptor_of(uint32_t id);

/* GPU files that were found so far. */
uint32_t drm_file_count(void);

/* ---- whether ----------------------------------------------------------------------------------
 */

/* tsm_call_begin() for a record of DRM: false when it is not to be recorded, by TS_DRM, too. */
bool drm_begin(struct tsm_call *call, uint32_t record);

/* Calls on GPU files that were not recorded because the program uses another API. */
uint64_t drm_unrecorded_count(void);

/* Ioctls of DRM's type that came here and were not recorded, whatever the reason. */
uint64_t drm_seen_only_count(void);

/* ---- ioctls -----------------------------------------------------------------------------------
 */

/* Make the call and record it. `file`: of `fd`, a GPU file. */
int drm_ioctl_recorded(int fd, struct drm_file file, uint32_t request, void *argument,
                       bool by_number);

/* Make the call alone: it is not to be recorded, or `fd` is no GPU file, perhaps closed. */
int drm_ioctl_passed(int fd, uint32_t request, void *argument, bool by_number);

/* Interrupted calls that nobody tried again and that no record tells. */
uint64_t drm_interrupted_count(void);

/* Structs linked to arguments of which only the header is known. */
uint64_t drm_unknown_extension_count(void);

/* ---- mappings ---------------------------------------------------------------------------------
 */

void drm_mapped(int fd, struct drm_file file, const void *address, size_t size, int prot, int flags,
                uint64_t offset);
/* Memory of the program that the device is going to use, as `object` (0: none); or a mapping of an
 * object that a call has made by itself. */
struct drm_shared {
    uint64_t address, size;
};
void drm_shared(struct drm_file file, uint32_t object, struct drm_shared memory, bool is_user);
/* The object is about to be freed, and with it what the device knows of the program's memory. */
void drm_object_closing(uint32_t file, uint32_t object);
bool drm_has_user_memory(void);

/* A mapping of a GPU file, or memory of the program that it gave to one. */
struct drm_map {
    uintptr_t start, end;
    uint32_t file, object;
    uint64_t offset;
    int prot, flags;  /* as mmap() and mprotect() were told */
    bool is_followed; /* what is written there concerns device or program */
    bool tracked;     /* ... and can be read: host memory that the device reads */
    bool is_alias;    /* the memory may be written through other mappings */
    bool is_user;     /* no mapping of ours to look after: memory of the program */
    bool is_told;     /* its record is in the trace: hashes may follow */
};

#define DRM_TAKEN_MAX 4u

/* Mappings that a call takes away, or changes: as they were, should it fail. */
struct drm_taken {
    uint32_t count; /* may be more than there is room for */
    struct drm_map list[DRM_TAKEN_MAX];
};

/* [address, address + size) is about to be unmapped; the call failed. */
void drm_unmapping(struct drm_taken *taken, const void *address, size_t size);
void drm_unmap_failed(const struct drm_taken *taken);

/* mremap() is about to be called; has been: `to` is what it returned, `size` the new size. */
struct drm_moving {
    bool is_one;             /* a mapping as a whole gets another place, or one more */
    struct drm_map map;      /* it */
    struct drm_taken old;    /* what goes where it was */
    struct drm_taken target; /* what goes where it is to be */
};
void drm_moving(struct drm_moving *moving, const void *from, size_t size, size_t to, int flags,
                const void *target);
void drm_moved(const struct drm_moving *moving, const void *to, size_t size);

/* mprotect() is about to be called; has been. */
void drm_protecting(struct drm_taken *taken, const void *address, size_t size, int prot);
void drm_protected(const struct drm_taken *taken, int prot, bool succeeded);

/* May the device be writing there? Asks the driver. */
bool drm_map_is_busy(const struct drm_map *map);

/* A mapping of the file at `offset` maps object `handle`. */
void drm_map_offset(uint32_t file, uint64_t offset, uint32_t handle);

/* Before a submit: what the program has written into mappings goes into the trace. */
void drm_maps_publish(void);

/* The program has waited for the device: so do changes of the device, before the program can write
 * over them; with TS_CHECKSUM, and what all mappings hold. */
void drm_maps_waited(void);

/* The process uses a file: what its parent had mapped when it forked is not followed, which taints
 * the trace. */
void drm_maps_inherited(void);

void drm_maps_forked(void);

void drm_polls_forked(void);

/* ---- memory of the program that is a dma-buf (udmabuf.c)
 * ---------------------------------
 */

/* Follow what is in the dma-buf `fd`, whose memory is the program's. */
void drm_view(int fd);

/* Is there any? */
bool drm_has_views(void);

/* A driver has made an object of a dma-buf; the last descriptor of a file was closed; an object is
 * about to be. */
void drm_view_imported(uint32_t dmabuf, uint32_t file, uint32_t object);
void drm_view_file_closed(uint32_t file);
void drm_view_object_closing(uint32_t file, uint32_t object);

void drm_views_forked(void);

/* ---- streams ----------------------------------------------------------------------------------
 */

/* Returns the stream of a submit; `in`: the struct that the kernel is going to read. Call it
 * between begin and commit. */
struct tsm_stream *drm_stream_of(const struct drm_ioctl *row, uint32_t file, const void *in);

void drm_streams_forked(void);

#endif
