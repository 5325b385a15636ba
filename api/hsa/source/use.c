/* SPDX-License-Identifier: Apache-2.0
 *
 * Which memory of the host kernels were given: it is theirs until they are known to be complete,
 * and what they have left there is recorded then as their result.
 */
#include "api/hsa/source/source.h"

#include "capture/call/streams.h"
#include "capture/lock.h"

#include <string.h>

/* An address of the host's memory among the arguments of a kernel that is not known to be complete.
 * The kernel may write from there to `end`: that of the allocation, or what another command is
 * given that begins something else. */
struct use {
    uint64_t address, end;
    const struct tsm_stream *stream;
    uint64_t position;
    bool in_order; /* everything before it on its stream is complete then, too */
    bool is_ended; /* it is complete, what is before it perhaps not */
    bool is_late;  /* the program may have known for long that it is complete */
};

#define USE_MAX 1024u

static struct tsm_lock lock;
static struct use uses[USE_MAX];
static uint32_t use_count;
static struct tsm_lock opening; /* for the two that follow */
static hsa_signal_t opened;
static uint32_t next_opened;
static bool looks_for_results, is_ending; /* under the lock of tracked host memory */

static bool is_over(const struct use *use)
{
    return use->is_ended ||
           __atomic_load_n(&use->stream->completed, __ATOMIC_ACQUIRE) >= use->position;
}

static bool is_like(const struct use *a, const struct use *b)
{
    return a->address == b->address && a->stream == b->stream;
}

/* One entry says enough of two kernels only where both may run by now, and the newer is the last.
 */
static bool is_one(const struct use *older, const struct use *newer)
{
    return is_like(older, newer) && newer->in_order && !is_over(older) &&
           hsa_count_may_run(older->stream, older->position) &&
           hsa_count_may_run(newer->stream, newer->position);
}

static void drop_uses(void)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < use_count; i++)
        if (!is_over(&uses[i]))
            uses[kept++] = uses[i];
    __atomic_store_n(&use_count, kept, __ATOMIC_RELEASE);
}

/* Merges a use with an earlier one. Returns true if another entry has it. */
static bool merge_use(const struct use *use,
                      bool (*is_same)(const struct use *, const struct use *))
{
    for (uint32_t i = 0; i < use_count; i++) {
        struct use *other = &uses[i];
        if (!is_same(other, use))
            continue;
        other->position = use->position;
        other->in_order = use->in_order;
        if (other->end < use->end)
            other->end = use->end;
        return true;
    }
    return false;
}

static void add_use(const struct use *use)
{
    if (merge_use(use, is_one))
        return;
    if (use_count == USE_MAX)
        drop_uses();
    if (use_count == USE_MAX && merge_use(use, is_like))
        return;
    if (use_count == USE_MAX) {
        tsm_session_unmodelled("more than 1024 addresses of host memory that kernels were given",
                               true);
        return;
    }
    uses[use_count] = *use;
    __atomic_store_n(&use_count, use_count + 1, __ATOMIC_RELEASE);
}

void hsa_uses_forget(uint64_t from, uint64_t to)
{
    uint32_t kept = 0;

    tsm_lock_take(&lock);
    for (uint32_t i = 0; i < use_count; i++)
        if (uses[i].address < from || uses[i].address >= to)
            uses[kept++] = uses[i];
    __atomic_store_n(&use_count, kept, __ATOMIC_RELEASE);
    tsm_lock_give(&lock);
}

/* The lock is held. A command is given this address: if no kernel under way has it, what is there
 * is not of those that were given lower ones. */
static bool begins(uint64_t address)
{
    bool begins = false;

    for (uint32_t i = 0; i < use_count; i++)
        if (uses[i].address == address && !is_over(&uses[i]))
            return false;
    for (uint32_t i = 0; i < use_count; i++) {
        if (uses[i].address >= address || uses[i].end <= address || is_over(&uses[i]))
            continue;
        uses[i].end = address;
        begins = true;
    }
    return begins;
}

