/* SPDX-License-Identifier: Apache-2.0
 *
 * Checkpoints: what the GPU's memory holds at a moment when nothing moves.
 *
 * The moment. The state HELD makes every call that begins wait; calls that have begun are waited
 * for, and so is the GPU, but never for long: a thread that is held back may be what they wait for.
 * When it takes too long everything goes on as before, and it is tried again later. So a checkpoint
 * can be late, and can never add a deadlock.
 *
 * What is written are core records in this thread's lane, the bytes as pieces: those that were
 * stored before cost only a reference. A checkpoint counts when its last record is there.
 */
#include "capture/session.h"

#include "base/own_stack.h"
#include "base/bytes.h"
#include "base/text.h"
#include "capture/call/checkpoint.h"
#include "capture/call/note.h"
#include "capture/call/payload.h"
#include "capture/call/readbacks.h"
#include "capture/memory/host_changes.h"
#include "capture/process/control.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define READ_SIZE          ((uint64_t)4 << 20)   /* from the device at once; whole pieces */
#define ITEM_SIZE_MAX      ((uint64_t)128 << 20) /* in one record; whole reads */
#define OVERDUE_PATIENCE   500000000u /* ns, when no synchronisation came for as long again */
#define PATIENCE_DOUBLINGS 3u         /* of that at a synchronisation, one with each failure */
#define RETRY_NS           10000000u  /* after a failure; doubled by each further one ... */
#define RETRY_DOUBLINGS    7u         /* ... up to 1.3 s */
#define START_RETRY_NS     50000u /* the same for the beginning of the recording: up to 6.4 ms */

uint32_t tsm_checkpoint_due;
#define DUE 1u /* at the next synchronisation */
#define NOW 2u /* at the next command: somebody asked */

/* When the next one is due is changed by the thread that took one and read by all. */
static uint64_t get(const uint64_t *value)
{
    return __atomic_load_n(value, __ATOMIC_RELAXED);
}

static void set(uint64_t *value, uint64_t to)
{
    __atomic_store_n(value, to, __ATOMIC_RELAXED);
}

struct tsm_checkpoint_run {
    struct tsm_lane *lane;
    uint32_t number;
    uint64_t item_count, size;
    uint8_t *bytes;     /* READ_SIZE */
    uint8_t *reference; /* of an item */
};

bool tsm_checkpoint_possible(void)
{
    const struct tsm_settings *s = tsm_session_settings();

    return s->checkpoint_commands || s->checkpoint_ns || s->start_call > 1 || s->start_paused ||
           s->start_signal;
}

/* ---- holding everybody ----------------------------------------------------------------------- */

static void nap(void)
{
    struct timespec t = {0, 50000};

    nanosleep(&t, NULL);
}

/* After this, whoever has not seen our last store is seen by us. */
static void barrier(void)
{
    struct timespec millisecond = {0, 1000000};

    if (syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) != 0)
        nanosleep(&millisecond, NULL);
}

static bool change_state(struct tsm_live *live, uint32_t from, uint32_t to)
{
    bool changed = __atomic_compare_exchange_n(&live->state, &from, to, false, __ATOMIC_ACQ_REL,
                                               __ATOMIC_ACQUIRE);

    if (changed)
        tsm_futex_wake(&live->state, INT32_MAX);
    return changed;
}

static bool is_outside(const struct tsm_lane_header *h)
{
    return __atomic_load_n(&h->inside, __ATOMIC_ACQUIRE) == 0 &&
           __atomic_load_n(&h->pending, __ATOMIC_ACQUIRE) == 0;
}

/* The state is HELD: wait for the calls that have begun. */
static bool others_are_outside(const struct tsm_session *s, uint64_t until_ns)
{
    uint32_t count = __atomic_load_n(&s->lane_count, __ATOMIC_ACQUIRE);

    for (uint32_t i = 1; i < count; i++) {
        while (!is_outside(s->lanes[i].header)) {
            if (tsm_monotonic_ns() >= until_ns)
                return false;
            nap();
        }
    }
    return true;
}

bool tsm_calls_hold(uint64_t patience_ns)
{
    struct tsm_live *live = __atomic_load_n(&tsm_live, __ATOMIC_ACQUIRE);
    struct tsm_session *s = tsm_session_current();
    uint64_t until_ns = tsm_monotonic_ns() + patience_ns;

    if (!s || !change_state(live, TSM_LIVE_ON, TSM_LIVE_HELD))
        return false;
    barrier();
    if (others_are_outside(s, until_ns))
        return true;
    tsm_calls_release();
    return false;
}

