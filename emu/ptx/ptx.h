/* SPDX-License-Identifier: Apache-2.0
 *
 * The PTX engine of the software GPU: text in, executable modules out, launches run warp by warp on
 * the CPU. It knows PTX ("Parallel Thread Execution ISA", NVIDIA's document; versions met: 1.4 to
 * 9.0) and nothing of the driver API; emu/cuda/ is its only caller.
 *
 * Addresses. A generic address is a host address: device memory is host memory of this process that
 * the driver placed. Shared memory starts at 0 and local memory lies in a window of its own; both
 * are reachable through generic addresses (cvta) in the windows PTX_SHARED_WINDOW and
 * PTX_LOCAL_WINDOW, where nothing of the process can be mapped (non-canonical on x86-64). A shared
 * address is thus a small number, below 2^31, as programs assume.
 *
 * Threads. A module may be used by several launches at once. One launch runs on one host thread
 * (the stream's), or on several where that cannot be seen (ptx_launch.threads); its blocks take
 * turns when they wait for one another. Lanes of a warp run in lockstep, with reconvergence; no
 * lane is run alone to its end.
 *
 * Determinism. The same module, memory and options give the same instructions in the same order.
 */
#ifndef EMU_PTX_PTX_H
#define EMU_PTX_PTX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "emu/ptx/texture/image.h"

#define PTX_SHARED_WINDOW 0x1000000000000000ull
#define PTX_LOCAL_WINDOW  0x2000000000000000ull

/* Blocks of a cluster. In each of them its own shared memory starts at 0, and that of the block of
 * rank r at (r + 1) << PTX_RANK_SHIFT: what mapa gives, for the block itself, too. */
#define PTX_CLUSTER_MAX 16
#define PTX_RANK_SHIFT  24

/* Filled like the driver's JIT log: lines of text, cut at `size`, always terminated. */
struct ptx_log {
    char *text;
    size_t size;
    size_t used;
};

struct ptx_param {
    uint32_t offset; /* bytes in the kernel's parameter space */
    uint32_t size;
};

/* Facts about an .entry or a .func for the driver. Owned by the module. */
struct ptx_function {
    const char *name;
    bool is_entry;
    const struct ptx_param *params;
    uint32_t param_count;
    uint32_t params_size;    /* bytes, without tail padding */
    uint32_t shared_size;    /* static shared memory, bytes */
    uint32_t local_size;     /* local memory a thread, bytes */
    uint32_t const_size;     /* of the module, bytes */
    uint32_t register_count; /* in use at once, at most 255; an estimate */
    uint32_t maxntid[3];     /* 0: not given */
    uint32_t reqntid[3];
    uint32_t cluster[3];       /* .reqnctapercluster */
    uint32_t cluster_max;      /* .maxclusterrank; 0: not given */
    bool is_explicit_cluster;  /* .explicitcluster: clusters must be asked for, here or at launch */
    bool blocks_are_clusters;  /* the grid of a launch counts clusters; struct ptx_launch's does not */
    uint16_t version; /* PTX version * 10: 6.0 -> 60 */
    uint16_t target;  /* sm: 70 */
};

/* Kind of a variable. A reference's address is its handle for struct ptx_launch's `image`. */
enum ptx_variable_kind {
    PTX_VARIABLE_DATA,
    PTX_VARIABLE_TEXREF,
    PTX_VARIABLE_SURFREF,
    PTX_VARIABLE_SAMPLERREF, /* the engine's own business */
};

/* A module-scope .global or .const variable. */
struct ptx_variable {
    const char *name;
    enum ptx_variable_kind kind;
    uint64_t size;
    uint32_t align;
    bool is_const;
    bool is_managed;  /* .attribute(.managed): the host reaches it, too */
    bool is_external; /* .extern, without definition here */
    uint64_t address; /* where ptx_module_place() put it */
};

struct ptx_module;

enum ptx_status {
    PTX_OK = 0,
    PTX_INVALID = -1,     /* not PTX, or wrong PTX: CUDA_ERROR_INVALID_PTX */
    PTX_UNSUPPORTED = -2, /* an instruction this engine does not have; named with its line */
    PTX_NO_MEMORY = -3,
    PTX_VERSION = -4, /* .target above what the device has: CUDA_ERROR_NO_BINARY_FOR_GPU */
};

/* Parse and check. `text` need not be terminated and is copied. Bodies are
 * decoded at once: a syntax error or an unsupported instruction anywhere is reported here, with its
 * line, in `log` (which may be NULL).
 * target: the device's compute capability * 10, e.g. 75. */
int ptx_module_create(struct ptx_module **out, const char *text, size_t size, unsigned target,
                      struct ptx_log *log);
/* Appends to `out` the bytes that ptx_module_recall() needs to load the same text again.
 * PTX_UNSUPPORTED for a module that was itself recalled. The bytes hold for this build of the
 * engine and this target. */
