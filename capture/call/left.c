/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls that a thread has left by a jump. The struct of such a call lay on a stack, and must not be
 * read any more: one of two objects stands for it.
 */
#include "capture/call/left.h"

static struct tsm_call left;
static struct tsm_call overwritten; /* where its record was being made is something else now */

bool tsm_left_is(const struct tsm_call *call)
{
    return call == &left || call == &overwritten;
}

bool tsm_left_overwritten(void)
{
    return tsm_thread.call == &overwritten;
}

bool tsm_left_make_way(const struct tsm_lane *lane)
{
    if (!tsm_left_is(tsm_thread.call))
        return false;
    if (tsm_thread.lane == lane)
        tsm_thread.call = &overwritten;
    return true;
}

/* A call inside another one lies below it on the stack. One that lies where that was, or above,
 * comes after a jump. Farther away is another stack: memory there may be unmapped, or another
 * call's. */
static bool was_left(const struct tsm_call *before, const struct tsm_call *call)
{
    const uintptr_t reach = (uintptr_t)8 << 20, near = (uintptr_t)64 << 10;
    struct tsm_lane *lane = NULL;

    if ((uintptr_t)call + sizeof(*call) - (uintptr_t)before - 1 < reach)
        return true;
    if ((uintptr_t)before - (uintptr_t)call < near)
        return false;
    return !tsm_memory_read(&lane, (uint64_t)(uintptr_t)&before->lane, sizeof(lane)) ||
           lane != tsm_thread.lane;
}

bool tsm_left_check(const struct tsm_call *call)
{
    if (!tsm_left_is(tsm_thread.call) && was_left(tsm_thread.call, call))
        tsm_thread.call = &left;
    return tsm_left_is(tsm_thread.call);
}
