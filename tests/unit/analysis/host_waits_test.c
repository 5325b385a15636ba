/* SPDX-License-Identifier: Apache-2.0
 *
 * Tests what the host knew of commands by fences, semaphores and signals, on traces made for it.
 */
#include "analysis/model/pass.h"
#include "analysis/time/host_waits.h"
#include "base/bytes.h"
#include "tests/unit/analysis/made_calls.h"
#include "tests/unit/check.h"

static struct tsm_host_waits waits;

static int visit_call(void *user, const struct tsm_call_node *call)
{
    return tsm_host_waits_note(&waits, call);
}

static int visit_core(void *user, const struct sbt_record *record)
{
    tsm_host_waits_note_core(&waits, record);
    return 0;
}

static void look(struct made *m)
{
    const struct tsm_model_visitor visitor = {.call = visit_call, .core = visit_core};
    struct tsm_model_counts counts;

    made_open(m);
    waits = (struct tsm_host_waits){0};
    waits.reader = m->reader;
    must(tsm_model_pass(&counts, m->reader, NULL, &visitor));
    CHECK_EQ_INT(counts.record_count, m->seq);
}

static void done(struct made *m)
{
    tsm_host_waits_finish(&waits);
    made_finish(m);
}

#define NEVER (-1)

/* Returns the record by which the host knew of a part of a command. */
static int64_t known_part(uint32_t stream, uint64_t position, uint32_t part)
{
    const struct tsm_command_node node = {.stream = stream, .position = position, .part = part};
    const struct tsm_host_wait *wait = tsm_host_waits_find(&waits, &node);

    if (!wait)
        return NEVER;
    CHECK_EQ_INT(wait->known_ns, wait->seq * STEP_NS + CALL_NS);
    return (int64_t)wait->seq;
}

#define KNOWN(stream, position, wanted)                                                            \
    CHECK_EQ_INT(known_part(stream, position, 0), (int64_t)(wanted))

/* ---- fences -----------------------------------------------------------------------------------
 */

static uint64_t fences(struct made *m, enum call call, uint64_t wait_all, unsigned count,
                       const uint64_t *ids)
{
    struct sbt_out out = {0};
    uint8_t room[256];
    uint64_t seq;

    sbt_out_init(&out, room, sizeof(room), NULL, NULL);
    sbt_out_list(&out, count);
    for (unsigned i = 0; i < count; i++)
        sbt_out_varint(&out, ids[i]);
    seq = made_put(m, call, HOST, (const uint64_t[FIELD_MAX]){count, wait_all}, &out);
    return seq;
}

#define WAIT_ALL(...)                                                                              \
    fences(&m, WAIT_FENCES, 1, sizeof((uint64_t[]){__VA_ARGS__}) / 8, (uint64_t[]){__VA_ARGS__})
#define WAIT_ANY(...)                                                                              \
    fences(&m, WAIT_FENCES, 0, sizeof((uint64_t[]){__VA_ARGS__}) / 8, (uint64_t[]){__VA_ARGS__})
#define RESET(...)                                                                                 \
    fences(&m, RESET_FENCES, 0, sizeof((uint64_t[]){__VA_ARGS__}) / 8, (uint64_t[]){__VA_ARGS__})

static void test_fences(void)
{
    struct made m;
    uint64_t waited, both, asked;

    made_begin(&m);
    PUT(SUBMIT, 0, 1);
    PUT(SUBMIT, 0, 0);
    PUT(SUBMIT, 0, 2);
    PUT(SUBMIT, 0, 0);
    m.result = 2; /* a timeout */
    WAIT_ALL(1);
    m.flags = SBT_RECORD_FAILED;
    WAIT_ALL(1);
    waited = WAIT_ALL(1);
    m.result = 1; /* not ready */
    PUT(FENCE_STATUS, HOST, 2);
    asked = PUT(FENCE_STATUS, HOST, 2);
    WAIT_ALL(2); /* says nothing new */
    PUT(SUBMIT, 1, 3);
    PUT(SUBMIT, 2, 4);
    WAIT_ANY(3, 4); /* which one? */
    both = WAIT_ALL(3, 4);
    look(&m);
    KNOWN(0, 1, waited);
    KNOWN(0, 2, asked);
    KNOWN(0, 3, asked);
    KNOWN(0, 4, NEVER);
    KNOWN(1, 1, both);
    KNOWN(2, 1, both);
    KNOWN(3, 1, NEVER);
    done(&m);
}

