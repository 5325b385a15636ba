/* SPDX-License-Identifier: Apache-2.0
 *
 * The drain thread: lanes in, trace out.
 *
 * A round takes W, the time now, and writes all records with a key below it. That is in order when
 * no such record can appear later. A thread takes a record's stamp under a published floor
 * (`pending`), so after a barrier that all threads pass (membarrier) each stamp below W is either
 * followed by its floor's end, and then the record is in the lane, or its floor is seen here and W
 * is lowered to it.
 *
 * Lanes' space is given back only after the trace file has the bytes (sbt_writer_flush). What is
 * released, in all lanes together, is switched by one store of `flush_epoch`, so that a salvager
 * finds a consistent state whenever the process dies.
 *
 * Descriptors. The thread has a table of its own (close_range with UNSHARE), in which only our
 * files are: the program can close all its descriptors, and we can never write into a file of its
 * own.
 */
#include "capture/lane/drain.h"

#include "base/file.h"
#include "base/log.h"
#include "base/text.h"
#include "base/thread.h"
#include "capture/call/intern.h"
#include "capture/call/note.h"
#include "capture/lane/drain_thread.h"
#include "capture/process/control.h"
#include "capture/process/output.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define FLUSH_BYTES       (1u << 20)
#define FLUSH_AFTER_NS    2000000000u /* lanes survive a crash; small chunks compress badly */
#define SLEEP_BUSY_NS     20000000u
#define SLEEP_IDLE_MAX_NS 1000000000u
#define LAST_THREAD_NS    100000000u  /* looks for it at most so often while main() has not ended */
#define QUIET_WAIT_NS     500000000u  /* for commits that are under way when the end comes */
#define STUCK_DESTROY_NS  1000000000u /* a destroying call that keeps others from being written */

static uint64_t load(const uint64_t *value)
{
    return __atomic_load_n(value, __ATOMIC_ACQUIRE);
}

/* ---- a round ----------------------------------------------------------------------------------
 */

static void barrier(const struct tsm_drain *d)
{
    struct timespec millisecond = {0, 1000000};

    /* Without membarrier: long enough for any store to leave its core's buffer. */
    if (!d->has_membarrier || syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) != 0)
        nanosleep(&millisecond, NULL);
}

/* Returns the lower bound of the key of the lane's next record. */
static uint64_t floor_of(const struct tsm_lane_header *h)
{
    uint64_t pending = load(&h->pending);

    if (pending == 0)
        return UINT64_MAX;
    return pending == TSM_PENDING_UNKNOWN ? load(&h->since) : pending;
}

static bool is_half_full(const struct tsm_drain *d, uint32_t i)
{
    return d->lanes[i].head - d->lanes[i].flushed[d->session->lanes_header->flush_epoch & 1] >=
           d->merge.lanes[i].size / 2;
}

/* A destroying call publishes its floor for its whole duration. When it waits (for the GPU, which
 * may wait for another thread of the program, which waits for space in its lane), keeping the order
 * would turn into a deadlock: then its record comes late instead. */
static bool may_be_ignored(const struct tsm_drain *d, uint64_t floor, uint64_t now)
{
    double age_ns = (double)(int64_t)(now - floor) * d->merge.clock.ns_per_tick;

    if (age_ns < STUCK_DESTROY_NS)
        return false;
    for (uint32_t i = 1; i < d->merge.lane_count; i++) {
        if (__atomic_load_n(&d->session->lanes[i].waiting, __ATOMIC_ACQUIRE))
            return true;
    }
    return false;
}

/* Is a thread about to wait for space? Being half full is what woke us, and nothing to worry about.
 */
static bool is_behind(const struct tsm_drain *d)
{
    uint32_t epoch = d->session->lanes_header->flush_epoch & 1;

    for (uint32_t i = 1; i < d->merge.lane_count; i++) {
        if (d->lanes[i].head - d->lanes[i].flushed[epoch] >= d->merge.lanes[i].size / 4 * 3)
            return true;
    }
    return d->waited_for;
}