void tsm_calls_release(void)
{
    change_state(__atomic_load_n(&tsm_live, __ATOMIC_ACQUIRE), TSM_LIVE_HELD, TSM_LIVE_ON);
}

static bool sources_are_quiet(uint64_t until_ns)
{
    for (const struct tsm_source *const *source = tsm_sources; *source; source++) {
        if ((*source)->quiet && !(*source)->quiet(until_ns))
            return false;
    }
    return true;
}

/* ---- writing --------------------------------------------------------------------------------- */

static bool make_run(struct tsm_checkpoint_run *run, struct tsm_session *s)
{
    *run = (struct tsm_checkpoint_run){.lane = tsm_thread_lane(s)};
    run->bytes = tsm_memory_map(READ_SIZE);
    run->reference = tsm_memory_map(SBT_BLOB_KEYED_SIZE(ITEM_SIZE_MAX));
    return run->lane && run->bytes && run->reference;
}

static void free_run(struct tsm_checkpoint_run *run)
{
    if (run->bytes)
        tsm_memory_unmap(run->bytes, READ_SIZE);
    if (run->reference)
        tsm_memory_unmap(run->reference, SBT_BLOB_KEYED_SIZE(ITEM_SIZE_MAX));
}

/* The bytes of [offset, offset + size) as pieces, their names after run->reference's first 8. */
static bool store(struct tsm_checkpoint_run *run, const struct tsm_memory *m, uint64_t offset,
                  uint64_t size)
{
    uint8_t *names = run->reference + 8;

    tsm_put_u64(run->reference, size);
    for (uint64_t done = 0; done < size; done += READ_SIZE) {
        uint64_t length = size - done < READ_SIZE ? size - done : READ_SIZE;
        struct tsm_box box = {run->bytes, length, 1, 1, length, length};

        if (!m->read(m, offset + done, run->bytes, length) ||
            !tsm_payload_pieces(run->lane, &box, TSM_FETCH_DIRECT, true, names))
            return false;
        names += SBT_BLOB_KEYED_SIZE(length) - 8;
    }
    return true;
}

static bool write_item(struct tsm_checkpoint_run *run, const struct tsm_memory *m, uint64_t offset,
                       uint64_t size)
{
    struct tsm_note note = {.call = SBT_CORE_MEMORY,
                            .stream = SBT_STREAM_NONE,
                            .slots = {run->number, m->kind, m->object, m->name, m->address, offset,
                                      size, SBT_BLOB_KEYED_SIZE(size)},
                            .slot_count = 8,
                            .data = run->reference,
                            .data_size = (uint32_t)SBT_BLOB_KEYED_SIZE(size)};

    if (!store(run, m, offset, size) || !tsm_note_write(run->lane, &note))
        return false;
    run->item_count++;
    run->size += size;
    return true;
}

bool tsm_checkpoint_memory(const struct tsm_memory *m)
{
    struct tsm_session *s = tsm_session_current();
    struct tsm_checkpoint_run *run = s ? s->checkpoint_run : NULL;

    for (uint64_t at = 0; at < m->size; at += ITEM_SIZE_MAX) {
        uint64_t size = m->size - at < ITEM_SIZE_MAX ? m->size - at : ITEM_SIZE_MAX;

        if (!run || !write_item(run, m, at, size))
            return false;
    }
    return run != NULL;
}

bool tsm_checkpoint_state(enum sbt_state kind, uint32_t object, uint64_t value)
{
    struct tsm_session *s = tsm_session_current();
    struct tsm_checkpoint_run *run = s ? s->checkpoint_run : NULL;
    struct tsm_note note = {.call = SBT_CORE_STATE, .stream = SBT_STREAM_NONE, .slot_count = 9};

    if (!run)
        return false;
    note.slots[0] = run->number;
    note.slots[1] = kind;
    note.slots[2] = object;
    note.slots[3] = value;
    return tsm_note_write(run->lane, &note);
}

/* The program's own memory; it may have unmapped it without a word to the driver. */
static bool read_host(const struct tsm_memory *m, uint64_t offset, void *out, size_t size)
{
    if (!tsm_memory_read(out, m->address + offset, size))
        memset(out, 0, size);
    return true;
}

