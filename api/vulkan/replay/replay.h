/* SPDX-License-Identifier: Apache-2.0
 *
 * The state of the Vulkan backend, and what its files do for each other.
 *
 * Threads: the engine carries out records that are no commands while nothing else runs, so that
 * what they change (objects, memory, devices) needs no lock. Submits come from threads of their
 * streams, in recorded order; the lock is held across them, because they share an arena.
 */
#ifndef API_VULKAN_REPLAY_REPLAY_H
#define API_VULKAN_REPLAY_REPLAY_H

#include "api/vulkan/tables/codec.h"
#include "api/vulkan/tables/dispatch.h"
#include "api/vulkan/tables/timeline.h"
#include "api/vulkan/vulkan_args.h"
#include "api/vulkan/vulkan_ids.h"
#include "format/map.h"
#include "replay/backend.h"

#include <pthread.h>

#define VKR_ARGS_SIZE    256u         /* no command's arguments are larger */
#define VKR_PHYSICAL_MAX 32u          /* devices of a machine */
#define VKR_PLACE        (1ull << 63) /* an address that is a place in device memory, FORMAT.md 10 */
#define VKR_PLACE_WINDOW                                                                           \
    (1ull << 62)                        /* ... in that of an image of a window: our own, by its id \
                                         */
#define VKR_PLACE_TEXELS   (1ull << 39) /* ... with that: its texels, FORMAT.md 10 */
#define VKR_PLACE_ID_SHIFT 40
#define VKR_PLACE_ID_MAX   ((1ull << 22) - 1)
#define VKR_PLACE_OFFSET   ((1ull << VKR_PLACE_ID_SHIFT) - 1)

/* Any handle or pointer as a number. */
#define VKR_RAW(handle) ((uint64_t)(uintptr_t)(handle))

struct vkr;
struct vkr_call;

/* ---- the loader (loader.c) ------------------------------------------------- */

struct vkr_loader {
    void *handle;
    PFN_vkGetInstanceProcAddr get;
    uint32_t version; /* of instances that it makes */
    char path[256];
};

/* Open libvulkan.so.1, or what options.library names: a loader, or a driver by itself. */
int vkr_loader_open(struct vkr_loader *out, const char *path);
void vkr_loader_close(struct vkr_loader *loader);
/* TSM_E_DEVICE with the call's and the result's name. */
int vkr_fail(const char *call, int64_t result);
const char *vkr_result_name(int64_t result);
/* Is `name` among the extensions that an instance (device: of `physical`) can have? */
bool vkr_instance_has(const struct vkr_loader *loader, const char *name);
bool vkr_device_has(const struct vk_instance_dispatch *instance, VkPhysicalDevice physical,
                    const char *name);
bool vkr_has_layer(const struct vkr_loader *loader, const char *name);

/* ---- objects (object.c) ---------------------------------------------------- */

struct vkr_object {
    uint32_t type; /* enum vk_object */
    uint64_t id, raw;
    bool is_window;          /* stands for a window's: no driver has seen it */
    bool is_swapchain_image; /* goes with its swapchain */
    struct vkr_instance *instance;
    struct vkr_device *device;          /* NULL: of an instance */
    struct vkr_object *parent;          /* a pool: gone with it. NULL: none */
    struct vkr_object *previous, *next; /* all that live, oldest first */
    struct vkr_object *children, *previous_sibling, *next_sibling; /* newest first */
    struct vkr_object *older_same, *newer_same;                    /* of the same raw key */
    void *user; /* what its type keeps: memory, swapchain, semaphore */
    void *fact; /* api/vulkan/replay/state/tracker.h; one block, or NULL */
    uint64_t memory, memory_offset, memory_size; /* bound to it: place; 0: none */
    char *label;                                 /* the program's name for it, or NULL */
};

struct vkr_objects {
    struct sbt_map places; /* type << 48 | id -> struct vkr_object */
    struct sbt_map raws;   /* type << 56 ^ raw, its raw key -> the newest one of that */
    struct vkr_object *first, *last;
    struct vkr_object *cursor; /* where vkr_forget() is; moves on when that one goes */
};