/* Floors first, then heads: a floor that is gone has its record before the head. */
static uint64_t read_heads(struct tsm_drain *d)
{
    uint64_t now = tsm_ticks(), watermark = now;

    barrier(d);
    for (uint32_t i = 1; i < d->merge.lane_count; i++) {
        uint64_t floor = floor_of(d->lanes[i].header);
        if (floor < watermark && !may_be_ignored(d, floor, now))
            watermark = floor;
    }
    for (uint32_t i = 1; i < d->merge.lane_count; i++) {
        d->lanes[i].head = load(&d->lanes[i].header->head);
        d->merge.lanes[i].limit = d->lanes[i].head;
    }
    return watermark;
}

/* Everything that records before the heads may name, in whatever lane it is: so heads again. A
 * piece is named only after it was counted; a lane without new ones need not be walked for them. */
static int merge_named(struct tsm_drain *d)
{
    int error = 0;

    for (uint32_t i = 1; i < d->merge.lane_count && !error; i++) {
        const struct tsm_lane_header *h = d->lanes[i].header;
        if (load(&h->piece_count) != d->merge.lanes[i].pieces)
            error = tsm_merge_pieces(&d->merge, &d->merge.lanes[i], load(&h->head));
    }
    d->lanes[0].head = load(&d->lanes[0].header->head);
    if (!error)
        error = tsm_merge_definitions(&d->merge, d->lanes[0].head);
    return error;
}

/* Ring mode: what is younger than TS_KEEP stays in its lane, unless the lane gets full; older
 * commands are left out. */
static uint64_t keep_watermark(struct tsm_drain *d, uint64_t watermark)
{
    uint64_t keep = (uint64_t)((double)d->session->settings.keep_ns / d->merge.clock.ns_per_tick);
    uint64_t cut = tsm_ticks() - keep;

    for (uint32_t i = 1; i < d->merge.lane_count; i++) {
        const struct tsm_merge_lane *lane = &d->merge.lanes[i];
        if (lane->limit - lane->read > lane->size / 2) {
            uint64_t key = tsm_merge_key_at(lane, lane->read + lane->size / 4);
            if (key != UINT64_MAX && key > cut)
                cut = key;
        }
    }
    if (cut > watermark)
        cut = watermark;
    if (cut > d->merge.cut)
        d->merge.cut = cut;
    __atomic_store_n(&d->session->lanes_header->cut, d->merge.cut, __ATOMIC_RELEASE);
    return d->merge.cut;
}

/* The program wrote over a lane. Its thread must not wait for space that will never come. */
static int check_whole(const struct tsm_drain *d)
{
    for (uint32_t i = 0; i < d->merge.lane_count; i++) {
        if (d->merge.lanes[i].torn)
            return tsm_fail(TSM_E_FORMAT, "%s: the program has overwritten it",
                            d->session->lanes_path);
    }
    return 0;
}

/* Somebody made the file shorter than what is mapped of it. */
static int check_size(struct tsm_drain *d)
{
    struct tsm_session *s = d->session;
    struct stat st;
    bool is_cut = __atomic_load_n(&s->lanes_cut, __ATOMIC_ACQUIRE) != 0;

    if (!is_cut && (!d->own_descriptors || fstat(d->lanes_fd, &st) != 0 ||
                    (uint64_t)st.st_size >= d->lanes_file_size))
        return 0;
    tsm_lanes_detach(s);
    return tsm_fail(TSM_E_IO, "its buffer file (.lanes) was made shorter while the program ran; "
                              "recording has stopped");
}

