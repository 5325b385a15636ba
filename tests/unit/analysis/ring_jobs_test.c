/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/ring/jobs.h"
#include "analysis/ring/join.h"

#include "base/bytes.h"
#include "kernel/include/grtrace.h"
#include "tests/unit/check.h"
#include "tracesmith/error.h"

#include <stdlib.h>

/* Kernel records, made one by one. */
struct made {
    uint8_t bytes[8192];
    size_t size;
    uint64_t gseq;
    uint32_t cseq;
};

static uint8_t *add(struct made *m, uint8_t type, uint64_t ts_ns, uint64_t ctx, uint64_t seqno)
{
    uint8_t *p = m->bytes + m->size;

    memset(p, 0, 64);
    tsm_put_u16(p, 64);
    p[2] = type;
    tsm_put_u64(p + 8, ts_ns);
    tsm_put_u64(p + 16, m->gseq++);
    tsm_put_u32(p + 24, 1);  /* ring */
    tsm_put_u32(p + 28, 77); /* pid */
    tsm_put_u32(p + 32, m->cseq++);
    tsm_put_u32(p + 36, 78); /* tid */
    tsm_put_u64(p + 40, ctx);
    tsm_put_u64(p + 48, seqno);
    m->size += 64;
    return p;
}

static void build(struct tsm_ring_jobs *jobs, const struct made *m)
{
    uint8_t *copy = malloc(m->size);

    memcpy(copy, m->bytes, m->size);
    CHECK_EQ_INT(tsm_ring_jobs_add(jobs, copy, m->size), 0);
    CHECK_EQ_INT(tsm_ring_jobs_build(jobs), 0);
}

static void test_spans(void)
{
    struct made m = {0};
    struct tsm_ring_jobs jobs = {0};
    const struct tsm_ring_job *job;

    add(&m, GRTRACE_COMMIT, 100, 5, 1);
    add(&m, GRTRACE_SUBMIT, 110, 5, 1);
    add(&m, GRTRACE_START, 130, 5, 1);
    add(&m, GRTRACE_SYNC_WAIT_ENTER, 140, 5, 1);
    tsm_put_u64(add(&m, GRTRACE_END, 170, 5, 1) + 56, 168); /* the hardware's own time */
    tsm_put_u64(add(&m, GRTRACE_COMPLETE, 172, 5, 1) + 56, 62);
    add(&m, GRTRACE_SYNC_WAIT_EXIT, 190, 5, 1);
    build(&jobs, &m);
    CHECK_EQ_INT(tsm_ring_jobs_count(&jobs), 1);
    job = tsm_ring_jobs_at(&jobs, 0);
    CHECK_EQ_INT(tsm_job_span_ns(job, TSM_SPAN_SUBMIT_HOST), 10);
    CHECK_EQ_INT(tsm_job_span_ns(job, TSM_SPAN_QUEUE), 20);
    CHECK_EQ_INT(tsm_job_span_ns(job, TSM_SPAN_EXEC), 38);
    CHECK_EQ_INT(tsm_job_span_ns(job, TSM_SPAN_COMPLETE), 4);
    CHECK_EQ_INT(tsm_job_span_ns(job, TSM_SPAN_GPU_WAIT), 50);
    CHECK_EQ_INT(job->error, 62);
    CHECK_EQ_INT(job->pid, 77);
    CHECK_EQ_INT(jobs.lost_count, 0);
    tsm_ring_jobs_finish(&jobs);
}

/* Missing members are none, disorder is mended, gaps are a loss. */
static void test_disorder(void)
{
    struct made m = {0};
    struct tsm_ring_jobs jobs = {0};
    const struct tsm_ring_job *job;
    uint8_t swapped[64];

    add(&m, GRTRACE_START, 130, 5, 1);
    m.cseq += 3;
    add(&m, GRTRACE_END, 170, 5, 1);
    memcpy(swapped, m.bytes, 64);
    memcpy(m.bytes, m.bytes + 64, 64);
    memcpy(m.bytes + 64, swapped, 64);
    build(&jobs, &m);
    job = tsm_ring_jobs_at(&jobs, 0);
    CHECK_EQ_INT(tsm_ring_jobs_count(&jobs), 1);
    CHECK(tsm_job_span_ns(job, TSM_SPAN_QUEUE) == TSM_SPAN_NONE);
    CHECK(tsm_job_span_ns(job, TSM_SPAN_COMPLETE) == TSM_SPAN_NONE);
    CHECK_EQ_INT(tsm_job_span_ns(job, TSM_SPAN_EXEC), 40);
    CHECK_EQ_INT(jobs.lost_count, 3);
    tsm_ring_jobs_finish(&jobs);
}

/* An interrupt's record came between another's two numbers. */
static void test_nested(void)
{
    struct made m = {0};
    struct tsm_ring_jobs jobs = {0};

    add(&m, GRTRACE_SUBMIT, 100, 5, 1);
    m.cseq = 4; /* two were lost */
    add(&m, GRTRACE_END, 120, 5, 1);
    m.cseq = 3;
    add(&m, GRTRACE_SUBMIT, 110, 5, 2);
    m.cseq = 5;
    add(&m, GRTRACE_END, 130, 5, 2);
    build(&jobs, &m);
    CHECK_EQ_INT(jobs.lost_count, 2);
    tsm_ring_jobs_finish(&jobs);
}