/* NULL: it was never made, or is gone. */
struct vkr_object *vkr_object_find(const struct vkr *r, uint32_t type, uint64_t id);
/* Of a decoded handle. */
struct vkr_object *vkr_object_of(const struct vkr *r, uint32_t type, uint64_t raw);
/* Made, or the one that is there with that raw handle, or with none so far. One that is there with
 * another raw handle, as of an id that a trace makes twice, stays until the end and is not found by
 * its id any more. NULL: no memory. */
struct vkr_object *vkr_object_add(struct vkr *r, uint32_t type, uint64_t id, uint64_t raw);
/* The driver's part of it, where there is one that is destroyed by itself. */
void vkr_object_destroy(struct vkr *r, const struct vkr_object *object);
/* Destroys what the driver made and no record can name. */
void vkr_object_discard(struct vkr *r, uint32_t type, uint64_t raw, struct vkr_device *device);
/* No memory: false, and it is not found by it. */
bool vkr_object_set_raw(struct vkr *r, struct vkr_object *object, uint64_t raw);
/* NULL: none. */
void vkr_object_set_parent(struct vkr_object *object, struct vkr_object *parent);
/* With all whose parent it is. */
void vkr_object_remove(struct vkr *r, struct vkr_object *object);
/* What a pool has made. */
void vkr_object_remove_children(struct vkr *r, struct vkr_object *parent);
/* Destroys what the trace left, newest first. */
void vkr_objects_finish(struct vkr *r);

/* ---- instances and devices (device.c) -------------------------------------- */

struct vkr_instance {
    struct vk_instance_dispatch dispatch;
    VkPhysicalDevice physicals[VKR_PHYSICAL_MAX];
    uint32_t physical_count;
    VkDebugUtilsMessengerEXT messenger;
};

struct vkr_queue {
    VkQueue raw;
    uint32_t family;
};

struct vkr_device {
    struct vk_device_dispatch dispatch;
    struct vkr_instance *instance;
    VkPhysicalDeviceMemoryProperties memory;
    VkPhysicalDeviceLimits limits;
    uint64_t id;
    bool is_recorded; /* the device and driver version of the recording: what it took, it takes */
    bool can_place;   /* memory at chosen addresses */
    bool can_choose;  /* the driver chooses addresses again */
    uint32_t recorded_type_count; /* 0: not in the trace */
    VkMemoryPropertyFlags recorded_types[VK_MAX_MEMORY_TYPES];
    struct vkr_queue queue; /* one of its queues: for what windows and copies need */
    VkCommandPool pool;     /* for copies; made at first use */
};

/* Make an instance of our own to see what is here; choose the device, check what the trace needs.
 */
int vkr_devices_prepare(struct vkr *r);
/* What the trace says of a device, "vulkan.device.ID.NAME"; NULL: nothing. */
const char *vkr_recorded_fact(const struct vkr *r, uint64_t device, const char *name);
/* Is it the device, with the same version of its driver, that the trace says VkDevice `device` was
 * of? */
bool vkr_is_recorded(const struct vkr *r, uint64_t device, const VkPhysicalDeviceProperties *here);
void vkr_devices_finish(struct vkr *r);

/* ---- which device (physical_device_match.c) ---- */

/* By number, part of its name (any case), or UUID. TSM_E_NOT_FOUND with a list of those here. */
int vkr_choose_device(struct vkr *r, const char *text);
/* For each that the trace needs. */
void vkr_choose_devices(struct vkr *r);
/* The place among this machine's devices that stands for a recorded VkPhysicalDevice. */
uint32_t vkr_physical_device_index(struct vkr *r, uint64_t id);

/* The trace has left them. */
void vkr_device_close(struct vkr *r, struct vkr_device *device);
void vkr_instance_close(struct vkr_instance *instance);

