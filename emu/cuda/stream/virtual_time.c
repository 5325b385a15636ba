/* SPDX-License-Identifier: Apache-2.0 */
#include "emu/cuda/stream/virtual_time.h"

#include "base/clock.h"
#include "base/machine.h"
#include "emu/cuda/core/context.h"
#include "emu/cuda/core/emu.h"
#include "emu/cuda/stream/schedule.h"
#include "emu/cuda/stream/ticket.h"

static struct tsm_device_model devices[EMU_DEVICE_COUNT_MAX];
static _Thread_local uint64_t clock_ns;
static _Thread_local uint64_t charged;    /* the call of the driver that was charged last */
static _Thread_local unsigned aside;      /* depth of emu_clock_aside() */
static _Thread_local uint64_t program_ns; /* the clock when that began */

/* ---- clocks ---- */

uint64_t emu_clock(void)
{
    return emu_settings.is_virtual ? clock_ns : tsm_monotonic_ns();
}

void emu_clock_charge(void)
{
    if (!emu_settings.is_virtual || charged == emu_calls || aside)
        return;
    charged = emu_calls;
    clock_ns += emu_settings.machine.call_ns;
}

void emu_clock_advance(uint64_t ns)
{
    if (emu_settings.is_virtual && clock_ns < ns && !aside)
        clock_ns = ns;
}

void emu_clock_set(uint64_t ns)
{
    if (emu_settings.is_virtual)
        clock_ns = ns;
}

void emu_clock_aside(bool begins)
{
    if (begins && !aside)
        program_ns = clock_ns;
    aside += begins ? 1 : -1u;
}

uint64_t emu_clock_seen(void)
{
    return aside ? program_ns + emu_settings.machine.call_ns : clock_ns;
}

/* ---- commands ---- */

bool emu_time_sent(struct emu_command *command, CUstream stream)
{
    struct tsm_device_model *device = &devices[stream->context->device];

    if (!emu_settings.is_virtual)
        return true;
    command->arrival_ns = clock_ns + emu_settings.machine.launch_latency_ns;
    command->is_aside = aside;
    return device->slots_ns || !tsm_device_model_init(device, &emu_settings.machine);
}

static uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

uint64_t emu_time_ready(const struct emu_command *command)
{
    uint64_t ready = later(command->arrival_ns, command->after_ns);

    if (!command->is_node)
        ready = later(ready, command->stream->end_ns);
    for (size_t i = 0; i < command->after_count; i++)
        ready = later(ready, command->after[i]->done_ns);
    return command->is_value_there ? later(ready, command->brought_ns) : ready;
}

struct tsm_device_work emu_time_work(const struct emu_command *command)
{
    struct tsm_device_work work = {.kind = TSM_DEVICE_NONE};

    if (command->type->measure)
        command->type->measure(command, &work);
    return work;
}

static struct tsm_device_model *device_of(const struct emu_command *command)
{
    return &devices[command->stream->context->device];
}

static void place(struct emu_command *command, const struct tsm_device_work *work,
                  uint64_t ready_ns)
{
    const struct tsm_device_span span = tsm_device_model_run(device_of(command), work, ready_ns);

    command->start_ns = span.start_ns;
    command->done_ns = later(command->done_ns, span.end_ns);
}

/* A kernel can ask for the time, so its start must be known before its length. */
static void begin_at(struct emu_command *command, uint64_t ready_ns)
{
    const struct tsm_device_work work = emu_time_work(command);

    command->ready_ns = ready_ns;
    if (work.kind == TSM_DEVICE_KERNEL)
        command->start_ns = tsm_device_model_start(device_of(command), work.kind, ready_ns);
    else
        place(command, &work, ready_ns);
}

static void end_at(struct emu_command *command)
{
    const struct tsm_device_work work = emu_time_work(command);

    if (work.kind == TSM_DEVICE_KERNEL)
        place(command, &work, command->ready_ns);
}

void emu_time_begin(struct emu_command *command, bool runs)
{
    if (!emu_settings.is_virtual)
        command->start_ns = tsm_monotonic_ns();
    else if (command->is_aside)
        command->start_ns = command->done_ns =
            command->stream->end_ns; /* as if it were not there */
    else if (runs)
        begin_at(command, emu_time_ready(command));
    else
        command->start_ns = command->done_ns = emu_time_ready(command);
}

void emu_time_end(struct emu_command *command, bool runs)
{
    if (!emu_settings.is_virtual)
        command->done_ns = tsm_monotonic_ns();
    else if (runs && !command->is_aside)
        end_at(command);
    command->stream->end_ns = later(command->stream->end_ns, command->done_ns);
}

/* The outer command's end so far is when the next inner one is ready. */
void emu_time_begin_inner(struct emu_command *command)
{
    if (!emu_settings.is_virtual)
        return;
    pthread_mutex_lock(&emu_scheduler.lock);
    begin_at(command, command->stream->head->done_ns);
    pthread_mutex_unlock(&emu_scheduler.lock);
}

void emu_time_end_inner(struct emu_command *command)
{
    if (!emu_settings.is_virtual)
        return;
    pthread_mutex_lock(&emu_scheduler.lock);
    end_at(command);
    command->stream->head->done_ns = command->done_ns;
    emu_ticket_ran_inner(command->stream->head, command);
    pthread_mutex_unlock(&emu_scheduler.lock);
}
