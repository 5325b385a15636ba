/* SPDX-License-Identifier: Apache-2.0
 *
 * Functions of a newer driver than we know. A program may ask for hundreds of them and call none
 * (the CUDA runtime does), so asking is no reason to call a trace incomplete; calling is.
 */
#include "interpose/interpose.h"

#include "base/text.h"
#include "capture/capture.h"

#include <errno.h>
#include <string.h>

/* Known to hook_stubs.S. */
#define ENTRY_MAX     512u
#define ENTRY_SIZE    16u
#define NAME_MAX_SIZE 64u

extern const char tsm_unwrapped_entries[];
void *tsm_unwrapped_called(unsigned index);

static struct entry {
    _Atomic(void *) real;
    atomic_bool called;
    char text[NAME_MAX_SIZE + 16];
} entries[ENTRY_MAX];

/* From the stub: where to jump. */
void *tsm_unwrapped_called(unsigned index)
{
    struct entry *entry = &entries[index];
    int saved_errno = errno;

    if (!atomic_load_explicit(&entry->called, memory_order_relaxed) && !tsm_inside() &&
        !atomic_exchange(&entry->called, true))
        tsm_session_unmodelled(entry->text, true);
    errno = saved_errno;
    return atomic_load_explicit(&entry->real, memory_order_relaxed);
}

void *tsm_unwrapped(const char *name, void *real)
{
    for (unsigned i = 0; i < ENTRY_MAX; i++) {
        void *there = NULL;

        if (atomic_compare_exchange_strong(&entries[i].real, &there, real))
            tsm_format(entries[i].text, sizeof(entries[i].text), "unwrapped %.*s",
                       (int)NAME_MAX_SIZE, name);
        else if (there != real)
            continue;
        return (char *)(uintptr_t)tsm_unwrapped_entries + (size_t)i * ENTRY_SIZE;
    }
    tsm_session_unmodelled("unwrapped: too many", true);
    return real;
}
