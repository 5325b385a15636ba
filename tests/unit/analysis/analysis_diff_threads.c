/* SPDX-License-Identifier: Apache-2.0 -- which threads of two traces stand for each other. */
#include "tests/unit/check.h"
#include "tests/unit/replay/replay_sample.h"

#include "base/bytes.h"
#include "tracesmith/analysis.h"

#define BASE(thread) (SAMPLE_BASE + 0x1000 * (uint64_t)(thread))
#define EVENT        9

static struct sample s;
static struct tsm_diff_result result;

static void on(uint32_t thread)
{
    s.thread = thread;
}

/* Makes the stream of that number. */
static void make_stream(uint32_t stream)
{
    sample_call(&s, MAKE_STREAM, SBT_STREAM_NONE, stream, stream, 0);
}

static struct sbt_reader *finish(void)
{
    sample_end(&s);
    return sample_open(&s);
}

static enum tsm_verdict diff(struct sbt_reader *a, struct sbt_reader *b)
{
    enum tsm_verdict there;

    CHECK_EQ_INT(tsm_diff(&result, a, b, NULL), 0);
    there = result.verdict;
    CHECK_EQ_INT(tsm_diff(&result, b, a, NULL), 0);
    CHECK_EQ_INT(result.verdict, there);
    sbt_reader_destroy(a);
    sbt_reader_destroy(b);
    return there;
}

/* Two threads with two buffers each and an event in common. `stray`: one of them adds to its second
 * buffer. */
static struct sbt_reader *make_twins(uint32_t stray)
{
    sample_begin(&s, "twins");
    for (uint32_t t = 1; t <= 2; t++) {
        on(t);
        sample_call(&s, ALLOCATE, SBT_STREAM_NONE, BASE(2 * t), 4096, 0);
        sample_call(&s, ALLOCATE, SBT_STREAM_NONE, BASE(2 * t + 1), 4096, 0);
        make_stream(t);
        sample_add(&s, t, "add_one", BASE(2 * t), 1);
        sample_add(&s, t, "add_one", BASE(2 * t + (t == stray)), 1);
        sample_call(&s, SIGNAL, t, EVENT, 0, 0);
    }
    return finish();
}

static void a_stray_twin_is_not_the_same(void)
{
    CHECK_EQ_INT(diff(make_twins(0), make_twins(0)), TSM_SAME);
    CHECK(diff(make_twins(0), make_twins(1)) != TSM_SAME);
    CHECK(diff(make_twins(0), make_twins(2)) != TSM_SAME);
}

/* Two leaders with a buffer each, and two workers of each. */
static struct sbt_reader *make_pools(const uint32_t leaders[4])
{
    sample_begin(&s, "pools");
    for (uint32_t t = 0; t < 2; t++) {
        on(1 + t);
        sample_call(&s, ALLOCATE, SBT_STREAM_NONE, BASE(t), 4096, 0);
    }
    for (uint32_t t = 0; t < 4; t++) {
        on(3 + t);
        make_stream(1 + t);
        sample_add(&s, 1 + t, "add_one", BASE(leaders[t]), 1);
    }
    return finish();
}

static void workers_belong_to_their_leader(void)
{
    const uint32_t in_order[4] = {0, 0, 1, 1}, mixed[4] = {0, 1, 0, 1}, odd[4] = {0, 1, 1, 1};

    CHECK_EQ_INT(diff(make_pools(in_order), make_pools(mixed)), TSM_SAME);
    CHECK(diff(make_pools(in_order), make_pools(odd)) != TSM_SAME);
}

/* Threads in a row that share an event with each neighbour. `calls`: of each before, which decides
 * who is compared first. */
static struct sbt_reader *make_row(uint32_t calls, uint32_t step)
{
    const uint32_t count = 67;

    sample_begin(&s, "row");
    for (uint32_t t = 0; t < count; t++) {
        const uint32_t place = t * step % count;
        on(1 + place);
        for (uint32_t i = 0; i < calls; i++)
            sample_call(&s, ALLOCATE, SBT_STREAM_NONE, 0, 0, 0);
        sample_call(&s, SIGNAL, 1, 1 + place, 0, 0);
        sample_call(&s, SIGNAL, 1, 2 + place, 0, 0);
    }
    return finish();
}

static void far_neighbours_are_no_difference(void)
{
    for (uint32_t calls = 0; calls < 64; calls++)
        CHECK(diff(make_row(calls, 1), make_row(calls, 7)) != TSM_DIFFERENT);
}

/* Two threads that do the same, but for what comes back. */
static struct sbt_reader *make_results(const char *first, const char *second)
{
    sample_begin(&s, "results");
    for (uint32_t t = 0; t < 2; t++) {
        on(1 + t);
        sample_call(&s, ALLOCATE, SBT_STREAM_NONE, BASE(t), 4096, 0);
        make_stream(1 + t);
        sample_add(&s, 1 + t, "add_one", BASE(t), 1);
        sample_call(&s, READ_NOW, 1 + t, BASE(t), 4, 0x7000);
        sample_readback(&s, 1 + t, 2, t ? second : first, 4, false);
    }
    return finish();
}

static void threads_are_told_apart_by_results(void)
{
    CHECK_EQ_INT(diff(make_results("abcd", "efgh"), make_results("efgh", "abcd")), TSM_SAME);
    CHECK_EQ_INT(diff(make_results("abcd", "efgh"), make_results("efgh", "abce")), TSM_DIFFERENT);
    CHECK_EQ_INT(diff(make_results("abcd", "efgh"), make_results("abcd", "abcd")), TSM_DIFFERENT);
}

