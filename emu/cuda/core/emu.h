/* SPDX-License-Identifier: Apache-2.0
 *
 * The software GPU's driver: what all of its files share. It is libcuda.so.1 to a program: handles
 * are pointers to the structs named here and in the headers beside it, a device pointer is a host
 * address in a range of its own (emu/cuda/memory/memory.h), and work runs on host threads
 * (emu/cuda/stream/stream.h), kernels through the PTX engine (emu/ptx/ptx.h).
 *
 * The order of an entry point is always the same: emu_ready() or emu_enter(), checks of the
 * arguments, then the work. Results are the driver's: 0 or a CUresult, out-parameters untouched on
 * failure.
 *
 * Locks, outermost first: module > memory > stream > object. No lock is held while a kernel, a
 * callback of the program, or a wait for the GPU runs.
 */
#ifndef EMU_CUDA_CORE_EMU_H
#define EMU_CUDA_CORE_EMU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/machine.h"
#include "emu/cuda/core/abi.h"
#include "emu/ptx/ptx.h"

#define EMU_DRIVER_VERSION   13000
#define EMU_DEVICE_COUNT_MAX 16

/* From the environment, read once by the first cuInit(). */
struct emu_settings {
    int device_count;           /* TS_EMU_DEVICES */
    unsigned capability;        /* TS_EMU_CC=7.5, kept as 75 */
    size_t memory_size;         /* TS_EMU_MEMORY, bytes per device; suffixes K, M, G */
    uint8_t fill;               /* TS_EMU_POISON: every byte of fresh memory */
    bool is_serial;             /* TS_EMU_STREAMS: one command at a time, picked by `schedule` */
    enum ptx_schedule schedule; /* TS_EMU_SCHEDULE=fifo|reverse|random:SEED */
    uint64_t seed;
    bool is_noop;       /* TS_EMU_NOOP=1: kernels do nothing; a good test must fail on it */
    uint32_t drop;      /* TS_EMU_DROP=PERCENT:SEED: of 2^32 stores of kernels so many are lost */
    uint64_t drop_seed; /* ... which ones */
    unsigned threads;   /* TS_EMU_THREADS=N|auto: host threads of a launch, see struct ptx_launch */
    bool has_stacks;    /* TS_EMU_STACKS=0|1: host stacks of launches and allocations */
    unsigned checks;    /* TS_EMU_CHECK: bits of enum emu_check */
    const char *report; /* TS_EMU_REPORT: file for findings as JSON lines; NULL: none */
    uint8_t exit_status; /* TS_EMU_EXIT: of a process with findings; 0: its own */
    bool has_cache;      /* TS_EMU_CACHE=0: no */
    const char *cache;   /* TS_EMU_CACHE: folder; NULL: the user's */
    uint64_t cache_size; /* TS_EMU_CACHE_SIZE: bytes of the folder's files */
    uint64_t timeout_ns; /* TS_EMU_TIMEOUT, of one launch; 0: none */
    uint64_t late_ns;    /* TS_EMU_LATE: from a command's results to its completion */
    uint64_t return_ns;  /* TS_EMU_RETURN: a call that sends comes back when its command is done, or
                            then */
    uint64_t linger_ns;  /* TS_EMU_LINGER: ... and so much later */
    bool is_wrong;       /* TS_EMU_WRONG=1: copies spoil their first byte in the end */
    const char *queue;   /* TS_EMU_QUEUE: file for what is sent to streams; NULL: none */
    const char *profile; /* TS_EMU_PROFILE: file; NULL: none */
    uint64_t profile_every; /* TS_EMU_PROFILE_EVERY: warp instructions between samples */
    bool has_times;         /* TS_EMU_EXACT=0|1: api/cuda/abi_times.h */
    bool has_places; /* TS_EMU_PLACE=0|1: api/cuda/abi_place.h; without, variables of modules lie
                        elsewhere than with it */
    bool is_virtual; /* TS_EMU_TIME=virtual; then is_serial, too */
    struct tsm_machine machine; /* TS_EMU_MACHINE */
};

/* Errors that TS_EMU_CHECK searches for; docs/emu.md says what each means. */
enum emu_check {
    EMU_CHECK_BOUNDS = 1 << 0,
    EMU_CHECK_UNINIT = 1 << 1,
    EMU_CHECK_RACE = 1 << 2,
    EMU_CHECK_BLOCKS = 1 << 3, /* races between blocks in global memory */
    EMU_CHECK_LEAK = 1 << 4,
};

/* Valid after the first cuInit(), constant from then on. */
extern struct emu_settings emu_settings;

/* Calls of the driver by this thread so far: a number for the call that is under way. */
extern _Thread_local uint64_t emu_calls;

/* 0 when the driver can be used from here; CUDA_ERROR_NOT_INITIALIZED before cuInit() and in a
 * child of fork(), CUDA_ERROR_DEINITIALIZED when the process ends, CUDA_ERROR_NOT_PERMITTED inside
 * a host function of a stream. */
CUresult emu_ready(void);

/* emu_ready(), or `why` when the driver could be used: for arguments that are looked at before
 * anything else. */
CUresult emu_refuse(CUresult why);

/* emu_ready(), and the calling thread's context: CUDA_ERROR_INVALID_CONTEXT when it has none,
 * CUDA_ERROR_CONTEXT_IS_DESTROYED, or the error that an earlier kernel left in the context. */
CUresult emu_enter(CUcontext *context_out);

/* The same for what frees memory: that can be done without a current context (NULL then), as the
 * address says whose it is. */
CUresult emu_enter_free(CUcontext *context_out);

/* emu_ready() and a valid ordinal. */
CUresult emu_enter_device(CUdevice device);

/* Forbid driver calls on this thread while a callback of the program runs. */
void emu_callback_begin(void);
void emu_callback_end(void);

/* One line on stderr for the person who debugs the program: "tracesmith emu: ...". */
void emu_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* A number that tells objects apart: 1, 2, ... over the life of the process. */
unsigned long long emu_next_id(void);

#endif
