/* SPDX-License-Identifier: Apache-2.0
 *
 * Modules, libraries, and the functions in them.
 *
 * A module belongs to a context. A library belongs to none: it becomes a module in each context
 * that uses one of its kernels, and a kernel handle stands for the function of whichever context is
 * current.
 */
#ifndef EMU_MODULE_H
#define EMU_MODULE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "emu/cuda/module/cluster.h"
#include "emu/cuda/core/abi.h"
#include "emu/ptx/ptx.h"

#define EMU_OLD_PARAMS_MAX 4096

/* Settings of cuFuncSetBlockShape() and its kin. */
struct emu_old_launch {
    unsigned block[3];
    unsigned shared;
    unsigned params_size;
    uint8_t params[EMU_OLD_PARAMS_MAX];
};

struct CUfunc_st {
    CUmodule module;
    const struct ptx_function *ptx;
    atomic_int dynamic_shared_max; /* bytes; what the program asked for, else the default */
    atomic_int carveout;
    struct emu_cluster_settings cluster;
    struct emu_old_launch *old; /* owned; NULL: those calls were not used */
};

struct CUmod_st {
    CUcontext context;
    CUlibrary library; /* NULL: loaded by the program itself */
    struct ptx_module *ptx;
    struct sbt_key key;          /* of what the cache remembers of it; zero: nothing */
    uint64_t variables;          /* address of their memory, 0: none */
    struct CUfunc_st *functions; /* entries only, in the order of the text */
    size_t function_count;
    CUfunction *names; /* by hash of the name; NULL: free */
    size_t name_count; /* a power of two */
    CUmodule next;     /* of all modules */
};

/* The PTX of an image, from emu/cuda/module/fatbin.h, or a result that the driver gives for such an
 * image. What was wrong goes to `log`. */
CUresult emu_module_create(CUmodule *out, CUcontext context, CUlibrary library, const char *ptx,
                           size_t size, struct ptx_log *log);

/* NULL: nothing. The context must not run anything of it. */
void emu_module_destroy(CUmodule module);

/* All modules of the context. */
void emu_context_destroy_modules(CUcontext context);

/* The function can be launched: what was left undecoded is decoded. */
CUresult emu_module_prepare(const struct CUfunc_st *function);

/* NULL when there is none of that name. */
CUfunction emu_module_find(CUmodule module, const char *name);

/* 0, or CUDA_ERROR_NOT_FOUND. */
CUresult emu_module_variable(CUmodule module, const char *name, bool only_managed,
                             CUdeviceptr *address, size_t *size);

/* A function handle, or a kernel handle in its place -> the function in the current context. */
CUresult emu_function_resolve(CUfunction *out, CUfunction handle, CUcontext context);

/* The module of a library in a context, made at first use. */
CUresult emu_library_module(CUmodule *out, CUlibrary library, CUcontext context);

/* The function of a kernel in a context. */
CUresult emu_kernel_function(CUfunction *out, CUkernel kernel, CUcontext context);

/* The options of cuModuleLoadDataEx and its kin that mean something here: where logs go. */
struct emu_jit {
    struct ptx_log info;
    struct ptx_log error;
    void **info_size_out; /* the option's value, which receives the size; NULL: not given */
    void **error_size_out;
    void **wall_time_out; /* receives a float, milliseconds */
    uint64_t wall_ns;     /* what it says: time spent compiling and linking so far */
    char own[512];        /* for a program that does not ask: then TS_LOG=info shows it */
};

CUresult emu_jit_init(struct emu_jit *jit, unsigned count, CUjit_option *options, void **values);
/* Tell the program how much was written. */
void emu_jit_finish(struct emu_jit *jit);

/* Has the variable of the calling thread's next module be at the address, if it has it; NULL:
 * nothing is wished. Of a library: of its module in the context that uses it first. */
void emu_module_wish(const char *variable, uint64_t address);

/* A variable, and the place that is wished for it. */
struct emu_module_wish {
    const char *variable; /* NULL: none */
    uint64_t address;
};

/* Returns the calling thread's wish, which is over then. */
struct emu_module_wish emu_module_take_wish(void);

/* A result for what the PTX engine said. */
CUresult emu_ptx_result(int status);

#endif
