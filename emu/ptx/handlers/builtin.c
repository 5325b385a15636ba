/* SPDX-License-Identifier: Apache-2.0
 *
 * The functions that compilers expect the system to have: vprintf, malloc, free, __assertfail,
 * cudaGraphSetConditional.
 */
#include "emu/ptx/handlers/builtin.h"
#include "emu/ptx/exec/heap.h"
#include "emu/ptx/handlers/memory.h"
#include "base/buffer.h"
#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STRING_MAX 4096

/* An argument of the running function's frame, as 64 bits. */
static uint64_t argument(const struct ptx_warp *w, const struct ptx_call *call, uint32_t k,
                         unsigned lane)
{
    const struct ptx_arg *arg = &call->args[k];
    uint64_t value = 0;
    const uint8_t *at;

    if (k >= call->arg_count)
        return 0;
    if (arg->reg == PTX_OP_NONE)
        at = w->local + lane * w->run->local_stride + w->frame->local_base + arg->offset;
    else
        at = (const uint8_t *)ptx_lanes(w, arg->reg) + lane * arg->size;
    memcpy(&value, at, arg->size < 8 ? arg->size : 8);
    return value;
}

static void set_result(struct ptx_warp *w, const struct ptx_call *call, unsigned lane,
                       uint64_t value)
{
    const struct ptx_arg *arg = &call->args[call->arg_count];
    uint8_t *at;

    if (call->result_count == 0)
        return;
    if (arg->reg == PTX_OP_NONE)
        at = w->local + lane * w->run->local_stride + w->frame->local_base + arg->offset;
    else
        at = (uint8_t *)ptx_lanes(w, arg->reg) + lane * arg->size;
    memcpy(at, &value, arg->size < 8 ? arg->size : 8);
    if (w->run->observer)
        w->run->observer->pass(w, at, arg->size);
}

/* A terminated string of device memory, cut at STRING_MAX. */
static void read_string(struct ptx_warp *w, unsigned lane, uint64_t address, char *out)
{
    size_t size = 0;

    while (size < STRING_MAX - 1) {
        const uint8_t *p = ptx_locate(w, lane, address + size, 1, false);
        if (!p || !*p)
            break;
        out[size++] = (char)*p;
    }
    out[size] = 0;
}

/* vprintf's second argument: the values, each at its natural alignment. */
struct values {
    struct ptx_warp *w;
    unsigned lane;
    uint64_t at;
};

static uint64_t take_value(struct values *v, unsigned size)
{
    uint64_t value = 0;

    v->at = (v->at + size - 1) & ~(uint64_t)(size - 1);
    const uint8_t *p = ptx_locate(v->w, v->lane, v->at, size, false);
    if (p)
        memcpy(&value, p, size);
    v->at += size;
    return value;
}

/* One conversion, from after its '%'; returns where it ends. */
static const char *format_one(struct values *v, const char *at, struct tsm_buffer *out)
{
    char spec[32] = "%";
    char text[STRING_MAX + 64];
    size_t size = 1;
    bool is_long = false;

    while (*at && size < sizeof(spec) - 4 && strchr("-+ #0123456789.*", *at)) {
        if (*at == '*')
            size += tsm_format(spec + size, sizeof(spec) - size - 3, "%d", (int)take_value(v, 4));
        else
            spec[size++] = *at;
        at++;
    }
    for (; *at && strchr("hlLzjt", *at); at++)
        is_long |= *at != 'h';
    char kind = *at ? *at++ : '%';
    int written = 0;
    if (strchr("diouxXc", kind)) {
        bool wide = is_long && kind != 'c';
        memcpy(spec + size, wide ? (char[]){'l', 'l', kind, 0} : (char[]){kind, 0, 0, 0}, 4);
        written = wide ? snprintf(text, sizeof(text), spec, (long long)take_value(v, 8))
                       : snprintf(text, sizeof(text), spec, (int)take_value(v, 4));
    } else if (strchr("fFeEgGaA", kind)) {
        uint64_t bits = take_value(v, 8);
        double value;
        memcpy(&value, &bits, 8);
        memcpy(spec + size, (char[]){kind, 0}, 2);
        written = snprintf(text, sizeof(text), spec, value);
    } else if (kind == 's') {
        char string[STRING_MAX];
        read_string(v->w, v->lane, take_value(v, 8), string);
        memcpy(spec + size, "s", 2);
        written = snprintf(text, sizeof(text), spec, string);
    } else if (kind == 'p') {
        written = snprintf(text, sizeof(text), "0x%llx", (unsigned long long)take_value(v, 8));
    } else {
        text[0] = kind;
        written = 1;
    }
    if (written > 0)
        tsm_buffer_add(out, text,
                       (size_t)written < sizeof(text) ? (size_t)written : sizeof(text) - 1);
    return at;
}

