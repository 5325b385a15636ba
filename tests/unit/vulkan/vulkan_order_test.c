/* SPDX-License-Identifier: Apache-2.0
 *
 * Tests what is known to be complete on two queues when a wait is sent before its signal. The calls
 * of api/vulkan/source/completion/ to others are answered here.
 */
#include "api/vulkan/source/gpu_time/time.h"
#include "api/vulkan/source/completion/completion.h"
#include "api/vulkan/source/completion/timeline.h"
#include "api/vulkan/source/layer.h"
#include "api/vulkan/source/memory/memory.h"
#include "api/vulkan/source/source.h"
#include "api/vulkan/vulkan_args.h"
#include "api/vulkan/vulkan_hooks.h"
#include "capture/call/streams.h"
#include "tests/unit/check.h"

#include <string.h>

static struct vk_device_state device;
static struct object {
    const void *key; /* what dispatchable handles begin with */
} object = {&device};

#define QUEUE  ((VkQueue)&object)
#define DEVICE ((VkDevice)&object)

static struct tsm_stream streams[3];
static struct tsm_handle semaphores[4];
static uint64_t positions[3];
static uint32_t next_id;

uint32_t tsm_checkpoint_due;

struct tsm_handle *tsm_handle_find(enum sbt_api api, uint32_t type, uint64_t raw)
{
    return raw ? &semaphores[raw] : NULL;
}

uint32_t tsm_stream_number(const struct tsm_stream *stream)
{
    return (uint32_t)(stream - streams);
}

const struct tsm_settings *tsm_session_settings(void)
{
    static const struct tsm_settings settings;

    return &settings;
}

void vk_memory_report(struct vk_device_state *d) {}
void vk_time_collect(void) {}
void vk_time_collect_some(void) {}
void vk_time_sent(const struct tsm_call *call) {}
void vk_timeline_signals(VkQueue queue, VkSemaphore semaphore, uint64_t value) {}
void vk_timeline_waits(VkQueue queue, VkSemaphore semaphore, uint64_t value) {}

/* A semaphore as of now, where another one may have been. */
static VkSemaphore make(uint32_t at, bool is_timeline)
{
    VkSemaphore made = (VkSemaphore)(uintptr_t)at;

    semaphores[at] = (struct tsm_handle){.raw = at, .id = ++next_id};
    vk_completion_semaphore_created(made, is_timeline);
    return made;
}

/* To queue `to`; 0: no semaphore. */
static void send(uint32_t to, VkSemaphore wait, uint64_t waited, VkSemaphore signal, uint64_t value)
{
    VkSemaphoreSubmitInfo w = {.semaphore = wait, .value = waited};
    VkSemaphoreSubmitInfo s = {
        .semaphore = signal, .value = value, .stageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT};
    VkSubmitInfo2 batch = {.waitSemaphoreInfoCount = wait != VK_NULL_HANDLE,
                           .pWaitSemaphoreInfos = &w,
                           .signalSemaphoreInfoCount = signal != VK_NULL_HANDLE,
                           .pSignalSemaphoreInfos = &s};
    struct vk_args_vkQueueSubmit2 args = {.queue = QUEUE, .submitCount = 1, .pSubmits = &batch};
    struct tsm_call call = {.stream = &streams[to], .position = ++positions[to]};

    vk_completion_begin_send(&device);
    vk_submitted2(&call, &args, VK_SUCCESS);
}

static bool is_idle(void)
{
    struct vk_idle idle;

    return vk_completion_idle(&device, &idle);
}

static bool is_idle_at(VkSemaphore semaphore, uint64_t value)
{
    struct vk_args_vkGetSemaphoreCounterValue args = {
        .device = DEVICE, .semaphore = semaphore, .pValue = &value};

    vk_semaphore_asked(NULL, &args, VK_SUCCESS);
    return is_idle();
}

static void begin(void)
{
    device.sends = device.seen = 0;
    vk_completion_forget();
    memset(positions, 0, sizeof(positions));
}

/* Queue 1 waits for what queue 0 is sent then; or is sent before; the host waits for queue 1. */
static void check_orders(void)
{
    for (int early = 0; early < 2; early++) {
        VkSemaphore a, b;
        begin();
        a = make(1, true);
        b = make(2, true);
        if (early)
            send(1, a, 5, b, 9);
        send(0, VK_NULL_HANDLE, 0, a, 5);
        if (!early)
            send(1, a, 5, b, 9);
        CHECK(!is_idle());
        CHECK(!is_idle_at(b, 8));
        CHECK(is_idle_at(b, 9));
    }
}

/* Values of one semaphore, sent by several queues in any order. */
static void check_one_semaphore(void)
{
    static const uint8_t orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                         {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};

    for (int i = 0; i < 6; i++) {
        VkSemaphore a;
        begin();
        a = make(1, true);
        for (int k = 0; k < 3; k++)
            send(orders[i][k], orders[i][k] ? a : VK_NULL_HANDLE, orders[i][k], a,
                 orders[i][k] + 1u);
        CHECK(!is_idle_at(a, 1));
        CHECK(!is_idle_at(a, 2));
        CHECK(is_idle_at(a, 3));
    }
}

/* Nothing is concluded from another value, another object, or another type. */
static void check_others(void)
{
    VkSemaphore a, b;

    begin();
    a = make(1, true);
    b = make(2, true);
    send(1, a, 4, b, 1);
    send(0, VK_NULL_HANDLE, 0, a, 5);
    CHECK(!is_idle_at(b, 1));
    CHECK(is_idle_at(a, 5));

    begin();
    a = make(1, true);
    b = make(2, true);
    send(1, a, 5, b, 1);
    a = make(1, true);
    send(0, VK_NULL_HANDLE, 0, a, 5);
    CHECK(!is_idle_at(b, 1));

    begin(); /* the values of binary ones mean nothing */
    a = make(1, false);
    b = make(2, true);
    send(0, VK_NULL_HANDLE, 0, a, 77);
    send(1, a, 5, b, 1);
    send(0, VK_NULL_HANDLE, 0, a, 5);
    CHECK(!is_idle_at(b, 1));
    send(1, a, 8, b, 2);
    CHECK(is_idle_at(b, 2));
}

/* The queue that waits is known to have come there before the signal is seen. */
static void check_late(void)
{
    VkSemaphore a, b;

    begin();
    a = make(1, true);
    b = make(2, true);
    send(1, a, 5, b, 1);
    CHECK(is_idle_at(b, 1));
    send(0, VK_NULL_HANDLE, 0, a, 5);
    CHECK(is_idle());
}

/* More waits than are kept, and a device that is gone. */
static void check_many(void)
{
    VkSemaphore a, b;

    begin();
    a = make(1, true);
    b = make(2, true);
    for (uint64_t i = 1; i <= 1000; i++)
        send(1, a, i, b, i);
    for (uint64_t i = 1; i <= 1000; i++)
        send(0, VK_NULL_HANDLE, 0, a, i);
    CHECK(is_idle_at(b, 1000));
    send(1, a, 2000, b, 2000);
    vk_completion_device_destroyed(&device);
    send(0, VK_NULL_HANDLE, 0, a, 2000);
    CHECK(!is_idle_at(b, 3000));
}

int main(void)
{
    CHECK(vk_device_add(&device.dispatch, DEVICE));
    check_orders();
    check_one_semaphore();
    check_others();
    check_late();
    check_many();
    return check_result();
}