static bool save_host(void *user, uint64_t start, uint64_t size)
{
    struct tsm_memory m = {
        .kind = SBT_MEMORY_HOST, .address = start, .size = size, .read = read_host};

    return tsm_checkpoint_memory(&m);
}

static bool save_sources(void)
{
    for (const struct tsm_source *const *source = tsm_sources; *source; source++) {
        if ((*source)->save && !(*source)->save())
            return false;
    }
    return true;
}

static bool write_mark(struct tsm_checkpoint_run *run, uint32_t call, uint32_t flags)
{
    struct tsm_note note = {.call = call,
                            .stream = SBT_STREAM_NONE,
                            .slots = {run->number, flags, run->item_count, run->size},
                            .slot_count = call == SBT_CORE_CHECKPOINT_END ? 4 : 2};

    return tsm_note_write(run->lane, &note);
}

/* For readers of the trace: the program did not run as it does by itself. */
static void say_so(struct tsm_session *s)
{
    char text[120];

    tsm_format(text, sizeof(text),
               "%u; each held all calls back, waited for the GPU and read its memory",
               s->checkpoint_count);
    tsm_session_metadata("capture.checkpoints", text);
    __atomic_store_n(&s->lanes_header->checkpoint_count, s->checkpoint_count, __ATOMIC_RELEASE);
}

/* Everything is idle. */
static bool write_all(struct tsm_session *s, struct tsm_checkpoint_run *run, uint32_t flags)
{
    bool ok;

    /* Results that are known to be complete belong before the checkpoint: a replay that starts
     * there does not have the commands that these bytes come from. */
    for (const struct tsm_source *const *source = tsm_sources; *source; source++)
        tsm_readbacks_all_complete(s, run->lane, (*source)->description->api);
    run->number = ++s->checkpoint_number;
    s->checkpoint_run = run;
    ok = write_mark(run, SBT_CORE_CHECKPOINT_BEGIN, flags);
    /* Only now: what kernels have written into the program's memory looks like its own changes, and
     * a replay must not make those changes before its kernels are done, too. */
    tsm_hostmem_publish();
    ok = ok && save_sources() && tsm_hostmem_each(s, save_host, NULL) &&
         write_mark(run, SBT_CORE_CHECKPOINT_END, flags);
    s->checkpoint_run = NULL;
    s->checkpoint_count += ok;
    if (ok)
        say_so(s);
    return ok;
}

/* From state `from` to `to` by way of a checkpoint; back to `from` when it was not to be had. */
static bool take_here(struct tsm_session *s, uint32_t from, uint32_t to, uint64_t patience_ns,
                      uint32_t flags)
{
    struct tsm_live *live = __atomic_load_n(&tsm_live, __ATOMIC_ACQUIRE);
    uint64_t begin_ns = tsm_monotonic_ns(), until_ns = begin_ns + patience_ns;
    struct tsm_checkpoint_run run = {0};
    int saved_errno = errno;
    uint32_t failures;
    bool ok;

    tsm_inside_enter();
    if (!change_state(live, from, TSM_LIVE_HELD)) {
        tsm_inside_leave();
        return false; /* another thread does it, or it is all over */
    }
    barrier();
    ok = others_are_outside(s, until_ns) && sources_are_quiet(until_ns) && make_run(&run, s) &&
         write_all(s, &run, flags);
    free_run(&run);
    failures = ok ? 0 : s->checkpoint_failures + (s->checkpoint_failures < RETRY_DOUBLINGS);
    __atomic_store_n(&s->checkpoint_failures, failures, __ATOMIC_RELAXED);
    set(&s->checkpoint_retry_ns, tsm_monotonic_ns() + ((uint64_t)RETRY_NS << failures));
    change_state(live, TSM_LIVE_HELD, ok ? to : from);
    tsm_inside_leave();
    errno = saved_errno;
    return ok;
}

/* ---- when ------------------------------------------------------------------------------------ */

struct taking {
    struct tsm_session *session;
    uint32_t from, to;
    uint64_t patience_ns;
    uint32_t flags;
    bool ok;
};

static void take_on_own_stack(void *argument)
{
    struct taking *t = argument;

    t->ok = take_here(t->session, t->from, t->to, t->patience_ns, t->flags);
}