struct tsm_buffer;
int ptx_module_record(const struct ptx_module *module, struct tsm_buffer *out);
/* Load a text that was checked whole before. Bodies are decoded by ptx_module_prepare(). The record
 * may be anybody's bytes: when it does not fit the text the result is PTX_INVALID, and the text is to
 * be loaded without it. */
int ptx_module_recall(struct ptx_module **out, const char *text, size_t size, unsigned target,
                      const void *record, size_t record_size);
/* Decode a function of the module and all that it may call, if that was not done: before its first
 * launch. Any thread. A failure means that the record was not of this text. */
int ptx_module_prepare(struct ptx_module *module, const struct ptx_function *function,
                       struct ptx_log *log);
/* The same checks on a text that others are to be linked to: what it uses may be missing. */
int ptx_module_check(const char *text, size_t size, unsigned target, struct ptx_log *log);
void ptx_module_destroy(struct ptx_module *module);

size_t ptx_module_function_count(const struct ptx_module *module);
const struct ptx_function *ptx_module_function(const struct ptx_module *module, size_t index);
const struct ptx_function *ptx_module_find(const struct ptx_module *module, const char *name);

/* Line `line`, from 1, of the module's text, without space around it; cut at `size`, always
 * terminated. False, and "", when there is none. */
bool ptx_module_line(const struct ptx_module *module, uint32_t line, char *out, size_t size);

/* The source line that .loc names for a line of the text: the file's name into `file`, cut at
 * `size`. False when the text does not say. */
bool ptx_module_source(const struct ptx_module *module, uint32_t line, char *file, size_t size,
                       uint32_t *source_line);

/* "byte 4 of NAME" when a variable of the module lies at `address` in `space` ("global", "shared").
 * Shared offsets may belong to several kernels' variables: the first is named. */
bool ptx_module_variable_at(const struct ptx_module *module, const char *space, uint64_t address,
                            char *out, size_t size);

/* The whole text, as it was given. */
const char *ptx_module_text(const struct ptx_module *module, size_t *size);

size_t ptx_module_variable_count(const struct ptx_module *module);
const struct ptx_variable *ptx_module_variable(const struct ptx_module *module, size_t index);

/* Bytes at the end of the module's memory that hold its managed variables, which lie on pages of
 * their own; once it is placed. */
uint64_t ptx_module_managed_size(const struct ptx_module *module);

/* Give every variable its address: `allocate` is called once for the whole module (zeroed memory,
 * aligned to 256, readable and writable until the module is destroyed), initialisers are written,
 * addresses inside initialisers are resolved. Before the first launch. */
int ptx_module_place(struct ptx_module *module, void *(*allocate)(void *user, size_t size),
                     void *user);

/* Cause of a launch's end. */
enum ptx_fault_kind {
    PTX_FAULT_NONE,
    PTX_FAULT_ADDRESS, /* access outside any allocation: CUDA_ERROR_ILLEGAL_ADDRESS */
    PTX_FAULT_MISALIGNED,
    PTX_FAULT_TRAP,    /* trap: CUDA_ERROR_ILLEGAL_INSTRUCTION / LAUNCH_FAILED */
    PTX_FAULT_ASSERT,  /* __assertfail; text is on stderr already */
    PTX_FAULT_HANG,    /* every warp waits and none can go on */
    PTX_FAULT_STOPPED, /* options.stop was set */
    PTX_FAULT_NO_MEMORY,
    PTX_FAULT_TIMEOUT, /* ran past launch.deadline_ns: CUDA_ERROR_LAUNCH_TIMEOUT */
    PTX_FAULT_STACK,   /* calls nest too deep: CUDA_ERROR_HARDWARE_STACK_ERROR */
    PTX_FAULT_PC,      /* a call through a pointer to no function: CUDA_ERROR_INVALID_PC */
    PTX_FAULT_HANDLE,  /* no texture or surface of that handle */
    PTX_FAULT_TENSOR_MEMORY, /* not allocated, or another warp's lanes: CUDA_ERROR_ILLEGAL_ADDRESS */
    PTX_FAULT_DESCRIPTOR, /* operands that go with no product: CUDA_ERROR_ILLEGAL_INSTRUCTION */
    PTX_FAULT_TENSOR_MAP, /* no tensor map, or not one for this: CUDA_ERROR_ILLEGAL_INSTRUCTION */
};

/* How memory was accessed, and in which state space (after generic addresses are resolved). */
enum ptx_access {
    PTX_ACCESS_NONE,
    PTX_ACCESS_LOAD,
    PTX_ACCESS_STORE,
    PTX_ACCESS_ATOMIC,
};

/* One level of a device call stack. `function` lives as long as the module. */
struct ptx_level {
    const char *function;
    uint32_t line; /* of the PTX text: of the instruction, or of the call in an outer level */
};
#define PTX_DEPTH_MAX 32