/* Extensions that replay can do without: of layers, of windows. */
bool vkr_is_dispensable(const char *extension);
/* Does an extension, or a struct of features, concern windows and screens only? */
bool vkr_is_of_windows(const char *name);

/* Leaves out names that are not here and dispensable; refuses others. `more`: one more, or NULL. */
int vkr_filter_extensions(struct vkr_call *c, const char *const **names, uint32_t *count,
                          const char *more, bool (*has)(struct vkr_call *, const char *));
/* What an instance or (if not NULL) a device takes with it when it goes. */
void vkr_forget(struct vkr *r, const struct vkr_instance *instance,
                const struct vkr_device *device);

int vkr_create_instance(struct vkr_call *c);
int vkr_destroy_instance(struct vkr_call *c);
int vkr_create_device(struct vkr_call *c);
int vkr_destroy_device(struct vkr_call *c);
int vkr_enumerate_physical(struct vkr_call *c);
int vkr_get_queue(struct vkr_call *c);

/* ---- memory (api/vulkan/replay/memory/memory.c, api/vulkan/replay/memory/copy.c)
 * ------------------------------- */

struct vkr_memory {
    uint64_t place; /* VKR_PLACE | ... | id << VKR_PLACE_ID_SHIFT */
    uint64_t size;  /* as recorded */
    uint64_t made_seq;
    struct vkr_device *device;
    VkDeviceMemory raw;
    uint32_t type;               /* here */
    VkMemoryPropertyFlags flags; /* of its type */
    uint8_t *mapped;             /* all of it, for as long as it lives; NULL: the host cannot */
    void *imported;              /* memory of ours that stands for the program's; not its own */
    uint64_t imported_address;   /* where that was; 0: it is placed, and not the program's */
    VkBuffer alias;              /* over all of it, for copies; 0: none is possible */
    uint64_t fresh_at; /* 1 + sent_count when it got what fresh memory has; 0: not, or no more */
    bool has_image;    /* bound to an image at some time */
    bool is_dedicated; /* made for one buffer or image: nothing else may be bound to it */
    bool is_shared;    /* with other memory of the trace, which it was imported from */
    int shared_fd;
};

/* The program's addresses [start, start + size) were memory from `offset` on. */
struct vkr_mapping {
    uint64_t start, size, offset, memory; /* memory: its id */
};

/* Recorded addresses; merged: sorted and apart from each other. */
struct vkr_ranges {
    struct vkr_range {
        uint64_t start, end;
        void *mapped; /* NULL: not (yet) there */
    } * list;
    size_t count, capacity;
};

int vkr_ranges_add(struct vkr_ranges *ranges, uint64_t start, uint64_t end);
void vkr_ranges_merge(struct vkr_ranges *ranges);
void vkr_ranges_finish(struct vkr_ranges *ranges);

struct vkr_memories {
    struct vkr_memory **list; /* live, by place */
    size_t count, capacity;
    struct vkr_mapping *mappings; /* a later one stands before an earlier one */
    size_t mapping_count, mapping_capacity;
    struct vkr_ranges program;  /* addresses of the program that were imported, once at least */
    struct tsm_region *regions; /* of the last vkr_regions() */
};

int vkr_allocate_memory(struct vkr_call *c);
int vkr_free_memory(struct vkr_call *c);
int vkr_map_memory(struct vkr_call *c);
int vkr_unmap_memory(struct vkr_call *c);
/* Bytes of the trace, of record `seq`, into memory. They may be there only when vkr_writes_wait()
 * has returned, which before anything but another write must be called. */
int vkr_memory_write(struct vkr *r, struct vkr_memory *m, const struct sbt_blob *blob,
                     uint64_t offset, uint64_t seq);