static bool take(struct tsm_session *s, uint32_t from, uint32_t to, uint64_t patience_ns,
                 uint32_t flags)
{
    struct taking t = {s, from, to, patience_ns, flags, false};

    tsm_own_stack_run(take_on_own_stack, &t);
    return t.ok;
}

void tsm_checkpoint_ask(void)
{
    if (tsm_checkpoint_possible())
        __atomic_store_n(&tsm_checkpoint_due, NOW, __ATOMIC_RELAXED);
}

void tsm_checkpoint_count(struct tsm_session *s)
{
    bool due = false;

    if (s->settings.checkpoint_commands)
        due = __atomic_add_fetch(&s->command_count, 1, __ATOMIC_RELAXED) >=
              get(&s->checkpoint_due_command);
    else if (s->settings.checkpoint_ns)
        due = tsm_monotonic_ns() >= get(&s->checkpoint_due_ns);
    if (due && !__atomic_load_n(&tsm_checkpoint_due, __ATOMIC_RELAXED))
        __atomic_store_n(&tsm_checkpoint_due, DUE, __ATOMIC_RELAXED);
}

/* No synchronisation of the program's own came for as long as two checkpoints are apart. */
static bool is_overdue(const struct tsm_session *s, uint64_t now)
{
    const struct tsm_settings *t = &s->settings;

    return (t->checkpoint_commands &&
            get(&s->command_count) >= get(&s->checkpoint_due_command) + t->checkpoint_commands) ||
           (t->checkpoint_ns && now >= get(&s->checkpoint_due_ns) + t->checkpoint_ns) ||
           __atomic_load_n(&tsm_checkpoint_due, __ATOMIC_RELAXED) == NOW;
}

static uint64_t patience_now(const struct tsm_session *s, uint64_t now)
{
    uint32_t failures = __atomic_load_n(&s->checkpoint_failures, __ATOMIC_RELAXED);
    uint64_t patience = s->settings.checkpoint_patience_ns
                        << (failures < PATIENCE_DOUBLINGS ? failures : PATIENCE_DOUBLINGS);

    return is_overdue(s, now) && patience < OVERDUE_PATIENCE ? OVERDUE_PATIENCE : patience;
}

void tsm_checkpoint_try(bool quiet)
{
    struct tsm_session *s = tsm_session_current();
    uint64_t now;

    if (!s || tsm_inside() || tsm_thread.session != s)
        return;
    now = tsm_monotonic_ns();
    if (now < get(&s->checkpoint_retry_ns) || !(quiet || is_overdue(s, now)))
        return;
    if (!take(s, TSM_LIVE_ON, TSM_LIVE_ON, patience_now(s, now), 0))
        return;
    set(&s->checkpoint_due_command, get(&s->command_count) + s->settings.checkpoint_commands);
    set(&s->checkpoint_due_ns, tsm_monotonic_ns() + s->settings.checkpoint_ns);
    set(&s->checkpoint_retry_ns, 0);
    __atomic_store_n(&tsm_checkpoint_due, 0, __ATOMIC_RELAXED);
}

static uint64_t start_retry_ns(const struct tsm_session *s)
{
    return (uint64_t)START_RETRY_NS << __atomic_load_n(&s->checkpoint_failures, __ATOMIC_RELAXED);
}

void tsm_checkpoint_start(struct tsm_session *s)
{
    uint64_t wanted = s->settings.start_call;
    uint64_t count = wanted > 1 ? __atomic_add_fetch(&s->start_count, 1, __ATOMIC_RELAXED) : 0;

    if (!(wanted > 1 && count >= wanted) && !tsm_control_start(s))
        return;
    if (tsm_monotonic_ns() < get(&s->checkpoint_retry_ns))
        return;
    if (take(s, TSM_LIVE_WAITING, TSM_LIVE_ON, OVERDUE_PATIENCE, SBT_CHECKPOINT_START)) {
        set(&s->checkpoint_due_ns, tsm_monotonic_ns() + s->settings.checkpoint_ns);
        tsm_session_nudge(s); /* tsctl waits for the news */
    } else {                  /* a capture runs, say: it may be over soon, and so may the program */
        set(&s->checkpoint_retry_ns, tsm_monotonic_ns() + start_retry_ns(s));
    }
}