static int merge_round(struct tsm_drain *d, bool last)
{
    uint64_t watermark = read_heads(d);
    int error;

    /* Compression shares this thread's core while it keeps up, and gets its own when it does not.
     */
    sbt_writer_alone(d->merge.writer, !is_behind(d));
    error = merge_named(d);
    for (uint32_t i = 0; i < TSM_TYPE_API_COUNT && !error; i++)
        if (d->declare[i])
            error = tsm_declare_used(d->declare[i], d->merge.writer);
    if (last)
        watermark = UINT64_MAX;
    else if (d->session->settings.keep_ns)
        watermark = keep_watermark(d, watermark);
    if (!error)
        error = tsm_merge_records(&d->merge, watermark);
    return error ? error : check_whole(d);
}

/* ---- flushing ---------------------------------------------------------------------------------
 */

static void release(struct tsm_drain *d)
{
    struct tsm_session *s = d->session;
    struct tsm_lanes_header *h = s->lanes_header;
    uint32_t next = h->flush_epoch + 1;

    for (uint32_t i = 0; i < d->merge.lane_count; i++) {
        uint64_t read = d->merge.lanes[i].read;
        if (d->lanes[i].flushed[next & 1] != read)
            d->lanes[i].header->flushed[next & 1] = d->lanes[i].flushed[next & 1] = read;
    }
    h->flushed[next & 1] = d->merge.record_count;
    h->kept_out = d->merge.kept_out;
    __atomic_store_n(&h->flush_epoch, next, __ATOMIC_RELEASE);
    for (uint32_t i = 0; i < d->merge.lane_count; i++) {
        struct tsm_lane *lane = &s->lanes[i];
        if (d->lanes[i].flushed[0] == d->lanes[i].flushed[1])
            continue;
        __atomic_store_n(&lane->header->tail, d->merge.lanes[i].read, __ATOMIC_SEQ_CST);
        if (__atomic_exchange_n(&lane->waiting, 0, __ATOMIC_SEQ_CST)) {
            __atomic_add_fetch(&lane->space_signal, 1, __ATOMIC_RELEASE);
            tsm_futex_wake(&lane->space_signal, INT32_MAX);
        }
    }
}

static int flush(struct tsm_drain *d)
{
    int error = sbt_writer_flush(d->merge.writer);

    if (error)
        return error;
    release(d);
    d->first_unflushed_ns = 0;
    return 0;
}

static uint64_t unflushed_bytes(struct tsm_drain *d, bool *pressed)
{
    uint32_t epoch = d->session->lanes_header->flush_epoch & 1;
    uint64_t total = 0;

    *pressed = false;
    d->waited_for = false;
    for (uint32_t i = 0; i < d->merge.lane_count; i++) {
        uint64_t bytes = d->merge.lanes[i].read - d->lanes[i].flushed[epoch];
        bool waiting = __atomic_load_n(&d->session->lanes[i].waiting, __ATOMIC_SEQ_CST);

        total += bytes;
        d->waited_for = d->waited_for || waiting;
        *pressed = *pressed || (bytes > 0 && (waiting || is_half_full(d, i)));
    }
    return total;
}

/* A request is answered when what was in the lanes at its time is in the file; a call that takes
 * long between its return and its commit is not waited for longer than QUIET_WAIT_NS. */
static bool request_ready(struct tsm_drain *d)
{
    if (tsm_monotonic_ns() - d->request_ns > QUIET_WAIT_NS)
        return true;
    for (uint32_t i = 0; i < d->merge.lane_count; i++) {
        if (d->merge.lanes[i].read < d->lanes[i].flush_target && !d->merge.lanes[i].torn)
            return false;
    }
    return true;
}

static void take_request(struct tsm_drain *d)
{
    uint32_t wanted = __atomic_load_n(&d->session->flush_wanted, __ATOMIC_SEQ_CST);

    if (wanted == d->flush_request)
        return;
    d->flush_request = wanted;
    d->request_ns = tsm_monotonic_ns();
    for (uint32_t i = 0; i < d->merge.lane_count; i++)
        d->lanes[i].flush_target = load(&d->lanes[i].header->head);
}

static void answer_request(struct tsm_drain *d)
{
    __atomic_store_n(&d->session->flush_done, d->flush_request, __ATOMIC_RELEASE);
    tsm_futex_wake(&d->session->flush_done, INT32_MAX);
}