/* All of it, of ours; it can be mapped. */
void vkr_memory_put(const struct vkr_memory *m, const uint8_t *bytes);
/* Memory in which an address of the program's lies; NULL: none. */
struct vkr_memory *vkr_memory_written(const struct vkr *r, uint64_t address, uint64_t *offset);
int vkr_host_write(struct vkr *r, const struct sbt_record *record, const struct sbt_schema *schema);
int vkr_read(struct vkr *r, uint64_t address, void *out, uint64_t size);
int vkr_regions(struct vkr *r, const struct tsm_region **regions, size_t *count);
struct vkr_memory *vkr_memory_find(const struct vkr *r, uint64_t place);
/* The driver has it already: map it, fill it, keep it. Takes over `m`, also when it fails. */
int vkr_memory_keep(struct vkr *r, struct vkr_memory *m, bool fill);
/* Gives it back to the driver, too. */
void vkr_memory_drop(struct vkr *r, struct vkr_memory *m);
void vkr_memories_finish(struct vkr *r);
/* A type here that is as good as one with `flags`, among `allowed`. -1: there is none. */
int vkr_memory_type(const VkPhysicalDeviceMemoryProperties *memory, VkMemoryPropertyFlags flags,
                    uint32_t allowed);
/* Coherent memory for a buffer to copy through, bound and mapped. What was made of it when this
 * fails is in *memory all the same: the caller's. (api/vulkan/replay/memory/copy.c) */
VkResult vkr_host_memory(struct vkr_device *device, VkBuffer buffer, VkDeviceMemory *memory,
                         uint8_t **mapped);

/* Makes all bytes of mapped memory this one; zeros that are there already stay as they are.
 * (api/vulkan/replay/memory/poison_fill.c) */
void vkr_poison_fill(uint8_t *out, uint64_t size, uint8_t value);

/* The first `size` bytes of a blob will be at `out` when they are settled; one thread at a time
 * adds, and none settles meanwhile. (api/vulkan/replay/memory/write.c) */
int vkr_writes_add(struct vkr *r, const struct sbt_blob *blob, uint8_t *out, uint64_t size,
                   uint64_t seq);
/* Before the driver is opened, which takes a while: what can be done for them meanwhile. */
void vkr_writes_prepare(struct vkr *r);
/* All that was added is there, or the error of what is not. */
int vkr_writes_wait(struct vkr *r);
/* What is not there yet stays away. */
void vkr_writes_finish(struct vkr *r);

/* From what other systems memory is imported; NULL: from none. */
const char *vkr_import_foreign(const void *chain);
/* If it is imported from the program, memory of ours takes its place in `info`, and is m's. */
int vkr_import_host(struct vkr_call *c, const VkMemoryAllocateInfo *info, struct vkr_memory *m);
int vkr_import_plan(struct vkr *r, struct vkr_call *c);
void vkr_imports_finish(struct vkr *r);

/* Commands of our own, on the device's queue: begin them, behind everything that was sent; end,
 * send and free them, and wait. */
VkResult vkr_commands_begin(struct vkr_device *device, VkCommandBuffer *out);
VkResult vkr_commands_run(struct vkr_device *device, VkCommandBuffer commands);

/* Between the host and memory that it cannot map. Waits for the copy. */
int vkr_copy_out(struct vkr_memory *m, uint64_t offset, void *out, uint64_t size);
int vkr_copy_in(struct vkr_memory *m, uint64_t offset, const void *data, uint64_t size);
/* All of it, but for the last bytes of a size that is no multiple of 4. */
int vkr_copy_fill(struct vkr_memory *m, uint8_t value);
/* May copies reach it? Makes the alias. */
void vkr_copy_prepare(struct vkr_memory *m);

/* ---- through file descriptors (share.c) ---- */

struct vkr_share {
    struct sbt_map numbers; /* type << 32 | recorded descriptor -> place in the list, + 1 */
    struct vkr_given {
        uint64_t id; /* of the object */
        uint32_t type;
        int fd;       /* ours; -1: it was a sync file of what is signalled */
        bool is_copy; /* a sync file: what the object had then */
    } * list;
    size_t count;
    struct sbt_map planned; /* type << 32 | descriptor -> id */
    struct sbt_map inside;  /* ids of semaphores that the trace imports again */
};

