/* SPDX-License-Identifier: Apache-2.0
 *
 * The device model against one that is slow and plain: it places block by block and shares no line
 * with it. usage: machine_test DOCS/emu.md, whose table of keys is compared with the code's.
 */
#include "base/machine.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/random.h"
#include "tests/unit/check.h"
#include "tracesmith/error.h"

/* ---- a model by hand ----------------------------------------------------------------------- */

#define SLOTS_MAX 6

struct plain {
    uint64_t slots[SLOTS_MAX];
    uint64_t to_device, to_host, function;
};

static uint64_t up(uint64_t a, uint64_t b)
{
    return a / b + (a % b != 0);
}

static void plain_block(struct plain *p, const struct tsm_machine *m, uint64_t ready, uint64_t ns,
                        struct tsm_device_span *span, bool is_first)
{
    uint64_t best = UINT64_MAX;
    size_t at = 0;

    for (size_t i = 0; i < m->block_slots; i++) {
        uint64_t begin = p->slots[i] > ready ? p->slots[i] : ready;
        if (begin < best) {
            best = begin;
            at = i;
        }
    }
    p->slots[at] = best + ns;
    if (is_first)
        *span = (struct tsm_device_span){best, best + ns};
    if (best + ns > span->end_ns)
        span->end_ns = best + ns;
}

static struct tsm_device_span plain_engine(uint64_t *engine, uint64_t ready, uint64_t ns)
{
    uint64_t begin = engine && *engine > ready ? *engine : ready;

    if (engine)
        *engine = begin + ns;
    return (struct tsm_device_span){begin, begin + ns};
}

static struct tsm_device_span plain_run(struct plain *p, const struct tsm_machine *m,
                                        const struct tsm_device_work *w, uint64_t ready)
{
    struct tsm_device_span span = {ready, ready};

    if (w->kind == TSM_DEVICE_KERNEL) {
        uint64_t blocks = w->blocks ? w->blocks : 1;
        uint64_t ns = up(w->instructions * m->instruction_ps, blocks * 1000);
        for (uint64_t i = 0; i < blocks; i++)
            plain_block(p, m, ready, ns, &span, i == 0);
        span.end_ns += m->kernel_ns;
    } else if (w->kind == TSM_DEVICE_TO_DEVICE) {
        span = plain_engine(&p->to_device, ready,
                            m->copy_latency_ns + up(w->bytes * 1000, m->host_to_device_mbps));
    } else if (w->kind == TSM_DEVICE_TO_HOST) {
        span = plain_engine(&p->to_host, ready,
                            m->copy_latency_ns + up(w->bytes * 1000, m->device_to_host_mbps));
    } else if (w->kind == TSM_DEVICE_ON_DEVICE) {
        span = plain_engine(NULL, ready, up(w->bytes * 1000, m->device_mbps));
    } else if (w->kind == TSM_DEVICE_HOST_FUNCTION) {
        span = plain_engine(&p->function, ready, m->host_function_ns);
    }
    return span;
}

/* ---- both, on the same commands ------------------------------------------------------------ */

static uint64_t below(uint64_t *random, uint64_t limit)
{
    return tsm_random(random) % limit;
}

static struct tsm_machine random_machine(uint64_t *random)
{
    return (struct tsm_machine){.block_slots = 1 + below(random, SLOTS_MAX),
                                .instruction_ps = below(random, 3) ? below(random, 3000) : 1000,
                                .kernel_ns = below(random, 50),
                                .copy_latency_ns = below(random, 50),
                                .host_to_device_mbps = 1 + below(random, 5000),
                                .device_to_host_mbps = 1 + below(random, 5000),
                                .device_mbps = 1 + below(random, 50000),
                                .host_function_ns = below(random, 200)};
}

static struct tsm_device_work random_work(uint64_t *random)
{
    return (struct tsm_device_work){.kind = (enum tsm_device_work_kind)below(random, 6),
                                    .bytes = below(random, 5) ? below(random, 4000) : 0,
                                    .blocks =
                                        below(random, 5) ? below(random, 40) : below(random, 4),
                                    .instructions = below(random, 8) ? below(random, 9000) : 0};
}