static int flush_when_due(struct tsm_drain *d)
{
    uint64_t now = tsm_monotonic_ns();
    bool pressed, requested = d->flush_request != d->session->flush_done && request_ready(d);
    int error = 0;

    d->unflushed = unflushed_bytes(d, &pressed);
    if (d->unflushed && !d->first_unflushed_ns)
        d->first_unflushed_ns = now;
    if (pressed || requested || d->unflushed >= FLUSH_BYTES ||
        (d->unflushed && now - d->first_unflushed_ns >= FLUSH_AFTER_NS))
        error = flush(d);
    if (requested && !error)
        answer_request(d);
    return error;
}

/* ---- the end ----------------------------------------------------------------------------------
 */

/* No commit is under way, or it takes too long. */
static bool is_quiet(struct tsm_drain *d)
{
    uint64_t now = tsm_monotonic_ns();

    if (!d->finish_seen_ns)
        d->finish_seen_ns = now;
    if (now - d->finish_seen_ns > QUIET_WAIT_NS)
        return true;
    for (uint32_t i = 1; i < d->merge.lane_count; i++) {
        const struct tsm_lane_header *h = d->lanes[i].header;
        /* A destroying call's floor lasts as long as the call. */
        if (load(&h->pending) != 0 && load(&h->pending) != load(&h->since))
            return false;
    }
    return true;
}

/* Calls that threads are in when the trace ends. */
static int write_unfinished(struct tsm_drain *d)
{
    uint64_t now = tsm_ticks();
    int error = 0;

    for (uint32_t i = 1; i < d->merge.lane_count && !error; i++)
        error = tsm_merge_unfinished(&d->merge, d->lanes[i].header, now);
    return error;
}

static int write_unmodelled_counts(struct tsm_drain *d)
{
    const struct tsm_session *s = d->session;
    uint32_t count = tsm_intern_count(s);
    int error = 0;

    for (uint32_t id = 1; id <= count && !error; id++) {
        char name[512], value[16];
        uint32_t times = tsm_notes_count(s, id);
        if (times == 0)
            continue;
        tsm_format(name, sizeof(name), "unmodelled.%s", tsm_intern_text(s, id));
        tsm_format(value, sizeof(value), "%u", times);
        name[200] = '\0';
        error = sbt_writer_metadata(d->merge.writer, name, value);
    }
    return error;
}

/* Nobody else's file of that name. */
static void remove_lanes(const struct tsm_drain *d)
{
    if (d->folder_fd >= 0)
        tsm_file_remove(d->folder_fd, strrchr(d->session->lanes_path, '/') + 1, d->lanes_fd);
    else /* the program may have closed our descriptor */
        unlink(d->session->lanes_path);
}

static int write_end(struct tsm_drain *d)
{
    struct tsm_merge_ending ending = {0};
    int error = merge_round(d, true);

    if (!error)
        error = write_unfinished(d);
    if (!error)
        error = write_unmodelled_counts(d);
    if (!error && d->session->stop_text)
        error = sbt_writer_metadata(d->merge.writer, "capture.stopped", d->session->stop_text);
    for (uint32_t i = 1; i < d->merge.lane_count; i++)
        tsm_merge_ending_add(&ending, d->lanes[i].header);
    if (!error)
        error = tsm_merge_end(&d->merge, &ending, d->session->lanes_header, SBT_END_FINISHED);
    if (!error) {
        remove_lanes(d);
        tsm_drain_undeclare(d);
    }
    return error;
}

/* ---- the loop ---------------------------------------------------------------------------------
 */