struct vkr_semaphore;
int vkr_share_plan(struct vkr *r, struct vkr_call *c);
/* Does the trace say from which object, 0: one outside, this one imports? */
bool vkr_share_said(const struct vkr *r, uint32_t type, uint64_t id, uint64_t *from);
int vkr_get_memory_fd(struct vkr_call *c);
int vkr_get_semaphore_fd(struct vkr_call *c);
int vkr_get_fence_fd(struct vkr_call *c);
int vkr_import_semaphore_fd(struct vkr_call *c);
int vkr_import_fence_fd(struct vkr_call *c);
/* Memory that is imported: from a descriptor of ours, m->shared_fd, which is the driver's when it
 * has made the memory; or, from outside, not at all. */
void vkr_share_memory(struct vkr_call *c, VkMemoryAllocateInfo *info, struct vkr_memory *m);
/* Before a submit waits for a semaphore, or signals it, to `value`; `s` may be NULL. */
int vkr_share_before_wait(struct vkr_call *c, VkQueue queue, const struct vkr_semaphore *s,
                          VkSemaphore semaphore, uint64_t value);
int vkr_share_before_signal(struct vkr_call *c, VkQueue queue, const struct vkr_semaphore *s,
                            VkSemaphore semaphore);
/* Before the host waits for a fence, for a counter. */
int vkr_share_before_fence(struct vkr_call *c, VkFence fence);
int vkr_share_before_value(struct vkr_call *c, VkSemaphore semaphore, uint64_t value);
void vkr_share_finish(struct vkr *r);

/* ---- addresses that the driver chooses again (api/vulkan/replay/memory/capture_replay_address.c)
 * ---- */

struct vkr_capture_replay_address {
    struct sbt_map buffers, memories; /* id -> what the driver said */
};

int vkr_capture_replay_address_plan(struct vkr *r, struct vkr_call *c);
/* True: the device can, and *info (its chain) asks for that now. */
bool vkr_capture_replay_address_wanted(const struct vkr *r,
                                       const struct vk_instance_dispatch *instance,
                                       VkPhysicalDevice physical, const VkDeviceCreateInfo *info);
int vkr_capture_replay_address_buffer(struct vkr_call *c, VkBufferCreateInfo *info);
/* True: the memory will lie where its buffers' addresses were. */
bool vkr_capture_replay_address_memory(struct vkr_call *c, VkMemoryAllocateInfo *info);
void vkr_capture_replay_address_finish(struct vkr *r);

/* ---- memory at its recorded address (api/vulkan/replay/memory/fixed_address.c) ---- */

struct vkr_fixed_addresses {
    struct sbt_map memories, offsets; /* buffer id -> memory id, offset there */
    struct sbt_map sizes, starts;     /* memory id -> bytes, recorded address */
    struct vkr_ranges ranges;
};

int vkr_fixed_address_plan(struct vkr *r, struct vkr_call *c);
int vkr_fixed_address_get(struct vkr *r, uint64_t buffer, uint64_t address);
/* Before the driver is opened. */
void vkr_fixed_address_take(struct vkr *r);
/* They are not needed: the driver chooses the addresses itself. */
void vkr_fixed_address_give_back(struct vkr *r);
void vkr_fixed_addresses_finish(struct vkr *r);
/* Is the device one whose memory can be placed, and is there any to place? */
bool vkr_fixed_address_wanted(const struct vkr *r, const struct vk_instance_dispatch *instance,
                              VkPhysicalDevice physical);
int vkr_create_buffer(struct vkr_call *c);
/* Where memory with this id must lie; NULL: anywhere. */
void *vkr_fixed_address_of(const struct vkr *r, const struct vkr_device *device, uint64_t memory,
                           uint64_t size);

/* ---- windows (window.c) ---------------------------------------------------- */

