/* SPDX-License-Identifier: Apache-2.0
 *
 * Lists kernels by the time that they took on the device, and the stack that launched each first.
 * The trace must have been recorded with times: tsrecord --gpu-time=1.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <tracesmith/tracesmith.h>

struct total {
    const char *name;
    uint64_t count, ns;
    uint32_t stack;
};

static int by_time(const void *a, const void *b)
{
    const struct total *x = a, *y = b;

    return x->ns > y->ns ? -1 : x->ns < y->ns;
}

/* Adds the commands up by their kernel's place in `names`. */
static void add_up(struct total *totals, const struct tsm_commands *c)
{
    for (size_t i = 0; i < c->count; i++) {
        struct total *t = &totals[c->kernel[i]];

        if (c->work[i] != TSM_WORK_KERNEL || c->time_kind[i] != TSM_TIME_MEASURED)
            continue;
        if (t->count++ == 0)
            t->stack = c->stack[i];
        t->name = c->names[c->kernel[i]];
        t->ns += (uint64_t)(c->end_ns[i] - c->start_ns[i]);
    }
}

static void print_totals(const struct total *totals, size_t count, struct tsm_symbols *symbols)
{
    char stack[4096];

    for (size_t i = 0; i < count && totals[i].count; i++) {
        printf("%" PRIu64 " ns in %" PRIu64 " launches of %s\n", totals[i].ns, totals[i].count,
               totals[i].name);
        if (tsm_symbols_stack(symbols, totals[i].stack, stack, sizeof(stack)) > 0)
            fputs(stack, stdout);
    }
}

int main(int argc, char **argv)
{
    struct sbt_reader *reader = NULL;
    struct tsm_commands *commands = NULL;
    struct tsm_symbols *symbols = NULL;
    struct total *totals = NULL;
    int error = argc == 2 ? 0 : tsm_fail(TSM_E_ARGUMENT, "which trace?");

    if (!error)
        error = sbt_reader_open(&reader, argv[1]);
    if (!error)
        error = tsm_symbols_create(&symbols, reader);
    if (!error)
        error = tsm_commands_read(&commands, reader, NULL);
    if (!error && !(totals = calloc(commands->name_count, sizeof(*totals))))
        error = tsm_fail(TSM_E_MEMORY, "out of memory");
    if (!error) {
        add_up(totals, commands);
        qsort(totals, commands->name_count, sizeof(*totals), by_time);
        print_totals(totals, commands->name_count, symbols);
    } else {
        fprintf(stderr, "kernel_times: %s\n", tsm_error_message());
    }
    free(totals);
    tsm_commands_destroy(commands);
    tsm_symbols_destroy(symbols);
    sbt_reader_destroy(reader);
    return error ? 2 : 0;
}
