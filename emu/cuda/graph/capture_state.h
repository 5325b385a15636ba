/* SPDX-License-Identifier: Apache-2.0
 *
 * A running capture, for the files that stream capture consists of (emu/cuda/graph/capture.h).
 */
#ifndef EMU_CAPTURE_STATE_H
#define EMU_CAPTURE_STATE_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include "emu/cuda/graph/capture.h"

struct emu_capture {
    CUgraph graph; /* owned until the end, but for one that the program gave */
    bool is_given;
    bool is_broken;
    bool is_over;
    CUstream origin;
    CUstreamCaptureMode mode;
    uint64_t thread;
    cuuint64_t id;
    unsigned references; /* the list of running ones, and events */
    CUstream *streams;
    size_t stream_count;
    CUgraphNode *told; /* what cuStreamGetCaptureInfo_v2() gave away last */
    CUgraphEdgeData *told_data;
    struct emu_capture *next;
};

/* Guards all captures, and what streams say of theirs. */
extern pthread_mutex_t emu_captures_lock;
extern struct emu_capture *emu_captures; /* running */

#endif
