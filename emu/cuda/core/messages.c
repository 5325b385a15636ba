/* SPDX-License-Identifier: Apache-2.0 */
#include "emu/cuda/core/messages.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "emu/cuda/core/emu.h"
#include "emu/cuda/core/object.h"

#define KEPT      100u
#define TEXT_SIZE 1024u

struct message {
    size_t size;
    char text[TEXT_SIZE];
};

struct CUlogsCallbackEntry_st {
    CUlogsCallback callback;
    void *data;
    struct CUlogsCallbackEntry_st *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct message messages[KEPT];
static unsigned said; /* how many ever: a CUlogIterator is such a number */
static CUlogsCallbackHandle callbacks;

void emu_message_add(const char *text, size_t size)
{
    struct CUlogsCallbackEntry_st told[8];
    size_t count = 0;
    char copy[TEXT_SIZE];

    if (size >= TEXT_SIZE)
        size = TEXT_SIZE - 1;
    memcpy(copy, text, size);
    copy[size] = 0;
    pthread_mutex_lock(&lock);
    struct message *m = &messages[said++ % KEPT];
    m->size = size;
    memcpy(m->text, copy, size + 1);
    for (CUlogsCallbackHandle c = callbacks; c && count < 8; c = c->next)
        told[count++] = *c;
    pthread_mutex_unlock(&lock);
    /* Without the lock: they may take their time, but call nothing of ours. */
    emu_callback_begin();
    for (size_t i = 0; i < count; i++)
        told[i].callback(told[i].data, CU_LOG_LEVEL_ERROR, copy, size);
    emu_callback_end();
}

/* ---- who wants to be told ---- */

CUresult cuLogsRegisterCallback(CUlogsCallback callbackFunc, void *userData,
                                CUlogsCallbackHandle *callback_out)
{
    CUlogsCallbackHandle handle;

    if (!callbackFunc)
        return CUDA_ERROR_INVALID_VALUE;
    handle = calloc(1, sizeof(*handle));
    if (!handle || !emu_object_add(EMU_LOG_CALLBACK, handle)) {
        free(handle);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    pthread_mutex_lock(&lock);
    *handle = (struct CUlogsCallbackEntry_st){callbackFunc, userData, callbacks};
    callbacks = handle;
    pthread_mutex_unlock(&lock);
    if (callback_out)
        *callback_out = handle;
    return CUDA_SUCCESS;
}

CUresult cuLogsUnregisterCallback(CUlogsCallbackHandle callback)
{
    CUlogsCallbackHandle *at = &callbacks;

    if (!emu_object_is(EMU_LOG_CALLBACK, callback))
        return CUDA_ERROR_INVALID_VALUE;
    emu_object_remove(callback);
    pthread_mutex_lock(&lock);
    while (*at && *at != callback)
        at = &(*at)->next;
    if (*at)
        *at = callback->next;
    pthread_mutex_unlock(&lock);
    free(callback);
    return CUDA_SUCCESS;
}

/* ---- what was said ---- */

CUresult cuLogsCurrent(CUlogIterator *iterator_out, unsigned int flags)
{
    if (!iterator_out || flags)
        return CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&lock);
    *iterator_out = said;
    pthread_mutex_unlock(&lock);
    return CUDA_SUCCESS;
}

/* Under the lock: the first message that is asked for and still there. */
static unsigned first_of(const CUlogIterator *iterator)
{
    unsigned oldest = said > KEPT ? said - KEPT : 0;

    return iterator && *iterator > oldest ? *iterator : oldest;
}

static const char note[] = "(earlier messages are left out)\n";

/* Under the lock: bytes of the messages from `at` on, with their line ends and a NUL. */
static size_t size_from(unsigned at)
{
    size_t size = 1;

    for (; at < said; at++)
        size += messages[at % KEPT].size + 1;
    return size;
}

/* Under the lock. The youngest messages that there is room for, after a note when some are
 * missing.
 */
static size_t dump(char *buffer, size_t room, unsigned first)
{
    size_t used = 0;
    unsigned at = first;

    while (at < said && size_from(at) + (at > first ? sizeof(note) - 1 : 0) > room)
        at++;
    if (at > first && at < said) {
        memcpy(buffer, note, sizeof(note) - 1);
        used = sizeof(note) - 1;
    }
    for (; at < said; at++) {
        const struct message *m = &messages[at % KEPT];
        memcpy(buffer + used, m->text, m->size);
        used += m->size;
        buffer[used++] = '\n';
    }
    buffer[used] = 0;
    return used;
}

CUresult cuLogsDumpToMemory(CUlogIterator *iterator, char *buffer, size_t *size, unsigned int flags)
{
    if (!buffer || !size || !*size || flags)
        return CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&lock);
    unsigned first = first_of(iterator);
    *size = dump(buffer, *size, first);
    bool has_room = *size || first == said;
    if (iterator && has_room)
        *iterator = said;
    pthread_mutex_unlock(&lock);
    return has_room ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuLogsDumpToFile(CUlogIterator *iterator, const char *pathToFile, unsigned int flags)
{
    static const size_t room = KEPT * TEXT_SIZE + 1;
    size_t size = room;
    char *text;
    int file;

    if (!pathToFile || flags)
        return CUDA_ERROR_INVALID_VALUE;
    text = malloc(room);
    if (!text)
        return CUDA_ERROR_OUT_OF_MEMORY;
    /* output: the program's; it is opened as the driver does */
    file = open(pathToFile, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    CUresult result =
        file < 0 ? CUDA_ERROR_INVALID_VALUE : cuLogsDumpToMemory(iterator, text, &size, 0);
    if (!result && write(file, text, size) != (ssize_t)size)
        result = CUDA_ERROR_OPERATING_SYSTEM;
    if (file >= 0)
        close(file);
    free(text);
    return result;
}
