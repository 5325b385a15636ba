/* SPDX-License-Identifier: Apache-2.0 */
#include "emu/cuda/check/report.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#include "api/cuda/cuda_prototypes.h"
#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "emu/cuda/check/host_stack.h"
#include "emu/cuda/core/emu.h"

#define TEXT_MAX 512

/* ---- for people ---- */

static void say(struct tsm_buffer *b, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void say(struct tsm_buffer *b, const char *format, ...)
{
    char text[2 * TEXT_MAX];
    va_list ap;

    va_start(ap, format);
    tsm_buffer_add(b, text, tsm_vformat(text, sizeof(text), format, ap));
    va_end(ap);
}

static const char *error_name(CUresult error)
{
    const char *name = NULL;

    cuGetErrorName(error, &name);
    return name;
}

static const char *access_name(enum ptx_access access)
{
    static const char *const names[] = {NULL, "load", "store", "atomic"};

    return names[access];
}

static void say_place(struct tsm_buffer *b, const struct emu_report *f,
                      const struct ptx_place *place, const char *title)
{
    char text[TEXT_MAX], file[TEXT_MAX];
    uint32_t line;

    say(b, "  %s block (%u,%u,%u), thread (%u,%u,%u)\n", title, place->block[0], place->block[1],
        place->block[2], place->thread[0], place->thread[1], place->thread[2]);
    for (uint32_t k = 0; k < place->depth; k++) {
        const struct ptx_level *level = &place->stack[k];
        ptx_module_line(f->module, level->line, text, sizeof(text));
        say(b, "    #%u %s, PTX line %u: %s", k, level->function, level->line, text);
        if (ptx_module_source(f->module, level->line, file, sizeof(file), &line))
            say(b, "  (%s:%u)", file, line);
        say(b, "\n");
    }
    if (place->depth == PTX_DEPTH_MAX)
        say(b, "    ... (more levels)\n");
}

static void say_stack(struct tsm_buffer *b, const char *title, uint32_t stack)
{
    char text[TEXT_MAX];

    if (!stack)
        return;
    say(b, "  %s\n", title);
    for (unsigned k = 0; k < emu_stack_depth(stack); k++) {
        emu_stack_frame(stack, k, text, sizeof(text));
        say(b, "    #%u %s\n", k, text);
    }
}

static void say_near(struct tsm_buffer *b, const struct emu_report *f)
{
    char text[TEXT_MAX];

    emu_near_text(text, sizeof(text), f->near, f->address);
    say(b, "  address is %s\n", text);
    say_stack(b, "allocated by", f->near->memory.stack);
    say_stack(b, "freed by", f->near->memory.free_stack);
}

static void say_standing(struct tsm_buffer *b, const struct emu_report *f)
{
    char text[TEXT_MAX];

    for (uint32_t k = 0; k < f->fault->standing_count; k++) {
        const struct ptx_standing *s = &f->fault->standing[k];
        ptx_module_line(f->module, s->line, text, sizeof(text));
        say(b, "  %u threads of the block %s at PTX line %u: %s\n", s->threads, s->why, s->line,
            text);
    }
}

static void write_text(const struct emu_report *f)
{
    struct tsm_buffer b = {0};

    say(&b, "tracesmith emu: %s\n", f->message);
    if (f->place)
        say_place(&b, f, f->place, "by");
    if (f->other)
        say_place(&b, f, f->other,
                  f->other_access == PTX_ACCESS_LOAD ? "after a load by" : "after a store by");
    if (f->fault)
        say_standing(&b, f);
    if (f->variable)
        say(&b, "  address is %s\n", f->variable);
    if (f->near)
        say_near(&b, f);
    say_stack(&b, "launched by", f->launch_stack);
    for (size_t at = 0; at < b.size;) {
        ssize_t n = write(STDERR_FILENO, b.data + at, b.size - at);
        if (n < 0 && errno != EINTR)
            break;
        at += n > 0 ? (size_t)n : 0;
    }
    tsm_buffer_finish(&b);
}

/* ---- for programs ---- */

static void json_three(struct tsm_json *j, const char *name, const uint32_t v[3])
{
    tsm_json_put_open(j, name, '[');
    for (unsigned k = 0; k < 3; k++)
        tsm_json_u64(j, v[k]);
    tsm_json_close(j, ']');
}

static void json_place(struct tsm_json *j, const struct emu_report *f, const char *name,
                       const struct ptx_place *place)
{
    char text[TEXT_MAX];
    uint32_t line;

    tsm_json_put_open(j, name, '{');
    json_three(j, "block", place->block);
    json_three(j, "thread", place->thread);
    tsm_json_put_open(j, "stack", '[');
    for (uint32_t k = 0; k < place->depth; k++) {
        const struct ptx_level *level = &place->stack[k];
        tsm_json_put_open(j, NULL, '{');
        tsm_json_put_string(j, "function", level->function);
        tsm_json_put_u64(j, "line", level->line);
        ptx_module_line(f->module, level->line, text, sizeof(text));
        tsm_json_put_string(j, "text", text);
        if (ptx_module_source(f->module, level->line, text, sizeof(text), &line)) {
            tsm_json_put_string(j, "source", text);
            tsm_json_put_u64(j, "source_line", line);
        }
        tsm_json_close(j, '}');
    }
    tsm_json_close(j, ']');
    tsm_json_close(j, '}');
}

static void json_stack(struct tsm_json *j, const char *name, uint32_t stack)
{
    char text[TEXT_MAX];

    if (!stack)
        return;
    tsm_json_put_open(j, name, '[');
    for (unsigned k = 0; k < emu_stack_depth(stack); k++) {
        emu_stack_frame(stack, k, text, sizeof(text));
        tsm_json_put_string(j, NULL, text);
    }
    tsm_json_close(j, ']');
}

static void json_near(struct tsm_json *j, const struct emu_near *near)
{
    static const char *const wheres[] = {"inside", "before", "after"};
    const struct emu_memory *m = &near->memory;

    tsm_json_put_open(j, "allocation", '{');
    tsm_json_put_hex(j, "address", m->address);
    tsm_json_put_u64(j, "size", m->size);
    tsm_json_put_string(j, "kind", emu_memory_kind_name(m->kind));
    tsm_json_put_string(j, "state", near->is_freed || m->free_stack ? "freed" : "live");
    tsm_json_put_string(j, "where", wheres[near->where]);
    tsm_json_put_u64(j, "distance", near->distance);
    json_stack(j, "allocated_by", m->stack);
    json_stack(j, "freed_by", m->free_stack);
    tsm_json_close(j, '}');
}

static void json_standing(struct tsm_json *j, const struct ptx_fault *fault)
{
    tsm_json_put_open(j, "standing", '[');
    for (uint32_t k = 0; k < fault->standing_count; k++) {
        tsm_json_put_open(j, NULL, '{');
        tsm_json_put_u64(j, "line", fault->standing[k].line);
        tsm_json_put_u64(j, "threads", fault->standing[k].threads);
        tsm_json_put_string(j, "why", fault->standing[k].why);
        tsm_json_close(j, '}');
    }
    tsm_json_close(j, ']');
}

static void json_access(struct tsm_json *j, const struct emu_report *f)
{
    tsm_json_put_open(j, "access", '{');
    tsm_json_put_string(j, "kind", access_name(f->access));
    tsm_json_put_string(j, "space", f->space);
    tsm_json_put_hex(j, "address", f->address);
    tsm_json_put_u64(j, "size", f->size);
    tsm_json_close(j, '}');
}

static void json_finding(struct tsm_json *j, const struct emu_report *f)
{
    tsm_json_put_open(j, NULL, '{');
    tsm_json_put_string(j, "schema", "tsemu-report/1");
    tsm_json_put_string(j, "check", f->check);
    tsm_json_put_u64(j, "error", f->error);
    tsm_json_put_string(j, "error_name", f->error ? error_name(f->error) : NULL);
    tsm_json_put_string(j, "message", f->message);
    tsm_json_put_string(j, "kernel", f->kernel);
    if (f->access)
        json_access(j, f);
    if (f->place)
        json_place(j, f, "by", f->place);
    if (f->other) {
        json_place(j, f, "after", f->other);
        tsm_json_put_string(j, "after_kind", access_name(f->other_access));
    }
    if (f->fault && f->fault->standing_count)
        json_standing(j, f->fault);
    if (f->variable)
        tsm_json_put_string(j, "variable", f->variable);
    if (f->near)
        json_near(j, f->near);
    json_stack(j, "launched_by", f->launch_stack);
    tsm_json_close(j, '}');
    tsm_buffer_add_u8(j->buffer, '\n');
}

static void write_json(const struct emu_report *f)
{
    struct tsm_buffer b = {0};
    struct tsm_json j = {.buffer = &b, .style = TSM_JSON_UTF8};
    const char *why;
    int fd = tsm_file_append(emu_settings.report, &why);

    json_finding(&j, f);
    if (fd < 0 || b.failed || write(fd, b.data, b.size) != (ssize_t)b.size)
        emu_warn("cannot write to TS_EMU_REPORT=%s: %s", emu_settings.report,
                 why ? why : tsm_errno_text(errno));
    if (fd >= 0)
        close(fd);
    tsm_buffer_finish(&b);
}

/* The process that has findings; 0: none. A child of it has none yet. */
static atomic_int with_findings;

/* The last thing that an ordinary end does: what the program has not flushed would be lost. A
 * recorder in this process sees the call, and finishes its trace. */
__attribute__((destructor)) static void exit_with_status(void)
{
    if (!emu_settings.exit_status || atomic_load(&with_findings) != getpid())
        return;
    fflush(NULL);
    _exit(emu_settings.exit_status);
}

void emu_report_write(const struct emu_report *finding)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

    atomic_store(&with_findings, getpid());
    pthread_mutex_lock(&lock);
    write_text(finding);
    if (emu_settings.report)
        write_json(finding);
    pthread_mutex_unlock(&lock);
}