int vkr_create_surface(struct vkr_call *c);
int vkr_destroy_surface(struct vkr_call *c);
int vkr_create_swapchain(struct vkr_call *c);
int vkr_destroy_swapchain(struct vkr_call *c);
int vkr_get_swapchain_images(struct vkr_call *c);
int vkr_acquire_image(struct vkr_call *c);
int vkr_acquire_image2(struct vkr_call *c);
int vkr_present(struct vkr_call *c);
/* A swapchain object is going: its images, too. */
void vkr_swapchain_drop(struct vkr *r, struct vkr_object *object);
/* Texels of an image of a swapchain, without gaps: of a place with VKR_PLACE_TEXELS. Those that are
 * read at 0 are kept for what is read behind. TSM_E_NOT_FOUND: there is no such image. */
int vkr_window_read(struct vkr *r, uint64_t address, void *out, uint64_t size);

/* ---- shaders (shader.c) ---------------------------------------------------- */

/* Reads the files of options.shaders. */
int vkr_shaders_open(struct vkr *r);
/* TSM_E_NOT_FOUND: one of them has taken the place of nothing. */
int vkr_shaders_check(const struct vkr *r);
void vkr_shaders_finish(struct vkr *r);
int vkr_create_shader_module(struct vkr_call *c);
/* Modules that lie in the pNext chains of a pipeline's stages. */
int vkr_create_graphics_pipelines(struct vkr_call *c);
int vkr_create_compute_pipelines(struct vkr_call *c);

/* ---- order, waits (sync.c) ------------------------------------------------- */

struct vkr_stream {
    VkQueue queue;
    struct vkr_device *device; /* NULL: nothing was submitted yet, or the device is gone */
    uint64_t last_seq, last_position;
    const char *last_call;
};

/* Its address is its number in struct vk_timelines. */
struct vkr_semaphore {
    bool is_timeline;
    bool is_signalled; /* a binary one */
    bool is_outside;   /* others signal it, or wait for it */
    bool is_window; /* a submit of ours signals it or waits for it, in place of a window's system */
    uint32_t more;  /* objects that it belongs to, beside one */
    uint64_t value; /* a timeline's: the highest that is signalled or under way */
};

void vkr_semaphore_drop(struct vkr *r, struct vkr_semaphore *semaphore);
int vkr_create_semaphore(struct vkr_call *c);
int vkr_destroy_semaphore(struct vkr_call *c);
int vkr_signal_semaphore(struct vkr_call *c);
int vkr_submit(struct vkr_call *c);
int vkr_submit2(struct vkr_call *c);
int vkr_bind_sparse(struct vkr_call *c);
/* Acquiring an image signals these; nobody else notes it. */
void vkr_note_acquired(struct vkr *r, VkSemaphore semaphore, VkFence fence);
/* Nothing but waiting, in place of a present. */
int vkr_submit_waits(struct vkr_call *c, VkQueue queue, uint32_t count,
                     const VkSemaphore *semaphores);
/* What was sent to the queue signals it. */
int vkr_note_timeline(struct vkr *r, VkQueue queue, struct vkr_semaphore *s, uint64_t value);
/* It was made with `value`, or set to it. */
int vkr_set_timeline(struct vkr *r, struct vkr_semaphore *s, uint64_t value);
/* Is work under way that waits for what the host has yet to signal? */
bool vkr_is_gated(const struct vkr *r);
/* Signals what work under way waits for, at the end of the recording (release.c). 1:
 * there was some. */
int vkr_unblock_waiters(struct vkr *r);
/* The device's queues are gone. */
void vkr_drop_queues(struct vkr *r, const struct vkr_device *device);
/* Wait for all that was sent, where it can end by itself; the lock is held. The first only says
 * (true) for which queue, as *out, and the second waits for that, which needs no lock. */