/* A thread with a stream that nobody made, and that a call names which sends nothing. `calls`: on
 * another stream, at first. */
static struct sbt_reader *make_named(uint32_t calls, uint32_t stream, uint32_t named)
{
    sample_begin(&s, "named");
    make_stream(1);
    sample_call(&s, HANG, 1, 0, 0, 0);
    on(2);
    for (uint32_t i = 0; i < calls; i++)
        sample_call(&s, SIGNAL, 8, EVENT, 0, 0);
    sample_call(&s, SIGNAL, stream, EVENT, 0, 0);
    s.flags = SBT_RECORD_FAILED;
    sample_call(&s, MAKE_STREAM, SBT_STREAM_NONE, 0, named, 0);
    return finish();
}

static void two_streams_do_not_stand_for_one(void)
{
    for (uint32_t calls = 0; calls < 8; calls++) {
        CHECK_EQ_INT(diff(make_named(calls, 3, 3), make_named(calls, 4, 4)), TSM_SAME);
        CHECK(diff(make_named(calls, 3, 3), make_named(calls, 4, 3)) != TSM_SAME);
    }
}

/* Two buffers, and a table with the address of one that is sent. `is_crossed`: each at the place of
 * the other one. */
static struct sbt_reader *make_table(bool is_crossed, uint64_t entry)
{
    uint8_t table[8];

    tsm_put_u64(table, entry);
    sample_begin(&s, "table");
    sample_call(&s, ALLOCATE, SBT_STREAM_NONE, BASE(is_crossed), 4096, 0);
    sample_call(&s, ALLOCATE, SBT_STREAM_NONE, BASE(!is_crossed), 4096, 0);
    sample_write(&s, 1, BASE(is_crossed) + 64, table, sizeof(table));
    return finish();
}

static void a_table_with_an_address_of_other_memory_is_found(void)
{
    CHECK_EQ_INT(diff(make_table(false, BASE(0)), make_table(true, BASE(1))), TSM_SAME);
    CHECK_EQ_INT(diff(make_table(false, BASE(0)), make_table(true, BASE(0))), TSM_DIFFERENT);
    CHECK_EQ_INT(diff(make_table(false, BASE(5)), make_table(true, BASE(5))), TSM_SAME);
}

/* A buffer that is freed before a kernel gets its address, or after it. */
static struct sbt_reader *make_freed(bool is_before)
{
    sample_begin(&s, "freed");
    sample_call(&s, ALLOCATE, SBT_STREAM_NONE, BASE(0), 4096, 0);
    if (is_before)
        sample_call(&s, FREE, SBT_STREAM_NONE, BASE(0), 0, 0);
    sample_add(&s, 1, "add_one", BASE(0), 1);
    if (!is_before)
        sample_call(&s, FREE, SBT_STREAM_NONE, BASE(0), 0, 0);
    return finish();
}

static void freed_memory_is_not_the_same(void)
{
    CHECK_EQ_INT(diff(make_freed(true), make_freed(true)), TSM_SAME);
    CHECK_EQ_INT(diff(make_freed(false), make_freed(true)), TSM_CANNOT_TELL);
}

static void checksum(uint32_t of_stream, uint64_t of_position, uint64_t address, char byte)
{
    uint8_t hash[16] = {(uint8_t)byte};
    const uint64_t slots[] = {of_stream, of_position, address, 16, sizeof(hash)};

    const struct sbt_record record = {.seq = s.seq,
                                      .type = SBT_TYPE(0, SBT_CORE_CHECKSUM),
                                      .thread = s.thread,
                                      .stream = SBT_STREAM_NONE,
                                      .slots = slots,
                                      .slot_count = 5,
                                      .data = hash,
                                      .data_size = sizeof(hash)};

    CHECK_EQ_INT(sbt_writer_record(s.w, &record), 0);
    s.seq++;
}

/* A stream's memory is hashed before or after another stream writes to it, or to other memory. */
static struct sbt_reader *make_hashed(bool is_after, uint64_t written)
{
    sample_begin(&s, "hashed");
    CHECK_EQ_INT(sbt_writer_schema(s.w, sbt_core_schema(SBT_CORE_CHECKSUM)), 0);
    sample_call(&s, ALLOCATE, SBT_STREAM_NONE, BASE(0), 8192, 0);
    make_stream(1);
    make_stream(2);
    sample_add(&s, 1, "add_one", BASE(0), 1);
    if (!is_after)
        checksum(1, 1, BASE(0), 'a');
    sample_write(&s, 2, written, "abcd", 4);
    if (is_after)
        checksum(1, 1, BASE(0), 'b');
    return finish();
}

/* row D16 of docs/verdict.md */
static void a_copy_of_another_stream_may_have_changed_a_checksum(void)
{
    CHECK_EQ_INT(diff(make_hashed(false, BASE(0)), make_hashed(false, BASE(0))), TSM_SAME);
    CHECK_EQ_INT(diff(make_hashed(false, BASE(0)), make_hashed(true, BASE(0))), TSM_CANNOT_TELL);
    CHECK_EQ_INT(diff(make_hashed(false, BASE(1)), make_hashed(true, BASE(1))), TSM_DIFFERENT);
}

int main(void)
{
    a_copy_of_another_stream_may_have_changed_a_checksum();
    a_stray_twin_is_not_the_same();
    workers_belong_to_their_leader();
    threads_are_told_apart_by_results();
    two_streams_do_not_stand_for_one();
    a_table_with_an_address_of_other_memory_is_found();
    freed_memory_is_not_the_same();
    far_neighbours_are_no_difference();
    return check_result();
}
