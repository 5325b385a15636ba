/* SPDX-License-Identifier: Apache-2.0
 *
 * Timeline semaphores that the software GPU shares (TS_TEST_DRIVER=fds,mirror): a file of eight
 * bytes has the value. A thread carries it from the file to the semaphore and back.
 */
#include "tests/vulkan/vk_driver.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define MIRROR_COUNT 16u

static struct mirror {
    VkDevice device;
    VkSemaphore semaphore; /* VK_NULL_HANDLE: it is free */
    _Atomic uint64_t *value;
    pthread_t thread;
    atomic_bool stop;
} mirrors[MIRROR_COUNT];

bool mirror_is_asked(void)
{
    const char *text = getenv("TS_TEST_DRIVER");

    return text && strstr(text, "mirror");
}

static void signal_up_to(const struct mirror *m, uint64_t value)
{
    const VkSemaphoreSignalInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_SIGNAL_INFO,
                                        .semaphore = m->semaphore,
                                        .value = value};

    if (REAL_KHR(vkSignalSemaphore)(m->device, &info) < 0)
        abort();
}

static void *carry(void *user)
{
    struct mirror *m = user;

    while (!m->stop) {
        uint64_t there = 0, here = atomic_load(m->value);

        if (REAL_KHR(vkGetSemaphoreCounterValue)(m->device, m->semaphore, &there) < 0)
            abort();
        if (here > there)
            signal_up_to(m, here);
        while (here < there && !atomic_compare_exchange_weak(m->value, &here, there)) {
        }
        usleep(100);
    }
    return NULL;
}

VkResult mirror_give(VkDevice device, VkSemaphore semaphore, int *out)
{
    struct mirror *m = mirrors;
    void *value;

    while (m->semaphore)
        if (++m == mirrors + MIRROR_COUNT)
            abort();
    *out = memfd_create("mirror", MFD_CLOEXEC);
    if (*out < 0 || ftruncate(*out, 8))
        return VK_ERROR_OUT_OF_HOST_MEMORY;
    value = mmap(NULL, 8, PROT_READ | PROT_WRITE, MAP_SHARED, *out, 0);
    if (value == MAP_FAILED)
        abort();
    m->device = device;
    m->semaphore = semaphore;
    m->value = value;
    m->stop = false;
    if (pthread_create(&m->thread, NULL, carry, m) != 0)
        abort();
    return VK_SUCCESS;
}

void mirror_end(VkSemaphore semaphore)
{
    for (struct mirror *m = mirrors; semaphore && m < mirrors + MIRROR_COUNT; m++) {
        if (m->semaphore != semaphore)
            continue;
        m->stop = true;
        pthread_join(m->thread, NULL);
        munmap((void *)m->value, 8);
        m->semaphore = VK_NULL_HANDLE;
    }
}
