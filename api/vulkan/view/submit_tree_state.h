/* SPDX-License-Identifier: Apache-2.0
 *
 * Parts of tsview --tree: private to submit_tree*.c.
 */
#ifndef API_VULKAN_VIEW_SUBMIT_TREE_STATE_H
#define API_VULKAN_VIEW_SUBMIT_TREE_STATE_H

#include "api/vulkan/view/object_names.h"
#include "api/vulkan/view/submit_tree.h"
#include "tools/text/json_out.h"
#include "tools/text/record.h"

#define TSM_TREE_LABELS_MAX 64u

/* State of a command buffer. */
struct tsm_recording {
    uint64_t begin_seq; /* of its vkBeginCommandBuffer; 0: none was seen */
    uint64_t shown_seq; /* of the submit with which it was shown; 0: not yet */
    uint64_t *seqs;     /* its commands, until they are shown */
    size_t count, capacity;
    uint32_t numbered; /* how many commands of it have a number, as it was shown */
};

/* Labels that are open on a queue. */
struct tsm_queue_labels {
    char *names[TSM_TREE_LABELS_MAX];
    uint32_t depth; /* may be more than there are names */
    uint32_t shown; /* of them: nothing has changed since they were shown */
};

struct tsm_tree {
    struct sbt_reader *reader;
    const struct tsm_tree_options *options;
    struct sbt_cursor *commands; /* for what is in command buffers */
    struct tsm_object_names names;
    struct tsm_record_text text;
    struct tsm_json json;
    struct tsm_buffer line;    /* a record as JSON */
    struct tsm_map recordings; /* id of a VkCommandBuffer -> struct tsm_recording */
    struct tsm_map gpu_times;  /* hash of what is before the start -> place in `times` + 1 */
    struct tsm_gpu_time {
        uint64_t stream, position;
        uint64_t part;    /* of a command: place of the command buffer in the submit */
        uint64_t command; /* 0: all of the part */
        uint64_t start_ns, duration_ns;
        bool is_calibrated;
    } * times;
    size_t time_count, time_capacity;
    struct tsm_map queue_places; /* id of a queue that had a label -> place in `queues` + 1 */
    struct tsm_queue_labels *queues;
    size_t queue_count, queue_capacity;
    uint64_t frame; /* from 1 */
    bool frame_shown;
    uint64_t shown;
    uint8_t *classes; /* of calls, by their number: enum tsm_tree_class */
};

/* NULL: no memory. */
struct tsm_recording *tsm_tree_recording(struct tsm_tree *t, uint64_t id);
/* NULL: no label was begun on the queue. */
struct tsm_queue_labels *tsm_tree_queue(const struct tsm_tree *t, uint64_t id);
/* The first text that the record's structs hold: of a label. "": none. */
void tsm_tree_label(struct tsm_tree *t, const struct sbt_record *record, char *out, size_t size);
/* Every handle of a type in the record's structs, in order. */
void tsm_tree_handles(struct tsm_tree *t, const struct sbt_record *record, const char *type,
                      void (*visit)(void *user, const char *member, uint64_t id), void *user);
/* NULL: none. Part 0 of a submit, then 1 ...; or (command > 0) that command of the submit's command
 * buffer `part`. */
const struct tsm_gpu_time *tsm_tree_time(const struct tsm_tree *t, const struct sbt_record *record,
                                         uint32_t part, uint32_t command);
/* The command with this number; NULL: it cannot be read. */
const struct sbt_record *tsm_tree_command(struct tsm_tree *t, uint64_t seq);

/* A command on a queue, with the command buffers in it; in text or JSON. */
void tsm_tree_show(struct tsm_tree *t, const struct sbt_record *record,
                   const struct sbt_schema *schema);
/* JSON only: an object got a name. */
void tsm_tree_show_name(struct tsm_tree *t, const struct sbt_record *record, const char *type,
                        uint64_t id);

#endif
