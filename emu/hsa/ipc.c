/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory and signals for other processes. What is shared becomes pages of a file without a name; a
 * handle names it by its process and descriptor, and another process opens it under /proc: both run
 * as the same user, and see each other's numbers. The one who shares has to wait for what runs on
 * the GPU first.
 */
#include "emu/hsa/runtime.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"

#define PAGE  4096u
#define MAGIC 0x69736854u
#define NAME  "tracesmith-emu-hsa"

#define PREFIX "/memfd:" NAME "-"

/* In the 32 bytes of a handle. */
struct name {
    uint32_t magic, process;
    int32_t file;
    uint32_t pool; /* of memory */
    uint64_t size, reserved;
};
_Static_assert(sizeof(struct name) == sizeof(hsa_amd_ipc_memory_t), "a handle is that large");

int emu_hsa_ipc_file(uint64_t size, uint32_t pool)
{
    char name[64];
    int file;

    tsm_format(name, sizeof(name), NAME "-%u", pool);
    file = memfd_create(name, MFD_CLOEXEC);

    if (file >= 0 && ftruncate(file, (off_t)size) != 0) {
        close(file);
        file = -1;
    }
    return file;
}

/* Reads a link under /proc and returns the pool's number; -1: no file of ours. */
static int pool_of_link(const char *path)
{
    char target[64];
    ssize_t size = readlink(path, target, sizeof(target) - 1);

    target[size > 0 ? size : 0] = '\0';
    if (strncmp(target, PREFIX, strlen(PREFIX)) != 0)
        return -1;
    return atoi(target + strlen(PREFIX));
}

bool emu_hsa_ipc_is_file(int file, uint64_t *size, uint32_t *pool)
{
    struct stat about;
    char path[64];
    int number;

    tsm_format(path, sizeof(path), "/proc/self/fd/%d", file);
    number = file >= 0 ? pool_of_link(path) : -1;
    if (number < 0 || fstat(file, &about) != 0 || about.st_size <= 0)
        return false;
    *size = (uint64_t)about.st_size;
    *pool = (uint32_t)number;
    return true;
}

static int open_named(const struct name *name)
{
    char path[64];

    if (name->magic != MAGIC)
        return -1;
    tsm_format(path, sizeof(path), "/proc/%u/fd/%d", name->process, name->file);
    return pool_of_link(path) < 0 ? -1 : open(path, O_RDWR | O_CLOEXEC);
}

/* ---- memory ------------------------------------------------------------------------------------
 */

EMU_HSA_EXPORT hsa_status_t hsa_amd_ipc_memory_create(void *ptr, size_t len,
                                                      hsa_amd_ipc_memory_t *handle)
{
    struct name name = {.magic = MAGIC, .process = (uint32_t)getpid(), .size = len};
    uint64_t offset = 0;
    hsa_status_t status;

    if (!ptr || !len || !handle)
        return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    status = emu_hsa_block_share((uint64_t)(uintptr_t)ptr, len, &name.file, &offset, &name.pool);
    if (status == HSA_STATUS_SUCCESS && offset)
        status = HSA_STATUS_ERROR_INVALID_ARGUMENT;
    if (status == HSA_STATUS_SUCCESS)
        memcpy(handle, &name, sizeof(name));
    return status;
}

EMU_HSA_EXPORT hsa_status_t hsa_amd_ipc_memory_attach(const hsa_amd_ipc_memory_t *handle,
                                                      size_t len, uint32_t num_agents,
                                                      const hsa_agent_t *mapping_agents,
                                                      void **mapped_ptr)
{
    struct name name;
    hsa_status_t status;
    int file;

    if (!handle || !len || !mapped_ptr || (num_agents && !mapping_agents))
        return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    memcpy(&name, handle, sizeof(name));
    file = len <= name.size ? open_named(&name) : -1;
    if (file < 0)
        return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    status = emu_hsa_block_attach(file, len, name.pool, mapped_ptr);
    close(file);
    return status;
}

EMU_HSA_EXPORT hsa_status_t hsa_amd_ipc_memory_detach(void *mapped_ptr)
{
    return mapped_ptr ? hsa_amd_memory_pool_free(mapped_ptr) : HSA_STATUS_ERROR_INVALID_ARGUMENT;
}

/* ---- files that stand for memory ---------------------------------------------------------------
 */