/* Ready times mostly grow, as they do where nobody breaks the rule. */
static void compare(uint64_t seed)
{
    uint64_t random = seed, ready = 0;
    const struct tsm_machine machine = random_machine(&random);
    struct tsm_device_model model;
    struct plain plain = {{0}, 0, 0, 0};

    CHECK_EQ_INT(tsm_device_model_init(&model, &machine), 0);
    for (unsigned i = 0; i < 60; i++) {
        const struct tsm_device_work work = random_work(&random);
        const bool is_early = below(&random, 12) == 0;
        ready += below(&random, 300);
        const uint64_t at = is_early ? below(&random, ready + 1) : ready;
        const uint64_t start = tsm_device_model_start(&model, work.kind, at);
        const struct tsm_device_span got = tsm_device_model_run(&model, &work, at);
        const struct tsm_device_span wanted = plain_run(&plain, &machine, &work, at);
        if (got.start_ns != wanted.start_ns || got.end_ns != wanted.end_ns ||
            start != wanted.start_ns) {
            fprintf(stderr, "seed %" PRIu64 ", command %u of kind %d\n", seed, i, (int)work.kind);
            CHECK_EQ_INT(start, wanted.start_ns);
            CHECK_EQ_INT(got.start_ns, wanted.start_ns);
            CHECK_EQ_INT(got.end_ns, wanted.end_ns);
            break;
        }
        if (!CHECK_EQ_MEM(model.slots_ns, plain.slots, machine.block_slots * sizeof(uint64_t)))
            break;
    }
    tsm_device_model_finish(&model);
}

/* ---- figures by hand ----------------------------------------------------------------------- */

static struct tsm_device_work work(enum tsm_device_work_kind kind, uint64_t bytes, uint64_t blocks,
                                   uint64_t instructions)
{
    return (struct tsm_device_work){
        .kind = kind, .bytes = bytes, .blocks = blocks, .instructions = instructions};
}

static void check_run(struct tsm_device_model *m, struct tsm_device_work work, uint64_t ready,
                      uint64_t start, uint64_t end)
{
    const struct tsm_device_span span = tsm_device_model_run(m, &work, ready);

    CHECK_EQ_INT(span.start_ns, start);
    CHECK_EQ_INT(span.end_ns, end);
}

static void test_by_hand(void)
{
    struct tsm_device_model m;
    struct tsm_machine machine;

    tsm_machine_init(&machine);
    machine.block_slots = 2;
    CHECK_EQ_INT(tsm_device_model_init(&m, &machine), 0);
    /* Three blocks of 100 instructions on two slots: 100 ns, then the third one. */
    check_run(&m, work(TSM_DEVICE_KERNEL, 0, 3, 300), 10, 10, 210 + 2000);
    /* The other slot is free at 110; 1001 instructions of two blocks are 501 ns each. */
    check_run(&m, work(TSM_DEVICE_KERNEL, 0, 2, 1001), 20, 110, 210 + 501 + 2000);
    /* 12000 bytes a microsecond; what is begun counts. */
    check_run(&m, work(TSM_DEVICE_TO_DEVICE, 12000, 0, 0), 5, 5, 5 + 1500 + 1000);
    check_run(&m, work(TSM_DEVICE_TO_DEVICE, 1, 0, 0), 6, 2505, 2505 + 1500 + 1);
    check_run(&m, work(TSM_DEVICE_TO_HOST, 12001, 0, 0), 6, 6, 6 + 1500 + 1001);
    check_run(&m, work(TSM_DEVICE_ON_DEVICE, 600000, 0, 0), 7, 7, 2007);
    check_run(&m, work(TSM_DEVICE_HOST_FUNCTION, 0, 0, 0), 8, 8, 10008);
    check_run(&m, work(TSM_DEVICE_HOST_FUNCTION, 0, 0, 0), 9, 10008, 20008);
    check_run(&m, work(TSM_DEVICE_NONE, 9, 9, 9), 9, 9, 9);
    tsm_device_model_finish(&m);
}

/* Two engines for copies to the device; work of a given length. */
static void test_engines(void)
{
    struct tsm_device_model m;
    struct tsm_machine machine;
    struct tsm_device_work fixed = {.kind = TSM_DEVICE_TO_DEVICE, .is_fixed = true, .fixed_ns = 50};

    tsm_machine_init(&machine);
    machine.block_slots = 1;
    machine.host_to_device_engines = 2;
    CHECK_EQ_INT(tsm_device_model_init(&m, &machine), 0);
    check_run(&m, work(TSM_DEVICE_TO_DEVICE, 12000, 0, 0), 0, 0, 2500);
    check_run(&m, fixed, 10, 10, 60);
    check_run(&m, fixed, 20, 60, 110);
    check_run(&m, work(TSM_DEVICE_TO_HOST, 12000, 0, 0), 0, 0, 2500);
    check_run(&m, work(TSM_DEVICE_TO_HOST, 12000, 0, 0), 0, 2500, 5000);
    fixed.kind = TSM_DEVICE_KERNEL;
    check_run(&m, work(TSM_DEVICE_KERNEL, 0, 1, 100), 0, 0, 2100);
    check_run(&m, fixed, 5, 5, 55); /* the slot is busy, but not asked for */
    tsm_device_model_finish(&m);
}

