/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds which object a descriptor stands for: by its number, as long as it is the same open file;
 * or by the file, when the program has made another number of it, or has sent it to itself through
 * a socket. What no call of this program has given out is another's.
 */
#include "api/vulkan/source/origin.h"

#include <errno.h>
#include <linux/kcmp.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "api/vulkan/source/lock.h"
#include "api/vulkan/source/source.h"
#include "base/text.h"

#define FD_COUNT 4096u /* descriptors beyond that count as another's */

/* By number: what the driver gave out under it last. */
static struct given {
    uint64_t id; /* 0: nothing */
    uint32_t type;
    dev_t device;
    ino_t file;
} given[FD_COUNT];
static uint32_t given_end; /* no number from there on was given out */
static struct tsm_lock lock;

/* Memory and semaphores of others: when both are there, what is in memory depends on when. */
static bool has_memory, has_semaphore;

/* ---- descriptors ---------------------------------------------------------------------------- */

void vk_origin_give(int fd, uint32_t type, uint64_t id)
{
    int saved_errno = errno;
    struct stat s;

    if (fd >= 0 && (uint32_t)fd < FD_COUNT && fstat(fd, &s) == 0) {
        vk_lock_take(&lock);
        given[fd] = (struct given){id, type, s.st_dev, s.st_ino};
        if ((uint32_t)fd >= given_end)
            given_end = (uint32_t)fd + 1;
        vk_lock_give(&lock);
    }
    errno = saved_errno;
}

/* Files without a name of their own (semaphores, devices) share an inode: the kernel is asked. */
static bool is_same_file(int a, int b, const struct stat *s)
{
    return S_ISREG(s->st_mode) ||
           syscall(SYS_kcmp, getpid(), getpid(), KCMP_FILE, (long)a, (long)b) == 0;
}

static struct vk_origin find(int fd, uint32_t type, const struct stat *s)
{
    for (uint32_t i = 0; i < given_end; i++) {
        const struct given *g = &given[(i + (uint32_t)fd) % given_end]; /* its own number first */
        int number = (int)(g - given);
        if (g->id && g->type == type && g->device == s->st_dev && g->file == s->st_ino &&
            (number == fd || is_same_file(fd, number, s)))
            return (struct vk_origin){g->id, number != fd};
    }
    return (struct vk_origin){0};
}

struct vk_origin vk_origin_of(int fd, uint32_t type)
{
    struct vk_origin from = {0};
    int saved_errno = errno;
    struct stat s;

    if (fd >= 0 && fstat(fd, &s) == 0) {
        vk_lock_take(&lock);
        if (given_end)
            from = find(fd, type, &s);
        vk_lock_give(&lock);
    }
    errno = saved_errno;
    return from;
}

void vk_origin_forget(void)
{
    memset(given, 0, given_end * sizeof(given[0]));
    given_end = 0;
    has_memory = has_semaphore = false;
    lock = (struct tsm_lock){0};
}

/* ---- what the trace says of it -------------------------------------------------------------- */

static void note_foreign(uint32_t type)
{
    *(type == VK_OBJECT_VkDeviceMemory ? &has_memory : &has_semaphore) = true;
    if (has_memory && has_semaphore)
        tsm_session_unmodelled("memory of others, who say by semaphores when it is ready: what it "
                               "holds then is not known",
                               true);
}

void vk_origin_describe(uint32_t type, uint64_t id, struct vk_origin from)
{
    char name[64], value[32];

    if (from.id && !from.renumbered)
        return;
    if (!from.id && type != VK_OBJECT_VkFence)
        note_foreign(type);
    tsm_format(name, sizeof(name), "vulkan.import.%s.%llu", vk_name(vk_objects[type]),
               (unsigned long long)id);
    tsm_format(value, sizeof(value), "%llu", (unsigned long long)from.id);
    tsm_session_metadata(name, value);
}