EMU_HSA_EXPORT hsa_status_t hsa_amd_portable_export_dmabuf(const void *ptr, size_t size,
                                                           int *dmabuf, uint64_t *offset)
{
    hsa_status_t status;
    uint32_t pool;
    int file;

    if (!ptr || !size || !dmabuf || !offset)
        return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    status = emu_hsa_block_share((uint64_t)(uintptr_t)ptr, size, &file, offset, &pool);
    if (status != HSA_STATUS_SUCCESS)
        return status;
    *dmabuf = fcntl(file, F_DUPFD_CLOEXEC, 0);
    return *dmabuf >= 0 ? HSA_STATUS_SUCCESS : HSA_STATUS_ERROR_OUT_OF_RESOURCES;
}

EMU_HSA_EXPORT hsa_status_t hsa_amd_portable_close_dmabuf(int dmabuf)
{
    return close(dmabuf) == 0 ? HSA_STATUS_SUCCESS : HSA_STATUS_ERROR_RESOURCE_FREE;
}

EMU_HSA_EXPORT hsa_status_t hsa_amd_interop_map_buffer(uint32_t num_agents, hsa_agent_t *agents,
                                                       int interop_handle, uint32_t flags,
                                                       size_t *size, void **ptr,
                                                       size_t *metadata_size, const void **metadata)
{
    hsa_status_t status;
    uint64_t there;
    uint32_t pool;

    if (!num_agents || !agents || flags || !size || !ptr ||
        !emu_hsa_ipc_is_file(interop_handle, &there, &pool))
        return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    status = emu_hsa_block_attach(interop_handle, there, pool, ptr);
    *size = there;
    if (metadata_size)
        *metadata_size = 0;
    if (metadata)
        *metadata = NULL;
    return status;
}

EMU_HSA_EXPORT hsa_status_t hsa_amd_interop_unmap_buffer(void *ptr)
{
    return ptr ? hsa_amd_memory_pool_free(ptr) : HSA_STATUS_ERROR_INVALID_ARGUMENT;
}

/* ---- signals: a page each ----------------------------------------------------------------------
 */

struct shared_signal {
    struct shared_signal *next;
    amd_signal_t *signal;
    int file; /* -1: another process's */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct shared_signal *signals;

static amd_signal_t *map_signal(int file, int keep)
{
    struct shared_signal *shared = malloc(sizeof(*shared));
    void *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);

    if (!shared || page == MAP_FAILED) {
        free(shared);
        if (page != MAP_FAILED)
            munmap(page, PAGE);
        return NULL;
    }
    pthread_mutex_lock(&lock);
    *shared = (struct shared_signal){signals, page, keep};
    signals = shared;
    pthread_mutex_unlock(&lock);
    return page;
}

amd_signal_t *emu_hsa_ipc_signal(void)
{
    int file = emu_hsa_ipc_file(PAGE, 0);
    amd_signal_t *signal = file >= 0 ? map_signal(file, file) : NULL;

    if (file >= 0 && !signal)
        close(file);
    return signal;
}

bool emu_hsa_ipc_signal_destroyed(const amd_signal_t *signal)
{
    struct shared_signal **link = &signals, *found;

    pthread_mutex_lock(&lock);
    while ((found = *link) != NULL && found->signal != signal)
        link = &found->next;
    if (found)
        *link = found->next;
    pthread_mutex_unlock(&lock);
    if (!found)
        return false;
    munmap(found->signal, PAGE);
    if (found->file >= 0)
        close(found->file);
    free(found);
    return true;
}

EMU_HSA_EXPORT hsa_status_t hsa_amd_ipc_signal_create(hsa_signal_t signal,
                                                      hsa_amd_ipc_signal_t *handle)
{
    struct name name = {.magic = MAGIC, .process = (uint32_t)getpid(), .file = -1, .size = PAGE};

    if (!signal.handle || !handle)
        return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    pthread_mutex_lock(&lock);
    for (const struct shared_signal *s = signals; s; s = s->next)
        if (s->signal == emu_hsa_signal(signal))
            name.file = s->file;
    pthread_mutex_unlock(&lock);
    memcpy(handle, &name, sizeof(name));
    return name.file >= 0 ? HSA_STATUS_SUCCESS : HSA_STATUS_ERROR_INVALID_ARGUMENT;
}

EMU_HSA_EXPORT hsa_status_t hsa_amd_ipc_signal_attach(const hsa_amd_ipc_signal_t *handle,
                                                      hsa_signal_t *signal)
{
    struct name name;
    int file;

    if (!handle || !signal)
        return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    memcpy(&name, handle, sizeof(name));
    file = open_named(&name);
    if (file < 0)
        return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    signal->handle = (uint64_t)(uintptr_t)map_signal(file, -1);
    close(file);
    return signal->handle ? HSA_STATUS_SUCCESS : HSA_STATUS_ERROR_OUT_OF_RESOURCES;
}
