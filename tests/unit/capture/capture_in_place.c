/* SPDX-License-Identifier: Apache-2.0
 *
 * A call's record is made at the head of its lane. What is written to the lane while it is being
 * made - a record of ours, a payload's pieces - goes there first, and the record is whole all the
 * same. Also where the ring ends.
 */
#include "tests/unit/capture/capture_fake.h"
#include "tests/unit/check.h"

#define CALLS 4000u

static unsigned char payload[3001];

static void fill(unsigned i)
{
    for (unsigned k = 0; k < sizeof(payload); k++)
        payload[k] = (unsigned char)(i * 31 + k * 7 + (k >> 8) + (i >> 8));
}

static void begin(struct tsm_call *call, enum fake_call type, unsigned i)
{
    if (!tsm_call_begin(call, SBT_TYPE(7, type)))
        return;
    tsm_call_on_stream(call, fake_stream(0), TSM_ENQUEUES);
    tsm_call_returned(call, (int64_t)i - 5, false);
    tsm_call_slot(call, i * 3ull);
}

/* A record of ours after the first field. */
static void launch(unsigned i)
{
    struct tsm_call call;
    char text[32];

    begin(&call, FAKE_LAUNCH, i);
    snprintf(text, sizeof(text), "odd %u", i);
    if (i % 5 == 0)
        tsm_session_unmodelled(text, false);
    tsm_call_slot(&call, ~(uint64_t)i);
    tsm_call_string(&call, "kernel");
    tsm_call_bytes(&call, &i, sizeof(i));
    tsm_call_commit(&call);
}

/* Pieces after the second; sometimes the record has no room where it began. */
static void copy_in(unsigned i)
{
    struct tsm_call call;
    uint64_t *slots;

    fill(i);
    begin(&call, FAKE_COPY_IN, i);
    slots = tsm_call_slots(&call, 1);
    slots[0] = ~(uint64_t)i;
    tsm_call_blob(&call, payload, sizeof(payload) - i % 64);
    tsm_call_commit(&call);
}

static void check_words(const struct sbt_record *r, unsigned i)
{
    CHECK_EQ_INT(r->slots[0], i * 3ull);
    CHECK_EQ_INT(r->slots[1], ~(uint64_t)i);
    CHECK_EQ_INT(r->result, (int64_t)i - 5);
    CHECK_EQ_INT(r->stream, 0);
}

static void check_launch(struct sbt_reader *reader, const struct sbt_record *r, void *user)
{
    unsigned *i = user, argument = 0;
    const uint8_t *bytes;
    size_t size = 0;

    check_words(r, *i);
    CHECK_EQ_STR(sbt_reader_string(reader, (uint32_t)r->slots[2]), "kernel");
    if (CHECK(sbt_record_bytes(r, 3, &bytes, &size)) && CHECK_EQ_INT(size, sizeof(argument)))
        memcpy(&argument, bytes, sizeof(argument));
    CHECK_EQ_INT(argument, *i);
    ++*i;
}

static void check_copy(struct sbt_reader *reader, const struct sbt_record *r, void *user)
{
    static unsigned char found[sizeof(payload)];
    unsigned *i = user;
    struct sbt_blob blob;

    fill(*i);
    check_words(r, *i);
    if (CHECK(sbt_record_blob(r, 2, &blob)) && CHECK_EQ_INT(blob.size, sizeof(payload) - *i % 64) &&
        CHECK_EQ_INT(sbt_reader_blob(reader, &blob, 0, found, blob.size), 0))
        CHECK_EQ_MEM(found, payload, blob.size);
    ++*i;
}

static void visit_unmodelled(struct sbt_reader *reader, const struct sbt_record *r, void *user)
{
    CHECK(sbt_reader_string(reader, (uint32_t)r->slots[0]) != NULL);
}

int main(void)
{
    unsigned launches = 0, copies = 0;
    struct sbt_reader *reader;

    fake_begin("capture_in_place.sbt");
    for (unsigned i = 0; i < CALLS; i++) {
        launch(i);
        copy_in(i);
    }
    tsm_session_finish();
    reader = fake_open("capture_in_place.sbt");
    CHECK_EQ_INT(fake_each(reader, SBT_TYPE(7, FAKE_LAUNCH), check_launch, &launches), CALLS);
    CHECK_EQ_INT(fake_each(reader, SBT_TYPE(7, FAKE_COPY_IN), check_copy, &copies), CALLS);
    CHECK(fake_each(reader, SBT_TYPE(SBT_API_CORE, SBT_CORE_UNMODELLED), visit_unmodelled, NULL) >=
          CALLS / 5);
    CHECK_EQ_INT(sbt_reader_totals(reader)->lost_count, 0);
    sbt_reader_destroy(reader);
    return check_result();
}
