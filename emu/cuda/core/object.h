/* SPDX-License-Identifier: Apache-2.0
 *
 * Which handles exist. Programs pass stale and foreign handles to a driver and expect an error, not
 * a crash: so every handle is looked up before its memory is read.
 *
 * A kernel handle of a library may stand where a function is asked for; that is the caller's
 * business (emu/cuda/module/module.h).
 *
 * Threads: any. Nothing is kept alive by a look-up: destroying an object while another thread uses
 * it is an error of the program, as with any driver.
 */
#ifndef EMU_OBJECT_H
#define EMU_OBJECT_H

#include <stdbool.h>

enum emu_kind {
    EMU_NONE,
    EMU_CONTEXT,
    EMU_STREAM,
    EMU_EVENT,
    EMU_MODULE,
    EMU_FUNCTION,
    EMU_LIBRARY,
    EMU_KERNEL,
    EMU_POOL,
    EMU_ARRAY,
    EMU_LINK,
    EMU_GRAPH,
    EMU_GRAPH_NODE,
    EMU_GRAPH_EXEC,
    EMU_USER_OBJECT,
    EMU_LOG_CALLBACK,
    EMU_EXTERNAL,
    EMU_SEMAPHORE,
    EMU_GREEN,
    EMU_RESOURCE,
    EMU_MIPMAP,
    EMU_TEXREF,
    EMU_SURFREF,
};

/* False when out of memory. */
bool emu_object_add(enum emu_kind kind, const void *handle);

/* No effect when it is not there, or NULL. */
void emu_object_remove(const void *handle);

bool emu_object_is(enum emu_kind kind, const void *handle);

#endif