/* ---- what findings there are ---- */

static CUresult fault_result(const struct ptx_fault *fault)
{
    switch (fault->kind) {
    case PTX_FAULT_ADDRESS:
    case PTX_FAULT_HANDLE:
    case PTX_FAULT_TENSOR_MEMORY:
        return CUDA_ERROR_ILLEGAL_ADDRESS;
    case PTX_FAULT_MISALIGNED:
        return CUDA_ERROR_MISALIGNED_ADDRESS;
    case PTX_FAULT_DESCRIPTOR:
    case PTX_FAULT_TENSOR_MAP:
        return CUDA_ERROR_ILLEGAL_INSTRUCTION;
    case PTX_FAULT_ASSERT:
        return CUDA_ERROR_ASSERT;
    case PTX_FAULT_HANG:
    case PTX_FAULT_TIMEOUT:
        return CUDA_ERROR_LAUNCH_TIMEOUT;
    case PTX_FAULT_STACK:
        return CUDA_ERROR_HARDWARE_STACK_ERROR;
    case PTX_FAULT_PC:
        return CUDA_ERROR_INVALID_PC;
    case PTX_FAULT_NO_MEMORY:
        return CUDA_ERROR_OUT_OF_MEMORY;
    default:
        return CUDA_ERROR_LAUNCH_FAILED;
    }
}