/* Numbers that no GPU has: quick, and no time is beyond the last one. */
static void test_extremes(void)
{
    struct tsm_device_model m = {.slots_ns = NULL};
    struct tsm_machine machine;

    tsm_device_model_finish(&m);
    tsm_machine_init(&machine);
    machine.block_slots = 65536;
    CHECK_EQ_INT(tsm_device_model_init(&m, &machine), 0);
    /* 2^31 blocks of one instruction each: 2^15 turns of all slots. */
    check_run(&m, work(TSM_DEVICE_KERNEL, 0, 1u << 31, 1u << 31), 0, 0, 32768 + 2000);
    check_run(&m, work(TSM_DEVICE_KERNEL, 0, UINT64_MAX, UINT64_MAX), 0, 32768,
              32768 + (1ull << 48) + 2000);
    check_run(&m, work(TSM_DEVICE_KERNEL, 0, 1, UINT64_MAX), UINT64_MAX, TSM_MACHINE_TIME_MAX,
              TSM_MACHINE_TIME_MAX);
    check_run(&m, work(TSM_DEVICE_KERNEL, 0, UINT64_MAX, UINT64_MAX), UINT64_MAX,
              TSM_MACHINE_TIME_MAX, TSM_MACHINE_TIME_MAX);
    check_run(&m, work(TSM_DEVICE_TO_HOST, UINT64_MAX, 0, 0), 3, 3, 1503 + 1537228672809129302ull);
    check_run(&m, work(TSM_DEVICE_TO_HOST, UINT64_MAX, 0, 0), 3, 1503 + 1537228672809129302ull,
              2 * (1500 + 1537228672809129302ull) + 3);
    tsm_device_model_finish(&m);
}

/* ---- the description ----------------------------------------------------------------------- */

static void test_parse(void)
{
    struct tsm_machine machine, before;
    char why[TSM_MACHINE_WHY];

    tsm_machine_init(&machine);
    CHECK_EQ_INT(tsm_machine_parse(&machine, NULL, why), 0);
    CHECK_EQ_INT(tsm_machine_parse(&machine, "", why), 0);
    CHECK_EQ_INT(machine.block_slots, 64);
    CHECK_EQ_INT(tsm_machine_parse(&machine, "block_slots=3,,call_ns=0,block_slots=4,", why), 0);
    CHECK_EQ_INT(machine.block_slots, 4);
    CHECK_EQ_INT(machine.call_ns, 0);
    CHECK_EQ_INT(machine.kernel_ns, 2000);
    before = machine;
    CHECK_EQ_INT(tsm_machine_parse(&machine, "call_ns=5,block_slot=2", why), TSM_E_ARGUMENT);
    CHECK_EQ_STR(why, "\"block_slot\" is no key of a machine: see docs/emu.md");
    CHECK_EQ_INT(tsm_machine_parse(&machine, "block_slots=0", why), TSM_E_ARGUMENT);
    CHECK_EQ_STR(why, "block_slots=0 is not a number from 1 to 65536");
    CHECK_EQ_INT(tsm_machine_parse(&machine, "kernel_ns=18446744073709551617", why),
                 TSM_E_ARGUMENT);
    CHECK_EQ_INT(tsm_machine_parse(&machine, "kernel_ns=-1", why), TSM_E_ARGUMENT);
    CHECK_EQ_INT(tsm_machine_parse(&machine, "kernel_ns=", why), TSM_E_ARGUMENT);
    CHECK_EQ_INT(tsm_machine_parse(&machine, "kernel_ns=1 ", why), TSM_E_ARGUMENT);
    CHECK_EQ_INT(tsm_machine_parse(&machine, "kernel_ns", why), TSM_E_ARGUMENT);
    CHECK_EQ_STR(why, "\"kernel_ns\" is not KEY=VALUE");
    CHECK_EQ_MEM(&machine, &before, sizeof(machine));
}

/* The page has a row "| `key` | default | ..." for each key. */
static void test_documented(const char *path)
{
    static char page[1 << 18];
    const struct tsm_machine_key *keys;
    FILE *file = fopen(path, "r");
    size_t count, size;
    char row[100];

    if (!CHECK(file))
        return;
    size = fread(page, 1, sizeof(page) - 1, file);
    CHECK(size < sizeof(page) - 1);
    fclose(file);
    keys = tsm_machine_keys(&count);
    CHECK_EQ_INT(count * sizeof(uint64_t), sizeof(struct tsm_machine));
    for (size_t i = 0; i < count; i++) {
        snprintf(row, sizeof(row), "| `%s` | %" PRIu64 " | ", keys[i].name, keys[i].value);
        if (!CHECK(strstr(page, row)))
            fprintf(stderr, "%s has no row %s\n", path, row);
    }
}

int main(int argc, char **argv)
{
    for (uint64_t seed = 1; seed <= 4000; seed++)
        compare(seed);
    test_by_hand();
    test_engines();
    test_extremes();
    test_parse();
    if (argc > 1)
        test_documented(argv[1]);
    return check_result();
}