static int answer_lane_wishes(struct tsm_drain *d)
{
    struct tsm_session *s = d->session;
    uint32_t wanted = __atomic_load_n(&s->lanes_wanted, __ATOMIC_SEQ_CST);
    uint32_t more = wanted > s->lane_count / 4 ? wanted : s->lane_count / 4;
    int error;

    if (wanted == 0 || __atomic_load_n(&s->free_lanes, __ATOMIC_ACQUIRE))
        return 0;
    more = more < 256 ? more : 256;
    error = tsm_drain_add_lanes(d, more);
    __atomic_add_fetch(&s->lanes_made, 1, __ATOMIC_SEQ_CST);
    /* Wake as many as get one; all when there will be no others. */
    tsm_futex_wake(&s->lanes_made,
                   error || s->lane_count == TSM_LANE_COUNT_MAX ? INT32_MAX : (int)more);
    return error;
}

static void do_favour(struct tsm_session *s)
{
    void (*favour)(void *argument) = __atomic_load_n(&s->favour, __ATOMIC_ACQUIRE);

    if (!favour)
        return;
    favour(s->favour_argument);
    __atomic_store_n(&s->favour, NULL, __ATOMIC_RELEASE);
    __atomic_add_fetch(&s->favour_done, 1, __ATOMIC_SEQ_CST);
    tsm_futex_wake(&s->favour_done, INT32_MAX);
}

static void turn_off(void)
{
    struct tsm_live *live = __atomic_load_n(&tsm_live, __ATOMIC_ACQUIRE);

    __atomic_store_n(&live->state, TSM_LIVE_OFF, __ATOMIC_RELEASE);
    tsm_futex_wake(&live->state, INT32_MAX); /* who is held back by a checkpoint */
}

struct declaration {
    struct tsm_drain *drain;
    uint32_t api;
};

static void declare(void *argument)
{
    struct declaration *d = argument;

    d->drain->declare_error = tsm_drain_declare(d->drain, d->api);
    if (d->drain->declare_error) /* before the program goes on: nobody could read its records */
        turn_off();
}

/* Two threads may come here at once: the second finds everything written. */
void tsm_api_used(struct tsm_session *s, uint32_t api)
{
    struct declaration d = {s->drain, api};
    uint8_t *types = s->types + (size_t)api * TSM_TYPE_CALL_COUNT;
    int saved_errno = errno;

    tsm_inside_enter(); /* a signal handler's calls must not come here, too */
    if (tsm_drain_ask(s, declare, &d)) {
        __atomic_fetch_or(&s->apis_used, (uint8_t)(1u << api), __ATOMIC_RELAXED);
        for (uint32_t i = 0; i < TSM_TYPE_CALL_COUNT; i++) {
            uint8_t info = __atomic_load_n(&types[i], __ATOMIC_RELAXED);
            __atomic_store_n(&types[i], info & (uint8_t)~TSM_TYPE_NEW, __ATOMIC_RELAXED);
        }
    }
    tsm_inside_leave();
    errno = saved_errno;
}

/* Ends the process when nobody is left in it but our threads. True: the trace is to end now, and
 * this thread. */
static bool end_with_last_thread(struct tsm_drain *d)
{
    uint64_t now = tsm_monotonic_ns();
    enum tsm_last_thread last;

    if (d->ending || now < d->last_thread_due_ns)
        return false;
    last = tsm_last_thread(d);
    d->last_thread_due_ns = now + (last == TSM_THREAD_MAIN ? LAST_THREAD_NS : 0);
    d->main_ended = last != TSM_THREAD_MAIN;
    if (last != TSM_THREAD_NONE)
        return false;
    d->ending = tsm_last_thread_leave(d->session); /* who calls exit() asks for the end */
    if (d->ending)
        return false;
    turn_off();
    d->session->end_at_once = true;
    return true;
}

static void sleep_until_needed(struct tsm_drain *d, uint32_t signal, uint64_t *idle_ns)
{
    struct tsm_session *s = d->session;
    bool busy = d->unflushed || d->waited_for || d->flush_request != s->flush_done || d->main_ended;

    *idle_ns = busy                               ? SLEEP_BUSY_NS
               : *idle_ns * 2 < SLEEP_IDLE_MAX_NS ? *idle_ns * 2
                                                  : SLEEP_IDLE_MAX_NS;
    __atomic_store_n(&s->drain_sleeping, 1, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&s->drain_signal, __ATOMIC_SEQ_CST) == signal)
        tsm_futex_wait(&s->drain_signal, signal, d->finish_seen_ns ? 1000000u : *idle_ns);
    __atomic_store_n(&s->drain_sleeping, 0, __ATOMIC_SEQ_CST);
}