/* Place of a thread. stack[0] is the innermost level; levels deeper than PTX_DEPTH_MAX are cut. */
struct ptx_place {
    uint32_t block[3];
    uint32_t thread[3];
    uint32_t depth;
    struct ptx_level stack[PTX_DEPTH_MAX];
};

/* Threads that stand at one line when a launch hangs or runs out of time. */
struct ptx_standing {
    uint32_t line;
    uint32_t threads;
    const char *why; /* "runs", "waits at a barrier", ... */
};
#define PTX_STANDING_MAX 8

struct ptx_fault {
    enum ptx_fault_kind kind;
    uint64_t address;
    uint32_t size; /* of the access, bytes */
    uint32_t line; /* of the PTX text */
    uint32_t block[3];
    uint32_t thread[3];
    enum ptx_access access;
    const char *space; /* "global"...; NULL when no memory was accessed */
    struct ptx_place place;
    uint32_t standing_count; /* of the block that is named; 0 for other kinds */
    struct ptx_standing standing[PTX_STANDING_MAX];
    char text[256]; /* for people: kernel, thread, line, address */
};

enum ptx_schedule {
    PTX_SCHEDULE_FIFO, /* blocks and warps in order: the default */
    PTX_SCHEDULE_REVERSE,
    PTX_SCHEDULE_RANDOM, /* by `seed` */
};

#define PTX_MULTICAST_MAX 32

struct ptx_launch {
    const struct ptx_module *module;
    const struct ptx_function *function; /* an entry of the module */
    uint32_t grid[3];
    uint32_t block[3];
    uint32_t cluster[3]; /* blocks; divides the grid, at most PTX_CLUSTER_MAX. 0: none was asked for */
    uint32_t dynamic_shared_size; /* bytes */
    bool cooperative;             /* all blocks must be able to wait for each other */
    const void *params;           /* params_size bytes, the kernel's layout */
    enum ptx_schedule schedule;
    uint64_t seed;
    /* Stores that are lost: of 2^32 so many, chosen by drop_seed, the launch's seed and the address. 0: none. */
    uint32_t drop;
    uint64_t drop_seed;
    /* At most so many host threads (0, 1: the caller's alone), and only for a kernel whose blocks
     * cannot see one another but through plain loads and stores: no atomics that return a value, no
     * volatile or ordered accesses, fences, clocks, or calls. The bytes are the same as with one
     * thread unless blocks race on plain memory. Other schedules than FIFO run on one. */
    unsigned threads;
    const volatile int *stop; /* set by another thread to end the launch early; may be NULL */
    uint64_t deadline_ns;     /* CLOCK_MONOTONIC; 0: none */
    uint32_t stack_limit;     /* bytes a thread, for recursion and indirect calls; 0: 64 KiB */
    struct ptx_watch *watch;  /* emu/ptx/check/watch.h: what looks on; NULL: nothing, at no cost */
    /* May the `size` bytes at `address` be accessed? NULL: everything may (and a wild access ends
     * the process). Called from the launch's threads; results may be cached until the launch ends.
     */
    bool (*is_accessible)(void *user, uint64_t address, uint64_t size, bool write,
                          uint64_t *run_start, uint64_t *run_size);
    /* Finds the bytes behind an address of memory of several devices: a pointer for each of them, at
     * most PTX_MULTICAST_MAX. Returns how many; 0: the address is none of such memory, or not all of
     * it is bound. NULL: there is none. From the launch's threads. */
    unsigned (*multicast)(void *user, uint64_t address, uint64_t size, bool write, uint8_t **out);
    bool *has_multicast; /* out: set where that was asked; may be NULL */
    /* Finds the image of the texture or surface handle that an instruction names. False: there is
     * none, and the launch ends with PTX_FAULT_HANDLE. NULL: no handle has one. From the launch's
     * thread. */
    bool (*image)(void *user, uint64_t handle, bool is_surface, struct ptx_image *out);
    /* cudaGraphSetConditional(). False: no such handle, and the launch ends with PTX_FAULT_HANDLE. NULL:
     * there is none. */
    bool (*set_conditional)(uint64_t handle, uint32_t value);
    /* %globaltimer: at the start of the launch; and what is added for 1000 instructions of the
     * reading warp since its block began. timer_ps 0: both are unset, the timer counts
     * instructions. */
    uint64_t timer_ns, timer_ps;
    /* Out: warp instructions that were executed; NULL: nobody asks. */
    uint64_t *warp_instructions;
    void *user;
    /* vprintf's output, whole lines as the program formats them. NULL: stdout. */
    void (*print)(void *user, const char *text, size_t size);
};

/* Run to the end. 0, or PTX_* with *fault filled (kind != NONE). instructions_out: executed
 * thread-instructions, may be NULL. */
int ptx_run(const struct ptx_launch *launch, struct ptx_fault *fault, uint64_t *instructions_out);

/* Counts warp instructions of all launches of the process so far, but for those of loops that poll
 * memory which does not change. Any thread. */
uint64_t ptx_progress(void);

#endif
