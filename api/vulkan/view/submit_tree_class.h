/* SPDX-License-Identifier: Apache-2.0
 *
 * Classes of records for tsview --tree: private to submit_tree*.c.
 */
#ifndef API_VULKAN_VIEW_SUBMIT_TREE_CLASS_H
#define API_VULKAN_VIEW_SUBMIT_TREE_CLASS_H

#include "api/vulkan/view/submit_tree_state.h"

enum tsm_tree_class {
    TSM_TREE_UNKNOWN, /* not asked yet */
    TSM_TREE_OTHER,
    TSM_TREE_NAME, /* names an object, or makes what has shaders */
    TSM_TREE_SENT, /* to a queue */
    TSM_TREE_PRESENT,
    TSM_TREE_QUEUE_LABEL_BEGIN,
    TSM_TREE_QUEUE_LABEL_END,
    TSM_TREE_BEGIN, /* of a command buffer; those below are recorded into one */
    TSM_TREE_COMMAND,
    TSM_TREE_BIND_PIPELINE,
    TSM_TREE_LABEL_BEGIN,
    TSM_TREE_LABEL_END,
    TSM_TREE_LABEL_POINT,
    TSM_TREE_EXECUTE,
};

enum tsm_tree_class tsm_tree_class(struct tsm_tree *t, const struct sbt_record *record,
                                   const struct sbt_schema **schema);

#endif
