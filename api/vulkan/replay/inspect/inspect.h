/* SPDX-License-Identifier: Apache-2.0
 *
 * Inspecting a replay: pictures of frames, the resources of a submit or command. One pass over the
 * trace before anything runs finds the records to inspect (vkr_inspect_plan); the engine then stops
 * at them, when everything before is complete and nothing after has begun.
 *
 * Threads: as in api/vulkan/replay/replay.h; vkr_inspect() is called from the engine's main thread
 * while nothing else runs.
 */
#ifndef API_VULKAN_REPLAY_INSPECT_INSPECT_H
#define API_VULKAN_REPLAY_INSPECT_INSPECT_H

#include "api/vulkan/replay/replay.h"

/* A present whose images are wanted. */
struct vkr_frame {
    uint64_t seq, number; /* of the record; frames count from 1 */
};

struct vkr_inspect {
    const struct tsm_inspect *wanted;
    struct vkr_frame *frames; /* by seq */
    size_t frame_count, frame_capacity;
    uint64_t present_count; /* seen by plan */
    uint64_t done;          /* frames that were inspected */
    uint64_t last_seq;      /* of the last record to inspect */

    /* --dump-resources: of which record, and at which submit it is carried out. */
    bool is_command;               /* a vkCmd*: the submit is cut off after it */
    bool is_found;                 /* the trace has it */
    char why[160];                 /* it cannot be inspected; empty: it can */
    uint64_t submit_seq;           /* 0: not yet */
    uint64_t command_buffer;       /* id of the one that it was recorded into */
    uint64_t primary, execute_seq; /* that is secondary: executed by this one, there; 0: no */
    bool is_given_up;              /* recorded again before anybody submitted it */
    struct vkr_device *cut_device; /* where the command buffer was recorded again; NULL: nowhere */
    VkCommandPool cut_pool;
    struct vkr_scene *scene; /* what the trace says up to that submit; NULL: not asked yet */
    uint64_t files;          /* that were written */
};

/* Sets *out to NULL where nothing is to be inspected. */
int vkr_inspect_init(struct vkr_inspect **out, const struct tsm_replay_options *options);
void vkr_inspect_finish(struct vkr_inspect *look);
int vkr_inspect_plan(struct vkr *r, const struct sbt_record *record);
/* Checks, after the last record, that all that is wanted can be inspected. */
int vkr_inspect_check(struct vkr *r);

/* See replay/backend.h. */
bool vkr_inspect_wanted(const struct vkr *r, const struct sbt_record *record);
int vkr_inspect(struct vkr *r, const struct sbt_record *record);

/* Writes all resources of the submit or command into wanted->dump_directory. (dump.c) */
int vkr_dump(struct vkr *r, const struct sbt_record *submit);

/* Creates an image; with --dump-resources so that it can be copied from. Hook, see carry_out.c. */
int vkr_create_image(struct vkr_call *c);

#endif
