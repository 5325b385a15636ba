/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs the native code of code objects in a process of its own, the sandbox, which can compute on
 * the GPU's memory and do nothing else. A replay asks for it (api/hsa/sandbox.h), because a
 * trace's code objects are somebody else's programs.
 *
 * Both processes map the GPU's memory at the same addresses, from two files without a name: the
 * arena, which kernels may write, and the constants, of which the sandbox has a descriptor for
 * reading only. Commands go through slots in a third file. Whatever the sandbox writes, there or in
 * the arena, is hostile: this process takes no address, size or pointer from it.
 */
#ifndef EMU_HSA_SANDBOX_SANDBOX_H
#define EMU_HSA_SANDBOX_SANDBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- what both processes know ------------------------------------------------------------------
 */

/* Descriptors of the sandbox. */
enum { SANDBOX_ARENA = 3, SANDBOX_CONSTANTS = 4, SANDBOX_CONTROL = 5 };

/* Slot 0 is for memory and code objects, the others for kernels that run at the same time. */
#define SANDBOX_SLOT_COUNT 33u
#define SANDBOX_NAME       "ts_hsa_sandbox"

enum sandbox_state {
    SANDBOX_IDLE,
    SANDBOX_REQUEST,
    SANDBOX_REQUEST_ASLEEP, /* the one who asked sleeps until it is done */
    SANDBOX_DONE,
    SANDBOX_WORKER_ASLEEP, /* done or idle; the worker sleeps until the next request */
};

enum sandbox_command {
    SANDBOX_MAP,     /* address, size, offset, protection, descriptor */
    SANDBOX_UNMAP,   /* address, size */
    SANDBOX_LOAD,    /* address and size of the file's bytes, address and size of the image */
    SANDBOX_RUN,     /* descriptor, arguments, grid[3], group[3], group memory */
    SANDBOX_PERFORM, /* an agent dispatch packet */
};

enum sandbox_result {
    SANDBOX_OK,
    SANDBOX_NO_MEMORY,
    SANDBOX_TAKEN,      /* the sandbox itself has something at that address */
    SANDBOX_FORMAT,     /* the code object is damaged */
    SANDBOX_TLS,        /* it has thread-local variables */
    SANDBOX_LIBRARY,    /* it needs another library: `text` */
    SANDBOX_SYMBOL,     /* it needs a symbol that nothing has: `text` */
    SANDBOX_RELOCATION, /* it has a relocation of an unknown type */
    SANDBOX_BARRIER,    /* a kernel without stacks has called a barrier */
    SANDBOX_ARGUMENT,
};

/* Stages at which the sandbox may stop, in order; the name of each is in stage_names. */
enum sandbox_stage {
    SANDBOX_STAGE_NONE,
    SANDBOX_STAGE_PARENT,
    SANDBOX_STAGE_FILES,
    SANDBOX_STAGE_SIGNALS,
    SANDBOX_STAGE_THREADS,
    SANDBOX_STAGE_LIMITS,
    SANDBOX_STAGE_PRIVILEGES,
    SANDBOX_STAGE_FILTER,
};

#define SANDBOX_TEXT_SIZE 96u

struct sandbox_slot {
    _Alignas(128) uint32_t state; /* enum sandbox_state; slept on by both processes */
    uint32_t command, result;
    uint64_t arguments[10];
    char text[SANDBOX_TEXT_SIZE];
};

struct sandbox_control {
    uint32_t is_ready; /* slept on until it is */
    uint32_t failed_stage, failed_errno;
    uint32_t parent;
    /* Cause of the sandbox's end; `signal` is 0 as long as it runs. */
    uint32_t signal, system_call, slot;
    uint64_t address;
    struct sandbox_slot slots[SANDBOX_SLOT_COUNT];
};

/* ---- for the software GPU ----------------------------------------------------------------------
 */

/* Target of a kernel's handle. */
struct emu_hsa_remote_kernel {
    uint32_t magic; /* EMU_HSA_KERNEL_REMOTE: at the place of struct tracesmith_hsa_kernel's */
    uint32_t arguments_size, group_size, private_size;
    uint64_t descriptor; /* its address in the sandbox */
    char name[];
};

struct emu_hsa_remote_grid {
    uint64_t arguments;
    uint32_t grid_size[3], group_size[3], group_memory;
};

/* Tests whether a replay has asked for a sandbox. */
bool emu_hsa_sandbox_is_used(void);

/* ---- memory; false: there is none, and the reason is said --------------------------------------
 */

/* Puts fresh pages of the arena at an address range that the caller has mapped. */
bool emu_hsa_sandbox_back(uint64_t address, uint64_t size);
/* The same for pages that hold something, which they keep. All of each page is shared then. */
bool emu_hsa_sandbox_adopt(uint64_t address, uint64_t size);
/* Takes [address, address + size) from the sandbox, and gives its part of the arena back. */
void emu_hsa_sandbox_drop(uint64_t address, uint64_t size);
/* The arena's descriptor and a part of it, without an address. -1: none. */
int emu_hsa_sandbox_arena(void);
int64_t emu_hsa_sandbox_take(uint64_t size);
/* Gives a part that was taken back; nothing is mapped there any more. */
void emu_hsa_sandbox_give(uint64_t offset, uint64_t size);
/* Shows a part of the arena to the sandbox at an address; the part stays the caller's. `protection`
 * as for mmap(); PROT_NONE hides it. */
bool emu_hsa_sandbox_show(uint64_t address, uint64_t size, uint64_t offset, int protection);
/* At most 64 bytes that the sandbox can read only. NULL: no memory. */
void *emu_hsa_sandbox_constant(size_t size);
void emu_hsa_sandbox_constant_free(void *constant);

/* ---- code --------------------------------------------------------------------------------------
 */

/* Loads a code object; its image is at *base then, of *size bytes, in both processes. */
bool emu_hsa_sandbox_load(const void *data, size_t size, uint64_t *base, uint64_t *image_size);
void emu_hsa_sandbox_unload(uint64_t base, uint64_t image_size);
/* Give an hsa_status_t. */
uint32_t emu_hsa_sandbox_run(const struct emu_hsa_remote_kernel *kernel,
                             const struct emu_hsa_remote_grid *grid);
uint32_t emu_hsa_sandbox_perform(const void *packet);
/* Ends the sandbox; nothing of the GPU's memory is used any more. */
void emu_hsa_sandbox_end(void);

/* ---- the process (process.c) ---------------------------------------------------
 */

/* Starts it, with the two files. False: it cannot be set up. The first call decides. */
bool emu_hsa_sandbox_start(int arena, int constants);
bool emu_hsa_sandbox_is_alive(void);
void emu_hsa_sandbox_stop(void);
/* Carries out a command in a slot, and gives its enum sandbox_result. False: the sandbox has ended,
 * before or by that. `name` is what messages call the command. `text`: NULL, or SANDBOX_TEXT_SIZE
 * bytes for what the sandbox says. */
bool emu_hsa_sandbox_call(bool is_kernel, enum sandbox_command command, const uint64_t *arguments,
                          size_t argument_count, const char *name, uint32_t *result, char *text);
/* Says why something has failed: logged, and kept for tracesmith_hsa_sandbox_why(). */
void emu_hsa_sandbox_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
void emu_hsa_sandbox_set_timeout(uint64_t timeout_ns);

#endif