bool hsa_uses_any(void)
{
    return __atomic_load_n(&use_count, __ATOMIC_ACQUIRE) != 0;
}

bool hsa_uses_begin(const void *words, size_t size)
{
    const uint8_t *bytes = words;
    bool any = false;
    uint64_t word;

    if (!__atomic_load_n(&use_count, __ATOMIC_ACQUIRE))
        return false;
    tsm_lock_take(&lock);
    for (size_t i = 0; i + sizeof(word) <= size; i += sizeof(word)) {
        memcpy(&word, bytes + i, sizeof(word));
        any |= begins(word);
    }
    tsm_lock_give(&lock);
    return any;
}

/* ---- whose it is -----------------------------------------------------------------------------
 */

/* Tests whether memory belongs to a kernel: memory given to kernels that may run is theirs until
 * they are complete, and their results are recorded. For results a complete kernel counts no more,
 * and a waiting one does, unless it waits for the program. */
static bool is_theirs(const struct use *use)
{
    if (is_over(use))
        return !looks_for_results;
    return looks_for_results ? !hsa_count_is_held(use->stream, use->position)
                             : hsa_count_may_run(use->stream, use->position);
}

static uint32_t used_gaps(uint64_t from, uint64_t to, struct tsm_gap *gaps, uint32_t room)
{
    uint32_t count = 0;

    if (!__atomic_load_n(&use_count, __ATOMIC_ACQUIRE) || is_ending)
        return 0;
    tsm_lock_take(&lock);
    for (uint32_t i = 0; i < use_count; i++) {
        const struct use *use = &uses[i];
        if (use->address >= to || use->end <= from || !is_theirs(use))
            continue;
        if (count == room) {
            gaps[0] = (struct tsm_gap){from, to}; /* too many to tell apart: all of it */
            break;
        }
        gaps[count++] = (struct tsm_gap){use->address < from ? from : use->address,
                                         use->end > to ? to : use->end};
    }
    tsm_lock_give(&lock);
    return count;
}

void hsa_use_add(uint64_t address, uint64_t end, const struct tsm_call *call, bool in_order)
{
    const struct use use = {.address = address,
                            .end = end,
                            .stream = call->stream,
                            .position = call->position,
                            .in_order = in_order};

    tsm_hostmem_device(used_gaps);
    tsm_lock_take(&lock);
    add_use(&use);
    tsm_lock_give(&lock);
}

void hsa_uses_forked(void)
{
    lock = opening = (struct tsm_lock){0};
    use_count = 0;
    looks_for_results = is_ending = false;
}

/* ---- results ----------------------------------------------------------------------------------
 */

/* How much of what kernels left a wait reads, and of what one was given at one address; of more
 * only what the operating system says was written, which it does not say of each device. The first,
 * second, fourth, eighth, ... kernel that was given more in an allocation has all of it read. */
#define RESULT_SIZE_MAX ((uint64_t)1 << 20)
#define RESULT_PART_MAX ((uint64_t)256 << 10)

static uint64_t results_left;
static bool (*is_turn_of)(uint64_t address);
static uint32_t next_unseen;

/* Returns how many of the bytes that the kernel was given are read. */
static uint64_t read_part(const struct tsm_given *given)
{
    const uint64_t size = given->end - given->start;
    uint64_t part = size < RESULT_PART_MAX ? size : RESULT_PART_MAX;

    part = part < results_left ? part : results_left;
    results_left -= part;
    return part < size && is_turn_of(given->start) ? size : part;
}

static void remove_use(uint32_t at)
{
    memmove(&uses[at], &uses[at + 1], (use_count - at - 1) * sizeof(*uses));
    __atomic_store_n(&use_count, use_count - 1, __ATOMIC_RELEASE);
}

/* Cuts results that were read, so that they are not read again for other complete commands. */
static void cut_results(uint64_t start, uint64_t end)
{
    tsm_lock_take(&lock);
    for (uint32_t i = use_count; i-- > 0;) {
        struct use *use = &uses[i];
        if (!is_over(use) || use->is_late || use->end > end || use->end <= start)
            continue;
        if (use->address >= start)
            remove_use(i);
        else
            use->end = start;
    }
    tsm_lock_give(&lock);
}