bool vkr_wait_wanted(const struct vkr *r, uint32_t stream, struct vkr_stream *out);
int vkr_wait_queue(const struct vkr *r, const struct vkr_stream *stream);
int vkr_wait_all(struct vkr *r);
/* Does sync() carry it out? Waits of the program, and polls that were answered with "done". */
bool vkr_owns_sync(const struct sbt_record *record);
int vkr_sync(struct vkr_call *c);
/* Polls that were answered with "done", as waits (poll.c). */
int vkr_poll_queries(struct vkr_call *c);
int vkr_poll_event(struct vkr_call *c);
/* COMPLETE records: the program knew that a command was complete (completed.c). */
int vkr_completed_plan(struct vkr *r, const struct sbt_record *record,
                       const struct sbt_schema *schema);
int vkr_completed_sent(struct vkr_call *c, VkQueue queue);
int vkr_completed_await(struct vkr *r, const struct sbt_record *record,
                        const struct sbt_schema *schema);
/* Nothing of the device is under way, and it is about to go. */
void vkr_completed_drop(struct vkr *r, const struct vkr_device *device);
void vkr_completed_finish(struct vkr *r);
/* The last submit of each stream, for messages. */
void vkr_describe_last(const struct vkr *r, char *out, size_t size);

/* ---- addresses of buffers (api/vulkan/replay/memory/address.c)
 * -------------------------------------- */

struct vkr_addresses {
    struct sbt_map recorded; /* buffer id -> recorded address */
    struct sbt_map sizes;    /* buffer id -> size */
    struct vkr_moved {
        uint64_t recorded, size, actual;
    } * moved;
    size_t count, capacity;
    uint64_t moved_ever;
};

int vkr_address_plan(struct vkr *r, struct vkr_call *c);
/* Memory was bound to the buffer with this id: where does it lie? */
int vkr_address_bound(struct vkr *r, const struct vkr_object *buffer);
uint64_t vkr_address_translate(const struct vkr *r, uint64_t recorded);
void vkr_addresses_finish(struct vkr *r);

/* ---- binding (api/vulkan/replay/memory/bind.c)
 * ------------------------------------------------------ */

int vkr_bind_buffer(struct vkr_call *c);
int vkr_bind_buffer2(struct vkr_call *c);
int vkr_bind_image(struct vkr_call *c);
int vkr_bind_image2(struct vkr_call *c);
/* What lies at a place in device memory. */
void vkr_describe_address(const struct vkr *r, uint64_t address, char *out, size_t size);

/* ---- what the trace needs (requirements.c) ----------------------------------------- */

struct vkr_requirements {
    struct vkr_required_device {
        struct vkr_required_device *next;
        uint64_t id, physical;          /* of the VkDevice, of its VkPhysicalDevice */
        const VkDeviceCreateInfo *info; /* in the arena */
        bool is_placed;
        uint32_t place; /* of the device here that stands for it */
    } * devices;
    struct vkr_required_image {
        struct vkr_required_image *next;
        uint64_t device;
        VkImageCreateInfo info;
        uint64_t seq;
    } * images;
    struct vkr_required_format {
        struct vkr_required_format *next;
        uint64_t device;
        VkFormat format;
        VkFormatFeatureFlags features; /* of buffers; one of these at least */
    } * formats;
    struct vkr_required_limits { /* of the recorded device, as the program was told them */
        struct vkr_required_limits *next;
        uint64_t physical;
        VkDeviceSize uniform, storage, texel; /* offsets in buffers are multiples of */
    } * limits;
    struct sbt_map seen; /* hashes of images, formats */
    uint32_t push_max, set_max;
    uint64_t groups[3]; /* of dispatches */
    struct vk_arena arena;
};

int vkr_requirements_plan(struct vkr *r, const struct sbt_record *record);
/* How much of it the device at `place` lacks. */
uint32_t vkr_requirements_misses(struct vkr *r, const struct vkr_required_device *d,
                                 uint32_t place);
/* TSM_E_UNSUPPORTED with what is not here. */
int vkr_requirements_check(struct vkr *r);
void vkr_requirements_finish(struct vkr *r);

/* ---- calls (call.c) -------------------------------------------------------- */

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