static void test_fences_again(void)
{
    struct made m;
    uint64_t first, again, bound, only;

    made_begin(&m);
    PUT(SUBMIT, 0, 1);
    RESET(1); /* whoever waits for it now waits for what comes */
    PUT(SUBMIT, 1, 1);
    first = WAIT_ANY(1); /* of one */
    RESET(1);
    m.flags = SBT_RECORD_FAILED;
    PUT(SUBMIT, 2, 1);
    WAIT_ALL(1);
    PUT(SUBMIT, 1, 1);
    again = WAIT_ALL(1);
    PUT(SPARSE, 3, 2);
    bound = WAIT_ALL(2); /* proves nothing of what was sent before */
    PUT(SUBMIT, 3, 0);
    only = PUT(QUEUE_IDLE, 3, 0);
    look(&m);
    KNOWN(0, 1, NEVER);
    KNOWN(1, 1, first);
    KNOWN(1, 2, again);
    KNOWN(2, 1, NEVER);
    KNOWN(3, 1, bound);
    KNOWN(3, 2, only);
    done(&m);
}

/* ---- timeline semaphores ----------------------------------------------------------------------
 */

static void put_batch(struct sbt_out *out, uint64_t semaphore, uint64_t value)
{
    size_t place;

    if (value) { /* behind a binary one */
        place = sbt_out_element(out, TIMELINE_ID);
        sbt_out_none(out);
        sbt_out_list(out, 2);
        sbt_out_varint(out, 0);
        sbt_out_varint(out, value);
        sbt_out_element_end(out, place);
    }
    sbt_out_chain_end(out);
    sbt_out_list(out, semaphore ? 2 : 0);
    if (semaphore) {
        sbt_out_varint(out, 99);
        sbt_out_varint(out, semaphore);
    }
}

/* Batches signal one semaphore each: id, value, id, value ... */
static uint64_t submit(struct made *m, uint32_t stream, unsigned count, const uint64_t *signals)
{
    struct sbt_out out = {0};
    uint8_t room[512];
    uint64_t seq;

    sbt_out_init(&out, room, sizeof(room), NULL, NULL);
    sbt_out_list(&out, count / 2);
    for (unsigned i = 0; i + 1 < count; i += 2)
        put_batch(&out, signals[i], signals[i + 1]);
    seq = made_put(m, SUBMIT, stream, (const uint64_t[FIELD_MAX]){0}, &out);
    return seq;
}

static uint64_t submit2(struct made *m, uint32_t stream, uint64_t id, uint64_t value,
                        uint64_t stages)
{
    struct sbt_out out = {0};
    uint8_t room[256];
    uint64_t seq;

    sbt_out_init(&out, room, sizeof(room), NULL, NULL);
    sbt_out_list(&out, 1);
    for (unsigned signals = 0; signals < 2; signals++) {
        sbt_out_list(&out, 1);
        sbt_out_varint(&out, signals ? id : 77);
        sbt_out_varint(&out, signals ? value : 1);
        sbt_out_varint(&out, signals ? stages : 0x10000);
    }
    seq = made_put(m, SUBMIT2, stream, (const uint64_t[FIELD_MAX]){0}, &out);
    return seq;
}

static uint64_t wait_semaphores(struct made *m, uint64_t any, unsigned count, const uint64_t *pairs)
{
    struct sbt_out out = {0};
    uint8_t room[256];
    uint64_t seq;

    sbt_out_init(&out, room, sizeof(room), NULL, NULL);
    sbt_out_varint(&out, any);
    for (unsigned part = 0; part < 2; part++) {
        sbt_out_list(&out, count / 2);
        for (unsigned i = 0; i < count / 2; i++)
            sbt_out_varint(&out, pairs[2 * i + part]);
    }
    seq = made_put(m, WAIT_SEMAPHORES, HOST, (const uint64_t[FIELD_MAX]){0}, &out);
    return seq;
}

