/* SPDX-License-Identifier: Apache-2.0
 *
 * Payload bytes come back as they were; repeated ones are stored once, zeros not at all; copies
 * larger than a lane flow through it; boxes are packed.
 */
#include "tests/unit/capture/capture_fake.h"
#include "tests/unit/check.h"

#include <stdlib.h>
#include <sys/stat.h>

#define BIG (40u << 20)

static uint8_t *pattern(size_t size, unsigned seed)
{
    uint8_t *bytes = malloc(size);
    uint32_t state = seed;

    for (size_t i = 0; i < size; i++) {
        state = state * 1664525u + 1013904223u;
        bytes[i] = (uint8_t)(state >> 24);
    }
    return bytes;
}

static off_t size_of(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 ? st.st_size : -1;
}

struct expected {
    const uint8_t *bytes;
    uint64_t size;
};

static void visit(struct sbt_reader *reader, const struct sbt_record *r, void *user)
{
    const struct expected *want = user;
    struct sbt_blob blob;
    uint8_t *got;

    if (!CHECK(sbt_record_blob(r, 2, &blob)) || !CHECK_EQ_INT(blob.size, want->size))
        return;
    got = malloc(want->size);
    CHECK_EQ_INT(sbt_reader_blob(reader, &blob, 0, got, want->size), 0);
    CHECK_EQ_MEM(got, want->bytes, want->size);
    free(got);
}

static void check_payloads(const char *path, const uint8_t *bytes, uint64_t size, uint64_t count)
{
    struct expected want = {bytes, size};
    struct sbt_reader *reader = fake_open(path);

    CHECK_EQ_INT(fake_each(reader, SBT_TYPE(7, FAKE_COPY_IN), visit, &want), count);
    CHECK_EQ_INT(sbt_reader_totals(reader)->lost_count, 0);
    sbt_reader_destroy(reader);
}

static void copy_four_times(void *bytes)
{
    for (unsigned i = 0; i < 4; i++)
        fake_copy_in(0, 0, bytes, BIG);
}

static void copy_odd(void *bytes)
{
    fake_copy_in(0, 0, bytes, 100001);
}

/* Rows of 1000 bytes, 1024 apart, 7 of them, 3 planes 8192 apart. */
static void copy_box(void *bytes)
{
    struct tsm_box box = {bytes, 1000, 7, 3, 1024, 8192};
    struct tsm_call call;

    if (!tsm_call_begin(&call, SBT_TYPE(7, FAKE_COPY_IN)))
        return;
    tsm_call_on_stream(&call, fake_stream(0), TSM_ENQUEUES);
    tsm_call_returned(&call, 0, false);
    tsm_call_slot(&call, 1);
    tsm_call_slot(&call, 0);
    tsm_call_blob_box(&call, &box);
    tsm_call_commit(&call);
}

static void test_box(const uint8_t *bytes)
{
    uint8_t packed[21000];

    for (unsigned row = 0; row < 21; row++)
        memcpy(packed + row * 1000, bytes + row / 7 * 8192 + row % 7 * 1024, 1000);
    fake_begin("capture_payloads.sbt");
    fake_run(copy_box, (void *)(uintptr_t)bytes);
    check_payloads("capture_payloads.sbt", packed, sizeof(packed), 1);
}

int main(void)
{
    uint8_t *bytes = pattern(BIG, 1), *zeros = calloc(1, BIG);

    fake_begin("capture_payloads.sbt");
    fake_run(copy_four_times, bytes);
    check_payloads("capture_payloads.sbt", bytes, BIG, 4);
    CHECK(size_of("capture_payloads.sbt") < BIG + (BIG >> 4));
    CHECK(size_of("capture_payloads.sbt") > BIG / 2);

    fake_begin("capture_payloads.sbt");
    fake_run(copy_four_times, zeros);
    check_payloads("capture_payloads.sbt", zeros, BIG, 4);
    CHECK(size_of("capture_payloads.sbt") < 1 << 20);

    fake_begin("capture_payloads.sbt");
    fake_run(copy_odd, bytes);
    check_payloads("capture_payloads.sbt", bytes, 100001, 1);

    test_box(bytes);
    free(bytes);
    free(zeros);
    return check_result();
}
