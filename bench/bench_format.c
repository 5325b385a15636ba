/* SPDX-License-Identifier: Apache-2.0
 *
 * Measures the gain of typed columns: the same records as raw bytes, compressed with zstd 1, and as
 * an EVENTS payload, compressed as the writer does, in chunks of 1 MiB of rows. Two streams of
 * records: `loop` repeats 600 commands with 3 % changed arguments and jittered times, as training
 * does; `chaotic` has random pointers. Times are CPU time of this thread, the median of several
 * rounds.
 *
 * Prints one line for each figure: name, value, unit. No network, no GPU, about two seconds.
 */
#include "base/bytes.h"
#include "base/clock.h"
#include "format/chunk/chunk.h"
#include "format/limits.h"
#include "format/events/rows.h"
#include "tracesmith/error.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#define RECORD_COUNT 60000u
#define LOOP_LENGTH  600u
#define ROUNDS       9

struct call {
    uint32_t type, slot_count, data_size;
};

/* launch, copy to the device, event record, wait for it, copy back, synchronise */
static const struct call calls[] = {
    {SBT_TYPE(1, 10), 12, 48}, {SBT_TYPE(1, 11), 4, 24}, {SBT_TYPE(1, 12), 2, 0},
    {SBT_TYPE(1, 13), 3, 0},   {SBT_TYPE(1, 14), 4, 0},  {SBT_TYPE(1, 15), 1, 0},
};

struct command {
    struct sbt_record record;
    uint64_t slots[12];
    uint8_t data[48];
    unsigned call;
};

static uint64_t random_state = 88172645463325252u;

