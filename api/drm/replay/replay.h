/* SPDX-License-Identifier: Apache-2.0
 *
 * Inside the DRM backend. Only ioctls that drm.api marks as safe are issued again; a trace with
 * others is refused before anything runs. What the program named by a number of its own process or
 * device - files, descriptors, objects, offsets to map at - gets the number that it has here.
 * Addresses of the device are what the trace says: the program chose them.
 */
#ifndef API_DRM_REPLAY_REPLAY_H
#define API_DRM_REPLAY_REPLAY_H

#include "api/drm/tables.h"
#include "base/map.h"
#include "replay/backend.h"

#include <pthread.h>

/* Kinds of numbers that are translated. Objects: the place of their name in drm_objects. */
enum drm_number {
    DRM_NUMBER_RESULTS = 59,  /* is this object one that results of queries go to? */
    DRM_NUMBER_OFFSET = 61,   /* of a file */
    DRM_NUMBER_RESOURCE = 63, /* of a device, in place of the file */
};

/* A mapping of the program. */
struct drm_mapping {
    uint64_t address, size; /* as recorded */
    uint32_t file, object;  /* as recorded */
    uint64_t offset;        /* the same */
    uint64_t made_seq;
    int dmabuf;        /* a descriptor of it + 1, where one is mapped; 0 */
    uint8_t *memory;   /* here */
    bool has_results;  /* of queries: times, and whether they are there already */
    bool is_user;      /* no mapping of the file: the program's own memory */
    bool is_read_only; /* here, too */
    struct drm_shadow *shadow;
};

/* Recorded content of an object so far, shared by its mappings: where memory is different, this
 * device has changed it since. */
struct drm_shadow {
    struct drm_shadow *next;
    uint32_t file, object; /* as recorded; file 0: the object is closed */
    uint64_t offset, size;
    uint32_t users;        /* mappings */
    uint32_t fresh_thread; /* which makes the records of what the new mapping holds; 0: they are all
                              there */
    uint8_t *bytes;
};

struct drm_replay {
    struct sbt_reader *reader;
    const struct tsm_replay_options *options;
    pthread_mutex_t memory_lock; /* what submits note of memory */
    pthread_mutex_t lock;        /* numbers; submits of several streams come at once */
    struct tsm_map numbers;
    struct tsm_map fds;     /* recorded descriptor -> descriptor that the replay created */
    struct tsm_map created; /* the latter; nothing else is ever closed */
    struct drm_replay_file {
        uint32_t id, family;
        uint8_t node;
        uint8_t device; /* as recorded: files of one device have the same */
        char driver[64], version[64];
        bool is_primary; /* only those make dumb buffers */
        char path[64];   /* of the device that stands for it; "" until prepare() */
        int own; /* a descriptor of the replay's own + 1, whatever the program closes; 0: none */
        uint32_t descriptor_count; /* of the program */
    } * files;
    uint32_t file_count;
    uint32_t idle_count; /* of them with a descriptor of the replay's only */
    struct drm_mapping *maps;
    size_t map_count;
    struct drm_shadow *shadows;
    uint32_t fresh_count; /* of them with a fresh_thread */
    bool knows_mapped;    /* the trace says what each new mapping held */
    struct tsm_region *regions;
    uint64_t display_count; /* ioctls of the screen in the trace */
    /* Bytes that the recorder found in mappings after a wait may have been the program's or the
     * device's. */
    bool has_submitted;
    uint64_t unknown_count;    /* bytes that were there at a mapping's start, and are not here */
    bool device_wrote;         /* something, anywhere */
    uint64_t substitute_count; /* bytes found after a wait that this device has not written */
};

/* ---- numbers (number.c) --------------------------------------------------------- */

/* Translates a number. Returns false if it is not known. */
bool drm_number_known(struct drm_replay *r, uint32_t file, uint32_t kind, uint64_t recorded,
                      uint64_t *out);
/* 0, or TSM_E_NOT_FOUND with a message. `what`: its name, for that. */
int drm_number_find(struct drm_replay *r, uint32_t file, uint32_t kind, uint64_t recorded,
                    const char *what, uint64_t *out);
int drm_number_set(struct drm_replay *r, uint32_t file, uint32_t kind, uint64_t recorded,
                   uint64_t actual);
/* There is none any more. */
void drm_number_forget(struct drm_replay *r, uint32_t file, uint32_t kind, uint64_t recorded);

/* ---- descriptors (number.c) ----------------------------------------------------- */

/* Returns the descriptor that stands for a recorded one; -1: none. */
int drm_fd(struct drm_replay *r, int recorded);
/* Lets a descriptor that the replay has just created stand for a recorded one, and closes the one
 * that did so before. One that stands for another already is no new one: nothing changes. */
int drm_fd_created(struct drm_replay *r, int recorded, int actual);
/* Closes what stands for a recorded descriptor. Returns false if nothing does. */
bool drm_fd_close(struct drm_replay *r, int recorded);
/* Closes all that is left. */
void drm_fds_finish(struct drm_replay *r);