static void print_lane(struct ptx_warp *w, const struct ptx_call *call, unsigned lane)
{
    char format[STRING_MAX];
    struct values v = {w, lane, argument(w, call, 1, lane)};
    struct tsm_buffer out = {0};
    const struct ptx_launch *launch = w->run->launch;

    read_string(w, lane, argument(w, call, 0, lane), format);
    for (const char *at = format; *at;) {
        if (*at == '%')
            at = format_one(&v, at + 1, &out);
        else
            tsm_buffer_add_u8(&out, (uint8_t)*at++);
    }
    if (out.size && launch->print)
        launch->print(launch->user, (const char *)out.data, out.size);
    else if (out.size)
        fwrite(out.data, 1, out.size, stdout);
    set_result(w, call, lane, out.size);
    tsm_buffer_finish(&out);
}

static void run_vprintf(struct ptx_warp *w, const struct ptx_insn *i, const struct ptx_call *call,
                        unsigned lane)
{
    print_lane(w, call, lane);
}

static void run_malloc(struct ptx_warp *w, const struct ptx_insn *i, const struct ptx_call *call,
                       unsigned lane)
{
    set_result(w, call, lane, (uint64_t)(uintptr_t)ptx_heap_alloc(argument(w, call, 0, lane)));
}

static void run_free(struct ptx_warp *w, const struct ptx_insn *i, const struct ptx_call *call,
                     unsigned lane)
{
    ptx_heap_free((void *)(uintptr_t)argument(w, call, 0, lane));
}

/* __assertfail(message, file, line, function, size of char) */
static void run_assert(struct ptx_warp *w, const struct ptx_insn *i, const struct ptx_call *call,
                       unsigned lane)
{
    char message[STRING_MAX];
    char file[STRING_MAX];
    char function[STRING_MAX];

    if (w->stop == PTX_STOP_FAULT)
        return;
    read_string(w, lane, argument(w, call, 0, lane), message);
    read_string(w, lane, argument(w, call, 1, lane), file);
    read_string(w, lane, argument(w, call, 3, lane), function);
    ptx_stop_fault(w, i, lane, PTX_FAULT_ASSERT, 0, 0);
    const struct ptx_fault *f = w->run->fault;
    fprintf(stderr, "%s:%u: %s: block: [%u,%u,%u], thread: [%u,%u,%u] Assertion `%s` failed.\n",
            file, (unsigned)argument(w, call, 2, lane), function, f->block[0], f->block[1],
            f->block[2], f->thread[0], f->thread[1], f->thread[2], message);
}

/* cudaGraphSetConditional(handle, value), of the device runtime: CUDA Programming Guide,
 * "Conditional Graph Nodes" */
static void run_set_conditional(struct ptx_warp *w, const struct ptx_insn *i,
                                const struct ptx_call *call, unsigned lane)
{
    const struct ptx_launch *launch = w->run->launch;
    uint64_t handle = argument(w, call, 0, lane);

    if (w->stop == PTX_STOP_FAULT)
        return;
    if (!launch->set_conditional ||
        !launch->set_conditional(handle, (uint32_t)argument(w, call, 1, lane)))
        ptx_stop_fault(w, i, lane, PTX_FAULT_HANDLE, handle, 0);
}

static const struct {
    const char *name;
    void (*run)(struct ptx_warp *w, const struct ptx_insn *i, const struct ptx_call *call,
                unsigned lane);
} builtins[] = {
    {"vprintf", run_vprintf},
    {"malloc", run_malloc},
    {"free", run_free},
    {"__assertfail", run_assert},
    {"__assert_fail", run_assert},
    {"cudaGraphSetConditional", run_set_conditional},
};

#define BUILTIN_COUNT (sizeof(builtins) / sizeof(builtins[0]))

bool ptx_builtin_exists(const char *name)
{
    for (size_t k = 0; k < BUILTIN_COUNT; k++)
        if (strcmp(name, builtins[k].name) == 0)
            return true;
    return false;
}

void ptx_builtin_run(struct ptx_warp *w, const struct ptx_insn *i, const struct ptx_call *call)
{
    size_t k = 0;

    while (k < BUILTIN_COUNT && strcmp(call->target_name, builtins[k].name) != 0)
        k++;
    for (uint32_t left = w->mask; left && k < BUILTIN_COUNT; left &= left - 1)
        builtins[k].run(w, i, call, (unsigned)__builtin_ctz(left));
}
