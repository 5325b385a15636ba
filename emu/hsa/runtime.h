/* SPDX-License-Identifier: Apache-2.0
 *
 * The software GPU as an HSA runtime: libhsa-runtime64.so.1. It has two agents, a CPU and a "GPU"
 * whose instruction set is the processor's own (include/tracesmith/hsa_kernel.h), pools of memory
 * at addresses that can be asked for, signals, and queues whose packets a thread of each queue
 * really executes.
 *
 * Signals and queues have the layout of the headers amd_hsa_signal.h and amd_hsa_queue.h, because
 * programs look into them.
 *
 * Waiting. Everything that can end a wait (a signal's change, a write index, a doorbell) advances
 * one number, on which all that wait sleep: emu_hsa_changed(). Simple, and cheap enough for a
 * machine in software.
 */
#ifndef EMU_HSA_RUNTIME_H
#define EMU_HSA_RUNTIME_H

#include "api/hsa/condition.h"
#include "api/hsa/hsa_prototypes.h"

#include <hsa/amd_hsa_queue.h>
#include <hsa/amd_hsa_signal.h>

#define EMU_HSA_EXPORT __attribute__((visibility("default")))

/* A value of its type, into the memory `out` of the caller, of whose type nothing is known. */
#define EMU_HSA_GIVE(type, value)                                                                  \
    do {                                                                                           \
        const type given = (value);                                                                \
        memcpy(out, &given, sizeof(given));                                                        \
    } while (0)

/* ---- the machine -------------------------------------------------------------------------------
 */

/* Size of each pool, in bytes. */
#define EMU_HSA_MEMORY_SIZE ((size_t)64 << 30)

struct emu_hsa_pool {
    hsa_agent_t agent;
    uint32_t segment; /* hsa_amd_segment_t */
    uint32_t flags;   /* hsa_amd_memory_pool_global_flag_t */
    bool allocatable;
    bool host_access; /* the CPU may read and write it without being asked */
};

/* Counts a user of the machine. False: there are too many. */
bool emu_hsa_machine_begin(void);
/* Counts one less. Returns how many there were. */
unsigned emu_hsa_machine_end(void);
bool emu_hsa_is_up(void);
/* The name of the GPU's instruction set. */
const char *emu_hsa_isa(void);
hsa_agent_t emu_hsa_cpu(void);
hsa_agent_t emu_hsa_gpu(void);
bool emu_hsa_is_agent(hsa_agent_t agent);
/* NULL when it is none. Regions are the same things. */
const struct emu_hsa_pool *emu_hsa_pool_of(uint64_t handle);

/* ---- memory ------------------------------------------------------------------------------------
 */

struct emu_hsa_block {
    uint64_t address, size;
    const struct emu_hsa_pool *pool; /* NULL: the program's own, locked */
};

/* The allocation that holds `address`. False: none. */
bool emu_hsa_block_find(uint64_t address, struct emu_hsa_block *out);

/* The allocation that holds `address` becomes pages of a file, *file, which is its, and goes with
 * it; *offset: where in it. *pool: its number, for the next. */
hsa_status_t emu_hsa_block_share(uint64_t address, uint64_t size, int *file, uint64_t *offset,
                                 uint32_t *pool);
/* Pages of a file as memory of a pool. */
hsa_status_t emu_hsa_block_attach(int file, uint64_t size, uint32_t pool, void **ptr);
/* Bytes that are given out of the GPU's pools, or of the CPU's. */
uint64_t emu_hsa_taken(bool of_gpu);
/* An allocation is about to go: what the program wants to be called then (callback.c). */
void emu_hsa_notify_destroyed(uint64_t address, uint64_t size);
/* By number; NULL: none. */
const struct emu_hsa_pool *emu_hsa_pool_at(uint32_t number);
uint32_t emu_hsa_pool_number(const struct emu_hsa_pool *pool);
/* Addresses of the GPU's window, mapped with PROT_NONE; 0: none. */
uint64_t emu_hsa_window_map(uint64_t size);
/* Does all of it lie in one range of addresses that was reserved? */
bool emu_hsa_is_reserved(uint64_t address, uint64_t size);

/* For others (ipc.c): a file of `size` bytes, -1: none; of which pool a file is, and how
 * large, false: it is no such file; a signal in a file of its own, all zero, NULL: none; true when
 * the signal was such a one. */
int emu_hsa_ipc_file(uint64_t size, uint32_t pool);
bool emu_hsa_ipc_is_file(int file, uint64_t *size, uint32_t *pool);
amd_signal_t *emu_hsa_ipc_signal(void);
bool emu_hsa_ipc_signal_destroyed(const amd_signal_t *signal);

/* Pixels in any direction of an image; ... of one over a buffer. */
#define EMU_HSA_IMAGE_MAX        16384u
#define EMU_HSA_IMAGE_BUFFER_MAX 0x8000000u
/* Answers questions about the GPU's images and samplers. Returns false if the attribute is another
 * one. */
bool emu_hsa_image_info(uint32_t attribute, void *out);

/* ---- waiting -----------------------------------------------------------------------------------
 */

/* Returns the value for emu_hsa_await(); read it before testing what is waited for. */
uint32_t emu_hsa_now(void);
/* Sleep until something has changed since `now`, or for that long at most. */
void emu_hsa_await(uint32_t now, uint64_t timeout_ns);
void emu_hsa_changed(void);

/* ---- signals -----------------------------------------------------------------------------------
 */

static inline amd_signal_t *emu_hsa_signal(hsa_signal_t signal)
{
    return (amd_signal_t *)(uintptr_t)signal.handle;
}

hsa_signal_value_t emu_hsa_signal_load(hsa_signal_t signal);
/* The signal goes: no copy waits for it or counts it down any more. */
void emu_hsa_copies_forget(hsa_signal_t signal);
/* Signals a completion. A signal of handle 0 is none. */
void emu_hsa_signal_decrement(hsa_signal_t signal);
/* Times of what the signal completed, for profiling. */
void emu_hsa_signal_times(hsa_signal_t signal, uint64_t start_ns, uint64_t end_ns);
uint64_t emu_hsa_time(void);

/* ---- code objects ------------------------------------------------------------------------------
 */

/* A reader, or a code object as HSA 1.0 has it; its address is the handle. */
struct emu_hsa_reader {
    uint8_t *data; /* a copy: the program may change its own */
    size_t size;
    struct emu_hsa_code_symbol *symbols; /* that were asked for (object.c) */
    bool is_listed;
};
void emu_hsa_code_symbols_finish(struct emu_hsa_reader *reader);

/* ---- queues ------------------------------------------------------------------------------------
 */

/* In place of TRACESMITH_HSA_KERNEL_MAGIC: code of another instruction set, which does not run. */
#define EMU_HSA_KERNEL_FOREIGN 0x464b5354u
/* ... code that runs in the sandbox (emu/hsa/sandbox/sandbox.h). */
#define EMU_HSA_KERNEL_REMOTE 0x524b5354u

/* Run a grid. An error is one that the queue's callback is told of. */
hsa_status_t emu_hsa_dispatch(const hsa_kernel_dispatch_packet_t *packet);
/* Perform a function of enum tracesmith_hsa_function; errors as above. */
hsa_status_t emu_hsa_perform(const hsa_agent_dispatch_packet_t *packet);

/* TS_EMU_LATE: commands are complete so many milliseconds later than their results are there.
 * TS_EMU_WRONG: copies give another byte in the end. */
void emu_hsa_be_late(void);
bool emu_hsa_is_wrong(void);

#endif