static void test_preemption(void)
{
    struct made m = {0};
    struct tsm_ring_jobs jobs = {0};

    add(&m, GRTRACE_START, 100, 5, 1);
    add(&m, GRTRACE_START, 110, 6, 1);
    add(&m, GRTRACE_END, 120, 6, 1);
    add(&m, GRTRACE_END, 130, 5, 1);
    add(&m, GRTRACE_START, 140, 5, 2); /* these two overlap, but in order */
    add(&m, GRTRACE_START, 150, 6, 2);
    add(&m, GRTRACE_END, 160, 5, 2);
    add(&m, GRTRACE_END, 170, 6, 2);
    build(&jobs, &m);
    CHECK_EQ_INT(tsm_ring_jobs_count(&jobs), 4);
    for (size_t i = 0; i < 4; i++)
        CHECK_EQ_INT(tsm_ring_jobs_at(&jobs, i)->flags, i == 0 ? TSM_JOB_PREEMPTED : 0);
    tsm_ring_jobs_finish(&jobs);
}

/* A driver that numbers from the start again makes other jobs. */
static void test_again(void)
{
    struct made m = {0};
    struct tsm_ring_jobs jobs = {0};

    for (int i = 0; i < 3; i++) {
        add(&m, GRTRACE_SUBMIT, 100 + i * 100, 5, 1);
        add(&m, GRTRACE_COMPLETE, 150 + i * 100, 5, 1);
    }
    build(&jobs, &m);
    CHECK_EQ_INT(tsm_ring_jobs_count(&jobs), 3);
    tsm_ring_jobs_finish(&jobs);
}

static void test_malformed(void)
{
    static const uint16_t sizes[] = {0, 8, 63, 65, 72, 4096};
    struct tsm_ring_jobs jobs = {0};

    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        uint8_t *bytes = calloc(1, 64);

        tsm_put_u16(bytes, sizes[i]);
        CHECK_EQ_INT(tsm_ring_jobs_add(&jobs, bytes, 64), TSM_E_FORMAT);
    }
    tsm_ring_jobs_finish(&jobs);
}

static void test_join(void)
{
    struct made m = {0};
    struct tsm_ring_jobs jobs = {0};
    const struct tsm_ring_submit submits[] = {
        {.pid = 77, .ctx = 6, .seqno = 1, .begin_ns = 0, .end_ns = 1},    /* by number */
        {.pid = 77, .ctx = 6, .seqno = 9},                                /* there is no such */
        {.pid = 78, .ctx = 5, .seqno = 1},                                /* of another process */
        {.pid = 77, .begin_ns = 95, .end_ns = 105},                       /* by time */
        {.pid = 77, .begin_ns = 295, .end_ns = 345},                      /* one of two */
        {.pid = 77, .ring = 2, .begin_ns = 395, .end_ns = 405},           /* on another ring */
        {.pid = 77, .ctx = 6, .seqno = 1, .begin_ns = 0, .end_ns = 1000}, /* taken already */
        {.pid = 77,
         .seqno = 7,
         .begin_ns = 495,
         .end_ns = 555}, /* of two, the one with this number */
        {.pid = 77, .tid = 79, .begin_ns = 595, .end_ns = 605}, /* of another thread */
        {.pid = 77, .tid = 78, .begin_ns = 595, .end_ns = 655}, /* the other one has no fence */
    };
    const size_t wanted[] = {1,
                             TSM_RING_JOIN_NONE,
                             TSM_RING_JOIN_NONE,
                             0,
                             TSM_RING_JOIN_NONE,
                             TSM_RING_JOIN_NONE,
                             TSM_RING_JOIN_NONE,
                             6,
                             TSM_RING_JOIN_NONE,
                             7};
    size_t got[10];

    add(&m, GRTRACE_SUBMIT, 100, 5, 1);
    add(&m, GRTRACE_SUBMIT, 200, 6, 1);
    add(&m, GRTRACE_SUBMIT, 300, 5, 2);
    add(&m, GRTRACE_SUBMIT, 340, 5, 3);
    add(&m, GRTRACE_SUBMIT, 400, 5, 4);
    add(&m, GRTRACE_SUBMIT, 500, 5, 6);
    add(&m, GRTRACE_SUBMIT, 550, 5, 7);
    add(&m, GRTRACE_SUBMIT, 600, 5, 8);
    add(&m, GRTRACE_SUBMIT, 650, 5, TSM_JOB_SEQNO_COUNTED | 1);
    build(&jobs, &m);
    CHECK_EQ_INT(tsm_ring_join(got, &jobs, submits, 10), 0);
    for (size_t i = 0; i < 10; i++)
        CHECK_EQ_INT(got[i], wanted[i]);
    tsm_ring_jobs_finish(&jobs);
}

int main(void)
{
    test_spans();
    test_disorder();
    test_nested();
    test_preemption();
    test_again();
    test_malformed();
    test_join();
    return check_result();
}
