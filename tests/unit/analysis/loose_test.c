/* SPDX-License-Identifier: Apache-2.0
 *
 * Tests the edges of commands that may overlap on their stream, on traces made for it: what no
 * program on one queue can do.
 */
#include "analysis/dependencies/graph.h"
#include "tests/unit/analysis/made_calls.h"
#include "tests/unit/check.h"

#define ALL_STAGES  0x10000u
#define SOME_STAGES 0x800u
#define BARRIER     0x100u
#define MANY        100u

static struct tsm_dependency_graph graph;

static void look(struct made *m)
{
    made_open(m);
    must(tsm_dependency_graph_make(&graph, m->reader, false));
}

static void done(struct made *m)
{
    tsm_dependency_graph_finish(&graph);
    made_finish(m);
}

/* Returns the edge between two records; NULL: there is none. */
static const struct tsm_dependency *edge(uint64_t from, uint64_t to)
{
    for (size_t i = 0; i < graph.edge_count; i++)
        if (graph.edges[i].from == from && graph.edges[i].to == to)
            return &graph.edges[i];
    return NULL;
}

static bool is_needed(uint64_t from, uint64_t to)
{
    return edge(from, to) && !edge(from, to)->is_redundant;
}

struct end {
    uint64_t semaphore, value, stages; /* semaphore 0: none */
};

/* One batch that waits for one semaphore and signals one. */
static uint64_t submit(struct made *m, uint32_t stream, struct end wait, struct end signal)
{
    const struct end *const ends[] = {&wait, &signal};
    struct sbt_out out = {0};
    uint8_t room[256];

    sbt_out_init(&out, room, sizeof(room), NULL, NULL);
    sbt_out_list(&out, 1);
    for (unsigned i = 0; i < 2; i++) {
        sbt_out_list(&out, ends[i]->semaphore != 0);
        if (!ends[i]->semaphore)
            continue;
        sbt_out_varint(&out, ends[i]->semaphore);
        sbt_out_varint(&out, ends[i]->value);
        sbt_out_varint(&out, ends[i]->stages);
    }
    return made_put(m, SUBMIT2, stream, (const uint64_t[FIELD_MAX]){0}, &out);
}

#define END(...) ((struct end){__VA_ARGS__})

static void test_semaphores(void)
{
    struct made m;
    uint64_t first, jump, between, late, last, some, part, early;

    made_begin(&m);
    first = submit(&m, 0, END(0), END(1, 5, ALL_STAGES));
    jump = submit(&m, 1, END(0), END(1, 9, ALL_STAGES));
    between = submit(&m, 2, END(1, 7, ALL_STAGES), END(0)); /* 9 brings it beyond 7 */
    late = submit(&m, 2, END(1, 20, ALL_STAGES), END(0)); /* nothing sent so far brings it there */
    last = submit(&m, 3, END(1, 5, ALL_STAGES), END(1, 21, ALL_STAGES));
    some = submit(&m, 0, END(0), END(2, 1, SOME_STAGES));
    part = submit(&m, 1, END(1, 5, SOME_STAGES), END(0));
    early = submit(&m, 2, END(2, 1, ALL_STAGES), END(0));
    look(&m);
    CHECK(is_needed(first, between));
    CHECK(is_needed(jump, between));
    CHECK(is_needed(last, late) && edge(last, late)->reason == TSM_DEPENDS_SIGNAL);
    CHECK(is_needed(first, last) && !edge(jump, last));
    CHECK(is_needed(first, part) && edge(first, part)->is_part);
    CHECK(is_needed(some, early) && edge(some, early)->is_begin && edge(some, early)->is_alone);
    CHECK(!edge(first, some) && !edge(between, late)); /* on one queue */
    done(&m);
}

/* Bindings are not ordered with what else is sent to their queue. */
static void test_bindings(void)
{
    struct made m;
    uint64_t before, bound, waited, idle;

    made_begin(&m);
    before = submit(&m, 0, END(0), END(0));
    bound = PUT(SPARSE, 0, 7);
    waited = PUT(FENCE_STATUS, HOST, 7);
    idle = PUT(QUEUE_IDLE, 0, 0);
    look(&m);
    CHECK(is_needed(bound, waited) && edge(bound, waited)->is_alone);
    CHECK(!edge(before, waited));
    CHECK(is_needed(bound, idle) && !edge(bound, idle)->is_alone);
    done(&m);
}

