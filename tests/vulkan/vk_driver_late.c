/* SPDX-License-Identifier: Apache-2.0
 *
 * A device that begins late: before each submit its queue waits for a timeline semaphore that a
 * thread signals a while later.
 */
#include "tests/vulkan/vk_driver.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#define LATE_US 20000

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* signals come in order */
static VkDevice of;                                      /* the device that the semaphore is of */
static VkSemaphore gate;
static uint64_t value;
static _Atomic int thread_count;

static void *open_gate(void *user)
{
    VkSemaphoreSignalInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_SIGNAL_INFO,
                                  .semaphore = gate};

    usleep(LATE_US);
    pthread_mutex_lock(&lock);
    REAL_KHR(vkGetSemaphoreCounterValue)(of, gate, &info.value);
    info.value++;
    REAL_KHR(vkSignalSemaphore)(of, &info);
    pthread_mutex_unlock(&lock);
    thread_count--;
    return NULL;
}

static void make_gate(VkDevice device)
{
    VkSemaphoreTypeCreateInfo type = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
                                      .semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE};
    VkSemaphoreCreateInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO, .pNext = &type};

    if (of && of != device)
        abort(); /* one at a time */
    if (!of && REAL(vkCreateSemaphore)(device, &info, NULL, &gate) < 0)
        abort();
    if (!of)
        value = 0;
    of = device;
}

void late_begin(VkDevice device)
{
    const VkPipelineStageFlags stage = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
    VkTimelineSemaphoreSubmitInfo values = {.sType =
                                                VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
                                            .waitSemaphoreValueCount = 1,
                                            .pWaitSemaphoreValues = &value};
    VkSubmitInfo info = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                         .pNext = &values,
                         .waitSemaphoreCount = 1,
                         .pWaitSemaphores = &gate,
                         .pWaitDstStageMask = &stage};
    pthread_t thread;

    pthread_mutex_lock(&lock);
    make_gate(device);
    value++;
    thread_count++;
    if (driver_submit(device, &info, VK_NULL_HANDLE) < 0 ||
        pthread_create(&thread, NULL, open_gate, NULL) != 0)
        abort();
    pthread_detach(thread);
    pthread_mutex_unlock(&lock);
}

void late_device_gone(VkDevice device)
{
    while (thread_count)
        usleep(1000);
    if (of == device && of)
        REAL(vkDestroySemaphore)(device, gate, NULL);
    if (of == device)
        of = VK_NULL_HANDLE;
}