#define SEND(stream, ...)                                                                          \
    submit(&m, stream, sizeof((uint64_t[]){__VA_ARGS__}) / 8, (uint64_t[]){__VA_ARGS__})
#define AWAIT(any, ...)                                                                            \
    wait_semaphores(&m, any, sizeof((uint64_t[]){__VA_ARGS__}) / 8, (uint64_t[]){__VA_ARGS__})

static void test_timelines(void)
{
    struct made m;
    uint64_t some, all, counted;

    made_begin(&m);
    SEND(0, 1, 100); /* sent first, reached last: it waits for the other queue */
    SEND(1, 1, 5);
    SEND(2, 1, 1000);
    m.result = 2;
    AWAIT(0, 1, 5);
    some = AWAIT(0, 1, 50); /* the value jumps from 5 to 100 */
    counted = PUT(COUNTER, HOST, 1, 100);
    SEND(0, 2, 1);
    SEND(1, 3, 1);
    AWAIT(1, 2, 1, 3, 1); /* one of them */
    all = AWAIT(0, 2, 1, 3, 1);
    m.flags = SBT_RECORD_FAILED;
    AWAIT(0, 1, 1000);
    look(&m);
    KNOWN(0, 1, counted);
    KNOWN(1, 1, some);
    KNOWN(2, 1, NEVER);
    KNOWN(0, 2, all);
    KNOWN(1, 2, all);
    done(&m);
}

static void test_batches(void)
{
    struct made m;
    uint64_t two, three;

    made_begin(&m);
    SEND(0, 0, 0);
    SEND(0, 1, 1, 1, 2, 1, 3);
    two = AWAIT(0, 1, 2);
    three = AWAIT(0, 1, 3);
    SEND(1, 2, 1, 0, 0);
    AWAIT(0, 2, 1);
    submit2(&m, 2, 3, 1, 0x800); /* behind compute shaders only */
    AWAIT(0, 3, 1);
    submit2(&m, 3, 3, 2, 0x10000);
    AWAIT(0, 3, 2);
    AWAIT(0, 77, 1); /* what a batch waits for is no signal */
    look(&m);
    KNOWN(0, 1, two);
    CHECK_EQ_INT(known_part(0, 2, 0), two);
    CHECK_EQ_INT(known_part(0, 2, 1), two);
    CHECK_EQ_INT(known_part(0, 2, 2), three);
    CHECK(known_part(1, 1, 0) >= 0);
    CHECK_EQ_INT(known_part(1, 1, 1), NEVER);
    KNOWN(2, 1, NEVER);
    CHECK(known_part(3, 1, 0) >= 0);
    done(&m);
}

/* ---- signals ----------------------------------------------------------------------------------
 */

#define BARRIER 0x100

static void test_signals(void)
{
    struct made m;
    uint64_t alone, ordered, both;

    made_begin(&m);
    PUT(CREATE, HOST, 1, 1);
    PUT(CREATE, HOST, 2, 1);
    PUT(CREATE, HOST, 3, 2);
    PUT(PACKET, 0, 0, 0);
    PUT(PACKET, 0, 1, 0); /* may overtake the one before */
    PUT(PACKET, 0, 2, BARRIER);
    PUT(PACKET, 0, 0, BARRIER);
    m.flags = SBT_RECORD_FAILED; /* given up, although the value is as wanted */
    PUT(WAIT, HOST, 1, 0);
    alone = PUT(WAIT, HOST, 1, 0);
    PUT(PACKET, 1, 3, BARRIER);
    PUT(COPY, 2, 3);
    PUT(LOAD, HOST, 3, 1); /* one of them */
    both = PUT(LOAD, HOST, 3, 0);
    ordered = PUT(WAIT, HOST, 2, 0);
    look(&m);
    KNOWN(0, 1, ordered);
    KNOWN(0, 2, alone);
    KNOWN(0, 3, ordered);
    KNOWN(0, 4, NEVER);
    KNOWN(1, 1, both);
    KNOWN(2, 1, both);
    done(&m);
}