/* Without a barrier a packet's signal says nothing of those before it. */
static void test_packets(void)
{
    struct made m;
    uint64_t alone, other, after, turn, waited, more;

    made_begin(&m);
    PUT(CREATE, HOST, 1, 1);
    PUT(CREATE, HOST, 2, 1);
    alone = PUT(PACKET, 0, 0, 0);
    other = PUT(PACKET, 0, 1, 0);
    waited = PUT(WAIT, HOST, 1, 0);
    after = PUT(PACKET, 1, 0, 0);
    turn = PUT(PACKET, 0, 2, BARRIER);
    more = PUT(WAIT, HOST, 2, 0);
    look(&m);
    CHECK(is_needed(other, waited) && edge(other, waited)->is_alone && !edge(alone, waited));
    CHECK(is_needed(waited, after)); /* though no clock holds what it says */
    CHECK(is_needed(other, turn) && !edge(other, turn)->is_alone);
    CHECK(is_needed(turn, more) && !edge(turn, more)->is_alone);
    done(&m);
}

/* Packets may wait before anything opens their signal. Then the first thing that does so has an
 * edge to them, and nothing later has. */
static void test_gates(void)
{
    struct made m;
    uint64_t by_packet, packet, set, again, by_host, opened, bits, cleared;

    made_begin(&m);
    PUT(CREATE, HOST, 1, 1);
    by_packet = PUT(BARRIER_AND, 0, 0, 0, 1);
    packet = PUT(PACKET, 1, 1, BARRIER);
    PUT(WAIT, HOST, 1, 0);
    set = PUT(STORE, HOST, 1, 1);
    again = PUT(STORE, HOST, 1, 0);
    PUT(STORE, HOST, 1, 1);
    by_host = PUT(BARRIER_AND, 0, 0, 0, 1);
    PUT(ADD, HOST, 1, 1);
    opened = PUT(SUBTRACT, HOST, 1, 2);
    PUT(STORE, HOST, 1, 1);
    bits = PUT(BARRIER_AND, 0, 0, 0, 1);
    PUT(AND, HOST, 1, 0);
    cleared = PUT(STORE, HOST, 1, 0);
    look(&m);
    CHECK(is_needed(packet, by_packet) && edge(packet, by_packet)->reason == TSM_DEPENDS_SIGNAL);
    CHECK(!edge(set, by_packet) && !edge(again, by_packet));
    CHECK(is_needed(opened, by_host) && !edge(packet, by_host));
    CHECK(!edge(cleared, bits)); /* it may have gone on before */
    done(&m);
}

/* Objects keep so many links: those with the smallest values go. */
static void test_many(void)
{
    struct made m;
    uint64_t seqs[MANY], waits;

    made_begin(&m);
    for (unsigned i = 0; i < MANY; i++)
        seqs[i] = submit(&m, i % 4, END(0), END(1, i + 1, ALL_STAGES));
    waits = submit(&m, 0, END(1, MANY, ALL_STAGES), END(0));
    PUT(CREATE, HOST, 3, MANY);
    for (unsigned i = 0; i < MANY; i++)
        PUT(PACKET, 1, 3, BARRIER); /* too many lower the signal */
    PUT(WAIT, HOST, 3, 0);
    look(&m);
    CHECK(!edge(seqs[0], waits));
    for (unsigned i = 0; i < 4; i++)
        CHECK(is_needed(seqs[MANY - 1 - i], waits));
    CHECK(!edge(seqs[MANY - 5], waits)); /* a later one on its queue says more */
    for (size_t i = 0; i < graph.edge_count; i++)
        CHECK(graph.edges[i].reason != TSM_DEPENDS_HOST);
    done(&m);
}

/* Few records are nodes: each node is found, and nothing between them. */
static void test_found(void)
{
    struct made m;
    uint64_t seqs[MANY];

    made_begin(&m);
    for (unsigned i = 0; i < MANY; i++) {
        for (unsigned k = i % 7 ? i % 3 : 1u << i % 9; k; k--)
            PUT(STORE, HOST, 1, 1);
        seqs[i] = PUT(PACKET, i % 4, 0, BARRIER);
    }
    look(&m);
    CHECK(graph.node_count == MANY);
    for (unsigned i = 0; i < MANY; i++) {
        CHECK(tsm_dependency_graph_find(&graph, seqs[i]) == &graph.nodes[i]);
        CHECK(i + 1 == MANY || seqs[i] + 1 == seqs[i + 1] ||
              !tsm_dependency_graph_find(&graph, seqs[i] + 1));
    }
    CHECK(!tsm_dependency_graph_find(&graph, seqs[MANY - 1] + 1));
    CHECK(!tsm_dependency_graph_find(&graph, UINT64_MAX));
    CHECK(!seqs[0] || !tsm_dependency_graph_find(&graph, seqs[0] - 1));
    done(&m);
}

int main(void)
{
    test_semaphores();
    test_bindings();
    test_packets();
    test_gates();
    test_many();
    test_found();
    return check_result();
}
