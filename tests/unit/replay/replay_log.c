/* SPDX-License-Identifier: Apache-2.0 -- what one run has observed, compared with another one. */
#include "tests/unit/check.h"

#include <string.h>

#include "base/hash.h"
#include "replay/rerun/run_log.h"

enum { SIZE = 512 };

static struct tsm_run_log run_log;

static void put(const struct tsm_observer *o, enum tsm_observation_kind kind, uint64_t seq,
                uint8_t value, int wanted)
{
    struct tsm_observation observation = {kind, seq, 1, seq, 0x1000, SIZE};
    uint8_t bytes[SIZE];
    struct sbt_key key;
    int error = o->begin(o->user, &observation);

    memset(bytes, value, sizeof(bytes));
    key = tsm_hash_key(bytes, sizeof(bytes));
    if (!error)
        error = o->piece(o->user, &key, bytes, sizeof(bytes));
    CHECK_EQ_INT(error, wanted);
}

/* Two observations of `kind`, of bytes that are 0; `max`: of the bytes so many are kept. */
static void write_log(enum tsm_observation_kind kind, uint64_t max)
{
    struct tsm_run_writer w;

    CHECK_EQ_INT(tsm_run_log_clear(&run_log), 0);
    CHECK_EQ_INT(tsm_run_writer_init(&w, &run_log), 0);
    struct tsm_observer o = tsm_run_writer_observer(&w);
    w.stored_max = max;
    put(&o, kind, 7, 0, 0);
    put(&o, kind, 9, 0, 0);
    CHECK_EQ_INT((long long)w.count, 2);
    CHECK_EQ_INT(tsm_run_writer_finish(&w), 0);
}

static void begin_reading(struct tsm_run_reader *r, struct tsm_observer *o)
{
    CHECK_EQ_INT(tsm_run_reader_init(r, &run_log), 0);
    *o = tsm_run_reader_observer(r);
    r->fresh_then = 0;
    r->fresh_now = 0xa5;
}

static void memory_that_is_fresh_is_equal(void)
{
    struct tsm_run_reader r;
    struct tsm_observer o;

    write_log(TSM_OBSERVED_REGION, 1 << 20);
    begin_reading(&r, &o);
    put(&o, TSM_OBSERVED_REGION, 7, 0xa5, 0);
    put(&o, TSM_OBSERVED_REGION, 9, 0, 0);
    tsm_run_reader_end(&r);
    CHECK(!r.differs);
    CHECK_EQ_INT((long long)r.unknown_count, 0);
    tsm_run_reader_finish(&r);
}

/* The program has read what nobody wrote. */
static void a_readback_that_is_fresh_differs(void)
{
    struct tsm_run_reader r;
    struct tsm_observer o;

    write_log(TSM_OBSERVED_READBACK, 1 << 20);
    begin_reading(&r, &o);
    put(&o, TSM_OBSERVED_READBACK, 7, 0xa5, TSM_E_DIFFERENT);
    CHECK(r.differs);
    CHECK_EQ_INT((long long)r.difference.seq, 7);
    tsm_run_reader_finish(&r);
}

/* row C4 of docs/verdict.md */
static void what_was_not_kept_is_unknown(void)
{
    struct tsm_run_reader r;
    struct tsm_observer o;

    write_log(TSM_OBSERVED_REGION, 0);
    begin_reading(&r, &o);
    put(&o, TSM_OBSERVED_REGION, 7, 0xa5, 0);
    put(&o, TSM_OBSERVED_REGION, 9, 0, 0);
    tsm_run_reader_end(&r);
    CHECK(!r.differs);
    CHECK_EQ_INT((long long)r.unknown_count, 1);
    tsm_run_reader_finish(&r);
}

static void fewer_observations_differ(void)
{
    struct tsm_run_reader r;
    struct tsm_observer o;

    write_log(TSM_OBSERVED_REGION, 1 << 20);
    begin_reading(&r, &o);
    put(&o, TSM_OBSERVED_REGION, 7, 0, 0);
    tsm_run_reader_end(&r);
    CHECK(r.differs);
    CHECK_EQ_INT((long long)r.difference.seq, 9);
    tsm_run_reader_finish(&r);
}

static void more_observations_differ(void)
{
    struct tsm_run_reader r;
    struct tsm_observer o;

    write_log(TSM_OBSERVED_REGION, 1 << 20);
    begin_reading(&r, &o);
    put(&o, TSM_OBSERVED_REGION, 7, 0, 0);
    put(&o, TSM_OBSERVED_REGION, 9, 0, 0);
    put(&o, TSM_OBSERVED_REGION, 11, 0, TSM_E_DIFFERENT);
    CHECK(r.differs);
    tsm_run_reader_finish(&r);
}

int main(void)
{
    CHECK_EQ_INT(tsm_run_log_init(&run_log), 0);
    memory_that_is_fresh_is_equal();
    a_readback_that_is_fresh_differs();
    what_was_not_kept_is_unknown();
    fewer_observations_differ();
    more_observations_differ();
    tsm_run_log_finish(&run_log);
    return check_result();
}