/* Takes the newest kernel that is complete and was not looked at. False: there is none. */
static bool take_result(struct tsm_given *out)
{
    bool found = false;

    tsm_lock_take(&lock);
    for (uint32_t i = use_count; i-- > 0 && !found;) {
        const struct use *use = &uses[i];
        if (!is_over(use))
            continue;
        *out = (struct tsm_given){.start = use->address,
                                  .end = use->end,
                                  .stream = tsm_stream_number(use->stream),
                                  .position = use->position,
                                  .is_late = use->is_late};
        remove_use(i);
        found = true;
    }
    looks_for_results = found;
    tsm_lock_give(&lock);
    return found;
}

static bool next_result(struct tsm_given *out)
{
    if (!take_result(out))
        return false;
    out->read_end = out->start + read_part(out);
    if (!out->is_late)
        cut_results(out->start, out->read_end);
    return true;
}

void hsa_uses_results(bool (*takes_turn)(uint64_t address))
{
    struct tsm_given unseen;

    if (!__atomic_load_n(&use_count, __ATOMIC_ACQUIRE))
        return;
    results_left = RESULT_SIZE_MAX;
    is_turn_of = takes_turn;
    if (tsm_session_settings()->readback != TSM_READBACK_OFF)
        tsm_hostmem_given(next_result);
    while (take_result(&unseen)) /* nothing is recorded */
        ;
}

void hsa_use_landed(const struct tsm_stream *stream, uint64_t position, bool in_order, bool is_late)
{
    if (!__atomic_load_n(&use_count, __ATOMIC_ACQUIRE) || (in_order && !is_late))
        return;
    tsm_lock_take(&lock);
    for (uint32_t i = 0; i < use_count; i++) {
        struct use *use = &uses[i];
        if (use->stream != stream ||
            (in_order ? use->position > position : use->position != position))
            continue;
        use->is_ended = true;
        use->is_late |= is_late;
    }
    tsm_lock_give(&lock);
}

void hsa_uses_queue_destroyed(const struct tsm_stream *stream)
{
    tsm_lock_take(&lock);
    for (uint32_t i = 0; i < use_count; i++)
        if (uses[i].stream == stream)
            uses[i].is_late = uses[i].is_ended = true;
    tsm_lock_give(&lock);
}

/* Each kernel that is not known to be complete. */
static bool next_running(struct tsm_given *out)
{
    bool found;

    tsm_lock_take(&lock);
    found = next_unseen < use_count;
    if (found) {
        const struct use *use = &uses[next_unseen++];
        *out = (struct tsm_given){use->address, use->end, use->end, 0, 0, true};
    }
    is_ending = found;
    tsm_lock_give(&lock);
    return found;
}

void hsa_uses_ending(void)
{
    if (!__atomic_load_n(&use_count, __ATOMIC_ACQUIRE) ||
        tsm_session_settings()->readback == TSM_READBACK_OFF)
        return;
    next_unseen = 0;
    tsm_hostmem_given(next_running);
}

static bool next_behind(struct tsm_given *out)
{
    bool found = false;

    tsm_lock_take(&lock);
    while (next_opened < use_count && !found) {
        const struct use *use = &uses[next_opened++];
        found = !is_over(use) && hsa_count_is_behind(use->stream, use->position, opened);
        *out = (struct tsm_given){use->address, use->end, use->end, 0, 0, true};
    }
    is_ending = found;
    tsm_lock_give(&lock);
    return found;
}

void hsa_uses_opened(hsa_signal_t signal)
{
    if (!__atomic_load_n(&use_count, __ATOMIC_ACQUIRE))
        return;
    tsm_lock_take(&opening);
    next_opened = 0;
    opened = signal;
    tsm_hostmem_given(next_behind);
    tsm_lock_give(&opening);
}