/* Decode the record. 1: done. 0: nothing to carry out. Negative: malformed. Finish in any case. */
int vkr_call_begin(struct vkr_call *c, struct vkr *r, const struct sbt_record *record,
                   struct vk_arena *arena, bool is_planned);
void vkr_call_finish(struct vkr_call *c);
/* Call the driver with c->args, keep what it made, forget what it destroyed. */
int vkr_call_driver(struct vkr_call *c);
/* Only the last two. */
int vkr_call_created(struct vkr_call *c);
void vkr_call_destroyed(struct vkr_call *c);
/* The instance or device that c's first argument belongs to. */
const struct vk_device_functions *vkr_call_device(const struct vkr_call *c);
/* Memory that lives as long as the call. NULL: none. */
void *vkr_call_take(struct vkr_call *c, uint64_t size);
/* A struct of this type in a pNext chain, NULL when there is none. */
void *vkr_chain_find(const void *chain, VkStructureType type);
/* Takes it out of the chain that starts in *next. */
void vkr_chain_remove(const void **next, VkStructureType type);
int vkr_carry_out(struct vkr *r, const struct sbt_record *record);

/* ---- all of it --------------------------------------------------------------------------- */

/* Of the image of a swapchain that is being compared. */
struct vkr_texels {
    uint64_t image; /* id; 0: none */
    uint8_t *bytes;
    uint64_t size;
};

struct vkr {
    struct sbt_reader *reader;
    const struct tsm_replay_options *options;
    pthread_mutex_t lock;
    struct vk_arena arena; /* of the record that is being carried out */
    struct vkr_loader loader;
    struct vkr_instance *probe; /* our own, to look */
    uint32_t chosen;            /* the device that stands for all that are not found by name */
    bool is_chosen;             /* options.device said so */
    struct vkr_objects objects;
    struct vkr_memories memories;
    struct vkr_texels texels;
    struct vkr_addresses addresses;
    struct vkr_capture_replay_address opaque;
    struct vkr_fixed_addresses places;
    struct vkr_share share;
    struct sbt_map reached_places; /* a command of a COMPLETE record -> place + 1 in `reached` */
    struct vkr_completed *reached;
    size_t reached_count;
    struct vkr_requirements needs;
    struct vkr_stream *streams; /* by number */
    uint32_t stream_count;
    struct vkr_loop_snapshot *held; /* what vkr_loop_snapshot_restore() goes back to */
    struct sbt_map repeated;   /* vkr_loop_snapshot_allows(): command buffer id -> how it was met */
    bool is_early;             /* before the checkpoint: commands are followed, and not sent */
    bool is_hollow;            /* a submit without its command buffers */
    bool has_hollow;           /* there was one: queries may never become available */
    bool must_restore;         /* the checkpoint has begun, and what was followed is not yet so */
    uint64_t validation_count; /* errors that the validation layer reported */
    struct vkr_ranges stamps;  /* places that hold times; merged */
    bool has_stamps;           /* a command copies times into memory */
    uint64_t sent_count;       /* submits */
    uint32_t gate_count;       /* events that work waits for in vain until the host sets them */
    struct vk_timelines timelines; /* which queues get through what they were sent */
    bool
        waits_each; /* recorded with TS_CHECKSUM=submit: one submit was done before the next step */
    uint64_t next_window;     /* raw handles of what stands for windows */
    struct vkr_inspect *look; /* api/vulkan/replay/inspect/inspect.h; NULL: nothing is looked at */
    struct vkr_shader *shaders;      /* that take the place of others; NULL: none */
    struct vkr_present_window *show; /* --present: the window; NULL: none (yet) */
    uint64_t ambiguous_count;        /* writes of the host that may be results, and differ */
    uint64_t mixed_count; /* ... and those in memory of which nothing is a result: see the backend's
                             mixed() */
    struct vkr_writes *writes; /* api/vulkan/replay/memory/write.c; NULL: none yet */
};

#endif