/* ---- files (file.c) ------------------------------------------------------------- */

int drm_file_plan(struct drm_replay *r, const struct sbt_record *record);
/* Find a device for each; nothing is opened for good. */
int drm_files_prepare(struct drm_replay *r);
int drm_file_open(struct drm_replay *r, const struct sbt_record *record);
int drm_file_close(struct drm_replay *r, const struct sbt_record *record);
int drm_file_dup(struct drm_replay *r, const struct sbt_record *record);
struct drm_replay_file *drm_file_numbered(const struct drm_replay *r, uint32_t id);
/* A descriptor of the file that lasts as long as the file or a mapping of it; -1: none. */
int drm_file_descriptor(const struct drm_replay *r, uint32_t id);
/* Is the descriptor `fd` of the replay one of a device like the file's? */
bool drm_file_is_open_as(const struct drm_replay *r, uint32_t id, int fd);
/* Closes what is left of the files. */
void drm_files_finish(struct drm_replay *r);

/* ---- ioctls (call.c) ------------------------------------------------------------ */

/* Is it one that may be issued again? */
int drm_call_plan(struct drm_replay *r, const struct sbt_record *record,
                  const struct sbt_schema *schema);
int drm_call_issue(struct drm_replay *r, const struct sbt_record *record,
                   const struct sbt_schema *schema);

/* ---- waiting (wait.c) ----------------------------------------------------------- */

/* Until the device is done with an object; with all that is mapped. */
int drm_wait_object(struct drm_replay *r, uint32_t file, uint32_t object);
int drm_wait_all(struct drm_replay *r);
/* Until the descriptor of a DRM_RECORD_POLL is ready. */
int drm_wait_descriptor(struct drm_replay *r, const struct sbt_record *record);
/* An ioctl has failed: is it to be issued again? */
bool drm_is_to_be_tried_again(const struct drm_ioctl *row);
/* Does the call tell here what it told the program? `recorded`: what came out then; NULL: nothing.
 */
bool drm_reports_same(const struct drm_ioctl *row, const uint8_t *argument,
                      const uint8_t *recorded);

/* ---- virtio-gpu (virgl.c) ------------------------------------------------------- */

/* Resources are numbered by device, not by file. */
int drm_resource_set(struct drm_replay *r, uint32_t file, uint64_t recorded, uint64_t actual);
/* Resources that a submit's commands name get the numbers that they have here. Nothing to do for
 * other ioctls. `argument`: what is going to be issued. */
int drm_virgl_translate(struct drm_replay *r, uint32_t file, const struct drm_ioctl *row,
                        uint8_t *argument);

/* After an ioctl, `made` the struct that it wrote when it was recorded: which objects the device
 * writes results of queries to. */
int drm_virgl_learn(struct drm_replay *r, uint32_t file, const struct drm_ioctl *row,
                    const uint8_t *argument, const uint8_t *made);

/* ---- udmabuf (udmabuf.c) -------------------------------------------------------- */

bool drm_is_udmabuf(const struct drm_ioctl *row);
/* Before the call: new memfds in place of the program's. */
int drm_udmabuf_prepare(const struct drm_ioctl *row, uint8_t *argument);
/* Afterwards, also where that failed: closes them. */
void drm_udmabuf_finish(const struct drm_ioctl *row, uint8_t *argument);

/* ---- memory (memory.c) ---------------------------------------------------------- */

int drm_memory_map(struct drm_replay *r, const struct sbt_record *record);
/* Memory for what was the program's own; *actual: where `recorded` is here. */
int drm_memory_user(struct drm_replay *r, struct drm_mapping wanted, uint64_t *actual);
/* An ioctl has mapped an object: `wanted` has the recorded place and the memory here. */
int drm_memory_created(struct drm_replay *r, struct drm_mapping wanted);
int drm_memory_unmap(struct drm_replay *r, const struct sbt_record *record);
int drm_memory_written(struct drm_replay *r, const struct sbt_record *record,
                       const struct sbt_schema *schema);
/* Until the device is done with what is mapped of an object, which is about to go. */
int drm_memory_wait_object(struct drm_replay *r, uint32_t file, uint32_t object);
/* A record of `thread` follows that is no HOST_WRITE: what its new mappings held is all known. */
int drm_memory_settled(struct drm_replay *r, uint32_t thread);
/* The object is closed: one with its number is another one. */
void drm_memory_forget_object(struct drm_replay *r, uint32_t file, uint32_t object);
/* Notes whether the device has written anything since the mappings were looked at last. */
void drm_memory_watch(struct drm_replay *r);
/* Until the device is done with what is mapped. */
int drm_memory_wait(struct drm_replay *r, const struct drm_mapping *mapping);
int drm_memory_read(struct drm_replay *r, uint64_t address, void *out, uint64_t size);
void drm_memory_finish(struct drm_replay *r);
/* The mapping that an address lies in; NULL: none. */
struct drm_mapping *drm_memory_at(const struct drm_replay *r, uint64_t address);

#endif
