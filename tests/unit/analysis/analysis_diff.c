/* SPDX-License-Identifier: Apache-2.0 -- where two traces first differ. */
#include "tests/unit/check.h"
#include "tests/unit/replay/replay_sample.h"

#include <stdlib.h>

#include "tracesmith/analysis.h"

static struct sample s;
static struct sbt_reader *a, *b;
static struct tsm_diff_result result;

/* Two streams, a buffer each; the second is made by another order of handles and addresses. */
struct variation {
    uint64_t base;     /* of the buffers */
    uint64_t wrong_at; /* byte of the payload that is changed, 0: none */
    const char *function;
    uint64_t value;
    bool short_one;
    bool other_result;
    bool stray; /* an argument that points into the wrong buffer */
};

static uint64_t write_seq, add_seq, read_seq;

static struct sbt_reader *make(const struct variation *v)
{
    static uint8_t bytes[3000];

    memset(bytes, 7, sizeof(bytes));
    if (v->wrong_at)
        bytes[v->wrong_at] ^= 0x10;
    sample_begin(&s, "diff");
    sample_call(&s, MAKE_STREAM, SBT_STREAM_NONE, 1, 1, 0);
    sample_call(&s, MAKE_STREAM, SBT_STREAM_NONE, 2, 2, 0);
    sample_call(&s, ALLOCATE, SBT_STREAM_NONE, v->base, 4096, 0);
    sample_call(&s, ALLOCATE, SBT_STREAM_NONE, v->base + 8192, 4096, 0);
    write_seq = sample_write(&s, 1, v->base, bytes, sizeof(bytes));
    add_seq = sample_add(&s, 2, v->function ? v->function : "add_one",
                         v->base + (v->stray ? 16 : 8192), v->value);
    if (!v->short_one)
        sample_add(&s, 2, "add_two", v->base + 8192 + 16, 3);
    read_seq = sample_call(&s, READ_NOW, 1, v->base, 16, 0x7000);
    sample_readback(&s, 1, 2, v->other_result ? "abcdefghijklmn-p" : "abcdefghijklmnop", 16, false);
    sample_end(&s);
    return sample_open(&s);
}

static void diff(const struct variation *x, const struct variation *y,
                 const struct tsm_diff_options *options)
{
    sbt_reader_destroy(a);
    sbt_reader_destroy(b);
    a = make(x);
    b = make(y);
    CHECK_EQ_INT(tsm_diff(&result, a, b, options), 0);
}

static const struct variation plain = {.base = SAMPLE_BASE};

static void equal_traces_are_the_same(void)
{
    diff(&plain, &plain, NULL);
    CHECK_EQ_INT(result.verdict, TSM_SAME);
    CHECK_EQ_INT((long long)result.compared_count, 9);
}

static void other_addresses_map_one_to_one(void)
{
    diff(&plain, &(struct variation){.base = 0x900000}, NULL);
    CHECK_EQ_INT(result.verdict, TSM_SAME);
}

static void an_edited_payload_byte_is_found(void)
{
    diff(&plain, &(struct variation){.base = SAMPLE_BASE, .wrong_at = 1234}, NULL);
    CHECK_EQ_INT(result.verdict, TSM_DIFFERENT);
    CHECK_EQ_INT((long long)result.seq_a, (long long)write_seq);
    CHECK_EQ_INT((long long)result.first.seq, (long long)write_seq);
    CHECK_EQ_STR(result.first.call, "WRITE");
    CHECK_EQ_STR(result.field, "bytes");
    CHECK_EQ_INT((long long)result.first.offset, 1234);
    CHECK_EQ_INT((long long)result.first.byte_count, 1);
    CHECK_EQ_STR(result.value_a, "byte 1234 is 07");
    CHECK_EQ_STR(result.value_b, "byte 1234 is 17");
}

static void another_function_is_found(void)
{
    diff(&plain, &(struct variation){.base = SAMPLE_BASE, .function = "add_two"}, NULL);
    CHECK_EQ_INT((long long)result.seq_a, (long long)add_seq);
    CHECK_EQ_STR(result.field, "function");
    CHECK_EQ_STR(result.value_b, "add_two");
}

static void another_argument_is_found_by_its_offset(void)
{
    diff(&plain, &(struct variation){.base = SAMPLE_BASE, .value = 9}, NULL);
    CHECK_EQ_STR(result.field, "arguments");
    CHECK_EQ_INT((long long)result.first.offset, 8);
}

static void a_pointer_into_another_buffer_is_found(void)
{
    diff(&plain, &(struct variation){.base = 0x900000, .stray = true}, NULL);
    CHECK_EQ_INT(result.verdict, TSM_DIFFERENT);
    CHECK_EQ_INT((long long)result.seq_a, (long long)add_seq);
    diff(&plain, &(struct variation){.base = 0x900000, .stray = true},
         &(struct tsm_diff_options){.ignore_addresses = true});
    CHECK_EQ_INT(result.verdict, TSM_SAME);
}

static void a_missing_command_is_found(void)
{
    diff(&plain, &(struct variation){.base = SAMPLE_BASE, .short_one = true}, NULL);
    CHECK_EQ_INT(result.verdict, TSM_DIFFERENT);
    CHECK_EQ_STR(result.field, "");
    CHECK_EQ_STR(result.first.function, "add_two");
    CHECK(strstr(result.why, "missing"));
}

static void other_results_are_found_at_their_command(void)
{
    const struct variation other = {.base = SAMPLE_BASE, .other_result = true, .wrong_at = 99};

    diff(&plain, &other, &(struct tsm_diff_options){.readbacks_only = true});
    CHECK_EQ_INT(result.verdict, TSM_DIFFERENT);
    CHECK_EQ_STR(result.first.call, "READ_NOW");
    CHECK_EQ_INT((long long)result.first.seq, (long long)read_seq);
    CHECK_EQ_INT((long long)result.first.offset, 14);
}

/* The earliest in the trace is told, not the first that is found. */
static void the_earliest_difference_is_told(void)
{
    const struct variation other = {.base = SAMPLE_BASE, .wrong_at = 5, .value = 1};

    diff(&plain, &other, NULL);
    CHECK_EQ_INT((long long)result.seq_a, (long long)write_seq);
}

static void streams_can_be_chosen(void)
{
    uint32_t stream = 2;
    const struct tsm_diff_options options = {.streams = &stream, .stream_count = 1};

    diff(&plain, &(struct variation){.base = SAMPLE_BASE, .wrong_at = 5}, &options);
    CHECK_EQ_INT(result.verdict, TSM_SAME);
    CHECK_EQ_INT((long long)result.compared_count, 2);
}

/* row D12 of docs/verdict.md */
static void nothing_is_not_the_same(void)
{
    uint32_t stream = 2;
    const struct tsm_diff_options options = {
        .streams = &stream, .stream_count = 1, .readbacks_only = true};

    diff(&plain, &plain, &options);
    CHECK_EQ_INT(result.verdict, TSM_CANNOT_TELL);
    CHECK_EQ_INT((long long)result.compared_count, 0);
}

int main(void)
{
    equal_traces_are_the_same();
    other_addresses_map_one_to_one();
    an_edited_payload_byte_is_found();
    another_function_is_found();
    another_argument_is_found_by_its_offset();
    a_pointer_into_another_buffer_is_found();
    a_missing_command_is_found();
    other_results_are_found_at_their_command();
    the_earliest_difference_is_told();
    streams_can_be_chosen();
    nothing_is_not_the_same();
    sbt_reader_destroy(a);
    sbt_reader_destroy(b);
    return check_result();
}