static int run(struct tsm_drain *d)
{
    struct tsm_session *s = d->session;
    uint64_t idle_ns = SLEEP_BUSY_NS;

    for (;;) {
        uint32_t signal = __atomic_load_n(&s->drain_signal, __ATOMIC_SEQ_CST);
        bool finish = __atomic_load_n(&s->finish_wanted, __ATOMIC_SEQ_CST) != 0;
        int error = check_size(d);

        if (!error)
            error = answer_lane_wishes(d);
        if (tsm_monotonic_ns() >= d->clock_due_ns)
            tsm_drain_calibrate(d);
        do_favour(s);
        tsm_control_poll(s);
        take_request(d);
        if (!error)
            error = d->declare_error;
        if (!error)
            error = merge_round(d, false);
        if (__atomic_load_n(&s->lanes_cut, __ATOMIC_ACQUIRE))
            error = check_size(d);
        if (!error)
            error = flush_when_due(d);
        if (error)
            return error;
        if ((finish && is_quiet(d)) || (!finish && end_with_last_thread(d)))
            return write_end(d);
        sleep_until_needed(d, signal, &idle_ns);
    }
}

static void set_drain_state(struct tsm_session *s, uint32_t state)
{
    __atomic_store_n(&s->drain_state, state, __ATOMIC_RELEASE);
    tsm_futex_wake(&s->drain_state, INT32_MAX);
}

/* Nobody waits any longer: not for space, not for a lane, not for a flush. */
static void release_everybody(struct tsm_session *s)
{
    for (uint32_t i = 0; i < s->lane_count; i++) {
        __atomic_add_fetch(&s->lanes[i].space_signal, 1, __ATOMIC_RELEASE);
        tsm_futex_wake(&s->lanes[i].space_signal, INT32_MAX);
    }
    __atomic_add_fetch(&s->lanes_made, 1, __ATOMIC_RELEASE);
    tsm_futex_wake(&s->lanes_made, INT32_MAX);
    __atomic_add_fetch(&s->favour_done, 1, __ATOMIC_RELEASE);
    tsm_futex_wake(&s->favour_done, INT32_MAX);
    __atomic_store_n(&s->flush_done, s->flush_wanted, __ATOMIC_RELEASE);
    tsm_futex_wake(&s->flush_done, INT32_MAX);
}

/* The lanes have nothing to salvage; what is in the trace gets an end that says why. */
static void end_without_lanes(struct tsm_drain *d)
{
    struct tsm_merge_ending ending = {0};

    if (tsm_merge_end(&d->merge, &ending, d->session->lanes_header, SBT_END_CUT) == 0) {
        remove_lanes(d);
        tsm_drain_undeclare(d);
    }
}

/* Lanes stay as they are: what they hold can be salvaged when there is room again. */
static void fail(struct tsm_drain *d)
{
    struct tsm_session *s = d->session;

    if (!s->drain_message[0])
        tsm_format(s->drain_message, sizeof(s->drain_message), "%s: %s", s->path,
                   tsm_error_message());
    tsm_format(s->lanes_header->stopped, sizeof(s->lanes_header->stopped), "%s", s->drain_message);
    turn_off();
    if (s->lanes_cut)
        end_without_lanes(d);
    tsm_output_warn(s, s->drain_message); /* before the program, which may wait for us, can end */
    set_drain_state(s, TSM_DRAIN_FAILED);
    release_everybody(s);
}

