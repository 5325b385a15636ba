/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls that put a command on a stream and may then wait for the GPU. Their stream's lock cannot be held
 * meanwhile: what the GPU waits for may be another thread's call on that stream. But who calls next must
 * not reach the driver before them, or the recorded order is wrong. So it waits until they return; or,
 * since a command reaches the driver long before the wait for it is over, until the call has used
 * processor time enough, or its thread sleeps. A call that gets no processor is waited for longer, but not
 * for ever: no deadlock can come of it. The GPU loses nothing: what comes next on this stream could not
 * begin before what it waits for is complete.
 */
#include "capture/streams.h"

#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define LOOK_NS  100000u    /* between two looks at a call in progress */
#define WORK_NS  2000000u   /* of processor time: the command has been sent by then */
#define SLEEP_NS 10000000u  /* asleep for so long: it waits for the GPU, not for a lock of the driver */
#define LIMIT_NS 500000000u /* whatever it does */

/* Processor time of a thread of this process; 0: not known. */
static uint64_t time_used(uint32_t thread)
{
    struct timespec t;

    /* The kernel's number of a thread's own clock (CPUCLOCK_SCHED of one thread). */
    if (clock_gettime((clockid_t)(~thread << 3 | 6), &t))
        return 0;
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Writes "/proc/self/task/THREAD/stat". */
static void name_stat(char out[64], uint32_t thread)
{
    char digits[16];
    size_t count = 0, at = strlen("/proc/self/task/");

    memcpy(out, "/proc/self/task/", at);
    for (; thread || !count; thread /= 10)
        digits[count++] = (char)('0' + thread % 10);
    while (count)
        out[at++] = digits[--count];
    memcpy(out + at, "/stat", sizeof("/stat"));
}

/* Tests whether the thread is off the processor because it waits. False as well if nobody says. */
static bool is_asleep(uint32_t thread)
{
    char name[64], text[256];
    const char *state;
    ssize_t size;
    int fd;

    name_stat(name, thread);
    fd = open(name, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    size = read(fd, text, sizeof(text) - 1);
    close(fd);
    text[size > 0 ? size : 0] = 0;
    state = strrchr(text, ')'); /* behind the thread's name */
    return state && state[1] == ' ' && state[2] == 'S';
}

/* What was seen of the last call in progress. */
struct look {
    uint64_t start_ns, asleep_ns; /* since when; 0: it is not */
    uint64_t used_first, used;
};

/* Tests whether the driver must have its command by now. */
static bool has_sent(struct look *look, uint32_t thread)
{
    uint64_t now = tsm_monotonic_ns(), used = time_used(thread);

    if (!look->start_ns)
        *look = (struct look){now, 0, used, used};
    if (used != look->used || !is_asleep(thread))
        look->asleep_ns = 0;
    else if (!look->asleep_ns)
        look->asleep_ns = now;
    look->used = used;
    return used - look->used_first >= WORK_NS || now - look->start_ns >= LIMIT_NS ||
           (look->asleep_ns && now - look->asleep_ns >= SLEEP_NS);
}

static bool is_past(const struct tsm_turn *turn)
{
    return __atomic_load_n(&turn->past, __ATOMIC_ACQUIRE) >= turn->last;
}

static void set_past(struct tsm_turn *turn, uint64_t position)
{
    __atomic_store_n(&turn->past, position, __ATOMIC_RELEASE);
}

void tsm_turn_await(struct tsm_stream *stream)
{
    struct tsm_turn *turn = &stream->turn;
    struct look look = {0};
    int saved_errno = errno;

    while (tsm_turn_is_taken(stream) && !is_past(turn)) {
        uint64_t last = turn->last;
        uint32_t word = __atomic_load_n(&turn->word, __ATOMIC_ACQUIRE);

        if (has_sent(&look, turn->thread)) {
            set_past(turn, last);
            break;
        }
        __atomic_add_fetch(&turn->waiters, 1, __ATOMIC_SEQ_CST);
        tsm_lock_give(&stream->lock);
        if (tsm_turn_is_taken(stream))
            tsm_futex_wait(&turn->word, word, LOOK_NS);
        tsm_lock_take(&stream->lock);
        __atomic_sub_fetch(&turn->waiters, 1, __ATOMIC_SEQ_CST);
        if (turn->last != last)
            look.start_ns = 0;
    }
    errno = saved_errno;
}

void tsm_turn_begin(struct tsm_stream *stream, uint32_t thread, uint64_t position)
{
    struct tsm_turn *turn = &stream->turn;

    turn->thread = thread;
    __atomic_store_n(&turn->last, position, __ATOMIC_RELEASE);
    __atomic_add_fetch(&turn->count, 1, __ATOMIC_RELEASE);
}

/* Those before it were waited for when it began. */
void tsm_turn_end(struct tsm_stream *stream, uint64_t position)
{
    struct tsm_turn *turn = &stream->turn;

    if (__atomic_load_n(&turn->last, __ATOMIC_ACQUIRE) == position)
        set_past(turn, position);
    __atomic_sub_fetch(&turn->count, 1, __ATOMIC_RELEASE);
    __atomic_add_fetch(&turn->word, 1, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&turn->waiters, __ATOMIC_SEQ_CST))
        tsm_futex_wake(&turn->word, 64);
}
