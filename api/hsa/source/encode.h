/* SPDX-License-Identifier: Apache-2.0
 *
 * Encodes common arguments for the generated wrappers (hsa_wrappers.c) and hooks. Runs inside the
 * traced program: the rules of capture/capture.h hold.
 */
#ifndef API_HSA_SOURCE_ENCODE_H
#define API_HSA_SOURCE_ENCODE_H

#include "api/hsa/hsa_calls.h"
#include "api/hsa/source/source.h"

/* On what hooks share and begins their call: the hook is the frame that host stacks leave out. */
#define WRAPPED static inline __attribute__((always_inline))

#define HSA_SLOT(value) ((uint64_t)(uintptr_t)(value))

/* Id of an object that a call uses; 0 for none. */
static inline uint64_t hsa_id(enum hsa_object object, uint64_t raw)
{
    return tsm_handle_id(SBT_API_HSA, object, raw);
}

/* Id of an object that a call has made. */
static inline uint64_t hsa_id_new(enum hsa_object object, uint64_t raw)
{
    return tsm_handle_add(SBT_API_HSA, object, raw)->id;
}

/* Id of an object that a call is about to destroy: the runtime may give its value out again before
 * the call returns. */
static inline uint64_t hsa_id_destroyed(enum hsa_object object, uint64_t raw)
{
    uint64_t id = hsa_id(object, raw);

    if (raw)
        tsm_handle_remove(SBT_API_HSA, object, raw);
    return id;
}

static inline struct tsm_handle *hsa_find(enum hsa_object object, uint64_t raw)
{
    return tsm_handle_find(SBT_API_HSA, object, raw);
}

static inline uint64_t hsa_signal_id(hsa_signal_t signal)
{
    return hsa_id(HSA_OBJECT_SIGNAL, signal.handle);
}

#endif
