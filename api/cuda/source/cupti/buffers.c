/* SPDX-License-Identifier: Apache-2.0 */
#include "api/cuda/source/cupti/buffers.h"

#include "api/cuda/cuda_calls.h"
#include "api/cuda/source/cupti/commands.h"
#include "base/arena.h"
#include "capture/lock.h"

#include <errno.h>
#include <string.h>

#define BUFFER_SIZE 262144u
#define BUFFER_MAX  32u

static struct {
    const struct cupti_library *library;
    struct tsm_lock lock;
    uint8_t *memory;
    bool is_taken[BUFFER_MAX];
    uint32_t refused; /* requests */
} buffers;

static struct tsm_arena arena;

bool cupti_buffers_begin(void)
{
    if (!buffers.memory)
        buffers.memory = tsm_session_keep(&arena, (size_t)BUFFER_MAX * BUFFER_SIZE);
    return buffers.memory != NULL;
}

void cupti_buffers_forked(void)
{
    buffers.lock = (struct tsm_lock){0};
}

static void requested(uint8_t **buffer, size_t *size, size_t *record_max)
{
    uint32_t i = 0;

    tsm_lock_take(&buffers.lock);
    while (i < BUFFER_MAX && buffers.is_taken[i])
        i++;
    if (i < BUFFER_MAX)
        buffers.is_taken[i] = true;
    else
        buffers.refused++;
    tsm_lock_give(&buffers.lock);
    *buffer = i < BUFFER_MAX ? buffers.memory + (size_t)i * BUFFER_SIZE : NULL;
    *size = i < BUFFER_MAX ? BUFFER_SIZE : 0;
    *record_max = 0;
}

/* ---- records ------------------------------------------------------------------------------- */

/* Records of work: start and end are in the same place in all of them. */
static const struct work_kind {
    uint32_t kind, correlation_at, type; /* type: of the call that does such work */
} work_kinds[] = {
    {TSM_CUPTI_KERNEL, offsetof(struct tsm_cupti_kernel, correlation), TYPE_cuLaunchKernel},
    {TSM_CUPTI_COPY, offsetof(struct tsm_cupti_copy, correlation), TYPE_cuMemcpyAsync},
    {TSM_CUPTI_PEER_COPY, offsetof(struct tsm_cupti_peer_copy, correlation), TYPE_cuMemcpyAsync},
    {TSM_CUPTI_FILL, offsetof(struct tsm_cupti_copy, correlation), TYPE_cuMemsetD8Async},
};
_Static_assert(offsetof(struct tsm_cupti_kernel, start_ns) ==
                       offsetof(struct tsm_cupti_copy, start_ns) &&
                   offsetof(struct tsm_cupti_peer_copy, start_ns) ==
                       offsetof(struct tsm_cupti_copy, start_ns),
               "start of all work");

static void read_work(const struct work_kind *kind, const uint8_t *record)
{
    uint64_t times[2]; /* start, end */
    uint32_t correlation;

    memcpy(times, record + offsetof(struct tsm_cupti_copy, start_ns), sizeof(times));
    memcpy(&correlation, record + kind->correlation_at, sizeof(correlation));
    cupti_command_ran(correlation, kind->type, times[0], times[1]);
}

static void read_outer(const void *record)
{
    struct tsm_cupti_outer outer;

    memcpy(&outer, record, sizeof(outer));
    if (outer.outer_kind == TSM_CUPTI_OUTER_KIND)
        cupti_command_named(outer.outer, outer.correlation);
}

static void read_record(const void *record)
{
    uint32_t kind;

    memcpy(&kind, record, sizeof(kind));
    if (kind == TSM_CUPTI_OUTER)
        read_outer(record);
    for (size_t i = 0; i < sizeof(work_kinds) / sizeof(work_kinds[0]); i++)
        if (work_kinds[i].kind == kind)
            read_work(&work_kinds[i], record);
}

/* Returns which of our buffers it is; BUFFER_MAX: none. */
static uint32_t index_of(const uint8_t *buffer)
{
    const uint64_t offset = (uint64_t)((uintptr_t)buffer - (uintptr_t)buffers.memory);

    return offset % BUFFER_SIZE || offset / BUFFER_SIZE >= BUFFER_MAX
               ? BUFFER_MAX
               : (uint32_t)(offset / BUFFER_SIZE);
}

static void completed(void *context, uint32_t stream, uint8_t *buffer, size_t size,
                      size_t valid_size)
{
    const uint32_t i = index_of(buffer);
    const int saved_errno = errno;
    void *record = NULL;

    if (i == BUFFER_MAX)
        return;
    tsm_inside_enter();
    while (valid_size && valid_size <= BUFFER_SIZE &&
           buffers.library->ActivityGetNextRecord(buffer, valid_size, &record) == TSM_CUPTI_DONE)
        read_record(record);
    tsm_inside_leave();
    tsm_lock_take(&buffers.lock);
    buffers.is_taken[i] = false;
    tsm_lock_give(&buffers.lock);
    errno = saved_errno;
}

int cupti_buffers_register(const struct cupti_library *library)
{
    buffers.library = library;
    return library->ActivityRegisterCallbacks(requested, completed);
}

bool cupti_buffers_dropped(const struct cupti_library *library)
{
    size_t dropped = 0;
    bool refused;

    if (library->ActivityGetNumDroppedRecords(NULL, 0, &dropped) != TSM_CUPTI_DONE)
        dropped = 0;
    tsm_lock_take(&buffers.lock);
    refused = buffers.refused != 0;
    buffers.refused = 0;
    tsm_lock_give(&buffers.lock);
    return refused || dropped;
}