CUresult emu_report_fault(const struct ptx_fault *fault, const struct ptx_module *module,
                          const char *kernel, uint32_t launch_stack, const struct emu_near *near)
{
    char message[TEXT_MAX];
    struct emu_report f = {.check = "fault",
                           .error = fault_result(fault),
                           .message = message,
                           .module = module,
                           .kernel = kernel,
                           .place = fault->place.depth ? &fault->place : NULL,
                           .access = fault->access,
                           .space = fault->space,
                           .address = fault->address,
                           .size = fault->size,
                           .near = near,
                           .fault = fault,
                           .launch_stack = launch_stack};
    bool is_memory = fault->access != PTX_ACCESS_NONE;

    size_t used = tsm_format(message, sizeof(message), "%s (%d): %s", error_name(f.error),
                             (int)f.error, fault->text);
    if (is_memory)
        tsm_format(message + used, sizeof(message) - used, ", %s in %s memory",
                   access_name(f.access), f.space);
    if (fault->kind == PTX_FAULT_NO_MEMORY)
        tsm_format(message, sizeof(message), "%s (%d): no host memory for kernel %s",
                   error_name(f.error), (int)f.error, kernel);
    emu_report_write(&f);
    return f.error;
}

void emu_report_leak(const struct emu_memory *memory)
{
    char message[TEXT_MAX];
    struct emu_near near = {.memory = *memory};
    struct emu_report f = {.check = "leak", .message = message, .near = &near};

    f.address = memory->address;
    tsm_format(message, sizeof(message),
               "leak: %llu bytes of %s at 0x%llx were not freed before their context went",
               (unsigned long long)memory->size, emu_memory_kind_name(memory->kind),
               (unsigned long long)memory->address);
    emu_report_write(&f);
}

void emu_report_memory(size_t wanted, size_t used)
{
    char message[TEXT_MAX];
    struct emu_report f = {
        .check = "memory", .error = CUDA_ERROR_OUT_OF_MEMORY, .message = message};

    if (!emu_settings.checks)
        return;
    tsm_format(
        message, sizeof(message),
        "CUDA_ERROR_OUT_OF_MEMORY (2): %zu bytes were asked for, %zu of the device's %zu are in "
        "use (TS_EMU_MEMORY)",
        wanted, used, emu_settings.memory_size);
    emu_report_write(&f);
}
