/* SPDX-License-Identifier: Apache-2.0
 *
 * Random commands in virtual time: prints what it does, a call a line, and then what each command's
 * times were. emu_virtual_test.py computes the same. usage: emu_virtual_random SEED
 */
#include "base/random.h"
#include "tests/emu/emu_virtual.h"

#define CALLS   150
#define STREAMS 5 /* the default stream, two blocking ones, two others; the last has priority */
#define EVENTS  4

static CUstream streams[STREAMS];
static CUevent events[EVENTS];
static struct tsm_emu_ticket *tickets[CALLS];
static unsigned count;
static CUdeviceptr memory;
static char *pinned;
static uint64_t state;

static unsigned below(unsigned limit)
{
    return (unsigned)(tsm_random(&state) % limit);
}

static void nothing(void *user)
{
    (void)user;
}

static void send_work(unsigned s)
{
    const unsigned bytes = 1 + below(3000);
    const unsigned blocks = 1 + below(9), ns = 3 * (3 + below(400));
    const CUstream stream = streams[s];
    struct tsm_emu_ticket *ticket = NULL;

    switch (below(7)) {
    case 0:
        SENT(ticket, cuMemcpyHtoDAsync_v2(memory, pinned, bytes, stream));
        printf("to_device %u %u\n", s, bytes);
        break;
    case 1:
        SENT(ticket, cuMemcpyDtoHAsync_v2(pinned, memory, bytes, stream));
        printf("to_host %u %u\n", s, bytes);
        break;
    case 2:
        SENT(ticket, cuMemsetD8Async(memory, 1, bytes, stream));
        printf("inside %u %u\n", s, bytes);
        break;
    case 3:
        SENT(ticket, cuLaunchHostFunc(stream, nothing, NULL));
        printf("function %u\n", s);
        break;
    default:
        SENT(ticket, spin(stream, blocks, ns));
        printf("kernel %u %u %u\n", s, blocks, ns);
    }
    tickets[count++] = ticket;
}

static void wait_or_ask(unsigned s, unsigned e)
{
    switch (below(8)) {
    case 0:
        OK(cuStreamSynchronize(streams[s]));
        printf("synchronize %u\n", s);
        break;
    case 1:
        OK(cuEventSynchronize(events[e]));
        printf("synchronize_event %u\n", e);
        break;
    case 2:
        OK(cuCtxSynchronize());
        printf("synchronize_all\n");
        break;
    case 3:
    case 4:
    case 5:
        printf("query %u %d\n", s, cuStreamQuery(streams[s]) == CUDA_SUCCESS);
        break;
    default:
        printf("query_event %u %d\n", e, cuEventQuery(events[e]) == CUDA_SUCCESS);
    }
}

static void one_call(void)
{
    const unsigned s = below(STREAMS), e = below(EVENTS);

    switch (below(9)) {
    case 0:
        OK(cuEventRecord(events[e], streams[s]));
        printf("record %u %u\n", s, e);
        break;
    case 1:
        OK(cuStreamWaitEvent(streams[s], events[e], 0));
        printf("wait %u %u\n", s, e);
        break;
    case 2:
    case 3:
        wait_or_ask(s, e);
        break;
    default:
        send_work(s);
    }
}

static void print_times(void)
{
    for (unsigned i = 0; i < count; i++) {
        uint64_t start = 0, end = 0;
        CHECK_EQ_INT(times->read(tickets[i], &start, &end), TSM_EMU_TIMES_KNOWN);
        printf("ran %" PRIu64 " %" PRIu64 "\n", start, end);
    }
    printf("now %" PRIu64 "\n", times->now());
}

int main(int argc, char **argv)
{
    CUcontext context = virtual_context(PTX_HEAD PTX_SPIN);

    state = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;
    OK(cuMemAlloc_v2(&memory, 1 << 16));
    OK(cuMemAllocHost_v2((void **)&pinned, 1 << 16));
    for (unsigned s = 1; s < STREAMS; s++)
        OK(cuStreamCreateWithPriority(&streams[s], s > 2 ? CU_STREAM_NON_BLOCKING : 0,
                                      s == STREAMS - 1 ? -1 : 0));
    for (unsigned e = 0; e < EVENTS; e++)
        OK(cuEventCreate(&events[e], 0));
    for (unsigned i = 0; i < CALLS; i++)
        one_call();
    OK(cuCtxSynchronize());
    printf("synchronize_all\n");
    print_times();
    OK(cuCtxDestroy_v2(context));
    return check_result();
}