static void finish(struct tsm_drain *d)
{
    sbt_writer_destroy(d->merge.writer);
    tsm_merge_finish(&d->merge);
    free(d->lanes);
    if (d->lanes_fd >= 0)
        close(d->lanes_fd);
    if (d->folder_fd >= 0)
        close(d->folder_fd);
    tsm_memory_unmap(d, sizeof(*d));
}

static void prepare_thread(struct tsm_drain *d)
{
    sigset_t bus_error;

    tsm_thread.inside = 1; /* what the writer calls is never recorded */
    d->session->drain_thread = (pid_t)syscall(SYS_gettid);
    prctl(PR_SET_NAME, "ts-drain");
    if (d->session->lanes_guarded) {
        sigemptyset(&bus_error);
        sigaddset(&bus_error, SIGBUS);
        pthread_sigmask(SIG_UNBLOCK, &bus_error, NULL);
    }
    d->own_descriptors = syscall(SYS_close_range, 0u, ~0u, CLOSE_RANGE_UNSHARE) == 0;
    /* Occupies descriptors 0 to 2 with files of no effect, so that a stray write of the program
     * hits nothing of ours. */
    for (int i = 0; d->own_descriptors && i < 3; i++) {
        if (open("/dev/null", O_RDWR | O_CLOEXEC) < 0)
            syscall(SYS_memfd_create, "ts-none", MFD_CLOEXEC);
    }
    d->has_membarrier =
        syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
}

static void *thread_main(void *argument)
{
    struct tsm_drain *d = argument;
    struct tsm_session *s = d->session;
    int error;

    prepare_thread(d);
    error = tsm_drain_setup(d);
    if (error) {
        if (!s->drain_message[0])
            tsm_format(s->drain_message, sizeof(s->drain_message), "%s: %s", s->path,
                       tsm_error_message());
        finish(d);
        set_drain_state(s, TSM_DRAIN_FAILED);
        return NULL;
    }
    set_drain_state(s, TSM_DRAIN_RUNNING);
    error = run(d);
    if (error)
        fail(d);
    finish(d);
    if (!error) {
        set_drain_state(s, TSM_DRAIN_DONE);
        release_everybody(s);
    }
    if (s->end_at_once)
        tsm_end_at_once();
    return NULL;
}

static bool may_start_threads(struct tsm_session *s)
{
    uint64_t left = tsm_threads_left();

    if (left >= TSM_THREADS_LEFT_MIN)
        return true;
    tsm_format(s->drain_message, sizeof(s->drain_message),
               "recording needs two threads, and RLIMIT_NPROC leaves this user %u, which are the "
               "program's (raise it: ulimit -u)",
               (unsigned)left);
    return false;
}

bool tsm_drain_start(struct tsm_session *s)
{
    /* Not of the heap: a thread of the program may hold its lock while a signal handler on it waits
     * for the end, and then nothing that the program's threads allocated can be freed. */
    struct tsm_drain *d = may_start_threads(s) ? tsm_memory_map(sizeof(*d)) : NULL;
    pthread_t thread;
    int error;

    if (!d) {
        if (!s->drain_message[0])
            tsm_format(s->drain_message, sizeof(s->drain_message), "no memory for recording");
        return false;
    }
    d->session = s;
    d->lanes_fd = d->folder_fd = -1;
    s->drain = d;
    s->lanes_guarded = tsm_lanes_guard(s);
    error = tsm_thread_create_blocked(&thread, thread_main, d);
    if (error) {
        tsm_format(s->drain_message, sizeof(s->drain_message), "cannot create a thread: %s",
                   tsm_errno_text(error));
        tsm_memory_unmap(d, sizeof(*d));
        return false;
    }
    pthread_detach(thread);
    while (__atomic_load_n(&s->drain_state, __ATOMIC_ACQUIRE) == TSM_DRAIN_STARTING)
        tsm_futex_wait(&s->drain_state, TSM_DRAIN_STARTING, 0);
    return __atomic_load_n(&s->drain_state, __ATOMIC_ACQUIRE) == TSM_DRAIN_RUNNING;
}