static uint64_t random_next(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

static uint64_t random_pointer(void)
{
    return 0x7f3200000000u + (random_next() % 4096) * 0x20000 + (random_next() % 64) * 512;
}

static void make_launch(struct command *c)
{
    c->slots[0] = 1 + random_next() % 40; /* function */
    c->slots[1] = 1 + random_next() % 2048;
    c->slots[2] = c->slots[3] = 1;
    c->slots[4] = 128u << random_next() % 3;
    c->slots[5] = c->slots[6] = 1;
    c->slots[7] = random_next() % 4 * 4096;
    c->slots[8] = c->record.stream;
    c->slots[9] = 48;
    for (int i = 0; i < 4; i++)
        tsm_put_u64(c->data + 8 * i, random_pointer());
    tsm_put_u64(c->data + 32, random_next() % 65536);
    tsm_put_u64(c->data + 40, 0x3f8000003f000000u);
}

static void make_copy(struct command *c, bool with_bytes)
{
    c->slots[0] = random_pointer();
    c->slots[1] = random_pointer();
    c->slots[2] = 4096u << random_next() % 8;
    c->slots[3] = with_bytes ? 24 : c->record.stream;
    if (with_bytes) {
        tsm_put_u64(c->data, c->slots[2]);
        tsm_put_u64(c->data + 8, random_next());
        tsm_put_u64(c->data + 16, random_next());
    }
}

static void make_command(struct command *c)
{
    static const unsigned mix[] = {0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 0, 5};

    *c = (struct command){.call = mix[random_next() % 12]};
    c->record.stream = (uint32_t)(random_next() % 3);
    c->record.thread = 4711 + (uint32_t)(random_next() % 8 == 0);
    c->record.stack = 1 + (uint32_t)(random_next() % 90);
    c->record.duration_ns = 2500;
    if (c->call == 0)
        make_launch(c);
    else if (c->call == 1 || c->call == 4)
        make_copy(c, c->call == 1);
    else
        for (uint32_t i = 0; i < calls[c->call].slot_count; i++)
            c->slots[i] = 1 + random_next() % 30;
}

static void make_records(struct command *out, bool chaotic)
{
    static struct command loop[LOOP_LENGTH];
    uint64_t time = 0, position[4] = {0};

    for (unsigned i = 0; i < LOOP_LENGTH; i++)
        make_command(&loop[i]);
    for (unsigned i = 0; i < RECORD_COUNT; i++) {
        struct command *c = &out[i];
        *c = loop[i % LOOP_LENGTH];
        if (chaotic || random_next() % 100 < 3) {
            uint32_t stack = c->record.stack;
            make_command(c);
            c->record.stack = stack;
        }
        time += 4000 + random_next() % 3000;
        c->record.seq = i;
        c->record.time_ns = time;
        c->record.duration_ns = 2500 + random_next() % 800;
        c->record.position = ++position[c->record.stream];
        c->record.type = calls[c->call].type;
        c->record.slot_count = calls[c->call].slot_count;
        c->record.data_size = calls[c->call].data_size;
        c->record.slots = c->slots;
        c->record.data = c->data;
    }
}

/* One record after the other, each field in its natural width. */
static void raw_add(struct tsm_buffer *out, const struct sbt_record *r)
{
    uint8_t *p = tsm_buffer_reserve(out, 56 + 8 * r->slot_count + r->data_size);

    tsm_put_u32(p, r->type);
    tsm_put_u32(p + 4, (uint32_t)r->data_size);
    tsm_put_u64(p + 8, r->time_ns);
    tsm_put_u64(p + 16, r->duration_ns);
    tsm_put_u32(p + 24, r->thread);
    tsm_put_u32(p + 28, r->stream);
    tsm_put_u64(p + 32, r->position);
    tsm_put_u32(p + 40, (uint32_t)r->result);
    tsm_put_u32(p + 44, r->flags);
    tsm_put_u32(p + 48, r->stack);
    tsm_put_u32(p + 52, r->slot_count);
    for (uint32_t i = 0; i < r->slot_count; i++)
        tsm_put_u64(p + 56 + 8 * i, r->slots[i]);
    if (r->data_size)
        memcpy(p + 56 + 8 * r->slot_count, r->data, r->data_size);
    out->size += 56 + 8 * r->slot_count + r->data_size;
}

struct result {
    uint64_t raw, stored;
    uint64_t fill_ns, encode_ns, compress_ns;
};

static uint64_t cpu_ns(void)
{
    return tsm_clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

static struct result run(const struct command *commands, bool columns)
{
    static ZSTD_CCtx *context;
    static struct tsm_buffer raw, packed, scratch;
    static struct sbt_batch batch;
    struct result sum = {0};

    if (!context)
        context = ZSTD_createCCtx();
    for (unsigned i = 0; i < RECORD_COUNT;) {
        uint64_t rows = 0, t0 = cpu_ns(), t1, t2;
        size_t bound, size;
        tsm_buffer_clear(&raw);
        sbt_batch_clear(&batch);
        for (; i < RECORD_COUNT && rows < SBT_CHUNK_SIZE; i++) {
            const struct sbt_record *r = &commands[i].record;
            if (columns)
                sbt_batch_add(&batch, commands[i].call, r);
            else
                raw_add(&raw, r);
            rows += SBT_ROW_SIZE(r->slot_count, r->data_size);
        }
        t1 = cpu_ns();
        if (columns)
            sbt_batch_encode(&batch, &scratch, &raw);
        t2 = cpu_ns();
        bound = ZSTD_compressBound(raw.size);
        tsm_buffer_clear(&packed);
        size = ZSTD_compressCCtx(context, tsm_buffer_reserve(&packed, bound), bound, raw.data,
                                 raw.size, columns ? SBT_LEVEL_EVENTS : 1);
        sum.fill_ns += t1 - t0;
        sum.encode_ns += t2 - t1;
        sum.compress_ns += cpu_ns() - t2;
        sum.raw += raw.size;
        sum.stored += size;
    }
    return sum;
}

static int compare_u64(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return x < y ? -1 : x > y;
}

static double median_ns(const uint64_t *samples, unsigned count)
{
    uint64_t sorted[ROUNDS];

    memcpy(sorted, samples, sizeof(sorted[0]) * count);
    qsort(sorted, count, sizeof(sorted[0]), compare_u64);
    return (double)sorted[count / 2] / RECORD_COUNT;
}

static struct result measure(const char *name, const struct command *commands, bool columns,
                             double *ns)
{
    uint64_t fill[ROUNDS], encode[ROUNDS], compress[ROUNDS], total[ROUNDS];
    struct result r = {0};

    for (int i = 0; i < ROUNDS; i++) {
        r = run(commands, columns);
        fill[i] = r.fill_ns;
        encode[i] = r.encode_ns;
        compress[i] = r.compress_ns;
        total[i] = r.fill_ns + r.encode_ns + r.compress_ns;
    }
    *ns = median_ns(total, ROUNDS);
    printf("%s.%s  %.1f B/record stored  fill %.1f  encode %.1f  compress %.1f  total %.1f "
           "ns/record\n",
           name, columns ? "columns" : "raw", (double)r.stored / RECORD_COUNT,
           median_ns(fill, ROUNDS), median_ns(encode, ROUNDS), median_ns(compress, ROUNDS), *ns);
    return r;
}

int main(void)
{
    struct command *commands = calloc(RECORD_COUNT, sizeof(*commands));

    if (!commands)
        return 1;
    for (int chaotic = 0; chaotic < 2; chaotic++) {
        const char *name = chaotic ? "chaotic" : "loop";
        struct result raw, columns;
        double raw_ns, columns_ns;
        make_records(commands, chaotic);
        raw = measure(name, commands, false, &raw_ns);
        columns = measure(name, commands, true, &columns_ns);
        printf("%s.ratio_raw %.2f\n", name, (double)raw.raw / (double)raw.stored);
        printf("%s.ratio_columns %.2f (of the raw bytes)\n", name,
               (double)raw.raw / (double)columns.stored);
        printf("%s.columns_to_raw %.2f (goal >= 1.25)\n", name,
               (double)raw.stored / (double)columns.stored);
        printf("%s.cpu_columns_to_raw %.2f (goal <= 1.00)\n", name, columns_ns / raw_ns);
    }
    free(commands);
    return 0;
}