static void test_signals_again(void)
{
    struct made m;
    uint64_t first, second, third, last;

    made_begin(&m);
    PUT(CREATE, HOST, 1, 1);
    PUT(PACKET, 0, 1, BARRIER);
    first = PUT(WAIT, HOST, 1, 0);
    PUT(STORE, HOST, 1, 1);
    PUT(PACKET, 0, 1, BARRIER);
    PUT(STORE, HOST, 1, 1); /* nobody knows whether it has counted down already */
    PUT(PACKET, 0, 1, BARRIER);
    PUT(WAIT, HOST, 1, 0);
    PUT(CREATE, HOST, 2, 1);
    PUT(PACKET, 0, 2, BARRIER);
    second = PUT(WAIT, HOST, 2, 0); /* this tells of all of them ... */
    PUT(STORE, HOST, 1, 1);         /* ... so that the value is known again */
    PUT(PACKET, 0, 1, BARRIER);
    PUT(ADD, HOST, 1, 4);
    PUT(SUBTRACT, HOST, 1, 1);
    m.result = 3;
    third = PUT(EXCHANGE, HOST, 1, 10);
    PUT(PACKET, 0, 1, BARRIER);
    m.result = 10; /* not yet */
    PUT(EXCHANGE, HOST, 1, 20);
    last = PUT(WAIT, HOST, 1, 19);
    look(&m);
    KNOWN(0, 1, first);
    KNOWN(0, 2, second);
    KNOWN(0, 3, second);
    KNOWN(0, 4, second);
    KNOWN(0, 5, third);
    KNOWN(0, 6, last);
    done(&m);
}

/* A signal that others may have changed says nothing. */
static void test_unseen(void)
{
    const uint64_t lost[5] = {1};
    struct made m;
    uint64_t known;

    made_begin(&m);
    for (uint64_t i = 1; i <= 4; i++)
        PUT(CREATE, HOST, i, 1);
    PUT(POINTER, HOST, 1);
    PUT(PACKET, 0, 1, 0);
    PUT(WAIT, HOST, 1, 0);
    PUT(PACKET, 0, 2, 0);
    PUT(AND, HOST, 2, 3);
    PUT(WAIT, HOST, 2, 0);
    PUT(PACKET, 0, 3, 0);
    PUT(UNREAD, 1, 0);
    PUT(WAIT, HOST, 3, 0);
    PUT(STORE, HOST, 4, 1);
    PUT(PACKET, 0, 4, 0);
    known = PUT(WAIT, HOST, 4, 0);
    made_put_record(&m, (struct sbt_record){.type = SBT_TYPE(SBT_API_CORE, SBT_CORE_LOST),
                                            .stream = HOST,
                                            .slots = lost,
                                            .slot_count = 5});
    PUT(PACKET, 0, 4, 0);
    PUT(WAIT, HOST, 4, (uint64_t)-1);
    PUT(PACKET, 0, 9, 0); /* a signal of before the trace */
    PUT(WAIT, HOST, 9, 0);
    look(&m);
    KNOWN(0, 1, NEVER);
    KNOWN(0, 2, NEVER);
    KNOWN(0, 3, NEVER);
    KNOWN(0, 4, known);
    KNOWN(0, 5, NEVER);
    KNOWN(0, 6, NEVER);
    done(&m);
}

/* One signal for more commands than it may stand for, set again and again: neither slow nor wrong.
 */
static void test_many(void)
{
    enum { MANY = 70000 };
    struct made m;

    made_begin(&m);
    PUT(CREATE, HOST, 1, MANY);
    for (unsigned i = 0; i < MANY; i++)
        PUT(PACKET, 0, 1, 0);
    for (unsigned i = 0; i < MANY; i++)
        PUT(STORE, HOST, 1, 1);
    PUT(PACKET, 1, 1, 0);
    PUT(WAIT, HOST, 1, 0);
    look(&m);
    KNOWN(0, 1, NEVER);
    KNOWN(1, 1, NEVER);
    done(&m);
}

int main(void)
{
    test_fences();
    test_fences_again();
    test_timelines();
    test_batches();
    test_signals();
    test_signals_again();
    test_unseen();
    test_many();
    return check_result();
}
