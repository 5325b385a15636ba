/* SPDX-License-Identifier: Apache-2.0
 *
 * QEMU's log and a guest's jobs: two clocks, of which nobody tells the difference.
 */
#include "analysis/ring/host_fences.h"

#include "base/bytes.h"
#include "kernel/include/grtrace.h"
#include "tests/unit/check.h"
#include "tracesmith/error.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HOST_NS  1700000000000000000u
#define GUEST_NS 5000000000u
#define STEP_NS  1000000u

static char path[] = "/tmp/host_fences.XXXXXX";

static void add(struct tsm_ring_jobs *jobs, uint8_t type, uint64_t ts_ns, uint64_t seqno)
{
    static uint64_t gseq;
    uint8_t *p = calloc(1, 64);

    tsm_put_u16(p, 64);
    p[2] = type;
    tsm_put_u64(p + 8, ts_ns);
    tsm_put_u64(p + 16, gseq++);
    tsm_put_u32(p + 24, 1); /* ring */
    tsm_put_u64(p + 48, seqno);
    CHECK_EQ_INT(tsm_ring_jobs_add(jobs, p, 64), 0);
}

/* Three commands, 10 ms apart. The guest's clock runs `rate` times as fast; the host takes a
 * command 1 ms after its submit, needs 2 ms, and the guest hears of it 1 ms later, by the host's
 * clock. */
static void make(struct tsm_ring_jobs *jobs, FILE *log, uint64_t rate)
{
    for (uint64_t i = 0; i < 3; i++) {
        uint64_t host = HOST_NS + 10 * i * STEP_NS, guest = GUEST_NS + 10 * i * STEP_NS * rate;
        uint64_t taken = (host + STEP_NS) / 1000, done = (host + 3 * STEP_NS) / 1000;
        add(jobs, GRTRACE_SUBMIT, guest, i + 17);
        add(jobs, GRTRACE_END, guest + 4 * STEP_NS * rate, i + 17);
        fprintf(log, "77@%llu.%06llu:virtio_gpu_fence_ctrl fence 0x%llx, type 0x207\n",
                (unsigned long long)taken / 1000000, (unsigned long long)taken % 1000000,
                (unsigned long long)i + 17);
        fprintf(log, "77@%llu.%06llu:virtio_gpu_fence_resp fence 0x%llx\n",
                (unsigned long long)done / 1000000, (unsigned long long)done % 1000000,
                (unsigned long long)i + 17);
    }
    fprintf(log, "something else\n");
    fclose(log);
    CHECK_EQ_INT(tsm_ring_jobs_build(jobs), 0);
}

static void test_aligned(uint64_t rate)
{
    struct tsm_ring_jobs jobs = {0};
    struct tsm_host_fences fences = {0};

    make(&jobs, fopen(path, "w"), rate);
    CHECK_EQ_INT(tsm_host_fences_read(&fences, path), 0);
    CHECK_EQ_INT(tsm_host_fences_align(&fences, &jobs), 0);
    CHECK_EQ_INT(fences.used_count, 3);
    CHECK(rate == 1 ? fences.rate == 1 : fences.rate > 3.5 && fences.rate < 4.5);
    CHECK(fences.error_ns <= rate * STEP_NS);
    for (size_t i = 0; i < tsm_ring_jobs_count(&jobs); i++) {
        const struct tsm_ring_job *job = tsm_ring_jobs_at(&jobs, i);
        const struct tsm_host_fence *f = tsm_host_fences_of(&fences, job);
        CHECK(f && job->submit_ns <= f->taken_ns && f->taken_ns < f->done_ns &&
              f->done_ns <= job->end_ns);
    }
    tsm_host_fences_finish(&fences);
    tsm_ring_jobs_finish(&jobs);
}

/* Nothing in common, no times, no such lines, no file. */
static void test_refused(void)
{
    struct tsm_ring_jobs jobs = {0};
    struct tsm_host_fences fences = {0};
    FILE *log = fopen(path, "w");

    add(&jobs, GRTRACE_SUBMIT, GUEST_NS, 99);
    add(&jobs, GRTRACE_END, GUEST_NS + 1, 99);
    make(&jobs, log, 1);
    CHECK_EQ_INT(tsm_host_fences_read(&fences, path), 0);
    fences.list.size = sizeof(struct tsm_host_fence);
    ((struct tsm_host_fence *)(void *)fences.list.data)->fence = 1;
    CHECK_EQ_INT(tsm_host_fences_align(&fences, &jobs), TSM_E_NOT_FOUND);
    tsm_host_fences_finish(&fences);
    tsm_ring_jobs_finish(&jobs);

    log = fopen(path, "w");
    fprintf(log, "virtio_gpu_fence_ctrl fence 0x1, type 0x207\nvirtio_gpu_fence_resp fence 0x1\n");
    fclose(log);
    fences = (struct tsm_host_fences){0};
    CHECK_EQ_INT(tsm_host_fences_read(&fences, path), TSM_E_FORMAT);
    CHECK(strstr(tsm_error_message(), "timestamp=on") != NULL);
    tsm_host_fences_finish(&fences);

    fclose(fopen(path, "w"));
    fences = (struct tsm_host_fences){0};
    CHECK_EQ_INT(tsm_host_fences_read(&fences, path), TSM_E_FORMAT);
    CHECK_EQ_INT(tsm_host_fences_read(&fences, "/nowhere/at/all"), TSM_E_IO);
    tsm_host_fences_finish(&fences);
}

int main(void)
{
    int fd = mkstemp(path);

    CHECK(fd >= 0);
    close(fd);
    test_aligned(1);
    test_aligned(4);
    test_refused();
    unlink(path);
    return check_result();
}
