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

static void read_copy(const void *record, uint32_t type)
{
    struct tsm_cupti_copy copy;

    memcpy(&copy, record, sizeof(copy));
    cupti_command_ran(copy.correlation, type, copy.start_ns, copy.end_ns);
}

static void read_kernel(const void *record)
{
    struct tsm_cupti_kernel kernel;

    memcpy(&kernel, record, sizeof(kernel));
    cupti_command_ran(kernel.correlation, TYPE_cuLaunchKernel, kernel.start_ns, kernel.end_ns);
}

static void read_peer_copy(const void *record)
{
    struct tsm_cupti_peer_copy copy;

    memcpy(&copy, record, sizeof(copy));
    cupti_command_ran(copy.correlation, TYPE_cuMemcpyAsync, copy.start_ns, copy.end_ns);
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
    switch (kind) {
    case TSM_CUPTI_OUTER:
        read_outer(record);
        break;
    case TSM_CUPTI_KERNEL:
        read_kernel(record);
        break;
    case TSM_CUPTI_COPY:
        read_copy(record, TYPE_cuMemcpyAsync);
        break;
    case TSM_CUPTI_PEER_COPY:
        read_peer_copy(record);
        break;
    case TSM_CUPTI_FILL:
        read_copy(record, TYPE_cuMemsetD8Async);
        break;
    default:
        break;
    }
}

/* Which of our buffers is it? BUFFER_MAX: none. */
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
